"""Pools: maxima, averages and norms of windows. Padding of maxima is below every number; NaN wins."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import random, windows
from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, ShapeError
from ...ops import pooling
from ...remembered import remembered
from ...shapes import as_integer, as_number, check_sizes
from ...windows import Size, adaptive_axes, per_axis, pool_axes

Sizes = int | None | Sequence[int | None]
Pooled = Tensor | tuple[Tensor, Tensor]


def _with_indices(found: tuple[Tensor, Tensor], return_indices: bool) -> Pooled:
    return (found[0], pooling.indices_of(found[1])) if return_indices else found[0]


# ------------------------------------------------------------------------------------------------- maxima
@remembered
def _max_pool(ndim: int, input: Any, kernel_size: Size, stride: Size | None, padding: Size, dilation: Size,
              ceil_mode: bool, return_indices: bool) -> Pooled:
    op = f"max_pool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    axes = pool_axes(op, x.shape[-ndim:], kernel_size, stride, padding, dilation, ceil_mode)
    return _with_indices(pooling.max_pool(op, x, axes), return_indices)


def max_pool1d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Pooled:
    """Maxima of windows of (batch, channels, length), or without batch; with return_indices their places, too.

    The stride is the kernel's size unless given; ceil_mode keeps a last window that hangs over the padded input, but
    none that starts past it. NaN wins, the first of equal elements gets the gradient.

    >>> lnb.nn.functional.max_pool1d([[1.0, 3.0, 2.0, 5.0]], 2)
    tensor([[3., 5.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Pooled:
    """Maxima of windows of (batch, channels, height, width), or without batch: see max_pool1d."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Pooled:
    """Maxima of windows of (batch, channels, depth, height, width), or without batch: see max_pool1d."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


# ----------------------------------------------------------------------------------------------- averages
@remembered
def _avg_pool(ndim: int, input: Any, kernel_size: Size, stride: Size | None, padding: Size, ceil_mode: bool,
              count_include_pad: bool, divisor_override: int | None) -> Tensor:
    op = f"avg_pool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    axes = pool_axes(op, x.shape[-ndim:], kernel_size, stride, padding, 1, ceil_mode)
    divisor = None if divisor_override is None else as_integer(op, "divisor_override", divisor_override)
    if divisor == 0:
        raise ShapeError(f"{op}: divisor_override is 0. Use another number, or None.")
    return pooling.avg_pool(op, x, axes, count_include_pad, divisor)


def avg_pool1d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    """Averages of windows of (batch, channels, length), or without batch.

    Padding counts as cells of 0 with count_include_pad; what a last window of ceil_mode has beyond it never counts.

    >>> lnb.nn.functional.avg_pool1d(np.ones((1, 4)), 3, 2, 1, ceil_mode=True).tolist()
    [[0.6666666666666666, 1.0, 0.5]]
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Averages of windows of (batch, channels, height, width), or without batch: see avg_pool1d.

    divisor_override takes the place of the number of cells.
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Averages of windows of (batch, channels, depth, height, width), or without batch: see avg_pool2d."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# -------------------------------------------------------------------------------------------------- norms
def _lp_pool(ndim: int, input: Any, norm_type: float, kernel_size: Size, stride: Size | None,
             ceil_mode: bool) -> Tensor:
    op = f"lp_pool{ndim}d"
    x, p = pooling.pooled_input(op, input, ndim), as_number(op, "norm_type", norm_type)
    axes = pool_axes(op, x.shape[-ndim:], kernel_size, stride, 0, 1, ceil_mode)
    if p == np.inf:
        return pooling.max_pool(op, abs(x), axes)[0]
    if not p > 0:
        raise ConfigError(f"{op}: norm_type is {norm_type}. Use a positive number, or inf.")
    found, parts = pooling.avg_pool(op, x ** p, axes, divisor=1), windows.cells(axes, True)
    share = float(parts.max(initial=1)) / parts
    if share.max(initial=1) > 1:
        found = found * asarray(share.astype(found.dtype), device=found.device)
    return found ** (1 / p)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Size, stride: Size | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The sum of powers norm_type over windows of (batch, channels, length), to the power 1 / norm_type.

    Where a sum is 0 the gradient is 0. With norm_type=inf the maximum of the sizes. The sum over a last window of
    ceil_mode that hangs over is scaled, as in PyTorch, to that of a whole window of the same mean.

    >>> lnb.nn.functional.lp_pool1d([[3.0, 4.0, 0.0, 0.0]], 2, 2)
    tensor([[5., 0.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Size, stride: Size | None = None,
              ceil_mode: bool = False) -> Tensor:
    """Norms of windows of (batch, channels, height, width), or without batch: see lp_pool1d."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Any, norm_type: float, kernel_size: Size, stride: Size | None = None,
              ceil_mode: bool = False) -> Tensor:
    """Norms of windows of (batch, channels, depth, height, width), or without batch: see lp_pool1d."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# ----------------------------------------------------------------------------------------------- adaptive
@remembered
def _adaptive_avg_pool(ndim: int, input: Any, output_size: Sizes) -> Tensor:
    op = f"adaptive_avg_pool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    return pooling.avg_pool(op, x, adaptive_axes(op, x.shape[-ndim:], output_size))


def adaptive_avg_pool1d(input: Any, output_size: Sizes) -> Tensor:
    """As many averages of (batch, channels, length) as wanted: window i is floor(i n / m) to ceil((i + 1) n / m).

    >>> lnb.nn.functional.adaptive_avg_pool1d([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]], 5)
    tensor([[1.5, 2.5, 4. , 5.5, 6.5]])
    """
    return _adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Sizes) -> Tensor:
    """As many averages of (batch, channels, height, width) as wanted, None keeps an axis: see adaptive_avg_pool1d."""
    return _adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Sizes) -> Tensor:
    """As many averages of (batch, channels, depth, height, width) as wanted: see adaptive_avg_pool2d."""
    return _adaptive_avg_pool(3, input, output_size)


@remembered
def _adaptive_max_pool(ndim: int, input: Any, output_size: Sizes, return_indices: bool) -> Pooled:
    op = f"adaptive_max_pool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    found = pooling.max_pool(op, x, adaptive_axes(op, x.shape[-ndim:], output_size))
    return _with_indices(found, return_indices)


def adaptive_max_pool1d(input: Any, output_size: Sizes, return_indices: bool = False) -> Pooled:
    """As many maxima of (batch, channels, length) as wanted, over the windows of adaptive_avg_pool1d."""
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Sizes, return_indices: bool = False) -> Pooled:
    """As many maxima of (batch, channels, height, width) as wanted, over the windows of adaptive_avg_pool2d."""
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Sizes, return_indices: bool = False) -> Pooled:
    """As many maxima of (batch, channels, depth, height, width) as wanted, over the windows of adaptive_avg_pool3d."""
    return _adaptive_max_pool(3, input, output_size, return_indices)


# -------------------------------------------------------------------------------------------- the way back
def _max_unpool(ndim: int, input: Any, indices: Any, kernel_size: Size, stride: Size | None, padding: Size,
                output_size: Sequence[int] | None) -> Tensor:
    op = f"max_unpool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    taps = per_axis(op, "kernel_size", kernel_size, ndim)
    steps = taps if stride is None else per_axis(op, "stride", stride, ndim)
    pads = per_axis(op, "padding", padding, ndim, 0)
    sizes = tuple((size - 1) * step - 2 * pad + count for size, step, pad, count
                  in zip(x.shape[-ndim:], steps, pads, taps))
    if output_size is not None:
        least, most = (tuple(size + sign * step for size, step in zip(sizes, steps)) for sign in (-1, 1))
        sizes = pooling.checked_sizes(op, output_size, least, most)
    check_sizes(op, sizes)
    return pooling.max_unpool(op, x, indices, sizes)


def max_unpool1d(input: Any, indices: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros in which the maxima that max_pool1d found stand at the indices that it returned.

    The size is that of the smallest input with so many windows, unless output_size says it.

    >>> F = lnb.nn.functional
    >>> F.max_unpool1d(*F.max_pool1d([[1.0, 3.0, 2.0, 5.0]], 2, return_indices=True), 2)
    tensor([[0., 3., 0., 5.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Any, indices: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros in which the maxima of max_pool2d stand at their indices: see max_unpool1d."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Any, indices: Any, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros in which the maxima of max_pool3d stand at their indices: see max_unpool1d."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


# --------------------------------------------------------------------------------------------- fractional
def _fractional_max_pool(ndim: int, input: Any, kernel_size: Size, output_size: Any, output_ratio: Any,
                         return_indices: bool, samples: Any) -> Pooled:
    op = f"fractional_max_pool{ndim}d"
    x = pooling.pooled_input(op, input, ndim)
    sizes, lead = x.shape[-ndim:], x.shape[:-ndim]
    taps = per_axis(op, "kernel_size", kernel_size, ndim)
    results = fractional_sizes(op, sizes, taps, output_size, output_ratio)
    batch = lead if len(lead) == 2 else (1, *lead)
    if samples is None:
        drawn = random.host().random_sample((*batch, ndim))
    else:
        drawn = samples.to_host() if isinstance(samples, Tensor) else np.asarray(samples)
        if drawn.shape != (*batch, ndim):
            raise ShapeError(f"{op}: _random_samples of shape {drawn.shape}. Use {(*batch, ndim)}.")
    planes = x.reshape((int(np.prod(batch)), *sizes))
    order = (1, 0) if ndim == 2 else (0, 1, 2)       # which number is which axis', as in PyTorch
    firsts = [_fractional_starts(drawn[..., order[axis]].reshape(-1), sizes[axis], taps[axis], results[axis])
              for axis in range(ndim)]
    found = pooling.max_of_chosen(planes, taps, firsts)
    values, places = (part.reshape((*lead, *results)) for part in found)
    return _with_indices((values, places), return_indices)


def fractional_sizes(op: str, sizes: Sequence[int], taps: Sequence[int], output_size: Any,
                     output_ratio: Any) -> tuple[int, ...]:
    """How many windows there are along each axis; exactly one of output_size and output_ratio is given."""
    ndim = len(sizes)
    if (output_size is None) == (output_ratio is None):
        raise ConfigError(f"{op}: output_size={output_size} and output_ratio={output_ratio}. Give one of them.")
    if output_size is not None:
        results = per_axis(op, "output_size", output_size, ndim)
    else:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * ndim
        if len(ratios) != ndim or not all(0 < ratio < 1 for ratio in ratios):
            raise ConfigError(f"{op}: output_ratio is {output_ratio}. Use numbers between 0 and 1.")
        results = tuple(int(size * ratio) for size, ratio in zip(sizes, ratios))
    if any(not 0 < count <= size - width + 1 for count, size, width in zip(results, sizes, taps)):
        raise ShapeError(f"{op}: {results} windows of {tuple(taps)} cells do not fit an input {tuple(sizes)}. "
                         "Use fewer.")
    return results


def _fractional_starts(samples: np.ndarray, size: int, taps: int, results: int) -> np.ndarray:
    """(planes, results): where windows start. Source: B. Graham, Fractional Max-Pooling, arXiv:1412.6071, in the form
    floor((i + u) alpha) - floor(u alpha) for a draw u in [0, 1); the last one ends with the input."""
    ends = np.full((len(samples), 1), size - taps)
    if results == 1:
        return ends
    alpha = (size - taps) / (results - 1)
    steps = np.arange(results - 1)
    starts = ((steps + samples[:, None]) * alpha).astype(np.int64) - (samples[:, None] * alpha).astype(np.int64)
    return np.concatenate([starts, ends], 1)


def fractional_max_pool2d(input: Any, kernel_size: Size, output_size: Size | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: Any = None) -> Pooled:
    """Maxima of windows that start at random steps, other ones in every plane, of (batch, channels, height, width).

    Either output_size, or output_ratio between 0 and 1, says how many. The steps come from the library's random state,
    or from _random_samples, (batch, channels, 2) numbers in [0, 1).
    Source: B. Graham, Fractional Max-Pooling, arXiv:1412.6071.
    """
    return _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(input: Any, kernel_size: Size, output_size: Size | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: Any = None) -> Pooled:
    """As fractional_max_pool2d of (batch, channels, depth, height, width)."""
    return _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
