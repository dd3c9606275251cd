"""MLX: the table of primitives on Apple's GPU, and on the CPU build of MLX elsewhere.

A raw array is an `mlx.core.array`. Entries record; values are computed when they are read (`to_numpy`), by
`synchronize`, and when many results wait. Arrays are never written in place: `put_slice` gives a new one.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from typing import Any, TypeAlias

import mlx.core as mx
import numpy as np

from ..program import Program
from ..shapes import Shape, Window
from . import convolution, metal, ordering, products, reductions, runtime, types, views, vocabulary
from .attention import attention, attention_grad  # noqa: F401
from .fourier import fourier  # noqa: F401
from .host import HOST, LACKING  # noqa: F401
from .normalization import normalize, normalize_by, normalize_grad  # noqa: F401
from .pooling import avg_pool, avg_pool_grad, max_pool, max_pool_grad  # noqa: F401
from .products import linear  # noqa: F401
from .recurrent import recurrent, recurrent_grad  # noqa: F401
from .runtime import entry, movement
from .sampling import sample, sample_input_grad, sample_weight_grad  # noqa: F401
from .statistics import moments  # noqa: F401

if runtime.ON_GPU:                     # elsewhere the CPU's kernel makes the words sooner
    from .random import dropout, random_bits  # noqa: F401

Raw: TypeAlias = mx.array
Axes = tuple[int, ...]

DEVICE = "mlx"
ALIASES = False
RAW_TYPES: tuple[type, ...] = (mx.array,)
UNSUPPORTED = LACKING
UNAVAILABLE = "MLX is installed, but cannot compute on this machine. Use device='cpu'."


# ------------------------------------------------------------------------------------------------ the device
@cache
def is_available() -> bool:
    """Can MLX compute here?"""
    try:
        return bool(runtime.evaluate(mx.ones(1)).item() == 1)
    except RuntimeError:
        return False


def description() -> str:
    """The device's name, and MLX's version."""
    build = "GPU" if runtime.ON_GPU else "CPU build"
    return f"{mx.device_info()['device_name']} ({build}, MLX {metadata.version('mlx')})"


def synchronize() -> None:
    """Compute everything that is recorded, and wait for it."""
    runtime.wait()


def span(raw: Raw) -> tuple[int, int]:
    """The smallest and the largest of some integers, in the memory that the host shares: it is read sooner than two
    reductions are started and waited for."""
    host = to_numpy(raw)
    return int(host.min()), int(host.max())


def start() -> None:
    """Start computing everything that is recorded; nobody waits."""
    runtime.join()
    runtime.flush()


# --------------------------------------------------------------------------------------------------- memory
dtype_of, from_numpy, to_numpy, describe = types.dtype_of, types.from_numpy, types.to_numpy, types.describe
adopt = types.adopt


@entry
def empty(shape: Shape, dtype: np.dtype) -> Raw:
    """An array of zeros: MLX has no uninitialised memory."""
    return mx.zeros(shape, types.to_mlx("empty", dtype))


@entry
def full(shape: Shape, value: Any, dtype: np.dtype) -> Raw:
    """An array of one value."""
    return types.full(shape, value, dtype)


@entry
def iota(start: Any, step: Any, count: int, dtype: np.dtype) -> Raw:
    """start, start + step, ..."""
    return types.iota(start, step, count, dtype)


@entry
def cast(raw: Raw, dtype: np.dtype) -> Raw:
    """NumPy's astype."""
    return types.cast(raw, dtype)


@entry
def copy(raw: Raw) -> Raw:
    """Another array with the same content."""
    return types.handle(raw)


# ---------------------------------------------------------------------------------------------- elementwise
def map(program: Program, name: str) -> vocabulary.Call:
    """A program as a function that broadcasts its arguments; a long one of floats is a Metal kernel, where that is."""
    calls = vocabulary.function(program, name)
    return metal.function(program, name, calls) if metal.IS_THERE and metal.suits(program) else calls


def compiled(function: Callable[..., Sequence[Raw]]) -> Callable[..., Sequence[Raw]]:
    """A function that calls entries, as one program."""
    return runtime.compiled(function)


