"""Losses as modules. What each computes is said at the function of its name in nn.functional."""

from typing import Any

from ..array import Tensor
from ..errors import ConfigError
from . import functional as F
from .functional.loss import check_smoothing
from .module import Module
from .parameter import Buffer


class CrossEntropyLoss(Module):
    """Cross entropy of logits (batch, classes, ...) with class indices, or with probabilities of the logits' shape.

    >>> loss = lnb.nn.CrossEntropyLoss()
    >>> round(loss(np.zeros((2, 4), np.float32), [0, 3]).item(), 4)
    1.3863
    """

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        super().__init__()
        if reduction not in F.REDUCTIONS:
            raise ConfigError(f"CrossEntropyLoss: reduction is {reduction!r}. Use 'mean', 'sum' or 'none'.")
        check_smoothing("CrossEntropyLoss", label_smoothing)
        self.register_buffer("weight", None if weight is None else Buffer(weight))
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing

    def forward(self, input: Tensor, target: Any) -> Tensor:
        """The loss."""
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)
