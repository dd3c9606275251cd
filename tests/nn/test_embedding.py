"""Embeddings and bags of them: NumPy, PyTorch where it is installed, finite differences."""

from itertools import pairwise

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.kernels import threads
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(8)
TABLE = RNG.standard_normal((6, 3))
NUMBERS, FLAT, OFFSETS = RNG.integers(0, 6, (4, 5)), RNG.integers(0, 6, 12), np.array([0, 3, 3, 8])
OPTIONS = [{}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True},
           {"padding_idx": 0, "scale_grad_by_freq": True}]


def dense_gradient(numbers, g, padding_idx=None, scale_grad_by_freq=False):
    total, counts = np.zeros_like(TABLE), np.bincount(numbers.ravel(), minlength=6)
    for row, slope in zip(numbers.ravel(), g.reshape(-1, 3)):
        if padding_idx is None or row != padding_idx % 6:
            total[row] += slope / (counts[row] if scale_grad_by_freq else 1)
    return total


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows_and_their_gradient(options):
    weight, g = lnb.tensor(TABLE, requires_grad=True), RNG.standard_normal((4, 5, 3))
    out = F.embedding(NUMBERS, weight, **options)
    out.backward(lnb.tensor(g))
    np.testing.assert_array_equal(out.detach().numpy(), TABLE[NUMBERS])
    np.testing.assert_allclose(weight.grad.numpy(), dense_gradient(NUMBERS, g, **options), rtol=1e-12, atol=1e-12)


def test_gradients_to_second_order():
    check_grad(lambda weight: F.embedding(NUMBERS, weight) ** 2, TABLE)
    check_grad(lambda weight: F.embedding_bag(FLAT, weight, OFFSETS) ** 2, TABLE)
    check_grad(lambda weight, factors: F.embedding_bag(FLAT, weight, OFFSETS, mode="sum", per_sample_weights=factors),
               TABLE, RNG.standard_normal(12))


def test_long_rows_are_shortened_in_place():
    for order in (1.0, 2.0, 3.0):
        weight = lnb.tensor(TABLE)
        out = F.embedding([1, 3, 1], weight, max_norm=0.5, norm_type=order)
        norms = np.linalg.norm(TABLE, order, axis=1)
        expected = TABLE.copy()
        for row in (1, 3):
            expected[row] *= min(1, 0.5 / (norms[row] + 1e-7))
        np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(out.numpy(), expected[[1, 3, 1]], rtol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 4])
def test_bags(mode, padding):
    edges = [*OFFSETS, 12]
    expected = np.zeros((4, 3))
    for bag, (start, stop) in enumerate(pairwise(edges)):
        rows = TABLE[[row for row in FLAT[start:stop] if row != padding]]
        if len(rows):
            expected[bag] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, axis=0)
    for offsets, options in ((OFFSETS, {}), (edges, {"include_last_offset": True})):
        found = F.embedding_bag(FLAT, TABLE, offsets, mode=mode, padding_idx=padding, **options).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    rows = F.embedding_bag(NUMBERS, TABLE, mode=mode).numpy()
    np.testing.assert_allclose(rows, {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](TABLE[NUMBERS], axis=1))


@pytest.mark.parametrize("options", [*OPTIONS, {"max_norm": 1.0, "padding_idx": 1}], ids=str)
def test_layers_as_in_pytorch(options):
    torch = pytest.importorskip("torch")
    for ours, theirs, given in (
            (nn.Embedding(6, 3, **options), torch.nn.Embedding(6, 3, **options), (NUMBERS,)),
            (nn.EmbeddingBag(6, 3, **options), torch.nn.EmbeddingBag(6, 3, **options), (FLAT, OFFSETS)),
            (nn.EmbeddingBag(6, 3, mode="max", padding_idx=3),
             torch.nn.EmbeddingBag(6, 3, mode="max", padding_idx=3), (FLAT, OFFSETS))):
        assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
        if ours.padding_idx is not None:
            assert not ours.weight.detach().numpy()[ours.padding_idx].any()
        ours.load_state_dict({"weight": theirs.weight.detach().numpy().copy()})
        out, wanted = ours(*given), theirs(*map(torch.tensor, given))
        (out ** 2).sum().backward(), (wanted ** 2).sum().backward()
        np.testing.assert_allclose(out.detach().numpy(), wanted.detach().numpy(), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=1e-6)
        # PyTorch divides the gradients of bags by the frequencies of other rows: it takes the i-th of the sorted
        # numbers for the i-th different one (2.13, EmbeddingBag.cpp).
        if not (isinstance(ours, nn.EmbeddingBag) and ours.scale_grad_by_freq):
            np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), rtol=1e-6, atol=1e-6)


