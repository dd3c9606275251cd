"""Means and sums of squared deviations."""

import mlx.core as mx

from ..shapes import Shape
from .runtime import entry
from .types import accumulator


@entry
def moments(raw: mx.array, axes: Shape, keepdims: bool) -> tuple[mx.array, mx.array]:
    """The mean and the sum of squared deviations from it over `axes`, of at least one element.

    In float64, on the GPU in float32. Equal elements have exactly their own value for a mean. Of complex numbers the
    mean is complex, and deviations count by their absolute value.
    """
    if raw.dtype == mx.complex64:
        (real, squares), (imag, others) = [moments(part(raw), axes, keepdims) for part in (mx.real, mx.imag)]
        return real.astype(mx.complex64) + imag * mx.array(1j), squares + others
    values = raw.astype(accumulator(raw.dtype))
    rough = mx.mean(values, axes, keepdims=True)
    rest = mx.mean(values - rough, axes, keepdims=True)          # 0 in exact arithmetic
    mean = mx.where(mx.isfinite(rest), rough + rest, rough)
    squares = mx.sum(mx.square(values - mean), axes, keepdims=keepdims)
    return mean if keepdims else mx.squeeze(mean, axes), squares
