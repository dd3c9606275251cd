"""Datasets: anything with a length whose items are samples."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import IndexError, ShapeError


class Dataset:
    """A collection of samples: subclasses give `__getitem__` and `__len__`.

    One that can read many samples at once may also give `batch(indices)`, which returns what collating the samples
    would; `DataLoader` then reads each batch in one go.
    """

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: __getitem__ is missing. Return the sample of that index.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: __len__ is missing. Return the number of samples.")

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


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
        rows = np.asarray(indices, np.int64)
        return tuple(tensor[rows] for tensor in self.tensors)

    def to(self, device: Any) -> "TensorDataset":
        """The same rows on another device."""
        return TensorDataset(*(tensor.to(device) for tensor in self.tensors))


class Subset(Dataset):
    """The samples of a dataset at chosen indices, in that order."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, [int(index) for index in indices]
        outside = [index for index in self.indices if not -len(dataset) <= index < len(dataset)]
        if outside:
            raise IndexError(f"Subset: index {outside[0]} of a dataset of {len(dataset)} samples. Use 0 to "
                             f"{len(dataset) - 1}.")

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self.datasets = list(datasets)
        self.ends = np.cumsum([len(dataset) for dataset in self.datasets], dtype=np.int64)
        if not self.datasets:
            raise ShapeError("ConcatDataset: no dataset. Pass at least one.")

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"ConcatDataset: index {index} of {len(self)} samples. Use 0 to {len(self) - 1}.")
        number = int(np.searchsorted(self.ends, place, "right"))
        return self.datasets[number][place - int(self.ends[number]) + len(self.datasets[number])]

    def __len__(self) -> int:
        return int(self.ends[-1])


def random_split(dataset: Dataset, lengths: Sequence[float], seed: int | None = None) -> list[Subset]:
    """Disjoint random subsets: of these lengths, or of these fractions of the whole (the rest is dealt from the front).

    >>> [len(part) for part in lnb.data.random_split(range(10), [0.75, 0.25], seed=0)]
    [8, 2]
    """
    counts = split_counts(len(dataset), lengths)
    order = np.random.default_rng(seed).permutation(len(dataset))
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
