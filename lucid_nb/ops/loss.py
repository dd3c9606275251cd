"""Losses."""

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, flops, shapes
from ..apply import apply, operands
from ..array import Tensor
from ..backend import Table, Unbatchable, batching
from ..backward import raw_runner
from ..errors import DTypeError, IndexError, ShapeError
from ..op import Info, Primitive
from ..register import public
from ..remembered import remembered
from .logic import where
from .movement import as_tensor, astype, permute_dims, reshape
from .positions import span_of
from .reduction import sum


def _pull_cross_entropy_grad(ops: Any, info: Info, g: Any, logits: Any, target: Any, inner: Any,
                             ignore_index: int) -> tuple:
    """Of (softmax - onehot) * inner, rows of ignored targets 0."""
    along = dict(axes=(1,), keepdims=True)
    valid = ops.cast(ops.not_equal(target, ignore_index), dtype=info.dtype(0))
    slope = ops.cross_entropy_grad(logits, target, valid, ignore_index=ignore_index)
    scale = ops.reshape(ops.multiply(inner, valid), shape=(*info.shape(2), 1))
    by_logits = ops.multiply(scale, ops.softmax_grad(ops.softmax(logits, axis=1), g, axis=1))
    return by_logits, None, ops.reshape(ops.sum(ops.multiply(g, slope), **along), shape=info.shape(2))


_cross_entropy = Primitive(
    "cross_entropy", lambda table, logits, target, ignore_index: table.cross_entropy(logits, target, ignore_index),
    lambda ops, info, g, logits, target, ignore_index:
    (ops.cross_entropy_grad(logits, target, g, ignore_index=ignore_index), None), keeps=(0, 1),
    flops=flops.per_input(flops.EXP + 2))
_cross_entropy_grad = Primitive(
    "cross_entropy_grad",
    lambda table, logits, target, g, ignore_index: table.cross_entropy_grad(logits, target, g, ignore_index),
    _pull_cross_entropy_grad, keeps=(0, 1, 2), flops=flops.per_input(flops.EXP + 3))


def _mean_cross_entropy(table: Table, logits: Any, target: Any, ignore_index: int, count: float) -> Any:
    if table.has("mean_cross_entropy"):
        return table.mean_cross_entropy(logits, target, ignore_index, count)
    losses = table.cross_entropy(logits, target, ignore_index)
    return raw_runner.divide(raw_runner.sum(losses, axes=(0,), keepdims=False), count)


def _pull_mean_cross_entropy(ops: Any, info: Info, g: Any, logits: Any, target: Any, ignore_index: int,
                             count: float) -> tuple:
    inner = ops.broadcast_to(ops.divide(g, count), shape=info.shape(1))
    return ops.cross_entropy_grad(logits, target, inner, ignore_index=ignore_index), None


_mean = Primitive("mean_cross_entropy", _mean_cross_entropy, _pull_mean_cross_entropy, keeps=(0, 1),
                  flops=flops.per_input(flops.EXP + 2))
REDUCTIONS = ("mean", "sum", "none")


@public(method=False)
def cross_entropy(logits: Any, target: Any, /, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Negative log likelihood of integer classes under softmax(logits).

    `logits`: float, shape (C,), (N, C) or (N, C, ...), classes on axis 1 (0 of one example). `target`: integers below
    C, in the shape of `logits` without the class axis. Targets equal to `ignore_index` count for nothing: if all are
    ignored, the mean is 0 and so is its gradient. `reduction`: "mean", "sum" or "none".

    >>> import lucid_nb as lnb
    >>> round(lnb.cross_entropy(lnb.tensor([[2.0, 0.0]]), lnb.tensor([0])).item(), 6)
    0.126928
    """
    logits, target = map(partial(as_tensor, "cross_entropy"), operands("cross_entropy", (logits, target)))
    ignore_index = shapes.as_integer("cross_entropy", "ignore_index", ignore_index)
    if reduction not in REDUCTIONS:
        raise ShapeError(f"cross_entropy: reduction {reduction!r} is unknown. Use one of {', '.join(REDUCTIONS)}.")
    check_target("cross_entropy", logits, target)
    real = dtypes.real_float("cross_entropy", logits.dtype, logits.device)
    try:
        are_classes = check_classes("cross_entropy", target, logits.shape[min(logits.ndim - 1, 1)], ignore_index)
    except Unbatchable as reason:
        return batching.instead("losses_of_classes", reason, lambda scores, classes: cross_entropy(
            scores, classes, ignore_index=ignore_index, reduction="none"), logits, target, ignore_index, reduction)
    counted = target.size if are_classes or reduction != "mean" else int(sum(target != ignore_index).item())
    return _of_classes(_as(logits, real), target, ignore_index, reduction, float(max(counted, 1)))


@remembered
def _of_classes(logits: Tensor, target: Tensor, ignore_index: int, reduction: str, count: float) -> Tensor:
    """`cross_entropy` of what was checked; the mean is over a count."""
    shape, classes = target.shape, _as(target, dtypes.INT64)
    given, params = (examples(logits), classes if len(shape) == 1 else reshape(classes, -1)), {
        "ignore_index": ignore_index}
    if reduction == "mean":
        return apply(_mean, given, params | {"count": count})
    losses = apply(_cross_entropy, given, params)
    return sum(losses) if reduction == "sum" else losses if losses.shape == shape else reshape(losses, shape)


def _as(x: Tensor, dtype: np.dtype) -> Tensor:
    return x if x.dtype == dtype else astype(x, dtype)


def examples(x: Tensor) -> Tensor:
    """Scores of classes as one row an example: the classes, on axis 1 (0 of one example), become the last axis."""
    if x.ndim == 2:
        return x
    axis = min(x.ndim - 1, 1)
    order = (*range(axis), *range(axis + 1, x.ndim), axis)
    return reshape(permute_dims(x, order), shapes.product(x.shape[:axis] + x.shape[axis + 1:]), x.shape[axis])


def check_target(op: str, logits: Tensor, target: Tensor) -> None:
    """Refuse targets that are no integers, or not one for each example."""
    if target.dtype.kind not in "iu":
        raise DTypeError(f"{op}: target is {target.dtype}. Use integer classes.")
    axis = min(logits.ndim - 1, 1)
    wanted = logits.shape[:axis] + logits.shape[axis + 1:]
    if logits.ndim == 0 or target.shape != wanted:
        raise ShapeError(f"{op}: logits {logits.shape} and target {target.shape} do not fit. "
                         f"Target must have shape {wanted}.")


def check_classes(op: str, target: Tensor, classes: int, other: int | None = None,
                  meaning: str = "ignore_index=") -> bool:
    """Refuse targets that are no class and not the other number that is allowed, in words after its meaning; is it
    nowhere?"""
    low, high = span_of(target) if target.size else (0, -1)
    if low >= 0 and high < classes:
        return other is None or not low <= other <= high
    low, high = (low, high) if other is None else span_of(where(target == other, 0, target))
    if not (low >= 0 and high < classes):
        _refuse_classes(op, target.to_host(), classes, other, meaning)
    return False


def _refuse_classes(op: str, values: np.ndarray, classes: int, other: int | None, meaning: str) -> None:
    """Name the first target that is no class."""
    bad = (values < 0) | (values >= classes)
    bad = bad if other is None else bad & (values != other)
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        also = "" if other is None else f", or {meaning}{other}"
        raise IndexError(f"{op}: target {int(values[place])} at {place} is no class. Use 0 to {classes - 1}{also}.")
