"""dtype, shape, order in memory and freshness of what elementwise functions give are NumPy's, whatever they are given.

One test for all records: the same call under both libraries, over drawn dtypes, shapes and layouts.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.shapes import LARGE
from lucid_nb.testing import LAYOUTS, broadcastable_shapes, laid_out

from .test_methods import NAMES, outcome, sample

DTYPES = ("bool", "int8", "uint16", "int64", "float32", "float64", "complex64", "complex128")


def places(x):
    """Strides along the axes that have any extent, which decide where elements lie."""
    return [stride for stride, size in zip(x.strides, x.shape) if size > 1] if x.size else []


def assert_like(found, wanted, what):
    """The same kind of result in everything but its values, which other tests compare."""
    if isinstance(wanted, type):
        assert found is wanted, what
        return
    assert not isinstance(found, type), what
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), what
        assert mine.is_value == isinstance(theirs, np.generic), what
        assert places(mine) == places(theirs), f"{what}: strides {mine.strides}, NumPy's {theirs.strides}"


def has_loop(name, dtypes):
    """Has NumPy a loop for these? Where only the library has one, there is nothing to compare with."""
    return not isinstance(outcome(getattr(np, name), *[np.ones((), dtype) for dtype in dtypes]), type)


@settings(max_examples=200)
@given(data=st.data())
def test_results_are_like_numpys(data):
    name = data.draw(st.sampled_from(NAMES), "name")
    count = getattr(np, name).nin
    dtypes = [data.draw(st.sampled_from(DTYPES), "dtype") for _ in range(count)]
    if not has_loop(name, dtypes):
        return
    shapes = data.draw(broadcastable_shapes(count), "shapes")
    layouts = [data.draw(st.sampled_from(LAYOUTS), "layout") for _ in range(count)]
    arrays = [laid_out(sample(name, dtype, shape), layout) for dtype, shape, layout in zip(dtypes, shapes, layouts)]
    options = data.draw(st.sampled_from([{}, {"order": "C"}, {"order": "F"}, {"order": "A"}]), "options")
    tensors = [lnb.asarray(array) for array in arrays]
    found = outcome(getattr(lnb, name), *tensors, **options)
    assert_like(found, outcome(getattr(np, name), *arrays, **options), f"{name} {dtypes} {shapes} {layouts} {options}")
    if isinstance(found, lnb.Tensor):
        assert not any(np.may_share_memory(found.numpy(), array) for array in arrays), name


@pytest.mark.parametrize("layouts", [(a, b) for a in LAYOUTS for b in LAYOUTS], ids="-".join)
def test_large_results_lie_as_numpys(layouts):
    side = int(LARGE ** 0.5) + 2
    for shapes in (((side, side), (side, side)), ((side, side), (side,)), ((2, side, side), (side, 1))):
        arrays = [laid_out(np.ones(shape, "float32"), layout) for shape, layout in zip(shapes, layouts)]
        found, wanted = lnb.add(*map(lnb.asarray, arrays)), np.add(*arrays)
        assert_like(found, wanted, f"{shapes} {layouts}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_ravel_is_a_view_where_numpys_is(layout, order):
    for shape in ((2, 3, 4), (6,), (1, 4), ()):
        x = laid_out(np.ones(shape), layout)
        found, wanted = lnb.ravel(lnb.asarray(x), order), np.ravel(x, order)
        assert places(found) == places(wanted), shape
        assert np.may_share_memory(found.numpy(), x) == np.may_share_memory(wanted, x), shape
