"""Schedules made of schedules."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ConfigError, StateError, told
from ..optimizer import Optimizer
from .base import LRScheduler, checked, rates
from .plateau import ReduceLROnPlateau


class _Composed(LRScheduler):
    """What is made of schedules of one optimizer."""

    def __init__(self, optimizer: Optimizer | None, schedulers: Sequence[LRScheduler]) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ConfigError(f"{name}: there are no schedules. Give at least one.")
        for number, part in enumerate(schedulers):
            if not isinstance(part, LRScheduler) or isinstance(part, ReduceLROnPlateau):
                raise ConfigError(f"{name}: schedule {number} is a {type(part).__name__}. Give schedules that step "
                                  "without a value.")
        self.optimizer = checked(name, schedulers[0].optimizer if optimizer is None else optimizer)
        for number, part in enumerate(schedulers):
            if part.optimizer is not self.optimizer:
                raise ConfigError(f"{name}: schedule {number}, {type(part).__name__}, belongs to another optimizer. "
                                  "Make all of one.")
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """The attributes, and the state of each schedule."""
        return {**super().state_dict(), "_schedulers": [part.state_dict() for part in self._schedulers]}

    def check_state(self, state: Any) -> None:
        """StateError unless this can be the state of such schedules."""
        name = f"{type(self).__name__}.load_state_dict"
        parts = state.get("_schedulers") if isinstance(state, Mapping) else None
        if not isinstance(parts, list | tuple) or len(parts) != len(self._schedulers):
            raise StateError(f"{name}: the state is {told(state)}. Pass what state_dict() of {len(self._schedulers)} "
                             "schedules gave.")
        super().check_state({key: value for key, value in state.items() if key != "_schedulers"})
        for part, saved in zip(self._schedulers, parts):
            part.check_state(saved)

    def take_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state that has been checked."""
        for part, saved in zip(self._schedulers, state["_schedulers"]):
            part.take_state(saved)
        super().take_state({key: value for key, value in state.items() if key != "_schedulers"})


class SequentialLR(_Composed):
    """One schedule after the other: the next one begins, at its epoch 0, at each of the epochs `milestones`.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0)
    >>> schedules = lnb.optim.lr_scheduler
    >>> warm = schedules.ConstantLR(optimizer, factor=0.125, total_iters=2)
    >>> schedule = schedules.SequentialLR(optimizer, [warm, schedules.ExponentialLR(optimizer, gamma=0.5)], [2])
    >>> for epoch in range(4):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [0.125]
    [0.125]
    [1.0]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1) -> None:
        super().__init__(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1 or sorted(milestones) != list(milestones):
            raise ConfigError(f"SequentialLR: milestones is {told(milestones)} for {len(schedulers)} schedules. Give "
                              "one epoch fewer than schedules, in order.")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        self.begin()

    def begin(self) -> None:
        """Begin with the first schedule, as though none had been made."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        _take_back(self)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first.begin()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Step the schedule whose turn it is."""
        self.renew(epoch)

    def renew(self, epoch: int | None = None) -> None:
        """Step the schedule whose turn it is; at its first epoch it begins with the rates of its epoch 0."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        number = bisect_right(self._milestones, self.last_epoch)
        turn = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            turn.renew(0)
        else:
            turn.step()
        self._last_lr = turn.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules at once: each changes the rates that the one before has left.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0)
    >>> schedules = lnb.optim.lr_scheduler
    >>> parts = [schedules.ConstantLR(optimizer, factor=0.5), schedules.ExponentialLR(optimizer, gamma=0.5)]
    >>> schedule = schedules.ChainedScheduler(parts)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer, schedulers)
        self._last_lr = rates(self.optimizer)

    def begin(self) -> None:
        """Begin with each."""
        for part in self._schedulers:
            part.begin()
        self._last_lr = rates(self.optimizer)

    def step(self, epoch: int | None = None) -> None:
        """Step each."""
        for part in self._schedulers:
            part.step() if epoch is None else part.step(epoch)
        self._last_lr = rates(self.optimizer)

    def renew(self, epoch: int | None = None) -> None:
        """Set the rates of each."""
        for part in self._schedulers:
            part.renew(epoch)
        self._last_lr = rates(self.optimizer)


def _take_back(schedule: LRScheduler) -> None:
    """Undo the first step of the schedules that this one is made of."""
    for part in schedule._schedulers if isinstance(schedule, _Composed) else ():
        if isinstance(part, _Composed):
            _take_back(part)
        else:
            part.last_epoch -= 1
