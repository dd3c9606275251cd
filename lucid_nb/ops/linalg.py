"""Products of vectors, matrices and arrays."""

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from .. import flops, shapes
from ..apply import apply, recorded
from ..array import Tensor, fresh
from ..backend import of, plain
from ..errors import ShapeError
from ..op import Info, Primitive, registry
from ..register import TENSORS, public
from ..shapes import Shape
from ..tape import is_recording
from .axes import moveaxis
from .contraction import Labels, contract, promoted
from .movement import deliver, reshape


def _pull_matmul(ops: Any, info: Info, g: Any, a: Any, b: Any) -> tuple:
    """g b^H and a^H g; what was broadcast over batches is summed by the caller."""
    of_a, of_b = info.wanted
    return (ops.matmul(g, ops.conjugate_transpose(b)) if of_a else None,
            ops.matmul(ops.conjugate_transpose(a), g) if of_b else None)


_matmul = Primitive("matmul", lambda table, a, b: table.matmul(a, b), _pull_matmul, keeps=(0, 1), flops=flops.matmul,
                    linear=((0,), (1,)))


def _vector_product(table: Any, a: Any, b: Any) -> Any:
    """A vector times a vector, a row times a matrix, or a matrix times a column."""
    if table.has("vector_product"):
        return table.vector_product(a, b)
    left, right = tuple(a.shape), tuple(b.shape)
    if len(left) == len(right) == 1:
        return table.reshape(table.matmul(table.reshape(a, (1, *left)), table.reshape(b, (*right, 1))), ())
    if len(left) == 1:
        return table.reshape(table.matmul(table.reshape(a, (1, *left)), b), right[1:])
    return table.reshape(table.matmul(a, table.reshape(b, (*right, 1))), left[:1])


def _pull_vector_product(ops: Any, info: Info, g: Any, a: Any, b: Any) -> tuple:
    """As of matrices."""
    of_a, of_b = info.wanted
    (*rows, inner), cols = a.shape, tuple(b.shape[1:])
    if rows:
        column, row = ops.reshape(g, shape=(*rows, 1)), ops.reshape(b, shape=(inner, 1))
        return (ops.matmul(column, ops.conjugate_transpose(row)) if of_a else None,
                ops.matmul_vector(ops.conjugate_transpose(a), g) if of_b else None)
    into_b = None
    if of_b:
        column = ops.conjugate_transpose(ops.reshape(a, shape=(1, inner)))
        into_b = ops.matmul(column, ops.reshape(g, shape=(1, *cols)))
    return ops.matmul_vector(g, ops.conjugate_transpose(b)) if of_a else None, into_b


_matmul_vector = Primitive("matmul_vector", _vector_product, _pull_vector_product, keeps=(0, 1), flops=flops.matmul,
                           linear=((0,), (1,)))
_inner_product = Primitive(
    "inner_product", _vector_product,
    lambda ops, info, g, a, b: tuple([ops.multiply(g, ops.conjugate(other) if info.dtype(0).kind == "c" else other)
                                      if wanted else None for other, wanted in zip((b, a), info.wanted)]),
    keeps=(0, 1), flops=flops.matmul, linear=((0,), (1,)))
_PRODUCTS = {(1, 1): _inner_product, (1, 2): _matmul_vector, (2, 1): _matmul_vector, (2, 2): _matmul}
_conjugate_transpose = Primitive(
    "conjugate_transpose", lambda table, x: table.permute(_conjugate(table, x), shapes.swapped_last(len(x.shape))),
    lambda ops, info, g: (ops.conjugate_transpose(g),))


def _conjugate(table: Any, x: Any) -> Any:
    return registry["conjugate"].run((x,)) if table.dtype_of(x).kind == "c" else x


