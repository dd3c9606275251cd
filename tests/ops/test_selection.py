"""Choosing by masks, conditions and numbers, and where things are, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import backend
from lucid_nb.errors import IndexError, LucidError, ShapeError
from lucid_nb.testing import LAYOUTS, arrays, check_grad, laid_out, shapes

from . import oracles

DTYPES = ["float32", "float64", "float16", "complex64", "int64", "int8", "uint16", "bool"]
WIDTHS = ["int8", "int16", "float32", "float64", "complex128"]
RANDOM = np.random.default_rng(0)


@given(x=arrays(st.sampled_from(DTYPES), shapes(min_dims=1, max_dims=4)))
def test_what_is_not_zero_equals_numpy(x):
    ours = lnb.asarray(x)
    for found, expected in ((lnb.nonzero(ours), np.nonzero(x)), (lnb.where(ours), np.where(x)),
                            ([lnb.argwhere(ours)], [np.argwhere(x)]), ([lnb.flatnonzero(ours)], [np.flatnonzero(x)])):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            np.testing.assert_array_equal(one.numpy(), other, strict=True)


@pytest.mark.parametrize("shape", [(9001,), (130, 70), (40, 3, 77), (2, 5000, 1)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_large_masks_equal_numpy(shape, share, device):
    if device == "cuda" and np.prod(shape) > 1000:
        shape = (3, 50)
    mask = RANDOM.random(shape) < share
    x = RANDOM.standard_normal(shape).astype("float32")
    ours, chosen = oracles.on(device, x.copy()), oracles.on(device, mask)
    for one, other in zip(lnb.nonzero(chosen), np.nonzero(mask)):
        np.testing.assert_array_equal(one.numpy(), other)
    found = ours[chosen]
    np.testing.assert_array_equal(found.numpy(), x[mask], strict=True)
    ours[chosen] = found * 2
    np.testing.assert_array_equal(ours.numpy(), np.where(mask, 2 * x, x))
    ours[chosen] = 7
    np.testing.assert_array_equal(ours.numpy(), np.where(mask, 7, x))


@pytest.mark.parametrize("dtype", WIDTHS)
def test_masks_move_elements_of_every_width(dtype):
    x, mask = RANDOM.integers(-9, 9, 10_007).astype(dtype), RANDOM.random(10_007) < 0.4
    ours = lnb.asarray(x)
    np.testing.assert_array_equal(ours[mask].numpy(), x[mask], strict=True)
    assert (lnb.masked_select(lnb.asarray(x[::-1]), mask[::-1]).numpy() == x[::-1][mask[::-1]]).all()
    ours = lnb.tensor(x)
    ours[mask] = x[mask] + x[mask]
    np.testing.assert_array_equal(ours.numpy(), np.where(mask, x + x, x), strict=True)


@settings(max_examples=60)
@given(x=arrays(st.sampled_from(DTYPES), shapes(min_dims=1, min_side=1), awkward=False), seed=st.integers(0, 99),
       layout=st.sampled_from(LAYOUTS))
def test_by_masks_equals_numpy(x, seed, layout):
    random = np.random.default_rng(seed)
    mask, ours = laid_out(random.random(x.shape) < 0.5, layout), lnb.tensor(x)
    same(lnb.extract(mask, ours), np.extract(mask, x))
    same(lnb.masked_select(ours, mask), x[mask])
    axis = int(random.integers(-x.ndim, x.ndim))
    line = random.random(int(random.integers(0, x.shape[axis] + 1))) < 0.5
    same(lnb.compress(line, ours, axis=axis), np.compress(line, x, axis=axis))
    same(ours.compress(mask.ravel()), x.compress(mask.ravel()))
    same(lnb.masked_fill(ours, lnb.asarray(mask), 1), np.where(mask, x.dtype.type(1), x))
    values = random.integers(0, 9, int(random.integers(1, 5))).astype(x.dtype)
    for function, oracle in ((lnb.place, np.place), (lnb.putmask, np.putmask)):
        expected, target = x.copy(), lnb.tensor(x)
        oracle(expected, mask, values)
        function(target, mask, values)
        same(target, expected)


def same(found, expected):
    """Equal, dtype and shape too."""
    np.testing.assert_array_equal(found.numpy(), expected, strict=True)


@pytest.mark.parametrize("function", ["place", "putmask"])
@pytest.mark.parametrize("target, values", [("float32", np.ones(2)), ("uint8", np.array([-1, 2])), ("int64", [1.5, 2]),
                                            ("float32", np.ones(2, "float16")), ("bool", np.array([1])), ("int8", 1.5)])
def test_writing_by_masks_casts_as_numpys(function, target, values):
    expected, mask = np.zeros(3, target), [True, False, True]
    x = lnb.tensor(expected)
    try:
        getattr(np, function)(expected, mask, values)
    except TypeError:
        with pytest.raises(lnb.DTypeError, match=f"^{function}: "):
            getattr(lnb, function)(x, mask, values)
    else:
        getattr(lnb, function)(x, mask, values)
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose_equals_numpy(mode):
    numbers = np.array([[0, 2, 1], [1, 0, 2]]) if mode == "raise" else np.array([[-1, 5, 1], [3, -7, 2]])
    choices = [np.arange(3), np.full((2, 1), 10.5), np.array(7, "float32")]
    same(lnb.choose(numbers, choices, mode=mode), np.choose(numbers, choices, mode=mode))
    assert lnb.tensor(numbers).choose([lnb.tensor(c) for c in choices], mode=mode).shape == (2, 3)
    if mode == "raise":
        with pytest.raises(IndexError, match=r"choose: numbers from -1 to 3 for 3 choices\. Use 0 to 2"):
            lnb.choose([-1, 3], choices)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool"])
def test_select_and_piecewise_equal_numpy(dtype):
    x = np.arange(-3, 4).astype(dtype)
    conditions = [x.real < -1, x.real > 1]
    for choices, default in (([x, x + x], 0), ([x, 2.5], 1), ([1, 2], x)):
        same(lnb.select(conditions, choices, default), np.select(conditions, choices, default))
    for functions in ([1, 2], [1, lambda v: v + v], [lambda v: v, 2, lambda v: v * v]):
        same(lnb.piecewise(lnb.tensor(x), conditions, functions), np.piecewise(x, conditions, functions))
    same(lnb.piecewise(lnb.tensor(x), x.real > 0, [1]), np.piecewise(x, x.real > 0, [1]))
    same(lnb.piecewise(lnb.tensor(x), x.real > 0, [lambda v, k: v * k, 0], 1), np.piecewise(
        x, x.real > 0, [lambda v, k: v * k, 0], 1))


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((3,), (2, 3)), ((), (2,)), ((2, 1), (1, 3)), ((0,), (2, 1))])
def test_masked_fill_broadcasts_both_as_numpys_where(shapes):
    x, mask = [np.arange(np.prod(shape)).reshape(shape) for shape in shapes]
    mask = mask % 2 == 0
    np.testing.assert_array_equal(lnb.masked_fill(x, mask, 9).numpy(), np.where(mask, 9, x))
    check_grad(lambda x: lnb.masked_fill(x, mask, 9) ** 2, x.astype("float64"))


def test_one_hot_equals_comparison(device):
    classes = np.array([[0, 2], [1, 0]])
    found = lnb.one_hot(oracles.on(device, classes))
    assert found.dtype == "int64" and found.device == device
    np.testing.assert_array_equal(found.numpy(), classes[..., None] == np.arange(3))
    assert lnb.one_hot(oracles.on(device, classes), 5, dtype="float32").shape == (2, 2, 5)
    assert lnb.one_hot(lnb.zeros((0,), dtype="int64"), 3).shape == (0, 3)
    narrow = lnb.one_hot(oracles.on(device, np.array([1, 127], "int8")), 300).to_host()      # classes beyond int8
    np.testing.assert_array_equal(narrow, np.arange(300) == np.array([[1], [127]]))


GRADIENTS = {
    "mask": lambda x, y: lnb.exp(x[x.detach() > 0.7]) * 2,
    "mask written": lambda x, y: _written(x, x.detach() > 0.7, y),
    "rows": lambda x, y: lnb.exp(x[[True, False]] * y[0, 0]),
    "compress": lambda x, y: lnb.exp(lnb.compress([True, False, True], x, axis=1)),
    "masked_fill": lambda x, y: lnb.exp(lnb.masked_fill(x, [True, False, True], y.sum())),
    "masked_select": lambda x, y: lnb.masked_select(x * y, [[True, False, True], [False, False, True]]) ** 2,
    "place": lambda x, y: _in_place(lnb.place, x, y[0, :2] ** 2),
    "putmask": lambda x, y: _in_place(lnb.putmask, x, y[0, :2] ** 2),
    "choose": lambda x, y: lnb.exp(lnb.choose([[0, 1, 0]], [x, y])),
    "select": lambda x, y: lnb.exp(lnb.select([x.detach() > 0.7], [x * y], y)),
    "piecewise": lambda x, y: lnb.piecewise(x * y, [x.detach() > 0.7], [lnb.exp, lambda v: v * v]),
}


def _written(x, mask, y):
    z = x * x
    z[mask] = y.reshape(-1)[:int(mask.sum())] ** 2
    return lnb.exp(z)


def _in_place(function, x, values):
    z = x * x
    function(z, [[True, False, True], [False, True, True]], values)
    return lnb.exp(z)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_follow_finite_differences(name):
    check_grad(GRADIENTS[name], np.linspace(0.4, 1.3, 6).reshape(2, 3), np.linspace(0.9, 0.2, 6).reshape(2, 3))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_on_other_devices_follow_the_cpu(name, device):
    found = []
    for place in ("cpu", device):
        inputs = [oracles.on(place, np.linspace(*ends, 6).reshape(2, 3).astype("float32")) for ends in ((0.4, 1.3),
                                                                                                       (0.9, 0.2))]
        for tensor in inputs:
            tensor.requires_grad = True
        GRADIENTS[name](*inputs).sum().backward()
        found.append([None if tensor.grad is None else tensor.grad.numpy() for tensor in inputs])
    for ours, theirs in zip(*found):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=3e-6)


def test_refusals():
    x = lnb.zeros((2, 3))
    for call, kind in ((lambda: lnb.nonzero(lnb.tensor(1.0)), ShapeError), (lambda: lnb.where(x, x), LucidError),
                       (lambda: lnb.compress([[True]], x), ShapeError), (lambda: lnb.masked_fill(x, x, 1), LucidError),
                       (lambda: lnb.masked_fill(x, x > 0, [1, 2]), ShapeError),
                       (lambda: lnb.masked_fill(x, lnb.ones(7) > 0, 1), ShapeError),
                       (lambda: lnb.place(x, [True], 1), ShapeError), (lambda: lnb.putmask(x, [True], 1), ShapeError),
                       (lambda: lnb.place(x, x == 0, []), ShapeError), (lambda: lnb.select([], []), ShapeError),
                       (lambda: lnb.select([x], [x]), LucidError), (lambda: lnb.one_hot([-1]), IndexError),
                       (lambda: lnb.one_hot([3], 3), IndexError), (lambda: lnb.one_hot([0.5]), LucidError),
                       (lambda: lnb.piecewise(x, [x > 0], [1, 2, 3]), ShapeError),
                       (lambda: lnb.masked_select(x, [[1, 0, 1]]), LucidError)):
        with pytest.raises(kind):
            call()
    assert not x.numpy().any()


BOOLS = {"take": lambda m, x, b: m.take(x, b), "take along": lambda m, x, b: m.take(x[None], b, axis=1),
         "choose": lambda m, x, b: m.choose(b, [x, -x]), "unravel_index": lambda m, x, b: m.unravel_index(b, (2, 2))[1],
         "ravel_multi_index": lambda m, x, b: m.ravel_multi_index((b, b), (2, 2)),
         "bincount": lambda m, x, b: m.bincount(b), "reduceat": lambda m, x, b: m.add.reduceat(x, b),
         "put": lambda m, x, b: m.put(x, b, 9) or x}


@pytest.mark.parametrize("device", [name for name in ("cpu", "mlx") if backend.is_usable(name)])
@pytest.mark.parametrize("name", BOOLS)
def test_bools_are_positions_where_numpy_takes_them(name, device):
    x, b = np.array([1.0, 2.0, 3.0], np.float32), np.array([True, False, True])
    wanted = BOOLS[name](np, x.copy(), b)
    for bools in (b, lnb.asarray(b).to(device), b.tolist()):
        found = BOOLS[name](lnb, lnb.asarray(x.copy()).to(device), bools)
        np.testing.assert_array_equal(found.to("cpu").numpy(), wanted, strict=True)


@pytest.mark.parametrize("call", [lambda x, b: lnb.take_along_axis(x, b, 0),
                                  lambda x, b: lnb.put_along_axis(x, b, 9, 0)], ids=["take", "put"])
def test_bools_are_no_positions_along_an_axis(call):
    with pytest.raises(IndexError, match="bool is no index"):
        call(lnb.ones(3), np.array([True, False, True]))
