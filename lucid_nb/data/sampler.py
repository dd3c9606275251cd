"""Samplers: the order in which a dataset is read."""

from collections.abc import Iterable, Iterator, Sized

import numpy as np

from ..errors import ConfigError


class Sampler:
    """An order of indices: subclasses give `__iter__` and `__len__`."""

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__}: __iter__ is missing. Yield indices.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: __len__ is missing. Return the number of indices.")


class SequentialSampler(Sampler):
    """Indices from first to last."""

    def __init__(self, data: Sized) -> None:
        self.data = data

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data)))

    def __len__(self) -> int:
        return len(self.data)


class RandomSampler(Sampler):
    """All indices in random order, another one each epoch.

    The order is a function of `seed` and `epoch`, which counts the iterations begun; assign it to go back to one.
    Without a seed one is drawn. `generator` takes its place where the caller keeps the random state.

    >>> order = lnb.data.RandomSampler(range(5), seed=0)
    >>> first, second = list(order), list(order)
    >>> sorted(first), first == second
    ([0, 1, 2, 3, 4], False)
    >>> list(lnb.data.RandomSampler(range(5), seed=0)) == first
    True
    """

    def __init__(self, data: Sized, seed: int | None = None, generator: np.random.Generator | None = None) -> None:
        if seed is not None and generator is not None:
            raise ConfigError("RandomSampler: both seed and generator are given. Pass one of them.")
        self.data, self.generator, self.epoch = data, generator, 0
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        return iter(generator.permutation(len(self.data)).tolist())

    def __len__(self) -> int:
        return len(self.data)


class BatchSampler(Sampler):
    """The indices of another sampler in lists of `batch_size`; the last may be shorter, or is dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if not isinstance(batch_size, int | np.integer) or batch_size < 1:
            raise ConfigError(f"BatchSampler: batch_size is {batch_size!r}. Use a positive integer.")
        self.sampler, self.batch_size, self.drop_last = sampler, int(batch_size), drop_last

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
