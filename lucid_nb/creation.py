"""New tensors: of data, of a value, of numbers in a row."""

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import backend, dtypes, shapes
from .apply import as_array, check_fits
from .array import Tensor
from .errors import GIB, DTypeError, LucidError, MemoryError, ShapeError
from .ops.movement import as_tensor, astype, to
from .register import public

LARGE = 1 << 30          # bytes from which a device that fails may have failed for want of memory


def _finish(raw: Any, requires_grad: bool) -> Tensor:
    """The new tensor, as a leaf where a gradient is wanted; its memory is its own, so also a 0-d one may be written."""
    found = Tensor(raw)
    if requires_grad:
        found.requires_grad = True
    return found


@public(names=("to_tensor",), method=False)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           keep_grad: bool = False) -> Tensor:
    """A new tensor of numbers, nested lists, arrays or tensors, which are copied.

    Python floats become the default dtype; everything else keeps its own, unless `dtype` says otherwise. `keep_grad`
    is `retain_grad()` at once.

    >>> import lucid_nb as lnb
    >>> lnb.tensor([[1, 2], [3, 4]], dtype=lnb.float32).shape
    (2, 2)
    """
    if isinstance(data, Tensor):
        found = data.detach().copy()
        found = found if dtype is None else astype(found, dtype, copy=False)
        found = found if device is None else to(found, backend.resolve(device))
    else:
        found = Tensor(_raw_of("tensor", data, dtype, device, copies=True))
    found = _finish(found.raw, requires_grad)
    if keep_grad and requires_grad:
        found.retain_grad()
    return found


def _raw_of(op: str, data: Any, dtype: Any, device: Any, copies: bool) -> Any:
    """Raw memory of data that is not a tensor."""
    table = backend.table(backend.resolve(device))
    is_foreign = isinstance(data, (np.ndarray, np.generic))
    array = as_array(op, data)
    dtypes.check_supported(op, array.dtype)
    wanted = dtypes.as_dtype(op, dtype) if dtype is not None else array.dtype
    if array.dtype.kind == "c" and wanted.kind not in "cb":
        raise DTypeError(f"{op}: complex numbers do not go into {wanted}. Give their real parts.")
    if dtype is None and not is_foreign and array.dtype == dtypes.FLOAT64:
        wanted = dtypes.FLOAT32 if table.name == "mlx" and dtypes.default_dtype() == dtypes.FLOAT64 \
            else dtypes.default_dtype()
    if dtype is None and not is_foreign and array.dtype.kind == "c" and table.name == "mlx":
        wanted = np.dtype(np.complex64)
    if not is_foreign:
        check_fits(op, array, wanted)
    if copies and is_foreign and array.dtype == wanted and array.flags.c_contiguous:
        return table.copy(array) if table.name == "cpu" else table.from_numpy(array)
    return table.from_numpy(array.astype(wanted, copy=copies and is_foreign))


@public(names=("as_tensor", "asanyarray"), method=False)
def asarray(data: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of the data, without a copy where none is needed: a tensor stays itself, a NumPy array is shared."""
    if isinstance(data, Tensor):
        found = data if dtype is None else astype(data, dtype, copy=False)
        found = found if device is None else to(found, backend.resolve(device))
        return found.copy() if copy and found is data else found
    return Tensor(_raw_of("asarray", data, dtype, device, copies=bool(copy)))


@public(names=("array",), method=False)
def array(data: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, device: Any = None) -> Tensor:
    """NumPy's spelling of `tensor`; `copy=False` shares where possible."""
    found = tensor(data, dtype=dtype, device=device) if copy else asarray(data, dtype, device=device)
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if ndmin > found.ndim else found


def _shape_and_dtype(op: str, arguments: tuple, dtype: Any) -> tuple[shapes.Shape, Any]:
    """`(shape)`, `(shape, dtype)` or one argument for each extent."""
    shape: Any = arguments[0] if arguments else ()
    if len(arguments) > 1 and not all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in arguments):
        shape, dtype = arguments[0], arguments[1] if dtype is None else dtype
    elif len(arguments) > 1:
        shape = arguments
    return shapes.check_sizes(op, shapes.as_shape(op, shape)), dtype


def _allocated(op: str, shape: shapes.Shape, dtype: np.dtype, make: Callable[[], Any]) -> Any:
    """The new memory, or an error that says what was asked for: a device's own words name other sizes."""
    try:
        return make()
    except LucidError:
        raise
    except (builtins.MemoryError, builtins.OverflowError, RuntimeError) as error:
        size = math.prod(shape) * dtype.itemsize
        if size < LARGE:                                     # then it is not for want of memory
            raise
        raise MemoryError(f"{op}: shape {shape} in {dtype} takes {size / GIB:,.1f} GiB, more than can be "
                          "had. Use smaller sizes.") from error


def _float_dtype(op: str, dtype: Any, device: str) -> np.dtype:
    if dtype is not None:
        return dtypes.as_dtype(op, dtype)
    default = dtypes.default_dtype()
    return dtypes.FLOAT32 if device == "mlx" and default == dtypes.FLOAT64 else default


