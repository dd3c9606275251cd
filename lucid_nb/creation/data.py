"""Tensors of data: of numbers and nested lists, of arrays and tensors, of buffers, of functions and iterators."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import backend, dlpack, dtypes, shapes
from ..apply import as_array, check_fits, joined
from ..array import Tensor
from ..errors import DTypeError, LucidError, ShapeError, told
from ..ops.movement import astype, in_order, reshape, to
from ..register import public, short
from ..shapes import as_integer


def finish(raw: Any, requires_grad: bool) -> Tensor:
    """The new tensor, as a leaf where a gradient is wanted; its memory is its own, so also a 0-d one may be written."""
    found = Tensor(raw if backend.batching.made is None else backend.batching.made(raw))
    if requires_grad:
        found.requires_grad = True
    return found


def float_dtype(op: str, dtype: Any, device: str) -> np.dtype:
    """What a user asks for, or the default of a device."""
    if dtype is not None:
        return dtypes.as_dtype(op, dtype)
    return dtypes.default_of(device)


def place_of(device: Any, like: Any) -> str:
    """The device that is named, or that of NumPy's `like=`, or the default."""
    return like.device if device is None and isinstance(like, Tensor) else backend.resolve(device)


def from_host(op: str, array: np.ndarray, dtype: Any, device: str, requires_grad: bool = False) -> Tensor:
    """An array that NumPy made, on a device; float64 that nobody asked for becomes the default float."""
    if dtype is None and array.dtype == dtypes.FLOAT64:
        dtype = float_dtype(op, None, device)
    array = array if dtype is None else array.astype(dtypes.as_dtype(op, dtype), copy=False)
    return finish(backend.table(device).from_numpy(array), requires_grad)


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
    if type(found) is Tensor:
        found = finish(found.raw, requires_grad)
    elif requires_grad:                    # of a trace, which has no memory yet, and refuses
        found.requires_grad = True
    if keep_grad and requires_grad:
        found.retain_grad()
    return found


def _raw_of(op: str, data: Any, dtype: Any, device: Any, copies: bool) -> Any:
    """Raw memory of data that is not a tensor."""
    if (table := foreign(data)) is not None:
        return _on_its_device(op, table, table.adopt(data), dtype, device, copies)
    interface = getattr(data, "__cuda_array_interface__", None)
    if interface is not None:
        table = backend.table("cuda")
        return _on_its_device(op, table, table.of_interface(interface, data), dtype, device, copies)
    table = backend.table(backend.resolve(device))
    is_foreign = isinstance(data, (np.ndarray, np.generic))
    array = _on_host(op, data)
    dtypes.check_supported(op, array.dtype)
    wanted = dtypes.as_dtype(op, dtype) if dtype is not None else array.dtype
    if array.dtype.kind == "c" and wanted.kind not in "cb":
        raise DTypeError(f"{op}: complex numbers do not go into {wanted}. Give their real parts.")
    if dtype is None and not is_foreign and array.dtype == dtypes.FLOAT64:
        wanted = dtypes.default_of(table.device)
    if dtype is None and not is_foreign and array.dtype.kind == "c" and table.name == "mlx":
        wanted = np.dtype(np.complex64)
    if not is_foreign:
        check_fits(op, array, wanted)
    if copies and is_foreign and array.dtype == wanted and array.flags.c_contiguous:
        return table.copy(array) if table.name == "cpu" else table.from_numpy(array)
    if type(data) in dtypes.WEAK and table.name != "cpu":             # nothing need be sent
        return table.full((), array.astype(wanted)[()], wanted)
    is_made = isinstance(data, (list, tuple, *dtypes.WEAK))           # whatever else may have lent its memory
    return table.from_numpy(array.astype(wanted, copy=copies and not is_made))


def _on_host(op: str, data: Any) -> np.ndarray:
    """An array as NumPy reads it; where it does not know the dtype, which is bfloat16, by DLPack."""
    try:
        return as_array(op, data)
    except TypeError as error:
        if isinstance(error, LucidError) or not hasattr(data, "__dlpack__"):
            raise
        return dlpack.on_host(dlpack.borrow(data.__dlpack__()))


def foreign(data: Any) -> backend.Table | None:
    """The table whose device makes arrays of this kind itself, if it is not NumPy's: of an mlx.core.array."""
    kind = type(data)
    return backend.table("mlx") if kind.__module__ == "mlx.core" and kind.__name__ == "array" else None


