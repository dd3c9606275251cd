"""`fuse(f)`: an elementwise program, with broadcasting and reductions of rows, as one kernel forward and one backward.

`trace.py` turns a function into a plan, `rows.py` says what its programs are made of, `fused.py` makes an op of each.
"""

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from .. import tape
from ..apply import as_operand
from ..array import Tensor
from ..errors import DTypeError
from ..trees import flatten, unflatten
from .plan import Plan
from .surroundings import Surroundings, key_of
from .traced import Traced, Untraceable
from .watching import is_tracing, traced

PLANS = 256          # sets of shapes and dtypes that a function remembers
VARIANTS = 8         # plans for each, in other surroundings
PATIENCE = 3         # traces of a function that changes its surroundings, before it runs as it is ever after


def fuse(function: Callable | None = None, *, explain: bool = False) -> Any:
    """A function that does what `function` does, with as few kernels as its elementwise parts need.

    It is traced once for each set of shapes and dtypes of its arguments (nested tuples, lists, dicts and dataclasses of
    tensors; anything else among them must be hashable). Broadcasting, formulas and sums, means, variances, extremes,
    softmax and logsumexp over the last axis become one kernel, which saves its inputs only, and one for its gradient,
    to any order; other ops stay ordinary ones around it. Kernels are compiled for dtypes, not for shapes. Tensors that
    the function has from elsewhere are inputs like others: they are read, and get gradients, at each call. A function
    that reads values, writes in place, draws random numbers or asks for gradients runs as it is. Beside its arguments
    it may depend on numbers, tensors and modules that it finds by name: they are looked at before each call.

    `explain`: print what was fused, and why the rest was not, whenever a plan is made; `.explain()` gives the text of
    the latest. As a decorator with or without parentheses.

    >>> import lucid_nb as lnb
    >>> @lnb.fuse
    ... def gelu(x):
    ...     return 0.5 * x * (1 + lnb.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))
    >>> round(gelu(lnb.tensor([1.0])).item(), 6)
    0.841192
    """
    return functools.partial(fuse, explain=explain) if function is None else FusedFunction(function, explain)


class Known(NamedTuple):
    """A plan, or why there is none, and the surroundings in which that holds."""

    plan: Plan | Untraceable
    surroundings: Surroundings


class FusedFunction:
    """What `fuse` gives: calls a function by plans, one for each set of shapes and dtypes."""

    def __init__(self, function: Callable, prints: bool = False) -> None:
        self.function, self.prints = function, prints
        self.plans: dict[Any, list[Known]] = {}
        self.changes = 0                           # traces in which the function changed what it finds
        self.latest: Plan | Untraceable | None = None
        functools.update_wrapper(self, function)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if is_tracing():                           # a part of another function that is traced
            return self.function(*arguments, **options)
        leaves, structure = flatten((arguments, options))
        tensors = [as_operand("fuse", x, "cpu") if isinstance(x, np.ndarray) else x for x in leaves
                   if isinstance(x, (Tensor, np.ndarray))]
        key = (structure, tape.modes.enabled, tape.modes.casting, *[key_of(x) for x in leaves])
        try:
            known = self.plans.get(key, ())
        except TypeError:
            raise DTypeError(f"fuse: an argument of {getattr(self.function, '__name__', 'the function')} cannot be "
                             "hashed, as a set cannot. Pass tensors, numbers, strings and trees of them.") from None
        for each in known:
            if (captured := each.surroundings.current()) is not None:
                plan = each.plan
                break
        else:
            plan, captured = self._learn(key, leaves, structure, tensors)
        return plan.run(tensors, captured) if isinstance(plan, Plan) else self.function(*arguments, **options)

    def _learn(self, key: Any, leaves: list[Any], structure: Any, tensors: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """The plan for arguments like these, or why there is none, and the tensors that it reads."""
        def call(stand_ins: list[Traced]) -> Any:
            rest = iter(stand_ins)
            filled = [next(rest) if isinstance(x, (Tensor, np.ndarray)) else x for x in leaves]
            arguments, options = unflatten(structure, filled)
            return self.function(*arguments, **options)
        found: Plan | Untraceable
        surroundings = Surroundings(self.function, leaves)
        try:
            if not tensors:
                raise Untraceable("no argument is a tensor")
            found = traced(call, tensors, surroundings)
        except Untraceable as reason:
            found = Untraceable(str(reason))           # the exception itself knows all frames, and their arrays
        finally:
            is_changed = surroundings.were_changed()
        if is_changed:
            found = Untraceable("it changes what it finds outside of it")
            self.changes += 1
        captured = surroundings.close(found.captured if isinstance(found, Plan) else ())
        if not is_changed or self.changes > PATIENCE:              # the first time it may only have kept something
            self._remember(key, Known(found, Surroundings(None, ()) if is_changed else surroundings))
        self.latest = found
        if self.prints:
            print(self.explain())
        return found, captured

    def _remember(self, key: Any, known: "Known") -> None:
        """Keep a plan for arguments and surroundings, the newest first."""
        if len(self.plans) >= PLANS:
            self.plans.clear()
        self.plans[key] = [known, *self.plans.get(key, ())][:VARIANTS]

    def explain(self) -> str:
        """What the latest plan fused, and why the rest was not."""
        name = getattr(self.function, "__name__", "function")
        if self.latest is None:
            return f"{name}: not called yet"
        if isinstance(self.latest, Untraceable):
            return f"{name}: not fused, because {self.latest}"
        return f"{name}: {self.latest.explain()}"
