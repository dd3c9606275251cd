"""NumPy's functions on tensors, pickle and copy."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb


@pytest.mark.parametrize("name", ["square", "sigmoid", "max", "add"])
def test_a_users_own_ufunc_is_called_whatever_its_name(name):
    numba = pytest.importorskip("numba")
    space: dict[str, Any] = {}
    exec(f"def {name}(x, y):\n    return x + 10 * y", space)
    own = numba.vectorize(["float64(float64, float64)"])(space[name])
    assert own(lnb.tensor([1.0, 2.0]), lnb.tensor([3.0, 4.0])).tolist() == [31.0, 42.0]


def test_functions_of_numpy_and_scipy_are_ours():
    special = pytest.importorskip("scipy.special")
    x = lnb.tensor([0.5], requires_grad=True)
    assert np.exp(x).requires_grad and special.erf(x).requires_grad


def test_in_place_on_an_array_writes_the_array():
    array, t = np.ones(2), lnb.tensor([1.0, 2.0])
    before = array
    array += t
    assert array is before and array.tolist() == [2.0, 3.0]
    with pytest.raises(lnb.GradError, match=r"__array__: the tensor requires grad"):
        array += lnb.ones(2, requires_grad=True)


def test_out_is_a_tensor():
    t = lnb.tensor([1.0, 2.0])
    assert np.multiply(t, 2, out=t) is t and t.tolist() == [2.0, 4.0]
    whole, given = lnb.zeros(2), np.empty(2)
    fraction, found = np.modf(lnb.tensor([1.5, -2.25]), out=(given, whole))
    assert fraction is given and found is whole
    np.testing.assert_array_equal([given, whole.numpy()], np.modf([1.5, -2.25]))


def test_out_keeps_the_graph_and_the_rules_of_writes():
    x, t = lnb.tensor([3.0, 4.0], requires_grad=True), lnb.zeros(2)
    np.square(x, out=t).sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]
    with pytest.raises(lnb.GradError, match="multiply: the tensor is a leaf"):
        np.multiply(x, 2, out=x)
    with pytest.raises(lnb.DTypeError, match="divide: float64 cannot go into int64"):
        np.divide(lnb.arange(2), 2, out=lnb.arange(2))
    assert np.add(t, 1, out=t, where=np.array([True, False])).tolist() == [10.0, 16.0]


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "any", "all", "argmax", "argmin"])
def test_numpys_reductions_take_tensors(name, options):
    data = np.array([[1.0, 0.0, 3.0], [4.0, 0.0, 2.0]])
    found = getattr(np, name)(lnb.tensor(data), **options)
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(data, **options))
    out = np.empty_like(found.numpy())
    assert getattr(np, name)(lnb.tensor(data), **options, out=out) is out
    np.testing.assert_array_equal(out, found.numpy())


def test_numpys_clip_and_take_take_tensors():
    data = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.clip(lnb.tensor(data), 1.5, 2.5).numpy(), np.clip(data, 1.5, 2.5))
    np.testing.assert_array_equal(np.take(lnb.tensor(data), [2, 0]).numpy(), np.take(data, [2, 0]))
    np.testing.assert_array_equal(np.take(lnb.tensor(data), [5], mode="wrap").numpy(), [3.0])


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4), np.ones((4, 3), "f4").T, np.arange(6)],
                         ids=["C", "Fortran", "row"])
def test_memory_is_handed_on_besides_a_pickle(array):
    """PEP 574: neither writing nor reading copies it; what is read-only becomes a tensor that may be written."""
    x, buffers = lnb.asarray(array.copy("K")), []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert sum(buffer.raw().nbytes for buffer in buffers) == array.nbytes
    found = pickle.loads(data, buffers=buffers)
    assert type(found) is lnb.Tensor and np.shares_memory(found.numpy(), x.numpy())
    assert found.numpy().strides == array.strides
    np.testing.assert_array_equal(found.numpy(), array, strict=True)
    found = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    found[0] = 7
    assert x.tolist() == array.tolist() != found.tolist()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_have_memory_of_their_own_and_no_graph(protocol):
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    y = x * x                                             # keeps x for backward
    found = pickle.loads(pickle.dumps(x, protocol=protocol))
    assert found.requires_grad and found.is_leaf and found.grad is None
    with lnb.no_grad():
        found[0] = 5
    y.sum().backward()
    assert x.tolist() == [1, 2] and x.grad.tolist() == [2, 4]


@pytest.mark.parametrize("through", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
                         ids=["deepcopy", "pickle"])
def test_copies_of_values_stay_values(through):
    value = lnb.tensor([1.0, 2.0]).sum()
    assert hash(through(value)) == hash(value) == hash(3.0)
    with pytest.raises(lnb.ShapeError, match="value and cannot be written"):
        through(value)[...] = 1
    memory = through(lnb.tensor(1.0))
    memory[...] = 2
    assert memory.item() == 2.0
