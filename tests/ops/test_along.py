"""Functions applied along and over axes against NumPy's, gradients by finite differences."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad

X = np.random.default_rng(2).standard_normal((2, 3, 4))
LINES = {"scalar": lambda m: lambda line: m.max(line), "pair": lambda m: lambda line: m.stack([line[0], line[-1] * 2]),
         "line": lambda m: lambda line: line - m.mean(line), "outer": lambda m: lambda line: line[:, None] * line,
         "number": lambda m: lambda line: 3, "mask": lambda m: lambda line: line > 0}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_numpys(name, device):
    x = X.astype("float32")
    for axis in (0, 1, -1):
        found = lnb.apply_along_axis(LINES[name](lnb), axis, lnb.asarray(x, device=device))
        wanted = np.apply_along_axis(LINES[name](np), axis, x)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found.to_host(), wanted, rtol=1e-5, atol=1e-6)


def test_further_arguments_reach_the_function():
    found = lnb.apply_along_axis(lambda line, n, scale: line[:n] * scale, 2, X, 2, scale=3)
    np.testing.assert_array_equal(found.numpy(), X[:, :, :2] * 3)


def test_gradients():
    check_grad(lambda x: lnb.apply_along_axis(lambda line: lnb.cumsum(line * line), 1, x), X)
    check_grad(lambda x: lnb.apply_over_axes(lambda a, axis: lnb.sum(a * a, axis), x, [0, 2]), X)


def test_no_lines_and_no_axis_are_refused_as_numpys():
    for module in (np, lnb):
        with pytest.raises(ValueError, match="apply_along_axis"):
            module.apply_along_axis(lambda line: line, 1, np.zeros((0, 3)))
        with pytest.raises(np.exceptions.AxisError):
            module.apply_along_axis(lambda line: line, 3, X)


@pytest.mark.parametrize("axes", [0, [0, 2], [-1], [2, 1, 0]], ids=range(4))
def test_over_axes_is_numpys(axes):
    for name in ("sum", "max", "cumsum"):
        np.testing.assert_allclose(lnb.apply_over_axes(getattr(lnb, name), X, axes).numpy(),
                                   np.apply_over_axes(getattr(np, name), X, axes), rtol=1e-12)
    with pytest.raises(ValueError, match="apply_over_axes: the function gave"):
        lnb.apply_over_axes(lambda a, axis: lnb.sum(a), X, axes)
