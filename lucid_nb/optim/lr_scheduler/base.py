"""LRScheduler: what sets the learning rates of an optimizer's groups, one epoch after the other."""

import copy
import types
import warnings
from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError, StateError, told
from ..optimizer import Group, Optimizer, refuse

# What states of PyTorch hold beside ours.
IGNORED = {"_get_lr_called_within_step", "_is_initial", "verbose"}
LATE = ("{}.step: the optimizer has not stepped yet, so that its first learning rate is never used. "
        "Call optimizer.step() before it.")
EPOCHS = "{}.step: an epoch was given, from which the rate is computed anew where a formula is known. Call it without."


class LRScheduler:
    """Base of the schedules: a subclass gives `next_lr(group, base)`, or `get_lr()` for all groups.

    Making a schedule sets the rates of epoch `last_epoch` + 1, which is 0 by default; each `step` sets the next ones:
    it belongs behind the optimizer's steps of an epoch. With another `last_epoch` a schedule is resumed: groups must
    have their "initial_lr", as groups of a loaded optimizer do. `verbose` prints the rates at each step.

    >>> class Halving(lnb.optim.lr_scheduler.LRScheduler):
    ...     def next_lr(self, group, base):
    ...         return base * 0.5 ** self.last_epoch
    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=0.8)
    >>> schedule = Halving(optimizer)
    >>> for epoch in range(3):
    ...     print(schedule.get_last_lr())
    ...     optimizer.step()
    ...     schedule.step()
    [0.8]
    [0.4]
    [0.2]
    """

    functions: tuple[str, ...] = ()      # names of attributes that hold functions, or lists of them: they are not saved
    optimizer: Optimizer
    base_lrs: list[float]
    last_epoch: int
    verbose: bool = False
    _is_initial: bool = False
    _step_count: int = 0
    _last_lr: list[float]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: bool = False) -> None:
        name = type(self).__name__
        self.optimizer = checked(name, optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise ConfigError(f"{name}: last_epoch is {last_epoch}, but group {number} has no initial_lr. Load the "
                                  "optimizer's state first, or leave last_epoch out.")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self.verbose = last_epoch, verbose
        self.begin()

    def begin(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch; of another one if it is given, which is deprecated, as in PyTorch."""
        if self._step_count == 1 and not self.optimizer.steps and type(self.optimizer).step is Optimizer.step:
            warnings.warn(LATE.format(type(self).__name__), UserWarning, stacklevel=2)
        if epoch is not None:
            warnings.warn(EPOCHS.format(type(self).__name__), UserWarning, stacklevel=2)
        self._step_count += 1
        try:
            self.renew(epoch)
        except Exception:
            self._step_count -= 1
            raise

    def renew(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of the one that is given; after an error all is as it was."""
        before = self.last_epoch
        self.last_epoch = before + 1 if epoch is None else epoch
        try:
            values = None if epoch is None else self.rates_of_epoch()
            self.set_rates(self.get_lr() if values is None else values)
        except Exception:
            self.last_epoch = before
            raise

    def set_rates(self, values: list[float]) -> None:
        """Give each group its rate."""
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            group["lr"] = value
        self._last_lr = rates(self.optimizer)
        if self.verbose:
            print(f"{type(self).__name__}: epoch {self.last_epoch}, learning rates {self._last_lr}")

    def get_lr(self) -> list[float]:
        """The rates of epoch `last_epoch`, computed from those of the epoch before, which groups still have."""
        groups = self.optimizer.param_groups
        return [self.next_lr(group, base) for group, base in zip(groups, self.base_lrs, strict=True)]

    def next_lr(self, group: Group, base: float) -> float:
        """The rate of one group at epoch `last_epoch`; `base` is the one that it began with."""
        raise NotImplementedError(f"{type(self).__name__}: next_lr is missing. Return the rate of the group.")

    def lr_at(self, base: float) -> float | None:
        """The rate at epoch `last_epoch` by a formula of it and of the first rate, None where there is no such."""
        return None

    def rates_of_epoch(self) -> list[float] | None:
        """The rates at epoch `last_epoch` by the formula, None where there is none."""
        values = [self.lr_at(base) for base in self.base_lrs]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else None

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, one of each group."""
        return self._last_lr

    @property
    def last_lr(self) -> list[float]:
        """The rates that were set last, one of each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and functions; of other callables their attributes."""
        return {key: _without_functions(value) if key in self.functions else value
                for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict gave; StateError, and nothing changes, where it does not fit."""
        self.check_state(state_dict)
        self.take_state(state_dict)

    def check_state(self, state: Any) -> None:
        """StateError unless this can be the state of such a schedule."""
        name = f"{type(self).__name__}.load_state_dict"
        if not isinstance(state, Mapping) or "_last_lr" not in state:
            raise StateError(f"{name}: the state is {told(state)}. Pass what state_dict() gave.")
        strange = sorted(state.keys() - vars(self).keys() - IGNORED, key=str)
        if strange:
            raise StateError(f"{name}: this schedule has no {told(strange[0])}. Load what the same kind saved.")
        for key, value in state.items():
            own = getattr(self, key, None)
            if isinstance(own, list) and (not isinstance(value, list | tuple) or len(value) != len(own)):
                raise StateError(f"{name}: {key} is {told(value)} where there are {len(own)}. Load a schedule of as "
                                 "many groups.")

    def take_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state that has been checked."""
        for key, value in state.items():
            if key in self.functions:
                own = getattr(self, key)
                for call, saved in zip(own, value) if isinstance(own, list) else [(own, value)]:
                    if saved is not None:
                        vars(call).update(saved)
            elif key not in IGNORED:
                setattr(self, key, copy.deepcopy(value))


def checked(name: str, optimizer: Any) -> Optimizer:
    """The optimizer, refused where it is none."""
    if not isinstance(optimizer, Optimizer):
        raise ConfigError(f"{name}: optimizer is a {type(optimizer).__name__}. Pass one of lucid_nb.optim.")
    return optimizer


def rates(optimizer: Optimizer) -> list[float]:
    """The present rate of each group."""
    return [group["lr"] for group in optimizer.param_groups]


def spread(name: str, what: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group: the same for all, or those of a list."""
    count = len(checked(name, optimizer).param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ConfigError(f"{name}: {what} has {len(value)} values for {count} groups. Give each its own, or one.")
    return list(value)


def refuse_count(name: str, what: str, value: Any, least: int = 1) -> None:
    """ConfigError unless this is a whole number, and large enough."""
    refuse(name, what, value, lambda count: count == int(count) and count >= least,
           f"a whole number of {least} or more")


def _without_functions(value: Any) -> Any:
    """What is saved of functions: nothing; of other callables their attributes."""
    if isinstance(value, list):
        return [_without_functions(part) for part in value]
    plain = isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType) or value is None
    return None if plain else dict(vars(value))
