"""CUDA: the table of primitives as @cuda.jit kernels of numba-cuda. They run in Numba's simulator too.

Importing this folder imports numba-cuda and touches no driver; where numba-cuda is missing it raises BackendError.
"""

# ruff: noqa: F401  (the names are the entries of the table)
import numpy as np

from . import runtime
from .algebra import fourier, linalg
from .array import DeviceArray, as_strided, broadcast_to, empty, from_numpy, permute, reinterpret
from .array import slice_view as slice
from .attention import attention, attention_grad
from .conv import conv, conv_input_grad, conv_weight_grad
from .copy import assign, cast, concatenate, conjugate, copy, full, iota, pad, real, repeat, reshape, to_numpy
from .counting import bin_places, bincount, histogram, span
from .elementwise import map_program as map
from .fused import fused_rows, suits_rows
from .gemm import linear, matmul
from .graphs import graph, note_rewrites
from .index import gather, take_along
from .interop import LEGACY_STREAM, array_interface, describe, make_wait, of_interface, over
from .masks import compress, expand, nonzero
from .moments import moments
from .normalization import normalize, remember
from .normalization_grad import normalize_grad
from .pooling import avg_pool, avg_pool_grad, max_pool, max_pool_grad
from .random import dropout, random_bits
from .recurrent import recurrent, recurrent_grad
from .reduce import arg_reduce, reduce
from .resample import resample
from .runtime import description, is_available, synchronize, watch
from .sample import sample, sample_input_grad, sample_weight_grad
from .scan import extreme_scan, recurrence, scan
from .scatter import scatter, scatter_add, scatter_along, sum_rows
from .search import isin, searchsorted, unique
from .softmax import (
    cross_entropy,
    cross_entropy_grad,
    log_softmax,
    log_softmax_grad,
    logsumexp,
    softmax,
    softmax_grad,
)
from .sort import argsort, partition, sort, topk
from .updates import update
from .vocabulary import NATIVE as _NATIVE

DEVICE = "cuda"
ALIASES = True
RAW_TYPES = (DeviceArray,)
UNSUPPORTED: dict[str, str] = {}
HALVES = frozenset({"normalize"})        # entries that take half floats beside weights in float32


def NATIVE() -> frozenset[str]:
    """Vocabulary entries that have a kernel form here; others arrive as expansions."""
    return _NATIVE


def dtype_of(raw: DeviceArray) -> np.dtype:
    """The dtype of a raw array."""
    return raw.element


def __getattr__(name: str) -> str:
    if name == "UNAVAILABLE":
        return runtime.unavailable()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
