"""Losses of classes: scores (batch, classes, ...) and the classes that are right."""

from typing import Any

import numpy as np

from ...array import Tensor, fresh
from ...backend import Unbatchable, batching, table
from ...creation import asarray
from ...dtypes import INT64, is_inexact
from ...errors import ConfigError, DTypeError, ShapeError
from ...ops import loss, norm, selection
from ...ops import loss_terms as terms
from ...ops.gathering import take_along_axis
from ...ops.hosted import check_one_device, hosted
from ...ops.logic import where
from .loss import as_scores, beside, check_alike, check_reduction, reduced

END = -1         # ends the classes of an example in multilabel_margin_loss


def cross_entropy(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy between softmax(input) and classes, or probabilities of classes.

    `input` holds logits, (classes,), (batch, classes) or (batch, classes, ...); `target` integers in the shape without
    classes, or floats in the shape of `input`. `weight` (classes,) scales each class; the mean divides by the sum of
    the weights that counted. Targets equal to ignore_index count for nothing; with no other the loss is 0.
    `label_smoothing` moves that share of the probability evenly to all classes.

    Label smoothing: C. Szegedy et al., Rethinking the Inception architecture, 2016.

    >>> logits = np.float32([[2, 0, 0], [0, 0, 3]])
    >>> round(lnb.nn.functional.cross_entropy(logits, [0, 2], label_smoothing=0.1).item(), 4)
    0.3339
    """
    check_reduction("cross_entropy", reduction)
    check_smoothing("cross_entropy", label_smoothing)
    logits, goal = asarray(input), asarray(target)
    if weight is not None:
        weight = class_weight("cross_entropy", logits, weight)
    if is_inexact(goal.dtype):
        return with_probabilities(logits, goal, weight, reduction, label_smoothing)
    if weight is None and not label_smoothing:
        return loss.cross_entropy(logits, goal, ignore_index=ignore_index, reduction=reduction)
    return with_classes(logits, goal, weight, ignore_index, reduction, label_smoothing)


def check_smoothing(op: str, label_smoothing: Any) -> None:
    """Refuse a share of the probability that is none."""
    if not isinstance(label_smoothing, int | float | np.number) or not 0 <= label_smoothing <= 1:
        raise ConfigError(f"{op}: label_smoothing is {label_smoothing!r}. Use a number from 0 to 1.")


def class_axis(logits: Tensor) -> int:
    """The axis of the classes: the second, or the only one."""
    return min(logits.ndim - 1, 1)


def class_weight(op: str, logits: Tensor, weight: Any) -> Tensor:
    """The weight of each class as a tensor like the logits."""
    check_one_device(op, logits, weight)
    found = asarray(weight, dtype=logits.dtype, device=logits.device)
    if logits.ndim == 0 or found.shape != (logits.shape[class_axis(logits)],):
        raise ShapeError(f"{op}: weight {found.shape} for logits {logits.shape}. Give one number a class.")
    return found


def along_classes(weight: Tensor, logits: Tensor) -> Tensor:
    """One number a class in a shape that broadcasts with the logits."""
    shape = [1] * logits.ndim
    shape[class_axis(logits)] = weight.shape[0]
    return weight.reshape(shape)


def _counts(valid: Tensor, goal: Tensor, weight: Tensor | None, like: Tensor) -> Tensor:
    """What each example counts: 0 where its target is ignored, otherwise 1 or its class's weight."""
    scale = valid.astype(like.dtype)
    return scale if weight is None else scale * weight.take(where(valid, goal, 0))


def _averaged(losses: Tensor, scale: Tensor, kind: str, valid: Tensor) -> Tensor:
    """The losses, reduced; the mean divides by what the examples count, and is 0 where none does."""
    if kind == "none":
        return losses
    total = losses.sum()
    return total / where(valid.any(), scale.sum(), 1) if kind == "mean" else total


@hosted
def with_classes(logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, kind: str,
                 smoothing: float) -> Tensor:
    """Integer targets with weights or smoothing."""
    losses = loss.cross_entropy(logits, target, ignore_index=ignore_index, reduction="none")
    valid = target != ignore_index
    scale = _counts(valid, target, weight, losses)
    losses = losses * scale
    if smoothing:
        spread = smoothing / logits.shape[class_axis(logits)]
        log_p = norm.log_softmax(logits, class_axis(logits))
        log_p = log_p if weight is None else log_p * along_classes(weight, logits)
        even = log_p.sum(class_axis(logits)) * _counts(valid, target, None, losses)
        losses = losses * (1 - smoothing) - even * spread
    return _averaged(losses, scale, kind, valid)


def with_probabilities(logits: Tensor, target: Tensor, weight: Tensor | None, kind: str, smoothing: float) -> Tensor:
    """Targets that give every class a probability; the mean is over the examples."""
    if target.shape != logits.shape:
        raise ShapeError(f"cross_entropy: logits {logits.shape} and probabilities {target.shape} do not fit. "
                         "Give probabilities in the shape of the logits, or integer classes.")
    axis = class_axis(logits)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / logits.shape[axis]
    log_p = norm.log_softmax(logits, axis)
    log_p = log_p if weight is None else log_p * along_classes(weight, logits)
    losses = -(log_p * target).sum(axis)
    if kind == "none":
        return losses
    total = losses.sum()
    return total / float(max(losses.size, 1)) if kind == "mean" else total


@hosted
def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """The negative of the logarithms of probabilities `input` at the classes `target`; cross_entropy takes logits.

    Shapes, `weight`, `ignore_index` and the mean as in cross_entropy; IndexError that names a target that is no class.

    >>> lnb.nn.functional.nll_loss([[-1.0, -2.0], [-3.0, -4.0]], [0, 1]).item()
    2.5
    """
    check_reduction("nll_loss", reduction)
    scores = as_scores(input)
    goal = asarray(target)
    loss.check_target("nll_loss", scores, goal)
    rows = loss.examples(scores)
    try:
        are_classes = loss.check_classes("nll_loss", goal, rows.shape[1], ignore_index)
    except Unbatchable as reason:
        if weight is not None:
            raise
        return batching.instead("losses_of_classes", reason, lambda scores, classes: nll_loss(
            scores, classes, None, ignore_index, "none"), scores, goal, ignore_index, reduction)
    factor = None if weight is None else class_weight("nll_loss", scores, weight)
    valid = goal != ignore_index
    places = where(valid, goal, 0).reshape(-1, 1)
    losses = -take_along_axis(rows, places, 1).reshape(goal.shape)
    if factor is None and are_classes and goal.size:
        return reduced(losses, reduction)
    scale = _counts(valid, goal, factor, scores)
    return _averaged(where(valid, losses, 0) * scale, scale, reduction, valid)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """1 at the place of each class on a new last axis, otherwise 0, as int64; the number of classes may be counted.

    IndexError that names a class that is below 0 or not below num_classes.

    >>> lnb.nn.functional.one_hot([0, 2])
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    return selection.one_hot(tensor, num_classes)


# ---------------------------------------------------------------------------------------------------- margins
def _is_class(classes: int, target: Tensor) -> Tensor:
    """True at the class of each example: (batch, classes)."""
    return fresh(table(target.device).iota(0, 1, classes, INT64)) == target.reshape(-1, 1)


@hosted
def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
                      reduction: str = "mean") -> Tensor:
    """The mean over the classes of max(0, margin - x[target] + x[class])**p for the classes that are not the target.

    `input`: (classes,) or (batch, classes); `p`: 1 or 2; `weight` (classes,): of the target. Source: K. Crammer,
    Y. Singer, On the algorithmic implementation of multiclass kernel-based vector machines, 2001.

    >>> lnb.nn.functional.multi_margin_loss([[1.0, 0.5, 3.0]], [0]).item()
    1.1666666666666667
    """
    check_reduction("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ConfigError(f"multi_margin_loss: p is {p!r}. Use 1 or 2.")
    x, goal = as_scores(input), asarray(target)
    _check_rows("multi_margin_loss", x)
    loss.check_target("multi_margin_loss", x, goal)
    rows = loss.examples(x)
    loss.check_classes("multi_margin_loss", goal, rows.shape[1])
    is_class = _is_class(rows.shape[1], goal)
    own = where(is_class, rows, 0).sum(1, keepdims=True)
    losses = terms.margin_term(rows - own, margin)
    losses = losses * losses if p == 2 else losses
    if weight is not None:
        losses = losses * class_weight("multi_margin_loss", x, weight).take(goal).reshape(-1, 1)
    means = where(is_class, 0, losses).sum(1) / float(rows.shape[1])
    return reduced(means.reshape(goal.shape), reduction)


def _check_rows(op: str, x: Tensor) -> None:
    if x.ndim not in (1, 2) or x.shape[-1] == 0:
        raise ShapeError(f"{op}: an input of shape {x.shape}. Give (classes,) or (batch, classes).")


@hosted
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The mean over the classes of max(0, 1 - x[right] + x[wrong]), summed over pairs of right and wrong classes.

    `target`, in the shape of the input, (classes,) or (batch, classes), lists the right classes of each example; -1
    ends the list.

    >>> lnb.nn.functional.multilabel_margin_loss([[0.1, 0.2, 0.4, 0.8]], [[3, 0, -1, 1]]).item()
    0.85
    """
    check_reduction("multilabel_margin_loss", reduction)
    x, goal = as_scores(input), asarray(target)
    _check_rows("multilabel_margin_loss", x)
    check_alike("multilabel_margin_loss", x, goal)
    if goal.dtype.kind not in "iu":
        raise DTypeError(f"multilabel_margin_loss: target is {goal.dtype}. Use integer classes.")
    loss.check_classes("multilabel_margin_loss", goal, x.shape[-1], END, "end the list with ")
    counts = _listed(goal.to_host().reshape(-1, x.shape[-1]))
    rows = x.reshape(-1, x.shape[-1])
    right, wrong = [asarray(part.astype(x.dtype), device=x.device) for part in (counts, counts == 0)]
    hinges = terms.margin_term(rows[:, None, :] - rows[:, :, None], 1.0)
    losses = (hinges * right[:, :, None] * wrong[:, None, :]).sum((1, 2)) / float(x.shape[-1])
    return reduced(losses.reshape(x.shape[:-1]), reduction)


def _listed(target: np.ndarray) -> np.ndarray:
    """How often each class stands in the list of an example."""
    is_listed = np.logical_and.accumulate(target != END, axis=1)
    counts = np.zeros(target.shape, int)
    np.add.at(counts, (np.nonzero(is_listed)[0], target[is_listed]), 1)
    return counts


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """The mean over the last axis of binary_cross_entropy_with_logits, times the weight of each class.

    >>> round(lnb.nn.functional.multilabel_soft_margin_loss([[0.0, 0.0]], [[1, 0]]).item(), 4)
    0.6931
    """
    check_reduction("multilabel_soft_margin_loss", reduction)
    x = as_scores(input)
    goal = beside(x, target)
    check_alike("multilabel_soft_margin_loss", x, goal)
    losses = terms.logistic_loss(x, goal)
    losses = losses if weight is None else losses * beside(losses, weight)
    return reduced(losses.mean(-1), reduction)
