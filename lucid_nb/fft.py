"""Discrete Fourier transforms: NumPy's and the array API's namespace of that name, differentiable."""

from typing import Any

import numpy as np

from . import dtypes
from .array import Tensor
from .creation.data import float_dtype, from_host, place_of
from .errors import DTypeError, ShapeError, told
from .ops.fourier import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
           "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def fftfreq(n: int, d: Any = 1.0, device: str | None = None, *, dtype: Any = None) -> Tensor:
    """The frequencies of `fft`'s n results, in cycles for each unit of the spacing d: 0, 1, ... -1 times 1 / (n d).

    In the default dtype unless `dtype` names another real float. ShapeError where n is no integer above 0.

    >>> import lucid_nb as lnb
    >>> lnb.fft.fftfreq(4, 0.5)
    tensor([ 0. ,  0.5, -1. , -0.5])
    """
    return _frequencies("fftfreq", n, d, device, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: str | None = None, *, dtype: Any = None) -> Tensor:
    """The frequencies of `rfft`'s n // 2 + 1 results; called as `fftfreq` is.

    >>> import lucid_nb as lnb
    >>> lnb.fft.rfftfreq(4, 0.5)
    tensor([0. , 0.5, 1. ])
    """
    return _frequencies("rfftfreq", n, d, device, dtype)


def _frequencies(op: str, n: Any, d: Any, device: Any, dtype: Any) -> Tensor:
    if not isinstance(n, (int, np.integer)) or (n < 0 and op == "fftfreq"):
        raise ShapeError(f"{op}: n is {told(n)}. Use an integer above 0.")
    if n == 0:
        raise ZeroDivisionError(f"{op}: n is 0. Use an integer above 0.")
    place = place_of(device, d)
    wanted = float_dtype(op, dtype, place)
    if not dtypes.is_inexact(wanted) or wanted.kind == "c":
        raise DTypeError(f"{op}: {wanted} holds no frequencies. Use a real float.")
    function = getattr(np.fft, op)
    if not isinstance(d, Tensor):
        return from_host(op, function(n, d), wanted, place)
    return from_host(op, np.rint(function(n) * n), wanted, place) * (1 / (n * d))
