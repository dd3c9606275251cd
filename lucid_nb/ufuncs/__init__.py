"""NumPy's manners of elementwise functions: further arguments of their calls, and the methods and attributes of ufuncs.

A record's function stays a plain function; what stands here hangs on it as attributes, and costs its calls nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..register import functions, manners
from .calling import call
from .loops import Types
from .methods import IDENTITIES, accumulate, outer, reduce, reduceat
from .writing import at

METHODS: dict[str, Callable] = dict(reduce=reduce, accumulate=accumulate, reduceat=reduceat, outer=outer, at=at)


def equip(function: Any) -> None:
    """Give a record's function what NumPy's ufuncs have."""
    op = function.record
    function.nin, function.nout, function.nargs = op.arity, len(op.outputs), op.arity + len(op.outputs)
    function.identity, function.signature, function.types = IDENTITIES.get(op.name), None, Types(op)
    for name, method in METHODS.items():
        setattr(function, name, partial(method, function))


manners.call = call
for _function in set(functions.values()):
    if hasattr(_function, "record"):
        equip(_function)


class _Kind(type):
    """The class of `ufunc`: the functions that have its attributes are its instances."""

    def __instancecheck__(cls, candidate: Any) -> bool:
        return hasattr(candidate, "record")


class ufunc(metaclass=_Kind):
    """What NumPy calls elementwise functions: `isinstance(lucid_nb.add, lucid_nb.ufunc)` holds."""

    def __new__(cls, *_: Any) -> Any:
        """There is nothing to make."""
        raise TypeError("ufunc: cannot be made. Use lucid_nb.vectorize or lucid_nb.fuse of a function.")
