"""What a pickle of NumPy arrays may ask for, and what is made instead: tensors, dtypes, numbers and containers."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np

from .. import backend, dtypes
from ..array import Tensor
from ..errors import told
from .pickles import Machine, key_of

SHAPE = tuple[int, ...]


def placed(array: np.ndarray, device: str) -> Any:
    """The raw memory of a tensor of these numbers on a device."""
    return backend.table(device).from_numpy(array)


def sound(op: str, flat: np.ndarray) -> np.ndarray:
    """Numbers of a file as a tensor can hold them: in this machine's byte order, aligned, truth values 0 or 1."""
    found = flat if flat.dtype.isnative else flat.astype(flat.dtype.newbyteorder("="))
    dtypes.check_supported(op, found.dtype)
    if found.dtype == dtypes.BOOL and found.view(np.uint8).max(initial=0) > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    return found if found.flags.aligned else found.copy()


def extents(shape: Any) -> SHAPE:
    """A shape, if it is one: integers, none negative."""
    if not isinstance(shape, (tuple, list)) or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"{told(shape)} as a shape")
    return tuple(shape)


class DType:
    """A dtype as a pickle makes it: its kind first, its byte order later."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype


def _bfloat16(machine: Machine, *_: Any) -> None:
    """Stands for the class ml_dtypes.bfloat16, which a dtype is made of and nothing calls."""
    raise ValueError("bfloat16 is called")


def _new_dtype(machine: Machine, kind: Any, align: Any = False, copy: Any = True) -> DType:
    return DType(dtypes.as_dtype(machine.op, "bfloat16" if kind is _bfloat16 else kind))


def _fill_dtype(machine: Machine, made: DType, state: tuple) -> None:
    if state[2:5] != (None, None, None):
        raise ValueError("an array of records")
    if state[1] == ">":
        made.dtype = made.dtype.newbyteorder(">")


def _reconstruct(machine: Machine, kind: Any, shape: Any, code: Any) -> Tensor:
    """An array to be filled by its state."""
    return Tensor(None)


def _fill_array(device: str) -> Callable[[Machine, Tensor, tuple], None]:
    def fill(machine: Machine, made: Tensor, state: tuple) -> None:
        _, shape, dtype, is_fortran, content = state
        made.raw = _array(machine, content, dtype, shape, "F" if is_fortran else "C", device)
    return fill


def _from_buffer(device: str) -> Callable[..., Tensor]:
    def from_buffer(machine: Machine, content: Any, dtype: Any, shape: Any, order: str) -> Tensor:
        return Tensor(_array(machine, content, dtype, shape, order, device))
    return from_buffer


def _array(machine: Machine, content: Any, dtype: DType, shape: Any, order: str, device: str) -> Any:
    """The numbers, in memory that may be written."""
    held = _bytes(content)
    sizes = extents(shape)
    if prod(sizes) * dtype.dtype.itemsize != len(held):
        raise ValueError(f"{len(held)} bytes for an array of shape {sizes} and {dtype.dtype}")
    machine.spend(len(held))
    flat = np.frombuffer(held, dtype.dtype)
    return placed(sound(machine.op, flat).reshape(sizes, order="F" if order == "F" else "C"), device)


def _bytes(content: bytes | bytearray | str) -> bytearray:
    """Bytes that may be written; Python 2 wrote them as text."""
    if isinstance(content, str):
        return bytearray(content, "latin1")
    return content if isinstance(content, bytearray) else bytearray(memoryview(content))


def _scalar(machine: Machine, dtype: DType, content: Any) -> np.generic:
    held = _bytes(content)
    if len(held) != dtype.dtype.itemsize:
        raise ValueError(f"{len(held)} bytes for a {dtype.dtype}")
    return sound(machine.op, np.frombuffer(held, dtype.dtype))[0]


def _encode(machine: Machine, text: str, encoding: str) -> bytes:
    """Bytes that an old protocol holds as text."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"text in {told(encoding)}")
    machine.spend(len(text))
    return text.encode("latin1")


def _no_bytes(machine: Machine) -> bytes:
    return b""


def _bytearray(machine: Machine, content: bytes | str = b"", encoding: str = "latin-1") -> bytearray:
    machine.spend(len(content))
    return _bytes(content)


def _set(machine: Machine, items: Iterable[Any] = ()) -> set:
    found = list(items)
    machine.spend(len(found))
    return set(map(key_of, found))


def _complex(machine: Machine, real: float, imag: float) -> complex:
    return complex(real, imag)


def ordered(machine: Machine, pairs: Iterable[Any] = ()) -> OrderedDict:
    """An OrderedDict; Python 2 wrote its items as an argument."""
    items = list(pairs)
    machine.spend(len(items))
    return OrderedDict((key_of(key), value) for key, value in items)


def _counter(machine: Machine, counts: dict[Any, int]) -> Counter:
    """A Counter, in which schedules keep their milestones."""
    machine.spend(len(counts))
    return Counter({key_of(key): count + 0 for key, count in counts.items()})


def _no_state(machine: Machine, made: OrderedDict, state: Any) -> None:
    """PyTorch hangs the versions of its modules on the dict; no weights."""


def of_numpy(device: str) -> dict[tuple[str, str], Any]:
    """{(module, name): builder}, under the names of every version of NumPy and Python."""
    found: dict[tuple[str, str], Any] = {
        ("numpy", "ndarray"): _no_bytes, ("numpy", "dtype"): _new_dtype, ("ml_dtypes", "bfloat16"): _bfloat16,
        ("_codecs", "encode"): _encode, ("collections", "OrderedDict"): ordered,
        ("collections", "Counter"): _counter}
    for package in ("numpy.core", "numpy._core"):
        found[f"{package}.multiarray", "_reconstruct"] = _reconstruct
        found[f"{package}.multiarray", "scalar"] = _scalar
        found[f"{package}.numeric", "_frombuffer"] = _from_buffer(device)
    for module in ("builtins", "__builtin__"):
        found.update({(module, "complex"): _complex, (module, "bytearray"): _bytearray, (module, "set"): _set,
                      (module, "bytes"): _no_bytes})
    return found


def states(device: str) -> dict[type, Callable[..., None]]:
    """{type: what fills one}."""
    return {Tensor: _fill_array(device), DType: _fill_dtype, OrderedDict: _no_state}
