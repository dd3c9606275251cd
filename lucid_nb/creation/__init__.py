"""New tensors: of data, of a value, of numbers in a row, matrices and grids."""

from .classes import ndarray
from .data import (
    array,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    frombuffer,
    fromfunction,
    fromiter,
    fromstring,
    tensor,
)
from .filled import empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .grids import c_, indices, ix_, mgrid, ogrid, r_
from .matrices import (
    diag_indices,
    diag_indices_from,
    eye,
    identity,
    mask_indices,
    tri,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    vander,
)
from .ranges import arange, geomspace, linspace, logspace
from .tapers import bartlett, blackman, hamming, hanning, kaiser

__all__ = [
    "arange", "array", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "bartlett",
    "blackman", "c_", "diag_indices", "diag_indices_from", "empty", "empty_like", "eye", "frombuffer",
    "fromfunction", "fromiter", "fromstring", "full", "full_like", "geomspace", "hamming", "hanning", "identity",
    "indices", "ix_", "kaiser", "linspace", "logspace", "mask_indices", "mgrid", "ndarray", "ogrid", "ones",
    "ones_like", "r_", "tensor", "tri", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
    "vander", "zeros", "zeros_like",
]
