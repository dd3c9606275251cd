"""Parts of an axis against NumPy; `chunk` against PyTorch's rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb

from . import moves

CALLS = {
    "array_split": lambda n, x: n.array_split(x, 2),
    "array_split of an axis": lambda n, x: n.array_split(x, 3, axis=-1),
    "array_split into none": lambda n, x: n.array_split(x, 0),
    "array_split before indices": lambda n, x: n.array_split(x, [1, 2]),
    "array_split before far indices": lambda n, x: n.array_split(x, [0, 9, -1], 0),
    "array_split before an array": lambda n, x: n.array_split(x, np.array([2, 1])),
    "split": lambda n, x: n.split(x, 2),
    "split of an axis": lambda n, x: n.split(x, 3, axis=1),
    "split into one": lambda n, x: n.split(x, 1, axis=-1),
    "split before indices": lambda n, x: n.split(x, (1,), axis=0),
    "hsplit": lambda n, x: n.hsplit(x, 3),
    "hsplit before indices": lambda n, x: n.hsplit(x, [1]),
    "vsplit": lambda n, x: n.vsplit(x, 2),
    "dsplit": lambda n, x: n.dsplit(x, [1]),
    "unstack": lambda n, x: n.unstack(x),
    "unstack of the last": lambda n, x: n.unstack(x, axis=-1),
    "unstack too far": lambda n, x: n.unstack(x, axis=5),
}
SHAPES = [(2, 3), (4, 3, 2), (3,)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays())
def test_splitting_is_numpys(name, array):
    moves.check_call(CALLS[name], array)


@pytest.mark.parametrize("name", CALLS)
def test_parts_are_views(name, device):
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", CALLS)
def test_splitting_follows_finite_differences(name):
    for shape in SHAPES:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", CALLS)
def test_splitting_on_a_device(name, device):
    moves.check_call(CALLS[name], np.arange(24, dtype="float32").reshape(4, 3, 2), device)
    moves.check_derivatives_on(CALLS[name], (4, 3), device)


@given(size=st.integers(0, 12), chunks=st.integers(1, 15))
def test_chunks_are_torchs(size, chunks):
    torch = pytest.importorskip("torch", reason="needs PyTorch, from the bench extra")
    x = np.arange(size * 2).reshape(size, 2)
    wanted = torch.chunk(torch.from_numpy(x), chunks)
    moves.check_equal(lnb.chunk(lnb.asarray(x), chunks), tuple(part.numpy() for part in wanted))
    moves.check_equal(lnb.chunk(lnb.asarray(x.T), chunks, axis=1), tuple(part.numpy().T for part in wanted))


def test_unbind_is_unstack():
    assert lnb.unbind is lnb.unstack
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    first, _ = x.unbind()
    (first * 3).backward()
    assert x.grad.tolist() == [3, 0]


@pytest.mark.parametrize("call, text", [
    (lambda x: lnb.split(x, 2), "split: size 3 does not divide into 2 equal sections. Use array_split"),
    (lambda x: lnb.array_split(x, -1), "array_split: -1 sections. Use 1 or more"),
    (lambda x: lnb.split(x, 1.5), "split: sections 1.5 is not an integer"),
    (lambda x: lnb.split(x, [1.5]), "split: index 1.5 is not an integer"),
    (lambda x: lnb.vsplit(x, 3), r"vsplit: needs 2 axes or more, the shape is \(3,\)"),
    (lambda x: lnb.chunk(x, 0), "chunk: 0 chunks. Use 1 or more"),
    (lambda x: lnb.unstack(x[0]), "unstack: a 0-d array has no axis")], ids=range(7))
def test_bad_parts_are_refused_alike_on_every_device(call, text, device):
    with pytest.raises(lnb.ShapeError, match=text):
        call(lnb.zeros(3, dtype="float32", device=device))
