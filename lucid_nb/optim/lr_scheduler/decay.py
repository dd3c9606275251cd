"""Schedules that multiply the rates by factors."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Group, Optimizer, refuse
from .base import LRScheduler, refuse_count, spread

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch, `lr_lambda`, or times one of each group's.

    `LambdaLR(lr_lambda, optimizer)` is read too.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> lnb.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1)).get_last_lr()
    [0.5]
    """

    functions = ("lr_lambdas",)

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1,
                 verbose: bool = False) -> None:
        if isinstance(lr_lambda, Optimizer):
            optimizer, lr_lambda = lr_lambda, optimizer
        self.lr_lambdas = _factors(type(self).__name__, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """The first rate times the function's value."""
        return base * self._factor(group)

    def _factor(self, group: Group) -> float:
        place = next(k for k, other in enumerate(self.optimizer.param_groups) if other is group)
        return self.lr_lambdas[place](self.last_epoch)


class MultiplicativeLR(LambdaLR):
    """The rate of the epoch before times a function of the epoch, `lr_lambda`, or times one of each group's.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate times the function's value."""
        return group["lr"] if self._is_initial else group["lr"] * self._factor(group)


class StepLR(LRScheduler):
    """Multiplies the rates by `gamma` every `step_size` epochs.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        refuse_count("StepLR", "step_size", step_size)
        _refuse_factor("StepLR", "gamma", gamma)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate, multiplied where it is time."""
        is_time = self.last_epoch and self.last_epoch % self.step_size == 0
        return group["lr"] * self.gamma if is_time else group["lr"]

    def lr_at(self, base: float) -> float:
        """base * gamma**(epoch // step_size)."""
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies the rates by `gamma` at each of the epochs `milestones`; twice where one is given twice.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        refuse("MultiStepLR", "milestones", milestones, lambda epochs: sorted(epochs) is not None, "a list of epochs")
        _refuse_factor("MultiStepLR", "gamma", gamma)
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate, multiplied where it is time."""
        return group["lr"] * self.gamma ** self.milestones[self.last_epoch]

    def lr_at(self, base: float) -> float:
        """base * gamma**(milestones passed)."""
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(LRScheduler):
    """The rates times `factor` for the first `total_iters` epochs.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> lnb.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2).get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        refuse("ConstantLR", "factor", factor, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        refuse_count("ConstantLR", "total_iters", total_iters, 0)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate, times factor in the beginning and divided by it in the end."""
        if self.last_epoch == 0:
            return group["lr"] * self.factor
        if self.last_epoch != self.total_iters:
            return group["lr"]
        return group["lr"] * (1 / self.factor) if self.factor else base

    def lr_at(self, base: float) -> float:
        """base * factor, then base."""
        return base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor))


class LinearLR(LRScheduler):
    """The rates times a factor that goes from `start_factor` to `end_factor` within `total_iters` epochs.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=4)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.3125]
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:
        refuse("LinearLR", "start_factor", start_factor, lambda value: 0 < value <= 1, "a number above 0, up to 1")
        refuse("LinearLR", "end_factor", end_factor, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        refuse_count("LinearLR", "total_iters", total_iters, 0)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate times the ratio of this epoch's factor to the last one's."""
        if self.last_epoch == 0:
            return group["lr"] * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return group["lr"]
        rise = self.end_factor - self.start_factor
        return group["lr"] * (1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def lr_at(self, base: float) -> float:
        """base times the factor."""
        share = min(self.total_iters, self.last_epoch) / self.total_iters if self.total_iters else 1.0
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ExponentialLR(LRScheduler):
    """Multiplies the rates by `gamma` every epoch.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _refuse_factor("ExponentialLR", "gamma", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate times gamma."""
        return group["lr"] if self._is_initial else group["lr"] * self.gamma

    def lr_at(self, base: float) -> float:
        """base * gamma**epoch."""
        return base * self.gamma ** self.last_epoch


class PolynomialLR(LRScheduler):
    """The first rates times (1 - epoch / total_iters)**power, then 0.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.28125]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        refuse_count("PolynomialLR", "total_iters", total_iters)
        _refuse_factor("PolynomialLR", "power", power)
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The present rate times the ratio of this epoch's factor to the last one's."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return group["lr"]
        left, before = (1 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return group["lr"] * (left / before) ** self.power

    def lr_at(self, base: float) -> float:
        """base * (1 - epoch / total_iters)**power."""
        return base * (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class NoamScheduler(LRScheduler):
    """The transformer's schedule: factor * model_size**-0.5 * min(n**-0.5, n * warmup_steps**-1.5) at its n-th step.

    The n-th step is epoch n - 1; the optimizer's own rates do not matter.

    Source: A. Vaswani et al., Attention is all you need, 2017, equation 3.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])])
    >>> lnb.optim.lr_scheduler.NoamScheduler(optimizer, model_size=4, warmup_steps=100).get_last_lr()
    [0.0005]
    """

    def __init__(self, optimizer: Optimizer, model_size: int, warmup_steps: int, factor: float = 1.0,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        refuse_count("NoamScheduler", "model_size", model_size)
        refuse_count("NoamScheduler", "warmup_steps", warmup_steps)
        _refuse_factor("NoamScheduler", "factor", factor)
        self.model_size, self.warmup_steps, self.factor = model_size, warmup_steps, factor
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """The formula's rate."""
        return self.lr_at(base)

    def lr_at(self, base: float) -> float:
        """The formula's rate."""
        step = self.last_epoch + 1
        return self.factor * self.model_size ** -0.5 * min(step ** -0.5, step * self.warmup_steps ** -1.5)


def _factors(name: str, optimizer: Optimizer, factors: Any) -> list[Factor]:
    """A function of each group."""
    found = spread(name, "lr_lambda", optimizer, factors)
    for factor in found:
        refuse(name, "lr_lambda", factor, callable, "a function of the epoch")
    return found


def _refuse_factor(name: str, what: str, value: Any) -> None:
    """ConfigError unless this is a number of 0 or more."""
    refuse(name, what, value, lambda number: number >= 0, "a number of 0 or more")
