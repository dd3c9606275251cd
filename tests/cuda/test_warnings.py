"""What the guide says of NumPy's warnings: numbers are NumPy's, warnings of numbers are not given, others are."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb

pytestmark = pytest.mark.cuda_simulator
X = np.array([1, 0, -1, 1e300])
FAULTS = {
    "divide": lambda ops, x: x / (0 * x), "log": lambda ops, x: ops.log(x), "overflow": lambda ops, x: x * 1e300,
    "invalid": lambda ops, x: ops.sqrt(x), "cast": lambda ops, x: x.astype("float32"),
    "sum": lambda ops, x: ops.sum(x * 1e300), "floor_divide": lambda ops, x: (x > 0).astype("int64") // 0}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_numbers_give_no_warning_and_numpys_results(name):
    with np.errstate(all="ignore"):
        expected = FAULTS[name](np, X)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = FAULTS[name](lnb, lnb.tensor(X, device="cuda")).to_host()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("call, text", [
    (lambda x: lnb.nanmean(x * lnb.nan), "Mean of empty slice"), (lambda x: lnb.mean(x[:0]), "Mean of empty slice"),
    (lambda x: lnb.var(x[:1], ddof=1), "Degrees of freedom <= 0")], ids=["nanmean", "mean", "var"])
def test_what_a_function_says_of_its_arguments_is_said(call, text):
    with pytest.warns(RuntimeWarning, match=text):
        assert np.isnan(call(lnb.tensor(X, device="cuda")).to_host())
