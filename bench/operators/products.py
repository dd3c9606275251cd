"""PyTorch's products of vectors and matrices, and ours; what the linear algebra of later versions brings is apart."""

from typing import Any

import lucid_nb as lnb

from .adapters import worded


def added(product: Any) -> Any:
    """PyTorch's addmm and its kin: beta x + alpha product(a, b)."""
    return lambda x, a, b, beta=1, alpha=1: beta * x + alpha * product(a, b)


def einsum(operands: list[lnb.Tensor], subscripts: str) -> lnb.Tensor:
    """The database gives operands first."""
    return lnb.einsum(subscripts, *operands)


def cross(x: lnb.Tensor, y: lnb.Tensor, dim: int | None = None) -> lnb.Tensor:
    """PyTorch's cross: along the first axis of three, unless one is named."""
    axis = x.shape.index(3) if dim is None else dim
    return lnb.linalg.cross(x, y, axis=axis)


def vector_norm(x: lnb.Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False) -> lnb.Tensor:
    """No axes at all mean all of them, as in PyTorch."""
    axis = (tuple(dim) or None) if isinstance(dim, (tuple, list)) else dim
    return lnb.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdim)


TABLE = {
    "matmul": lnb.matmul, "mm": lnb.matmul, "bmm": lnb.matmul, "mv": lnb.matmul, "dot": lnb.dot, "inner": lnb.inner,
    "outer": lnb.outer, "vdot": lnb.vdot, "__rmatmul__": lambda x, y: lnb.matmul(y, x),
    "tensordot": worded(lnb.tensordot, dims="axes"), "einsum": einsum, "addmm": added(lnb.matmul),
    "addmv": added(lnb.matmul), "baddbmm": added(lnb.matmul), "addr": added(lnb.outer),
    "addbmm": added(lambda a, b: lnb.sum(lnb.matmul(a, b), axis=0)), "kron": lnb.kron, "cross": cross,
    "trace": lnb.trace, "cdist": "pairwise_distance of x[:, None] and y", "block_diag": "pad and concatenate",
}

LATER = {
    "linalg.vecdot": worded(lnb.linalg.vecdot), "linalg.cross": worded(lnb.linalg.cross),
    "linalg.multi_dot": lnb.linalg.multi_dot, "linalg.vector_norm": vector_norm,
    "linalg.matrix_power": lnb.linalg.matrix_power,
}
