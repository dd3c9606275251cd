"""Distances and similarities of vectors, and losses of pairs and triples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Tensor
from ...creation import zeros
from ...errors import ConfigError, ShapeError
from ...ops import loss_terms as terms
from ...ops.extremes import maximum, minimum
from ...ops.joining import broadcast_arrays
from ...ops.vector_norm import vector_norm
from ...shapes import as_number
from .activation import one_axis
from .loss import as_scores, beside, check_reduction, reduced

LEAST_SQUARE = 1e-12       # what PyTorch adds to squared lengths in cosine_embedding_loss


def cosine_similarity(x1: Any, x2: Any, dim: int | None = None, eps: float = 1e-8, *,
                      axis: int | None = None) -> Tensor:
    """The cosine of the angle between vectors along an axis, the second by default; lengths are not below eps.

    Inputs are broadcast first: the axis is one of the common shape, and a vector of 1 has its length there.

    >>> lnb.nn.functional.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])
    tensor([0.96])
    """
    along = 1 if dim is None and axis is None else one_axis("cosine_similarity", dim, axis)
    a = as_scores(x1)
    a, b = broadcast_arrays(a, beside(a, x2))
    if not a.ndim:                                       # one number is a vector of one
        a, b = a.reshape(1), b.reshape(1)
    units = [x / maximum(vector_norm(x, axis=along, keepdims=True), eps) for x in (a, b)]
    return (units[0] * units[1]).sum(along)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> round(lnb.nn.functional.pairwise_distance([[0.0, 0.0]], [[3.0, 4.0]]).item(), 4)
    5.0
    """
    a = as_scores(x1)
    return vector_norm(a - beside(a, x2) + eps, axis=-1, keepdims=keepdim, ord=p)


def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows of (rows, size): row 0 with 1, 2, ..., then 1 with 2, ...

    p is 0 (how many elements differ) or more. Where two rows are equal the gradient is 0.

    >>> lnb.nn.functional.pdist([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]).round(4)
    tensor([5.    , 1.    , 4.2426])
    """
    x, order = as_scores(input), as_number("pdist", "p", p)
    if x.ndim != 2:
        raise ShapeError(f"pdist: an input of shape {x.shape}. Give (rows, size).")
    if not order >= 0:
        raise ConfigError(f"pdist: p is {p}. Use a number that is not negative.")
    first, second = np.triu_indices(len(x), 1)
    if not x.size or not len(first):
        return x.sum() * 0 + zeros(len(first), dtype=x.dtype, device=x.device)
    return vector_norm(x[first] - x[second], axis=-1, ord=order)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, margin - target (input1 - input2)): target is 1 where input1 should be larger, -1 where input2 should.

    >>> lnb.nn.functional.margin_ranking_loss([1.0, 1.0], [3.0, 3.0], [1, -1]).item()
    1.0
    """
    check_reduction("margin_ranking_loss", reduction)
    a = as_scores(input1)
    b, goal = beside(a, input2), beside(a, target)
    if not a.ndim == b.ndim == goal.ndim:
        raise ShapeError(f"margin_ranking_loss: inputs {a.shape} and {b.shape}, target {goal.shape}. Give as many axes "
                         "of each.")
    return reduced(terms.ranking_term(a, b, goal, margin), reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:
    """1 - cosine of two vectors where target is 1, max(0, cosine - margin) where it is -1.

    Inputs: (batch, size) and target (batch,), or (size,) and a number.

    >>> lnb.nn.functional.cosine_embedding_loss([[1.0, 0.0]], [[0.0, 1.0]], [1]).item()
    1.0
    """
    check_reduction("cosine_embedding_loss", reduction)
    a = as_scores(input1)
    b, goal = beside(a, input2), beside(a, target)
    if a.shape != b.shape or a.ndim not in (1, 2) or goal.shape != a.shape[:-1]:
        raise ShapeError(f"cosine_embedding_loss: inputs {a.shape} and {b.shape}, target {goal.shape}. Give "
                         "(batch, size) twice and (batch,), or (size,) twice and a number.")
    squares = [(x * x).sum(-1) + LEAST_SQUARE for x in (a, b)]
    cosine = (a * b).sum(-1) / (squares[0] * squares[1]).sqrt()
    return reduced(terms.cosine_term(cosine, goal, margin), reduction)


def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)) with pairwise_distance of order p.

    `swap`: the negative's distance to the positive counts where it is smaller (V. Balntas et al., Learning shallow
    convolutional feature descriptors with triplet losses, 2016). ConfigError unless the margin is above 0.

    >>> round(lnb.nn.functional.triplet_margin_loss([[0.0]], [[2.0]], [[1.5]]).item(), 4)
    1.5
    """
    def distance(x: Any, y: Any) -> Tensor:
        return pairwise_distance(x, y, p, eps)
    return _triplet("triplet_margin_loss", (anchor, positive, negative), distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """triplet_margin_loss with any distance, pairwise_distance by default.

    >>> F = lnb.nn.functional
    >>> F.triplet_margin_with_distance_loss([[0.0]], [[2.0]], [[1.5]],
    ...                                     distance_function=lambda x, y: abs(x - y).sum(-1)).item()
    1.5
    """
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet("triplet_margin_with_distance_loss", (anchor, positive, negative), distance, margin, swap,
                    reduction)


def _triplet(op: str, inputs: tuple[Any, Any, Any], distance: Callable, margin: float, swap: bool,
             reduction: str) -> Tensor:
    check_reduction(op, reduction)
    if not margin > 0:
        raise ConfigError(f"{op}: margin is {margin}. Use a number above 0.")
    anchor = as_scores(inputs[0])
    positive, negative = beside(anchor, inputs[1]), beside(anchor, inputs[2])
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(f"{op}: anchor {anchor.shape}, positive {positive.shape} and negative {negative.shape}. Give "
                         "as many axes of each.")
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = minimum(far, distance(positive, negative)) if swap else far
    return reduced(terms.margin_term(near - far, margin), reduction)
