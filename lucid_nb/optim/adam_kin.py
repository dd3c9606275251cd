"""Kin of Adam: NAdam, RAdam, Adamax and Lion."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ..expr import Expr, Vocabulary
from .adam import MomentOptimizer, moments
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer, next_step
from .step import Step, downhill, sign_of

MOMENTS = ("exp_avg", "exp_avg_sq")


class NAdam(MomentOptimizer):
    """Adam with Nesterov's momentum, whose weight grows towards beta1 as `momentum_decay` says.

    The momentum of step t is beta1 * (1 - 0.96**(t * momentum_decay) / 2). `weight_decay` adds weight_decay * p to the
    gradient, with `decoupled_weight_decay` it shrinks the parameters as in AdamW; `maximize` climbs.

    Source: T. Dozat, Incorporating Nesterov momentum into Adam, 2016.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.NAdam([x], lr=0.5).step()
    >>> np.round(x.detach().numpy(), 4).tolist()
    [0.4718, -1.4718]
    """

    parts, scalars = MOMENTS, ("step", "mu_product")

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: Choice = None, maximize: bool = False,
                 capturable: Choice = None, differentiable: bool = False) -> None:
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        super().check(group)
        self.refuse_negative(group, "momentum_decay")

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        step = next_step(state)
        lr, (beta1, beta2) = group["lr"], group["betas"]
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = state["mu_product"] = float(state.get("mu_product", 1.0)) * now
        numbers = (lr * (1 - now) / (1 - product), lr * then / (1 - product * then), math.sqrt(1 - beta2 ** step),
                   group["eps"], 1 - beta1, beta2, 1 - beta2, *decays(group), sign_of(group))
        return look_ahead, MOMENTS, numbers


class RAdam(MomentOptimizer):
    """Adam that takes plain steps of momentum until the variance of its divisor is known, then rectified ones.

    `weight_decay` adds weight_decay * p to the gradient, with `decoupled_weight_decay` it shrinks the parameters as in
    AdamW; `maximize` climbs.

    Source: L. Liu, H. Jiang, P. He, W. Chen, X. Liu, J. Gao, J. Han, On the variance of the adaptive learning rate and
    beyond, 2020.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.RAdam([x], lr=0.25).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.0]
    """

    parts = MOMENTS

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, decoupled_weight_decay: bool = False, *,
                 foreach: Choice = None, maximize: bool = False, capturable: Choice = None,
                 differentiable: bool = False) -> None:
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        step = next_step(state)
        beta1, beta2 = group["betas"]
        size, rectifier = group["lr"] / (1 - beta1 ** step), _rectifier(step, beta2)
        shared = (1 - beta1, beta2, 1 - beta2, *decays(group), sign_of(group))
        if rectifier is None:
            return gather, MOMENTS, (size, *shared)
        return rectify, MOMENTS, (size * rectifier * math.sqrt(1 - beta2 ** step), group["eps"], *shared)


class Adamax(MomentOptimizer):
    """Adam with the largest gradient so far, decayed, in place of the root of the mean square.

    `weight_decay` adds weight_decay * p to the gradient; `maximize` climbs.

    Source: D. Kingma, J. Ba, Adam: a method for stochastic optimization, 2015, section 7.1.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Adamax([x], lr=0.5).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.5]
    """

    parts = ("exp_avg", "exp_inf")

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, foreach: Choice = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: Choice = None) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      differentiable=differentiable))

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        step = next_step(state)
        beta1, beta2 = group["betas"]
        numbers = (group["lr"] / (1 - beta1 ** step), group["eps"], 1 - beta1, beta2, group["weight_decay"],
                   sign_of(group))
        return bound, self.parts, numbers


class Lion(RuleOptimizer):
    """Steps of one size along the sign of beta1 * mean + (1 - beta1) * g; the mean itself decays by beta2.

    `weight_decay` shrinks the parameters by the factor 1 - lr * weight_decay; `maximize` climbs. As all steps are of
    size lr, it wants a 3 to 10 times smaller lr, and a larger decay, than AdamW.

    Source: X. Chen et al., Symbolic discovery of optimization algorithms, 2023.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Lion([x], lr=0.5).step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    parts, scalars = ("exp_avg",), ()

    def __init__(self, params: Iterable[Any], lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99),
                 weight_decay: float = 0.0, *, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "weight_decay")
        self.refuse_betas(group)

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        beta1, beta2 = group["betas"]
        return follow_sign, self.parts, (group["lr"], beta1, 1 - beta1, beta2, 1 - beta2,
                                         1 - group["lr"] * group["weight_decay"], sign_of(group))


def decays(group: Group) -> tuple[float, float]:
    """The weight decay that joins the gradient, and the factor by which a decoupled one shrinks parameters."""
    decay, is_decoupled = group["weight_decay"], group.get("decoupled_weight_decay", False)
    return 0.0 if is_decoupled else decay, 1 - group["lr"] * decay if is_decoupled else 1.0


@lru_cache(64)
def _rectifier(step: int, beta2: float) -> float | None:
    """The paper's r at a step, None where the variance of the divisor is not yet known."""
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * step * beta2 ** step / (1 - beta2 ** step)
    if length <= 5:
        return None
    return math.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))


def _look_ahead(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, size: Expr, ahead: Expr, bias: Expr,
                eps: Expr, fresh1: Expr, beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr,
                sign: Expr) -> tuple[Expr, ...]:
    """NAdam: along the gradient by `size`, along its mean by `ahead`."""
    mean, square = moments(m, p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    divisor = m.sqrt(square) / bias + eps
    along = size * downhill(m, p, g, decay, sign) + ahead * mean
    return shrink * p - along / divisor, mean, square


def _gather(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, size: Expr, fresh1: Expr, beta2: Expr,
            fresh2: Expr, decay: Expr, shrink: Expr, sign: Expr) -> tuple[Expr, ...]:
    """RAdam's first steps."""
    mean, square = moments(m, p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    return shrink * p - size * mean, mean, square


def _rectify(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, size: Expr, eps: Expr, fresh1: Expr,
             beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr, sign: Expr) -> tuple[Expr, ...]:
    """RAdam's later steps; `size` holds the rectifier and the corrections for the start at zero."""
    mean, square = moments(m, p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    return shrink * p - size * (mean / (m.sqrt(square) + eps)), mean, square


def _bound(m: Vocabulary, p: Expr, g: Expr, mean: Expr, largest: Expr, size: Expr, eps: Expr, fresh1: Expr,
           beta2: Expr, decay: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Adamax."""
    g = downhill(m, p, g, decay, sign)
    mean, largest = mean + fresh1 * (g - mean), m.maximum(beta2 * largest, m.absolute(g) + eps)
    return p - size * (mean / largest), mean, largest


def _follow_sign(m: Vocabulary, p: Expr, g: Expr, mean: Expr, lr: Expr, beta1: Expr, fresh1: Expr, beta2: Expr,
                 fresh2: Expr, shrink: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Lion."""
    g = sign * g
    return shrink * p - lr * m.sign(beta1 * mean + fresh1 * g), beta2 * mean + fresh2 * g


look_ahead, gather, rectify = Step(_look_ahead, 4, 10), Step(_gather, 4, 7), Step(_rectify, 4, 8)
bound, follow_sign = Step(_bound, 4, 6), Step(_follow_sign, 3, 7)
