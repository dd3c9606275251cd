"""Losses of elements: how far a prediction is from its target. `reduction` is "mean", "sum" or "none".

A target that is a list, or integers, takes the dtype of the input. Where shapes differ they broadcast, with a warning.
"""

import math
import warnings
from typing import Any

from ... import dtypes
from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, ShapeError
from ...ops import loss_terms as terms
from ...ops.hosted import holds_anywhere

REDUCTIONS = ("mean", "sum", "none")


# ------------------------------------------------------------------------------------ what losses have in common
def check_reduction(op: str, reduction: Any) -> None:
    """Refuse words that are no reduction."""
    if reduction not in REDUCTIONS:
        raise ConfigError(f"{op}: reduction is {reduction!r}. Use 'mean', 'sum' or 'none'.")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses, their sum, or their mean."""
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()


def as_scores(input: Any) -> Tensor:
    """An input as a float tensor."""
    x = asarray(input)
    return x if dtypes.is_inexact(x.dtype) else x.astype(dtypes.to_float(x.dtype, x.device))


def beside(x: Tensor, other: Any) -> Tensor:
    """A target or a weight as a tensor; numbers, lists and integers take the dtype of x."""
    if isinstance(other, list | tuple | bool | int | float):
        return asarray(other, dtype=x.dtype, device=x.device)
    found = asarray(other)
    return found if dtypes.is_inexact(found.dtype) else found.astype(x.dtype)


def pair(op: str, input: Any, target: Any, reduction: Any) -> tuple[Tensor, Tensor]:
    """The operands of a loss of elements."""
    check_reduction(op, reduction)
    x = as_scores(input)
    goal = beside(x, target)
    if x.shape != goal.shape:
        warnings.warn(f"{op}: input {x.shape} and target {goal.shape} broadcast, every element with every other where "
                      "sizes are 1. Make the shapes equal if that is not meant.", UserWarning, stacklevel=3)
    return x, goal


def check_alike(op: str, x: Tensor, target: Tensor) -> None:
    """Refuse shapes that differ, where broadcasting is never meant."""
    if x.shape != target.shape:
        raise ShapeError(f"{op}: input {x.shape} and target {target.shape} do not fit. Make the shapes equal.")


def _weighted(op: str, losses: Tensor, weight: Any, reduction: str) -> Tensor:
    """Reduced with weights, by whose sum a mean divides."""
    if weight is None:
        return reduced(losses, reduction)
    factor = beside(losses, weight)
    if factor.shape != losses.shape:
        raise ShapeError(f"{op}: weight {factor.shape} for losses {losses.shape}. Make the shapes equal.")
    found = losses * factor
    if reduction == "none":
        return found
    total = found.sum()
    return total / factor.sum() if reduction == "mean" else total


# ------------------------------------------------------------------------------------------------ differences
def mse_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared difference. With weights, in the shape of the input, the mean divides by their sum.

    >>> lnb.nn.functional.mse_loss([1.0, 2.0], [1.0, 4.0]).item()
    2.0
    """
    return _weighted("mse_loss", terms.squared_error(*pair("mse_loss", input, target, reduction)), weight, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The size of the difference. With weights, in the shape of the input, the mean divides by their sum.

    >>> lnb.nn.functional.l1_loss([1.0, 2.0], [1.0, 4.0]).item()
    1.0
    """
    return _weighted("l1_loss", terms.absolute_error(*pair("l1_loss", input, target, reduction)), weight, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the squared difference d, from |d| = delta on the straight line delta (|d| - delta / 2).

    ConfigError unless delta is above 0. Source: P. Huber, Robust estimation of a location parameter, 1964.

    >>> lnb.nn.functional.huber_loss([1.0, 5.0], [0.0, 0.0], reduction="none")
    tensor([0.5, 4.5])
    """
    if not delta > 0:
        raise ConfigError(f"huber_loss: delta is {delta}. Use a number above 0.")
    losses = terms.huber_error(*pair("huber_loss", input, target, reduction), delta)
    return _weighted("huber_loss", losses, weight, reduction)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The size of the difference less beta / 2, below beta the parabola d**2 / (2 beta); l1_loss where beta is 0.

    ConfigError for a negative beta. Source: R. Girshick, Fast R-CNN, arXiv:1504.08083.

    >>> lnb.nn.functional.smooth_l1_loss([1.0, 5.0], [0.0, 0.0], reduction="none", beta=2.0)
    tensor([0.25, 4.  ])
    """
    if not beta >= 0:
        raise ConfigError(f"smooth_l1_loss: beta is {beta}. Use a number that is not negative.")
    return reduced(terms.smooth_absolute_error(*pair("smooth_l1_loss", input, target, reduction), beta), reduction)


# ------------------------------------------------------------------------------------------------ two classes
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """-target log(p) - (1 - target) log(1 - p) of probabilities p, times the weight; logarithms stop at -100.

    Shapes must be equal; NaN where p is no probability. Of logits use binary_cross_entropy_with_logits.

    >>> round(lnb.nn.functional.binary_cross_entropy([0.5, 1.0], [1, 1]).item(), 4)
    0.3466
    """
    check_reduction("binary_cross_entropy", reduction)
    p = as_scores(input)
    goal = beside(p, target)
    check_alike("binary_cross_entropy", p, goal)
    losses = terms.bernoulli_loss(p, goal)
    return reduced(losses if weight is None else losses * beside(losses, weight), reduction)


def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, reduction: str = "mean",
                                     pos_weight: Any = None) -> Tensor:
    """binary_cross_entropy of sigmoid(input), exact for logits of any size, times the weight.

    `pos_weight`, which broadcasts, multiplies the part of target alone. The shapes of input and target must be equal.

    >>> lnb.nn.functional.binary_cross_entropy_with_logits([0.0, 1000.0], [1, 0], reduction="sum").item()
    1000.6931471805599
    """
    check_reduction("binary_cross_entropy_with_logits", reduction)
    x = as_scores(input)
    goal = beside(x, target)
    check_alike("binary_cross_entropy_with_logits", x, goal)
    losses = (terms.logistic_loss(x, goal) if pos_weight is None else
              terms.weighted_logistic_loss(x, goal, beside(x, pos_weight)))
    return reduced(losses if weight is None else losses * beside(losses, weight), reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target x)) for targets 1 and -1, without overflow.

    >>> lnb.nn.functional.soft_margin_loss([0.0, -1000.0], [1, 1], "sum").item()
    1000.6931471805599
    """
    return reduced(terms.soft_margin_term(*pair("soft_margin_loss", input, target, reduction)), reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1; x is mostly a distance.

    >>> lnb.nn.functional.hinge_embedding_loss([0.25, 0.25], [1, -1], reduction="none")
    tensor([0.25, 0.75])
    """
    return reduced(terms.hinge_term(*pair("hinge_embedding_loss", input, target, reduction), margin), reduction)


# ---------------------------------------------------------------------------------------------- distributions
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log(target) - input), of logarithms `input`, and with log_target of logarithms `target` too.

    The sum over the classes is the divergence of S. Kullback and R. Leibler, 1951; reduction="batchmean" divides it by
    the first size, "mean" by the number of elements. Where the target is 0 the loss is 0.

    >>> round(lnb.nn.functional.kl_div(lnb.log([[0.5, 0.5]]), [[0.25, 0.75]], "batchmean").item(), 4)
    0.1308
    """
    is_batch = reduction == "batchmean"
    x, goal = pair("kl_div", input, target, "sum" if is_batch else reduction)
    losses = (terms.log_divergence_term if log_target else terms.divergence_term)(x, goal)
    return losses.sum() / float(x.shape[0] if x.ndim else 1) if is_batch else reduced(losses, reduction)


def poisson_nll_loss(input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                     reduction: str = "mean") -> Tensor:
    """exp(x) - target x of the logarithm x of a mean; without log_input x - target log(x + eps) of a mean.

    `full` adds Stirling's formula for log(target!) where the target is above 1.

    >>> lnb.nn.functional.poisson_nll_loss([0.0, 0.0], [2.0, 5.0]).item()
    1.0
    """
    x, goal = pair("poisson_nll_loss", input, target, reduction)
    losses = terms.poisson_log_loss(x, goal) if log_input else terms.poisson_loss(x, goal, eps)
    return reduced(losses + terms.stirling_term(goal) if full else losses, reduction)


def gaussian_nll_loss(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2: means `input`, variances `var`, which are raised to eps.

    `var`: a number, in the shape of the input, with one size 1 instead, or without the last axis. `full` adds
    log(2 pi) / 2. The gradient of a variance below eps is that at eps. ConfigError for negative variances.

    Source: D. Nix, A. Weigend, Estimating the mean and variance of the target probability distribution, 1994.

    >>> lnb.nn.functional.gaussian_nll_loss([0.0, 2.0], [0.0, 0.0], 1.0).item()
    1.0
    """
    x, goal = pair("gaussian_nll_loss", input, target, reduction)
    if not eps > 0:
        raise ConfigError(f"gaussian_nll_loss: eps is {eps}. Use a number above 0.")
    losses = terms.gaussian_loss(x, goal, _variance(x, beside(x, var)), eps)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _variance(x: Tensor, variance: Tensor) -> Tensor:
    """Variances in a shape that broadcasts with the input."""
    if holds_anywhere(variance < 0):
        raise ConfigError("gaussian_nll_loss: var has a negative number. Give variances, say exp of a prediction.")
    if variance.shape in ((), x.shape):
        return variance
    if variance.shape == x.shape[:-1]:
        return variance.reshape((*variance.shape, 1))
    differing = [(m, n) for m, n in zip(x.shape, variance.shape) if m != n]
    if variance.ndim != x.ndim or len(differing) != 1 or differing[0][1] != 1:
        raise ShapeError(f"gaussian_nll_loss: var {variance.shape} for an input {x.shape}. Give its shape, one size of "
                         "it 1, or leave the last axis out.")
    return variance
