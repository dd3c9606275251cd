"""Shape arithmetic against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lucid_nb import shapes
from lucid_nb.errors import AxisError, IndexError, ShapeError

SHAPE = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(many=st.lists(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(tuple), max_size=3))
def test_broadcasting_equals_numpys(many: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*many)
    except ValueError:
        with pytest.raises(ShapeError, match=r"op: shapes .* do not broadcast, sizes"):
            shapes.broadcast_shapes("op", *many)
        return
    assert shapes.broadcast_shapes("op", *many) == expected


@pytest.mark.parametrize("axis, ndim, expected", [(0, 1, 0), (-1, 3, 2), (-3, 3, 0), (np.int64(1), 2, 1), (True, 2, 1)])
def test_axis_is_counted_from_the_front(axis: int, ndim: int, expected: int) -> None:
    assert shapes.normalize_axis("op", axis, ndim) == expected


@pytest.mark.parametrize("axis, ndim, text", [
    (2, 2, "op: axis 2 is out of range for 2 dimensions. Use -2 to 1."), (-1, 0, "op: axis -1 of a 0-d array."),
    ((0, -2), 2, "op: axis (0, -2) names an axis twice. Name each once."), ((0, 3), 2, "op: axis 3 is out of range")])
def test_axis_that_does_not_fit_says_so(axis: object, ndim: int, text: str) -> None:
    with pytest.raises(AxisError) as caught:
        shapes.normalize_axes("op", axis, ndim)  # type: ignore[arg-type]
    assert str(caught.value).startswith(text) and isinstance(caught.value, (ValueError, np.exceptions.AxisError))


@pytest.mark.parametrize("axis", [1.0, "a", ("a",), None.__class__])
def test_axis_that_is_no_integer_is_a_type_error_as_numpys(axis: object) -> None:
    with pytest.raises(TypeError, match=r"^op: axis .* is not an integer. Use integers.$"):
        shapes.normalize_axes("op", axis, 2)  # type: ignore[arg-type]


@given(shape=SHAPE, keepdims=st.booleans(), data=st.data())
def test_reduced_shape_equals_numpys(shape: tuple[int, ...], keepdims: bool, data: st.DataObject) -> None:
    some = st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=len(shape)).map(tuple)
    axes = data.draw(st.none() | some)
    positive = shapes.normalize_axes("op", axes, len(shape))
    assert shapes.reduced_shape(shape, positive, keepdims) == np.sum(np.zeros(shape), axes, keepdims=keepdims).shape


@given(shape=SHAPE, wanted=st.lists(st.integers(-2, 12), max_size=4).map(tuple))
def test_reshape_rule_equals_numpys(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    try:
        expected = np.zeros(shape).reshape(wanted).shape
    except ValueError:
        with pytest.raises(ShapeError):
            shapes.resolve_shape("op", shape, wanted)
        return
    if any(size < -1 for size in wanted):                 # NumPy takes any negative size for -1
        return
    assert shapes.resolve_shape("op", shape, wanted) == expected


@given(axes=st.permutations(range(5)))
def test_inverse_permutation_undoes(axes: list[int]) -> None:
    x = np.zeros((2, 3, 4, 5, 6))
    assert x.transpose(axes).transpose(shapes.inverse_permutation(tuple(axes))).shape == x.shape


@given(shape=SHAPE, data=st.data())
def test_checked_index_reads_what_numpys_reads(shape: tuple[int, ...], data: st.DataObject) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    parts = index if isinstance(index, tuple) else (index,)
    np.testing.assert_array_equal(x[shapes.check_index(parts, shape)], x[parts])


@given(size=st.integers(0, 6), data=st.data())
def test_cut_slices_stay_within_the_axis(size: int, data: st.DataObject) -> None:
    bound = st.none() | st.integers(-9, 9) | st.sampled_from([2 ** 70, -2 ** 70])
    part = slice(data.draw(bound), data.draw(bound), data.draw(bound.filter(lambda step: step != 0)))
    found = shapes.cut(part, size)
    assert list(range(size))[found] == list(range(size))[part]
    assert all(bound is None or abs(bound) <= max(size, 1) for bound in (found.start, found.stop, found.step))


def test_index_that_does_not_fit_says_so() -> None:
    for parts, text in (((3,), "index: 3 is out of range for axis 0 of size 3. Use -3 to 2."),
                        ((0, 0, 0), "index: 3 indices for shape (3, 2) with 2 axes. Leave some out."),
                        ((..., ...), "index: more than one ellipsis in (Ellipsis, Ellipsis). Keep one.")):
        with pytest.raises(IndexError) as caught:
            shapes.check_index(parts, (3, 2))
        assert str(caught.value) == text


@given(size=st.integers(1, 9), taps=st.integers(1, 4), stride=st.integers(1, 3), low=st.integers(0, 2),
       high=st.integers(0, 2), dilation=st.integers(1, 3))
def test_window_counts_the_places_where_the_kernel_fits(size: int, taps: int, stride: int, low: int, high: int,
                                                        dilation: int) -> None:
    window = shapes.Window((stride,), (low,), (high,), (dilation,))
    reach = dilation * (taps - 1) + 1
    places = [start for start in range(0, size + low + high, stride) if start + reach <= size + low + high]
    assert max(window.output_sizes((size,), (taps,))[0], 0) == len(places) and window.ndim == 1


@pytest.mark.parametrize("many, axis, expected", [
    ([(2, 3), (4, 3)], 0, 0), ([(2, 3), (2, 1), (2, 0)], -1, 1), ([(0,), (3,)], 0, 0)])
def test_concat_axis(many: list, axis: int, expected: int) -> None:
    assert shapes.check_concat("op", many, axis) == expected


@pytest.mark.parametrize("many, axis", [([(2, 3), (4, 2)], 0), ([(2, 3), (2,)], 0), ([()], 0), ([(2, 3)], 2)])
def test_concat_of_what_does_not_fit_is_refused(many: list, axis: int) -> None:
    with pytest.raises(ShapeError, match=r"op: "):
        shapes.check_concat("op", many, axis)


@pytest.mark.parametrize("given_shape, expected", [(3, (3,)), ((2, np.int8(3)), (2, 3)), ([], ()), (range(2), (0, 1))])
def test_shape_of_integers(given_shape: object, expected: tuple[int, ...]) -> None:
    found = shapes.as_shape("op", given_shape)
    assert found == expected and all(type(size) is int for size in found)


@pytest.mark.parametrize("given_shape", ["ab", 2.0, (2, 1.5), None, (None,), [[1]]])
def test_shape_of_something_else_is_refused(given_shape: object) -> None:
    with pytest.raises(ShapeError, match=r"op: .* is not a shape. Use integers."):
        shapes.as_shape("op", given_shape)


def test_sizes_that_no_memory_holds_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"op: negative size in shape \(2, -1\)"):
        shapes.check_sizes("op", (2, -1))
    with pytest.raises(ShapeError, match=r"op: shape .* has \d+ elements, more than memory can hold"):
        shapes.check_sizes("op", (2 ** 40, 2 ** 30))
    assert shapes.check_sizes("op", (2 ** 40, 0)) == (2 ** 40, 0)
