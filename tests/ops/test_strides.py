"""Windows, strided views and other dtypes of the same bits, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.testing import check_grad

from . import moves

tricks = lnb.lib.stride_tricks
WINDOWS = [(2, None), ((2, 2), None), (1, 0), ((1, 2), (0, 1)), (2, -1), ((2, 1), (0, 0)), ((2, 2, 2), None), (0, 0),
           (9, 0), (-1, 0), (2, 5)]


@pytest.mark.parametrize("window, axis", WINDOWS)
@given(array=moves.arrays(3))
def test_windows_are_numpys(window, axis, array):
    moves.check_call(lambda n, x: n.lib.stride_tricks.sliding_window_view(x, window, axis), array)


@pytest.mark.parametrize("window, axis", WINDOWS)
def test_windows_on_a_device(window, axis, device):
    def call(n, x):
        return n.lib.stride_tricks.sliding_window_view(x, window, axis)
    for shape in ((4, 3), (5,)):
        moves.check_call(call, np.arange(np.prod(shape), dtype="float32").reshape(shape), device)
        if window != 0:
            moves.check_derivatives(call, shape)
            moves.check_derivatives_on(call, shape, device)


def test_windows_follow_their_base_and_are_read_only(device):
    x = lnb.tensor(np.arange(5, dtype="float32"), device=device)
    for view in (tricks.sliding_window_view(x[::-1], 2), tricks.sliding_window_view(x, 3)[1:]):
        x[2] = 50
        assert 50 in view
        with pytest.raises(lnb.ShapeError, match="setitem: the memory is read-only"):
            view[0] = 1
    with pytest.raises(lnb.ShapeError, match="sliding_window_view: views that may hold an element twice"):
        tricks.sliding_window_view(x, 2, writeable=True)


# ------------------------------------------------------------------------------------------------- strides
@given(data=st.data())
def test_strided_views_are_numpys(data):
    array = np.arange(data.draw(st.integers(1, 24))).astype(data.draw(st.sampled_from(["int8", "float32", "c16"])))
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    steps = tuple(data.draw(st.integers(0, 6)) for _ in shape)
    strides = tuple(step * array.itemsize for step in steps)
    if 0 not in shape and sum((size - 1) * step for size, step in zip(shape, steps)) >= array.size:
        with pytest.raises(lnb.ShapeError, match=r"as_strided: .* reach outside the"):
            tricks.as_strided(lnb.asarray(array), shape, strides)
    else:
        wanted = np.lib.stride_tricks.as_strided(array, shape, strides)
        moves.check_equal(tricks.as_strided(lnb.asarray(array), shape, strides), wanted)


def test_strided_views_of_reversed_and_transposed_memory():
    array = np.arange(12.0).reshape(3, 4)
    for view, shape, strides in ((array[::-1], (3, 2), (-32, 16)), (array.T, (2, 2), (8, 32)),
                                 (array[1:, ::2], (2, 2), (32, 16)), (array[1, ::-1], (2, 3), (-8, -8))):
        found = tricks.as_strided(lnb.asarray(view), shape, strides)
        assert np.array_equal(found.numpy(), np.lib.stride_tricks.as_strided(view, shape, strides))
        array += 100                                            # both are views
        assert np.array_equal(found.numpy(), np.lib.stride_tricks.as_strided(view, shape, strides))


def test_strided_views_of_views_follow_finite_differences():
    for view, shape, strides in ((lambda x: x, (2, 2), (8, 16)), (lambda x: x[::-1], (3, 2), (-32, 16)),
                                 (lambda x: x.T, (2, 2), (8, 32)), (lambda x: x[1:, ::2], (2, 2), (32, 16)),
                                 (lambda x: x[1, ::-1], (2, 3), (-8, -8))):
        check_grad(lambda x, view=view, shape=shape, strides=strides: tricks.as_strided(view(x * x), shape, strides),
                   np.arange(1.0, 13.0).reshape(3, 4) / 8)


def test_strided_views_on_a_device(device):
    x = lnb.tensor(np.arange(6, dtype="float32").reshape(2, 3), device=device)
    view = tricks.as_strided(x, (4, 2), (4, 8))
    assert view.tolist() == [[0, 2], [1, 3], [2, 4], [3, 5]]
    x[0, 2] = 9
    assert view.tolist() == [[0, 9], [1, 3], [9, 4], [3, 5]]
    moves.check_derivatives_on(lambda n, y: n.lib.stride_tricks.as_strided(y, (2, 2), (y.itemsize, y.itemsize)),
                               (3,), device)


def test_bad_strides_are_refused(device):
    x = lnb.zeros(6, dtype="float32", device=device)
    for shape, strides, text in (((7,), (4,), "reach outside the 6 elements"), ((2,), (-4,), "reach outside"),
                                 ((2,), (3,), "multiple of 4"), ((2, 2), (4,), "for each axis")):
        with pytest.raises(lnb.ShapeError, match=f"as_strided: .*{text}"):
            tricks.as_strided(x, shape, strides)
    w = lnb.tensor([1.0, 2.0, 3.0], dtype="float32", requires_grad=True)
    if device == "cpu":
        with pytest.raises(lnb.ShapeError, match="read between the elements, which have no gradient"):
            tricks.as_strided((w * 1)[::2], (3,), (4,))


# -------------------------------------------------------------------------------------------- the same bits
KINDS = ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("target", KINDS)
@given(array=moves.arrays(2, KINDS))
def test_views_of_other_dtypes_are_numpys(target, array):
    moves.check_call(lambda n, x: x.view(target), array, same_error=False)


def test_views_of_other_dtypes_share_memory(device):
    x = lnb.tensor(np.array([[1, 2], [3, 4]], "float32"), device=device)
    whole, half = x.view("int32"), x[1].view("int16")
    assert whole.tolist() == np.array([[1, 2], [3, 4]], "float32").view("int32").tolist()
    half[:] = 0
    assert x.tolist() == [[1, 2], [0, 0]]
    whole[0, 0] = 0
    assert x.tolist() == [[0, 2], [0, 0]] and x.view().tolist() == x.tolist()
    x[...] = 1
    assert half.tolist() == np.ones(2, "float32").view("int16").tolist() and whole.reshape(-1).shape == (4,)


def test_views_of_parts_are_differentiable(device):
    x = lnb.tensor([1.0, 2.0, 3.0, 4.0], dtype="float32", device=device, requires_grad=True)
    z = (x * 2).view("complex64")
    assert z.detach().tolist() == [2 + 4j, 6 + 8j]
    (z.view("float32") * x).sum().backward()
    assert x.grad.tolist() == [4, 8, 12, 16]
    assert not (x * 2).view("int32").requires_grad
    check_grad(lambda y: (y * y).view("complex128"), np.arange(4.0))
