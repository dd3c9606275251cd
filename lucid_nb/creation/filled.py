"""Tensors of one value: zeros, ones, any value, or whatever the memory holds."""

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor
from ..dtypes import NAMING, PLAIN
from ..errors import LucidError, MemoryError, ShapeError, memory_of, told
from ..ops.movement import C, K, as_tensor, astype, memory_order, to
from ..register import public, short
from .data import _raw_of, finish, float_dtype, place_of

LARGE = 1 << 30          # bytes from which a device that fails may have failed for want of memory


def shape_and_dtype(op: str, arguments: tuple, dtype: Any, order: str = "C") -> tuple[shapes.Shape, Any, str]:
    """`(shape)`, `(shape, dtype)`, `(shape, dtype, order)` or one argument for each extent."""
    shape: Any = arguments[0] if arguments else ()
    if len(arguments) > 1 and not all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in arguments):
        shape, dtype = arguments[0], arguments[1] if dtype is None else dtype
        order = arguments[2] if len(arguments) > 2 else order
    elif len(arguments) > 1:
        shape = arguments
    return shapes.check_sizes(op, shapes.as_shape(op, shape)), dtype, order


def allocated(op: str, shape: shapes.Shape, dtype: np.dtype, make: Callable[[], Any]) -> Any:
    """The new memory, or an error that says what was asked for: a device's own words name other sizes."""
    try:
        return make()
    except LucidError:
        raise
    except (builtins.MemoryError, builtins.OverflowError, RuntimeError) as error:
        size = math.prod(shape) * dtype.itemsize
        if size < LARGE:                                     # then it is not for want of memory
            raise
        raise MemoryError(f"{op}: shape {shape} in {dtype} takes {memory_of(size)}, more than can be had. "
                          "Use smaller sizes.") from error


def is_usual() -> bool:
    """Are new tensors, of which nothing is said, plain memory of the cpu?"""
    return backend.batching.made is None and backend.default_device() == "cpu"


def small(make: Callable[..., Tensor], shape: Any, dtype: Any, device: Any) -> Tensor | None:
    """A few elements in the cpu's memory, where what is asked for is plain; None for the general road."""
    if not (is_usual() if device is None else device == "cpu" and backend.batching.made is None):
        return None
    wanted = dtypes.default_of("cpu") if dtype is None else PLAIN.get(dtype) if type(dtype) in NAMING else None
    if wanted is None:
        return None
    if type(shape) is int:
        return make(shape, wanted) if 0 <= shape < shapes.MIDDLING else None
    if type(shape) is not tuple or set(map(type, shape)) != {int}:
        return None
    if min(shape) < 0 or math.prod(shape) >= shapes.MIDDLING or len(shape) > shapes.MOST_AXES:
        return None
    return make(shape, wanted)


def _filled(op: str, given: tuple, order: str, device: Any, requires_grad: bool,
            make: Callable[[Any, shapes.Shape, np.dtype], Any]) -> Tensor:
    """`make(table, shape, dtype)` in an order of memory. `given`: shape, dtype and like."""
    sizes, dtype, like = given
    name = place_of(device, like)
    wanted, table = float_dtype(op, dtype, name), backend.table(name)
    is_across = str(order or "C").upper() == "F" and len(sizes) > 1
    if str(order or "C").upper() not in ("C", "F", "A", "K"):
        raise ShapeError(f"{op}: order {told(order)} is unknown. Use one of C, F.")
    raw = allocated(op, sizes, wanted, lambda: make(table, sizes[::-1] if is_across else sizes, wanted))
    return finish(table.permute(raw, tuple(range(len(sizes)))[::-1]) if is_across else raw, requires_grad)


