"""Schedules that raise and lower the rates, and the momentum against them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ConfigError
from ..optimizer import Group, Optimizer, refuse
from .base import LRScheduler, checked, refuse_count, spread
from .cosine import between

MODES = ("triangular", "triangular2", "exp_range")


class _Cycling(LRScheduler):
    """What cycles the rates, and the momentum (beta1 of Adam and its kin) too where `cycle_momentum` asks for it."""

    use_beta1: bool

    def _start_momentum(self, cycle_momentum: bool, base: Any, largest: Any, is_first: bool) -> None:
        """Check what cycles, and begin with the largest momentum."""
        name, optimizer = type(self).__name__, self.optimizer
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ConfigError(f"{name}: {type(optimizer).__name__} has neither momentum nor betas. Pass "
                              "cycle_momentum=False.")
        self.use_beta1 = "betas" in optimizer.defaults
        lows, highs = (spread(name, what, optimizer, value) for what, value in
                       (("base_momentum", base), ("max_momentum", largest)))
        for what, values in (("base_momentum", lows), ("max_momentum", highs)):
            for value in values:
                refuse(name, what, value, lambda number: 0 <= number < 1, "a number of 0 or more, below 1")
        if is_first:
            for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                group["base_momentum"], group["max_momentum"] = low, high
                self._set_momentum(group, high)
        self.base_momentums, self.max_momentums = lows, highs

    def _set_momentum(self, group: Group, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Cycling):
    """Rates that go from `base_lr` up to `max_lr` in `step_size_up` steps and down again in `step_size_down`.

    The mode "triangular" repeats that, "triangular2" halves the height each cycle, "exp_range" scales it by
    gamma**epoch; or `scale_fn` scales it, a function of the cycle (from 1 on) or, with scale_mode="iterations", of the
    epoch. Momentum goes the other way, from `max_momentum` to `base_momentum`. One step is usually one batch.

    Source: L. Smith, Cyclical learning rates for training neural networks, 2017.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], momentum=0.9)
    >>> schedule = lnb.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.25, max_lr=1.25, step_size_up=4)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr(), round(optimizer.param_groups[0]["momentum"], 3)
    ([0.5], 0.875)
    """

    functions = ("_scale_fn_custom",)

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float | list[float] = 0.8,
                 max_momentum: float | list[float] = 0.9, last_epoch: int = -1, verbose: bool = False) -> None:
        name = "CyclicLR"
        self.optimizer = checked(name, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        for what, size in (("step_size_up", step_size_up), ("step_size_down", down)):
            refuse(name, what, size, lambda value: value > 0, "a number of steps above 0")
        if scale_fn is None:
            refuse(name, "mode", mode, lambda value: value in MODES, ", ".join(MODES) + ", or give scale_fn")
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        refuse(name, "scale_mode", scale_mode, lambda value: value in ("cycle", "iterations"), "cycle or iterations")
        lows, self.max_lrs = spread(name, "base_lr", optimizer, base_lr), spread(name, "max_lr", optimizer, max_lr)
        self.total_size, self.step_ratio = float(step_size_up + down), step_size_up / (step_size_up + down)
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self._start_momentum(cycle_momentum, base_momentum, max_momentum, last_epoch == -1)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                group["lr"] = low
        super().__init__(optimizer, last_epoch, verbose)
        self.base_lrs = lows

    def get_lr(self) -> list[float]:
        """The rates of epoch `last_epoch`; sets the momentum too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1 + self.last_epoch / self.total_size - cycle
        height = place / self.step_ratio if place <= self.step_ratio else (place - 1) / (self.step_ratio - 1)
        height *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def _scale(self, x: float) -> float:
        """What the height of a cycle is multiplied by."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma ** x}[self.mode]


class OneCycleLR(_Cycling):
    """One cycle: from max_lr / div_factor up to `max_lr`, then down to that start's 1 / final_div_factor.

    The rise takes the share `pct_start` of `total_steps` (or of epochs * steps_per_epoch), along half a cosine or, with
    anneal_strategy="linear", a line. With `three_phase` the rates fall back to the start in as many steps as they rose,
    then to the end. Momentum goes the other way, from `max_momentum` to `base_momentum` and back. A step is a batch.

    Source: L. Smith, N. Topin, Super-convergence: very fast training of neural networks using large learning rates,
    2018.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], momentum=0.9)
    >>> schedule = lnb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr(), optimizer.param_groups[0]["momentum"]
    ([1.0], 0.85)
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        name = "OneCycleLR"
        self.optimizer = checked(name, optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        refuse(name, "pct_start", pct_start, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        refuse(name, "anneal_strategy", anneal_strategy, lambda value: value in ("cos", "linear"), "cos or linear")
        for what, value in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
            refuse(name, what, value, lambda number: number > 0, "a number above 0")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highs = spread(name, "max_lr", optimizer, max_lr)
        self._start_momentum(cycle_momentum, base_momentum, max_momentum, last_epoch == -1)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highs, strict=True):
                start = high / div_factor
                group.update(initial_lr=start, max_lr=high, min_lr=start / final_div_factor)
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """The rate within the phase that the epoch belongs to; sets the momentum too."""
        if self.last_epoch > self.total_steps:
            raise ConfigError(f"OneCycleLR: this is step {self.last_epoch}, of {self.total_steps}. Stop there, or make "
                              "a schedule of more steps.")
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"]:
                break
            start, last = phase["end_step"], start
        else:
            start = last               # beyond the end the last phase goes on
        share = (self.last_epoch - start) / (phase["end_step"] - start) if phase["end_step"] > start else 1.0
        if self.cycle_momentum:
            self._set_momentum(group, self._between(group, phase, "momentum", share))
        return self._between(group, phase, "lr", share)

    def _between(self, group: Group, phase: dict[str, Any], what: str, share: float) -> float:
        """The rate, or the momentum, at a share of a phase."""
        start, end = group[phase[f"start_{what}"]], group[phase[f"end_{what}"]]
        return between(start, end, share) if self._anneal_func_type == "cos" else (end - start) * share + start


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How many steps the cycle has."""
    if total_steps is not None:
        refuse_count("OneCycleLR", "total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ConfigError("OneCycleLR: the number of steps is missing. Give total_steps, or epochs, steps_per_epoch.")
    refuse_count("OneCycleLR", "epochs", epochs)
    refuse_count("OneCycleLR", "steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def _phases(steps: int, rise: float, has_three: bool) -> Sequence[dict[str, Any]]:
    """The phases: where each ends, and from which of a group's values to which it leads."""
    up = _phase(rise * steps - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not has_three:
        return [up, _phase(steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [up, _phase(2 * rise * steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            _phase(steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


def _phase(end: float, *names: str) -> dict[str, Any]:
    return dict(zip(("start_lr", "end_lr", "start_momentum", "end_momentum"), names), end_step=float(end))
