"""Keys: unsigned integers whose order is that of numbers, NaN last, made from their bits.

A key of a signed integer has its sign bit turned; one of a float has all bits turned where it is negative and the sign
bit otherwise, and NaN has the largest key (M. Herf, "Radix tricks", 2001). A complex number has three keys: whether
its parts are NaN, the real part and the imaginary one, in this order.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BFLOAT16
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import contiguous
from .runtime import cuda, inline

INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def word(dtype: np.dtype) -> np.dtype:
    """The unsigned integer that has the bits of a number."""
    return np.dtype(f"uint{8 * dtype.itemsize}")


def key(dtype: np.dtype) -> np.dtype:
    """The dtype of keys: 32 bits where they suffice."""
    return np.dtype(np.uint32 if dtype.itemsize <= 4 else np.uint64)


def is_float(dtype: np.dtype) -> bool:
    """Is it a real float?"""
    return dtype.kind == "f" or dtype == BFLOAT16


class _Bits(NamedTuple):
    """Constants of a dtype in the dtype of its keys."""

    whole: Any                    # all bits of a word
    sign: Any
    infinity: Any


def _bits(dtype: np.dtype) -> _Bits:
    width, number = 8 * dtype.itemsize, key(dtype).type
    return _Bits(number(2 ** width - 1), number(1 << (width - 1)), number(INFINITIES.get(dtype.name, 0)))


@cache
def encoder(dtype: np.dtype, descending: bool = False, is_exact: bool = False) -> Callable:
    """From the word of a number to its key; of the reversed order if descending; -0.0 below 0.0 where exact."""
    number = key(dtype).type
    whole, sign, infinity = _bits(dtype)
    zero, turn = number(0), whole if descending else number(0)
    kept = sign if dtype.kind == "i" else zero

    def encode(bits):
        return number(number(bits) ^ kept ^ turn)

    def encode_float(bits):
        bits = number(bits)
        size = number(bits & number(whole ^ sign))
        found = number(bits ^ (whole if bits & sign else sign))
        if size == zero and not is_exact:
            found = sign
        if size > infinity:
            found = whole
        return number(found ^ turn)
    return inline(encode_float if is_float(dtype) else encode)


@cache
def decoder(dtype: np.dtype, descending: bool) -> Callable:
    """From the key of a number to its word; NaN in one form."""
    number = key(dtype).type
    whole, sign, _ = _bits(dtype)
    turn = whole if descending else number(0)
    kept, nan = sign if dtype.kind == "i" else number(0), number(whole ^ sign)

    def decode(found):
        return number(found ^ turn ^ kept)

    def decode_float(found):
        found = number(found ^ turn)
        bits = number(found ^ (sign if found & sign else whole))
        return nan if found == whole else bits
    return inline(decode_float if is_float(dtype) else decode)




def words(raw: DeviceArray) -> Any:
    """The flat words of an array; a complex number has two."""
    raw = contiguous(raw)
    wanted = np.dtype(f"uint{4 * raw.element.itemsize}") if raw.element.kind == "c" else word(raw.element)
    if raw.ndim == 0:
        raw = geometry.view(raw, (1,), (1,))
    return geometry.flat(geometry.reinterpret(raw, wanted))


# ------------------------------------------------------------------------------------------------ complex numbers
def part_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of a complex number."""
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


@cache
def nan_class(dtype: np.dtype) -> Callable:
    """From the words of the parts to 0 to 3: none, the imaginary, the real part, or both are NaN."""
    encode, whole = encoder(part_of(dtype)), _bits(part_of(dtype)).whole

    def classify(real, imaginary):
        return np.uint8(2 * (encode(real) == whole) + (encode(imaginary) == whole))
    return inline(classify)


@cache
def _part_kernel(dtype: np.dtype, descending: bool) -> Any:
    encode = encoder(part_of(dtype), descending)

    def encode_part(count, x, keys, offset):
        i = cuda.grid(1)
        while i < count:
            keys[i] = encode(x[2 * i + offset])
            i += cuda.gridsize(1)
    return runtime.kernel(encode_part)


@cache
def _class_kernel(dtype: np.dtype, descending: bool) -> Any:
    classify, turn = nan_class(dtype), np.uint8(3 if descending else 0)

    def classify_all(count, x, keys):
        i = cuda.grid(1)
        while i < count:
            keys[i] = classify(x[2 * i], x[2 * i + 1]) ^ turn
            i += cuda.gridsize(1)
    return runtime.kernel(classify_all)


def complex_keys(raw: DeviceArray, descending: bool) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """The keys of complex numbers as arrays of their shape, that which decides last first."""
    x = words(raw)
    parts = [geometry.empty(raw.shape, key(part_of(raw.element))) for _ in range(2)]
    classes = geometry.empty(raw.shape, np.dtype(np.uint8))
    for offset, part in zip((1, 0), parts):
        runtime.launch_each(_part_kernel(raw.element, descending), raw.size, raw.size, x, part.memory, offset)
    runtime.launch_each(_class_kernel(raw.element, descending), raw.size, raw.size, x, classes.memory)
    return parts[0], parts[1], classes
