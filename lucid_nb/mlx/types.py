"""Dtypes of NumPy and of MLX, constants, and conversion between them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import mlx.core as mx
import numpy as np

from .. import dlpack
from ..errors import BackendError, DTypeError
from . import runtime

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TO_MLX = {np.dtype(name): getattr(mx, name) for name in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64")}
TO_MLX |= {np.dtype("bool"): mx.bool_, BFLOAT16: mx.bfloat16}
TO_NUMPY = {found: dtype for dtype, found in TO_MLX.items()}
AS_THEY_ARE = frozenset(TO_MLX.values()) - {mx.bfloat16, mx.int64, mx.uint64}
"""What NumPy reads from the buffer format as the type that it is. Integers of 64 bits have the format of C's long long,
which NumPy counts as a type of its own where a long is as wide."""
SMALL_FLOATS = (mx.float16, mx.bfloat16)
FLOATS = (mx.float16, mx.bfloat16, mx.float32, mx.float64)


def to_mlx(op: str, dtype: np.dtype) -> mx.Dtype:
    """MLX's name of a dtype; one that this device lacks is refused, never narrowed in silence."""
    if dtype == np.complex128:
        raise DTypeError(f"{op}: complex128 does not exist on mlx. Use .astype('complex64').")
    if dtype == np.float64 and runtime.ON_GPU:
        raise DTypeError(f"{op}: float64 does not exist on mlx's GPU. Use .astype('float32').")
    return TO_MLX[dtype]


def dtype_of(raw: mx.array) -> np.dtype:
    """The dtype as NumPy calls it."""
    return TO_NUMPY[raw.dtype]


def from_numpy(array: np.ndarray) -> mx.array:
    """A copy on the device. MLX itself would make float64 float32, and refuses negative strides."""
    contiguous = np.asarray(array, order="C")
    if any(stride < 0 for stride in contiguous.strides):      # of one element or none: contiguous with any strides
        contiguous = contiguous.copy()
    return mx.array(contiguous, dtype=to_mlx("from_numpy", array.dtype))


def to_numpy(raw: mx.array) -> np.ndarray:
    """The memory itself, for reading only, since arrays of MLX are values; computes what is recorded."""
    is_brief = raw.dtype == mx.bfloat16               # has no buffer format
    found = np.array(runtime.evaluate(raw.view(mx.uint16) if is_brief else raw), copy=False)
    found.flags.writeable = False
    return found if raw.dtype in AS_THEY_ARE else found.view(TO_NUMPY[raw.dtype])


def describe(raw: mx.array) -> dlpack.Block:
    """The memory, which the host can read: on Apple's chips it is the GPU's too."""
    return dlpack.of_host(to_numpy(raw))


def handle(raw: mx.array) -> mx.array:
    """The same array as another object, which assignment to a part of it rebinds alone. mx.array would copy."""
    return raw.astype(raw.dtype)


def adopt(array: mx.array) -> mx.array:
    """An array that MLX made without us, computed: its stream may be one of this thread alone."""
    try:
        return handle(runtime.evaluate(array))
    except RuntimeError as error:
        raise BackendError(f"mlx: an array that another thread recorded cannot be computed here ({error}). "
                           "Call mlx.core.eval on it in that thread.") from None


def literal(value: Any, dtype: mx.Dtype) -> mx.array:
    """A 0-d array of a number: a bare number would leave the dtype to MLX's promotion."""
    return mx.array(np.asarray(value, TO_NUMPY[dtype]), dtype=dtype)


@cache
def nothing(dtype: mx.Dtype) -> mx.array:
    """No elements, for a result that nobody reads."""
    return runtime.evaluate(mx.zeros((0,), dtype))


constant = cache(literal)      # made once; not for -0.0, which as a key equals 0.0


def full(shape: Sequence[int], value: Any, dtype: np.dtype) -> mx.array:
    """An array of one value."""
    found = to_mlx("full", dtype)
    return mx.broadcast_to(mx.array(np.asarray(value).astype(dtype), dtype=found), shape)


def iota(start: Any, step: Any, count: int, dtype: np.dtype) -> mx.array:
    """start + i * step, rounded as NumPy's arange rounds."""
    to_mlx("iota", dtype)
    wide = dtype.type if dtype.kind in "iuc" else np.float64
    return from_numpy((np.arange(count).astype(wide) * wide(step) + wide(start)).astype(dtype))


def cast(raw: mx.array, dtype: np.dtype) -> mx.array:
    """NumPy's astype."""
    wanted = to_mlx("cast", dtype)
    if raw.dtype == mx.float64 and wanted == mx.float16:
        raw = round_to_odd(raw)
    return raw.astype(wanted)


def round_to_odd(x: mx.array) -> mx.array:
    """float64 to float32 so that a second rounding, to float16, gives what one rounding gives.

    S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers 57 (2008).
    """
    nearest = x.astype(mx.float32)
    back = nearest.astype(mx.float64)
    bits = nearest.view(mx.int32)
    bits = mx.where(mx.abs(back) > mx.abs(x), bits - 1, bits)
    return mx.where(back == x, bits, bits | 1).view(mx.float32)


def accumulator(dtype: mx.Dtype) -> mx.Dtype:
    """What sums of a dtype are accumulated in.

    The CPU build adds one element after the other (0.1 added 2e7 times gives 2,097,152 in float32), so it gets float64
    where the GPU, which adds in a tree, gets float32.
    """
    if dtype == mx.float32 or dtype in SMALL_FLOATS:
        return mx.float32 if runtime.ON_GPU else mx.float64
    return dtype


def multiplied(dtype: mx.Dtype) -> mx.Dtype:
    """What products of matrices of a dtype are computed in: the GPU's kernels accumulate small floats in float32."""
    return mx.float32 if dtype in SMALL_FLOATS and not runtime.ON_GPU else dtype
