"""Deleting, inserting and trimming against NumPy."""

import numpy as np
import pytest
from hypothesis import given

import lucid_nb as lnb

from . import moves

CALLS = {
    "delete": lambda n, x: n.delete(x, 0),
    "delete of an axis": lambda n, x: n.delete(x, -1, axis=0),
    "delete of several": lambda n, x: n.delete(x, [0, 2], 1),
    "delete of equal places": lambda n, x: n.delete(x, [0, 0, -1], axis=-1),
    "delete of nothing": lambda n, x: n.delete(x, [], 0),
    "delete of a slice": lambda n, x: n.delete(x, slice(None, None, 2), axis=-1),
    "delete of a backward slice": lambda n, x: n.delete(x, slice(2, None, -1), 0),
    "delete of a mask": lambda n, x: n.delete(x, np.arange(len(x)) > 0, axis=0),
    "delete too far": lambda n, x: n.delete(x, 100),
    "delete of fractions": lambda n, x: n.delete(x, [0.5], 0),
    "insert": lambda n, x: n.insert(x, 1, 1),
    "insert at the end": lambda n, x: n.insert(x, len(x), 1, axis=0),
    "insert of several": lambda n, x: n.insert(x, [1, 0, 1], [1, 0, 1]),
    "insert of rows": lambda n, x: n.insert(x, 1, x[0], axis=0),
    "insert of columns": lambda n, x: n.insert(x, 1, [[1], [0]], axis=1),
    "insert of a column": lambda n, x: n.insert(x, [1], [[1], [0]], axis=1),
    "insert of one at several": lambda n, x: n.insert(x, [0, 1], 1, axis=-1),
    "insert at a slice": lambda n, x: n.insert(x, slice(0, 2), 1, axis=0),
    "insert at a mask": lambda n, x: n.insert(x, np.arange(len(x)) > 0, 1, axis=0),
    "insert of many before one": lambda n, x: n.insert(x, 0, [1, 0, 1]),
    "insert of more axes than there are": lambda n, x: n.insert(x, [0, 1], [[[[1], [0]]]], axis=-1),
    "insert of a matrix of one": lambda n, x: n.insert(x, 1, [[1]]),
    "insert of one row for columns": lambda n, x: n.insert(x, 1, [[[1], [0]]], axis=1),
    "insert at nothing": lambda n, x: n.insert(x, [], 1, axis=0),
    "insert too far": lambda n, x: n.insert(x, 100, 1),
    "insert of what does not fit": lambda n, x: n.insert(x, [0, 1], [1, 0, 1], axis=0),
}
SHAPES = [(2, 3), (3, 2), (3,), (2, 2, 3)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays(3))
def test_editing_is_numpys(name, array):
    moves.check_call(CALLS[name], array)


@pytest.mark.parametrize("name", CALLS)
def test_editing_copies(name, device):
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", CALLS)
def test_editing_follows_finite_differences(name):
    for shape in SHAPES:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", CALLS)
def test_editing_on_a_device(name, device):
    for shape in SHAPES:
        moves.check_call(CALLS[name], np.arange(np.prod(shape), dtype="float32").reshape(shape), device)
    moves.check_derivatives_on(CALLS[name], (2, 3), device)


def test_inserted_values_get_their_gradient():
    x, y = lnb.tensor([1.0, 2.0], requires_grad=True), lnb.tensor([3.0, 4.0, 5.0], requires_grad=True)
    (lnb.insert(x, [1, 0, 1], y) * lnb.arange(5.0)).sum().backward()
    assert x.grad.tolist() == [1, 4] and y.grad.tolist() == [2, 0, 3]


def test_values_that_do_not_fit_are_refused_by_insert():
    for places in (1, [1], [0, 1]):
        with pytest.raises(lnb.ShapeError, match=r"^insert: "):
            lnb.insert(lnb.zeros((2, 3)), places, np.ones((2, 2)), axis=0)


TRIMS = {
    "trim_zeros": lambda n, x: n.trim_zeros(x),
    "trim_zeros of the front": lambda n, x: n.trim_zeros(x, "f"),
    "trim_zeros of the back": lambda n, x: n.trim_zeros(x, trim="b"),
    "trim_zeros of one axis": lambda n, x: n.trim_zeros(x, axis=-1),
}


@pytest.mark.parametrize("name", TRIMS)
@pytest.mark.parametrize("content", [[0, 0, 1, 2, 0], [0, 0], [1], [], [[0, 0, 0], [0, 1, 2], [0, 0, 0]],
                                     [[0, 3], [0, 0]], [[0, 0]], 0, 3], ids=repr)
def test_zeros_are_trimmed_as_numpys(name, content, device):
    moves.check_call(TRIMS[name], np.array(content, "float32"), device)
