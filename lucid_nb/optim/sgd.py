"""Stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

from ..expr import Expr, Vocabulary
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer
from .step import Step, downhill, sign_of


class SGD(RuleOptimizer):
    """Stochastic gradient descent with momentum: v = momentum * v + (1 - dampening) * g, then p -= lr * v.

    The first v is g itself. `weight_decay` adds weight_decay * p to g; `nesterov` steps along g + momentum * v;
    `maximize` climbs.

    Source: I. Sutskever, J. Martens, G. Dahl, G. Hinton, On the importance of initialization and momentum in deep
    learning, 2013, with PyTorch's placement of lr.

    >>> x = lnb.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.SGD([x], lr=0.25).step()
    >>> x.tolist()
    [0.5, 1.0]
    """

    parts = ("momentum_buffer",)

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
                 weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: Choice = None, differentiable: bool = False, fused: Choice = None) -> None:
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "momentum", "weight_decay")
        self.refuse(group, "dampening", lambda value: value == value + 0, "a number")
        self.refuse(group, "nesterov",
                    lambda value: not value or (group["momentum"] > 0 and group["dampening"] == 0),
                    "it with momentum above 0 and dampening 0")

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        momentum = group["momentum"]
        numbers = (group["lr"], group["weight_decay"], sign_of(group))
        if not momentum:
            return descend, (), numbers
        fresh = 1.0 if state.get("momentum_buffer") is None else 1 - group["dampening"]
        return nesterov if group["nesterov"] else roll, ("momentum_buffer",), (*numbers, momentum, fresh)


def _descend(m: Vocabulary, p: Expr, g: Expr, lr: Expr, decay: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Without momentum."""
    return (p - lr * downhill(m, p, g, decay, sign),)


def _roll(m: Vocabulary, p: Expr, g: Expr, velocity: Expr, lr: Expr, decay: Expr, sign: Expr, momentum: Expr,
          fresh: Expr) -> tuple[Expr, ...]:
    """With momentum."""
    velocity = momentum * velocity + fresh * downhill(m, p, g, decay, sign)
    return p - lr * velocity, velocity


def _nesterov(m: Vocabulary, p: Expr, g: Expr, velocity: Expr, lr: Expr, decay: Expr, sign: Expr, momentum: Expr,
              fresh: Expr) -> tuple[Expr, ...]:
    """With the gradient as it will be a step further."""
    g = downhill(m, p, g, decay, sign)
    velocity = momentum * velocity + fresh * g
    return p - lr * (g + momentum * velocity), velocity


descend, roll, nesterov = Step(_descend, 2, 3), Step(_roll, 3, 5), Step(_nesterov, 3, 5)
