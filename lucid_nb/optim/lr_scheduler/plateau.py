"""A schedule that heeds a measured value."""

import math
from typing import Any

from ...errors import ConfigError
from ..optimizer import Optimizer, refuse
from .base import LRScheduler, checked, rates, refuse_count, spread


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by `factor` when a value has not improved for more than `patience` epochs.

    `mode` "min" wants it to fall, "max" to rise, by more than `threshold`, which is a share of the best value (
    threshold_mode "rel") or a difference ("abs"). Then bad epochs are not counted for `cooldown` epochs. Rates do not
    fall below `min_lr`, nor by less than `eps`. `step(value)` is told the value each epoch; NaN is no improvement.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.5)
    >>> schedule = lnb.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 2.0, 2.5, 2.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.05]
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: float | list[float] = 0.0, eps: float = 1e-8, verbose: bool = False) -> None:
        name = "ReduceLROnPlateau"
        self.optimizer = checked(name, optimizer)
        refuse(name, "factor", factor, lambda value: 0 <= value < 1, "a number of 0 or more, below 1")
        refuse(name, "mode", mode, lambda value: value in ("min", "max"), "min or max")
        refuse(name, "threshold_mode", threshold_mode, lambda value: value in ("rel", "abs"), "rel or abs")
        refuse_count(name, "patience", patience, 0)
        refuse_count(name, "cooldown", cooldown, 0)
        self.min_lrs = spread(name, "min_lr", optimizer, min_lr)
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.mode, self.factor, self.patience, self.cooldown, self.eps = mode, factor, patience, cooldown, eps
        self.threshold, self.threshold_mode, self.verbose = threshold, threshold_mode, verbose
        self.mode_worse = self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = rates(optimizer)

    @property
    def in_cooldown(self) -> bool:
        """Are bad epochs not counted yet?"""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Heed the value of an epoch, a number or a tensor of one element."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self.set_rates(self.get_lr())
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = rates(self.optimizer)

    def get_lr(self) -> list[float]:
        """The rates, reduced."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise ConfigError(f"ReduceLROnPlateau: min_lr has {len(self.min_lrs)} values for {len(groups)} groups. "
                                  "Set min_lrs after adding a group.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        reduced = [max(group["lr"] * self.factor, least) for group, least in zip(groups, self.min_lrs)]
        return [new if group["lr"] - new > self.eps else group["lr"] for group, new in zip(groups, reduced)]

    def _is_better(self, value: float) -> bool:
        """Has a value improved by more than the threshold?"""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * value < sign * self.best * (1 - sign * self.threshold)
        return sign * value < sign * self.best - self.threshold