def NATIVE() -> frozenset[str]:
    """The vocabulary entries that need no expansion."""
    return vocabulary.NATIVE


# ------------------------------------------------------------------------------------------------ reductions
@entry
def reduce(kind: str, raw: Raw, axes: Axes, keepdims: bool, dtype: np.dtype) -> Raw:
    """sum, prod, max, min, any or all over axes."""
    return reductions.reduce(kind, raw, axes, keepdims, dtype)


@entry
def mean(raw: Raw, axes: Axes, keepdims: bool, count: float) -> Raw:
    """The sum over axes divided by a count."""
    return reductions.mean(raw, axes, keepdims, count)


@entry
def arg_reduce(kind: str, raw: Raw, axis: int, keepdims: bool) -> Raw:
    """The first index of the extreme, int64; NaN wins."""
    return reductions.arg_reduce(kind, raw, axis, keepdims)


@entry
def logsumexp(raw: Raw, axes: Axes, keepdims: bool) -> Raw:
    """Logarithm of the sum of exponentials."""
    return reductions.logsumexp(raw, axes, keepdims)


@entry
def softmax(raw: Raw, axis: int) -> Raw:
    """exp(x) over its sum; zeros for only -inf."""
    return reductions.softmax(raw, axis)


@entry
def softmax_grad(y: Raw, g: Raw, axis: int) -> Raw:
    """The gradient of softmax, from its result y."""
    return reductions.softmax_grad(y, g, axis)


@entry
def log_softmax(raw: Raw, axis: int) -> Raw:
    """The logarithm of softmax."""
    return reductions.log_softmax(raw, axis)


@entry
def log_softmax_grad(y: Raw, g: Raw, axis: int) -> Raw:
    """The gradient of log_softmax, from its result y."""
    return reductions.log_softmax_grad(y, g, axis)


@entry
def cross_entropy(logits: Raw, target: Raw, ignore_index: int) -> Raw:
    """The loss of each row."""
    return reductions.cross_entropy(logits, target, ignore_index)


@entry
def mean_cross_entropy(logits: Raw, target: Raw, ignore_index: int, count: float) -> Raw:
    """The sum of the losses divided by a count."""
    return reductions.mean(reductions.cross_entropy(logits, target, ignore_index), (0,), False, count)


@entry
def cross_entropy_grad(logits: Raw, target: Raw, g: Raw, ignore_index: int) -> Raw:
    """The gradient of the logits."""
    return reductions.cross_entropy_grad(logits, target, g, ignore_index)


# ------------------------------------------------------------------------------------------------- movement
@movement
def reshape(raw: Raw, shape: Shape) -> Raw:
    """Another shape of the same elements."""
    return mx.reshape(raw, shape)


@movement
def permute(raw: Raw, axes: Axes) -> Raw:
    """Axes reordered."""
    return mx.transpose(raw, axes)


@movement
def broadcast_to(raw: Raw, shape: Shape) -> Raw:
    """Repeated along new axes and axes of size 1."""
    return mx.broadcast_to(raw, shape)


@movement
def slice(raw: Raw, index: tuple[Any, ...]) -> Raw:
    """Basic indexing."""
    return views.slice_(raw, index)


@movement
def as_strided(raw: Raw, shape: Shape, strides: Shape) -> Raw:
    """Elements at strides in C order, from the first on."""
    return mx.as_strided(mx.contiguous(raw), shape, strides)


@movement
def reinterpret(raw: Raw, dtype: np.dtype) -> Raw:
    """The same bits as another dtype."""
    return raw.view(types.to_mlx("reinterpret", dtype))


@entry
def put_slice(raw: Raw, index: tuple[Any, ...], value: Raw) -> Raw:
    """A copy whose indexed region is replaced."""
    return views.put_slice(raw, index, value)


@entry
def concatenate(raws: Sequence[Raw], axis: int) -> Raw:
    """Arrays one after the other."""
    return mx.concatenate(list(raws), axis)


@entry
def pad(raw: Raw, pairs: Sequence[tuple[int, int]], value: Any) -> Raw:
    """A constant before and after each axis."""
    return views.pad(raw, pairs, value)


