"""Rows of a table by number: embeddings, sums of bags of them, and what keeps their norms small."""

from typing import Any

import numpy as np

from .. import backend
from ..apply import apply
from ..array import Tensor, fresh
from ..errors import IndexError, ShapeError
from ..op import Info, Primitive
from .axes import unsqueeze
from .counting import bincount
from .indexing import as_index, take
from .positions import Positions, extremes, positions_of
from .scattering import index_add, scatter_reduce
from .selection import where
from .sets import unique
from .vector_norm import vector_norm

SMALLEST = 1e-7                      # what PyTorch adds to a norm before it divides by it


def _pull_embedding(ops: Any, info: Info, g: Any, index: Any, factors: Any) -> tuple:
    return ops.sum_rows(index, ops.multiply(g, factors), size=info.shape(0)[0]), None, None


_embedding = Primitive("embedding", lambda table, weight, index, factors: table.gather(weight, index, 0),
                       _pull_embedding, keeps=(1, 2))


def rows_of(op: str, weight: Tensor, given: Any) -> Positions:
    """Numbers of rows, each checked; unlike an index they do not count from the end."""
    positions = positions_of(op, given, weight.device)
    check_rows(op, weight, positions)
    return positions


def check_rows(op: str, weight: Tensor, positions: Positions) -> None:
    """Refuse numbers that are no rows."""
    if positions.size:
        for extreme in extremes(positions):
            if not 0 <= extreme < weight.shape[0]:
                raise IndexError(f"{op}: {extreme} is no row of a weight of shape {weight.shape}. Use rows from 0 to "
                                 f"{weight.shape[0] - 1}.")


def checked_weight(op: str, weight: Tensor) -> None:
    """Refuse what is no table."""
    if weight.ndim != 2:
        raise ShapeError(f"{op}: a weight of shape {weight.shape}. It must be (rows, features).")


def embedding(weight: Tensor, positions: Positions, ignored: int | None, by_frequency: bool) -> Tensor:
    """weight[positions], whose gradient leaves out the row `ignored`, and divides by how often a row is read."""
    if ignored is None and not by_frequency:
        return take(weight, positions, axis=0)
    index = as_index(positions.astype(np.int64, copy=False), weight)
    scale = (index != (-1 if ignored is None else ignored)).astype(weight.dtype)
    if by_frequency and index.size:
        scale = scale / take(bincount(index.reshape(-1)), index).astype(weight.dtype)
    return apply(_embedding, (weight, index, unsqueeze(scale, -1)))


def bound_norms(weight: Tensor, positions: Positions, largest: float, order: float) -> None:
    """Shorten, in place, the rows at positions that are longer than `largest`."""
    chosen = unique(positions) if isinstance(positions, Tensor) else np.unique(positions)
    if chosen.size:
        table = weight.detach()
        rows = table[chosen]
        norms = vector_norm(rows, axis=1, keepdims=True, ord=order)
        table[chosen] = where(norms > largest, rows * (largest / (norms + SMALLEST)), rows)


def bags(rows: Tensor, owners: np.ndarray, count: int, mode: str) -> Tensor:
    """The sum, mean or maximum of the rows of each bag; `owners` are their bags. Bags of nothing are 0."""
    table = backend.of(rows.raw)
    zeros = fresh(table.full((count, rows.shape[1]), 0, rows.dtype))
    if mode == "max":
        index = np.broadcast_to(owners[:, None], rows.shape)
        return scatter_reduce(zeros, index, rows, 0, reduce="amax", include_self=False)
    total = index_add(zeros, owners, rows, axis=0)
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(owners, minlength=count), 1).astype(rows.dtype)
    return total / fresh(table.from_numpy(sizes[:, None]))
