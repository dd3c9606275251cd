"""Attention of heads against float64 NumPy: shapes, layouts, masks, writes outside of results, bits on two threads."""

import importlib
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb import config
from lucid_nb.errors import ConfigError
from lucid_nb.kernels import compiler, memory, threads
from lucid_nb.kernels.attention import attention, attention_grad

module = importlib.import_module("lucid_nb.kernels.attention")
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
GUARD, MARGIN = 0xA5, 64


def exact(q, k, v, mask, causal, scale, g):
    """Result and gradients of q, k, v and scores, by the whole matrix in float64."""
    members = q.shape[1] // k.shape[1]
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    k, v = (x.repeat(members, 1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * scale + (0 if mask is None else mask.astype(np.float64))
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    top = scores.max(3, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    weights /= np.maximum(weights.sum(3, keepdims=True), 1e-300)
    out = weights @ v
    slope = weights * (g @ v.swapaxes(2, 3) - (g * out).sum(3, keepdims=True))
    dk, dv = slope.swapaxes(2, 3) @ q * scale, weights.swapaxes(2, 3) @ g
    dk, dv = (x.reshape(x.shape[0], -1, members, *x.shape[2:]).sum(2) for x in (dk, dv))
    return out, slope @ k * scale, dk, dv, slope


def drawn(shape, dtype, seed, heads_inside=False):
    """Random numbers; heads lie inside of rows, as after a projection, where that is wanted."""
    batch, heads, rows, features = shape
    random = np.random.default_rng(seed)
    if heads_inside:
        return random.standard_normal((batch, rows, heads, features)).astype(dtype).transpose(0, 2, 1, 3)
    return random.standard_normal(shape).astype(dtype)


def assert_near(found, expected, dtype, terms=0.0):
    """Within 40 epsilons of the largest result, or of the size of the terms that cancel."""
    assert found.dtype == dtype and found.shape == expected.shape
    bound = 40 * np.finfo(dtype).eps * max(1, terms, np.abs(expected).max(initial=0))
    assert np.abs(found - expected).max(initial=0) <= bound


@contextmanager
def guarded():
    """Every array that the entries make lies between guard bytes, which are looked at in the end."""
    made = []

    def empty(shape, dtype):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        whole = np.full(size + 2 * MARGIN, GUARD, np.uint8)
        made.append(whole)
        return whole[MARGIN:MARGIN + size].view(dtype).reshape(shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "memory", type("Guarded", (), {"empty": staticmethod(empty)}))
        yield
    assert made and all((whole[:MARGIN] == GUARD).all() and (whole[-MARGIN:] == GUARD).all() for whole in made)


def check(q, k, v, mask, causal, scale, of_mask=False):
    dtype = q.dtype
    g = drawn((*q.shape[:3], v.shape[3]), dtype, 9)
    out, dq, dk, dv, slope = exact(q, k, v, mask, causal, scale, g)
    found, sums = attention(q, k, v, mask, causal, scale)
    assert_near(found, out, dtype)
    gradients = attention_grad(q, k, v, mask, found, sums, g, causal, scale, of_mask)
    members = q.shape[1] // k.shape[1]
    products = (np.abs(g) @ np.abs(v).repeat(members, 1).swapaxes(2, 3)).max()        # of which gradients of scores are
    for one, other, factors in ((gradients[0], dq, k), (gradients[1], dk, q)):          # differences
        assert_near(one, other, dtype, products * np.abs(factors).max() * abs(scale))
    assert_near(gradients[2], dv, dtype)
    if of_mask:
        axes = tuple(axis for axis, size in enumerate(mask.shape) if size == 1)
        assert_near(gradients[3], slope.sum(axes, keepdims=True), dtype, products)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(data=st.data())
def test_attention_of_any_shape(dtype, data):
    batch, groups, members = (data.draw(st.integers(1, most)) for most in (2, 2, 3))
    rows, cols, depth, features = (data.draw(st.integers(1, most)) for most in (150, 300, 40, 40))
    causal, inside = data.draw(st.booleans()), data.draw(st.booleans())
    q = drawn((batch, groups * members, rows, depth), dtype, 1, inside)
    k, v = drawn((batch, groups, cols, depth), dtype, 2, inside), drawn((batch, groups, cols, features), dtype, 3)
    mask = None
    if not causal and data.draw(st.booleans()):
        shape = [size if data.draw(st.booleans()) else 1 for size in (batch, groups * members, rows, cols)]
        mask = np.random.default_rng(4).standard_normal(shape).astype(dtype)
    with guarded():
        check(q, k, v, mask, causal, data.draw(st.sampled_from([0.3, 1.0, -0.5])), mask is not None)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows_that_see_nothing_give_zeros(dtype):
    q, k, v = (drawn((1, 2, 70, 5), dtype, seed) for seed in range(3))
    mask = np.where(np.random.default_rng(0).random((1, 1, 70, 70)) < 0.3, 0, -np.inf).astype(dtype)
    mask[0, 0, [0, 13, 69]] = -np.inf
    check(q, k, v, mask, False, 0.4)
    found, sums = attention(q, k, v, mask, False, 0.4)
    assert not found[:, :, [0, 13, 69]].any() and not sums[:, :, [0, 13, 69]].any()
    whole = np.full_like(mask, -np.inf)
    found, sums = attention(q, k, v, whole, False, 0.4)
    gradients = attention_grad(q, k, v, whole, found, sums, q, False, 0.4, True)
    assert not found.any() and not any(x.any() for x in gradients)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scores_far_apart_neither_overflow_nor_vanish(dtype):
    q, k, v = (100 * drawn((1, 1, 130, 8), dtype, seed) for seed in range(3))
    out = exact(q, k, v, None, False, 1.0, q)[0]
    found, _ = attention(q, k, v, None, False, 1.0)
    scores = np.abs(q[0, 0].astype(float)) @ np.abs(k[0, 0].T.astype(float))
    assert np.all(np.abs(found - out) <= 8 * np.finfo(dtype).eps * scores.max() * np.abs(v).max())


@pytest.mark.parametrize("width", [128, 256, 512])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_vectors_of_every_width(dtype, width):
    before = config.vector_width
    try:
        config.vector_width = width
        if compiler.vector_width() != width:
            pytest.skip(f"this CPU has no vectors of {width} bits")
        with guarded():
            check(*[drawn((1, 2, rows, 19), dtype, rows) for rows in (77, 141, 141)], None, True, 0.4)
    except ConfigError as error:
        pytest.skip(str(error))
    finally:
        config.vector_width = before


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 200, 40), (1, 1, 64, 8), (1, 2, 700, 64)], ids=str)
def test_same_bits_for_any_number_of_threads(shape, causal):
    q, k, v, g = (drawn(shape, np.float32, seed) for seed in range(4))
    mask, before, found = None if causal else drawn((1, 1, *shape[2:3] * 2), np.float32, 5), threads.num_threads(), []
    try:
        for number in (1, 2, 3):
            threads.set_num_threads(number)
            drop = (1 << 31, 1, 2, 3) if shape[0] == 2 else None
            out, sums = attention(q, k, v, mask, causal, 0.2, drop)
            results = attention_grad(q, k, v, mask, out, sums, g, causal, 0.2, mask is not None, drop)
            found.append([x.tobytes() for x in (out, sums, *results) if x is not None])
    finally:
        threads.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("empty", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)], ids=str)
