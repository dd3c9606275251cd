"""`x.flat`, `fill` and `copyto` against NumPy."""

import numpy as np
import pytest

import lucid_nb as lnb

LAYOUTS = {"C": lambda x: x, "transposed": lambda x: x.T, "strided": lambda x: x[:, ::2], "reversed": lambda x: x[::-1]}
INDICES = [0, -1, slice(1, 4), slice(None, None, -2), [0, 3], np.array([1, 1]), ..., slice(0, 0)]


def pair(layout, device="cpu"):
    """A tensor and NumPy's array, each with a view of it."""
    array = np.arange(12, dtype="float32").reshape(3, 4)
    x = lnb.tensor(array, device=device)
    return x, LAYOUTS[layout](x), array, LAYOUTS[layout](array)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_flat_reads_and_writes_as_numpys(layout, index, device):
    x, view, array, numpys = pair(layout, device)
    found = view.flat[index]
    assert found.tolist() == numpys.flat[index].tolist() and found.shape == np.shape(numpys.flat[index])
    if not found.is_value:
        found[...] = 77
        assert x.tolist() == array.tolist()                            # a copy
    for value in (-1, [5, 6, 7], 8.5, [9]):
        if isinstance(index, int) and np.ndim(value):
            continue
        view.flat[index] = value
        numpys.flat[index] = value
        assert x.tolist() == array.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_flat_of_masks_assignment_and_iteration(layout):
    x, view, array, numpys = pair(layout)
    mask = np.arange(numpys.size) % 2 == 0
    assert view.flat[mask].tolist() == numpys.flat[mask].tolist()
    view.flat[mask] = [1, 2]
    numpys.flat[mask] = [1, 2]
    assert [v.item() for v in view.flat] == list(numpys.flat) and len(view.flat) == len(numpys.flat)
    view.flat = [3, 4, 5]
    numpys.flat = [3, 4, 5]
    assert x.tolist() == array.tolist() and np.array_equal(view.flat.copy().numpy(), numpys.flat.copy())
    assert np.array_equal(np.asarray(view.flat), numpys.flat)
    assert (view.flat == 3).tolist() == (numpys.flat == 3).tolist()
    ours, theirs = view.flat, numpys.flat
    for _ in range(5):
        assert (ours.index, ours.coords) == (theirs.index, theirs.coords) and next(ours).item() == next(theirs)
    assert ours.base is view


def test_flat_is_recorded():
    w, v = lnb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), lnb.tensor(5.0, requires_grad=True)
    x = w * 1
    x.T.flat[1:3] = v * 2
    (x * x).sum().backward()
    assert w.grad.tolist() == [[2, 0], [0, 8]] and v.grad.item() == 80
    with pytest.raises(lnb.GradError, match="flat: the tensor is a leaf that requires grad"):
        w.flat[0] = 1
    with pytest.raises(lnb.IndexError, match="flat: 2 indices for one axis"):
        x.flat[0, 1]
    with pytest.raises(lnb.IndexError):
        x.flat[100]


def test_fill_is_numpys(device):
    x, view, array, numpys = pair("strided", device)
    for value in (2, 3.5, True):
        view.fill(value)
        numpys.fill(value)
        assert x.tolist() == array.tolist()
    with pytest.raises(lnb.ShapeError, match="fill: a value of shape"):
        x.fill([1, 2])
    with pytest.raises(lnb.ShapeError, match="fill: the memory is read-only"):
        lnb.broadcast_to(x[0], (2, 4)).fill(1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source, where", [
    (5, True), ([[1.0], [2.0], [3.0]], True), (7, [True, False]), ([9, 8], [[True], [False], [True]])])
def test_copyto_is_numpys(layout, source, where, device):
    x, view, array, numpys = pair(layout, device)
    try:
        np.copyto(numpys, source, where=where)
    except ValueError:
        with pytest.raises(lnb.ShapeError):
            lnb.copyto(view, source, where=where)
        return
    assert lnb.copyto(view, source, where=where) is None
    assert x.tolist() == array.tolist()


@pytest.mark.parametrize("target, source", [("float32", "float64"), ("int32", "float32"), ("int8", "int64"),
                                            ("int64", 1), ("int64", 1.5), ("float32", 1), ("bool", 1), ("uint8", -1)])
@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("where", [True, [True, False]], ids=["everywhere", "masked"])
def test_copyto_casts_as_numpys(target, source, casting, where):
    array = np.zeros(2, target)
    value = np.ones(2, source) if isinstance(source, str) else source
    x = lnb.asarray(array.copy())
    try:
        np.copyto(array, value, casting=casting, where=where)
    except (TypeError, OverflowError):
        if casting in ("same_kind", "unsafe"):
            with pytest.raises((lnb.DTypeError, lnb.OverflowError)):
                lnb.copyto(x, value, casting=casting, where=where)
        return
    lnb.copyto(x, value, casting=casting, where=where)
    assert x.tolist() == array.tolist()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda_simulator), "mlx"])
def test_a_shape_is_set_in_place(device):
    if device == "mlx":
        pytest.importorskip("mlx.core")
    x = lnb.arange(6, device=device)
    other = x[2:]
    x.shape = 2, -1
    x[1, 2] = 9
    assert x.shape == (2, 3) and x.tolist() == [[0, 1, 2], [3, 4, 9]] and other.tolist() == [2, 3, 4, 9]
    with pytest.raises(ValueError, match="reshape: "):
        x.shape = 4
    turned = x.T
    if device != "mlx":                        # where transposed memory has the order of its steps
        with pytest.raises(AttributeError, match=r"shape: \(3, 2\) to 6 needs a copy. Use reshape."):
            turned.shape = 6


def test_a_shape_that_is_set_keeps_the_graph():
    leaf = lnb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x = leaf * leaf
    x.shape = 2, 2
    x[0].sum().backward()
    assert leaf.grad.tolist() == [2.0, 4.0, 0.0, 0.0]
    with pytest.raises(lnb.GradError, match="shape: the tensor is a leaf"):
        leaf.shape = 2, 2
    with pytest.raises(lnb.ShapeError, match="0-d result is a value"):
        x.sum().shape = 1
