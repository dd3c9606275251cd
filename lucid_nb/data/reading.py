"""How a loader reads: batches of a dataset by indices, or of a stream one after the other."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from .collate import default_collate, default_convert
from .dataset import IterableDataset, batch_of, samples_of


class Reader:
    """A dataset and what is made of its samples; the same in a worker and without one."""

    def __init__(self, dataset: Any, collate_fn: Callable[[Any], Any] | None, batch_size: int | None,
                 drop_last: bool, is_batched: bool) -> None:
        self.dataset, self.collate_fn = dataset, collate_fn
        self.batch_size, self.drop_last, self.is_batched = batch_size, drop_last, is_batched
        self.is_stream = isinstance(dataset, IterableDataset)

    def read(self, indices: Any) -> Any:
        """The batch of these samples; where there are no batches, the sample of this index."""
        if not self.is_batched:
            return (self.collate_fn or default_convert)(self.dataset[indices])
        if self.collate_fn is None:
            return batch_of(self.dataset, indices)
        return self.collate_fn(samples_of(self.dataset, indices))

    def stream(self) -> Iterator[Any]:
        """The batches of a stream, or its samples where there are no batches."""
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn or default_convert, samples)
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield (self.collate_fn or default_collate)(batch)
