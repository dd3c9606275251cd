"""`out=`: the result goes into a tensor that is there already, and the graph knows of it."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError, ShapeError

X = np.random.default_rng(0).standard_normal((3, 4))
CALLS = {"sum": dict(axis=0), "mean": dict(axis=1), "max": dict(axis=0), "min": dict(axis=1), "argmax": dict(axis=0),
         "argmin": dict(axis=1), "any": dict(axis=0), "all": dict(axis=1), "clip": dict(min=-1, max=1),
         "take": dict(indices=[2, 0], axis=1)}


@pytest.mark.parametrize("name", CALLS)
def test_out_holds_what_numpy_puts_there(name):
    wanted = getattr(np, name)(X, **CALLS[name])
    options = dict(CALLS[name])
    places = [options.pop("indices")] if name == "take" else []
    out = lnb.zeros(wanted.shape, dtype=wanted.dtype)
    found = getattr(lnb, name)(lnb.asarray(X), *places, **options, out=out)
    assert found is out
    host = np.zeros(wanted.shape, wanted.dtype)
    assert getattr(lnb, name)(lnb.asarray(X), *places, **options, out=host) is host
    assert np.array_equal(host, out.numpy())
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-14)


def test_out_is_recorded():
    x, out = lnb.tensor(X, requires_grad=True), lnb.ones(4)
    lnb.sum(x * x, axis=0, out=out)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_out_that_does_not_fit_is_refused_before_it_is_written():
    for out, error in ((lnb.zeros(3), ShapeError), (lnb.zeros(4, dtype="int64"), DTypeError), ([0.0] * 4, DTypeError)):
        with pytest.raises(error, match=r"^sum: "):
            lnb.sum(lnb.asarray(X), axis=0, out=out)
        assert not np.asarray(out).any()
