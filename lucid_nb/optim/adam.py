"""Adam and AdamW."""

import math
from collections.abc import Iterable
from typing import Any

from ..array import Tensor
from ..creation import zeros_like
from ..expr import Expr, Vocabulary
from .optimizer import Group, Optimizer
from .step import Step


class Adam(Optimizer):
    """Adam: steps by the mean of gradients over the root of the mean of their squares, both without start-up bias.

    `weight_decay` adds weight_decay * p to the gradient; `amsgrad` divides by the largest mean so far; `maximize`
    climbs.

    Source: D. Kingma, J. Ba, Adam: a method for stochastic optimization, 2015; amsgrad: S. Reddi, S. Kale, S. Kumar,
    On the convergence of Adam and beyond, 2018.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Adam([x], lr=0.5).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.5]
    """

    decoupled = False

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        for name in ("lr", "eps", "weight_decay"):
            self.refuse(group, name, lambda value: value >= 0, "a number of 0 or more")
        self.refuse(group, "betas", lambda betas: len(betas) == 2 and all(0 <= beta < 1 for beta in betas),
                    "two numbers of 0 or more, below 1")

    def update(self, param: Tensor, gradient: Tensor, state: dict[str, Any], group: Group) -> Tensor:
        """One step of one parameter."""
        lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        for name in names:
            if name not in state:
                state[name] = zeros_like(param)
        step = state["step"] = int(state.get("step", 0)) + 1
        numbers = (lr / (1 - beta1 ** step), math.sqrt(1 - beta2 ** step), group["eps"], 1 - beta1, beta2, 1 - beta2,
                   0.0 if self.decoupled else decay, 1 - lr * decay if self.decoupled else 1.0,
                   -1.0 if group["maximize"] else 1.0)
        run = adapt_bounded if group["amsgrad"] else adapt
        new, *moments = run((param, gradient, *(state[name] for name in names)), numbers)
        state.update(zip(names, moments))
        return new


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly, by the factor 1 - lr * weight_decay.

    Source: I. Loshchilov, F. Hutter, Decoupled weight decay regularization, 2019.

    >>> x = lnb.tensor([1.0], requires_grad=True)
    >>> x.sum().backward()
    >>> lnb.optim.AdamW([x], lr=0.5, weight_decay=0.1).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.45]
    """

    decoupled = True

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


def _moments(p: Expr, g: Expr, mean: Expr, square: Expr, fresh1: Expr, beta2: Expr, fresh2: Expr, decay: Expr,
             sign: Expr) -> tuple[Expr, Expr]:
    """The running means of the gradient and of its square."""
    g = sign * g + decay * p
    return mean + fresh1 * (g - mean), beta2 * square + fresh2 * (g * g)


def _adapt(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, size: Expr, bias: Expr, eps: Expr, fresh1: Expr,
           beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Adam; `size` and `bias` hold the corrections for the start at zero."""
    mean, square = _moments(p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    return shrink * p - size * (mean / (m.sqrt(square) / bias + eps)), mean, square


def _adapt_bounded(m: Vocabulary, p: Expr, g: Expr, mean: Expr, square: Expr, largest: Expr, size: Expr, bias: Expr,
                   eps: Expr, fresh1: Expr, beta2: Expr, fresh2: Expr, decay: Expr, shrink: Expr,
                   sign: Expr) -> tuple[Expr, ...]:
    """Adam with the largest square so far."""
    mean, square = _moments(p, g, mean, square, fresh1, beta2, fresh2, decay, sign)
    largest = m.maximum(largest, square)
    return shrink * p - size * (mean / (m.sqrt(largest) / bias + eps)), mean, square, largest


adapt, adapt_bounded = Step(_adapt, 4, 9), Step(_adapt_bounded, 5, 9)
