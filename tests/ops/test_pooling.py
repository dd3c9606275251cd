"""Pools as ops on every device against their definition; gradients to second order against finite differences."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad
from tests import naive_pools

from .derivatives import check_against_cpu

F = lnb.nn.functional
RNG = np.random.default_rng(3)
# shape, kernel, stride, padding, dilation, ceil_mode
CASES = [((2, 3, 9), 3, 2, 1, 1, True), ((1, 2, 6, 5), (3, 2), (2, 1), (1, 0), (1, 2), False),
         ((3, 5, 5), 2, 2, 0, 1, True), ((2, 2, 4, 3, 5), 2, (1, 2, 2), (1, 0, 1), 1, False),
         ((1, 2, 3, 3), 3, 3, 0, 1, False)]


def spread(case):
    """Spatial sizes and one number an axis."""
    shape, *geometry, ceil_mode = case
    ndim = len(shape) - (1 if shape in ((3, 5, 5),) else 2)
    return ndim, [value if isinstance(value, tuple) else (value,) * ndim for value in geometry], ceil_mode


def draw(shape):
    """Numbers that all differ, far enough for finite differences."""
    return RNG.permutation(np.arange(np.prod(shape), dtype=float)).reshape(shape) / 8


@pytest.mark.parametrize("case", CASES, ids=str)
def test_maxima_are_those_of_the_definition(case, device):
    ndim, geometry, ceil_mode = spread(case)
    x = np.round(draw(case[0]) / 2).astype("float32")
    sizes = x.shape[-ndim:]
    results, each = naive_pools.pools(sizes, *geometry, ceil_mode)
    wanted, places = naive_pools.max_pool(x, sizes, results, each)
    values, found = getattr(F, f"max_pool{ndim}d")(lnb.asarray(x, device=device), *geometry, ceil_mode, True)
    assert (values.device, values.dtype, found.dtype) == (device, np.float32, np.int64)
    assert np.array_equal(values.to_host(), wanted.reshape(values.shape))
    assert np.array_equal(found.to_host(), places.reshape(values.shape))


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_averages_are_those_of_the_definition(case, include, device):
    ndim, geometry, ceil_mode = spread(case)
    x = draw(case[0]).astype("float32")
    sizes = x.shape[-ndim:]
    kernel, stride, padding, _ = geometry
    results, each = naive_pools.pools(sizes, kernel, stride, padding, (1,) * ndim, ceil_mode)
    matrix = naive_pools.avg_matrix(sizes, results, each, padding, include, None)
    function = getattr(F, f"avg_pool{ndim}d")
    found = function(lnb.asarray(x, device=device), kernel, stride, padding, ceil_mode, include)
    assert found.device == device
    assert_close(found, (x.reshape(-1, matrix.shape[1]) @ matrix.T).reshape(found.shape), rtol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_follow_finite_differences(case):
    ndim, geometry, ceil_mode = spread(case)
    kernel, stride, padding, _ = geometry
    x = draw(case[0])
    check_grad(lambda x: getattr(F, f"max_pool{ndim}d")(x, *geometry, ceil_mode) ** 2, x)
    check_grad(lambda x: getattr(F, f"avg_pool{ndim}d")(x, kernel, stride, padding, ceil_mode, False) ** 2, x)


@pytest.mark.parametrize("function", [
    lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    lambda x: F.adaptive_max_pool2d(x, (3, 2)), lambda x: F.lp_pool2d(x, 2, 2),
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 5)),
    lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=np.full((1, 2, 2), 0.3))], ids=range(7))
def test_gradients_are_the_same_on_every_device(function, device):
    x = draw((1, 2, 5, 5))
    check_grad(lambda x: function(x) ** 2, x)
    check_against_cpu(lambda x: function(x) ** 2, x, device=device)


def test_nan_wins_and_padding_is_below_everything(device):
    x = lnb.asarray(np.array([[-np.inf, -np.inf, 1, np.nan, 2, np.nan, -3]], "float32"), device=device)
    values, places = F.max_pool1d(x, 3, 2, 1, return_indices=True)
    assert_close(values, np.array([[-np.inf, np.nan, np.nan, np.nan]], "float32"))
    assert places.tolist() == [[0, 3, 3, 5]]
    whole = lnb.asarray(np.array([[-128, -127, -128]], "int8"), device=device)
    assert F.max_pool1d(whole, 3, 1, 1).tolist() == [[-127, -127, -127]]
    assert F.max_pool1d(whole[:, ::2], 2, 1, 1, return_indices=True)[1].tolist() == [[0, 0, 1]]


def test_the_first_of_equals_gets_the_gradient(device):
    x = lnb.asarray(np.ones((1, 3, 3), "float32"), device=device)
    x.requires_grad = True
    F.max_pool2d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]


def test_empty_batches_are_pooled(device):
    x = lnb.zeros((0, 3, 6, 6), dtype="float32", device=device)
    x.requires_grad = True
    for found in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3)):
        assert found.shape == (0, 3, 3, 3)
        found.sum().backward()
        assert x.grad.shape == x.shape


def test_integers_are_averaged_as_floats():
    assert F.avg_pool1d([[1, 2, 4, 8]], 2).tolist() == [[1.5, 6.0]]


@pytest.mark.parametrize("call, error, text", [
    (lambda: F.max_pool2d(np.ones((4, 4)), 2), lnb.ShapeError, "max_pool2d: an input of shape .* needs channels and 2"),
    (lambda: F.max_pool1d(np.ones((1, 4), complex), 2), lnb.DTypeError, "max_pool1d: complex128 has no order"),
    (lambda: F.avg_pool1d(np.ones((1, 0)), 2), lnb.ShapeError, "has no cells to pool"),
    (lambda: F.avg_pool2d(np.ones((1, 4, 4)), 2, divisor_override=0), lnb.ShapeError, "divisor_override is 0"),
    (lambda: F.adaptive_avg_pool1d(np.ones((1, 4)), 0), lnb.ShapeError, "cannot give"),
    (lambda: F.lp_pool1d(np.ones((1, 4)), 0, 2), lnb.ConfigError, "lp_pool1d: norm_type is 0"),
    (lambda: F.max_unpool1d(np.ones((1, 2)), [[0, 9]], 2), lnb.ShapeError, "indices from 0 to 9 for"),
    (lambda: F.max_unpool1d(np.ones((1, 2)), [[0]], 2), lnb.ShapeError, "indices of shape"),
    (lambda: F.max_unpool1d(np.ones((1, 2)), [[0, 1]], 2, output_size=[7]), lnb.ShapeError, "is not between"),
    (lambda: F.fractional_max_pool2d(np.ones((1, 5, 5)), 2), lnb.ConfigError, "Give one of them"),
    (lambda: F.fractional_max_pool2d(np.ones((1, 5, 5)), 2, 5), lnb.ShapeError, "do not fit an input")], ids=range(11))
def test_bad_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
