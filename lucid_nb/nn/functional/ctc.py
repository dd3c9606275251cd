"""Connectionist temporal classification: the likelihood of a sequence of labels, summed over where they stand."""

import math
from typing import Any, NamedTuple

import numpy as np

from ...array import Tensor
from ...creation import asarray
from ...errors import DTypeError, IndexError, ShapeError
from ...ops.gathering import take_along_axis
from ...ops.joining import stack
from ...ops.padding import pad
from ...ops.reduction import logsumexp
from ...ops.selection import where
from ...shapes import as_integer
from .loss import as_scores, check_reduction

OP = "ctc_loss"


class Labels(NamedTuple):
    """The states of a batch: its labels with blanks around them, (batch, states), and how many labels there are."""

    states: np.ndarray
    counts: np.ndarray
    steps: np.ndarray            # that each example has


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """The negative logarithm of the likelihood that a network says the labels, blanks and repetitions left out.

    log_probs: (steps, batch, classes), or (steps, classes) of one example, from log_softmax. targets: integers (batch,
    labels), or all labels one after the other; they must not be `blank`. Lengths: how many steps and labels count, one
    for each example. The mean is of losses divided by the number of labels (at least 1). Too few steps for the labels
    give infinity, 0 with zero_infinity, and gradient 0. ShapeError or IndexError where sizes or classes do not fit.

    The gradient is that of the formula; PyTorch's differs by what log_softmax takes away. Both work in the logarithms.

    Source: A. Graves et al., Connectionist temporal classification, ICML 2006.

    >>> scores = np.log(np.float64([[[0.4, 0.6]], [[0.4, 0.6]]]))
    >>> round(float(np.exp(-lnb.nn.functional.ctc_loss(scores, [[1]], [2], [1]).item())), 2)
    0.84
    """
    check_reduction(OP, reduction)
    x = as_scores(log_probs)
    if x.ndim not in (2, 3) or 0 in x.shape:
        raise ShapeError(f"{OP}: log_probs of shape {x.shape}. Give (steps, batch, classes) or (steps, classes), none "
                         "of them 0.")
    batched = x if x.ndim == 3 else x.reshape(x.shape[0], 1, x.shape[1])
    labels = _labels(batched.shape, targets, input_lengths, target_lengths, blank)
    losses = -_log_likelihood(batched, labels, blank)
    if zero_infinity:
        losses = where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / _like(np.maximum(labels.counts, 1), losses)).mean()
    return losses.sum() if reduction == "sum" else losses if x.ndim == 3 else losses.reshape(())


def _like(numbers: np.ndarray, x: Tensor) -> Tensor:
    """Host numbers in the dtype of x, beside it."""
    return asarray(numbers.astype(x.dtype), device=x.device)


def _log_likelihood(x: Tensor, labels: Labels, blank: int) -> Tensor:
    """The logarithm of the probability of each example: forward variables of all states, step after step."""
    states = labels.states
    said = take_along_axis(x, asarray(np.broadcast_to(states, (len(x), *states.shape)), device=x.device), 2)
    skips = np.zeros(states.shape, bool)               # a blank may be left out between labels that differ
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    may_skip = asarray(skips, device=x.device)
    start = np.full(states.shape, -math.inf)
    start[:, 0] = 0
    forward = _like(start, x)
    for step in range(len(x)):
        before = pad(forward, ((0, 0), (2, 0)), constant_values=-math.inf)
        ways = stack([forward, before[:, 1:-1], where(may_skip, before[:, :-2], -math.inf)])
        later = logsumexp(ways, axis=0) + said[step]
        goes_on = labels.steps > step
        forward = later if goes_on.all() else where(asarray(goes_on[:, None], device=x.device), later, forward)
    ends = 2 * labels.counts[:, None] - np.array([0, 1])          # the last blank, the last label
    found = take_along_axis(forward, asarray(np.maximum(ends, 0), device=x.device), 1)
    return logsumexp(where(asarray(ends >= 0, device=x.device), found, -math.inf), axis=1)


def _labels(shape: tuple[int, ...], targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Labels:
    """The states of the batch, after checking all that is given."""
    steps, batch, classes = shape
    goal, blank = _integers("targets", targets), as_integer(OP, "blank", blank)
    counts, durations = (_integers(what, given).reshape(-1) for what, given in
                         (("target_lengths", target_lengths), ("input_lengths", input_lengths)))
    if len(counts) != batch or len(durations) != batch:
        raise ShapeError(f"{OP}: {len(durations)} input_lengths and {len(counts)} target_lengths for {batch} examples. "
                         "Give one of each for every example.")
    if durations.min() < 0 or durations.max() > steps or counts.min() < 0:
        raise ShapeError(f"{OP}: input_lengths {durations.tolist()} of {steps} steps, target_lengths "
                         f"{counts.tolist()}. Use lengths of 0 or more, and no more than there are steps.")
    if not 0 <= blank < classes:
        raise IndexError(f"{OP}: blank {blank} among {classes} classes. Use 0 to {classes - 1}.")
    rows = _rows(goal, counts)
    inside = np.arange(rows.shape[1]) < counts[:, None]
    if (inside & ((rows < 0) | (rows >= classes))).any():
        raise IndexError(f"{OP}: targets from {rows[inside].min()} to {rows[inside].max()} among {classes} classes. "
                         f"Use 0 to {classes - 1}.")
    states = np.full((batch, 2 * rows.shape[1] + 1), blank)
    states[:, 1::2] = np.where(inside, rows, blank)
    return Labels(states, counts, durations)


def _rows(goal: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Labels (batch, most labels), padded."""
    most = int(counts.max())
    if goal.ndim == 1 and len(goal) >= counts.sum():
        ends = np.cumsum(counts)
        rows = np.zeros((len(counts), most), np.int64)
        for row, count, end in zip(rows, counts, ends):
            row[:count] = goal[end - count:end]
        return rows
    if goal.ndim != 2 or len(goal) != len(counts) or goal.shape[1] < most:
        raise ShapeError(f"{OP}: targets of shape {goal.shape} for target_lengths {counts.tolist()}. Give (batch, "
                         "labels), or all labels one after the other.")
    return goal[:, :most]


def _integers(what: str, given: Any) -> np.ndarray:
    """Integers on the host."""
    found = given.to_host() if isinstance(given, Tensor) else np.asarray(given)
    if found.dtype.kind not in "iu" and found.size:
        raise DTypeError(f"{OP}: {what} of {found.dtype}. Use integers.")
    return found.astype(np.int64)