@public()
def matmul(a: Any, b: Any, /, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Matrix product: (..., n, k) times (..., k, m), batch axes broadcast; a 1-D operand is a row or a column.

    Shapes, dtypes and 1-D operands as numpy.matmul. float16 and bfloat16 accumulate in float32. ShapeError where inner
    sizes differ or an operand is a number.

    >>> import lucid_nb as lnb
    >>> lnb.matmul(lnb.ones((2, 3)), lnb.ones((3, 1)))
    tensor([[3.],
            [3.]])
    """
    if dtype is out is None and (found := _direct(a, b)) is not None:
        return found
    left, right = promoted("matmul", (a, b), dtype, casting)
    is_row, is_column = left.ndim == 1, right.ndim == 1
    _check(left.shape, right.shape)
    op = _PRODUCTS.get((left.ndim, right.ndim), _matmul)
    if op is not _matmul:
        return deliver("matmul", apply(op, (left, right)), out, casting)
    left = reshape(left, 1, -1) if is_row else left
    right = reshape(right, -1, 1) if is_column else right
    shape = (*shapes.broadcast_shapes("matmul", left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1])
    if right.ndim == 2 and left.ndim > 2:           # one large product instead of a batch, and in its gradient too
        left = reshape(left, shapes.product(left.shape[:-1]), left.shape[-1])
    found = apply(_matmul, (left, right))
    kept = shape[:-2] + shape[-2:-1] * (not is_row) + shape[-1:] * (not is_column)
    return deliver("matmul", found if found.shape == kept else reshape(found, kept), out, casting)


def _check(a: Shape, b: Shape) -> None:
    if not a or not b:
        raise ShapeError(f"matmul: a 0-d operand (shapes {a} and {b}). Use multiply.")
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ShapeError(f"matmul: inner sizes differ, {a[-1]} and {inner} (shapes {a} and {b}). Transpose one.")


def _direct(a: Any, b: Any) -> Tensor | None:
    """The product of two vectors or matrices of one dtype by the shortest road; None where another one serves."""
    if type(a) not in TENSORS or type(b) not in TENSORS:
        return None
    x, y = a.refresh().raw, b.refresh().raw
    kind = type(x)
    if kind is not type(y) or (kind is not ndarray and kind not in plain) or (
            x.dtype is not y.dtype and x.dtype != y.dtype):
        return None
    op = _PRODUCTS.get((x.ndim, y.ndim))
    if op is None or x.shape[-1] != y.shape[0]:
        return None
    table, edges = of(x), (a.node, b.node)
    try:
        found = table.matmul(x, y) if op is _matmul else _vector_product(table, x, y)
    except MemoryError:
        return None                                      # the general road tells what was too large
    if edges != (None, None) and is_recording():
        return recorded(op, (a, b), edges, found, None)
    return fresh(found)


def _operator(self: Tensor, other: Any) -> Tensor:
    """The matrix product of the operator @."""
    found = _direct(self, other)
    return matmul(self, other) if found is None else found


Tensor.__matmul__ = _operator  # type: ignore[method-assign]
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[method-assign]
Tensor.__imatmul__ = lambda self, other: self.update(matmul(self, other), "matmul")  # type: ignore[method-assign]


# ----------------------------------------------------------------------------------------- of any number of axes
def _summed_over(op: str, a: Tensor, b: Tensor, a_axes: Sequence[int], b_axes: Sequence[int]) -> Tensor:
    """The sum of products over pairs of axes, whose sizes must be equal; then the axes of a, then those of b."""
    for first, second in zip(a_axes, b_axes):
        if a.shape[first] != b.shape[second]:
            raise ShapeError(f"{op}: axis {first} of shape {a.shape} has size {a.shape[first]}, axis {second} of shape "
                             f"{b.shape} has {b.shape[second]}. They must be equal.")
    left: Labels = tuple(range(a.ndim))
    right = tuple([a_axes[b_axes.index(axis)] if axis in b_axes else a.ndim + axis for axis in range(b.ndim)])
    rest = (*[x for x in left if x not in a_axes], *[x for x in right if x not in left])
    return contract(a, left, b, right, rest)


@public()
def dot(a: Any, b: Any, out: Any = None) -> Tensor:
    """The sum of products over the last axis of a and the last but one of b, or its only one; of a number the product.

    >>> import lucid_nb as lnb
    >>> lnb.dot([1, 2, 3], [4, 5, 6]).item()
    32
    """
    if out is None and type(a) is type(b) is Tensor and 0 < len(a.raw.shape) < 3 and 0 < len(b.raw.shape) < 3 and (
            a.raw.shape[-1] == b.raw.shape[0]):
        return a @ b
    a, b = promoted("dot", (a, b))
    if a.ndim == 0 or b.ndim == 0:
        return deliver("dot", apply(registry["multiply"], (a, b)), out)
    return deliver("dot", _summed_over("dot", a, b, [a.ndim - 1], [max(b.ndim - 2, 0)]), out)


@public()
def inner(a: Any, b: Any, /) -> Tensor:
    """The sum of products over the last axis of both; of a number the product.

    >>> import lucid_nb as lnb
    >>> lnb.inner([[1, 2], [3, 4]], [10, 1])
    tensor([12, 34])
    """
    if isinstance(b, Tensor) and b.ndim == 1 and (found := _direct(a, b)) is not None:
        return found
    a, b = promoted("inner", (a, b))
    if a.ndim == 0 or b.ndim == 0:
        return apply(registry["multiply"], (a, b))
    return _summed_over("inner", a, b, [a.ndim - 1], [b.ndim - 1])


@public(method=False)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes: `axes` are the last ones of a and first ones of b, or two lists.

    The result has the other axes of a, then those of b. ShapeError where sizes differ.

    >>> import lucid_nb as lnb
    >>> lnb.tensordot(lnb.ones((2, 3, 4)), lnb.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    a, b = promoted("tensordot", (a, b))
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ShapeError(f"tensordot: axes {axes!r} are not two. Give the axes of a and those of b.")
        pair = [tuple(axis) if isinstance(axis, (tuple, list)) else (axis,) for axis in axes]
    else:
        count = shapes.as_integer("tensordot", "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: axes {count} for shapes {a.shape} and {b.shape}. Use 0 to "
                             f"{min(a.ndim, b.ndim)}.")
        pair = [tuple(range(a.ndim - count, a.ndim)), tuple(range(count))]
    a_axes, b_axes = [shapes.normalize_axes("tensordot", axis, x.ndim) for axis, x in zip(pair, (a, b))]
    if len(a_axes) != len(b_axes):
        raise ShapeError(f"tensordot: {len(a_axes)} axes of a and {len(b_axes)} of b. Give pairs.")
    return _summed_over("tensordot", a, b, a_axes, b_axes)


@public()
def outer(a: Any, b: Any, out: Any = None) -> Tensor:
    """Every element of a times every element of b, both flat.

    >>> import lucid_nb as lnb
    >>> lnb.outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    if out is None and type(a) in TENSORS and type(b) in TENSORS and a.ndim == b.ndim == 1 and (
            a.refresh().node is b.refresh().node is None) and type(a.raw) is type(b.raw) is ndarray:
        return fresh(registry["multiply"].run((a.raw[:, None], b.raw)))
    a, b = promoted("outer", (a, b))
    return deliver("outer", contract(reshape(a, -1), ("a",), reshape(b, -1), ("b",), ("a", "b")), out)


@public()
def vdot(a: Any, b: Any, /) -> Tensor:
    """The sum of conj(a) times b, both flat.

    >>> import lucid_nb as lnb
    >>> lnb.vdot([1j, 2], [1j, 3]).item()
    (7+0j)
    """
    a, b = promoted("vdot", (a, b))
    if a.size != b.size:
        raise ShapeError(f"vdot: {a.size} and {b.size} elements (shapes {a.shape} and {b.shape}). "
                         "Give as many of both.")
    return contract(reshape(a, -1), ("k",), reshape(b, -1), ("k",), (), (True, False))


# --------------------------------------------------------------------------------------- of vectors in batches
def _batched(op: str, values: Sequence[Any], cores: Sequence[str], result: str, dtype: Any,
             is_conjugate: bool = False) -> Tensor:
    """A product whose last axes carry letters; those of one letter have one size, what stands before broadcasts."""
    a, b = promoted(op, values, dtype)
    if a.ndim < len(cores[0]) or b.ndim < len(cores[1]):
        raise ShapeError(f"{op}: shapes {a.shape} and {b.shape} have too few axes. It takes {len(cores[0])} and "
                         f"{len(cores[1])} or more.")
    sizes: dict[str, int] = {}
    for core, x in zip(cores, (a, b)):
        for letter, size in zip(core, x.shape[x.ndim - len(core):]):
            if sizes.setdefault(letter, size) != size:
                raise ShapeError(f"{op}: inner sizes differ, {sizes[letter]} and {size} (shapes {a.shape} and "
                                 f"{b.shape}). Make them equal.")
    batches = [x.shape[:x.ndim - len(core)] for core, x in zip(cores, (a, b))]
    shapes.broadcast_shapes(op, *batches)
    left, right = [(*range(-len(batch), 0), *core) for core, batch in zip(cores, batches)]
    return contract(a, left, b, right, (*range(-max(map(len, batches)), 0), *result), (is_conjugate, False))


@public()
def vecdot(a: Any, b: Any, /, out: Any = None, *, axis: int = -1, dtype: Any = None) -> Tensor:
    """The sum of conj(a) times b over one axis of both; the others broadcast.

    >>> import lucid_nb as lnb
    >>> lnb.vecdot([[1, 2], [3, 4]], [10, 1])
    tensor([12, 34])
    """
    values = promoted("vecdot", (a, b))
    if axis != -1:
        values = [moveaxis(x, shapes.normalize_axis("vecdot", axis, x.ndim), -1) for x in values]
    return deliver("vecdot", _batched("vecdot", values, ("k", "k"), "", dtype, True), out)


@public(method=False)
def matvec(a: Any, b: Any, /, out: Any = None, *, dtype: Any = None) -> Tensor:
    """Matrices (..., n, k) times vectors (..., k); what stands before broadcasts.

    >>> import lucid_nb as lnb
    >>> lnb.matvec([[1, 2], [3, 4]], [[10, 1], [0, 1]]).tolist()
    [[12, 34], [2, 4]]
    """
    return deliver("matvec", _batched("matvec", (a, b), ("nk", "k"), "n", dtype), out)


@public(method=False)
def vecmat(a: Any, b: Any, /, out: Any = None, *, dtype: Any = None) -> Tensor:
    """Conjugated vectors (..., n) times matrices (..., n, k); what stands before broadcasts.

    >>> import lucid_nb as lnb
    >>> lnb.vecmat([10, 1], [[1, 2], [3, 4]])
    tensor([13, 24])
    """
    return deliver("vecmat", _batched("vecmat", (a, b), ("n", "nk"), "k", dtype, True), out)
