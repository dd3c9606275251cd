"""Datasets. Oracle: plain Python lists and NumPy indexing."""

import pickle

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


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
    weights = lnb.ones(4, requires_grad=True)
    TensorDataset(weights).batch([1, 1, -1])[0].sum().backward()
    assert weights.grad.tolist() == [0, 2, 0, 1]
    with pytest.raises(lnb.IndexError):
        rows.batch([0, 4])


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


class Upto(IterableDataset):
    """A stream without a length."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


def test_streams_are_chained_and_have_no_samples_by_index():
    both = Upto(2) + Upto(3)
    assert isinstance(both, ChainDataset) and list(both) == [0, 1, 0, 1, 2]
    with pytest.raises(TypeError):
        len(Upto(2))
    with pytest.raises(NotImplementedError, match="Iterate over it"):
        Upto(2)[0]
    with pytest.raises(NotImplementedError, match="__iter__ is missing"):
        iter(IterableDataset())
    with pytest.raises(lnb.ConfigError, match="Use ChainDataset"):
        ConcatDataset([Squares(2), Upto(2)])


def test_stack_dataset_puts_samples_side_by_side():
    assert StackDataset(Squares(3), "abc")[2] == (4, "c") and len(StackDataset(Squares(3), "abc")) == 3
    assert list(StackDataset(x=Squares(2), y="ab")) == [{"x": 0, "y": "a"}, {"x": 1, "y": "b"}]
    with pytest.raises(lnb.ShapeError, match=r"datasets of \[3, 2\] samples"):
        StackDataset(Squares(3), "ab")
    with pytest.raises(lnb.ConfigError, match="by place and by name, or none"):
        StackDataset()


class ManyAtOnce(Squares):
    """A dataset that reads many samples at once."""

    classes = ("even", "odd")

    def __getitems__(self, indices):
        self.asked = list(indices)
        return [index * index for index in indices]


def test_subset_reads_many_at_once_and_has_the_other_attributes():
    whole = ManyAtOnce(6)
    part = Subset(whole, [5, 3, 1])
    assert [batch.tolist() for batch in DataLoader(part, 2)] == [[25, 9], [1]] and whole.asked == [1]
    assert part.classes == ("even", "odd") and pickle.loads(pickle.dumps(Subset(range(3), [1])))[0] == 1
    with pytest.raises(AttributeError):
        part.nothing  # noqa: B018
    rows = Subset(TensorDataset(np.arange(5)), [4, 0])
    assert [batch.tolist() for batch, in DataLoader(rows, 2)] == [[4, 0]]


def test_random_split_takes_a_generator_and_follows_the_library_seed():
    def run(seed):
        lnb.random.seed(seed)
        return random_split(range(40), [20, 20])[0].indices
    assert run(1) == run(1) != run(2)
    expected = np.random.default_rng(4).permutation(6)[:3].tolist()
    for generator in (np.random.default_rng(4), lnb.random.default_rng(4), 4):
        assert random_split(range(6), [3, 3], generator)[0].indices == expected
    with pytest.raises(lnb.ConfigError, match="both seed and generator"):
        random_split(range(6), [3, 3], 4, seed=4)


def test_packages_are_found_where_lucid_has_them():
    assert lnb.transforms is lnb.data.transforms and lnb.datasets is lnb.data.datasets
    assert {"transforms", "datasets", "onnx", "amp", "register_model"} <= {*dir(lnb)}
