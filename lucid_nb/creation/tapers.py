"""Window functions, by which a signal fades in and out: see `lnb.fft`."""

from typing import Any

import numpy as np

from .. import backend, shapes
from ..array import Tensor
from ..ops.bessel import i0
from ..register import public
from .data import from_host, place_of


@public(method=False)
def bartlett(M: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """M numbers that rise from 0 to 1 and fall again in straight lines (M. Bartlett, 1950).

    >>> import lucid_nb as lnb
    >>> lnb.bartlett(5)
    tensor([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _made("bartlett", M, dtype, device)


@public(method=False)
def blackman(M: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """M numbers 0.42 - 0.5 cos(x) + 0.08 cos(2 x), x from 0 to 2 pi (R. Blackman and J. Tukey, 1958).

    >>> import lucid_nb as lnb
    >>> lnb.blackman(3).round(12).tolist()
    [-0.0, 1.0, -0.0]
    """
    return _made("blackman", M, dtype, device)


@public(method=False)
def hamming(M: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """M numbers 0.54 - 0.46 cos(x), x from 0 to 2 pi (R. Hamming).

    >>> import lucid_nb as lnb
    >>> lnb.hamming(3).round(12).tolist()
    [0.08, 1.0, 0.08]
    """
    return _made("hamming", M, dtype, device)


@public(method=False)
def hanning(M: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """M numbers 0.5 - 0.5 cos(x), x from 0 to 2 pi (J. von Hann).

    >>> import lucid_nb as lnb
    >>> lnb.hanning(5)
    tensor([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _made("hanning", M, dtype, device)


@public(method=False)
def kaiser(M: int, beta: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """M numbers i0(beta * sqrt(1 - x**2)) / i0(beta), x from -1 to 1 (J. Kaiser); differentiable by a tensor `beta`.

    >>> import lucid_nb as lnb
    >>> lnb.kaiser(3, 0.0)
    tensor([1., 1., 1.])
    """
    if not isinstance(beta, Tensor):
        return _made("kaiser", M, dtype, device, beta)
    count = shapes.as_number("kaiser", "M", M)
    far = np.linspace(-1, 1, int(count)) if count > 1 else np.zeros(int(max(count, 0)))
    root = from_host("kaiser", np.sqrt(1 - far * far), beta.dtype, place_of(device, beta))
    found: Tensor = i0(beta * root) / i0(beta)
    return found if dtype is None else found.astype(dtype)


def _made(op: str, M: Any, dtype: Any, device: Any, *parameters: float) -> Tensor:
    """NumPy's window, in the default float unless `dtype` says otherwise."""
    found = getattr(np, op)(shapes.as_number(op, "M", M), *parameters)
    return from_host(op, found, dtype, backend.resolve(device))
