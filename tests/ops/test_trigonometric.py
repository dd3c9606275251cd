"""Circular functions beyond what test_records holds them to: huge arguments, ends, the origin."""

import mpmath
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close

from .test_transcendental import INF, gradients


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_are_exact_among_small_ones(name, dtype):
    x = np.concatenate([np.linspace(-3, 3, 50), 2.0 ** np.arange(17, 120, 3), [1e30, 413441.44719405076]]).astype(dtype)
    with mpmath.workdps(80):
        wanted = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(value)))) for value in x])
    assert_close(getattr(lnb, name)(lnb.asarray(x)), wanted, ulp=2)


@pytest.mark.parametrize(("name", "at_one", "at_minus_one"), [("arcsin", INF, INF), ("arccos", -INF, -INF)])
def test_derivatives_at_the_ends_are_infinite(name, at_one, at_minus_one):
    function = getattr(lnb, name)
    assert gradients(function, 1.0) == [at_one] and gradients(function, -1.0) == [at_minus_one]
    x = lnb.tensor([1.0, -1.0, 0.5], requires_grad=True)
    (function(x) * lnb.tensor([0.0, 0.0, 1.0])).sum().backward()             # what nothing asks for stays nothing
    assert x.grad.tolist()[:2] == [0.0, 0.0]


@pytest.mark.parametrize(("y", "x", "by_y", "by_x"), [
    (0.0, 0.0, 0.0, 0.0), (3.0, 4.0, 4 / 25, -3 / 25), (0.0, 2.0, 0.5, 0.0), (1e-200, 1e-200, 5e199, -5e199),
    (1e200, 1e200, 5e-201, -5e-201)])
def test_arctan2_has_gradients_without_overflow_and_none_at_the_origin(y, x, by_y, by_x):
    assert gradients(lnb.arctan2, y, x) == pytest.approx([by_y, by_x], rel=1e-14)


def test_derivative_of_arcsin_next_to_one_keeps_its_digits():
    x = 1 - 2.0 ** -50
    assert gradients(lnb.arcsin, x)[0] == pytest.approx(float(1 / mpmath.sqrt(1 - mpmath.mpf(x) ** 2)), rel=1e-15)
