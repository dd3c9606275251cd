"""Stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

from ..array import Tensor
from ..creation import zeros_like
from ..expr import Expr, Vocabulary
from .optimizer import Group, Optimizer
from .step import Step


class SGD(Optimizer):
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

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
                 weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        for name in ("lr", "momentum", "weight_decay"):
            self.refuse(group, name, lambda value: value >= 0, "a number of 0 or more")
        self.refuse(group, "dampening", lambda value: value == value + 0, "a number")
        self.refuse(group, "nesterov",
                    lambda value: not value or (group["momentum"] > 0 and group["dampening"] == 0),
                    "it with momentum above 0 and dampening 0")

    def update(self, param: Tensor, gradient: Tensor, state: dict[str, Any], group: Group) -> Tensor:
        """One step of one parameter."""
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        sign = -1.0 if group["maximize"] else 1.0
        if not momentum:
            return descend((param, gradient), (lr, decay, sign))[0]
        velocity = state.get("momentum_buffer")
        fresh = 1.0 if velocity is None else 1 - group["dampening"]
        step = nesterov if group["nesterov"] else roll
        before = zeros_like(param) if velocity is None else velocity
        new, state["momentum_buffer"] = step((param, gradient, before), (lr, decay, sign, momentum, fresh))
        return new


def _descend(m: Vocabulary, p: Expr, g: Expr, lr: Expr, decay: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Without momentum."""
    return (p - lr * (sign * g + decay * p),)


def _roll(m: Vocabulary, p: Expr, g: Expr, velocity: Expr, lr: Expr, decay: Expr, sign: Expr, momentum: Expr,
          fresh: Expr) -> tuple[Expr, ...]:
    """With momentum."""
    velocity = momentum * velocity + fresh * (sign * g + decay * p)
    return p - lr * velocity, velocity


def _nesterov(m: Vocabulary, p: Expr, g: Expr, velocity: Expr, lr: Expr, decay: Expr, sign: Expr, momentum: Expr,
              fresh: Expr) -> tuple[Expr, ...]:
    """With the gradient as it will be a step further."""
    g = sign * g + decay * p
    velocity = momentum * velocity + fresh * g
    return p - lr * (g + momentum * velocity), velocity


descend, roll, nesterov = Step(_descend, 2, 3), Step(_roll, 3, 5), Step(_nesterov, 3, 5)
