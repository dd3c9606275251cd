"""Averages of a model's weights: stochastic weight averaging (SWA) and exponential moving averages (EMA)."""

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..array import Tensor
from ..creation import zeros
from ..dtypes import is_inexact
from ..errors import ConfigError, ShapeError
from ..expr import Expr, Vocabulary
from ..nn import Buffer, Module
from ..nn.norm import _BatchNorm
from ..tape import grad_mode
from .lr_scheduler.base import LRScheduler, refuse_count, spread
from .optimizer import Group, Optimizer, evaluate, refuse
from .rule import Item, step_all
from .step import Step

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


class AveragedModel(Module):
    """A model whose weights are the average of another's, taken at each `update_parameters(model)`.

    The average is the mean of all (SWA), or what `multi_avg_fn(averages, weights, count)` writes into a list of them,
    such as `get_ema_multi_avg_fn(0.999)`, or what `avg_fn(average, weight, count)` gives for one. The first weights are
    copied. Buffers are copied each time, with `use_buffers` averaged too. Statistics of batch normalisation want
    `update_bn` afterwards. `device` is where the average lives.

    Source: P. Izmailov et al., Averaging weights leads to wider optima and better generalization, 2018.

    >>> model = lnb.nn.Linear(1, 1, bias=False)
    >>> average = lnb.optim.swa_utils.AveragedModel(model)
    >>> for weight in (1.0, 2.0, 6.0):
    ...     _ = lnb.nn.init.constant_(model.weight, weight)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    3.0
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: str | None = None, avg_fn: Average | None = None,
                 multi_avg_fn: Averages | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ConfigError("AveragedModel: avg_fn and multi_avg_fn are both given. Give one of them.")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", Buffer(zeros((), dtype="int64", device=device)))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take a model's present weights into the average."""
        averages, weights = ([part.detach() for part in owner.parameters()] for owner in (self.module, model))
        kept, buffers = (list(owner.buffers()) for owner in (self.module, model))
        _check_alike(averages + kept, weights + buffers)
        if self.use_buffers:
            averages, weights, kept, buffers = averages + kept, weights + buffers, [], []
        with grad_mode(False):
            weights, buffers = ([part.detach().to(own.device) for part, own in zip(parts, owns)]
                                for parts, owns in ((weights, averages), (buffers, kept)))
            count = int(self.n_averaged)
            if not count:
                _copy(averages, weights)
            elif self.avg_fn is not None:
                _copy(averages, [self.avg_fn(own, weight, count) for own, weight in zip(averages, weights)])
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, weights, count)
            _copy(kept, buffers)
            evaluate(averages)
            self.n_averaged[...] = count + 1


