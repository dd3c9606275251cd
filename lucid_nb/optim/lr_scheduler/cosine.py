"""Schedules along the cosine."""

import math

from ..optimizer import Group, Optimizer, refuse
from .base import LRScheduler, refuse_count


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to `eta_min` within `T_max` epochs along half a cosine, then up again.

    Source: I. Loshchilov, F. Hutter, SGDR: stochastic gradient descent with warm restarts, 2017, without the restarts.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        refuse("CosineAnnealingLR", "T_max", T_max, lambda value: value > 0, "a number of epochs above 0")
        refuse("CosineAnnealingLR", "eta_min", eta_min, lambda value: value == value + 0, "a number")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def next_lr(self, group: Group, base: float) -> float:
        """From the present rate, so that other schedules may change it meanwhile."""
        if self._is_initial:
            return group["lr"]
        epoch, limit = self.last_epoch, self.T_max
        if (epoch - 1 - limit) % (2 * limit) == 0:               # the cosine's ratio would be 0 / 0
            return group["lr"] + (base - self.eta_min) * (1 - math.cos(math.pi / limit)) / 2
        ratio = (1 + math.cos(math.pi * epoch / limit)) / (1 + math.cos(math.pi * (epoch - 1) / limit))
        return ratio * (group["lr"] - self.eta_min) + self.eta_min

    def lr_at(self, base: float) -> float:
        """eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2."""
        return between(base, self.eta_min, self.last_epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine, again and again.

    The first descent takes `T_0` epochs, each further one `T_mult` times as many. `step(epoch)` takes fractions of
    epochs too, without a warning.

    Source: I. Loshchilov, F. Hutter, SGDR: stochastic gradient descent with warm restarts, 2017, equation 5.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for epoch in (1, 2, 2.5):
    ...     schedule.step(epoch)
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.25
    0.5
    0.4268
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:
        name = "CosineAnnealingWarmRestarts"
        refuse_count(name, "T_0", T_0)
        refuse_count(name, "T_mult", T_mult)
        refuse(name, "eta_min", eta_min, lambda value: value == value + 0, "a number")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The rate at `T_cur` of the `T_i` epochs of this descent."""
        return between(base, self.eta_min, self.T_cur / self.T_i)

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or of the given one, which may be a fraction."""
        if epoch is not None:
            refuse("CosineAnnealingWarmRestarts", "epoch", epoch, lambda value: value >= 0, "a number of 0 or more")
        self._step_count += 1
        self.renew(epoch)

    def renew(self, epoch: float | None = None) -> None:
        """Find the place within a descent, then set the rates."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._find(epoch)
        self.last_epoch = math.floor(epoch)
        self.set_rates(self.get_lr())

    def _find(self, epoch: float) -> None:
        """The place of an epoch within its descent, and how long that is."""
        self.T_cur, self.T_i = epoch, self.T_0
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0 if epoch >= self.T_0 else epoch
            return
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult


def between(start: float, end: float, share: float) -> float:
    """From start (share 0) to end (share 1) along half a cosine."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
