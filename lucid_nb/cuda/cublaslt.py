"""cuBLASLt by ctypes: what of its C interface a matrix product needs, found where the wheel nvidia-cublas is installed.

Numbers and types are those of cublasLt.h, cublas_api.h and library_types.h of CUDA 13. Descriptors live on the host:
making and reading them takes no GPU.
"""

import ctypes
from ctypes import c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from .. import config

try:
    from cuda import pathfinder
except ImportError:                                  # numba-cuda brings it; its simulator runs without
    pathfinder = None

CONSTANTS = {
    "CUDA_R_32F": 0, "CUDA_R_64F": 1, "CUDA_R_16F": 2, "CUDA_C_32F": 4, "CUDA_C_64F": 5, "CUDA_R_16BF": 14,
    "CUBLAS_COMPUTE_32F": 68, "CUBLAS_COMPUTE_64F": 70, "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
    "CUBLAS_OP_N": 0, "CUBLAS_OP_T": 1, "CUBLASLT_EPILOGUE_DEFAULT": 1, "CUBLASLT_EPILOGUE_BIAS": 4,
    "CUBLASLT_REDUCTION_SCHEME_NONE": 0, "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": 2,
    "CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32": 0x04 << 16, "CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN": 0x01 << 32}
# Of each kind of descriptor the attributes that are set: number and type.
ATTRIBUTES: dict[str, tuple[int, Any]] = {
    "CUBLASLT_MATMUL_DESC_TRANSA": (3, c_int32), "CUBLASLT_MATMUL_DESC_TRANSB": (4, c_int32),
    "CUBLASLT_MATMUL_DESC_EPILOGUE": (7, c_uint32), "CUBLASLT_MATMUL_DESC_BIAS_POINTER": (8, c_void_p),
    "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": (5, c_int32), "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": (6, c_int64),
    "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": (1, c_uint64),
    "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": (3, c_uint32),
    "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES": (5, c_uint32),
    "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES": (6, c_uint32),
    "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES": (7, c_uint32),
    "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES": (8, c_uint32),
    "CUBLASLT_MATMUL_PREF_IMPL_MASK": (12, c_uint64)}
_SET, _DESTROY = (c_void_p, c_int, c_void_p, c_size_t), (c_void_p,)
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (c_void_p,),
    "cublasLtMatmulDescCreate": (c_void_p, c_int, c_int),
    "cublasLtMatmulDescSetAttribute": _SET, "cublasLtMatmulDescDestroy": _DESTROY,
    "cublasLtMatrixLayoutCreate": (c_void_p, c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutSetAttribute": _SET, "cublasLtMatrixLayoutDestroy": _DESTROY,
    "cublasLtMatmulPreferenceCreate": (c_void_p,),
    "cublasLtMatmulPreferenceSetAttribute": _SET, "cublasLtMatmulPreferenceDestroy": _DESTROY,
    "cublasLtMatmulAlgoGetHeuristic": (*(c_void_p,) * 7, c_int, c_void_p, c_void_p),
    "cublasLtMatmul": (*(c_void_p,) * 14, c_size_t, c_void_p)}


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t: an algorithm, the workspace it needs, and whether it serves."""

    _fields_ = (("algo", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int), ("waves", c_float),
                ("reserved", c_int * 4))


class Refused(Exception):
    """A function of the library gave another status than success."""


class Library:
    """The functions of the library, which raise Refused."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions
        for name, types in SIGNATURES.items():
            function = getattr(functions, name)
            function.argtypes, function.restype = types, c_int

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call cublasLt<name>."""
        status = getattr(self.functions, "cublasLt" + name)(*arguments)
        if status:
            raise Refused(f"cublasLt{name}: status {status}")


@cache
def found() -> Library | None:
    """The library, where it is installed for CUDA 12 or newer."""
    if pathfinder is None:
        return None
    try:
        functions = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path)
        functions.cublasLtGetVersion.restype = c_size_t
        return Library(functions) if functions.cublasLtGetVersion() >= 120_000 else None
    except (RuntimeError, OSError, AttributeError):       # not there, not to be loaded, or too old
        return None


def library() -> Library | None:
    """The library, where it is installed and config.cuda_libraries lets it be used."""
    return found() if config.cuda_libraries else None


class Descriptor:
    """A MatmulDesc, MatrixLayout or MatmulPreference, destroyed with this object."""

    def __init__(self, library: Library, kind: str, *arguments: Any) -> None:
        self.library, self.kind, self.address = library, kind, c_void_p()
        library(f"{kind}Create", ctypes.byref(self.address), *arguments)

    def set(self, name: str, value: Any) -> None:
        """Set CUBLASLT_<name>."""
        number, kind = ATTRIBUTES["CUBLASLT_" + name]
        held = kind(value)
        self.library(f"{self.kind}SetAttribute", self.address, number, ctypes.byref(held), ctypes.sizeof(held))

    def __del__(self) -> None:
        if self.address:
            self.library(f"{self.kind}Destroy", self.address)


@cache
def handle(library: Library, device: int) -> c_void_p:
    """The library's handle of the device in use; Refused where there is none."""
    made = c_void_p()
    library("Create", ctypes.byref(made))
    return made


def scalars(kind: Any, count: int) -> tuple[Any, tuple[int, int]]:
    """1 and 0 of `count` parts each, and their addresses, as factors of a product and of what it is added to."""
    memory = (kind * (2 * count))(1)
    start = ctypes.addressof(memory)
    return memory, (start, start + count * ctypes.sizeof(kind))
