"""vmap on two levels, and with examples along any axis, against loops."""

import warnings

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.vectorize import vmap

from .cases import CASES, SIZE, arrays
from .loops import looped

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
