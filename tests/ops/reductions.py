"""What the tests of reductions share: a call held to NumPy's, its refusals and its warnings too."""

import warnings

import numpy as np
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import laid_out

FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
DTYPES = (*FLOATS, "bool", "int8", "uint8", "int16", "int32", "int64", "uint64")


def wide(x):
    """The same numbers in a dtype whose sums have no rounding to speak of."""
    return x.astype({"f": "float64", "c": "complex128"}[x.dtype.kind]) if x.dtype.kind in "fc" else x


def outcome(function, *arguments, **options):
    """(result, texts of warnings), or (the error, nothing)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return function(*arguments, **options), {str(warning.message) for warning in caught}
        except (ValueError, TypeError, ArithmeticError) as error:
            return error, set()


def check(name, x, device="cpu", ours=None, numpy=None, ulp=8, **options):
    """Hold lnb.name to np.name: dtype, shape, values to `ulp` units of the sizes that are added, and refusals."""
    numpy, ours = numpy or getattr(np, name), ours or getattr(lnb, name)
    rounded, _ = outcome(numpy, x, **options)
    given = {key: lnb.asarray(value, device=device) if isinstance(value, np.ndarray) else value
             for key, value in options.items()}
    found, _ = outcome(ours, lnb.asarray(x, device=device), **given)
    if isinstance(rounded, Exception):
        assert isinstance(found, Exception), (name, options, rounded)
        return
    assert not isinstance(found, Exception), (name, options, repr(found))
    assert found.device == device and found.dtype == rounded.dtype and found.shape == np.shape(rounded)
    exact = outcome(numpy, wide(x), **{key: wide(value) if isinstance(value, np.ndarray) else value
                                       for key, value in options.items()})[0]
    if found.dtype.kind not in "fc":
        np.testing.assert_array_equal(found.to_host(), rounded)
        return
    scale = max([1.0, *np.abs(x[np.isfinite(x)]).astype(float)]) ** 2 * max(1, x.size)
    unit = float(np.finfo(found.dtype).eps)
    with np.errstate(all="ignore"):
        exact = np.asarray(exact).astype(rounded.dtype)
    np.testing.assert_allclose(found.to_host(), exact, rtol=ulp * unit, atol=ulp * unit * scale)


@st.composite
def cases(draw, dtypes=DTYPES, awkward=False, max_dims=4):
    """An array of a drawn dtype, shape and layout, axes of it, and keepdims."""
    x = draw(testing.arrays(draw(st.sampled_from(dtypes)), testing.shapes(max_dims=max_dims), awkward=awkward))
    axes = st.sampled_from(range(-x.ndim, x.ndim)) if x.ndim else st.nothing()
    several = st.lists(st.integers(0, max(0, x.ndim - 1)), unique=True, max_size=x.ndim).map(tuple)
    return x, draw(st.none() | axes | several), draw(st.booleans())


@st.composite
def masks(draw, shape):
    """Bools that broadcast to a shape."""
    cut = draw(st.integers(0, len(shape)))
    sizes = tuple([size if draw(st.booleans()) else 1 for size in shape[cut:]])
    return laid_out(np.array(draw(st.lists(st.booleans(), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes)))),
                             bool).reshape(sizes), "C")
