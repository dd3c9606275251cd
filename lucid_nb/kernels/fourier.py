"""Discrete Fourier transforms of NumPy arrays, by NumPy."""

from collections.abc import Callable

import numpy as np

ALONG_ONE: dict[str, Callable] = {"fft": np.fft.fft, "ifft": np.fft.ifft, "rfft": np.fft.rfft, "irfft": np.fft.irfft}
ALONG_MANY: dict[str, Callable] = {"fft": np.fft.fftn, "ifft": np.fft.ifftn, "rfft": np.fft.rfftn,
                                   "irfft": np.fft.irfftn}


def fourier(kind: str, raw: np.ndarray, axes: tuple[int, ...], sizes: tuple[int, ...], norm: str,
            factor: float) -> np.ndarray:
    """The transform `kind` of the first `sizes` elements along axes, zeros behind them.

    `factor` multiplies what a half spectrum says twice: all but the mean and, where the size is even, the last.
    """
    if factor != 1 and kind == "irfft":
        raw = raw.copy()
        raw[_twice(axes[-1], sizes[-1])] *= factor
    found = (ALONG_ONE[kind](raw, sizes[0], axes[0], norm) if len(axes) == 1 else
             ALONG_MANY[kind](raw, sizes, axes, norm))
    if factor != 1 and kind == "rfft":
        found[_twice(axes[-1], sizes[-1])] *= factor
    if raw.size == 0:                         # NumPy's irfft of an axis without elements reads what is not there
        found.fill(0)
    return found


def _twice(axis: int, size: int) -> tuple[slice, ...]:
    """Of a half spectrum, what stands for two elements."""
    return (slice(None),) * axis + (slice(1, (size + 1) // 2),)
