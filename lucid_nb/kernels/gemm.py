"""Matrix products by tiles in registers: any strides, batches that broadcast, every dtype, an epilogue.

Operands are read as they lie: packing transposes in registers what lies across. float16 and bfloat16 are multiplied in
float32; integers wrap, small ones in int32; bool is the "any" of "and". Complex numbers are pairs of real columns: a
complex product is the real one of A, as pairs, and of B, each number a matrix of 2 by 2 (the 1m method of Van Zee, SIAM
J. Sci. Comput. 42, 2020). A product has the same bits for every number of threads.
"""
from collections.abc import Callable
from functools import partial
from math import prod
from struct import Struct
from typing import Any

import numpy as np

from .. import config
from ..shapes import Shape
from . import memory, threads, tiling
from .copying import contiguous
from .pool import range_function
from .steps import SINGLE, narrow
from .store import RangeKernel
from .threads import address_of

Run = Callable[..., np.ndarray]
MULTIPLY = RangeKernel("lucid_nb.kernels.loops.gemm:multiply", ("int64",) * 7)
ADDRESSES = Struct("5q").pack
REAL = {"float32": "float32", "float64": "float64", "int32": "int32", "uint32": "int32", "int64": "int64",
        "uint64": "int64"}
INT32 = np.dtype(np.int32)
MOST_RUNS = 1024
FEW_COLS = 4                     # columns that would leave most of a vector empty
SMALL_COMPLEX = 1 << 16          # products of numbers up to which no BLAS takes a second thread: the same bits always
_runs: dict[Any, Run] = {}


# ------------------------------------------------------------------------------------------------ entries
def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., n, k) @ (..., k, m) with batch axes that broadcast, both of one dtype."""
    key = a.shape, a.strides, b.shape, b.strides, a.dtype, config.num_threads, config.vector_width
    run = _runs.get(key)
    if run is None:
        run = _keep(key, _run_of(a, b))
    return run(a, b)


def matmul_into(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`matmul` into contiguous memory of the result's shape and dtype, which no operand shares; `out` itself."""
    key = a.shape, a.strides, b.shape, b.strides, a.dtype, config.num_threads, config.vector_width
    run = _runs.get(key) or _keep(key, _run_of(a, b))
    product = getattr(run, "product", run)
    if isinstance(product, Product) and product.plan.splits == 1:
        product.run(a, b, out, None)
    else:
        out[...] = run(a, b)
    return out


def linear(a: np.ndarray, b: np.ndarray, bias: np.ndarray, activation: str = "") -> np.ndarray:
    """a @ b + bias of the columns, b a matrix, all of one dtype; then "relu" of floats where that is asked for."""
    key = a.shape, a.strides, b.shape, b.strides, activation, a.dtype, config.num_threads, config.vector_width
    run = _runs.get(key)
    if run is None:
        run = _keep(key, _linear_run(a, b, activation))
    return run(a, b, bias)


def _linear_run(a: np.ndarray, b: np.ndarray, activation: str) -> Run:
    """How an affine map of operands like these is done."""
    dtype = a.dtype
    if dtype.kind == "f" and dtype.itemsize > 2:
        product = _real_run(a, b, "cols", activation)
        return lambda a, b, bias: product(a, b, contiguous(bias))
    if narrow(dtype):
        return partial(_narrow_linear, activation)
    return lambda a, b, bias: matmul(a, b) + bias


def _keep(key: Any, run: Run) -> Run:
    """The run, remembered; few are in use at a time."""
    if len(_runs) >= MOST_RUNS:
        _runs.clear()
    _runs[key] = run
    return run


def forget() -> None:
    """Plan every shape anew."""
    _runs.clear()


# ------------------------------------------------------------------------------------------------- dtypes
def _run_of(a: np.ndarray, b: np.ndarray) -> Run:
    """How operands like these are multiplied."""
    dtype = a.dtype
    if dtype.name in REAL:
        return _real_run(a, b)
    if narrow(dtype):
        return _narrow_product
    if dtype.kind == "c":
        is_small = a.ndim == b.ndim == 2 and a.shape[0] * b.size <= SMALL_COMPLEX
        return np.matmul if is_small else _complex_product
    if dtype.kind == "b":
        return lambda a, b: matmul(a.astype(INT32), b.astype(INT32)) != 0
    return lambda a, b: matmul(a.astype(INT32), b.astype(INT32)).astype(dtype)


