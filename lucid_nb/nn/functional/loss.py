"""Losses."""

from typing import Any

import numpy as np

from ...array import Tensor
from ...creation import asarray
from ...dtypes import is_inexact
from ...errors import ConfigError, ShapeError
from ...ops import loss, norm, reduction

REDUCTIONS = ("mean", "sum", "none")


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
    if reduction not in REDUCTIONS:
        raise ConfigError(f"cross_entropy: reduction is {reduction!r}. Use 'mean', 'sum' or 'none'.")
    check_smoothing("cross_entropy", label_smoothing)
    logits, goal = asarray(input), asarray(target)
    if weight is not None:
        weight = class_weight(logits, weight)
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


def class_weight(logits: Tensor, weight: Any) -> Tensor:
    """The weight of each class as a tensor like the logits."""
    found = asarray(weight, dtype=logits.dtype, device=logits.device)
    if logits.ndim == 0 or found.shape != (logits.shape[class_axis(logits)],):
        raise ShapeError(f"cross_entropy: weight {found.shape} for logits {logits.shape}. Give one number a class.")
    return found


def along_classes(weight: Tensor, logits: Tensor) -> Tensor:
    """One number a class in a shape that broadcasts with the logits."""
    shape = [1] * logits.ndim
    shape[class_axis(logits)] = weight.shape[0]
    return weight.reshape(shape)


def with_classes(logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, kind: str,
                 smoothing: float) -> Tensor:
    """Integer targets with weights or smoothing."""
    losses = loss.cross_entropy(logits, target, ignore_index=ignore_index, reduction="none")
    goal = target.to_host()
    valid = goal != ignore_index
    scale = asarray(valid).astype(losses.dtype).to(logits.device)
    if weight is not None:
        scale = scale * weight[np.where(valid, goal, 0)]
    losses = losses * scale
    if smoothing:
        spread = smoothing / logits.shape[class_axis(logits)]
        log_p = norm.log_softmax(logits, class_axis(logits))
        log_p = log_p if weight is None else log_p * along_classes(weight, logits)
        even = reduction.sum(log_p, class_axis(logits)) * asarray(valid).astype(losses.dtype).to(logits.device)
        losses = losses * (1 - smoothing) - even * spread
    if kind == "none":
        return losses
    total = reduction.sum(losses)
    return total / reduction.sum(scale) if kind == "mean" and valid.any() else total


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
    losses = -reduction.sum(log_p * target, axis)
    if kind == "none":
        return losses
    total = reduction.sum(losses)
    return total / float(max(losses.size, 1)) if kind == "mean" else total
