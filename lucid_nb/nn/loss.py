"""Losses as modules. What each computes is said at the function of its name in nn.functional."""

from collections.abc import Callable
from typing import Any, ClassVar

from ..array import Tensor
from ..errors import ConfigError, DTypeError
from . import functional as F
from .functional.classes import check_smoothing
from .module import Module
from .parameter import Buffer


class Loss(Module):
    """A loss of nn.functional whose options are the module's attributes; weights are buffers."""

    function: ClassVar[Callable]
    reductions: ClassVar[tuple[str, ...]] = F.REDUCTIONS
    inputs: ClassVar[tuple[str, ...]] = ("input", "target")

    def __init__(self, reduction: str = "mean", weights: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__()
        if reduction not in self.reductions:
            raise ConfigError(f"{type(self).__name__}: reduction is {reduction!r}. Use "
                              f"{', '.join(map(repr, self.reductions[:-1]))} or {self.reductions[-1]!r}.")
        for name, value in (weights or {}).items():
            self.register_buffer(name, None if value is None else Buffer(value))
        for name, value in options.items():
            setattr(self, name, value)
        self.reduction, self.options = reduction, (*(weights or ()), *options, "reduction")

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """The loss."""
        if named or len(inputs) != len(self.inputs):
            inputs = self._ordered(inputs, named)
        return self.function(*inputs, **{name: getattr(self, name) for name in self.options})

    def _ordered(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All inputs in their order, some of which are given by name."""
        found = dict(zip(self.inputs, inputs)) | named
        if found.keys() != set(self.inputs) or len(inputs) + len(named) != len(self.inputs):
            raise DTypeError(f"{type(self).__name__}: {len(inputs)} inputs and {list(named)} are given. Give "
                             f"{', '.join(self.inputs)}, in this order or by name.")
        return tuple([found[name] for name in self.inputs])

    def extra_repr(self) -> str:
        """The options that are numbers and words."""
        shown = [(name, getattr(self, name)) for name in self.options]
        return ", ".join(f"{name}={value!r}" for name, value in shown if isinstance(value, int | float | str))


# ------------------------------------------------------------------------------------------------ of elements
class MSELoss(Loss):
    """The squared difference.

    >>> lnb.nn.MSELoss()(lnb.tensor([1.0, 2.0]), [1, 4]).item()
    2.0
    """

    function = staticmethod(F.mse_loss)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)


class L1Loss(Loss):
    """The size of the difference."""

    function = staticmethod(F.l1_loss)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)


class HuberLoss(Loss):
    """Half the squared difference, straight from delta on."""

    function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction, delta=delta)


class SmoothL1Loss(Loss):
    """The size of the difference, a parabola below beta."""

    function = staticmethod(F.smooth_l1_loss)

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction, beta=beta)


class BCELoss(Loss):
    """Cross entropy of the probabilities of one of two classes."""

    function = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction, {"weight": weight})


class BCEWithLogitsLoss(Loss):
    """Cross entropy of the logits of one of two classes.

    >>> lnb.nn.BCEWithLogitsLoss(reduction="sum")(lnb.tensor([0.0, 1000.0]), [1, 0]).item()
    1000.6931471805599
    """

    function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction, {"weight": weight, "pos_weight": pos_weight})


class SoftMarginLoss(Loss):
    """log(1 + exp(-target x))."""

    function = staticmethod(F.soft_margin_loss)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)


class HingeEmbeddingLoss(Loss):
    """A distance where the target is 1, what it lacks to the margin where it is -1."""

    function = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction, margin=margin)


class KLDivLoss(Loss):
    """The divergence of a distribution, given by logarithms, from a target."""

    function = staticmethod(F.kl_div)
    reductions = (*F.REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction, log_target=log_target)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts under Poisson distributions."""

    function = staticmethod(F.poisson_nll_loss)
    inputs = ("log_input", "target")

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction, log_input=log_input, full=full, eps=eps)


class GaussianNLLLoss(Loss):
    """Negative log likelihood under normal distributions; called with means, targets and variances."""

    function = staticmethod(F.gaussian_nll_loss)
    inputs = ("input", "target", "var")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction, full=full, eps=eps)


# ------------------------------------------------------------------------------------------------- of classes
class CrossEntropyLoss(Loss):
    """Cross entropy of logits (batch, classes, ...) with class indices, or with probabilities of the logits' shape.

    >>> loss = lnb.nn.CrossEntropyLoss()
    >>> round(loss(np.zeros((2, 4), np.float32), [0, 3]).item(), 4)
    1.3863
    """

    function = staticmethod(F.cross_entropy)

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        check_smoothing("CrossEntropyLoss", label_smoothing)
        super().__init__(reduction, {"weight": weight}, ignore_index=ignore_index, label_smoothing=label_smoothing)


class NLLLoss(Loss):
    """The negative of logarithms of probabilities at class indices."""

    function = staticmethod(F.nll_loss)

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction, {"weight": weight}, ignore_index=ignore_index)


class NLLLoss2d(NLLLoss):
    """NLLLoss, by its former name for images."""


class MultiMarginLoss(Loss):
    """What the scores of the wrong classes lack to a margin below that of the right one."""

    function = staticmethod(F.multi_margin_loss)

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction, {"weight": weight}, p=p, margin=margin)


class MultiLabelMarginLoss(Loss):
    """What the scores of the wrong classes lack to a margin of 1 below those of the right ones."""

    function = staticmethod(F.multilabel_margin_loss)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)


class MultiLabelSoftMarginLoss(Loss):
    """The mean over the classes of the cross entropy of logits of each."""

    function = staticmethod(F.multilabel_soft_margin_loss)

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction, {"weight": weight})


# ------------------------------------------------------------------------------------------------- of vectors
class MarginRankingLoss(Loss):
    """What one input lacks to be larger than another by a margin; called with both and 1 or -1."""

    function = staticmethod(F.margin_ranking_loss)
    inputs = ("input1", "input2", "target")

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction, margin=margin)


class CosineEmbeddingLoss(Loss):
    """1 - cosine of two vectors where the target is 1, their cosine above the margin where it is -1."""

    function = staticmethod(F.cosine_embedding_loss)
    inputs = ("input1", "input2", "target")

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction, margin=margin)


class TripletMarginLoss(Loss):
    """What a negative lacks to be farther from the anchor than a positive by a margin; called with all three."""

    function = staticmethod(F.triplet_margin_loss)
    inputs = ("anchor", "positive", "negative")

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 reduction: str = "mean") -> None:
        super().__init__(reduction, margin=margin, p=p, eps=eps, swap=swap)


class TripletMarginWithDistanceLoss(Loss):
    """TripletMarginLoss with any distance."""

    function = staticmethod(F.triplet_margin_with_distance_loss)
    inputs = ("anchor", "positive", "negative")

    def __init__(self, *, distance_function: Callable | None = None, margin: float = 1.0, swap: bool = False,
                 reduction: str = "mean") -> None:
        super().__init__(reduction, distance_function=distance_function, margin=margin, swap=swap)


class CTCLoss(Loss):
    """How unlikely labels are as what a network says over time: see nn.functional.ctc_loss.

    >>> lnb.nn.CTCLoss(blank=1)
    CTCLoss(blank=1, zero_infinity=False, reduction='mean')
    """

    function = staticmethod(F.ctc_loss)
    inputs = ("log_probs", "targets", "input_lengths", "target_lengths")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction, blank=blank, zero_infinity=zero_infinity)


# -------------------------------------------------------------------------------------------------- distances
class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of differences along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
