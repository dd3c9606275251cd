"""Matrix products by NVIDIA's cuBLASLt, where it is installed: which it is given, how, and what becomes of a refusal.

Row-major matrices are the transposes of column-major ones, so A @ B is given as B^T @ A^T: nothing is copied, and
transposed operands are turned by the library. float16 and bfloat16 are added in float32 to the end, float32 is float32
unless config.tf32 says otherwise. What the library refuses is remembered and left to our own kernels.
"""

import ctypes
import logging
import threading
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..dtypes import BFLOAT16
from . import array as geometry
from . import cublaslt, plans, runtime
from .array import DeviceArray, Shape
from .copy import copy, flat
from .cublaslt import CONSTANTS, Descriptor, Heuristic, Library, Refused
from .scalars import compute

LEAST = 1 << 18                # multiplications below which a launch of ours is as fast
FEW = 4                        # rows or columns up to which a product only reads memory, as our own kernels do
WORKSPACE = 32 << 20           # bytes at most, what NVIDIA advises for Hopper
MOST_ALIGNED = 256             # bytes; the library asks for no more
LARGEST = (1 << 31) - 1        # of a number of rows, columns or matrices
BYTE = np.dtype(np.uint8)
KINDS = {np.dtype(np.float32): "CUDA_R_32F", np.dtype(np.float64): "CUDA_R_64F", np.dtype(np.float16): "CUDA_R_16F",
         BFLOAT16: "CUDA_R_16BF", np.dtype(np.complex64): "CUDA_C_32F", np.dtype(np.complex128): "CUDA_C_64F"}
WITH_BIAS = (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)         # dtypes that have the epilogue of a bias

log = logging.getLogger(__name__)


class Place(NamedTuple):
    """How an operand lies in memory; `alignment` of its address, in bytes."""

    shape: Shape
    strides: Shape
    alignment: int


class Matrix(NamedTuple):
    """Matrices in column-major order: how far apart columns are, and matrices of a batch."""

    rows: int
    cols: int
    lead: int
    apart: int


class Product(NamedTuple):
    """A product as the library is asked for it: result = op(left) @ op(right), where op turns some."""

    element: np.dtype
    tf32: bool
    left: Matrix
    right: Matrix
    result: Matrix
    turned: tuple[bool, bool]
    batch: int
    has_bias: bool
    alignments: tuple[int, int, int]


# ------------------------------------------------------------------------------------------------ the decision
def alignment(address: int) -> int:
    """The largest power of two that divides an address, as far as it matters."""
    return min(address & -address, MOST_ALIGNED) if address else MOST_ALIGNED


def _matrix(shape: Sequence[int], strides: Sequence[int], apart: int) -> tuple[Matrix, bool] | None:
    """A row-major matrix as its transpose, or a column-major one that has to be turned; None of neither."""
    (rows, cols), (down, along) = shape, strides
    for length, lines, inner, outer, is_turned in ((cols, rows, along, down, False), (rows, cols, down, along, True)):
        lead = outer if lines > 1 else length
        if (inner == 1 or length == 1) and lead >= length:
            return Matrix(length, lines, lead, apart), is_turned
    return None


def pays(element: np.dtype, count: int, rows: int, depth: int, cols: int) -> bool:
    """Does the library know the dtype, and is there enough to do for it?"""
    return element in KINDS and min(rows, cols) > FEW and count * rows * depth * cols >= LEAST


