"""DataLoader: batches of a dataset."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, DTypeError, ShapeError
from ..ops.movement import concat
from .sampler import BatchSampler, RandomSampler, SequentialSampler


class DataLoader:
    """Batches of a dataset, in order or shuffled; each iteration is one epoch.

    With `shuffle` the order is a function of `seed` and the number of epochs begun, so a run repeats exactly;
    `generator` takes the seed's place where the caller keeps the random state. `sampler` or `batch_sampler` replace the
    order altogether. `collate_fn` makes a batch of a list of samples. `batch_size=None` gives single samples.

    >>> loader = lnb.data.DataLoader(lnb.data.TensorDataset(np.arange(5)), batch_size=2)
    >>> [batch.tolist() for batch, in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool = False,
                 sampler: Iterable[int] | None = None, batch_sampler: Iterable[Sequence[int]] | None = None,
                 collate_fn: Callable[[list[Any]], Any] | None = None, drop_last: bool = False, *,
                 seed: int | None = None, generator: np.random.Generator | None = None) -> None:
        if sampler is not None and shuffle:
            raise ConfigError("DataLoader: both sampler and shuffle are given. Let the sampler shuffle.")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ConfigError("DataLoader: batch_sampler comes with batch_size, shuffle, sampler or drop_last. "
                              "Leave those out.")
        self.dataset, self.collate_fn = dataset, collate_fn
        self.batch_size, self.drop_last = batch_size, drop_last
        if sampler is None:
            sampler = RandomSampler(dataset, seed, generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            return (self.dataset[index] for index in self.sampler)
        return (self.read(indices) for indices in self.batch_sampler)

    def __len__(self) -> int:
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]

    def read(self, indices: Sequence[int]) -> Any:
        """The batch of these samples."""
        if self.collate_fn is None and hasattr(self.dataset, "batch"):
            return self.dataset.batch(indices)
        return (self.collate_fn or default_collate)([self.dataset[index] for index in indices])


def default_collate(samples: Sequence[Any]) -> Any:
    """One batch of a list of samples: arrays and numbers are stacked along a new first axis, containers stay.

    >>> lnb.data.default_collate([{"x": 1}, {"x": 2}])
    {'x': tensor([1, 2])}
    """
    if not samples:
        raise ShapeError("default_collate: no samples. Give at least one.")
    first = samples[0]
    if isinstance(first, Mapping):
        _check_alike("keys", [sorted(map(str, sample)) if isinstance(sample, Mapping) else type(sample).__name__
                              for sample in samples])
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, tuple | list):
        _check_alike("length", [len(sample) if isinstance(sample, tuple | list) else type(sample).__name__
                                for sample in samples])
        parts = [default_collate(part) for part in zip(*samples, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Tensor):
        return concat([sample.reshape(1, *sample.shape) for sample in samples])
    if isinstance(first, np.ndarray | np.generic | bool | int | float | complex):
        arrays = [np.asarray(sample) for sample in samples]
        _check_alike("shape", [array.shape for array in arrays])
        return asarray(np.stack(arrays))
    raise DTypeError(f"default_collate: samples hold {type(first).__name__}. Pass collate_fn to DataLoader.")


def _check_alike(what: str, found: list[Any]) -> None:
    """Refuse samples that make no batch."""
    for other in found:
        if other != found[0]:
            raise ShapeError(f"default_collate: samples of {what} {found[0]} and {other}. Make them alike, or pass "
                             "collate_fn to DataLoader.")
