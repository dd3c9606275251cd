"""Convolutions against scipy.signal.correlate, gradients against the same as a linear map."""

import numpy as np
import pytest
import scipy.signal

import lucid_nb.cuda as table
from lucid_nb.shapes import Window

pytestmark = pytest.mark.cuda_simulator

# input, weight, window
CASES = {
    "1-D": ((2, 2, 7), (3, 2, 3), Window((2,), (1,), (2,), (2,), 1)),
    "2-D": ((1, 2, 5, 4), (2, 2, 3, 2), Window((1, 2), (1, 0), (0, 1), (1, 1), 1)),
    "2-D grouped, dilated": ((2, 4, 5, 6), (4, 2, 2, 3), Window((2, 1), (1, 2), (1, 0), (2, 2), 2)),
    "2-D depthwise": ((1, 3, 4, 4), (6, 1, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1), 3)),
    "3-D": ((1, 2, 3, 4, 3), (2, 1, 2, 2, 3), Window((1, 2, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), 2)),
}
parametrize = pytest.mark.parametrize("case", CASES)


def correlate(x, w, window):
    """The result in float64, one pair of channels at a time."""
    spatial = len(window.stride)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(window.low, window.high)])
    dilated = np.zeros(w.shape[:2] + tuple((k - 1) * d + 1 for k, d in zip(w.shape[2:], window.dilation)))
    dilated[(..., *(slice(None, None, d) for d in window.dilation))] = w
    steps = tuple(slice(None, None, s) for s in window.stride)
    inputs, outputs = w.shape[1], w.shape[0] // window.groups
    result = []
    for item in padded:
        for o in range(w.shape[0]):
            group = item[o // outputs * inputs:][:inputs]
            pairs = [scipy.signal.correlate(a, b, "valid", "direct")[steps] for a, b in zip(group, dilated[o])]
            result.append(sum(pairs))
    return np.reshape(result, (x.shape[0], w.shape[0], *result[0].shape[-spatial:]))


def drawn(case):
    x_shape, w_shape, window = CASES[case]
    generator = np.random.default_rng(0)
    return generator.standard_normal(x_shape), generator.standard_normal(w_shape), window


@parametrize
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 2e-5), ("float16", 2e-2)])
def test_conv_agrees_with_correlate(case, dtype, tolerance):
    x, w, window = drawn(case)
    x, w = x.astype(dtype), w.astype(dtype)
    expected = correlate(x.astype("float64"), w.astype("float64"), window)
    got = table.to_numpy(table.conv(table.from_numpy(x), table.from_numpy(w), window))
    assert got.dtype == x.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def transposed(linear, shape, g):
    """The transpose of a linear map, applied to g: one unit vector at a time."""
    result = np.zeros(shape)
    for place in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[place] = 1
        result[place] = np.vdot(linear(unit), g)
    return result


@parametrize
def test_gradients_are_the_transposed_maps(case):
    x, w, window = drawn(case)
    g = np.random.default_rng(1).standard_normal(correlate(x, w, window).shape)
    device_x, device_w, device_g = map(table.from_numpy, (x, w, g))
    np.testing.assert_allclose(table.to_numpy(table.conv_input_grad(device_g, device_w, window, x.shape)),
                               transposed(lambda unit: correlate(unit, w, window), x.shape, g), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(table.to_numpy(table.conv_weight_grad(device_x, device_g, window, w.shape)),
                               transposed(lambda unit: correlate(x, unit, window), w.shape, g), rtol=1e-10, atol=1e-12)


def test_empty_batch_gives_empty_result_and_zero_weight_gradient():
    window = Window((1,), (0,), (0,), (1,))
    x, w, g = (table.from_numpy(np.zeros(shape)) for shape in ((0, 2, 5), (3, 2, 3), (0, 3, 3)))
    assert table.conv(x, w, window).shape == (0, 3, 3)
    np.testing.assert_array_equal(table.to_numpy(table.conv_weight_grad(x, g, window, (3, 2, 3))), np.zeros((3, 2, 3)))
