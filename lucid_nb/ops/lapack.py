"""What the chapters of linear algebra share: their operands, the road to LAPACK, and words for their pullbacks.

LAPACK works on the host: from other devices matrices are copied there, and results back; CuPy does some of it on CUDA.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import backend, dtypes, flops
from ..apply import apply, learners, operands
from ..array import Tensor
from ..errors import DTypeError, GradError, LinAlgError
from ..op import ALL, Info, Primitive, registry
from ..register import short
from ..storage import Diagonal, Slice
from ..tape import anywhere
from .movement import as_tensor, astype

DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


def primitive(name: str, pullback: Callable | None, keeps: tuple[int, ...], rule: flops.Rule, *,
              linear: tuple[tuple[int, ...], ...] = (), push: Callable | None = None) -> Primitive:
    """A routine of LAPACK as an op; parameters of a call are the options of the routine."""
    def forward(table: Any, *raws: Any, **options: Any) -> Any:
        return (table.linalg if table.name == "cpu" else backend.entry(table, "linalg"))(name, options, *raws)
    op = Primitive(name, forward, pullback, keeps, linear, rule)
    op.push = push
    return op


def routine(op: Primitive, x: Tensor, **options: Any) -> Any:
    """`apply` for one operand; at once, where it is plain memory of the cpu and nobody takes notes."""
    raw = None if learners or anywhere.blocks else short.plain(x)
    if raw is None:
        return apply(op, (x,), options)
    try:
        found = op.run((raw,), options)
    except MemoryError:                            # the general road says how much
        return apply(op, (x,), options)
    return tuple(map(short.made, found)) if type(found) is tuple else short.made(found)


# -------------------------------------------------------------------------------------------------- operands
def matrices(op: str, x: Any, *, square: bool = False) -> Tensor:
    """An operand with matrices on its last two axes, in a dtype of LAPACK; integers are taken for float64."""
    x = as_tensor(op, x)
    raw = x.raw
    if type(raw) is np.ndarray and raw.dtype in DTYPES and raw.ndim == 2 and (not square or len(raw) == raw.shape[1]):
        return x
    if x.ndim < 2:
        raise LinAlgError(f"{op}: {x.ndim}-dimensional array given. Array must be at least two-dimensional: reshape "
                          "it.")
    return numbers(op, checked_square(op, x) if square else x)


def checked_square(op: str, x: Tensor) -> Tensor:
    """The operand, whose matrices must be square."""
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{op}: Last 2 dimensions of the array must be square, the shape is {x.shape}. Make them "
                          "equal.")
    return x


def as_tensors(op: str, values: Sequence[Any]) -> list[Tensor]:
    """Several operands, on one device."""
    if all([type(x) is Tensor and type(x.raw) is np.ndarray for x in values]):
        return [x.refresh() for x in values]
    return [as_tensor(op, x) for x in operands(op, values)]


def numbers(op: str, x: Tensor) -> Tensor:
    """An operand in a dtype of LAPACK."""
    if x.dtype in DTYPES:
        return x
    if dtypes.is_inexact(x.dtype):
        raise DTypeError(f"{op}: array type {x.dtype} is unsupported in linalg. Use .astype(lnb.float32).")
    return astype(x, dtypes.on_device(dtypes.FLOAT64, x.device))


def together(op: str, *given: Tensor) -> list[Tensor]:
    """Two operands in their common dtype."""
    if given[0].dtype is given[1].dtype and given[0].dtype in DTYPES:
        return [*given]
    found = [numbers(op, x) for x in given]
    wanted = dtypes.promote(tuple([x.dtype for x in found]), found[0].device)
    return [astype(x, wanted, copy=False) for x in found]


# ------------------------------------------------------------------------------------------------- pullbacks
def adjoint(ops: Any, x: Any) -> Any:
    """The conjugate transpose."""
    return ops.conjugate_transpose(x)


def as_row(ops: Any, x: Any) -> Any:
    """Values as rows, which multiply the columns of matrices."""
    return ops.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))


def as_column(ops: Any, x: Any) -> Any:
    """Values as columns, which multiply the rows of matrices."""
    return ops.reshape(x, shape=(*x.shape, 1))


def diagonal(ops: Any, x: Any) -> Any:
    """The main diagonals."""
    return ops.view(x, steps=(Diagonal(0),))


def block(ops: Any, x: Any, rows: slice, cols: slice) -> Any:
    """Some rows and columns of matrices."""
    return ops.view(x, steps=(Slice((..., rows, cols)),))


def padded(ops: Any, x: Any, rows: int, cols: int) -> Any:
    """Matrices with zeros below and on the right."""
    height, width = x.shape[-2:]
    batch, axis = tuple(x.shape[:-2]), len(x.shape) - 2
    if rows > height:
        x = ops.concatenate(x, ops.zeros((*batch, rows - height, width), x), axis=axis)
    if cols > width:
        x = ops.concatenate(x, ops.zeros((*batch, rows, cols - width), x), axis=axis + 1)
    return x


def total(ops: Any, *terms: Any) -> Any:
    """The sum of those that are there; None of none."""
    found = None
    for term in terms:
        found = term if found is None else found if term is None else ops.add(found, term)
    return found


def product(ops: Any, *factors: Any) -> Any:
    """The product of matrices, from the left."""
    found = factors[0]
    for factor in factors[1:]:
        found = ops.matmul(found, factor)
    return found


def hermitian_part(ops: Any, x: Any) -> Any:
    """The mean of matrices and their conjugate transposes."""
    return ops.multiply(ops.add(x, adjoint(ops, x)), 0.5)


def over_triangle(ops: Any, x: Any, triangle: Any, lower: bool, unit: bool = False) -> Any:
    """x divided from the right by a triangular matrix."""
    found = ops.solve_triangular(adjoint(ops, triangle), adjoint(ops, x), lower=not lower, unit=unit)
    return adjoint(ops, found)


@contextmanager
def needs_inverse(op: str, what: str) -> Iterator[None]:
    """A gradient that is made with an inverse, and does not exist without."""
    try:
        yield
    except LinAlgError:
        raise GradError(f"{op}: {what}, so it has no gradient. Add a small multiple of the identity, or use "
                        "functions that have one there.") from None


# ------------------------------------------------------------------------------------------- parts of matrices
def _mask(part: str, rows: int, cols: int, dtype: np.dtype) -> np.ndarray:
    lower = np.tri(rows, cols, 0)
    one = np.eye(rows, cols)
    return np.asarray({"lower": lower, "strictly_lower": lower - one, "upper": 1 - lower + one,
                       "strictly_upper": 1 - lower, "half_lower": lower - one / 2}[part], dtype)


def _part(table: Any, x: Any, part: str) -> Any:
    rows, cols = x.shape[-2:]
    mask = _mask(part, rows, cols, table.dtype_of(x))
    return registry["multiply"].run((x, table.from_numpy(mask)))


# A triangle of matrices: lower, upper, without the diagonal, or (half_lower) with half of it.
Primitive("triangle", _part, lambda ops, info, g, part: (ops.triangle(g, part=part),), linear=ALL,
          flops=flops.per_result(1))


def _pull_reciprocals(ops: Any, info: Info, g: Any, values: Any, found: Any, kind: str) -> tuple:
    """Of 1 / d it is minus g / d**2, by the derivative of d."""
    t = ops.negative(ops.multiply(g, ops.conjugate(ops.multiply(found, found))))
    count = len(found.shape)

    def summed(axis: int) -> Any:
        return ops.sum(t, axes=(axis,), keepdims=False)
    if kind == "values":
        return (summed(count - 2),)
    if kind == "phases":
        return (ops.multiply(ops.multiply(summed(count - 1), values), 4),)
    by_gap = ops.subtract(summed(count - 2), summed(count - 1))
    return (ops.multiply(ops.multiply(by_gap, values), 2) if kind == "squares" else by_gap,)


# See kernels/unique_parts.py. Forward mode runs `determined` on tangents, which alone say whether a derivative exists.
primitive("reciprocals", _pull_reciprocals, (0, 1), flops.per_result(2))
primitive("determined", lambda ops, info, g, factor, op, kind: (g, None), (1,), flops.per_result(1), linear=((0,),))
primitive("independent", lambda ops, info, g, op: (g,), (), flops.singular_values)
