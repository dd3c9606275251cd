"""Columns of windows against NumPy's sliding windows; fold is held to be the transpose of unfold."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(9)
CASES = [((2, 3, 5, 6), (2, 3), {}), ((1, 2, 7, 7), 3, dict(dilation=2, padding=1, stride=2)),
         ((2, 4, 4), 2, dict(stride=2)), ((1, 2, 4, 3, 5), (2, 1, 3), dict(padding=(1, 0, 1))),
         ((1, 1, 3, 3), 3, dict(padding=[(0, 1), (2, 0)])), ((0, 2, 4, 4), 2, {})]


def spread(value, ndim):
    return (value,) * ndim if isinstance(value, int) else tuple(value)


def expected(x, kernel, dilation=1, padding=0, stride=1):
    """By sliding windows."""
    ndim = len(kernel) if isinstance(kernel, tuple) else 2
    kernel, dilation, stride, padding = (spread(v, ndim) for v in (kernel, dilation, stride, padding))
    lead, pairs = x.shape[:-ndim], [p if isinstance(p, tuple) else (p, p) for p in padding]
    padded = np.pad(x, [(0, 0)] * len(lead) + pairs)
    spans = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, tuple(range(-ndim, 0)))
    windows = windows[(..., *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]
    axes = range(len(lead), len(lead) + ndim)
    last = np.moveaxis(windows, tuple(axes), tuple(range(-ndim, 0)))
    return last.reshape(*lead[:-1], lead[-1] * int(np.prod(kernel)), -1 if x.size else 9)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape, kernel, options", CASES, ids=str)
def test_columns_are_what_windows_read(shape, kernel, options, dtype, device):
    x = RNG.integers(-9, 9, shape).astype(dtype)
    found = lnb.unfold(lnb.asarray(x, device=device), kernel, **options)
    assert (found.device, found.dtype) == (device, dtype)
    assert np.array_equal(found.to_host(), expected(x, kernel, **options))


@pytest.mark.parametrize("shape, kernel, options", CASES, ids=str)
def test_fold_is_the_transpose_of_unfold(shape, kernel, options, device):
    ndim = len(kernel) if isinstance(kernel, tuple) else 2
    x = RNG.standard_normal(shape).astype("float32")
    g = RNG.standard_normal(expected(x, kernel, **options).shape).astype("float32")
    found = lnb.fold(lnb.asarray(g, device=device), shape[-ndim:], kernel, **options)
    assert found.shape == shape and found.device == device
    assert_close((found.to_host() * x).sum(), (expected(x, kernel, **options) * g).sum(dtype=np.float64), rtol=1e-4)


@pytest.mark.parametrize("shape, kernel, options", CASES[:-1], ids=str)
def test_gradients_follow_finite_differences(shape, kernel, options, device):
    ndim = len(kernel) if isinstance(kernel, tuple) else 2
    x = RNG.standard_normal(shape)
    g = RNG.standard_normal(expected(x, kernel, **options).shape)
    for call, given in ((lambda x: lnb.unfold(x, kernel, **options) ** 2, x),
                        (lambda g: lnb.fold(g, shape[-ndim:], kernel, **options) ** 2, g)):
        if device == "cpu":
            check_grad(call, given)
        else:
            check_against_cpu(call, given, device=device)


def test_columns_keep_infinities():
    x = np.array([[[[np.inf, 1.0], [np.nan, 2.0]]]])
    assert_close(lnb.unfold(x, 1), x.reshape(1, 1, 4))


@pytest.mark.parametrize("call, text", [
    (lambda: lnb.unfold(np.ones((4, 4)), 2), r"unfold: an input of shape \(4, 4\) for 2 spatial axes"),
    (lambda: lnb.unfold(np.ones((1, 4, 4)), 5), "unfold: kernel .* is larger than"),
    (lambda: lnb.unfold(np.ones((1, 4, 4)), 2, stride=0), "unfold: stride 0"),
    (lambda: lnb.fold(np.ones((1, 5, 9)), (4, 4), 2), "for 9 windows of 4 cells"),
    (lambda: lnb.fold(np.ones((1, 4, 8)), (4, 4), 2), "for 9 windows of 4 cells")], ids=range(5))
def test_bad_geometry_is_refused(call, text):
    with pytest.raises(lnb.ShapeError, match=text):
        call()
