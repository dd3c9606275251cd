"""Reading and writing by position against NumPy and PyTorch: values, layouts, dtypes, errors, gradients, devices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.errors import IndexError, LucidError, ShapeError
from lucid_nb.testing import LAYOUTS, check_grad, laid_out

from . import oracles

DTYPES = ["float32", "float64", "float16", "complex128", "int64", "int8", "uint16", "bool"]
RANDOM = np.random.default_rng(0)
LARGE = (70, 60)                                       # above what is left to NumPy


def data(shape, dtype, seed=1):
    """Small numbers of a dtype."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


@st.composite
def along(draw):
    """An array, an axis, and an index with an axis for each of the array's; negative positions too."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple) | st.just(LARGE) | st.just((5000,)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    count = draw(st.integers(0, 5) if shape not in (LARGE, (5000,)) else st.sampled_from([1, 40]))
    extent = list(shape)
    extent[axis] = count if shape != (5000,) else 4000
    seed = draw(st.integers(0, 99))
    index = np.random.default_rng(seed).integers(-shape[axis], shape[axis], extent)
    is_large = shape in (LARGE, (5000,))                # then a kernel is compiled for each dtype
    array = laid_out(data(shape, draw(st.sampled_from(["float32", "int64"] if is_large else DTYPES)), seed),
                     draw(st.sampled_from(LAYOUTS)))
    return array, index.astype(draw(st.sampled_from(["int64"] if is_large else ["int64", "int32", "int16"]))), axis


@settings(max_examples=60)
@given(case=along(), device=st.sampled_from(["cpu", "cpu", "mlx"]))
def test_along_an_axis_equals_numpy(case, device):
    array, index, axis = case
    if device == "mlx" and (not oracles_usable("mlx") or array.dtype == "complex128"):
        return
    x, places = lnb.tensor(array, device=device), lnb.tensor(index, device=device)
    found = lnb.take_along_axis(x, places, axis)
    assert found.dtype == array.dtype and found.device == device
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(array, index, axis))
    np.testing.assert_array_equal(lnb.gather(x, places, axis=axis).numpy(), found.numpy())
    values = data(index.shape, array.dtype, 5)
    expected = array.copy()
    np.put_along_axis(expected, index, values, axis)
    new = lnb.tensor(values, device=device)
    np.testing.assert_array_equal(lnb.scatter(x, places, new, axis=axis).numpy(), expected)
    lnb.put_along_axis(x, places, new, axis)
    np.testing.assert_array_equal(x.numpy(), expected)


def oracles_usable(device):
    """Can this machine compute there?"""
    return lnb.backend.is_usable(device)


REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@settings(max_examples=60)
@given(case=along(), reduce=st.sampled_from([*REDUCE, "mean"]), include_self=st.booleans())
def test_scatter_reduce_equals_a_loop(case, reduce, include_self):
    array, index, axis = case
    if (array.dtype.kind == "c" and reduce in ("amax", "amin")) or (array.dtype.kind == "b" and reduce == "mean"):
        return
    values = data(index.shape, array.dtype, 5)
    wide = np.float32 if array.dtype == np.float16 else array.dtype
    expected, count = array.astype(wide), np.full(array.shape, int(include_self))
    places = list(np.indices(index.shape))
    places[axis] = index
    with np.errstate(all="ignore"):
        if not include_self:
            lowest = np.iinfo(wide) if array.dtype.kind in "iu" else None
            expected[tuple(places)] = {"sum": 0, "mean": 0, "prod": 1}.get(reduce, 0) if reduce in (
                "sum", "mean", "prod") else (lowest.min if reduce == "amax" else lowest.max) if lowest else (
                    reduce == "amin" if array.dtype.kind == "b" else np.inf * (-1 if reduce == "amax" else 1))
        REDUCE.get(reduce, np.add).at(expected, tuple(places), values.astype(wide))
        if reduce == "mean":
            np.add.at(count, tuple(places), 1)
            count = np.maximum(count, 1)
            expected = expected / count if array.dtype.kind in "fc" else expected // count.astype("int64")
        expected = expected.astype(array.dtype)
        found = lnb.scatter_reduce(lnb.tensor(array), index, values, axis=axis, reduce=reduce,
                                   include_self=include_self)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_and_its_gradient_equal_torch(reduce, include_self):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x, src = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((3, 4))
    src[0, :2] = src[1, :2]                                               # ties
    index = RANDOM.integers(0, 4, (3, 4))
    found = []
    for library, wrap in ((lnb, lnb.tensor), (torch, torch.tensor)):
        a, b = wrap(x, requires_grad=True), wrap(src, requires_grad=True)
        if library is lnb:
            y = lnb.scatter_reduce(a, index, b, axis=0, reduce=reduce, include_self=include_self)
        else:
            y = torch.scatter_reduce(a, 0, torch.tensor(index), b, reduce, include_self=include_self)
        (y * y).sum().backward()
        found.append([y.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("index", [0, [0]])
def test_0d_arrays_count_as_one_element_as_torchs(index, device):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x, theirs, places = lnb.tensor(3.0, dtype="float32", device=device), torch.tensor(3.0), torch.tensor(index)
    src = np.full(np.shape(index), 5.0, "float32")
    for name, more in {"gather": (), "scatter": (src,), "scatter_add": (src,)}.items():
        wanted = getattr(torch, name)(theirs, 0, places, *map(torch.tensor, more))
        found = getattr(lnb, name)(x, index, *[lnb.tensor(part, device=device) for part in more], axis=0)
        assert found.shape == tuple(wanted.shape) and found.tolist() == wanted.tolist()
    assert lnb.scatter(x, index, 7.0).item() == 7
    assert lnb.scatter_reduce(x, index, lnb.tensor(src, device=device), reduce="amax").item() == 5
    if device == "cpu":
        check_grad(lambda x, y: lnb.gather(lnb.scatter_add(x, index, y), index) ** 2, 3.0, src)


def test_gather_and_scatter_take_a_smaller_index_as_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x, src, index = data((4, 5, 3), "float64"), data((3, 6, 3), "float64", 2), RANDOM.integers(0, 5, (2, 6, 1))
    for ours, theirs in ((lnb.gather(x, index, axis=1), torch.gather(torch.tensor(x), 1, torch.tensor(index))),
                         (lnb.scatter_add(x, index, src, axis=1), torch.scatter_add(
                             torch.tensor(x), 1, torch.tensor(index), torch.tensor(src)))):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


MODES = ("raise", "wrap", "clip")


@settings(max_examples=50)
@given(shape=st.sampled_from([(4,), (3, 4), (2, 3, 2), (90, 70)]), mode=st.sampled_from(MODES),
       layout=st.sampled_from(LAYOUTS), extent=st.sampled_from([(), (3,), (2, 2), (0,), (60,)]),
       seed=st.integers(0, 99),
       axis=st.sampled_from([None, 0, -1]), dtype=st.sampled_from(DTYPES))
def test_take_equals_numpy(shape, mode, layout, extent, seed, axis, dtype):
    array = laid_out(data(shape, dtype if len(shape) < 2 or shape[0] < 90 else "float32", seed), layout)
    size = array.size if axis is None else array.shape[axis]
    beyond = 0 if mode == "raise" else 7
    index = np.random.default_rng(seed).integers(-size - beyond, size + beyond, extent)
    expected = np.take(array, index, axis, mode=mode)
    found = lnb.take(lnb.tensor(array), index, axis, mode=mode)
    np.testing.assert_array_equal(found.numpy(), expected, strict=True)
    shared = lnb.asarray(array)
    np.testing.assert_array_equal(lnb.take(shared, lnb.tensor(index), axis, mode=mode).numpy(), expected, strict=True)
    out = lnb.zeros(expected.shape, dtype=array.dtype)
    assert lnb.take(shared, index, axis, out=out, mode=mode) is out and (out.numpy() == expected).all()


@pytest.mark.parametrize("mode", MODES)
def test_put_equals_numpy(mode):
    for array in (data((3, 4), "float32"), data((4, 3), "int64").T, data((90, 50), "float64")):
        index = [0, -1, 5, 5] if mode == "raise" else [0, -1, 500, 9000]
        for values in ([1, 2], 7, [1, 2, 3, 4], np.ones((2, 2)), []):
            expected, x = array.copy(order="K"), lnb.tensor(array)
            np.put(expected, index, values, mode=mode)
            lnb.put(x, index, values, mode)
            np.testing.assert_array_equal(x.numpy(), expected)
            whole = np.zeros((2, *array.shape), array.dtype)
            whole[1] = array
            part = lnb.asarray(whole)[1].T if array.ndim == 2 else None
            expected = array.T.copy()
            np.put(expected, index, values, mode=mode)
            part.put(index, values, mode)
            np.testing.assert_array_equal(part.numpy(), expected)


def test_index_add_and_index_put_equal_numpy(device):
    x, values = data((4, 3), "float32"), data((3, 3), "float32", 2)
    index = [1, -1, 1]
    expected = x.copy()
    np.add.at(expected, np.array(index), 2 * values)
    ours, theirs = oracles.on(device, x), oracles.on(device, values)
    np.testing.assert_array_equal(lnb.index_add(ours, index, theirs, alpha=2).numpy(), expected)
    expected = x.copy().T
    np.add.at(expected, (slice(None), np.array([0, 2, 0])), x.T[:, :3])
    found = lnb.index_add(ours.T, [0, 2, 0], ours.T[:, :3], axis=1)
    np.testing.assert_array_equal(found.numpy(), expected)
    mask = [True, False, True, False]
    for indices, given_values in (((index,), values), (([0, 0], [1, 1]), [5.0, 6.0]), ((mask,), 2.0)):
        for accumulate in (False, True):
            expected = x.copy()
            places = tuple(np.array(one) for one in indices)
            if accumulate:
                np.add.at(expected, places, given_values)
            else:
                expected[places] = given_values
            wrapped = oracles.on(device, given_values) if isinstance(given_values, np.ndarray) else given_values
            np.testing.assert_array_equal(lnb.index_put(ours, indices, wrapped, accumulate).numpy(), expected)
    np.testing.assert_array_equal(ours.numpy(), x)


GRADIENTS = {
    "take": lambda x, y: lnb.exp(lnb.take(x, [[0, -1], [1, 1]], axis=1)) * lnb.take(y, [7, 0], mode="clip"),
    "take_along_axis": lambda x, y: lnb.sin(lnb.take_along_axis(x * y, [[0, 0, 2], [1, -1, 1]], axis=1)),
    "gather": lambda x, y: lnb.exp(lnb.gather(x, [[1, 1, 0]], axis=0)) * y,
    "scatter": lambda x, y: lnb.exp(lnb.scatter(x, [[0, 0], [2, 1]], y * y, axis=1)),
    "scatter_add": lambda x, y: lnb.exp(lnb.scatter_add(x, [[0, 0, 1], [1, 0, 1]], y * y, axis=0)),
    **{f"{reduce}, {own}": lambda x, y, reduce=reduce, own=own: lnb.scatter_reduce(
        x * x, [[0, 0, 1], [0, 2, 1]], y * y, axis=1, reduce=reduce, include_self=own)
       for reduce in ("prod", "mean", "amax", "amin") for own in (True, False)},
    "index_add": lambda x, y: lnb.exp(lnb.index_add(x, [1, 1], y * y, axis=0)) * lnb.index_add(x, [0, 0, 2], y, axis=1),
    "index_put": lambda x, y: lnb.exp(lnb.index_put(x, ([0, 0], [1, 1]), y[0, :2] ** 2, accumulate=True)),
    "index_put replacing": lambda x, y: lnb.exp(lnb.index_put(x, ([0, 0], [1, 1]), y[0, :2] ** 2)),
    "put": lambda x, y: _in_place(lambda z: lnb.put(z, [0, 3, 3], y[0] * y[1]), x),
    "put_along_axis": lambda x, y: _in_place(lambda z: lnb.put_along_axis(z, [[0], [2]], y[:, :1] ** 2, axis=1), x),
}


def _in_place(write, x):
    z = x * x
    write(z)
    return lnb.exp(z)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_follow_finite_differences(name):
    x, y = np.linspace(0.4, 1.3, 6).reshape(2, 3), np.linspace(0.9, 0.2, 6).reshape(2, 3)
    check_grad(GRADIENTS[name], x, y)


@pytest.mark.parametrize("zeros", [1, 2])
def test_products_with_zeros_have_their_gradients(zeros):
    y = np.array([0.0, 0.5, 0.0 if zeros == 2 else 2.0, 3.0])
    check_grad(lambda x, y: lnb.scatter_reduce(x, [0, 0, 0, 1], y, axis=0, reduce="prod") + y[:2],
               np.array([1.5, 0.0]), y)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_on_other_devices_follow_the_cpu(name, device):
    arrays = [np.linspace(0.4, 1.3, 6).reshape(2, 3).astype("float32"), np.linspace(0.9, 0.2, 6).reshape(2, 3).astype(
        "float32")]
    found = []
    for place in ("cpu", device):
        inputs = [oracles.on(place, array) for array in arrays]
        for tensor in inputs:
            tensor.requires_grad = True
        GRADIENTS[name](*inputs).sum().backward()
        found.append([tensor.grad.numpy() for tensor in inputs])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=3e-6)


@pytest.mark.parametrize("large", [False, True])
def test_positions_out_of_bounds_are_named(device, large):
    x = oracles.on(device, np.zeros((4, 3000 if large else 3), "float32"))
    for call in (lambda: lnb.take(x, [0, 4], axis=0), lambda: lnb.gather(x, np.full(x.shape, 4), axis=0),
                 lambda: lnb.scatter_add(x, np.full(x.shape, 4), x, axis=0), lambda: lnb.index_add(x, [4], x[:1])):
        with pytest.raises(IndexError, match=r"index: 4 is out of range for axis 0 of size 4\. Use -4 to 3\."):
            call()
    assert not x.numpy().any()


def test_refusals():
    x = lnb.zeros((2, 3))
    for call, kind in ((lambda: lnb.take(x, [0], mode="up"), IndexError), (lambda: lnb.take(x, [0.5]), IndexError),
                       (lambda: lnb.take(lnb.zeros(0), [0], mode="wrap"), IndexError),
                       (lambda: lnb.gather(x, [0], axis=0), ShapeError),
                       (lambda: lnb.gather(x, np.zeros((3, 1), int), axis=1), ShapeError),
                       (lambda: lnb.scatter(x, [[0]], lnb.zeros((1, 0)), axis=1), ShapeError),
                       (lambda: lnb.scatter(x.astype("int32"), [[0]], x, axis=1), LucidError),
                       (lambda: lnb.scatter_reduce(x, [[0]], x, axis=0, reduce="max"), LucidError),
                       (lambda: lnb.index_add(x, [[0]], x), ShapeError), (lambda: lnb.put([1, 2], 0, 1), LucidError),
                       (lambda: lnb.index_put(x, 0, 1), LucidError),
                       (lambda: lnb.index_put(x, (slice(0, 1),), 1, accumulate=True), IndexError)):
        with pytest.raises(kind):
            call()


@pytest.mark.serial
def test_sums_have_the_same_bits_for_any_number_of_threads():
    values, index = RANDOM.standard_normal(400_000).astype("float32"), RANDOM.integers(0, 1000, 400_000)
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.scatter_add(lnb.zeros(1000, dtype="float32"), index, values, axis=0).numpy())
    finally:
        lnb.set_num_threads(before)
    expected = np.zeros(1000, "float32")
    np.add.at(expected, index, values)
    assert (found[0] == found[1]).all() and (found[0] == expected).all()
