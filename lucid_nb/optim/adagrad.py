"""Steps divided by the size of gradients so far: Adagrad, Adadelta, RMSprop."""

from collections.abc import Iterable
from typing import Any

from ..expr import Expr, Vocabulary
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer, next_step
from .step import Step, downhill, sign_of


class Adagrad(RuleOptimizer):
    """Steps of g over the root of the sum of all squares of g so far, which starts at `initial_accumulator_value`.

    At step t the rate is lr / (1 + (t - 1) * lr_decay). `weight_decay` adds weight_decay * p to g; `maximize` climbs.

    Source: J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods for online learning and stochastic optimization,
    2011.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Adagrad([x], lr=0.5).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.5]
    """

    parts = ("sum",)

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, foreach: Choice = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: Choice = None) -> None:
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, maximize=maximize,
            initial_accumulator_value=initial_accumulator_value, differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def initial(self, name: str, group: Group) -> float:
        """What the sum of squares starts with."""
        return group["initial_accumulator_value"]

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        step = next_step(state)
        return add_squares, self.parts, (group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"],
                                         group["weight_decay"], sign_of(group))


class Adadelta(RuleOptimizer):
    """Steps in the parameters' own unit: g times the root of the mean square of steps over that of gradients.

    Both means decay by `rho`. `weight_decay` adds weight_decay * p to g; `maximize` climbs.

    Source: M. Zeiler, ADADELTA: an adaptive learning rate method, 2012.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Adadelta([x]).step()
    >>> np.round(x.detach().numpy(), 5).tolist()
    [0.99684, -1.99684]
    """

    parts = ("square_avg", "acc_delta")

    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0.0, foreach: Choice = None, *, capturable: Choice = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "eps", "weight_decay")
        self.refuse(group, "rho", lambda value: 0 <= value <= 1, "a number from 0 to 1")

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        next_step(state)
        rho = group["rho"]
        return match_units, self.parts, (group["lr"], group["eps"], rho, 1 - rho, group["weight_decay"], sign_of(group))


class RMSprop(RuleOptimizer):
    """Steps of g over the root of a running mean of its squares, which decays by `alpha`.

    `centered` divides by the root of the running variance instead; `momentum` rolls on, v = momentum * v + step;
    `weight_decay` adds weight_decay * p to g; `maximize` climbs. `eps` is added to the root, as in PyTorch.

    Source: G. Hinton, Neural networks for machine learning, lecture 6, 2012; centered: A. Graves, Generating sequences
    with recurrent neural networks, 2013.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.RMSprop([x], lr=0.05).step()
    >>> np.round(x.detach().numpy(), 6).tolist()
    [0.5, -1.5]
    """

    parts = ("square_avg", "grad_avg", "momentum_buffer")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, capturable: Choice = None,
                 foreach: Choice = None, maximize: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, dict(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                                      centered=centered, maximize=maximize, differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr", "eps", "weight_decay", "momentum", "alpha")

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        next_step(state)
        alpha, momentum = group["alpha"], group["momentum"]
        numbers = (group["lr"], group["eps"], alpha, 1 - alpha, group["weight_decay"], sign_of(group))
        names = ("square_avg", *("grad_avg",) * bool(group["centered"]), *("momentum_buffer",) * bool(momentum))
        if group["centered"]:
            return (roll_centered, names, (*numbers, momentum)) if momentum else (center, names, numbers)
        return (roll_scaled, names, (*numbers, momentum)) if momentum else (scale, names, numbers)


def _add_squares(m: Vocabulary, p: Expr, g: Expr, total: Expr, lr: Expr, eps: Expr, decay: Expr,
                 sign: Expr) -> tuple[Expr, ...]:
    """Adagrad."""
    g = downhill(m, p, g, decay, sign)
    total = total + g * g
    return p - lr * (g / (m.sqrt(total) + eps)), total


def _match_units(m: Vocabulary, p: Expr, g: Expr, square: Expr, moved: Expr, lr: Expr, eps: Expr, rho: Expr,
                 fresh: Expr, decay: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Adadelta."""
    g = downhill(m, p, g, decay, sign)
    square = rho * square + fresh * (g * g)
    step = m.sqrt(moved + eps) / m.sqrt(square + eps) * g
    return p - lr * step, square, rho * moved + fresh * (step * step)


def _scale(m: Vocabulary, p: Expr, g: Expr, square: Expr, lr: Expr, eps: Expr, alpha: Expr, fresh: Expr, decay: Expr,
           sign: Expr) -> tuple[Expr, ...]:
    """RMSprop."""
    g = downhill(m, p, g, decay, sign)
    square = alpha * square + fresh * (g * g)
    return p - lr * (g / (m.sqrt(square) + eps)), square


def _center(m: Vocabulary, p: Expr, g: Expr, square: Expr, mean: Expr, lr: Expr, eps: Expr, alpha: Expr, fresh: Expr,
            decay: Expr, sign: Expr) -> tuple[Expr, ...]:
    """RMSprop with the variance."""
    g = downhill(m, p, g, decay, sign)
    square, mean = alpha * square + fresh * (g * g), mean + fresh * (g - mean)
    return p - lr * (g / (m.sqrt(square - mean * mean) + eps)), square, mean


def _roll_scaled(m: Vocabulary, p: Expr, g: Expr, square: Expr, velocity: Expr, lr: Expr, eps: Expr, alpha: Expr,
                 fresh: Expr, decay: Expr, sign: Expr, momentum: Expr) -> tuple[Expr, ...]:
    """RMSprop with momentum."""
    g = downhill(m, p, g, decay, sign)
    square = alpha * square + fresh * (g * g)
    velocity = momentum * velocity + g / (m.sqrt(square) + eps)
    return p - lr * velocity, square, velocity


def _roll_centered(m: Vocabulary, p: Expr, g: Expr, square: Expr, mean: Expr, velocity: Expr, lr: Expr, eps: Expr,
                   alpha: Expr, fresh: Expr, decay: Expr, sign: Expr, momentum: Expr) -> tuple[Expr, ...]:
    """RMSprop with the variance and momentum."""
    g = downhill(m, p, g, decay, sign)
    square, mean = alpha * square + fresh * (g * g), mean + fresh * (g - mean)
    velocity = momentum * velocity + g / (m.sqrt(square - mean * mean) + eps)
    return p - lr * velocity, square, mean, velocity


add_squares, match_units = Step(_add_squares, 3, 4), Step(_match_units, 4, 6)
scale, center = Step(_scale, 3, 6), Step(_center, 4, 6)
roll_scaled, roll_centered = Step(_roll_scaled, 4, 7), Step(_roll_centered, 5, 7)