def test_pretrained_tables():
    layer = nn.Embedding.from_pretrained(TABLE)
    assert not layer.weight.requires_grad and layer.weight.dtype == np.float64
    np.testing.assert_array_equal(layer([5, 0]).numpy(), TABLE[[5, 0]])
    layer = nn.EmbeddingBag.from_pretrained(TABLE, freeze=False, mode="sum")
    assert layer.weight.requires_grad
    np.testing.assert_allclose(layer([[5, 0]]).detach().numpy(), TABLE[5:] + TABLE[:1])
    assert layer.weight.detach().numpy() is not TABLE


def test_gradient_has_the_same_bits_for_any_number_of_threads():
    numbers, g = RNG.integers(0, 50, 4000), RNG.standard_normal((4000, 64)).astype(np.float32)
    before, found = threads.num_threads(), set()
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            weight = lnb.tensor(np.zeros((50, 64), np.float32), requires_grad=True)
            F.embedding(numbers, weight, padding_idx=3).backward(lnb.tensor(g))
            found.add(weight.grad.numpy().tobytes())
    finally:
        threads.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_other_devices_give_the_same(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    weight = lnb.tensor(TABLE.astype(np.float32), device=device, requires_grad=True)
    out = F.embedding(NUMBERS, weight, padding_idx=2)
    out.sum().backward()
    np.testing.assert_array_equal(out.detach().to("cpu").numpy(), TABLE.astype(np.float32)[NUMBERS])
    expected = dense_gradient(NUMBERS, np.ones((4, 5, 3)), 2)
    np.testing.assert_array_equal(weight.grad.to("cpu").numpy(), expected)
    means = F.embedding_bag(FLAT, weight.detach(), OFFSETS).to("cpu").numpy()
    np.testing.assert_allclose(means, F.embedding_bag(FLAT, TABLE, OFFSETS).numpy(), rtol=1e-6)


def test_nothing_in_gives_nothing_out():
    assert F.embedding(np.zeros((0, 4), int), TABLE).shape == (0, 4, 3)
    assert F.embedding(np.zeros((2, 0), int), TABLE, scale_grad_by_freq=True).shape == (2, 0, 3)
    assert F.embedding_bag(np.zeros(0, int), TABLE, [0, 0]).tolist() == [[0.0] * 3] * 2


WRONG = [
    (lambda: F.embedding([6], TABLE), errors.IndexError, "6 is no row"),
    (lambda: F.embedding([-1], TABLE), errors.IndexError, "-1 is no row"),
    (lambda: F.embedding([0.5], TABLE), errors.IndexError, "Use integers"),
    (lambda: F.embedding([0], TABLE[0]), errors.ShapeError, "must be"),
    (lambda: F.embedding([0], TABLE, padding_idx=6), errors.ConfigError, "padding_idx is 6"),
    (lambda: nn.Embedding(3, -1), errors.ShapeError, "0 or more"),
    (lambda: nn.Embedding(3, 2, _weight=TABLE), errors.ShapeError, r"must be \(3, 2\)"),
    (lambda: nn.Embedding.from_pretrained(TABLE[0]), errors.ShapeError, "rows, features"),
    (lambda: F.embedding_bag(FLAT, TABLE), errors.ShapeError, "offsets are missing"),
    (lambda: F.embedding_bag(NUMBERS, TABLE, OFFSETS), errors.ShapeError, "A row is a bag"),
    (lambda: F.embedding_bag(FLAT, TABLE, [1, 2]), errors.ShapeError, "begin with 0"),
    (lambda: F.embedding_bag(FLAT, TABLE, [0, 5, 2]), errors.ShapeError, "not fall"),
    (lambda: F.embedding_bag(FLAT, TABLE, OFFSETS, mode="median"), errors.ConfigError, "mode 'median'"),
    (lambda: F.embedding_bag(FLAT, TABLE, OFFSETS, per_sample_weights=np.ones(12)), errors.ConfigError, "mode='sum'"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_arguments_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
