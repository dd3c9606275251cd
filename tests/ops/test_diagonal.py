"""Diagonals and triangles against NumPy."""

import numpy as np
import pytest
from hypothesis import given

import lucid_nb as lnb
from lucid_nb.testing import check_grad

from . import moves

CALLS = {
    "diagonal": lambda n, x: n.diagonal(x),
    "diagonal above": lambda n, x: x.diagonal(1),
    "diagonal below of other axes": lambda n, x: n.diagonal(x, -1, 1, 2),
    "diagonal of the last axes": lambda n, x: n.diagonal(x, offset=1, axis1=-1, axis2=0),
    "diagonal far away": lambda n, x: n.diagonal(x, 10),
    "diagonal of one axis": lambda n, x: n.diagonal(x, 0, 0, 0),
    "diag": lambda n, x: n.diag(x),
    "diag above": lambda n, x: n.diag(x, 1),
    "diag below": lambda n, x: n.diag(x, k=-2),
    "diagflat": lambda n, x: n.diagflat(x),
    "diagflat below": lambda n, x: n.diagflat(x, -1),
    "tril": lambda n, x: n.tril(x),
    "tril above": lambda n, x: n.tril(x, 1),
    "triu": lambda n, x: n.triu(x),
    "triu below": lambda n, x: n.triu(x, k=-1),
}
SHAPES = [(2, 3), (3, 2, 3), (3,)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays())
def test_diagonals_are_numpys(name, array):
    moves.check_call(CALLS[name], array, same_error=array.ndim > 0)    # of 0-d NumPy says that tri() lacks an argument


@pytest.mark.parametrize("name", CALLS)
def test_diagonals_are_views_where_numpys_are(name, device):
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", CALLS)
def test_diagonals_follow_finite_differences(name):
    for shape in SHAPES:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", CALLS)
def test_diagonals_on_a_device(name, device):
    for shape in SHAPES:
        moves.check_call(CALLS[name], np.arange(np.prod(shape), dtype="float32").reshape(shape), device)
        moves.check_derivatives_on(CALLS[name], shape, device)


def test_write_into_a_diagonal_is_recorded(device):
    w = lnb.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float32", device=device, requires_grad=True)
    v = lnb.tensor([5.0, 6.0], dtype="float32", device=device, requires_grad=True)
    x = w * 1
    x.diagonal()[...] = v * 2
    (x * x).sum().backward()
    assert x.detach().tolist() == [[10, 2], [3, 12]]
    assert w.grad.tolist() == [[0, 4], [6, 0]] and v.grad.tolist() == [40, 48]


@pytest.mark.parametrize("offset, axes", [(0, (-2, -1)), (1, (-2, -1)), (-2, (0, 1)), (1, (2, 0)), (0, (1, 0))])
def test_diag_embed_is_the_adjoint_of_diagonal(offset, axes, device):
    x = np.arange(1, 7, dtype="float32").reshape(2, 3)
    found = lnb.diag_embed(lnb.asarray(x, device=device), offset, *axes)
    host = found.to_host()
    assert host.sum() == x.sum() and np.array_equal(np.diagonal(host, offset, *axes), x)
    check_grad(lambda y: lnb.diag_embed(y * y, offset, *axes), x / 4)


@pytest.mark.parametrize("shape, wrap", [((3, 3), False), ((2, 4), False), ((7, 3), False), ((7, 3), True),
                                         ((3, 3, 3), False), ((4, 1), True)])
@pytest.mark.parametrize("value", [5, [1, 2], [7, 8, 9, 10]])
def test_fill_diagonal_is_numpys(shape, wrap, value, device):
    array = np.zeros(shape, "float32")
    x = lnb.asarray(array.copy(), device=device)
    np.fill_diagonal(array, value, wrap)
    assert lnb.fill_diagonal(x, value, wrap) is None
    np.testing.assert_array_equal(x.to_host(), array)
    turned = lnb.asarray(np.zeros(shape[::-1], "float32"), device=device)
    wanted = np.zeros(shape[::-1], "float32")
    np.fill_diagonal(wanted.T, value, wrap)
    lnb.fill_diagonal(turned.T, value, wrap)
    np.testing.assert_array_equal(turned.to_host(), wanted)


@pytest.mark.parametrize("call, text", [
    (lambda x: lnb.diag(x[None]), r"diag: needs one or two axes, the shape is \(1, 2, 3\)"),
    (lambda x: lnb.tril(x[0, 0]), r"tril: needs two axes, the shape is \(\)"),
    (lambda x: lnb.diagonal(x, 0.5), "diagonal: offset 0.5 is not an integer"),
    (lambda x: lnb.diagonal(x, 0, 1, 1), "diagonal: axis1 and axis2 are both 1"),
    (lambda x: lnb.diag_embed(x, 0, 0, -3), "diag_embed: axis1 and axis2 are both 0"),
    (lambda x: lnb.fill_diagonal(x[None], 1), r"fill_diagonal: shape \(1, 2, 3\) has unequal axes")], ids=range(6))
def test_bad_diagonals_are_refused_alike_on_every_device(call, text, device):
    with pytest.raises(lnb.ShapeError, match=text):
        call(lnb.zeros((2, 3), dtype="float32", device=device))