def _on_its_device(op: str, table: backend.Table, raw: Any, dtype: Any, device: Any, copies: bool) -> Any:
    """Memory of another library on a device: shared unless a copy, a dtype or a device is asked for."""
    given = table.dtype_of(raw)
    dtypes.check_supported(op, given)
    if dtype is not None and (wanted := dtypes.as_dtype(op, dtype)) != given:
        raw, copies = table.cast(raw, wanted), False
    if device is not None and (there := backend.table(backend.resolve(device))).name != table.name:
        host = table.to_numpy(raw)
        return there.from_numpy(host if host.flags.writeable else host.copy())
    return table.copy(raw) if copies else raw


@public(names=("as_tensor", "asanyarray"), method=False)
def asarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None,
            like: Any = None) -> Tensor:
    """A tensor of the data, without a copy where none is needed: a tensor stays itself, a NumPy array is shared.

    `copy`: True copies always, False refuses to copy. `order`: "C" or "F", which axis runs first in memory, where
    there are strides.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(2)
    >>> lnb.asarray(x) is x
    True
    """
    device = like.device if device is None and isinstance(like, Tensor) else device
    if isinstance(a, Tensor):
        found = a if dtype is None else astype(a, dtype, copy=False)
        found = found if device is None else to(found, backend.resolve(device))
        found = found.copy() if found is a and (copy or (a.is_value and copy is None)) else found
        found.is_value = found.is_value and found is a           # where NumPy has a scalar, its array is none
    elif isinstance(a, (list, tuple)) and (together := joined("asarray", a)) is not None:
        return asarray(together, dtype, order, device=device, copy=copy and None)
    else:
        found = Tensor(_raw_of("asarray", a, dtype, device, copies=bool(copy)))
    found = found if order is None else in_order("asarray", found, order)
    if copy is False and not _shares(found, a):
        raise ShapeError(f"asarray: {type(a).__name__} data to {found.dtype} on {found.device} needs a copy, and "
                         "copy=False. Leave copy out.")
    return found


def _shares(found: Tensor, data: Any) -> bool:
    """Is the tensor's memory that of the data?"""
    if isinstance(data, Tensor):
        return found is data or (found.storage is not None and found.storage is data.storage)
    if (table := foreign(data)) is not None:
        return found.device == table.name and found.dtype == table.dtype_of(data)
    return isinstance(data, np.ndarray) and found.device == "cpu" and np.may_share_memory(found.raw, data)


@public(names=("array",), method=False)
def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: str | None = "K", subok: bool = False,
          ndmin: int = 0, device: Any = None, like: Any = None) -> Tensor:
    """NumPy's spelling of `tensor`: copy=None copies where needed, copy=False refuses to; `ndmin` adds axes in front.

    >>> import lucid_nb as lnb
    >>> lnb.array([1, 2], ndmin=2).shape
    (1, 2)
    """
    if dtype is device is like is None and copy is True and order == "K" and not ndmin and (
            raw := short.small(object)) is not None:
        return short.made(raw.copy("F" if raw.flags.fnc else "C"))
    device = like.device if device is None and isinstance(like, Tensor) else device
    found = asarray(object, dtype, device=device, copy=copy)
    if str(order or "K").upper() != "K" or _is_fortran(object):
        is_kept = str(order or "K").upper() in "AK"
        found = in_order("array", found, "F" if is_kept and _is_fortran(object) else str(order or "K"))
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if ndmin > found.ndim else found


def _is_fortran(data: Any) -> bool:
    """Does the memory of the data run along the first axis first, and only so?"""
    flags = getattr(data.raw if isinstance(data, Tensor) else data, "flags", None)
    return bool(getattr(flags, "fnc", False))


@public(method=False)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Tensor:
    """A tensor of one axis or more whose memory runs along the last axis first; itself where it is so.

    >>> import lucid_nb as lnb
    >>> lnb.ascontiguousarray(lnb.zeros((2, 3)).T).strides
    (16, 8)
    """
    found = asarray(a, dtype, order="C", like=like)
    return found if found.ndim else reshape(found, 1)