@entry
def repeat(raw: Raw, counts: int | np.ndarray, axis: int) -> Raw:
    """Each element of an axis so many times, all alike or each its own number."""
    return views.repeat(raw, counts, axis)


# ------------------------------------------------------------------------------------------------- indexing
@entry
def gather(raw: Raw, index: Raw, axis: int = 0) -> Raw:
    """Slices along an axis by number."""
    return views.gather(raw, index, axis)


@entry
def take_along(raw: Raw, index: Raw, axis: int) -> Raw:
    """Elements by their position along an axis."""
    return views.take_along(raw, index, axis)


@entry
def scatter_along(kind: str, raw: Raw, index: Raw, values: Raw, axis: int) -> Raw:
    """A copy with elements at positions along an axis replaced, added to, multiplied, or the extreme kept, in order."""
    return views.scatter_along(kind, raw, index, values, axis)


@entry
def scatter(raw: Raw, index: Raw, values: Raw) -> Raw:
    """A copy with rows replaced; the last of equal indices wins."""
    return views.scatter(raw, index, values)


@entry
def scatter_add(raw: Raw, index: Raw, values: Raw) -> Raw:
    """A copy with rows added to, in the order of the index."""
    return views.scatter_add(raw, index, values)


@entry
def expand(mask: Raw, base: Raw, values: Raw) -> Raw:
    """A copy in which values stand, in order, where the mask holds."""
    return views.expand(mask, base, values)


@entry
def compress(mask: Raw, raw: Raw) -> Raw:
    """Rows where the mask holds; reads the mask."""
    return views.compress(mask, raw)


@entry
def nonzero(mask: Raw) -> tuple[Raw, ...]:
    """Indices of the elements that are not zero; reads the mask."""
    return views.nonzero(mask)


# ------------------------------------------------------------------------------------------------- ordering
@entry
def scan(kind: str, raw: Raw, axis: int) -> Raw:
    """Running sum, product or logsumexp along an axis."""
    return ordering.scan(kind, raw, axis)


@entry
def extreme_scan(kind: str, raw: Raw, axis: int) -> tuple[Raw, Raw]:
    """The running max or min along an axis, and its latest place."""
    return ordering.extreme_scan(kind, raw, axis)


@entry
def recurrence(factor: Raw, raw: Raw, axis: int) -> Raw:
    """y[i] = x[i] + factor[i] * y[i - 1] along an axis."""
    return ordering.recurrence(factor, raw, axis)


@entry
def sort(raw: Raw, axis: int, descending: bool) -> Raw:
    """The elements along an axis in order."""
    return ordering.sort(raw, axis, descending)


@entry
def argsort(raw: Raw, axis: int, descending: bool) -> Raw:
    """The places that put the elements along an axis in order."""
    return ordering.argsort(raw, axis, descending)


@entry
def partition(raw: Raw, kth: Axes, axis: int) -> Raw:
    """All elements along an axis in order, so also those at places kth."""
    return ordering.sort(raw, axis, False)


@entry
def topk(raw: Raw, count: int, axis: int, largest: bool) -> tuple[Raw, Raw]:
    """The first elements along an axis of its order, and their places."""
    return ordering.topk(raw, count, axis, largest)


# ------------------------------------------------------------------------------------------------- products
@entry
def matmul(a: Raw, b: Raw) -> Raw:
    """The matrix product, over equal or broadcast batch axes."""
    return products.matmul(a, b)


@entry
def conv(x: Raw, w: Raw, window: Window) -> Raw:
    """The convolution."""
    return convolution.conv(x, w, window)


@entry
def biased_conv(x: Raw, w: Raw, bias: Raw, window: Window) -> Raw:
    """conv, and a number for each channel of the result."""
    return convolution.conv(x, w, window) + bias.reshape(-1, *(1,) * window.ndim)


@entry
def conv_input_grad(g: Raw, w: Raw, window: Window, x_shape: Shape) -> Raw:
    """The gradient of the convolution's input."""
    return convolution.conv_input_grad(g, w, window, x_shape)


@entry
def conv_weight_grad(x: Raw, g: Raw, window: Window, w_shape: Shape) -> Raw:
    """The gradient of the convolution's kernel."""
    return convolution.conv_weight_grad(x, g, window, w_shape)
