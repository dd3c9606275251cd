"""The affine map of rows, as one op: a product whose tiles add the bias before they are stored."""

from typing import Any

from .. import flops
from ..apply import apply
from ..array import Tensor
from ..backend import Table
from ..op import Info, Primitive, registry
from ..shapes import product


def _forward(table: Table, x: Any, weight: Any, bias: Any = None) -> Any:
    turned = table.permute(weight, (1, 0))
    if bias is not None and table.has("linear"):
        return table.linear(x, turned, bias)
    found = table.matmul(x, turned)
    return found if bias is None else registry["add"].run((found, bias))


def _pull(ops: Any, info: Info, g: Any, x: Any, weight: Any) -> tuple:
    """conj(weight) and conj(x) times g; that of the bias is summed over the rows by the caller."""
    of_x, of_weight, *_ = info.wanted
    if info.dtype(0).kind == "c":
        x, weight = ops.conjugate(x), ops.conjugate(weight)
    into_weight = None
    if of_weight:
        rows = product(info.shape(0)[:-1])
        flat_g, flat_x = (y if len(y.shape) == 2 else ops.reshape(y, shape=(rows, y.shape[-1])) for y in (g, x))
        into_weight = ops.matmul(ops.permute(flat_g, axes=(1, 0)), flat_x)
    gradients = (ops.matmul(g, weight) if of_x else None, into_weight, g)
    return gradients[:len(info.wanted)]


_linear = Primitive("linear", _forward, _pull, keeps=(0, 1), flops=flops.linear)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x (..., in) of two axes or more times the transpose of weight (out, in), plus bias (out,), all of one dtype."""
    return apply(_linear, (x, weight) if bias is None else (x, weight, bias))
