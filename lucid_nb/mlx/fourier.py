"""Discrete Fourier transforms by MLX, of single precision."""

import mlx.core as mx

from ..errors import DTypeError
from .runtime import entry

FUNCTIONS = {"fft": mx.fft.fftn, "ifft": mx.fft.ifftn, "rfft": mx.fft.rfftn, "irfft": mx.fft.irfftn}


@entry
def fourier(kind: str, raw: mx.array, axes: tuple[int, ...], sizes: tuple[int, ...], norm: str,
            factor: float) -> mx.array:
    """As the CPU's; other numbers than complex ones are taken as float32."""
    if raw.dtype == mx.float64:
        raise DTypeError(f"{kind}: float64 gives complex128, which does not exist on mlx. Use .astype('float32').")
    if kind == "irfft" and raw.dtype == mx.float16 and len(axes) == 1:            # NumPy keeps it
        return fourier(kind, raw.astype(mx.float32), axes, sizes, norm, factor).astype(mx.float16)
    raw = raw if raw.dtype == mx.complex64 else raw.astype(mx.float32)
    if 0 in raw.shape:
        return _of_nothing(kind, raw, axes, sizes)
    if factor != 1 and kind == "irfft":
        raw = _weighted(raw, axes[-1], sizes[-1], factor)
    found = FUNCTIONS[kind](raw, sizes, axes, norm)
    return _weighted(found, axes[-1], sizes[-1], factor) if factor != 1 and kind == "rfft" else found


def _weighted(spectrum: mx.array, axis: int, size: int, factor: float) -> mx.array:
    """A half spectrum with everything times `factor` but what it says once."""
    places = mx.arange(spectrum.shape[axis])
    weights = mx.where((places > 0) & (places < (size + 1) // 2), factor, 1.0).astype(mx.float32)
    return spectrum * weights.reshape(-1, *(1,) * (spectrum.ndim - 1 - axis))


def _of_nothing(kind: str, raw: mx.array, axes: tuple[int, ...], sizes: tuple[int, ...]) -> mx.array:
    """The zeros that a transform gives where there is nothing to transform; MLX refuses such arrays."""
    shape = list(raw.shape)
    for axis, size in zip(axes, sizes):
        shape[axis] = size
    if kind == "rfft":
        shape[axes[-1]] = sizes[-1] // 2 + 1
    return mx.zeros(shape, mx.float32 if kind == "irfft" else mx.complex64)