def test_attention_of_nothing(empty):
    batch, heads, cols, depth = empty
    q, k = np.ones((batch, heads, 5, depth), np.float32), np.ones(empty, np.float32)
    v, g = np.ones((batch, heads, cols, 3), np.float32), np.ones((batch, heads, 5, 3), np.float32)
    out, sums = attention(q, k, v, None, False, 1.0)
    assert out.shape == g.shape and np.all(out == (depth == 0))
    gradients = attention_grad(q, k, v, None, out, sums, g, False, 1.0, False)
    assert [x.shape for x in gradients[:3]] == [q.shape, k.shape, v.shape]
    assert not gradients[0].any() and not gradients[1].any()


@pytest.mark.parametrize("depth", [0, 4])
def test_values_without_features_give_no_slope(depth):
    q, k, v = (np.ones((2, 2, rows, cols)) for rows, cols in ((5, depth), (3, depth), (3, 0)))
    mask = np.ones((2, 2, 5, 3))
    out, sums = attention(q, k, v, mask, False, 1.0)
    assert out.shape == (2, 2, 5, 0)
    for found, operand in zip(attention_grad(q, k, v, mask, out, sums, out, False, 1.0, True), (q, k, v, mask)):
        assert np.array_equal(found, np.zeros(operand.shape))


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)], ids=str)
def test_results_lie_in_memory_as_the_queries_do(order):
    shape = (2, 3, 20, 4)
    q, k, v = (drawn((*[shape[axis] for axis in order], 4), np.float32, seed).transpose(*np.argsort(order), 3)
               for seed in range(3))
    check(q, k, v, None, False, 1.0)
    out, sums = attention(q, k, v, None, False, 1.0)
    gradients = attention_grad(q, k, v, None, out, sums, out, False, 1.0, False)
    assert all(x.strides == y.strides for x, y in zip((out, *gradients[:3]), (q, q, k, v)))