@public(method=False)
def zeros(*sizes: Any, shape: Any = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Zeros: `zeros((2, 3))`, `zeros(2, 3)` or `zeros((2, 3), dtype)`.

    >>> import lucid_nb as lnb
    >>> lnb.zeros(2, dtype=lnb.int64)
    tensor([0, 0])
    """
    extents, dtype = _shape_and_dtype("zeros", sizes if shape is None else (shape, *sizes), dtype)
    name = backend.resolve(device)
    wanted = _float_dtype("zeros", dtype, name)
    raw = _allocated("zeros", extents, wanted, lambda: backend.table(name).full(extents, 0, wanted))
    return _finish(raw, requires_grad)


@public(method=False)
def ones(*sizes: Any, shape: Any = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Ones, called as `zeros` is."""
    extents, dtype = _shape_and_dtype("ones", sizes if shape is None else (shape, *sizes), dtype)
    name = backend.resolve(device)
    wanted = _float_dtype("ones", dtype, name)
    raw = _allocated("ones", extents, wanted, lambda: backend.table(name).full(extents, 1, wanted))
    return _finish(raw, requires_grad)


@public(method=False)
def empty(*sizes: Any, shape: Any = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """A tensor whose content is whatever its memory holds; called as `zeros` is."""
    extents, dtype = _shape_and_dtype("empty", sizes if shape is None else (shape, *sizes), dtype)
    name = backend.resolve(device)
    wanted = _float_dtype("empty", dtype, name)
    raw = _allocated("empty", extents, wanted, lambda: backend.table(name).empty(extents, wanted))
    return _finish(raw, requires_grad)


@public(method=False)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A value everywhere, in its own dtype unless `dtype` says otherwise."""
    sizes, _ = _shape_and_dtype("full", (shape,), None)
    if isinstance(fill_value, Tensor):
        value = fill_value.detach() if device is None else to(fill_value.detach(), backend.resolve(device))
    else:
        value = Tensor(_raw_of("full", fill_value, dtype, device, True))
    value = value if dtype is None else astype(value, dtype, copy=False)
    if shapes.broadcast_shapes("full", value.shape, sizes) != sizes:
        raise ShapeError(f"full: a value of shape {value.shape} does not fill {sizes}. Reshape it.")
    table = backend.of(value.raw)
    raw = _allocated("full", sizes, value.dtype, lambda: table.copy(value.broadcast_to(sizes).raw))
    return _finish(raw, requires_grad)


def _like(a: Any, dtype: Any, device: Any) -> tuple[np.dtype, str]:
    a = as_tensor("like", a)
    return (a.dtype if dtype is None else dtype), (a.device if device is None else device)


@public(method=False)
def zeros_like(a: Any, /, dtype: Any = None, *, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape, dtype and device of another."""
    kind, place = _like(a, dtype, device)
    return zeros(as_tensor("zeros_like", a).shape, dtype=kind, device=place, requires_grad=requires_grad)


@public(method=False)
def ones_like(a: Any, /, dtype: Any = None, *, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape, dtype and device of another."""
    kind, place = _like(a, dtype, device)
    return ones(as_tensor("ones_like", a).shape, dtype=kind, device=place, requires_grad=requires_grad)


@public(method=False)
def empty_like(a: Any, /, dtype: Any = None, *, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Any content, in the shape, dtype and device of another."""
    kind, place = _like(a, dtype, device)
    return empty(as_tensor("empty_like", a).shape, dtype=kind, device=place, requires_grad=requires_grad)


@public(method=False)
def full_like(a: Any, fill_value: Any, /, dtype: Any = None, *, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """A value everywhere, in the shape, dtype and device of another."""
    kind, place = _like(a, dtype, device)
    return full(as_tensor("full_like", a).shape, fill_value, kind, device=place, requires_grad=requires_grad)


@public(method=False)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """start, start + step, ... below stop; `arange(stop)` starts at 0. Integers give int64.

    >>> import lucid_nb as lnb
    >>> lnb.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    start, stop = (0, start) if stop is None else (start, stop)
    start, stop, step = (x.item() if hasattr(x, "item") else x for x in (start, stop, step))
    if not all(isinstance(x, (int, float)) for x in (start, stop, step)):
        raise DTypeError(f"arange: from {start!r} to {stop!r} in steps of {step!r}. Use real numbers.")
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ShapeError(f"arange: from {start} to {stop} in steps of {step} never ends. "
                         "Use finite numbers, step not 0.")
    name = backend.resolve(device)
    is_whole = all(isinstance(x, int) for x in (start, stop, step))
    wanted = dtypes.INT64 if is_whole and dtype is None else _float_dtype("arange", dtype, name)
    if wanted.kind == "b":
        raise DTypeError("arange: bool has no steps. Use an integer dtype.")
    count = max(0, -((start - stop) // step) if is_whole else math.ceil((stop - start) / step))
    shapes.check_sizes("arange", (count,))
    if wanted.kind in "iu" and count:
        dtypes.as_weak_scalar("arange", start, wanted)
        dtypes.as_weak_scalar("arange", start + step * (count - 1), wanted)
    raw = _allocated("arange", (count,), wanted, lambda: backend.table(name).iota(start, step, count, wanted))
    return _finish(raw, requires_grad)
