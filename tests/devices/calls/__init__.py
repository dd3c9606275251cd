"""A tiny call of every public function, layer, optimizer and transform: what is run on the CPU and on the device.

A call is entered under the name that it stands for, `lnb.` left out, and a word of its own where a name has several:
"sort", "sort descending", "nn.functional.relu". A new name is either entered here or excused in excused.py.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Given = tuple | list | np.ndarray


class Call(NamedTuple):
    """`given`: what it is called with, a shape for floats, (high, *shape) in a list for integers, or an array.

    A layer is made by `make`, with the same weights each time, and comes first.
    """

    run: Callable
    given: tuple[Given, ...]
    make: Callable | None = None

    def arrays(self):
        """The arguments as NumPy arrays, the same at every call."""
        rng = np.random.default_rng(1)
        for what in self.given:
            if isinstance(what, np.ndarray):
                yield what
            elif isinstance(what, list):
                yield rng.integers(0, what[0], size=what[1:])
            else:
                yield rng.normal(size=what).astype("float32")


def call(run, *given):
    """A call of a function of tensors."""
    return Call(run, given)


def whole(high, *shape):
    """Integers below `high`."""
    return [high, *shape]


def layer(make, *given, pick=None):
    """A call of a layer; `pick`: what of its results counts."""
    def run(made, *tensors):
        found = made(*tensors)
        return found if pick is None else pick(found)
    return Call(run, given, make)


def of(name):
    """The name that a call is entered under, without its own word."""
    return name.split(" ")[0]


def calls():
    """Every call by its name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        for name, one in getattr(importlib.import_module(f"{__name__}.{module.name}"), "CALLS", {}).items():
            assert name not in found, name
            found[name] = one
    return found
