"""What each dtype is in memory and in registers, and the way between the two.

float16 and bfloat16 are loaded to float32, computed, and stored back; bfloat16 lies in memory as uint16, bool as
bytes. A name here is what kernels close over: a NumPy scalar type, which Numba takes as a cast, or an inline function.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BFLOAT16, BOOL
from .runtime import SIMULATED, inline

if SIMULATED:
    def int_as_float(bits):
        """The float32 with these bits."""
        return np.int32(bits).view(np.float32)

    def float_as_int(value):
        """The bits of a float32."""
        return np.float32(value).view(np.int32)
else:
    from numba.cuda.libdevice import float_as_int, int_as_float


def storage(dtype: np.dtype) -> np.dtype:
    """The dtype of the memory that holds `dtype`."""
    return np.dtype(np.uint16) if dtype == BFLOAT16 else dtype


def compute(dtype: np.dtype) -> np.dtype:
    """The dtype that values of `dtype` have in registers."""
    return np.dtype(np.float32) if dtype in (BFLOAT16, np.float16) else dtype


@inline
def widen_bfloat16(bits):
    """float32 of the 16 bits of a bfloat16."""
    return int_as_float(np.int32(np.uint32(bits) << np.uint32(16)))


@inline
def narrow_bfloat16(value):
    """The 16 bits of the bfloat16 nearest to a float32, ties to even; NaN stays NaN."""
    bits = np.uint32(float_as_int(value))
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.uint16(rounded) if value == value else np.uint16(0x7FC0)


@inline
def is_true(value):
    """1 where a value counts as true, as NumPy has it (NaN does)."""
    return np.uint8(1) if value != 0 else np.uint8(0)


@inline
def as_bool(value):
    """A bool of a count."""
    return value != 0


def narrow(dtype: np.dtype) -> Callable[[Any], Any]:
    """The cast from registers to memory."""
    return narrow_bfloat16 if dtype == BFLOAT16 else as_bool if dtype == BOOL else dtype.type


@cache
def widen_to(source: np.dtype, target: np.dtype) -> Callable[[Any], Any]:
    """The cast from memory of `source` to registers of `target`, a compute dtype."""
    if source != BFLOAT16:
        return target.type
    cast = target.type

    def load(bits):
        return cast(widen_bfloat16(bits))
    return inline(load)


def lowest(dtype: np.dtype) -> Any:
    """The identity of maximum."""
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """The identity of minimum."""
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max
