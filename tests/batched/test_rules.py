"""vmap against a loop over the examples: values and gradients of every kind of op, on the cpu and on mlx."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb

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
