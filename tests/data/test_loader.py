"""DataLoader. Oracle: the same batches cut by hand."""

from typing import NamedTuple

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset, default_collate

ROWS = np.arange(20.0).reshape(10, 2)
LABELS = np.arange(10)


def batches_of(loader):
    return [tuple(part.tolist() for part in batch) for batch in loader]


def test_loader_in_order_gives_all_rows():
    loader = DataLoader(TensorDataset(ROWS, LABELS), batch_size=4)
    assert batches_of(loader) == [(ROWS[i:i + 4].tolist(), LABELS[i:i + 4].tolist()) for i in (0, 4, 8)]
    assert len(loader) == 3


def test_loader_drops_the_short_batch():
    loader = DataLoader(TensorDataset(ROWS), 4, drop_last=True)
    assert len(loader) == 2 and [len(batch[0]) for batch in loader] == [4, 4]


def test_loader_shuffles_rows_together_and_repeats_with_its_seed():
    loaders = [DataLoader(TensorDataset(ROWS, LABELS), 3, shuffle=True, seed=7) for _ in range(2)]
    epochs = [[batches_of(loader) for _ in range(2)] for loader in loaders]
    assert epochs[0] == epochs[1] and epochs[0][0] != epochs[0][1]
    pairs = [pair for rows, labels in epochs[0][0] for pair in zip(rows, labels)]
    assert sorted(label for _, label in pairs) == LABELS.tolist()
    assert all(row == ROWS[label].tolist() for row, label in pairs)


def test_loader_of_any_sequence_collates_samples():
    loader = DataLoader([(i, {"square": i * i}) for i in range(3)], batch_size=2)
    first, last = list(loader)
    assert first[0].tolist() == [0, 1] and first[1]["square"].tolist() == [0, 1]
    assert last[0].tolist() == [2]


def test_loader_uses_collate_fn_sampler_and_batch_sampler():
    assert list(DataLoader(range(5), 2, collate_fn=sum)) == [1, 5, 4]
    assert list(DataLoader(range(5), 2, sampler=[4, 0, 2], collate_fn=list)) == [[4, 0], [2]]
    by_three = BatchSampler(SequentialSampler(range(5)), 3)
    assert list(DataLoader(range(5), batch_sampler=by_three, collate_fn=list)) == [[0, 1, 2], [3, 4]]


def test_loader_without_batch_size_gives_samples():
    loader = DataLoader(range(3), batch_size=None)
    assert list(loader) == [0, 1, 2] and len(loader) == 3


def test_loader_can_be_iterated_twice_at_once():
    loader = DataLoader(range(3), 1, collate_fn=lambda samples: samples[0])
    assert [(a, b) for a in loader for b in loader] == [(a, b) for a in range(3) for b in range(3)]


@pytest.mark.parametrize("options", [dict(shuffle=True, sampler=[0]), dict(batch_sampler=[[0]], batch_size=2),
                                     dict(batch_sampler=[[0]], drop_last=True)])
def test_loader_refuses_contradictions(options):
    with pytest.raises(lnb.ConfigError, match="DataLoader: "):
        DataLoader(range(3), **options)


class Sample(NamedTuple):
    """A named tuple keeps its type."""

    image: np.ndarray
    name: str


def test_default_collate_keeps_containers_and_stacks_leaves():
    batch = default_collate([Sample(np.ones(2), "a"), Sample(np.zeros(2), "b")])
    assert isinstance(batch, Sample) and batch.name == ["a", "b"]
    assert batch.image.tolist() == [[1, 1], [0, 0]]
    assert default_collate([lnb.tensor([1, 2]), lnb.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert default_collate([True, False]).dtype == bool


def test_default_collate_refuses_what_it_does_not_know():
    with pytest.raises(lnb.DTypeError, match="collate_fn"):
        default_collate([object()])


@pytest.mark.parametrize("samples, text", [
    ([{"x": 1}, {"y": 1}], r"samples of keys \['x'\] and \['y'\]"), ([{"x": 1}, 3], r"keys \['x'\] and int"),
    ([(1, 2), (1,)], "samples of length 2 and 1"), ([np.ones(2), np.ones(3)], r"samples of shape \(2,\) and \(3,\)")])
def test_default_collate_refuses_unlike_samples(samples, text):
    with pytest.raises(lnb.ShapeError, match=text):
        next(iter(lnb.data.DataLoader(samples, batch_size=2)))
