"""Datasets. Oracle: plain Python lists and NumPy indexing."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import ConcatDataset, Dataset, Subset, TensorDataset, random_split


class Squares(Dataset):
    """i -> i * i, for the base class."""

    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return index * index

    def __len__(self):
        return self.count


def test_dataset_iterates_over_its_items():
    assert list(Squares(4)) == [0, 1, 4, 9]


@pytest.mark.parametrize("call", [lambda d: d[0], len])
def test_dataset_without_methods_says_which_is_missing(call):
    with pytest.raises(NotImplementedError, match="is missing"):
        call(Dataset())


def test_tensor_dataset_gives_rows_and_batches():
    images, labels = np.arange(12.0).reshape(4, 3), np.array([3, 1, 0, 2])
    rows = TensorDataset(images, labels)
    assert len(rows) == 4
    image, label = rows[2]
    assert np.array_equal(image.numpy(), images[2]) and label.item() == 0
    batch = rows.batch([3, 0, 3])
    assert np.array_equal(batch[0].numpy(), images[[3, 0, 3]]) and batch[1].tolist() == [2, 3, 2]


@pytest.mark.parametrize("tensors", [(), (np.ones(2), np.ones(3)), (np.float32(1),)])
def test_tensor_dataset_of_unequal_lengths_is_refused(tensors):
    with pytest.raises(lnb.ShapeError, match="TensorDataset: "):
        TensorDataset(*tensors)


def test_subset_and_concat_read_the_right_samples():
    squares, both = Squares(5), Squares(3) + Squares(2)
    assert list(Subset(squares, [4, 0])) == [16, 0]
    assert isinstance(both, ConcatDataset) and list(both) == [0, 1, 4, 0, 1]
    assert both[-1] == 1 and both[-5] == 0


@pytest.mark.parametrize("index", [5, -6])
def test_concat_and_subset_refuse_indices_outside(index):
    with pytest.raises(lnb.IndexError, match="of 5 samples"):
        (Squares(3) + Squares(2))[index]
    with pytest.raises(lnb.IndexError, match="of 5 samples"):
        Subset(Squares(3) + Squares(2), [index])


@pytest.mark.parametrize(("lengths", "counts"), [([7, 3], [7, 3]), ([0.7, 0.3], [7, 3]), ([0.55, 0.45], [6, 4]),
                                                 ([1.0], [10])])
def test_random_split_partitions_the_samples(lengths, counts):
    parts = random_split(Squares(10), lengths, seed=1)
    assert [len(part) for part in parts] == counts
    assert sorted(value for part in parts for value in part) == [i * i for i in range(10)]


def test_random_split_repeats_with_its_seed():
    first, second, other = (random_split(range(50), [25, 25], seed=seed)[0].indices for seed in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize("lengths", [[7, 4], [0.5, 0.6], [12, -2]])
def test_random_split_refuses_lengths_that_do_not_sum_up(lengths):
    with pytest.raises(lnb.ShapeError, match="random_split: lengths"):
        random_split(range(10), lengths)
