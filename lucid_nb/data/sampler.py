"""Samplers: the order in which a dataset is read."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from ..errors import ConfigError, told
from .streams import Roots


class Sampler:
    """An order of indices: subclasses give `__iter__` and `__len__`."""

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__}: __iter__ is missing. Yield indices.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: __len__ is missing. Return the number of indices.")


class SequentialSampler(Sampler):
    """Indices from first to last."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class SeededSampler(Sampler):
    """A sampler that draws: another order each epoch, that repeats.

    The order is a function of `seed` and `epoch`, which counts the iterations begun; assign it to go back to one.
    `generator`, the library's or NumPy's, takes the seed's place where the caller keeps the random state. With neither
    the library's own state counts, so that the order repeats after `lnb.random.seed`.
    """

    def __init__(self, generator: Any = None, seed: int | None = None) -> None:
        self.roots = Roots(type(self).__name__, seed, generator)

    @property
    def epoch(self) -> int:
        """How many iterations were begun."""
        return self.roots.epoch

    @epoch.setter
    def epoch(self, number: int) -> None:
        self.roots.epoch = number


def positive(op: str, name: str, count: Any, least: int = 1) -> int:
    """An integer that counts something."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
        raise ConfigError(f"{op}: {name} is {told(count)}. Use an integer of {least} or more.")
    return int(count)


class RandomSampler(SeededSampler):
    """All indices in random order, or `num_samples` of them; with `replacement` each is drawn from all.

    Without replacement more samples than there are make several orders one after the other.

    >>> order = lnb.data.RandomSampler(range(5), seed=0)
    >>> first, second = list(order), list(order)
    >>> sorted(first), first == second
    ([0, 1, 2, 3, 4], False)
    >>> list(lnb.data.RandomSampler(range(5), seed=0)) == first
    True
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Any = None, *, seed: int | None = None) -> None:
        super().__init__(generator, seed)
        if not isinstance(replacement, bool | np.bool_):
            raise ConfigError(f"RandomSampler: replacement is {told(replacement)}. Use True or False; a seed is "
                              "passed as seed=.")
        self.data_source, self.replacement = data_source, bool(replacement)
        self.wanted = None if num_samples is None else positive("RandomSampler", "num_samples", num_samples, 0)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self.wanted is None else self.wanted

    def __iter__(self) -> Iterator[int]:
        generator, total, left = self.roots.next_generator(), len(self.data_source), self.num_samples
        if left and not total:
            raise ConfigError(f"RandomSampler: {left} samples of an empty dataset. Use num_samples=0.")
        while left > 0:
            part = min(left, total)
            order = generator.integers(total, size=part) if self.replacement else generator.permutation(total)[:part]
            left -= part
            yield from order.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(SeededSampler):
    """These indices in random order.

    >>> sorted(lnb.data.SubsetRandomSampler([2, 3, 5], seed=0))
    [2, 3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None, *, seed: int | None = None) -> None:
        super().__init__(generator, seed)
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        order = self.roots.next_generator().permutation(len(self.indices)).tolist()
        return (self.indices[place] for place in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(SeededSampler):
    """`num_samples` indices, each drawn as often as its weight says; weights need not sum to 1.

    >>> list(lnb.data.WeightedRandomSampler([0.0, 3.0, 0.0], 4))
    [1, 1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None, *,
                 seed: int | None = None) -> None:
        super().__init__(generator, seed)
        op, chances = "WeightedRandomSampler", np.asarray(weights, np.float64)
        self.num_samples, self.replacement = positive(op, "num_samples", num_samples), bool(replacement)
        if chances.ndim != 1 or not np.isfinite(chances).all() or (chances < 0).any() or not chances.any():
            raise ConfigError(f"{op}: weights of shape {chances.shape} are {told(chances.tolist())}. Use one axis of "
                              "finite weights of 0 or more, not all 0.")
        if not self.replacement and self.num_samples > np.count_nonzero(chances):
            raise ConfigError(f"{op}: {self.num_samples} samples without replacement of {np.count_nonzero(chances)} "
                              "weights above 0. Use fewer, or replacement=True.")
        self.weights = chances / chances.max()                  # their sum must not overflow
        self.weights /= self.weights.sum()

    def __iter__(self) -> Iterator[int]:
        generator = self.roots.next_generator()
        order = generator.choice(len(self.weights), self.num_samples, self.replacement, self.weights)
        return iter(order.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """The indices of another sampler in lists of `batch_size`; the last may be shorter, or is dropped.

    >>> list(lnb.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        self.batch_size = positive("BatchSampler", "batch_size", batch_size)
        self.sampler, self.drop_last = sampler, drop_last

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
