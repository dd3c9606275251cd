"""What every generator here does: NumPy's own draws on the host, and the numbers become a tensor."""

import builtins
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor
from ..creation.data import from_host
from ..errors import ConfigError, DTypeError, GradError, LucidError, ShapeError
from ..ops.indexing import take
from ..ops.movement import as_tensor, deliver, reshape


def on_host(op: str, value: Any) -> Any:
    """A parameter as NumPy reads it. What is drawn has no gradient by its parameters, so none may be expected."""
    if not isinstance(value, Tensor):
        return value
    if value.requires_grad:
        raise GradError(f"{op}: a parameter requires grad, and what is drawn has no gradient by it. Use .detach(), or "
                        "scale and move numbers of the standard distribution.")
    return value.to_host()[()]                # of one number, NumPy's scalar


def called(op: str, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """NumPy's function, its refusals in the words of this library."""
    try:
        return function(*[on_host(op, value) for value in arguments], **keywords)
    except LucidError:
        raise
    except ValueError as error:
        raise ConfigError(f"{op}: {error}. Use arguments that numpy.random's {op} takes.") from None
    except TypeError as error:
        raise DTypeError(f"{op}: {error}. Use arguments that numpy.random's {op} takes.") from None


def delivered(op: str, found: Any, dtype: Any, device: Any, likes: tuple = ()) -> Tensor:
    """Numbers as a tensor on the device asked for, or that of a parameter, or the default; one alone is a value."""
    place = next((like.device for like in likes if isinstance(like, Tensor)), None) if device is None else device
    made = from_host(op, np.asarray(found), dtype, backend.resolve(place))
    made.is_value = made.ndim == 0
    return made


class Drawing:
    """A generator around `host`, NumPy's own, whose numbers and whose state are that one's.

    Every method takes, beside NumPy's arguments, `dtype`, in which the numbers are given (by default float64 becomes
    the default float), and `device`. Parameters may be tensors, on any device, that require no grad.
    """

    host: Any

    def draw(self, op: str, parameters: tuple, size: Any, dtype: Any, device: Any) -> Tensor:
        """Numbers of one of NumPy's distributions."""
        found = called(op, getattr(self.host, op), *parameters, size)
        return delivered(op, found, dtype, device, parameters)

    def bytes(self, length: int) -> builtins.bytes:
        """So many random bytes."""
        found: builtins.bytes = called("bytes", self.host.bytes, length)
        return found

    def __repr__(self) -> str:
        return f"lucid_nb.random.{type(self).__name__}({self.host!s})"

    # ---------------------------------------------------------------------------------------------- orders
    def _order(self, op: str, count: int) -> np.ndarray:
        """0 to count - 1 as NumPy's generator shuffles them, which it does by position, whatever is shuffled."""
        order = np.arange(count)
        called(op, self.host.shuffle, order)
        return order

    def _permuted(self, x: Any, axis: int, dtype: Any, device: Any) -> Tensor:
        count = x.to_host()[()] if isinstance(x, Tensor) and x.ndim == 0 else x
        if isinstance(count, (int, np.integer)) and not isinstance(count, bool):
            return delivered("permutation", called("permutation", self.host.permutation, count), dtype, device, (x,))
        found = as_tensor("permutation", x) if device is None else as_tensor("permutation", x).to(device)
        axis = shapes.normalize_axis("permutation", axis, found.ndim)
        moved = take(found, self._order("permutation", found.shape[axis]), axis)
        return moved if dtype is None else moved.astype(dtype)

    def _shuffle(self, x: Any, axis: int) -> None:
        if not isinstance(x, Tensor):
            called("shuffle", self.host.shuffle, x, *[axis] if axis else [])
            return
        if x.ndim == 0:
            raise DTypeError("shuffle: a tensor without axes has no order. Give one of an axis or more.")
        axis = shapes.normalize_axis("shuffle", axis, x.ndim)
        if x.size:                           # otherwise NumPy draws nothing
            x[...] = take(x, self._order("shuffle", x.shape[axis]), axis)

    def _chosen(self, a: Any, size: Any, device: Any, axis: int, **how: Any) -> Any:
        """Items of `a`, or numbers below it. Items that no tensor can hold, strings say, come in NumPy's array."""
        how = {word: on_host("choice", value) for word, value in how.items()}
        if isinstance(a, (int, np.integer)) or getattr(a, "ndim", None) == 0:
            return delivered("choice", called("choice", self.host.choice, a, size, **how), None, device, (a,))
        if not isinstance(a, Tensor) and not dtypes.is_supported(np.asarray(a).dtype):
            return called("choice", self.host.choice, a, size, **how, **{"axis": axis} if axis else {})
        items = as_tensor("choice", a) if device is None else as_tensor("choice", a).to(device)
        axis = shapes.normalize_axis("choice", axis, items.ndim)
        if items.shape[axis] == 0:
            raise ShapeError("choice: there is nothing to choose from. Give at least one item.")
        return take(items, called("choice", self.host.choice, items.shape[axis], size, **how), axis)


def in_slices(drawing: Drawing, x: Any, axis: int | None, out: Any) -> Tensor:
    """`permuted`: the elements along an axis, each line by itself, or all of them, in a random order."""
    x = as_tensor("permuted", x)
    places = np.empty_like(x.to_host(), dtype=np.int64)       # without an axis the order of memory decides
    places[...] = np.arange(x.size).reshape(x.shape)
    order = called("permuted", drawing.host.permuted, places, axis=axis)
    return deliver("permuted", take(reshape(x, -1), order), out)
