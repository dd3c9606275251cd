"""What only makes sense on the host: the text, the memory and the iteration of tensors, by NumPy's functions."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .array import Tensor
from .creation import asarray
from .errors import ConfigError
from .ops.along import ndenumerate
from .ops.movement import in_order

NEEDS = {"C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F", "A": "A",
         "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E"}

__all__ = ["array2string", "array_repr", "array_str", "broadcast", "iterable", "may_share_memory", "ndenumerate",
           "nditer", "require", "shares_memory"]


def content(value: Any) -> Any:
    """Tensors, also in lists, tuples and dictionaries, as arrays on the host, without their gradients."""
    if isinstance(value, Tensor):
        return value.to_host()
    if type(value) in (list, tuple):
        return type(value)(map(content, value))
    return {name: content(found) for name, found in value.items()} if type(value) is dict else value


# ------------------------------------------------------------------------------------------------- printing
def array2string(a: Any, *how: Any, **options: Any) -> str:
    """The text of NumPy's `array2string`, whose options it takes, of a tensor on any device.

    >>> lnb.array2string(lnb.array([1.0, 2.5]), separator="; ")
    '[1. ; 2.5]'
    """
    return np.array2string(np.asarray(content(a)), *how, **options)


def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None,
               suppress_small: bool | None = None) -> str:
    """The text by which NumPy would show an array of this content; a tensor's own is `repr`.

    >>> lnb.array_repr(lnb.array([1, 2]))
    'array([1, 2])'
    """
    return np.array_repr(np.asarray(content(arr)), max_line_width, precision, suppress_small)


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None,
              suppress_small: bool | None = None) -> str:
    """The text of the content alone.

    >>> lnb.array_str(lnb.array([1, 2]))
    '[1 2]'
    """
    return np.array_str(np.asarray(content(a)), max_line_width, precision, suppress_small)


# ------------------------------------------------------------------------------------------------ iteration
def nditer(op: Any, *how: Any, **options: Any) -> np.nditer:
    """NumPy's iterator over the content of tensors and arrays; on the cpu it writes the tensors' own memory.

    No gradient knows of what it reads and writes.

    >>> [int(x) for x in lnb.nditer(lnb.array([[1, 2], [3, 4]]), order="F")]
    [1, 3, 2, 4]
    """
    return np.nditer(content(op), *how, **options)


def broadcast(*arrays: Any) -> np.broadcast:
    """NumPy's object of that name: the shape that arrays broadcast to, and an iterator over their elements.

    >>> lnb.broadcast(lnb.ones((2, 1)), lnb.ones(3)).shape
    (2, 3)
    """
    return np.broadcast(*map(content, arrays))


def iterable(y: Any) -> bool:
    """Can it be iterated over?

    >>> lnb.iterable(lnb.ones(2)), lnb.iterable(2)
    (True, False)
    """
    if isinstance(y, Tensor):
        return y.ndim > 0
    return np.iterable(y)


# --------------------------------------------------------------------------------------------------- memory
def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Have two tensors or arrays an element of memory in common? On mlx and cuda, are they views of one tensor?

    >>> x = lnb.arange(6)
    >>> lnb.shares_memory(x[::2], x[1::2]), lnb.shares_memory(x[::2], x)
    (False, True)
    """
    return _is_common(np.shares_memory, a, b, max_work)


def may_share_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    """Do the bounds of two tensors' memory overlap? On mlx and cuda, are they views of one tensor?

    >>> x = lnb.arange(6)
    >>> lnb.may_share_memory(x[::2], x[1::2])
    True
    """
    return _is_common(np.may_share_memory, a, b, max_work)


def _is_common(test: Any, a: Any, b: Any, max_work: int | None) -> bool:
    raws = [x.raw if isinstance(x, Tensor) else x for x in (a, b)]
    if all(not isinstance(x, Tensor) or x.device == "cpu" for x in (a, b)):
        return bool(test(*raws, max_work=max_work))
    tensors = [x for x in (a, b) if isinstance(x, Tensor)]
    return len(tensors) == 2 and (a is b or (a.storage is not None and a.storage is b.storage))


def require(a: Any, dtype: Any = None, requirements: str | Iterable[str] | None = None, *,
            device: Any = None, like: Any = None) -> Tensor:
    """A tensor of a dtype that meets NumPy's requirements on memory; itself where it does, otherwise a copy.

    They are, as letters or in a list of words, "C" and "F", the order of memory where there are strides, "W", to be
    writeable, "O", to share no memory, and "A" and "E", which all tensors meet. ConfigError, a ValueError, for "C" with
    "F", and for others.

    >>> lnb.require(lnb.ones((2, 3)).T, requirements="C").strides
    (16, 8)
    """
    words = list(requirements or ())          # of a string, its letters
    unknown = [word for word in words if str(word).upper() not in NEEDS]
    if unknown:
        raise ConfigError(f"require: {unknown[0]!r} is no requirement. Use some of {', '.join(sorted(NEEDS))}.")
    needs = {NEEDS[str(word).upper()] for word in words}
    if {"C", "F"} <= needs:
        raise ConfigError("require: both C and F are required. Name one of them.")
    found = asarray(a, dtype, device=device, like=like)
    for order in needs & {"C", "F"}:
        found = in_order("require", found, order)
    flags = getattr(found.raw, "flags", None)
    if flags is None or ((flags.writeable or "W" not in needs) and (flags.owndata or "O" not in needs)):
        return found
    return found.copy(order="A")


