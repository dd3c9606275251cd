"""Hyperbolic functions beyond what test_records holds them to: tails, ends, the complex tangent."""

import mpmath
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad

from .test_transcendental import INF, gradients


@pytest.mark.parametrize(("name", "x"), [("sinh", 710.4), ("cosh", -710.4), ("arcsinh", 1e300), ("arcsinh", -1e-300),
                                         ("arccosh", 1e300), ("arccosh", 1 + 2.0 ** -52), ("arctanh", 1 - 2.0 ** -53)])
def test_tails_keep_their_digits(name, x):
    exact = dict(arcsinh="asinh", arccosh="acosh", arctanh="atanh").get(name, name)
    with mpmath.workdps(700):
        wanted = float(getattr(mpmath, exact)(mpmath.mpf(x)))
    assert_close(getattr(lnb, name)(lnb.tensor([x])), [wanted], ulp=2)


@pytest.mark.parametrize(("name", "x"), [("arccosh", 1.0), ("arctanh", 1.0), ("arctanh", -1.0)])
def test_derivatives_at_the_ends_are_infinite(name, x):
    assert gradients(getattr(lnb, name), x) == [INF]


@pytest.mark.parametrize("z", [3 + 1j, -0.2 + 1.4j, 1e-8 - 1e-8j])
def test_complex_tanh_has_the_gradient_of_its_own(z):
    """The slope of the real one is made of |x| and exponentials, which mean something else here."""
    check_grad(lnb.tanh, [z])
    x = lnb.tensor([z], requires_grad=True)
    lnb.tanh(x).backward(lnb.tensor([1 + 0j]))
    assert_close(x.grad, np.conj(1 - np.tanh([z]) ** 2), rtol=1e-12, atol=1e-15)
