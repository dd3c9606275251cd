"""Random programs, fused beside unfused and beside NumPy in float64: values, gradients and second gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb

from .programs import operands, programs

FLOATS = [np.float32, np.float64, np.float16]
data = st.data()


def gradients(function, arrays, seed, again):
    """The result, the gradients of a seed, and the gradients of their sum with seeds `again`."""
    leaves = [lnb.tensor(x, requires_grad=True) for x in arrays]
    result = function(*leaves)
    if not result.requires_grad:
        return [result]
    result.backward(lnb.tensor(seed), create_graph=True)
    first = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    total = sum((g * lnb.tensor(s)).sum() for g, s in zip(first, again) if g is not None and g.requires_grad)
    if isinstance(total, lnb.Tensor):
        total.backward()
    return [result, *first, *[leaf.grad for leaf in leaves]]


@settings(max_examples=max(6, settings.default.max_examples // 4))
@given(data=data)
def test_fused_gradients_to_second_order_are_those_of_ops(data):
    arrays = data.draw(operands(np.float64))
    program = data.draw(programs(len(arrays)))

    def function(*inputs):
        return program.run("ours", inputs)[-1]
    random = np.random.default_rng(0)
    seed = random.standard_normal(program.run("theirs", arrays)[-1].shape)
    again = [random.standard_normal(x.shape) for x in arrays]
    plain, fused = (gradients(f, arrays, seed, again) for f in (function, lnb.fuse(function)))
    assert len(plain) == len(fused)
    for number, (a, b) in enumerate(zip(plain, fused)):
        if a is None or b is None:
            assert all(x is None or not np.any(x.detach().numpy()) for x in (a, b)), number
        else:
            assert a.shape == b.shape and a.dtype == b.dtype
            a, b = a.detach().numpy(), b.detach().numpy()
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * (1 + np.abs(a).max(initial=0)), err_msg=str(number))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
@settings(max_examples=max(6, settings.default.max_examples // 4))
@given(data=data)
def test_fused_values_are_near_those_of_ops(dtype, data):
    arrays = data.draw(operands(dtype))
    program = data.draw(programs(len(arrays)))

    def function(*inputs):
        return program.run("ours", inputs)[-1]
    inputs = [lnb.tensor(x) for x in arrays]
    plain, fused = function(*inputs), lnb.fuse(function)(*inputs)
    assert plain.dtype == fused.dtype and plain.shape == fused.shape
    terms = program.errors([x.astype(np.float64) for x in arrays])[-1]
    off = np.abs(plain.numpy().astype(np.float64) - fused.numpy().astype(np.float64))
    bound = 2 * np.finfo(dtype).eps * terms + np.finfo(dtype).smallest_subnormal
    assert np.all((off <= bound) | ~np.isfinite(plain.numpy()))
