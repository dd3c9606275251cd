"""Losses."""

from typing import Any

from ...nn import functional as F
from ..table import operator

NONE = -100                     # no class: what is ignored where nothing is said


@operator("NegativeLogLikelihoodLoss")
def nll_loss(x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None,
             reduction: str = "mean") -> Any:
    """The negative of what each target's class has; classes are on axis 1."""
    return F.nll_loss(x, target, weight, NONE if ignore_index is None else ignore_index, reduction)


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None,
                          reduction: str = "mean") -> tuple[Any, Any]:
    """The loss of logits, and the logarithms of their softmax."""
    logs = F.log_softmax(scores, axis=1)
    return nll_loss(logs, labels, weights, ignore_index=ignore_index, reduction=reduction), logs
