"""vmap against a loop over the examples: values and gradients of every kind of op, on the cpu and on mlx."""

import warnings

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.vectorize import vmap

from ..ops import oracles
from .cases import CASES, READING, SIZE, Case, arrays

DEVICES = {"cpu": "float64", "mlx": "float32"}
# The batched call may sum in another order.
TOLERANCE = {"cpu": 1e-11, "mlx": 3e-5, "cuda": 3e-5}
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


# ------------------------------------------------------------------------------------------ nested, any axes
OUTER = 2


def nested_arrays(found, axes):
    """Arguments with axes of examples for the levels that they vary along: (outer, inner) for each."""
    rng = np.random.default_rng(4)
    for shape, (outer, inner) in zip(found.shapes, axes):
        lead = (OUTER,) * outer + (SIZE,) * inner
        yield rng.integers(0, shape[0], size=(*lead, *shape[1:])) if isinstance(shape, list) else \
            rng.normal(size=(*lead, *shape))


def one_of(given, axes, place):
    """The arguments of one example of both levels."""
    return [lnb.tensor(x[tuple([number for number, varies in zip(place, pair) if varies])])
            for x, pair in zip(given, axes)]


@pytest.mark.parametrize("name", CASES)
def test_a_rule_nested_equals_the_loop(name):
    """The first argument varies along both levels, the others along one of them, in turn."""
    found = CASES[name]
    axes = [(True, True), *[(number % 2 == 0, number % 2 == 1) for number in range(1, len(found.shapes))]]
    given = list(nested_arrays(found, axes))
    outer, inner = [tuple([0 if pair[level] else None for pair in axes]) for level in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = vmap(vmap(found.call, inner), outer)(*map(lnb.tensor, given))
    wanted = [[found.call(*one_of(given, axes, (i, j))) for j in range(SIZE)] for i in range(OUTER)]
    for number, result in enumerate(results if isinstance(results, (tuple, list)) else [results]):
        parts = [[one[number] if isinstance(one, (tuple, list)) else one for one in row] for row in wanted]
        expected = np.array([[part.to_host() for part in row] for row in parts])
        assert result.shape == expected.shape
        np.testing.assert_allclose(result.to_host(), expected, rtol=1e-11, atol=1e-11)


@drawn_from(st.sampled_from(sorted(CASES)), st.data())
def test_examples_may_lie_along_any_axis(name, data):
    found = CASES[name]
    axes, moved = [], []
    for x, axis in zip(arrays(found, "float64"), found.axes):
        place = None if axis is None else data.draw(st.integers(-x.ndim, x.ndim - 1))
        axes.append(place)
        moved.append(x if place is None else np.moveaxis(x, 0, place))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = vmap(found.call, tuple(axes), -1)(*map(lnb.tensor, moved))
    wanted = looped(found.call, found.axes)(*map(lnb.tensor, arrays(found, "float64")))
    for result, one in zip(*[x if isinstance(x, (tuple, list)) else [x] for x in (results, wanted)]):
        np.testing.assert_allclose(np.moveaxis(result.to_host(), -1, 0), one.to_host(), rtol=1e-11, atol=1e-11)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("name", ["sum", "matmul_right", "index", "written", "diagonal", "cross_entropy", "sort",
                                  "complex", "scatter_add"])
def test_a_rule_on_cuda_equals_the_loop(name):
    """Sorting is no entry of that device: it goes through the host."""
    found = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check(found.call, found.axes, list(arrays(found, "float32")), "cuda")
