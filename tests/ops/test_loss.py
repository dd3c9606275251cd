"""Cross entropy against its definition by SciPy's log_softmax; gradients against finite differences."""

import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(14)
LOGITS, TARGET = RNG.standard_normal((5, 4)) * 2, np.array([0, 3, -100, 1, 2])


def definition(logits, target, ignore_index=-100, reduction="mean"):
    """Minus the log probability of the target class; classes on axis 1."""
    rows = np.moveaxis(scipy.special.log_softmax(logits.astype("float64"), axis=1), 1, -1)
    counted = target != ignore_index
    losses = -np.take_along_axis(rows, np.where(counted, target, 0)[..., None], -1)[..., 0] * counted
    return losses if reduction == "none" else losses.sum() / (max(counted.sum(), 1) if reduction == "mean" else 1)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_value_follows_the_definition(reduction, device):
    logits = LOGITS.astype("float32")
    found = lnb.cross_entropy(lnb.asarray(logits, device=device), lnb.asarray(TARGET, device=device),
                              reduction=reduction)
    assert found.dtype == np.float32
    assert_close(found, definition(logits, TARGET, reduction=reduction), rtol=2e-6, atol=1e-7)


def test_another_index_can_be_ignored():
    target = np.array([0, 3, 1, 1, 2])
    assert_close(lnb.cross_entropy(LOGITS, target, ignore_index=1), definition(LOGITS, target, 1), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
def test_target_may_be_any_integer(dtype):
    target = np.array([0, 3, 1, 1, 2], dtype)
    assert_close(lnb.cross_entropy(LOGITS, target), definition(LOGITS, target.astype(int)), rtol=1e-14)


def test_one_example_and_several_axes():
    images, classes = RNG.standard_normal((2, 3, 2, 4)), RNG.integers(0, 3, (2, 2, 4))
    assert_close(lnb.cross_entropy(images, classes), definition(images, classes), rtol=1e-14)
    assert lnb.cross_entropy(images, classes, reduction="none").shape == (2, 2, 4)
    assert_close(lnb.cross_entropy(LOGITS[0], np.int64(2)), definition(LOGITS[:1], np.array([2])), rtol=1e-14)


def test_all_ignored_gives_zero_and_zero_gradient(device):
    logits = lnb.asarray(LOGITS[:2].astype("float32"), device=device)
    logits.requires_grad = True
    loss = lnb.cross_entropy(logits, lnb.asarray(np.array([-100, -100]), device=device))
    loss.backward()
    assert loss.item() == 0 and not logits.grad.to_host().any()


def test_many_rows_equal_the_definition_for_any_threads():
    logits, target = RNG.standard_normal((9001, 11)).astype("float32"), RNG.integers(0, 11, 9001)
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.cross_entropy(logits, target).item())
    finally:
        lnb.set_num_threads(before)
    assert found[0] == found[1]
    assert_close(found[0], definition(logits, target), rtol=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradient_follows_finite_differences(reduction):
    check_grad(lambda x: lnb.cross_entropy(x, TARGET, reduction=reduction), LOGITS)
    check_grad(lambda x: lnb.cross_entropy(x, np.array([[0, 1], [2, -100]]), reduction=reduction),
               RNG.standard_normal((2, 3, 2)))


def test_gradient_follows_the_cpu(device):
    def loss(x):
        return lnb.cross_entropy(x, lnb.asarray(TARGET, device=x.device), reduction="none")
    check_against_cpu(loss, LOGITS, device=device)


@pytest.mark.parametrize("target, error, text", [
    ([4, 0], errors.IndexError, r"cross_entropy: target 4 at \(0,\) is no class. Use 0 to 3, or ignore_index=-100."),
    ([0, -4], errors.IndexError, r"target -4 at \(1,\)"), ([0], errors.ShapeError, r"Target must have shape \(2,\)"),
    ([0.0, 1.0], errors.DTypeError, r"target is float(32|64)\. Use integer classes")], ids=str)
def test_bad_targets_are_refused(target, error, text, device):
    with pytest.raises(error, match=text):
        lnb.cross_entropy(lnb.asarray(LOGITS[:2].astype("float32"), device=device), target)


def test_unknown_reduction_is_refused():
    with pytest.raises(errors.ShapeError, match="reduction 'average' is unknown"):
        lnb.cross_entropy(LOGITS, TARGET, reduction="average")


def test_differences_of_complex_numbers_have_a_size():
    x, y = [RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3)) for _ in range(2)]
    l1_loss = lnb.nn.functional.l1_loss
    assert_close(l1_loss(x, y), np.abs(x - y).mean(), rtol=1e-14)
    assert l1_loss(x.astype("complex64"), y.astype("complex64")).dtype == np.float32
    check_grad(l1_loss, x, y)
