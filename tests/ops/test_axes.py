"""Axes exchanged, moved, added, removed, turned and rolled, against NumPy."""

import numpy as np
import pytest
from hypothesis import given

import lucid_nb as lnb

from . import moves

CALLS = {
    "swapaxes": lambda n, x: n.swapaxes(x, 0, -1),
    "swapaxes of a method": lambda n, x: x.swapaxes(1, 2),
    "moveaxis": lambda n, x: n.moveaxis(x, 0, -1),
    "moveaxis of two": lambda n, x: n.moveaxis(x, [0, -1], [1, 0]),
    "moveaxis twice": lambda n, x: n.moveaxis(x, [0, 0], [0, 1]),
    "moveaxis of unequal numbers": lambda n, x: n.moveaxis(x, [0, 1], [1]),
    "rollaxis": lambda n, x: n.rollaxis(x, 1),
    "rollaxis to the end": lambda n, x: n.rollaxis(x, 0, x.ndim),
    "rollaxis from the end": lambda n, x: n.rollaxis(x, -1, -1),
    "rollaxis too far": lambda n, x: n.rollaxis(x, 0, 7),
    "matrix_transpose": lambda n, x: n.matrix_transpose(x),
    "squeeze": lambda n, x: n.squeeze(x),
    "squeeze of one axis": lambda n, x: x.squeeze(0),
    "squeeze of the last": lambda n, x: n.squeeze(x, axis=(-1,)),
    "squeeze of two": lambda n, x: n.squeeze(x, (0, 1)),
    "expand_dims": lambda n, x: n.expand_dims(x, 0),
    "expand_dims at the end": lambda n, x: n.expand_dims(x, axis=-1),
    "expand_dims of two": lambda n, x: n.expand_dims(x, (0, 2)),
    "expand_dims of one twice": lambda n, x: n.expand_dims(x, (0, 0)),
    "expand_dims too far": lambda n, x: n.expand_dims(x, 9),
    "atleast_1d": lambda n, x: n.atleast_1d(x),
    "atleast_2d": lambda n, x: n.atleast_2d(x),
    "atleast_3d": lambda n, x: n.atleast_3d(x),
    "atleast_2d of several": lambda n, x: n.atleast_2d(x, x),
    "ravel": lambda n, x: n.ravel(x),
    "ravel of Fortran order": lambda n, x: x.ravel("F"),
    "ravel of its own order": lambda n, x: n.ravel(x, order="A"),
    "flatten": lambda n, x: x.flatten(),
    "flatten of Fortran order": lambda n, x: x.flatten("F"),
    "flip": lambda n, x: n.flip(x),
    "flip of one axis": lambda n, x: n.flip(x, 1),
    "flip of two": lambda n, x: n.flip(x, axis=(0, -1)),
    "fliplr": lambda n, x: n.fliplr(x),
    "flipud": lambda n, x: n.flipud(x),
    "rot90": lambda n, x: n.rot90(x),
    "rot90 twice": lambda n, x: n.rot90(x, 2),
    "rot90 back": lambda n, x: n.rot90(x, k=-1, axes=(1, 2)),
    "rot90 round": lambda n, x: n.rot90(x, 4),
    "rot90 in the other sense": lambda n, x: n.rot90(x, 3, (1, 0)),
    "rot90 of one axis": lambda n, x: n.rot90(x, 1, (0, 0)),
    "rot90 of three axes": lambda n, x: n.rot90(x, 1, (0, 1, 2)),
    "roll": lambda n, x: n.roll(x, 2),
    "roll back": lambda n, x: n.roll(x, -1, axis=0),
    "roll of no place": lambda n, x: n.roll(x, 0, 0),
    "roll far": lambda n, x: n.roll(x, 100, axis=-1),
    "roll of two axes": lambda n, x: n.roll(x, (1, 2), (0, 1)),
    "roll of one axis twice": lambda n, x: n.roll(x, (1, 2), axis=(0, 0)),
    "roll of two axes alike": lambda n, x: n.roll(x, 1, (0, 1)),
    "roll flat by a sum": lambda n, x: n.roll(x, (1, 1)),
    "roll of unequal numbers": lambda n, x: n.roll(x, (1, 2, 3), (0, 1)),
    "transpose of a method": lambda n, x: x.transpose(),
    "T": lambda n, x: x.T,
    "mT": lambda n, x: n.matrix_transpose(x).T,
}
SHAPES = [(2, 3), (1, 2, 3), (3,)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays())
def test_axes_are_numpys(name, array):
    moves.check_call(CALLS[name], array)


@pytest.mark.parametrize("name", CALLS)
def test_axes_are_views_where_numpys_are(name, device):
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", CALLS)
def test_axes_follow_finite_differences(name):
    for shape in SHAPES[1:]:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", CALLS)
def test_axes_on_a_device(name, device):
    moves.check_call(CALLS[name], np.arange(6, dtype="float32").reshape(1, 2, 3), device)
    moves.check_derivatives_on(CALLS[name], (1, 2, 3), device)


def test_unsqueeze_and_flatten_between_axes():
    x = lnb.asarray(np.arange(24).reshape(2, 3, 4))
    assert lnb.unsqueeze(x, -1).shape == (2, 3, 4, 1) == x.unsqueeze(axis=3).shape
    assert x.flatten(1).shape == (2, 12) and x.flatten(0, 1).shape == (6, 4) and x.flatten(-2, -1).shape == (2, 12)
    flat = x.flatten(1)
    flat[0, 0] = 99
    assert x[0, 0, 0] == 0
    with pytest.raises(lnb.ShapeError, match="flatten: start_axis 2 comes after end_axis 1"):
        x.flatten(2, 1)


def test_ravel_keeps_the_order_of_memory():
    for array in (np.arange(24).reshape(2, 3, 4), np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)):
        assert np.array_equal(lnb.asarray(array).ravel("K").numpy(), array.ravel("K"))


@pytest.mark.parametrize("call, text", [
    (lambda x: lnb.squeeze(x, 0), r"squeeze: axis 0 of shape \(2, 3\) has size 2\. Name axes of size 1"),
    (lambda x: lnb.moveaxis(x, 0, [0, 1]), "moveaxis: 1 sources and 2 destinations"),
    (lambda x: lnb.roll(x, 1.5), "roll: shift 1.5 is not an integer"),
    (lambda x: lnb.swapaxes(x, 0, 2), "swapaxes: axis 2 is out of range"),
    (lambda x: lnb.rot90(x[0]), "rot90: axis 1 is out of range")], ids=range(5))
def test_bad_axes_are_refused_alike_on_every_device(call, text, device):
    with pytest.raises(lnb.LucidError, match=text):
        call(lnb.zeros((2, 3), dtype="float32", device=device))