def product_of(element: np.dtype, a: Place, b: Place, batch: Shape, has_bias: bool, tf32: bool) -> Product | None:
    """What the library is asked for, None where our own kernels do it: little work, integers, matrices that overlap,
    batches that walk in several ways. The result is new memory, all of it aligned."""
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    if not pays(element, prod(batch), rows, depth, cols):
        return None
    sizes, apart = geometry.collapse(batch, (stretched(a, batch), stretched(b, batch)))
    if len(sizes) > 1 or max(rows, depth, cols, *sizes) > LARGEST:
        return None
    (a_apart, b_apart), count = ((own or (0,))[0] for own in apart), prod(sizes)
    left, right = _matrix(b.shape[-2:], b.strides[-2:], b_apart), _matrix(a.shape[-2:], a.strides[-2:], a_apart)
    if left is None or right is None or min(a_apart, b_apart) < 0:
        return None
    return Product(element, tf32 and element == np.float32, left[0], right[0], Matrix(cols, rows, cols, rows * cols),
                   (left[1], right[1]), count, has_bias, (b.alignment, a.alignment, MOST_ALIGNED))


def stretched(own: Place, batch: Shape) -> Shape:
    """The strides of the axes of a batch: 0 along those that are stretched or new."""
    sizes = own.shape[:-2]
    lead = len(batch) - len(sizes)
    return (0,) * lead + tuple(stride if size == wanted else 0
                               for size, stride, wanted in zip(sizes, own.strides, batch[lead:]))


# ---------------------------------------------------------------------------------------------------- the calls
class Plan:
    """Descriptors and the algorithm for a product; Refused where the library has none."""

    def __init__(self, library: Library, device: int, product: Product, bias: int) -> None:
        self.library, self.product, self.lock = library, product, threading.Lock()
        self.handle = cublaslt.handle(library, device)
        self.operation = operation(library, product, bias)
        self.layouts = [layout(library, product, matrix) for matrix in (product.left, product.right, product.result)]
        self.chosen = self._choose()
        number = compute(product.element)
        part = ctypes.c_double if number.itemsize // (2 if number.kind == "c" else 1) == 8 else ctypes.c_float
        self.scalars, (self.one, self.zero) = cublaslt.scalars(part, 2 if number.kind == "c" else 1)
        self.is_refused = False

    def _choose(self) -> Heuristic:
        """The algorithm that the library expects to be fastest."""
        chosen, count, wanted = Heuristic(), ctypes.c_int(), preference(self.library, self.product)
        a, b, d = (own.address for own in self.layouts)
        self.library("MatmulAlgoGetHeuristic", self.handle, self.operation.address, a, b, d, d,
                     wanted.address, 1, ctypes.byref(chosen), ctypes.byref(count))
        if count.value < 1 or chosen.state:
            raise Refused("cublasLtMatmulAlgoGetHeuristic: no algorithm")
        return chosen

    def __call__(self, left: int, right: int, bias: int, result: int, workspace: int, stream: int) -> None:
        """Launch the product of memory at these addresses."""
        a, b, d = (own.address for own in self.layouts)
        with self.lock:                              # the bias is part of what threads share
            if self.product.has_bias:
                self.operation.set("MATMUL_DESC_BIAS_POINTER", bias)
            self.library("Matmul", self.handle, self.operation.address, self.one, left, a, right, b, self.zero,
                         result, d, result, d, ctypes.byref(self.chosen.algo), workspace, self.chosen.workspace, stream)


def operation(library: Library, product: Product, bias: int) -> Descriptor:
    """What is computed. The alignment of the bias is read off its address."""
    scale, kind = compute(product.element), "CUBLAS_COMPUTE_32F"
    if scale in (np.float64, np.complex128):
        kind = "CUBLAS_COMPUTE_64F"
    elif product.tf32:
        kind = "CUBLAS_COMPUTE_32F_FAST_TF32"
    made = Descriptor(library, "MatmulDesc", CONSTANTS[kind], CONSTANTS[KINDS[scale]])
    for name, is_turned in zip("AB", product.turned):
        made.set("MATMUL_DESC_TRANS" + name, CONSTANTS["CUBLAS_OP_T" if is_turned else "CUBLAS_OP_N"])
    if product.has_bias:
        made.set("MATMUL_DESC_EPILOGUE", CONSTANTS["CUBLASLT_EPILOGUE_BIAS"])
        made.set("MATMUL_DESC_BIAS_POINTER", bias)
    return made