def _narrow_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of float16 or bfloat16, accumulated in float32."""
    from . import halves
    return halves.narrowed(_single_product(a, b), a.dtype)


def _narrow_linear(activation: str, a: np.ndarray, b: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The affine map of float16 or bfloat16, rounded once."""
    from . import halves
    found = _single_product(a, b)
    found += bias.astype(SINGLE)
    return halves.narrowed(np.maximum(found, 0, out=found) if activation else found, a.dtype)


def _single_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in float32: of pairs of bfloat16 where the CPU multiplies them."""
    from . import halves
    if a.dtype.name == "float16" or not halves.multiplies_pairs() or not a.shape[-1]:
        return matmul(halves.widened(a), halves.widened(b))
    a, b = halves.words_along(a), halves.words_of_rows(b)
    key = "pairs", a.shape, a.strides, b.shape, b.strides, config.num_threads, config.vector_width
    run = _runs.get(key) or _keep(key, _real_run(a, b, pairs=True))
    return run(a, b)


def _complex_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Each number of B as [[re, im], [-im, re]], and those of A and of the result as pairs."""
    pairs = memory.empty((*b.shape[:-1], 2, b.shape[-1]), b.dtype)
    pairs[..., 0, :], turned = b, pairs[..., 1, :]
    np.multiply(b.imag, -1, out=turned.real)          # NumPy 2.4's negative errs between strided float32
    turned.imag = b.real
    part = b.real.dtype
    right = pairs.view(part).reshape(*b.shape[:-2], 2 * b.shape[-2], 2 * b.shape[-1])
    return matmul(contiguous(a).view(part), right).view(a.dtype)


# ------------------------------------------------------------------------------------------- real numbers
def _real_run(a: np.ndarray, b: np.ndarray, bias: str = "", activation: str = "", pairs: bool = False) -> Run:
    """The product of operands of a kernel's dtype with these shapes and strides."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ (shapes {a.shape} and {b.shape})")
    if 0 in shape or 0 in a.shape:
        return lambda a, b, bias=None: _of_nothing(shape, a.dtype, bias, activation)
    copies_a, copies_b = not _is_walkable(a, False), not _is_walkable(b, True)
    a, b = contiguous(a) if copies_a else a, contiguous(b) if copies_b else b
    if b.ndim == 2 and a.ndim > 2:                    # one product instead of one for each of the batch
        flat = a.reshape(-1, a.shape[-1])
        copies_a, a = copies_a or not np.may_share_memory(flat, a), flat
    batch = shape[:-2] if b.ndim > 2 else ()
    if not bias and shape[-1] <= FEW_COLS < a.shape[-2] and a.strides[-2] == a.itemsize:
        turned = Product(_turned(b), _turned(a), batch, (*batch, shape[-1], a.shape[-2]), pairs=pairs)
        return lambda a, b: contiguous(_turned(turned(contiguous(b) if copies_b else b,
                                                      contiguous(a) if copies_a else a))).reshape(shape)
    product = Product(a, b, batch, shape, bias, activation, pairs)
    if not (copies_a or copies_b):
        return product.shortest() if product.is_short and not bias else product
    return lambda a, b, bias=None: product(contiguous(a) if copies_a else a, contiguous(b) if copies_b else b, bias)


def _turned(x: np.ndarray) -> np.ndarray:
    """Matrices transposed: with few columns, A B is the transpose of B^T A^T, whose vectors are full."""
    return x.swapaxes(-1, -2)


def _of_nothing(shape: Shape, dtype: np.dtype, bias: np.ndarray | None, activation: str) -> np.ndarray:
    """A product whose sums are empty."""
    result = np.zeros(shape, dtype)
    result += 0 if bias is None else bias
    return np.maximum(result, 0, out=result) if activation else result


def _is_walkable(x: np.ndarray, needs_unit: bool) -> bool:
    """Do the strides count numbers, and is one of the matrices' own 1 where that is needed?"""
    size = x.itemsize
    unit = any(stride == size or count == 1 for stride, count in zip(x.strides[-2:], x.shape[-2:]))
    return not any(stride % size for stride in x.strides) and (unit or not needs_unit)


