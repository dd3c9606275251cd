"""Products of vectors with vectors and matrices."""

import numpy as np

from .gemm import matmul

SMALL = 4096                                # elements below which no BLAS takes a second thread: the same bits always
BY_NUMPY = {np.dtype(name) for name in ("float32", "float64", "complex64", "complex128", "int32", "int64")}


def vector_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A vector times a vector, a row times a matrix, or a matrix times a column, both of one dtype."""
    if a.size < SMALL and b.size < SMALL and a.dtype in BY_NUMPY:
        return np.asarray(np.matmul(a, b))
    if b.ndim == 2:
        return matmul(a[None], b)[0]
    found = matmul(a if a.ndim == 2 else a[None], b[:, None])
    return found[:, 0] if a.ndim == 2 else found.reshape(())