def layout(library: Library, product: Product, matrix: Matrix) -> Descriptor:
    """How an operand or the result lies."""
    made = Descriptor(library, "MatrixLayout", CONSTANTS[KINDS[product.element]], matrix.rows, matrix.cols,
                      matrix.lead)
    if product.batch > 1:
        made.set("MATRIX_LAYOUT_BATCH_COUNT", product.batch)
        made.set("MATRIX_LAYOUT_STRIDED_BATCH_OFFSET", matrix.apart)
    return made


def preference(library: Library, product: Product) -> Descriptor:
    """What an algorithm may do: parts of a sum are kept in the compute type, and added in order."""
    made = Descriptor(library, "MatmulPreference")
    made.set("MATMUL_PREF_MAX_WORKSPACE_BYTES", WORKSPACE)
    made.set("MATMUL_PREF_REDUCTION_SCHEME_MASK", CONSTANTS["CUBLASLT_REDUCTION_SCHEME_NONE"]
             | CONSTANTS["CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE"])
    left, right, result = product.alignments
    for name, value in zip("ABCD", (left, right, result, result)):
        made.set(f"MATMUL_PREF_MIN_ALIGNMENT_{name}_BYTES", value)
    # Products of complex numbers by three real ones cancel.
    refused = CONSTANTS["CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN"]
    if not product.tf32:
        refused |= CONSTANTS["CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32"]
    made.set("MATMUL_PREF_IMPL_MASK", (1 << 64) - 1 - refused)
    return made


@lru_cache(maxsize=1024)
def plan(library: Library, device: int, element: np.dtype, a: Place, b: Place, batch: Shape,
         bias_alignment: int | None, tf32: bool) -> Plan | None:
    """The plan of a geometry, None where it is not for the library or the library refuses."""
    product = product_of(element, a, b, batch, bias_alignment is not None, tf32)
    try:
        return None if product is None else Plan(library, device, product, bias_alignment or 0)
    except Refused as error:
        log.debug("cuBLASLt has no plan for %s: %s", product, error)
        return None


# ---------------------------------------------------------------------------------------------------- the entry
def _place(raw: DeviceArray) -> Place:
    return Place(raw.shape, raw.strides, alignment(geometry.address(raw)))


def _walking(raw: DeviceArray) -> DeviceArray:
    """Matrices of which each is as far from the next."""
    return raw if len(geometry.collapse(raw.shape[:-2], (raw.strides[:-2],))[0]) < 2 else copy(raw)


def has_epilogue(element: np.dtype) -> bool:
    """Can the library add a bias to products of a dtype?"""
    return element in WITH_BIAS


def multiply(a: DeviceArray, b: DeviceArray, bias: DeviceArray | None, batch: Shape, result: DeviceArray) -> bool:
    """Write a @ b, plus the bias of columns, into new memory; False where nothing was written."""
    library = cublaslt.library()
    if library is None or not pays(a.element, prod(batch), a.shape[-2], a.shape[-1], b.shape[-1]):
        return False
    if len(batch) > 1 and a.shape[:-2] == b.shape[:-2]:
        a, b = _walking(a), _walking(b)
    held = None if bias is None else flat(bias)          # until the launch, for it may be a copy
    added = 0 if held is None else runtime.address(held)
    found = plan(library, plans.device(), a.element, _place(a), _place(b), batch,
                 None if held is None else alignment(added), config.tf32)
    if found is None or found.is_refused:
        return False
    size: Any = found.chosen.workspace
    workspace = runtime.allocate(size, BYTE) if size else None
    try:
        runtime.call("cublasLtMatmul", lambda stream: found(
            geometry.address(b), geometry.address(a), added, geometry.address(result),
            0 if workspace is None else runtime.address(workspace), stream), found.product,
            *[part for raw in (a, b, result) for part in (raw.memory, raw.offset)], held, workspace)
    except Refused as error:
        log.debug("cuBLASLt did not run %s: %s", found.product, error)
        found.is_refused = True
        return False
    return True
