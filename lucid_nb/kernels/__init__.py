"""The CPU: the table's entries over NumPy arrays."""

import platform
from math import prod
from typing import Any

import numpy as np

from ..dlpack import of_host as describe  # noqa: F401
from ..dlpack import on_host as over  # noqa: F401
from ..program import Program
from . import copying, elementwise

# Some entries have the name of their module, so they must be bound after it: not lazily. No kernel is compiled here.
from .attention import attention, attention_grad  # noqa: F401
from .conv import conv, conv_input_grad, conv_weight_grad  # noqa: F401
from .counting import bin_places, bincount, histogram, span  # noqa: F401
from .fourier import fourier  # noqa: F401
from .fused import kernel as fused_rows  # noqa: F401
from .gemm import linear, matmul  # noqa: F401
from .index import (  # noqa: F401
    concatenate,
    gather,
    pad,
    scatter,
    scatter_add,
    scatter_along,
    scatter_into,
    scatter_reduce,
    sum_rows,
    take_along,
)
from .linalg import linalg  # noqa: F401
from .masks import compress, expand, nonzero  # noqa: F401
from .moments import moments  # noqa: F401
from .normalization import normalize, normalize_grad, remember  # noqa: F401
from .pooling import avg_pool, avg_pool_grad, max_pool, max_pool_grad  # noqa: F401
from .random import dropout, random_bits  # noqa: F401
from .recurrent import recurrent, recurrent_grad  # noqa: F401
from .reduce import arg_reduce, logsumexp, reduce  # noqa: F401
from .resample import resample  # noqa: F401
from .roads import Road, fills, numbers, places, steps_of, table_of, when_there  # noqa: F401
from .sample import sample, sample_input_grad, sample_weight_grad  # noqa: F401
from .scan import extreme_scan, recurrence, scan  # noqa: F401
from .sets import isin, unique  # noqa: F401
from .softmax import cross_entropy, cross_entropy_grad, log_softmax, log_softmax_grad, softmax, softmax_grad  # noqa: F401
from .sort import argsort, partition, searchsorted, sort, topk  # noqa: F401
from .updates import update  # noqa: F401
from .vector_product import vector_product  # noqa: F401

DEVICE, ALIASES, RAW_TYPES = "cpu", True, (np.ndarray,)
UNSUPPORTED: dict[str, str] = {}
UNAVAILABLE = ""
NATIVE = elementwise.native


def is_available() -> bool:
    """Always."""
    return True


def description() -> str:
    """The processor's name."""
    return platform.processor() or platform.machine()


def dtype_of(raw: np.ndarray) -> np.dtype:
    """The dtype."""
    return raw.dtype


def from_numpy(array: np.ndarray) -> np.ndarray:
    """The array itself."""
    return array


def to_numpy(raw: np.ndarray) -> np.ndarray:
    """The array itself."""
    return np.asarray(raw)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory with any content; large memory is recycled."""
    return elementwise.memory.empty(shape, dtype)


def full(shape: tuple[int, ...], value: Any, dtype: np.dtype) -> np.ndarray:
    """Memory filled with a value."""
    if type(value) is int and value == 0:
        return np.zeros(shape, dtype)
    if prod(shape) * dtype.itemsize < copying.STREAMED:
        return np.full(shape, value, dtype)
    return copying.copy(np.broadcast_to(np.full((), value, dtype), shape))


def iota(start: Any, step: Any, count: int, dtype: np.dtype) -> np.ndarray:
    """start, start + step, ... with the bits of numpy.arange."""
    whole = isinstance(start, int) and isinstance(step, int)
    stop = start + step * (count if whole else count - 0.5)
    return np.arange(start, stop, step, dtype)  # type: ignore[call-overload]


def cast(raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Another dtype; the array itself where it has it."""
    return np.asarray(raw).astype(dtype, copy=False)


def copy(raw: np.ndarray) -> np.ndarray:
    """Contiguous memory of its own."""
    return copying.copy(raw)


def assign(target: np.ndarray, source: np.ndarray) -> None:
    """Write into a view."""
    target[...] = source


def map(program: Program, name: str) -> elementwise.Kernel:
    """The kernel of an elementwise program."""
    return elementwise.kernel(program, name)


def reshape(raw: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Another shape, as a view where strides allow."""
    return raw.reshape(shape)


def permute(raw: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Axes reordered, as a view."""
    return raw.transpose(axes)


def broadcast_to(raw: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only view of a larger shape."""
    return raw if raw.shape == shape else np.broadcast_to(raw, shape)


def slice(raw: np.ndarray, index: tuple) -> np.ndarray:
    """Basic indexing, as a view even where all are integers."""
    return raw[index if ... in index else (*index, ...)]


def as_strided(raw: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """A view from the first element on, at strides in elements, all within the memory."""
    return np.lib.stride_tricks.as_strided(raw, shape, [raw.itemsize * stride for stride in strides])


def reinterpret(raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The same bits as another dtype: a view."""
    return raw.view(dtype)


def repeat(raw: np.ndarray, counts: int | np.ndarray, axis: int) -> np.ndarray:
    """Each element of an axis so many times, all alike or each its own number."""
    return np.repeat(raw, counts, axis)


def real(raw: np.ndarray) -> np.ndarray:
    """The real parts, as a view."""
    return raw.real


def conjugate(raw: np.ndarray) -> np.ndarray:
    """Complex conjugates."""
    return np.conjugate(raw)


def synchronize() -> None:
    """Nothing is pending."""
