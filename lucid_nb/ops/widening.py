"""The floats of functions that NumPy computes in double precision only."""

import numpy as np

from .. import dtypes
from ..array import Tensor
from .movement import astype


def as_double(x: Tensor) -> Tensor:
    """In float64 or complex128; on mlx, whose GPUs have neither, in single precision unless it is double."""
    is_single = x.device == "mlx" and x.dtype != dtypes.FLOAT64
    if x.dtype.kind == "c":
        return x if is_single else astype(x, np.complex128, copy=False)
    return astype(x, dtypes.FLOAT32 if is_single else dtypes.FLOAT64, copy=False)
