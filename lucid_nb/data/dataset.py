"""Datasets: anything with a length whose items are samples, or a stream of samples."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, IndexError, ShapeError
from .collate import default_collate, is_plain
from .streams import drawn, host_generator


class Dataset:
    """A collection of samples: subclasses give `__getitem__` and `__len__`.

    One that can read many samples at once may also give `batch(indices)`, which returns what collating the samples
    would; `DataLoader` then reads each batch in one go. `__getitems__(indices)` may give a list of samples instead.
    """

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: __getitem__ is missing. Return the sample of that index.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: __len__ is missing. Return the number of samples.")

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of samples: subclasses give `__iter__`, and `__len__` where it is known.

    Each worker of a `DataLoader` has the whole stream; `get_worker_info` says which part it should give.
    """

    __len__ = None  # type: ignore[assignment]           # a stream has no length unless its class says so

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__}: __iter__ is missing. Yield samples.")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: a stream has no sample {index!r}. Iterate over it.")

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


def samples_of(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """The samples of these indices, at once where the dataset can."""
    read = getattr(dataset, "__getitems__", None)
    return [dataset[index] for index in indices] if read is None else read(indices)


def batch_of(dataset: Any, indices: Sequence[int]) -> Any:
    """The samples of these indices as a batch, at once where the dataset can."""
    read = getattr(dataset, "batch", None)
    return default_collate(samples_of(dataset, indices)) if read is None else read(indices)


class TensorDataset(Dataset):
    """Samples that are rows of tensors of one length.

    >>> rows = lnb.data.TensorDataset([[1, 2], [3, 4], [5, 6]], [0, 1, 0])
    >>> rows[1]
    (tensor([3, 4]), tensor(1))
    """

    def __init__(self, *tensors: Any) -> None:
        self.tensors: tuple[Tensor, ...] = tuple(asarray(tensor) for tensor in tensors)
        lengths = {tensor.shape[:1] for tensor in self.tensors}
        if len(lengths) != 1 or lengths == {()}:
            raise ShapeError(f"TensorDataset: tensors of shapes {[tensor.shape for tensor in self.tensors]}. "
                             "Pass at least one, all with the same first size.")

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def batch(self, indices: Sequence[int]) -> tuple[Tensor, ...]:
        """The samples of these indices, stacked."""
        rows, count = np.asarray(indices, np.int64), len(self)
        if all(map(is_plain, self.tensors)) and (-count <= rows).all() and (rows < count).all():
            return tuple(Tensor(tensor.raw[rows]) for tensor in self.tensors)
        return tuple(tensor[rows] for tensor in self.tensors)

    def to(self, device: Any) -> "TensorDataset":
        """The same rows on another device."""
        return TensorDataset(*(tensor.to(device) for tensor in self.tensors))


class Subset(Dataset):
    """The samples of a dataset at chosen indices, in that order. Other attributes are the dataset's."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, [int(index) for index in indices]
        outside = [index for index in self.indices if not -len(dataset) <= index < len(dataset)]
        if outside:
            raise IndexError(f"Subset: index {outside[0]} of a dataset of {len(dataset)} samples. Use 0 to "
                             f"{len(dataset) - 1}.")

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return samples_of(self.dataset, [self.indices[index] for index in indices])

    def batch(self, indices: Sequence[int]) -> Any:
        """The samples of these places in the subset, as a batch."""
        return batch_of(self.dataset, [self.indices[index] for index in indices])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":         # a pickle asks before there is a dataset
            raise AttributeError(name)
        return getattr(self.dataset, name)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ShapeError("ConcatDataset: no dataset. Pass at least one.")
        streams = [type(dataset).__name__ for dataset in self.datasets if isinstance(dataset, IterableDataset)]
        if streams:
            raise ConfigError(f"ConcatDataset: {streams[0]} is a stream. Use ChainDataset.")
        self.cumulative_sizes = np.cumsum([len(dataset) for dataset in self.datasets], dtype=np.int64).tolist()

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"ConcatDataset: index {index} of {len(self)} samples. Use 0 to {len(self) - 1}.")
        number = int(np.searchsorted(self.cumulative_sizes, place, "right"))
        return self.datasets[number][place - self.cumulative_sizes[number] + len(self.datasets[number])]

    def __len__(self) -> int:
        return int(self.cumulative_sizes[-1])


class StackDataset(Dataset):
    """Datasets side by side: a sample holds one of each, in a tuple, or in a dict where they are named.

    >>> lnb.data.StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ConfigError("StackDataset: datasets by place and by name, or none. Pass them in one way.")
        self.datasets: Any = args or kwargs
        lengths = [len(part) for part in args or kwargs.values()]
        if len(set(lengths)) != 1:
            raise ShapeError(f"StackDataset: datasets of {lengths} samples. Make them of one length.")

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values())) if isinstance(self.datasets, dict) else self.datasets[0])


class ChainDataset(IterableDataset):
    """Streams one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return (sample for part in self.datasets for sample in part)

    def __len__(self) -> int:  # type: ignore[override]
        return sum(len(part) for part in self.datasets)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None, *,
                 seed: int | None = None) -> list[Subset]:
    """Disjoint random subsets: of these lengths, or of these fractions of the whole (the rest is dealt from the front).

    `generator`, or a seed, says which; without one the library's random state. ShapeError for lengths that do not sum
    to the number of samples.

    >>> [len(part) for part in lnb.data.random_split(range(10), [0.75, 0.25], seed=0)]
    [8, 2]
    """
    if seed is not None and generator is not None:
        raise ConfigError("random_split: both seed and generator are given. Pass one of them.")
    counts = split_counts(len(dataset), lengths)
    given = seed if generator is None else generator
    source = np.random.default_rng(drawn()) if given is None else host_generator("random_split", given)
    order = source.permutation(len(dataset))
    ends = np.cumsum(counts)
    return [Subset(dataset, order[end - count:end].tolist()) for count, end in zip(counts, ends)]


def split_counts(total: int, lengths: Sequence[float]) -> list[int]:
    """How many samples each subset gets."""
    if all(isinstance(length, int | np.integer) for length in lengths):
        counts = [int(length) for length in lengths]
    else:
        counts = [int(total * length) for length in lengths]
        if abs(sum(lengths) - 1) < 1e-6:
            for number in range(total - sum(counts)):
                counts[number % len(counts)] += 1
    if sum(counts) != total or any(count < 0 for count in counts):
        raise ShapeError(f"random_split: lengths {list(lengths)} do not split {total} samples. Pass counts that sum to "
                         f"{total}, or fractions that sum to 1.")
    return counts
