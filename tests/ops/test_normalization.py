"""Normalisation: gradients by finite differences to the second order, and the same on every device."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.ops import normalization, response
from lucid_nb.testing import check_grad

RANDOM = np.random.default_rng(8)
DEVICES = ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
CASES = {
    "batch": ((3, 2, 3), lambda x, w, b: normalization.batch_norm(x, None, None, w, b, True, 0.1, 1e-3)),
    "batch of vectors": ((4, 2), lambda x, w, b: normalization.batch_norm(x, None, None, w, b, True, 0.1, 1e-3)),
    "group": ((2, 4, 3), lambda x, w, b: normalization.group_norm(x, 2, w, b, 1e-3)),
    "instance": ((2, 2, 3), lambda x, w, b: normalization.instance_norm(x, None, None, w, b, True, 0.1, 1e-3)),
    "layer": ((3, 4), lambda x, w, b: normalization.layer_norm(x, 4, w, b, 1e-3)),
    "root mean square": ((3, 4), lambda x, w, b: normalization.rms_norm(x, 4, w, 1e-3) + b),
    "global response": ((2, 3, 2, 2), lambda x, w, b: response.global_response_norm(x, w, b, 1e-3)),
    "local response": ((2, 4, 2), lambda x, w, b: response.local_response_norm(x, 3, 0.1, 0.75, 1.0)
                       * w.reshape(-1, 1) + b.reshape(-1, 1)),
}
each_case = pytest.mark.parametrize("name", CASES)


def operands(name, dtype=np.float64):
    shape, function = CASES[name]
    return function, [RANDOM.normal(size=size).astype(dtype) + 0.5 for size in (shape, shape[1], shape[1])]


@each_case
def test_normalisation_has_gradients_to_the_second_order(name):
    function, values = operands(name)
    check_grad(function, *values)


def test_running_statistics_have_gradients_of_what_they_normalise():
    mean, variance = lnb.asarray([0.5, -1.0]), lnb.asarray([1.0, 4.0])
    check_grad(lambda x, w, b: normalization.batch_norm(x, mean, variance, w, b, False, 0.1, 1e-3),
               RANDOM.normal(size=(2, 2, 3)), RANDOM.normal(size=2), RANDOM.normal(size=2))


@each_case
@pytest.mark.parametrize("device", DEVICES)
def test_normalisation_is_the_same_on_every_device(name, device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    function, values = operands(name, np.float32)
    found = []
    for place in ("cpu", device):
        leaves = [lnb.tensor(value, device=place, requires_grad=True) for value in values]
        y = function(*leaves)
        assert y.device == place
        (y * y * y).sum().backward()
        found.append([part.to("cpu").numpy() for part in (y.detach(), *[leaf.grad for leaf in leaves])])
    assert all(np.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(*found))


@each_case
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_computed_in_float32(name, dtype):
    function, values = operands(name, np.float32)
    halves = [lnb.asarray(value).astype(dtype) for value in values]
    found, expected = function(*halves), function(*[half.astype("float32") for half in halves])
    assert found.dtype == halves[0].dtype
    unit = 2.0 ** (-10 if dtype == "float16" else -7)
    steps = 1 if "response" not in name else 8                 # those are composed of rounded parts
    assert np.allclose(found.astype("float32").numpy(), expected.numpy(), rtol=steps * unit, atol=steps * unit)