def test_memory_grows_with_rows_and_not_with_their_square(monkeypatch):
    sizes = []
    make = memory.empty
    monkeypatch.setattr(memory, "empty", lambda shape, dtype: sizes.append(int(np.prod(shape))) or make(shape, dtype))
    q, k, v = (drawn((1, 1, 2000, 4), np.float32, seed) for seed in range(3))
    out, sums = attention(q, k, v, None, False, 1.0)
    attention_grad(q, k, v, None, out, sums, out, False, 1.0, False)
    assert max(sizes) <= 2000 * 32


@pytest.mark.parametrize("masked", [False, True])
def test_weights_of_large_scores_are_exact_in_gradients(masked):
    random = np.random.default_rng(5)
    q, k = (random.integers(-1, 2, (1, 2, 150, 6)).astype(np.float32) for _ in range(2))
    q[..., 0], k[..., 0] = 64, 64                            # scores are integers near 4096: float32 has them exactly
    v, g = (drawn((1, 2, 150, 5), np.float32, seed) for seed in (6, 7))
    mask = np.zeros((1, 1, 150, 150), np.float32) if masked else None
    found, sums = attention(q, k, v, mask, False, 1.0)
    out, _, _, dv, _ = exact(q, k, v, mask, False, 1.0, g)
    assert_near(found, out, np.float32)
    assert_near(attention_grad(q, k, v, mask, found, sums, g, False, 1.0, False)[2], dv, np.float32)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("features", [1, 7, 64, 100])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_query_of_one_key_gets_its_value_exactly_and_no_gradient(dtype, features, masked):
    q = drawn((1, 2, 150, 33), dtype, 1)
    q *= 40 / np.sqrt((q * q).sum(-1, keepdims=True))          # no other product comes near that of a row with itself
    v, g = (drawn((1, 2, 150, features), dtype, seed) for seed in (2, 3))
    mask = np.zeros((1, 1, 150, 150), dtype) if masked else None
    out, sums = attention(q, q, v, mask, False, 3.7)
    dq, dk, dv, dmask = attention_grad(q, q, v, mask, out, sums, g, False, 3.7, masked)
    assert np.array_equal(out, v) and np.array_equal(dv, g)
    assert not dq.any() and not dk.any() and (dmask is None or not dmask.any())


def worst_ratios(q, k, v, g, causal, scale):
    """Errors of the result and the gradients over PyTorch's: of root mean squares, and of maxima."""
    torch = pytest.importorskip("torch")
    given = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    theirs = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=causal, scale=scale)
    theirs.backward(torch.tensor(g))
    out, sums = attention(q, k, v, None, causal, scale)
    ours = [out, *attention_grad(q, k, v, None, out, sums, g, causal, scale, False)[:3]]
    found = []
    for one, other, right in zip(ours, [theirs.detach(), *[x.grad for x in given]],
                                 exact(q, k, v, None, causal, scale, g)):
        one, other = (np.abs(x.astype(float) - right) for x in (one, other.numpy()))
        found.append([size(one) / max(size(other), 1e-30) for size in (lambda x: np.sqrt((x * x).mean()), np.max)])
    return np.max(found, 0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [0.125, 1.0])
def test_errors_are_at_most_twice_those_of_pytorch(causal, scale):
    assert worst_ratios(*[drawn((1, 2, 300, 64), np.float32, seed) for seed in range(4)], causal, scale).max() <= 2


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [4, 40, 150])
@pytest.mark.parametrize("features", [32, 64])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_errors_of_nearly_one_weight_are_at_most_twice_those_of_pytorch(scale, features, rows, causal):
    q, v, g = (drawn((1200 // rows, 2, rows, features), np.float32, seed) for seed in range(3))
    assert worst_ratios(q, q, v, g, causal, scale).max() <= 2
