"""Fused beside unfused for every pair of dtypes, for shapes with zeros and ones, and for what has no gradient."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb

RANDOM = np.random.default_rng(0)
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "bfloat16", "float32", "float64"]
SHAPES = [((0,), (1,)), ((1,), (0,)), ((3, 0), (3, 1)), ((0, 4), (4,)), ((), ()), ((), (3,)), ((1,), (1, 1)),
          ((2, 1, 4), (3, 1)), ((5, 1), (1, 5)), ((2, 3, 1), (1, 1, 4)), ((0, 0), (0, 0)), ((4,), (2, 3, 4))]
FUNCTIONS = {
    "arithmetic": lambda x, y: (x * 2 + y) * x - y, "quotient": lambda x, y: x / (y * y + 1) + 1,
    "tanh": lambda x, y: lnb.tanh(x) * y + 0.5, "choice": lambda x, y: lnb.where(x > y, x, y) * 2,
    "sum": lambda x, y: (x * y + x).sum(-1) if x.ndim and y.ndim else x * y,
    "mean": lambda x, y: (x + y).mean(-1, keepdims=True) * x if x.ndim and y.ndim else x - y,
    "softmax": lambda x, y: lnb.softmax(x + y * 1.0), "logsumexp": lambda x, y: lnb.logsumexp(x * 1.0 + y) * 2,
    "variance": lambda x, y: (x * 1.0 + y).var(-1) if x.ndim and y.ndim else x + y,
    "floor": lambda x, y: lnb.floor(x * 1.5) + y, "logic": lambda x, y: (x > 0) & ~(y > 0),
    "cast": lambda x, y: (x * 1.0).astype("float32") + y.astype("float32"),
    "bounds": lambda x, y: lnb.clip(x, -1, 1) + lnb.minimum(x, y), "remainder": lambda x, y: x % (abs(y) + 2),
    "several": lambda x, y: (x + y, lnb.floor(x * y * 1.0), x > y), "detached": lambda x, y: (x * 2).detach() * x + y,
    "condition": lambda x, y: lnb.where(x, y * 2, y) + x, "columns": lambda x, y: (x * y + x).sum(0) if x.ndim else y}


def numbers(dtype, shape):
    """Of both signs where there are two."""
    x = 2 * RANDOM.standard_normal(shape)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    return np.asarray(x > 0 if dtype == "bool" else np.abs(x) if dtype[0] == "u" else x).astype(kind)


def outcome(call, arrays):
    """Results, whether they want gradients, and the gradients of their squares."""
    leaves = [lnb.tensor(x, requires_grad=lnb.dtypes.is_inexact(x.dtype)) for x in arrays]
    with np.errstate(all="ignore"):
        results = call(*leaves)
        results = results if isinstance(results, tuple) else (results,)
        for x in results:
            if x.requires_grad:
                (x * x).astype("float64").sum().backward()
    facts = [(x.shape, x.dtype, x.requires_grad) for x in results]
    tensors = [*[x.detach() for x in results], *[x.grad for x in leaves]]
    return facts, [None if x is None else x.astype("float64").numpy() for x in tensors]


def check(name, arrays):
    """Hold fused against unfused; 16-bit numbers are rounded more often without fusion."""
    (plain, wanted), (fused, found) = (outcome(f, arrays) for f in (FUNCTIONS[name], lnb.fuse(FUNCTIONS[name])))
    assert plain == fused
    is_small = any(str(dtype) in ("float16", "bfloat16") for _, dtype, _ in plain) or \
        any(x.dtype.itemsize <= 2 for x in arrays)
    for a, b in zip(wanted, found):
        assert (a is None) == (b is None)
        if a is not None:
            bound = (0.06 if is_small else 1e-5) * (1 + np.abs(a[np.isfinite(a)]).max(initial=0))
            np.testing.assert_allclose(b, a, rtol=bound, atol=bound)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs_of_dtypes(name):
    for first, second in itertools.product(DTYPES, DTYPES):
        check(name, [numbers(first, (3, 4)), numbers(second, (4,))])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs_of_shapes(name):
    for first, second in SHAPES:
        check(name, [numbers("float32", first), numbers("float32", second)])


def test_results_without_gradients_among_others_are_constants():
    x = lnb.tensor([0.4, -1.7], requires_grad=True)
    whole, twice, both = lnb.fuse(lambda x: (lnb.floor(x * 3), x * 2, lnb.floor(x) * x))(x)
    assert (whole.requires_grad, twice.requires_grad, both.requires_grad) == (False, True, True)
    both.sum().backward()
    assert x.grad.tolist() == [0, -2]