@public(method=False)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Tensor:
    """A tensor whose memory runs along the first axis first, where the device has strides; itself where it is so.

    >>> import lucid_nb as lnb
    >>> lnb.asfortranarray(lnb.zeros((2, 3))).strides
    (8, 16)
    """
    return asarray(a, dtype, order="F", like=like)


@public(method=False)
def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Tensor:
    """`asarray` of data without NaN and infinities; others raise ShapeError, which is a ValueError.

    >>> import lucid_nb as lnb
    >>> lnb.asarray_chkfinite([1.0, 2.0])
    tensor([1., 2.])
    """
    found = asarray(a, dtype, order)
    if dtypes.is_inexact(found.dtype) and not np.isfinite(found.to_host()).all():
        raise ShapeError(f"asarray_chkfinite: the data of shape {found.shape} hold NaN or infinity. Remove them.")
    return found


# -------------------------------------------------------------------------------- buffers, texts, functions
@public(method=False)
def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, device: Any = None,
               like: Any = None) -> Tensor:
    """A tensor of one axis on the memory of a buffer, from byte `offset` on; shared, and read-only where the buffer is.

    >>> import lucid_nb as lnb
    >>> lnb.frombuffer(bytes([1, 2, 3]), "uint8", offset=1)
    tensor([2, 3], dtype=uint8)
    """
    wanted = dtypes.as_dtype("frombuffer", dtype)
    try:
        found = np.frombuffer(buffer, wanted, count, offset)
    except (ValueError, OverflowError) as error:
        raise ShapeError(f"frombuffer: {error}. Give a dtype, count and offset that fit the buffer.") from None
    except (TypeError, AttributeError) as error:
        raise DTypeError(f"frombuffer: {type(buffer).__name__} is no buffer ({error}). Use lnb.asarray.") from None
    return Tensor(backend.table(place_of(device, like)).from_numpy(found))


@public(method=False)
def fromstring(text: str, /, dtype: Any = float, count: int = -1, *, sep: str, device: Any = None,
               like: Any = None) -> Tensor:
    """A tensor of one axis of the numbers in a text, parted by `sep`.

    >>> import lucid_nb as lnb
    >>> lnb.fromstring("1 2 3", dtype=int, sep=" ")
    tensor([1, 2, 3])
    """
    if not sep:
        raise ShapeError("fromstring: no separator; bytes are read by frombuffer. Give sep=' ', say.")
    try:
        found = np.fromstring(text, dtypes.as_dtype("fromstring", dtype), count, sep=sep)
    except ValueError as error:
        raise ShapeError(f"fromstring: {error}. Give numbers parted by {sep!r}.") from None
    return from_host("fromstring", found, None if dtype is float else dtype, place_of(device, like))


@public(method=False)
def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, device: Any = None,
             like: Any = None) -> Tensor:
    """A tensor of one axis of what an iterable gives, at most `count` of it.

    >>> import lucid_nb as lnb
    >>> lnb.fromiter((i * i for i in range(3)), int)
    tensor([0, 1, 4])
    """
    if not isinstance(iter, Iterable):
        raise DTypeError(f"fromiter: {told(iter)} gives no numbers one by one. Use an iterable.")
    numbers = (x.item() if isinstance(x, Tensor) else x for x in iter)
    wanted, count = dtypes.as_dtype("fromiter", dtype), as_integer("fromiter", "count", count)
    try:
        found = np.fromiter(numbers, wanted, count)
    except (ValueError, TypeError, OverflowError) as error:
        kind = ShapeError if isinstance(error, ValueError) else DTypeError
        raise kind(f"fromiter: {error}. Give numbers that fit {wanted}, and as many as count says.") from None
    return Tensor(backend.table(place_of(device, like)).from_numpy(found))


@public(method=False)
def fromfunction(function: Callable, shape: Any, *, dtype: Any = float, like: Any = None, device: Any = None,
                 **options: Any) -> Any:
    """What a function gives of the coordinate tensors of a shape, called once.

    >>> import lucid_nb as lnb
    >>> lnb.fromfunction(lambda i, j: i + j, (2, 3), dtype=int).tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    sizes = shapes.check_sizes("fromfunction", shapes.as_shape("fromfunction", shape))
    wanted = None if dtype is float else dtype
    places = np.indices(sizes, float if dtype is float else dtypes.as_dtype("fromfunction", dtype))
    return function(*[from_host("fromfunction", place, wanted, place_of(device, like)) for place in places], **options)