class SWALR(LRScheduler):
    """From the rate that there is to `swa_lr`, one for all groups or one of each, within `anneal_epochs` epochs.

    The way is half a cosine, or with anneal_strategy="linear" a line; then the rate stays.

    >>> optimizer = lnb.optim.SGD([lnb.nn.Parameter([1.0])], lr=1.0)
    >>> schedule = lnb.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(schedule.get_last_lr())
    [0.75]
    [0.5]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
                 anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        rates = spread("SWALR", "swa_lr", optimizer, swa_lr)
        for rate in rates:
            refuse("SWALR", "swa_lr", rate, lambda value: value >= 0, "a number of 0 or more")
        refuse("SWALR", "anneal_strategy", anneal_strategy, lambda value: value in ("cos", "linear"), "cos or linear")
        refuse_count("SWALR", "anneal_epochs", anneal_epochs, 0)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def next_lr(self, group: Group, base: float) -> float:
        """A step further from the rate where the way began, which the present one tells."""
        step, last = self._step_count - 1, max(1, self.anneal_epochs)
        step = step if self.anneal_epochs else max(1, step)
        share, before = (self._share(min(1.0, max(0.0, place / last))) for place in (step, step - 1))
        goal = group["swa_lr"]
        start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
        return goal * share + start * (1 - share)

    def _share(self, part: float) -> float:
        """How far along the way the rate is after a part of the epochs."""
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2


def get_swa_multi_avg_fn() -> Averages:
    """The function that keeps the mean of all weights, for many at once."""
    def mean(averages: Sequence[Tensor], weights: Sequence[Tensor], count: Any) -> None:
        _move(averages, weights, 1 / (int(count) + 1))
    return mean


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """The function that keeps decay * average + (1 - decay) * weight, for many at once.

    >>> average, weight = lnb.tensor([1.0]), lnb.tensor([3.0])
    >>> lnb.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [weight], 1)
    >>> average.tolist()
    [1.5]
    """
    _check_decay(decay)

    def moved(averages: Sequence[Tensor], weights: Sequence[Tensor], count: Any) -> None:
        _move(averages, weights, 1 - decay)
    return moved


def get_swa_avg_fn() -> Average:
    """The function that keeps the mean of all weights."""
    def mean(average: Tensor, weight: Tensor, count: Any) -> Tensor:
        return average + (weight - average) / (count + 1)
    return mean


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The function that keeps decay * average + (1 - decay) * weight."""
    _check_decay(decay)

    def moved(average: Tensor, weight: Tensor, count: Any) -> Tensor:
        return decay * average + (1 - decay) * weight
    return moved


def update_bn(loader: Iterable[Any], model: Module, device: str | None = None) -> None:
    """Take the running statistics of batch normalisations anew, as the mean over the batches of a loader.

    Of batches that are tuples or lists the first part is the model's input. Modes and momenta end as they were.

    >>> model = lnb.nn.BatchNorm1d(1)
    >>> lnb.optim.swa_utils.update_bn([lnb.ones((4, 1), dtype="float32"), lnb.zeros((4, 1), dtype="float32")], model)
    >>> model.running_mean.tolist()
    [0.5]
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta, modes = [norm.momentum for norm in norms], [(module, module.training) for module in model.modules()]
    if not norms:
        return
    try:
        model.train()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        with grad_mode(False):
            for batch in loader:
                part = batch[0] if isinstance(batch, list | tuple) else batch
                model(part if device is None else part.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        for module, mode in modes:
            module.__dict__["training"] = mode


def _toward(m: Vocabulary, average: Expr, weight: Expr, share: Expr) -> tuple[Expr, ...]:
    """Nearer to the weight by a share of the way."""
    return (average + share * (weight - average),)


toward = Step(_toward, 2, 1)


def _move(averages: Sequence[Tensor], weights: Sequence[Tensor], share: float) -> None:
    """Move averages towards weights by a share of the way, all in one pass."""
    items, whole = list[Item](), list[tuple[Tensor, Tensor]]()
    for average, weight in zip(averages, weights, strict=True):
        if is_inexact(average.dtype):
            items.append((average, {}, (), [average.refresh().raw, weight.refresh().raw], toward, (share,)))
        else:
            whole.append((average, weight))
    with grad_mode(False):
        step_all("AveragedModel", items)
        for average, weight in whole:
            average.write((average + share * (weight - average)).astype(average.dtype), "AveragedModel")


def _copy(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.write(source, "AveragedModel")


def _check_alike(own: Sequence[Tensor], other: Sequence[Tensor]) -> None:
    """ShapeError unless both models have the same parameters and buffers."""
    mine, theirs = ([part.shape for part in parts] for parts in (own, other))
    if mine != theirs:
        strange = next((pair for pair in zip(mine, theirs) if pair[0] != pair[1]), (len(mine), len(theirs)))
        raise ShapeError(f"AveragedModel: parameters and buffers differ, {strange[0]} and {strange[1]}. Update from "
                         "the model that is averaged.")


def _check_decay(decay: float) -> None:
    refuse("get_ema_avg_fn", "decay", decay, lambda value: 0 <= value <= 1, "a number from 0 to 1")
