"""vmap against a loop over the examples: values and gradients of every kind of op, on the cpu and on mlx."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.vectorize import vmap

from ..ops import oracles
from .cases import CASES, READING, SIZE, Case, arrays

DEVICES = {"cpu": "float64", "mlx": "float32"}
# The batched call may sum in another order.
TOLERANCE = {"cpu": 1e-11, "mlx": 3e-5}
RECORDS = oracles.records()


def example(x, axis, number):
    """One example of an argument."""
    return x if axis is None else x[(slice(None),) * axis + (number,)]


def looped(call, axes):
    """The oracle: one example after the other."""
    def run(*given):
        found = [call(*[example(x, axis, number) for x, axis in zip(given, axes)]) for number in range(SIZE)]
        if isinstance(found[0], (tuple, list)):
            return tuple(lnb.stack(list(column)) for column in zip(*found))
        return lnb.stack(found)
    return run


def outcome(function, given, device):
    """Values, and the gradients of all float arguments for one fixed cotangent."""
    tensors = [lnb.tensor(x, device=device, requires_grad=x.dtype.kind == "f") for x in given]
    found = function(*tensors)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    rng = np.random.default_rng(9)
    total = sum([(x * lnb.tensor(rng.normal(size=x.shape).astype(x.dtype), device=device)).sum()
                 for x in results if x.requires_grad])
    if isinstance(total, lnb.Tensor):
        total.backward()
    return [x.detach().to_host() for x in results], [None if x.grad is None else x.grad.to_host() for x in tensors]


def check(call, axes, given, device):
    """The same shapes, dtypes, values and gradients as the loop's."""
    wanted, slopes = outcome(looped(call, axes), given, device)
    found, own = outcome(vmap(call, axes), given, device)
    tolerance = TOLERANCE[device]
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in wanted]
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for a, b in zip(own, slopes):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=10 * tolerance)


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


def drawn(op, dtype):
    """Inputs of a record for all examples, within its samples."""
    rng = np.random.default_rng(len(op.name))
    found = []
    for number, (low, high) in enumerate(op.facts.samples):
        if number in op.rule.integers or not oracles.takes(op, dtype):
            found.append(rng.integers(1, 6, size=(SIZE, 4)).astype("int32"))
        else:
            found.append(rng.uniform(max(low, -1e3), min(high, 1e3), size=(SIZE, 4)).astype(dtype))
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_equals_the_loop(name, device):
    op = RECORDS[name]
    given = drawn(op, DEVICES[device])
    check(oracles.call(name), (0,) * op.arity, given, device)
    if op.arity > 1:
        check(oracles.call(name), (0, None, *(0,) * (op.arity - 2)), [given[0], given[1][0], *given[2:]], device)


def test_a_case_that_is_wrong_is_seen():
    """The oracle can fail."""
    wrong = Case(lambda x: x - x.mean(), ((4,),), (0,))
    given = list(arrays(wrong, "float64"))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(looped(wrong.call, wrong.axes)(*map(lnb.tensor, given)).numpy(),
                                   wrong.call(lnb.tensor(given[0])).numpy())
