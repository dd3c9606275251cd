"""Softmax and its logarithm. (Normalisation of batches and layers joins them.)"""

from typing import Any

from .. import dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..op import RESULT, Info, Primitive
from ..register import public
from ..remembered import remembered
from .movement import as_tensor, astype, reshape


def _pull_softmax_grad(ops: Any, info: Info, g: Any, y: Any, inner: Any, axis: int) -> tuple:
    """Of y * (inner - sum(inner * y)): it is linear and symmetric in `inner`."""
    along = dict(axes=(axis,), keepdims=True)
    total = ops.sum(ops.multiply(inner, y), **along)
    by_y = ops.subtract(ops.multiply(g, ops.subtract(inner, total)),
                        ops.multiply(inner, ops.sum(ops.multiply(g, y), **along)))
    return by_y, ops.softmax_grad(y, g, axis=axis)


def _pull_log_softmax_grad(ops: Any, info: Info, g: Any, y: Any, inner: Any, axis: int) -> tuple:
    """Of inner - exp(y) * sum(inner)."""
    along = dict(axes=(axis,), keepdims=True)
    weighted = ops.multiply(g, ops.exp(y))
    return (ops.negative(ops.multiply(weighted, ops.sum(inner, **along))),
            ops.subtract(g, ops.sum(weighted, **along)))


_softmax = Primitive("softmax", lambda table, x, axis: table.softmax(x, axis),
                     lambda ops, info, g, y, axis: (ops.softmax_grad(y, g, axis=axis),), keeps=(RESULT,),
                     flops=flops.per_result(flops.SOFTMAX))
_softmax_grad = Primitive("softmax_grad", lambda table, y, g, axis: table.softmax_grad(y, g, axis),
                          _pull_softmax_grad, keeps=(0, 1), flops=flops.per_result(4))
_log_softmax = Primitive("log_softmax", lambda table, x, axis: table.log_softmax(x, axis),
                         lambda ops, info, g, y, axis: (ops.log_softmax_grad(y, g, axis=axis),), keeps=(RESULT,),
                         flops=flops.per_result(flops.SOFTMAX))
_log_softmax_grad = Primitive("log_softmax_grad", lambda table, y, g, axis: table.log_softmax_grad(y, g, axis),
                              _pull_log_softmax_grad, keeps=(0, 1), flops=flops.per_result(flops.EXP + 3))


def _along_axis(op: Primitive, x: Any, axis: int) -> Tensor:
    x = as_tensor(op.name, x)
    if x.ndim == 0:
        shapes.normalize_axis(op.name, axis, 1)
        return reshape(_along_axis(op, reshape(x, 1), axis), ())          # a number has an axis, as in reductions
    axis = shapes.normalize_axis(op.name, axis, x.ndim)
    return apply(op, (astype(x, dtypes.real_float(op.name, x.dtype, x.device), copy=False),), {"axis": axis})


@public()
@remembered
def softmax(x: Any, /, axis: int = -1) -> Tensor:
    """Exponentials that sum to 1 along an axis; zeros, with gradient 0, where all of x is -inf.

    >>> import lucid_nb as lnb
    >>> lnb.softmax(lnb.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """
    return _along_axis(_softmax, x, axis)


@public()
@remembered
def log_softmax(x: Any, /, axis: int = -1) -> Tensor:
    """Logarithm of softmax along an axis, without underflow."""
    return _along_axis(_log_softmax, x, axis)
