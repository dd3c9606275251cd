"""Indexing against NumPy: drawn indices of every kind, read and written, with gradients, on the CPU and on MLX."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.errors import IndexError, LucidError, ShapeError

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])
SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
COMMON = [(), (1,), (3,), (2, 1), (2, 3), (0,)]        # shapes of index arrays; most of them broadcast


@st.composite
def parts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple:
    """An index for a shape, one in ten times out of range."""
    found: list[Any] = []
    axis, may_have_ellipsis = 0, True
    beyond = draw(st.sampled_from([0] * 9 + [1]))
    while axis < len(shape):
        size = shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "slice", "array", "array", "list", "mask", "masks", "None",
                                     "Ellipsis", "truth", "stop"]))
        if kind == "stop":
            break
        if kind in ("None", "truth") or (kind == "Ellipsis" and may_have_ellipsis):
            found.append({"None": None, "Ellipsis": Ellipsis}.get(kind, draw(st.booleans())))
            may_have_ellipsis &= kind != "Ellipsis"
            axis += (len(shape) - axis) * draw(st.booleans()) if kind == "Ellipsis" else 0
            if len(found) > 6:
                break
            continue
        position = st.integers(-size - beyond, max(size - 1 + beyond, -size - beyond))
        if kind == "int":
            found.append(draw(position))
        elif kind in ("array", "list"):
            extent = draw(st.sampled_from(COMMON))
            values = np.array(draw(st.lists(position, min_size=int(np.prod(extent)), max_size=int(np.prod(extent)))),
                              "int64").reshape(extent)
            found.append(values.tolist() if kind == "list" and values.size else values.astype(
                draw(st.sampled_from(["int64", "int32", "int8"]))))
        elif kind in ("mask", "masks"):
            count = 2 if kind == "masks" and axis + 1 < len(shape) else 1
            extent = shape[axis:axis + count]
            found.append(np.array(draw(st.lists(st.booleans(), min_size=int(np.prod(extent)),
                                                max_size=int(np.prod(extent)))), bool).reshape(extent))
            axis += count - 1
        else:
            bound = st.none() | st.integers(-size - 2, size + 2)
            found.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, 5]))))
        axis += 1
    return tuple(found)


@st.composite
def indexed(draw: st.DrawFn) -> tuple[np.ndarray, Any]:
    """An array and an index for it; a tuple of one part, or the part itself."""
    shape = draw(SHAPES)
    index = draw(parts(shape))
    array = np.arange(1, 1 + int(np.prod(shape)), dtype="float32").reshape(shape)
    return array, index[0] if len(index) == 1 and draw(st.booleans()) else index


def tensor_index(index: Any, device: str) -> Any:
    """The same index with Tensors for arrays."""
    if isinstance(index, tuple):
        return tuple(tensor_index(part, device) for part in index)
    return lnb.tensor(index, device=device) if isinstance(index, np.ndarray) else index


def numpy_read(array: np.ndarray, index: Any) -> np.ndarray | None:
    """What NumPy reads; None where it refuses."""
    try:
        return np.asarray(array[index])
    except (builtins_index_error, ValueError):
        return None


builtins_index_error = IndexError.__mro__[2]


@devices
@settings(max_examples=400)
@given(case=indexed(), as_tensors=st.booleans())
def test_reading_equals_numpys(device: str, case: tuple[np.ndarray, Any], as_tensors: bool) -> None:
    array, index = case
    expected = numpy_read(array, index)
    x = lnb.tensor(array, device=device)
    given_index = tensor_index(index, device) if as_tensors else index
    if expected is None:
        with pytest.raises(LucidError):
            x[given_index]
        return
    try:
        found = x[given_index]
    except IndexError as error:                                # NumPy lets an empty mask of another extent pass
        assert "a mask of shape" in str(error) and expected.size == array.size == 0
        return
    assert found.shape == expected.shape and found.dtype == expected.dtype and found.device == device
    np.testing.assert_array_equal(found.numpy(), expected)


@st.composite
def written(draw: st.DrawFn) -> tuple[np.ndarray, Any, Any]:
    """An array, an index that NumPy takes, and a value that broadcasts to what is indexed."""
    array, index = draw(indexed())
    region = numpy_read(array, index)
    if region is None:
        return array, index, 0.0
    shape = list(region.shape[draw(st.integers(0, region.ndim)):])
    for axis in range(len(shape)):
        shape[axis] = draw(st.sampled_from([shape[axis], shape[axis], 1]))
    leading = [1] * draw(st.sampled_from([0, 0, 0, 1])) if len(shape) == region.ndim > 0 else []
    value = -np.arange(1, 1 + int(np.prod(shape)), dtype="float32").reshape(leading + shape)
    try:
        array.copy()[index] = value
    except TypeError:                                          # NumPy's own limit: one mask takes one axis of values
        value = value.reshape(shape)
    return array, index, value


@devices
@settings(max_examples=400)
@given(case=written(), base=st.sampled_from(["whole", "transposed", "strided"]))
def test_writing_equals_numpys(device: str, case: tuple[np.ndarray, Any, Any], base: str) -> None:
    array, index, value = case
    whole = {"whole": array, "transposed": array.T, "strided": np.repeat(array, 2, 0) if array.ndim else array}[base]
    whole = np.ascontiguousarray(whole) if array.ndim else whole.copy()
    x = lnb.tensor(whole, device=device)

    def region(of: Any) -> Any:
        return of.T if base == "transposed" else of[::2] if base == "strided" and array.ndim else of
    assert region(whole).shape == array.shape
    if numpy_read(array, index) is None:
        with pytest.raises(LucidError):
            region(x)[index] = 0
    else:
        region(whole)[index] = value
        region(x)[index] = lnb.tensor(value, device=device) if value.size % 2 or device == "mlx" else value
    np.testing.assert_array_equal(x.numpy(), whole)


@devices
@settings(max_examples=150)
@given(case=indexed())
def test_gradient_of_reading_adds_what_arrives(device: str, case: tuple[np.ndarray, Any]) -> None:
    array, index = case
    region = numpy_read(array, index)
    if region is None:
        return
    w = lnb.tensor(array, device=device, requires_grad=True)
    weights = np.arange(1, 1 + region.size, dtype="float32").reshape(region.shape)
    (w[index] * lnb.tensor(weights, device=device)).sum().backward()
    expected = np.zeros_like(array)
    np.add.at(expected, index, weights)
    np.testing.assert_array_equal(w.grad.numpy(), expected)


@devices
@settings(max_examples=150)
@given(case=written())
def test_gradient_of_writing_goes_to_the_last_value(device: str, case: tuple[np.ndarray, Any, Any]) -> None:
    array, index, value = case
    region = numpy_read(array, index)
    if region is None or array.ndim == 0:                      # w * 1 would be a value
        return
    w = lnb.tensor(array, device=device, requires_grad=True)
    v = lnb.tensor(value, device=device, requires_grad=True)
    weights = np.arange(1, 1 + array.size, dtype="float32").reshape(array.shape)
    x = w * 1
    x[index] = v
    (x * lnb.tensor(weights, device=device)).sum().backward()
    writer = np.full(array.shape, -1)
    writer[index] = np.broadcast_to(np.arange(value.size).reshape(value.shape).reshape(value.shape[-region.ndim:] if
                                    region.ndim else ()), region.shape)
    np.testing.assert_array_equal(w.grad.numpy() if w.grad is not None else 0, np.where(writer < 0, weights, 0))
    arrived = [weights[writer == number].sum() for number in range(value.size)]
    np.testing.assert_array_equal(v.grad.numpy().ravel(), np.array(arrived, "float32"))


FUNCTIONS = {
    "read": lambda w, v: lnb.exp(w[[0, 2, 0], 1:]) * w[1, [[0], [2]], None][0, 0],
    "mask": lambda w, v: lnb.exp(w[w.detach() > 0.95]),
    "written": lambda w, v: _written(w, v, ([2, 0, 2],), (slice(None), [True, False, True])),
    "separated": lambda w, v: _written(w.reshape(3, 1, 3), v.reshape(1, 3), (0, slice(None), [1, 1]), ([2], 0)),
    "take": lambda w, v: lnb.take(w, [0, 0, 5]) * lnb.take(w * v, [1, -1], axis=1).sum(),
}


def _written(w: lnb.Tensor, v: lnb.Tensor, *indices: Any) -> lnb.Tensor:
    x = w * v
    for index in indices:
        x[index] = lnb.sin(v.reshape(-1)[:1]) * x.sum()
    return x * x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_match_finite_differences(name: str) -> None:
    data = np.linspace(0.3, 1.5, 9).reshape(3, 3), np.array([0.7, 1.1, 1.6])

    def value(*arrays: np.ndarray) -> float:
        return FUNCTIONS[name](*map(lnb.tensor, arrays)).sum().item()
    inputs = [lnb.tensor(array, requires_grad=True) for array in data]
    FUNCTIONS[name](*inputs).sum().backward()
    for number, (array, x) in enumerate(zip(data, inputs)):
        for place in np.ndindex(array.shape):
            step = np.zeros_like(array)
            step[place] = 1e-6
            ends = [value(*[other + sign * step if i == number else other for i, other in enumerate(data)])
                    for sign in (1, -1)]
            found = 0.0 if x.grad is None else x.grad[place].item()
            assert found == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_second_derivative_through_indices_matches_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    data, found = np.linspace(0.3, 1.5, 9).reshape(3, 3), []
    for library, w in ((lnb, lnb.tensor(data, requires_grad=True)), (torch, torch.tensor(data, requires_grad=True))):
        x = w * w
        x[[0, 2]] = library.exp(w[[1, 1], :]) * w[0]
        y = (x[[0, 0, 1], [1, 2, 2]] * x[1:, [0, 2]].sum()).sum()
        y.backward(retain_graph=True, create_graph=True) if library is lnb else None
        g = w.grad if library is lnb else torch.autograd.grad(y, w, create_graph=True)[0]
        w.grad = None
        (g * g).sum().backward()
        found.append(w.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-10)


@devices
@pytest.mark.parametrize("index, text", [
    (3, "index: 3 is out of range for axis 0 of size 3. Use -3 to 2."),
    ((0, -5), "index: -5 is out of range for axis 1 of size 4. Use -4 to 3."),
    ([0, 3], "index: 3 is out of range for axis 0 of size 3. Use -3 to 2."),
    ((slice(None), np.array([[-5]])), "index: -5 is out of range for axis 1 of size 4. Use -4 to 3."),
    ((0, 0, 0), "index: 3 indices for shape (3, 4) with 2 axes. Leave some out."),
    (([0], 0, 0), "index: 3 indices for shape (3, 4) with 2 axes. Leave some out."),
    ((..., ...), "index: more than one ellipsis in (Ellipsis, Ellipsis). Keep one."),
    ([True, False], "index: a mask of shape (2,) for axes of shape (3,). Make them equal."),
    (np.ones((3, 3), bool), "index: a mask of shape (3, 3) for axes of shape (3, 4). Make them equal."),
    (1.0, "index: float64 is no index. Use integers, bools, slices, None or an ellipsis."),
    ("a", "index: <U1 is no index. Use integers, bools, slices, None or an ellipsis."),
    ([0.5], "index: float64 is no index. Use integers, bools, slices, None or an ellipsis."),
    (slice(0.5, 2), "index: slice(0.5, 2, None) has a bound that is not an integer. Use integers or None."),
    (slice(None, None, 0), "index: slice(None, None, 0) has step 0. Use another step."),
    (([0, 1], [0, 1, 2]), "index: shapes (2,) and (3,) do not broadcast, sizes 2 and 3 on axis 0. Make them equal, or "
                          "one of them 1.")], ids=str)
@pytest.mark.parametrize("write", [False, True])
def test_refused_index_says_the_same_on_every_device(device: str, index: Any, text: str, write: bool) -> None:
    x = lnb.zeros((3, 4), device=device)
    with pytest.raises((IndexError, ShapeError)) as caught:
        x.__setitem__(index, 1) if write else x[index]
    assert str(caught.value) == text and not x.numpy().any()


@devices
def test_index_of_an_empty_axis_says_so(device: str) -> None:
    with pytest.raises(IndexError, match=r"index: 0 is out of range for axis 0 of size 0\. It is empty"):
        lnb.zeros((0, 2), device=device)[0]


@devices
def test_bounds_may_be_tensors_and_far_away(device: str) -> None:
    x, two = lnb.arange(5, device=device), lnb.arange(3, device=device)[2]
    assert x[two:].tolist() == [2, 3, 4] and x[two].item() == 2 and x[: 2 ** 70].tolist() == [0, 1, 2, 3, 4]
    assert x[-(2 ** 70):two:1].tolist() == [0, 1] and x[:: 2 ** 40].tolist() == [0]
    assert x[lnb.tensor([True, False, True, False, False], device=device)].tolist() == [0, 2]
    assert x[np.int8(1)].item() == 1 and x[[two, 0]].tolist() == [2, 0]


@devices
def test_advanced_index_copies_and_basic_does_not(device: str) -> None:
    x = lnb.arange(5, device=device)
    taken = x[[0, 1]]
    taken[0] = 50
    x[[0, 1]] += 100
    assert x.tolist() == [100, 101, 2, 3, 4] and taken.tolist() == [50, 1]
    x[[1, 1, 1]] += 1                                          # NumPy's: read, added, written, once
    assert x.tolist() == [100, 102, 2, 3, 4]


@devices
def test_take(device: str) -> None:
    array = np.arange(6.0, dtype="float32").reshape(2, 3)
    x = lnb.tensor(array, device=device)
    for indices, axis in (([4, -1], None), ([[0, 2], [1, 1]], 1), (1, 0), ([], 1), (np.array([-1], "int8"), -1)):
        expected = np.take(array, np.array(indices, "int64"), axis=axis)
        found = lnb.take(x, indices, axis=axis)
        assert found.shape == expected.shape and (found.numpy() == expected).all()
    with pytest.raises(IndexError, match=r"take: float64 is no index"):
        lnb.take(x, [0.5])


@pytest.mark.parametrize("value", [np.full(1, 7.0), [7.0], np.full((1, 1), 7.0)], ids=["array", "list", "2-d"])
@pytest.mark.parametrize("index", [0, (..., 0), [0]], ids=["integer", "ellipsis", "array"])
def test_one_element_takes_a_value_of_size_one(index, value):
    expected, found = np.zeros(3), lnb.zeros(3)
    expected[index if isinstance(index, list) else (..., 0)] = 7.0
    found[index] = value
    assert found.tolist() == expected.tolist()


def test_one_element_takes_the_gradient_of_a_value_of_size_one():
    x, value = lnb.zeros(2), lnb.ones((1, 1), requires_grad=True)
    x[0] = value
    (x * 3).sum().backward()
    assert value.grad.tolist() == [[3.0]]


@pytest.mark.parametrize("index", [slice(None), [0, 1, 2], (np.array([True, True, True]),)])
@pytest.mark.parametrize("value", [[300, 1, 2], [1.5, float("nan"), 2], [-1e30, 0.0, 0.0]])
def test_numbers_in_a_list_that_do_not_fit_are_refused_before_they_are_written(index, value):
    t = lnb.tensor([1, 2, 3], dtype="int8")
    with pytest.raises(lnb.OverflowError, match=r"^setitem: .* does not fit int8 \(-128 to 127\)"):
        t[index] = value
    assert t.tolist() == [1, 2, 3]
    t[index] = [1.5, 2, 127]
    assert t.tolist() == [1, 2, 127]
