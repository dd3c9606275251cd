"""Matrix products."""

from typing import Any

from .. import dtypes, shapes
from ..apply import apply, operands
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..op import Info, Primitive
from ..register import public
from .movement import astype, reshape


def _pull_matmul(ops: Any, info: Info, g: Any, a: Any, b: Any) -> tuple:
    """g b^H and a^H g; what was broadcast over batches is summed by the caller."""
    of_a, of_b = info.wanted
    return (ops.matmul(g, ops.conjugate_transpose(b)) if of_a else None,
            ops.matmul(ops.conjugate_transpose(a), g) if of_b else None)


_matmul = Primitive("matmul", lambda table, a, b: table.matmul(a, b), _pull_matmul, keeps=(0, 1))
_conjugate_transpose = Primitive(
    "conjugate_transpose", lambda table, x: table.permute(_conjugate(table, x), shapes.swapped_last(len(x.shape))),
    lambda ops, info, g: (ops.conjugate_transpose(g),))


def _conjugate(table: Any, x: Any) -> Any:
    return table.conjugate(x) if table.dtype_of(x).kind == "c" else x


@public()
def matmul(a: Any, b: Any, /) -> Tensor:
    """Matrix product: (..., n, k) times (..., k, m), batch axes broadcast; a 1-D operand is a row or a column.

    Shapes, dtypes and 1-D operands as numpy.matmul. float16 and bfloat16 accumulate in float32.

    >>> import lucid_nb as lnb
    >>> lnb.matmul(lnb.ones((2, 3)), lnb.ones((3, 1)))
    tensor([[3.],
            [3.]])
    """
    a, b = (x if isinstance(x, Tensor) else _refuse_scalar(x) for x in operands("matmul", (a, b)))
    _check(a.shape, b.shape)
    dtype = dtypes.promote((a.dtype, b.dtype))
    left, right = astype(a, dtype, copy=False), astype(b, dtype, copy=False)
    left = reshape(left, 1, -1) if a.ndim == 1 else left
    right = reshape(right, -1, 1) if b.ndim == 1 else right
    shape = (*shapes.broadcast_shapes("matmul", left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1])
    if right.ndim == 2 and left.ndim > 2:           # one large product instead of a batch, and in its gradient too
        left = reshape(left, shapes.product(left.shape[:-1]), left.shape[-1])
    found = apply(_matmul, (left, right))
    kept = shape[:-2] + shape[-2:-1] * (a.ndim > 1) + shape[-1:] * (b.ndim > 1)
    return found if found.shape == kept else reshape(found, kept)


def _refuse_scalar(value: Any) -> Tensor:
    raise DTypeError(f"matmul: {value!r} is a scalar. Use multiply, or x * {value!r}.")


def _check(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if not a or not b:
        raise ShapeError(f"matmul: a 0-d operand (shapes {a} and {b}). Use multiply.")
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ShapeError(f"matmul: inner sizes differ, {a[-1]} and {inner} (shapes {a} and {b}). Transpose one.")


Tensor.__matmul__ = matmul  # type: ignore[method-assign]
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[method-assign]
Tensor.__imatmul__ = lambda self, other: self.update(matmul(self, other), "matmul")  # type: ignore[method-assign]