def _steps(x: np.ndarray, depth_first: bool) -> Shape:
    """Steps of the two last axes in numbers; along an axis of one element 1, if the other is not that already."""
    steps = [stride // x.itemsize for stride in x.strides[-2:]]
    order = (0, 1) if depth_first else (1, 0)
    for axis in order:
        if x.shape[-2 + axis] == 1 and 1 not in steps:
            steps[axis] = 1
    return tuple(steps)


def _places(a: np.ndarray, b: np.ndarray, batch: Shape) -> np.ndarray | None:
    """Where the matrices of a batch begin, in bytes, a pair for each."""
    if not batch:
        return None
    found = np.zeros((*batch, 2), np.int64)
    for number, x in enumerate((a, b)):
        wide = np.broadcast_to(x, (*batch, *x.shape[-2:]))
        for axis, (count, stride) in enumerate(zip(batch, wide.strides)):
            found[..., number] += (np.arange(count) * stride).reshape(count, *[1] * (len(batch) - axis - 1))
    return found


class Product:
    """A product of operands with certain shapes and strides, planned once."""

    __slots__ = ("activation", "dtype", "function", "new", "places", "plan", "shape", "tail")

    def __init__(self, a: np.ndarray, b: np.ndarray, batch: Shape, shape: Shape, bias: str = "",
                 activation: str = "", pairs: bool = False) -> None:
        a_row, a_step = _steps(a, False)
        b_row, b_col = _steps(b, True)
        problem = tiling.Problem(REAL[a.dtype.name], a.shape[-2], shape[-1], a.shape[-1], a_row, a_step, b_row, b_col,
                                 shape[-1], prod(batch), bias, activation, pairs)
        self.plan, self.places = tiling.plan(problem, config.num_threads), _places(a, b, batch)
        self.shape, self.dtype, self.activation = shape, a.dtype, activation
        self.new = memory.empty if prod(shape) * a.itemsize >= memory.LARGE else np.empty
        places = 0 if self.places is None else address_of(self.places)
        self.tail = Struct("2q").pack(places, address_of(self.plan.words))
        self.function = range_function(MULTIPLY.address)

    def __call__(self, a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        """The product; bias is contiguous."""
        splits = self.plan.splits
        if splits == 1:
            result = self.new(self.shape, self.dtype)
            self.run(a, b, result, bias)
            return result
        parts = memory.empty((splits, *self.shape), self.dtype)
        self.run(a, b, parts, None)
        result = np.add.reduce(parts, 0)
        result += 0 if bias is None else bias
        return np.maximum(result, 0, out=result) if self.activation else result

    def run(self, a: np.ndarray, b: np.ndarray, result: np.ndarray, bias: np.ndarray | None) -> None:
        """Multiply into memory that holds the result, or its parts one after the other."""
        _, units, _, size = self.plan
        place = 0
        if size:
            workspace = memory.empty(size + tiling.LINE, np.uint8)
            place = -(-address_of(workspace) // tiling.LINE) * tiling.LINE
        table = ADDRESSES(id(a), id(b), id(result), 0 if bias is None else id(bias), place) + self.tail
        if units == 1:
            self.function(table, 0, 1)
        else:
            threads.run(MULTIPLY.address, table, units, 1)

    @property
    def is_short(self) -> bool:
        """Does it need neither memory, nor threads, nor more than one sum?"""
        _, units, splits, size = self.plan
        return units == splits == 1 and not size and self.new is np.empty

    def shortest(self) -> Run:
        """The product without bias of small operands, by no more than memory for the result and a call."""
        shape, dtype, tail, function = self.shape, self.dtype, self.tail, self.function
        pack, empty = ADDRESSES, np.empty

        def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            result = empty(shape, dtype)
            function(pack(id(a), id(b), id(result), 0, 0) + tail, 0, 1)
            return result
        run.product = self  # type: ignore[attr-defined]  # the words of its plan must stay
        return run