@public(method=False)
def zeros(shape: Any = (), *sizes: Any, dtype: Any = None, order: str = "C", device: Any = None, like: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Zeros: `zeros((2, 3))`, `zeros(2, 3)` or `zeros((2, 3), dtype)`.

    `order`: "C" or "F", which axis runs first in memory, where the device has strides.

    >>> import lucid_nb as lnb
    >>> lnb.zeros(2, dtype=lnb.int64)
    tensor([0, 0])
    """
    if not (sizes or requires_grad) and like is None and order is C and (
            found := small(short.zeros, shape, dtype, device)) is not None:
        return found
    extents, dtype, order = shape_and_dtype("zeros", (shape, *sizes), dtype, order)
    return _filled("zeros", (extents, dtype, like), order, device, requires_grad,
                   lambda table, shape, dtype: table.full(shape, 0, dtype))


@public(method=False)
def ones(shape: Any = (), *sizes: Any, dtype: Any = None, order: str = "C", device: Any = None, like: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Ones, called as `zeros` is."""
    if not (sizes or requires_grad) and like is None and order is C and (
            found := small(short.ones, shape, dtype, device)) is not None:
        return found
    extents, dtype, order = shape_and_dtype("ones", (shape, *sizes), dtype, order)
    return _filled("ones", (extents, dtype, like), order, device, requires_grad,
                   lambda table, shape, dtype: table.full(shape, 1, dtype))


@public(method=False)
def empty(shape: Any = (), *sizes: Any, dtype: Any = None, order: str = "C", device: Any = None, like: Any = None,
          requires_grad: bool = False) -> Tensor:
    """A tensor whose content is whatever its memory holds; called as `zeros` is."""
    if not (sizes or requires_grad) and like is None and order is C and (
            found := small(short.empty, shape, dtype, device)) is not None:
        return found
    extents, dtype, order = shape_and_dtype("empty", (shape, *sizes), dtype, order)
    return _filled("empty", (extents, dtype, like), order, device, requires_grad,
                   lambda table, shape, dtype: table.empty(shape, dtype))


@public(method=False)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None,
         requires_grad: bool = False) -> Tensor:
    """A value everywhere, in its own dtype unless `dtype` says otherwise."""
    if type(fill_value) is float and dtype is like is None and not requires_grad and order is C:
        found = small(lambda sizes, dtype: short.made(np.full(sizes, fill_value, dtype)), shape, None, device)
        if found is not None:
            return found
    sizes, _, _ = shape_and_dtype("full", (shape,), None)
    device = like.device if device is None and isinstance(like, Tensor) else device
    if isinstance(fill_value, Tensor):
        value = fill_value.detach() if device is None else to(fill_value.detach(), backend.resolve(device))
    else:
        value = Tensor(_raw_of("full", fill_value, dtype, device, True))
    value = value if dtype is None else astype(value, dtype, copy=False)
    if shapes.broadcast_shapes("full", value.shape, sizes) != sizes:
        raise ShapeError(f"full: a value of shape {value.shape} does not fill {sizes}. Reshape it.")
    table = backend.of(value.raw)
    wide = table.broadcast_to(value.raw, sizes)
    if str(order or "C").upper() != "F" or len(sizes) < 2:
        return finish(allocated("full", sizes, value.dtype, lambda: table.copy(wide)), requires_grad)
    turn = tuple(range(len(sizes)))[::-1]
    raw = allocated("full", sizes, value.dtype, lambda: table.copy(table.permute(wide, turn)))
    return finish(table.permute(raw, turn), requires_grad)


def _small_like(make: Callable[..., Tensor], a: Any, plain: bool) -> Tensor | None:
    """A few elements like those of a tensor in C order, where nothing else is asked for; None for the general road."""
    raw = short.plain(a) if plain else None
    if raw is None or not raw.ndim or raw.size >= shapes.MIDDLING or not raw.flags.c_contiguous:
        return None
    return make(raw.shape, raw.dtype)


def _like(op: str, a: Any, dtype: Any, order: str, shape: Any, device: Any) -> tuple[Any, Any, str, Any]:
    """Shape, dtype, order and device: those named, otherwise those of `a`."""
    a = as_tensor(op, a)
    own = memory_order(op, a, order)
    return (a.shape if shape is None else shapes.as_shape(op, shape), a.dtype if dtype is None else dtype, own,
            a.device if device is None else device)


@public(method=False)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape, dtype, order and device of another."""
    is_plain = dtype is shape is device is None and order is K and not requires_grad
    if (found := _small_like(short.zeros, a, is_plain)) is not None:
        return found
    sizes, kind, own, place = _like("zeros_like", a, dtype, order, shape, device)
    return zeros(sizes, dtype=kind, order=own, device=place, requires_grad=requires_grad)


@public(method=False)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape, dtype, order and device of another."""
    is_plain = dtype is shape is device is None and order is K and not requires_grad
    if (found := _small_like(short.ones, a, is_plain)) is not None:
        return found
    sizes, kind, own, place = _like("ones_like", a, dtype, order, shape, device)
    return ones(sizes, dtype=kind, order=own, device=place, requires_grad=requires_grad)


@public(method=False)
def empty_like(a: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None, requires_grad: bool = False) -> Tensor:
    """Any content in the shape, dtype, order and device of another."""
    is_plain = dtype is shape is device is None and order is K and not requires_grad
    if (found := _small_like(short.empty, a, is_plain)) is not None:
        return found
    raw = short.plain(a) if is_plain else None
    if raw is not None and raw.ndim and raw.flags.c_contiguous:
        return short.made(allocated("empty_like", raw.shape, raw.dtype,
                                    lambda: backend.of(raw).empty(raw.shape, raw.dtype)))
    sizes, kind, own, place = _like("empty_like", a, dtype, order, shape, device)
    return empty(sizes, dtype=kind, order=own, device=place, requires_grad=requires_grad)


@public(method=False)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None, requires_grad: bool = False) -> Tensor:
    """A value everywhere, in the shape, dtype, order and device of another."""
    sizes, kind, own, place = _like("full_like", a, dtype, order, shape, device)
    return full(sizes, fill_value, kind, own, device=place, requires_grad=requires_grad)
