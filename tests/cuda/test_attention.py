"""Attention by tiles beside the CPU's, which other tests hold to the whole matrix in float64."""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import kernels
from lucid_nb.nn import functional as F

from .conftest import check_launches

RANDOM = np.random.default_rng(0)
TOLERANCE = {"float64": 1e-13, "float32": 5e-6, "float16": 4e-3, "bfloat16": 4e-2}
HALF = 1 << 31


def on_device(host):
    """The array on the device, or nothing."""
    return None if host is None else table.from_numpy(host)


def both(shape, dtype="float32", groups=None, mask=None, causal=False, drop=None):
    """All results and gradients by the CPU and by the device, and the same again."""
    batch, heads, length, reach, depth, features = shape
    groups = groups or heads
    hosts = [RANDOM.standard_normal(own).astype(dtype) for own in (
        (batch, heads, length, depth), (batch, groups, reach, depth), (batch, groups, reach, features),
        (batch, heads, length, features))]
    bias = None if mask is None else RANDOM.standard_normal(mask).astype(dtype)
    if bias is not None and bias.shape[3] > 1:
        bias[..., 0, 2:], bias[..., mask[2] // 2 or mask[3]:, :] = -np.inf, -np.inf
    found = []
    for module, place in ((kernels, lambda host: host), (table, on_device), (table, on_device)):
        q, k, v, g, m = map(place, (*hosts, bias))
        out, sums = module.attention(q, k, v, m, causal, 0.7, drop)
        grads = module.attention_grad(q, k, v, m, out, sums, g, causal, 0.7, m is not None, drop)
        found.append([module.to_numpy(raw) for raw in (out, sums, *grads) if raw is not None])
    return found


CASES = {
    "tiles that are full": ((1, 1, 8, 8, 2, 2), {}),
    "tails of all sizes": ((2, 2, 9, 11, 3, 9), {}),
    "groups": ((1, 4, 3, 10, 5, 3), {"groups": 2}),
    "causal": ((1, 2, 11, 9, 2, 3), {"causal": True}),
    "causal with more keys": ((1, 1, 3, 17, 9, 1), {"causal": True}),
    "mask of keys": ((2, 2, 3, 10, 2, 3), {"mask": (1, 2, 1, 10)}),
    "mask of rows": ((2, 1, 9, 4, 2, 3), {"mask": (2, 1, 9, 1)}),
    "whole mask": ((1, 2, 9, 9, 2, 2), {"mask": (1, 2, 9, 9)}),
    "dropped": ((1, 2, 10, 17, 2, 3), {"drop": (HALF, 5, 6, 7)}),
    "dropped beyond a block of words": ((1, 1, 9, 130, 1, 2), {"drop": (3 * (HALF >> 1), 5, 6, 7)}),
    "dropped and masked": ((1, 4, 9, 3, 2, 2), {"drop": (HALF, 5, 6, 7), "mask": (1, 1, 9, 3), "groups": 2}),
    "all dropped": ((1, 1, 2, 3, 2, 2), {"drop": (0, 5, 6, 7)}),
}


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("name", CASES)
def test_tiles_give_what_the_cpu_gives(name):
    shape, options = CASES[name]
    theirs, mine, again = both(shape, **options)
    for one, other, same in zip(theirs, mine, again):
        assert one.shape == other.shape
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=5e-6 * (1 + abs(one).max()))
        np.testing.assert_array_equal(other, same)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("dtype", ["float64", "float16", ml_dtypes.bfloat16], ids=str)
def test_dtypes_compute_in_their_own_precision(dtype):
    theirs, mine, _ = both((1, 2, 9, 10, 3, 5), dtype, mask=(1, 1, 9, 10))
    tolerance = TOLERANCE[np.dtype(dtype).name]
    assert mine[0].dtype == mine[2].dtype == np.dtype(dtype) and mine[1].itemsize >= 4
    for one, other in zip(theirs, mine):
        one = one.astype("float64")
        np.testing.assert_allclose(other.astype("float64"), one, rtol=tolerance, atol=tolerance * (1 + abs(one).max()))


@pytest.mark.cuda_simulator
def test_strides_are_read_where_they_lie_and_results_lie_alike():
    host = RANDOM.standard_normal((2, 5, 3, 2, 4)).astype("float32")             # batch, rows, operand, head, feature
    packed = table.from_numpy(host)
    q, k, v = (table.permute(table.slice(packed, (slice(None), slice(None), n)), (0, 2, 1, 3)) for n in range(3))
    out, _ = table.attention(q, k, v, None, True, 0.5)
    wanted, _ = kernels.attention(*(host[:, :, n].transpose(0, 2, 1, 3) for n in range(3)), None, True, 0.5)
    assert out.strides[3] == 1 and out.strides[1] < out.strides[2]
    np.testing.assert_allclose(table.to_numpy(out), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.cuda_simulator
def test_a_query_that_looks_at_one_key_gives_its_value_and_no_gradient():
    _, (_, sums, dq, dk, _), _ = both((1, 1, 1, 1, 3, 5))
    assert not dq.any() and not dk.any() and sums[..., 1] == 1


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("shape", [(0, 1, 2, 3, 2, 2), (1, 1, 0, 3, 2, 2), (1, 1, 2, 0, 2, 2), (1, 1, 2, 3, 2, 0)])
def test_nothing_gives_zeros(shape):
    theirs, mine, _ = both(shape)
    for one, other in zip(theirs, mine):
        np.testing.assert_array_equal(other, one)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": True}], ids=str)
def test_gradients_of_the_op_to_second_order(options):
    hosts = [RANDOM.standard_normal(shape) for shape in ((2, 3, 2), (2, 4, 2), (2, 4, 3), (3, 4))]
    found = []
    for device in ("cpu", "cuda"):
        *operands, mask = (lnb.tensor(host, device=device, requires_grad=True) for host in hosts)
        given = {**options, "attn_mask": mask} if "attn_mask" in options else options
        leaves = [*operands, mask] if "attn_mask" in options else operands
        out = F.scaled_dot_product_attention(*operands, **given)
        plain = lnb.autograd.grad((out * out).sum(), leaves, retain_graph=True)
        first = lnb.autograd.grad((out * out).sum(), leaves, create_graph=True)
        second = lnb.autograd.grad(sum((g * g).sum() for g in first), leaves)
        found.append([x.detach().to("cpu").numpy() for x in (out, *plain, *first, *second)])
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


def test_any_size_is_a_launch(launches):
    """More than 2**31 scores and elements: blocks walk, and places have 64 bits."""
    shape = (1 << 12, 64, 1 << 12, 64)
    q = table.empty(shape, np.dtype("float32"))
    out, sums = table.attention(q, q, q, None, False, 1.0)
    table.attention_grad(q, q, q, None, out, sums, q, False, 1.0, False)
    assert len(launches) == 3 and out.shape == shape
    check_launches([(blocks, threads, *[number for given in arguments if isinstance(given, tuple) for number in given])
                    for blocks, threads, *arguments in launches])
