"""DataLoader. Oracle: the same batches cut by hand."""

import itertools
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    SequentialSampler,
    TensorDataset,
    default_collate,
    default_convert,
)

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


class Letters(IterableDataset):
    """A stream with a length."""

    def __iter__(self):
        return iter("abcde")

    def __len__(self):
        return 5


@pytest.mark.parametrize(("options", "batches"), [
    (dict(batch_size=2), [["a", "b"], ["c", "d"], ["e"]]), (dict(batch_size=None), list("abcde")),
    (dict(batch_size=2, drop_last=True), [["a", "b"], ["c", "d"]])], ids=["batches", "samples", "drop_last"])
def test_loader_cuts_streams(options, batches):
    loader = DataLoader(Letters(), **options)
    assert list(loader) == batches and len(loader) == len(batches)


def test_loader_follows_the_library_seed_and_goes_back_to_an_epoch():
    """lucid's shuffle is not governed by lucid.random.seed."""
    def run(seed):
        lnb.random.seed(seed)
        loader = DataLoader(range(50), 10, shuffle=True)
        return [[batch.tolist() for batch in loader] for _ in range(2)]
    first = run(3)
    assert run(3) == first != run(4) and first[0] != first[1]
    assert lnb.random.rand() == pytest.approx(np.random.RandomState(4).rand())       # NumPy's state is as it was
    loader = DataLoader(range(50), 50, shuffle=True, seed=2)
    orders = [next(iter(loader)).tolist() for _ in range(3)]
    loader.epoch = 1
    assert next(iter(loader)).tolist() == orders[1]


@pytest.mark.parametrize("generator", [np.random.default_rng, lnb.random.default_rng], ids=["numpy", "library"])
def test_loader_takes_generators(generator):
    first, second = [[batch.tolist() for batch in DataLoader(range(9), 2, shuffle=True, generator=generator(5))]
                     for _ in range(2)]
    assert first == second and sorted(itertools.chain(*first)) == list(range(9))


@pytest.mark.parametrize(("options", "text"), [
    (dict(num_workers=-1), "num_workers is -1"), (dict(prefetch_factor=2), ".* without workers"),
    (dict(timeout=5), ".* without workers"), (dict(persistent_workers=True), ".* without workers"),
    (dict(num_workers=1, timeout=-1), "timeout is -1"),
    (dict(num_workers=1, prefetch_factor=0), "prefetch_factor is 0"), (dict(sampler=sum), "sampler is"),
    (dict(batch_size=0), "batch_size is 0"), (dict(seed=-1), "seed is -1"),
    (dict(batch_size=None, drop_last=True), "drop_last without batches"), (dict(generator=1.5), "generator is 1.5"),
    (dict(pin_memory_device="tpu"), "pin_memory_device is 'tpu'")], ids=str)
def test_loader_refuses_arguments(options, text):
    with pytest.raises(lnb.ConfigError, match=f"^DataLoader: {text}"):
        DataLoader(range(3), **options)


def test_loader_refuses_an_order_for_a_stream():
    with pytest.raises(lnb.ConfigError, match="a stream has its own order"):
        DataLoader(Letters(), shuffle=True)


@pytest.mark.skipif(lnb.backend.is_usable("cuda"), reason="there is a cuda")
def test_pinning_without_cuda_warns():
    with pytest.warns(RuntimeWarning, match="pin_memory is of no use here"):
        loader = DataLoader(np.arange(3), pin_memory=True)
    assert len(list(loader)) == 3


@pytest.mark.cuda_simulator
def test_pinning_gives_the_same_batches_in_memory_that_is_used_again():
    loader = DataLoader([{"x": np.float32([number, 2]), "name": "a"} for number in range(3)], pin_memory=True)
    for number, batch in enumerate(loader):
        assert batch["x"].tolist() == [[number, 2]] and batch["x"].device == "cpu" and batch["name"] == ["a"]
        assert batch["x"].to("cuda").to("cpu").tolist() == [[number, 2]]


class Bag(dict):
    """A dict of a kind of its own."""


def test_default_collate_keeps_mappings_and_refuses_mixtures():
    batch = default_collate([Bag(a=1, b="x"), Bag(a=2, b="y")])
    assert type(batch) is Bag and batch["a"].tolist() == [1, 2] and batch["b"] == ["x", "y"]
    counts = default_collate([defaultdict(list, a=[1, 2.5])] * 2)
    assert counts.default_factory is list and counts["a"][1].tolist() == [2.5, 2.5]
    with pytest.raises(lnb.ShapeError, match="samples of type Tensor and int"):
        default_collate([lnb.ones(2), 3])
    with pytest.raises(lnb.ShapeError, match=r"samples of shape \(2,\) and \(3,\)"):
        default_collate([lnb.ones(2), lnb.ones(3)])


def test_default_collate_of_tensors_keeps_gradients():
    x, y = lnb.ones(2, requires_grad=True), lnb.zeros(2)
    default_collate([x, y]).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_default_convert_makes_tensors_of_arrays():
    image, (text, number) = default_convert((np.ones((2, 2), np.float32), ["a", 1]))
    assert isinstance(image, lnb.Tensor) and image.dtype == np.float32 and (text, number) == ("a", 1)


def test_loader_collates_as_torch_does():
    torch_data = pytest.importorskip("torch.utils.data", reason="torch is the oracle")
    samples = [{"x": np.float32([1, number]), "y": (number, number / 2), "z": [True, "a"]} for number in range(5)]
    for ours, theirs in zip(DataLoader(samples, 2), torch_data.DataLoader(samples, 2)):
        assert ours["x"].tolist() == theirs["x"].tolist() and ours["z"][1] == list(theirs["z"][1])
        assert [part.tolist() for part in ours["y"]] == [part.tolist() for part in theirs["y"]]
        assert [str(part.dtype) for part in ours["y"]] == [str(part.dtype)[6:] for part in theirs["y"]]
        assert ours["z"][0].tolist() == theirs["z"][0].tolist()


def test_a_stream_of_unknown_length_says_so():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(5))
    loader = DataLoader(Stream(), 2)
    with pytest.raises(lnb.DTypeError, match="DataLoader: the stream Stream has no length"):
        len(loader)
    assert [batch.tolist() for batch in list(loader)] == [[0, 1], [2, 3], [4]]        # list asks for the length, too
