"""What a mask chooses of examples of `vmap`: as many elements as it says, which differs from example to example."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Unbatchable
from ..dtypes import WEAK

OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


class Chosen:
    """Stands for `x[mask]` until it is written back by the same mask, as in `x[mask] += 1`: arithmetic is done with all
    elements, of which the write takes those that the mask holds at.

    Whoever asks it for anything else is told that examples differ, and then they run one by one.
    """

    def __init__(self, refusal: Callable[[], Unbatchable], mask: Any, whole: Any, fitted: Callable[[Any], Any]) -> None:
        self.refusal, self.mask, self.whole, self.fitted = refusal, mask, whole, fitted

    def __getattr__(self, name: str) -> Any:
        raise self.refusal()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.refusal()

    def _beside(self, other: Any) -> Any:
        """Another operand in the shape of all elements; it may not have an element for each that is chosen."""
        if type(other) in WEAK:
            return other
        found = other.whole if type(other) is Chosen and other.mask is self.mask else self.fitted(other)
        if found is None:
            raise self.refusal()
        return found


def _operator(name: str, is_reflected: bool) -> Callable:
    call = getattr(operator, name)

    def method(self: Chosen, other: Any) -> Chosen:
        operands = self.whole, self._beside(other)
        with np.errstate(all="ignore"):               # elements that are not chosen do not count
            whole = call(*operands[::-1] if is_reflected else operands)
        return Chosen(self.refusal, self.mask, whole, self.fitted)
    return method


for _name in OPERATORS:
    setattr(Chosen, f"__{_name}__", _operator(_name, False))
    setattr(Chosen, f"__i{_name}__", _operator(_name, False))
    setattr(Chosen, f"__r{_name}__", _operator(_name, True))
