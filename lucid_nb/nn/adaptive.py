"""Classes by the thousand, most of them rare: a softmax in clusters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, IndexError, ShapeError
from ..ops.gathering import take_along_axis
from ..ops.movement import concat
from ..ops.positions import host_positions
from ..ops.reduction import argmax
from ..shapes import as_integer
from . import functional as F
from .container import ModuleList, Sequential, listed
from .linear import Linear
from .module import Module


class AdaptiveOutput(NamedTuple):
    """The logarithm of the probability of each target, and the loss: minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes that are sorted by how frequent they are, and the loss of targets.

    `cutoffs`, rising numbers of classes below n_classes, part the classes: those below the first have their scores in
    the head, which also has one score for each cluster of the others; a cluster's own scores come from a projection to
    in_features / div_value**(1 + its number) features. Source: E. Grave et al., Efficient softmax approximation for
    GPUs, arXiv:1609.04309.

    >>> layer = lnb.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2)
    >>> x = np.ones((3, 8), np.float32)
    >>> layer(x, [0, 5, 19]).output.shape, layer.log_prob(x).shape, layer.predict(x).shape
    ((3,), (3, 20), (3,))
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        given = listed("AdaptiveLogSoftmaxWithLoss", cutoffs)
        ends = [as_integer("AdaptiveLogSoftmaxWithLoss", "a cutoff", cutoff) for cutoff in given]
        if not ends or ends != sorted(set(ends)) or ends[0] < 1 or ends[-1] >= n_classes:
            raise ConfigError(f"AdaptiveLogSoftmaxWithLoss: cutoffs {given} of {n_classes} classes. Use rising "
                              f"numbers from 1 to {n_classes - 1}.")
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value, self.head_bias = [*ends, n_classes], div_value, head_bias
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = dict(device=device, dtype=dtype)
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList([Sequential(
            Linear(in_features, int(in_features // div_value ** (number + 1)), bias=False, **made),
            Linear(int(in_features // div_value ** (number + 1)), end - start, bias=False, **made))
            for number, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:]))])

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input: Any, target: Any) -> AdaptiveOutput:
        """Of input (batch, in_features) and classes (batch,), or of one without a batch: the log probability of each
        class, and minus their mean. IndexError for a target that is no class."""
        x, classes = self._batched(input), host_positions("AdaptiveLogSoftmaxWithLoss", target)
        is_single = classes.ndim == 0
        classes = classes.reshape(-1) if is_single else classes
        if classes.shape != x.shape[:1] or is_single != (asarray(input).ndim == 1):
            raise ShapeError(f"AdaptiveLogSoftmaxWithLoss: target of shape {np.shape(target)} for an input of shape "
                             f"{asarray(input).shape}. Give one class for each example.")
        self._check_classes(classes)
        cluster = np.searchsorted(self.cutoffs, classes, side="right")           # 0: in the head
        places = np.where(cluster == 0, classes, self.shortlist_size + cluster - 1)
        found = _picked(F.log_softmax(self.head(x), 1), places)
        parts, rows = [found[np.flatnonzero(cluster == 0)]], [np.flatnonzero(cluster == 0)]
        for number, layer in enumerate(self.tail, 1):
            here = np.flatnonzero(cluster == number)
            if here.size:
                own = _picked(F.log_softmax(layer(x[here]), 1), classes[here] - self.cutoffs[number - 1])
                parts.append(found[here] + own)
                rows.append(here)
        output = concat(parts)[np.argsort(np.concatenate(rows))]
        return AdaptiveOutput(output[0] if is_single else output, -output.mean())

    def _check_classes(self, classes: np.ndarray) -> None:
        wrong = classes[(classes < 0) | (classes >= self.n_classes)]
        if wrong.size:
            raise IndexError(f"AdaptiveLogSoftmaxWithLoss: target {int(wrong[0])} of {self.n_classes} classes. Use 0 "
                             f"to {self.n_classes - 1}.")

    def _batched(self, input: Any) -> Tensor:
        """The input with a batch."""
        x = asarray(input)
        if x.ndim not in (1, 2) or x.shape[-1] != self.in_features:
            raise ShapeError(f"AdaptiveLogSoftmaxWithLoss: an input of shape {x.shape}. Give (batch, "
                             f"{self.in_features}) or ({self.in_features},).")
        return x.reshape(-1, self.in_features)

    def log_prob(self, input: Any) -> Tensor:
        """The log probabilities of all classes: (batch, n_classes)."""
        x = self._batched(input)
        head = F.log_softmax(self.head(x), 1)
        tails = [F.log_softmax(layer(x), 1) + head[:, self.shortlist_size + number, None]
                 for number, layer in enumerate(self.tail)]
        return concat([head[:, :self.shortlist_size], *tails], 1)

    def predict(self, input: Any) -> Tensor:
        """The most probable class of each example: (batch,)."""
        return argmax(self.log_prob(input), axis=1)


def _picked(scores: Tensor, places: np.ndarray) -> Tensor:
    """One element of each row."""
    chosen = asarray(places.reshape(-1, 1), device=scores.device)
    return take_along_axis(scores, chosen, 1).reshape(-1)
