"""Resilient backpropagation."""

from collections.abc import Iterable
from typing import Any

from ..expr import Expr, Vocabulary
from .optimizer import Choice, Group
from .rule import Rule, RuleOptimizer, next_step
from .step import Step, sign_of


class Rprop(RuleOptimizer):
    """Steps against the sign of the gradient, each element by a size of its own that starts at `lr`.

    Where the sign stays the size grows by etas[1], where it changes the size shrinks by etas[0] and the element waits a
    step; sizes stay within `step_sizes`. `maximize` climbs. For whole data sets: batches change signs by chance.

    Source: M. Riedmiller, H. Braun, A direct adaptive method for faster backpropagation learning: the RPROP algorithm,
    1993; without stepping back: C. Igel, M. Huesken, Improving the Rprop learning algorithm, 2000 (iRprop-).

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> lnb.optim.Rprop([x], lr=0.5).step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    parts = ("prev", "step_size")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50.0), *, capturable: Choice = None, foreach: Choice = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize,
                                      differentiable=differentiable))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""
        self.refuse_negative(group, "lr")
        self.refuse(group, "etas", lambda etas: len(etas) == 2 and 0 < etas[0] < 1 < etas[1],
                    "two numbers, between 0 and 1 and above 1")
        self.refuse(group, "step_sizes", lambda sizes: len(sizes) == 2 and 0 <= sizes[0] <= sizes[1],
                    "the smallest and the largest size")

    def initial(self, name: str, group: Group) -> float:
        """The first size of steps."""
        return group["lr"] if name == "step_size" else 0.0

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The next step of one parameter."""
        next_step(state)
        return resile, self.parts, (*group["etas"], *group["step_sizes"], sign_of(group))


def _resile(m: Vocabulary, p: Expr, g: Expr, before: Expr, size: Expr, less: Expr, more: Expr, smallest: Expr,
            largest: Expr, sign: Expr) -> tuple[Expr, ...]:
    """Rprop; the gradient counts as 0 where its sign has changed."""
    g = sign * g
    agreement = m.sign(g) * m.sign(before)          # not the sign of the product, which may underflow
    size = m.clip(size * m.where(agreement > 0, more, m.where(agreement < 0, less, 1)), smallest, largest)
    g = m.where(agreement < 0, 0, g)
    return p - m.sign(g) * size, g, size


resile = Step(_resile, 4, 5)
