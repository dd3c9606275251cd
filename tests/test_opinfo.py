"""PyTorch's operator database: a few operators agree, and what differs is found and named (bench/opinfo.py)."""

import sys
import warnings
from pathlib import Path

import pytest

import lucid_nb as lnb

BENCH = Path(__file__).parents[1] / "bench"
pytest.importorskip("torch")
pytest.importorskip("expecttest")            # the database imports it
sys.path.insert(0, str(BENCH))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import operators
    import opinfo
    from operators.comparison import differences
    from operators.records import calls, database
sys.path.remove(str(BENCH))


def test_operators_agree_and_are_counted():
    names = {"sub", "sum", "nn.functional.l1_loss", "kthvalue"}
    outcome = opinfo.outcome_of(names, ("float64", "complex64"))
    assert {*outcome.made} == names
    assert not outcome.unexplained
    page = opinfo.report(outcome)
    assert "| elementwise | 1 | 22 | 22 | 0 | 0 |" in page and "NO REASON KNOWN" not in page


@pytest.mark.parametrize("function, found", [
    (lambda x: lnb.cos(x), {"result", "gradient", "forward", "second"}),
    (lambda x: lnb.stop_gradient(lnb.sin(x)), {"gradient", "forward", "second"}),
    (lambda x: lnb.sin(x).astype("float32"), {"result", "gradient", "forward", "second"}),
    (lambda x: lnb.sin(x) + 1e-8, {"result"})])
def test_what_is_wrong_is_found(function, found):
    for call in calls({"sin"}, ("float64",)):
        assert {difference.what for difference in differences(function, call)} == found


def test_every_name_of_the_table_is_one_of_the_database():
    names = {name.rsplit(".", 1)[0] for name in database()} | {*database()}
    assert {*operators.TABLE} <= names
