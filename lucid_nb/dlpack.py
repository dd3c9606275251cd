"""DLPack capsules of what NumPy's own cannot carry: bfloat16, and the memory of GPUs.

What is lent travels in a capsule of NumPy's, which frees it at any time without running Python; only the dtype and the
device in it are put right. What is borrowed is read by ctypes.

The layout of the structures is DLPack's (https://dmlc.github.io/dlpack/latest/c_api.html), versions 0.8 and 1.0.
"""

import ctypes
import itertools
import weakref
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from ctypes import c_void_p as Pointer
from typing import Any, NamedTuple

import numpy as np

from .dtypes import BFLOAT16
from .errors import DTypeError

CPU, CUDA = 1, 2                            # DLPack's numbers of kinds of devices
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4
_READ_ONLY, _COPIED = 1, 2                  # flags of version 1
_NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
_USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


class Block(NamedTuple):
    """Memory of an array: address of its first element, sizes and strides in elements, and what keeps it alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    device: tuple[int, int]
    is_read_only: bool
    owner: Any


class _Device(Structure):
    _fields_ = [("kind", c_int32), ("number", c_int32)]


class _DType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Array(Structure):
    _fields_ = [("data", Pointer), ("device", _Device), ("ndim", c_int32), ("dtype", _DType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", c_uint64)]


class _Plain(Structure):
    _fields_ = [("array", _Array), ("context", Pointer), ("deleter", Pointer)]


class _Versioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", Pointer), ("deleter", Pointer),
                ("flags", c_uint64), ("array", _Array)]


_Deleter = ctypes.CFUNCTYPE(None, Pointer)


def _python(name: str, result: Any, *arguments: Any) -> Callable:
    """A function of Python's C interface; one of its own prototype, since others may declare the same otherwise."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_named = _python("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_pointer = _python("PyCapsule_GetPointer", Pointer, ctypes.py_object, c_char_p)
_rename = _python("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)


def _managed(capsule: Any, is_versioned: bool) -> Any:
    """The structure in a capsule."""
    return (_Versioned if is_versioned else _Plain).from_address(_pointer(capsule, _NAMES[is_versioned]))


# ------------------------------------------------------------------------------------------------------ lending
class _Lender:
    """What numpy.asarray takes memory from; the array keeps it, and with it the owner, alive."""

    def __init__(self, block: Block) -> None:
        size, kind = block.dtype.itemsize, "<u2" if block.dtype == BFLOAT16 else block.dtype.str
        self.owner = block.owner
        self.__array_interface__ = {
            "version": 3, "shape": block.shape, "strides": tuple(stride * size for stride in block.strides),
            "typestr": kind, "data": (block.address, block.is_read_only)}


def _as_array(block: Block) -> np.ndarray:
    """A NumPy array at that address, bfloat16 as uint16; what no host can read must not be read."""
    if 0 in block.shape:
        return np.empty(block.shape, np.uint16 if block.dtype == BFLOAT16 else block.dtype)
    return np.asarray(_Lender(block))


def lend(block: Block, is_versioned: bool, is_copied: bool = False) -> Any:
    """A capsule of the memory; it, or who takes it, keeps the owner alive. Only version 1 carries read-only memory."""
    if block.is_read_only and not is_versioned:
        raise DTypeError("__dlpack__: the memory is read-only, and the consumer knows no DLPack that says so. "
                         "Use .copy().")
    capsule = _as_array(block).__dlpack__(max_version=(1, 0) if is_versioned else None)
    managed = _managed(capsule, is_versioned)
    managed.array.device = _Device(*block.device)
    if block.dtype == BFLOAT16:
        managed.array.dtype.code = _BFLOAT
    if is_versioned and is_copied:
        managed.flags |= _COPIED
    return capsule


# ---------------------------------------------------------------------------------------------------- borrowing
class Loan:
    """Memory of another library: when this object goes, that library gets it back."""

    def __init__(self, managed: Structure) -> None:
        self.array: _Array = managed.array
        self.flags: int = getattr(managed, "flags", 0)
        if managed.deleter:
            weakref.finalize(self, _Deleter(managed.deleter), ctypes.addressof(managed)).atexit = False


def _dtype(given: _DType) -> np.dtype:
    if (given.code, given.bits, given.lanes) == (_BFLOAT, 16, 1):
        return BFLOAT16
    kinds = {code: kind for kind, code in _CODES.items()}
    try:
        if given.lanes != 1:
            raise TypeError
        return np.dtype(f"{kinds[given.code]}{given.bits // 8}")
    except (KeyError, TypeError):
        raise DTypeError(f"from_dlpack: the memory holds dtype code {given.code} of {given.bits} bits and "
                         f"{given.lanes} lanes. Convert it to float32 first.") from None


def borrow(capsule: Any) -> Block:
    """What a capsule holds; it can be taken once."""
    is_versioned = bool(_is_named(capsule, _NAMES[True]))
    if not is_versioned and not _is_named(capsule, _NAMES[False]):
        raise DTypeError("from_dlpack: the capsule was taken before, or holds something else. Ask for a new one.")
    loan = Loan(_managed(capsule, is_versioned))
    _rename(capsule, _USED[is_versioned])
    array = loan.array
    shape = tuple(array.shape[axis] for axis in range(array.ndim))
    strides = tuple(array.strides[axis] for axis in range(array.ndim)) if array.strides else row_major(shape)
    return Block((array.data or 0) + array.offset, shape, strides, _dtype(array.dtype),
                 (array.device.kind, array.device.number), bool(loan.flags & _READ_ONLY), loan)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of contiguous memory."""
    return tuple(itertools.accumulate(shape[:0:-1], lambda total, size: total * size, initial=1))[::-1] if shape else ()


# --------------------------------------------------------------------------------------------------- on the host
def on_host(block: Block) -> np.ndarray:
    """A NumPy array over memory that the host can read."""
    return _as_array(block).view(block.dtype)


def of_host(array: np.ndarray) -> Block:
    """The memory of a NumPy array."""
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Block(array.ctypes.data, array.shape, strides, array.dtype, (CPU, 0), not array.flags.writeable, array)
