"""Adam and AdamW."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ..expr import Expr, Vocabulary
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer, next_step
from .step import Step, downhill, sign_of


class MomentOptimizer(RuleOptimizer):
    """Base of Adam and its kin, which have the settings lr, betas, eps and weight_decay."""

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "eps", "weight_decay")
        self.refuse_betas(group)


class Adam(MomentOptimizer):
    """Adam: steps by the mean of gradients over the root of the mean of their squares, both without start-up bias.

    `weight_decay` adds weight_decay * p to the gradient, with `decoupled_weight_decay` it works as in AdamW; `amsgrad`
    divides by the largest mean so far; `maximize` climbs.

    Source: D. Kingma, J. Ba, Adam: a method for stochastic optimization, 2015; amsgrad: S. Reddi, S. Kale, S. Kumar,
    On the convergence of Adam and beyond, 2018.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Adam([x], lr=0.5).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.5]
    """

    parts = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *, foreach: Choice = None,
                 maximize: bool = False, capturable: Choice = None, differentiable: bool = False, fused: Choice = None,
                 decoupled_weight_decay: bool = False) -> None:
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay))

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        step = next_step(state)
        numbers = _numbers(step, group["lr"], *group["betas"], group["eps"], group["weight_decay"],
                           group.get("decoupled_weight_decay", False), sign_of(group))
        if group["amsgrad"]:
            return adapt_bounded, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), numbers
        return adapt, ("exp_avg", "exp_avg_sq"), numbers


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly, by the factor 1 - lr * weight_decay.

    Source: I. Loshchilov, F. Hutter, Decoupled weight decay regularization, 2019.

    >>> x = lnb.tensor([1.0], requires_grad=True)
    >>> x.sum().backward()
    >>> lnb.optim.AdamW([x], lr=0.5, weight_decay=0.1).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.45]
    """

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: Choice = None, capturable: Choice = None, differentiable: bool = False,
                 fused: Choice = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize,
                         differentiable=differentiable, decoupled_weight_decay=True)


@lru_cache(64)
def _numbers(step: int, lr: float, beta1: float, beta2: float, eps: float, decay: float, is_decoupled: bool,
             sign: float) -> tuple[float, ...]:
    """What the formulas below take, for all parameters at the same step."""
    return (lr / (1 - beta1 ** step), math.sqrt(1 - beta2 ** step), eps, 1 - beta1, beta2, 1 - beta2,
            0.0 if is_decoupled else decay, 1 - lr * decay if is_decoupled else 1.0, sign)


def moments(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, fresh1: Expr, beta2: Expr, fresh2: Expr,
             decay: Expr, sign: Expr) -> tuple[Expr, Expr]:
    """The running means of the gradient and of its square."""
    g = downhill(m, p, g, decay, sign)
    return mean + fresh1 * (g - mean), beta2 * square + fresh2 * (g * g)


def _adapt(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, size: Expr, bias: Expr, eps: Expr, fresh1: Expr,
           beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Adam; `size` and `bias` hold the corrections for the start at zero."""
    mean, square = moments(m, p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    return shrink * p - size * (mean / (m.sqrt(square) / bias + eps)), mean, square


def _adapt_bounded(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, largest: Expr, size: Expr, bias: Expr,
                   eps: Expr, fresh1: Expr, beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr,
                   sign: Expr) -> tuple[Expr, ...]:
    """Adam with the largest square so far."""
    mean, square = moments(m, p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    largest = m.maximum(largest, square)
    return shrink * p - size * (mean / (m.sqrt(largest) / bias + eps)), mean, square, largest


adapt, adapt_bounded = Step(_adapt, 4, 9), Step(_adapt_bounded, 5, 9)
