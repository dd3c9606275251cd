"""vmap against a loop over the examples: values and gradients of every kind of op, on the cpu and on mlx."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors

from .cases import CASES, READING, Case, arrays
from .loops import DEVICES, check, looped


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_equals_the_loop(name, device):
    found = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")                  # an op that falls back to the examples one by one warns
        check(found.call, found.axes, list(arrays(found, DEVICES[device])), device)


@pytest.mark.parametrize("name", READING)
def test_what_reads_values_equals_the_loop_and_warns(name):
    found = READING[name]
    with pytest.warns(UserWarning, match=r"vmap: .* at cases\.py:\d+ reads on the host"):
        check(found.call, found.axes, list(arrays(found, "float64")), "cpu")


def test_weights_that_sum_to_zero_for_one_example_are_refused():
    weights = lnb.tensor([[1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ZeroDivisionError, match="average: the weights sum to 0"):
        lnb.vmap(lambda w: lnb.average(lnb.ones(2), weights=w))(weights)


def test_masks_and_counts_that_differ_on_both_levels_equal_numpys():
    rng = np.random.default_rng(4)
    x, i = rng.normal(size=(3, 2, 5)), rng.integers(0, 5, (3, 2, 6))

    def inner(a, k):
        b = 1 * a
        b[a > 0] = a.mean()
        return b, lnb.bincount(k, minlength=5), lnb.average(a, weights=a * a), lnb.histogram(a, 3)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lnb.vmap(lnb.vmap(inner))(lnb.tensor(x), lnb.tensor(i))
    np.testing.assert_allclose(found[0].numpy(), np.where(x > 0, x.mean(2, keepdims=True), x))
    np.testing.assert_allclose(found[2].numpy(), (x ** 3).sum(2) / (x ** 2).sum(2))
    for a, k, counts, bins in zip(x.reshape(6, 5), i.reshape(6, 6), found[1].numpy().reshape(6, 5),
                                  found[3].numpy().reshape(6, 3)):
        np.testing.assert_array_equal(counts, np.bincount(k, minlength=5))
        np.testing.assert_array_equal(bins, np.histogram(a, 3)[0])


def test_counts_of_different_lengths_are_refused():
    with pytest.raises(errors.ShapeError, match="the examples give results of different shapes"), \
            pytest.warns(UserWarning, match="vmap: bincount at"):
        lnb.vmap(lambda k: lnb.bincount(k))(lnb.tensor([[0, 1], [0, 3]]))


def test_a_case_that_is_wrong_is_seen():
    """The oracle can fail."""
    wrong = Case(lambda x: x - x.mean(), ((4,),), (0,))
    given = list(arrays(wrong, "float64"))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(looped(wrong.call, wrong.axes)(*map(lnb.tensor, given)).numpy(),
                                   wrong.call(lnb.tensor(given[0])).numpy())


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("name", ["sum", "matmul_right", "index", "written", "diagonal", "cross_entropy", "sort",
                                  "complex", "scatter_add"])
def test_a_rule_on_cuda_equals_the_loop(name):
    """Sorting is no entry of that device: it goes through the host."""
    found = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check(found.call, found.axes, list(arrays(found, "float32")), "cuda")
