"""Connectionist temporal classification: all paths counted one by one, PyTorch, finite differences."""

from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import assert_close, check_grad


def log_shares(*shape, seed=0):
    """Logarithms of what sums to 1 along the last axis."""
    x = np.random.default_rng(seed).standard_normal(shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def counted(log_probs, labels, blank):
    """-log of the summed probability of all paths that say the labels."""
    total, classes = 0.0, range(log_probs.shape[1])
    for path in product(classes, repeat=len(log_probs)):
        if [said for said, _ in groupby(path) if said != blank] == list(labels):
            total += np.exp(sum(log_probs[step, said] for step, said in enumerate(path)))
    return -np.log(total) if total else np.inf


@given(data=st.data())
def test_loss_is_that_of_all_paths(data):
    steps, classes, blank = data.draw(st.integers(1, 5)), 3, data.draw(st.integers(0, 2))
    others = [label for label in range(classes) if label != blank]
    rows = data.draw(st.lists(st.lists(st.sampled_from(others), max_size=3), min_size=1, max_size=3))
    lengths = [data.draw(st.integers(0, steps)) for _ in rows]
    x, counts = log_shares(steps, len(rows), classes), [len(row) for row in rows]
    wanted = [counted(x[:length, i], row, blank) for i, (row, length) in enumerate(zip(rows, lengths))]
    padded = np.full((len(rows), 3), -5)                             # what lies beyond the labels is not read
    for row, line in zip(rows, padded):
        line[:len(row)] = row
    joined = np.array([label for row in rows for label in row], np.int64)
    for targets in (padded, joined):
        found = F.ctc_loss(x, targets, lengths, counts, blank, "none")
        assert_close(found, np.array(wanted), rtol=1e-12, atol=1e-14)


CASES = {"plain": ((6, 3), (3, 2)), "short": ((4, 5), (3, 1)), "nothing said": ((6, 2), (0, 0)),
         "too few steps": ((6, 2), (3, 3))}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_and_gradients_of_logits_equal_torch(dtype, case, zero_infinity, reduction):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    lengths, counts = CASES[case]
    logits = np.random.default_rng(3).standard_normal((6, 2, 5)).astype(dtype)
    targets = np.array([[1, 3, 3], [2, 2, 4]])
    ours, theirs = lnb.tensor(logits, requires_grad=True), torch.tensor(logits, requires_grad=True)
    options = dict(reduction=reduction, zero_infinity=zero_infinity)
    found = nn.CTCLoss(**options)(F.log_softmax(ours, -1), targets, lengths, counts)
    wanted = torch.nn.CTCLoss(**options)(theirs.log_softmax(-1), torch.tensor(targets), lengths, counts)
    tolerance = 1e-5 if dtype == "float32" else 1e-11
    assert_close(found.detach(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)
    found.sum().backward()
    wanted.sum().backward()
    slope = theirs.grad.numpy()
    kept = ~np.isnan(slope)                                          # torch's where no path is long enough; ours is 0
    assert_close(ours.grad.numpy()[kept], slope[kept], rtol=10 * tolerance, atol=tolerance)
    assert not ours.grad.numpy()[~kept].any() and (case == "too few steps" or kept.all())


def test_one_example_needs_no_batch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x = log_shares(6, 4)
    for reduction in ("mean", "sum", "none"):
        found = F.ctc_loss(x, [1, 2, 2], 6, 3, reduction=reduction)
        wanted = torch.nn.functional.ctc_loss(torch.tensor(x), torch.tensor([1, 2, 2]), torch.tensor(6),
                                              torch.tensor(3), reduction=reduction)
        assert found.shape == tuple(wanted.shape)
        assert found.item() == pytest.approx(wanted.item(), rel=1e-12)


def test_gradients_to_second_order():
    check_grad(lambda x: F.ctc_loss(x, [[1, 1], [2, 1]], [4, 3], [2, 1]), log_shares(4, 2, 3))


def test_certain_labels_cost_nothing():
    x = np.full((4, 1, 3), -np.inf)
    x[[0, 1, 2, 3], 0, [1, 0, 1, 2]] = 0
    leaf = lnb.tensor(x, requires_grad=True)
    loss = F.ctc_loss(leaf, [[1, 1, 2]], [4], [3], reduction="sum")
    loss.backward()
    assert loss.item() == 0 and leaf.grad.numpy()[x == 0].tolist() == [-1] * 4 and not leaf.grad.numpy()[x != 0].any()


@pytest.mark.parametrize("device", ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_other_devices_give_the_same(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    x, found = log_shares(3, 2, 3).astype(np.float32), []
    for place in ("cpu", device):
        leaf = lnb.tensor(x, device=place, requires_grad=True)
        loss = F.ctc_loss(leaf, [[1], [2]], [3, 2], [1, 1])
        loss.backward()
        found.append([loss.item(), leaf.grad.to("cpu").numpy()])
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    assert_close(found[0][1], found[1][1], rtol=1e-5, atol=1e-6)


X = log_shares(4, 2, 3)


@pytest.mark.parametrize(("given", "kind", "text"), [
    ((X, [[1], [2]], [5, 1], [1, 1]), errors.ShapeError, r"input_lengths \[5, 1\] of 4 steps"),
    ((X, [[1], [2]], [4, 4], [1, 2]), errors.ShapeError, r"targets of shape \(2, 1\) for target_lengths \[1, 2\]"),
    ((X, [1, 2], [4, 4], [2, 2]), errors.ShapeError, r"targets of shape \(2,\)"),
    ((X, [[1], [2]], [4], [1, 1]), errors.ShapeError, "1 input_lengths and 2 target_lengths for 2 examples"),
    ((X, [[1], [3]], [4, 4], [1, 1]), errors.IndexError, "targets from 1 to 3 among 3 classes"),
    ((X, [[1], [2]], [4, 4], [1, 1], 3), errors.IndexError, "blank 3 among 3 classes"),
    ((X, [[1.5], [2]], [4, 4], [1, 1]), errors.DTypeError, "targets of float64"),
    ((X[0, 0], [1], [4], [1]), errors.ShapeError, r"log_probs of shape \(3,\)"),
    ((X[:, :0], np.ones((0, 1), int), [], []), errors.ShapeError, r"log_probs of shape \(4, 0, 3\)"),
    ((X, [[1], [2]], [4, 4], [1, 1], 0, "median"), errors.ConfigError, "median")], ids=str)
def test_wrong_arguments_are_refused(given, kind, text):
    with pytest.raises(kind, match=text):
        F.ctc_loss(*given)
