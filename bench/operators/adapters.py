"""PyTorch's words for arguments put into ours; what PyTorch's functions do by default and NumPy's do otherwise."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import lucid_nb as lnb

WORDS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "dim1": "axis1", "dim2": "axis2",
         "start_dim": "start_axis", "end_dim": "end_axis"}


def worded(function: Callable, **words: str) -> Callable:
    """The function, called with PyTorch's words."""
    translation = WORDS | words

    @wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **{translation.get(word, word): value for word, value in keywords.items()})
    return called


def over_axes(function: Callable) -> Callable:
    """A reduction: no axes at all mean all of them, as in PyTorch."""
    @wraps(function)
    def called(x: lnb.Tensor, dim: Any = None, keepdim: bool = False, **keywords: Any) -> Any:
        axis = (tuple(dim) or None) if isinstance(dim, (tuple, list)) else dim
        return function(x, axis=axis, keepdims=keepdim, **keywords)
    return called


def spread(function: Callable) -> Callable:
    """Variances: by n - 1 unless another correction is asked for."""
    reduced = over_axes(function)

    def called(x: lnb.Tensor, dim: Any = None, unbiased: bool | None = None, **keywords: Any) -> lnb.Tensor:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = keywords.pop("correction", 1 if unbiased is None else int(unbiased))
        return reduced(x, dim=dim, ddof=1 if correction is None else correction, **keywords)
    return called


def scaled(function: Callable) -> Callable:
    """Sums of two, the second times `alpha`."""
    return lambda x, y, alpha=1: function(x, y if alpha == 1 else lnb.multiply(alpha, y))


def swapped(function: Callable) -> Callable:
    """An operator called with its operands the other way round."""
    return lambda x, y: function(y, x)


def many(function: Callable) -> Callable:
    """A function of one array, also given a list of them."""
    return lambda *arrays: [function(x) for x in arrays[0]] if isinstance(arrays[0], (tuple, list)) else \
        function(*arrays)


def lengths(values: Any) -> Any:
    """Sizes or positions as a list of integers, one as itself."""
    return values.tolist() if isinstance(values, lnb.Tensor) else values
