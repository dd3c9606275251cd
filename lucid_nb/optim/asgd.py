"""Averaged stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

from ..expr import Expr, Vocabulary
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer, next_step
from .step import Step, downhill, sign_of


class ASGD(RuleOptimizer):
    """Gradient descent at a falling rate, with the mean of the parameters after step `t0` + 1 in state["ax"].

    The rate after t steps is lr / (1 + lambd * lr * t)**alpha; each step also shrinks p by the factor 1 - lambd * rate.
    `weight_decay` adds weight_decay * p to the gradient; `maximize` climbs.

    Source: B. Polyak, A. Juditsky, Acceleration of stochastic approximation by averaging, 1992; the rate: L. Bottou,
    Large-scale machine learning with stochastic gradient descent, 2010.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> optimizer = lnb.optim.ASGD([x], lr=0.25, lambd=0.0)
    >>> optimizer.step()
    >>> x.tolist(), optimizer.state[x]["ax"].tolist()
    ([0.5, -1.0], [0.5, -1.0])
    """

    parts, scalars = ("ax",), ("step", "eta", "mu")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0.0, foreach: Choice = None, maximize: bool = False,
                 differentiable: bool = False, capturable: Choice = None) -> None:
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay,
                                      maximize=maximize, differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "lambd", "weight_decay")
        for name in ("alpha", "t0"):
            self.refuse(group, name, lambda value: value == value + 0, "a number")

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter, at the rate that the step before has left."""
        lr, lambd = group["lr"], group["lambd"]
        step = next_step(state)
        rate, share = (float(state.get(name, value)) for name, value in (("eta", float(lr)), ("mu", 1.0)))
        state["eta"], state["mu"] = lr / (1 + lambd * lr * step) ** group["alpha"], 1 / max(1.0, step - group["t0"])
        numbers = rate, 1 - lambd * rate, group["weight_decay"], sign_of(group)
        return (follow, self.parts, numbers) if share == 1 else (average, self.parts, (*numbers, share))


def _follow(m: Vocabulary, p: Expr, g: Expr, mean: Expr, rate: Expr, shrink: Expr, decay: Expr,
            sign: Expr) -> tuple[Expr, ...]:
    """Before the mean is taken: it is the parameter itself."""
    p = shrink * p - rate * downhill(m, p, g, decay, sign)
    return p, p


def _average(m: Vocabulary, p: Expr, g: Expr, mean: Expr, rate: Expr, shrink: Expr, decay: Expr, sign: Expr,
             share: Expr) -> tuple[Expr, ...]:
    """The mean moves towards the parameter by a share."""
    p, _ = _follow(m, p, g, mean, rate, shrink, decay, sign)
    return p, mean + share * (p - mean)


follow, average = Step(_follow, 3, 4), Step(_average, 3, 5)
