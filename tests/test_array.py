"""Tensor as Python and NumPy see it: values, attributes, protocols, what numpy() gives."""

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError, GradError, LucidError, ShapeError

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


def make(data: Any, device: str, **facts: Any) -> lnb.Tensor:
    """A float32 tensor on a device."""
    return lnb.tensor(np.array(data, "float32"), device=device, **facts)


# -------------------------------------------------------------------------------------------------- values
@devices
def test_best_keeps_its_value_when_total_is_increased(device: str) -> None:
    total = make([1, 2], device).sum()
    best = total
    total += 1
    assert (best.item(), total.item()) == (3, 4)


@devices
def test_elements_are_dict_keys_by_value(device: str) -> None:
    counts: dict = {}
    for element in make([1, 2, 1], device):
        counts[element] = counts.get(element, 0) + 1
    assert {key.item(): count for key, count in counts.items()} == {1: 2, 2: 1}
    assert counts[1.0] == 2 and {make([1, 2], device).sum(): "three"}[3] == "three"


@devices
@pytest.mark.parametrize("value", [lambda a: a[0], lambda a: a.sum(), lambda a: next(iter(a)), lambda a: a.max(),
                                   lambda a: a[0] + a[1], lambda a: a.reshape(3, 1)[2, 0], lambda a: a.argmax()])
def test_value_is_read_only_and_owns_its_memory(device: str, value: Callable) -> None:
    a = make([1, 2, 4], device)
    x = value(a)
    before, alias, detached = x.item(), x, x.detach()
    a[:] = 50
    with pytest.raises(ShapeError, match="setitem: a 0-d result is a value"):
        x[...] = 9
    x += 1
    detached += 1
    assert (alias.item(), x.item(), detached.item()) == (before, before + 1, before + 1) and alias.shape == ()
    assert not alias.numpy().flags.writeable and hash(alias) == hash(before)


@devices
@pytest.mark.parametrize("made", [lambda s: s.reshape(1), lambda s: s[None], lambda s: s.reshape(1, 1).T])
def test_array_made_of_a_value_has_memory_of_its_own(device: str, made: Callable) -> None:
    w = make([1, 2], device, requires_grad=True)
    s = w.sum()
    x = made(s)
    x *= 5
    assert s.item() == 3 and x.detach().numpy().ravel().tolist() == [15]
    (x.sum() + s).backward()
    assert w.grad.tolist() == [6, 6]


@devices
def test_zero_dimensional_tensor_of_data_may_be_written(device: str) -> None:
    x = lnb.tensor(3.0, device=device)
    alias = x
    x += 1
    x[...] = x * 2
    assert alias is x and x.item() == 8
    assert make([[5]], device).reshape(()).shape == () and make([5], device)[0, ...].shape == ()
    a = make([5, 6], device)
    a[0, ...] += 1                                              # the ellipsis keeps it a view
    assert a.tolist() == [6, 6]


@devices
def test_hash_of_what_may_change_is_identity(device: str) -> None:
    a = make([1, 2], device)
    assert hash(a) == hash(a) != hash(a.copy()) and len({a, a.T, a}) == 2


# ------------------------------------------------------------------------------------------ Python protocol
@devices
def test_conversions_to_python_numbers(device: str) -> None:
    x, i = make([[2.75]], device), lnb.tensor([3, 0], device=device)
    assert (float(x), int(x), complex(x), bool(x), x.item()) == (2.75, 2, 2.75 + 0j, True, 2.75)
    assert operator.index(i[0]) == 3 and [10, 20, 30, 40][i[0]] == 40 and bool(i[1]) is False
    assert isinstance(i[0].item(), int) and isinstance((i > 1)[0].item(), bool)
    assert x.tolist() == [[2.75]] and i.tolist() == [3, 0] and i[0].tolist() == 3


@devices
@pytest.mark.parametrize("use, text", [
    (bool, "bool: the truth value of 2 elements, shape (2,). Use .any() or .all()."),
    (float, "item: the tensor has 2 elements, shape (2,). Index one first."),
    (int, "item: the tensor has 2 elements"), (lambda x: x.item(), "item: the tensor has 2 elements"),
    (lambda x: bool(x[:0]), "bool: the truth value of 0 elements"),
    (lambda x: [1, 2][x[0]], "index: float32 of shape ()"),
    (lambda x: [1, 2][x], "index: float32 of shape (2,)"), (lambda x: len(x[0]), "len: of a 0-d tensor"),
    (lambda x: list(x[0]), "iteration: over a 0-d tensor"), (lambda x: "a" + x, "add: <U1 data")])
def test_what_has_no_value_says_so(device: str, use: Callable, text: str) -> None:
    with pytest.raises(LucidError) as caught:
        use(make([1, 2], device))
    assert str(caught.value).startswith(text)


@devices
def test_containers(device: str) -> None:
    a = make([[1, 2], [3, 4]], device)
    assert len(a) == 2 and 3 in a and 5 not in a and a[0, 1] in a and "a" not in a
    assert [row.tolist() for row in a] == [[1, 2], [3, 4]]
    first, second = a
    first[0] = 9                                                # a row is a view
    assert a[0, 0] == 9
    (x, y), *_ = a.tolist()
    assert (x, y) == (9, 2) and [value.item() for value in reversed(second)] == [4, 3]
    assert sorted(a.reshape(-1), key=float)[0].item() == 2


@devices
def test_format_and_repr(device: str) -> None:
    a, where = make([1, 2.5], device), "" if device == "cpu" else f", device='{device}'"
    assert repr(a) == f"tensor([1. , 2.5], dtype=float32{where})"
    assert f"{a[1]:.3f} {a.sum()} {lnb.tensor(7, device=device):>4d}" == "2.500 3.5    7"
    assert f"{a}" == repr(a) and repr(make([1], device, requires_grad=True)).endswith("requires_grad=True)")
    assert f"{make(0.1, device)}" == f"{np.float32(0.1)}"
    assert repr(lnb.zeros((0, 3))) == "tensor([], shape=(0, 3))" and repr(lnb.zeros(0)) == "tensor([])"
    with pytest.raises(TypeError):
        f"{a:.3f}"


@devices
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "**"])
def test_operators_are_reflected_and_in_place(device: str, symbol: str) -> None:
    array = np.array([1.5, 2, 3], "float32")
    x = make(array, device)
    for other in (2, 0.5, True, [4.0, 5.0, 6.0]):
        for text in (f"x {symbol} y", f"y {symbol} x"):
            expected = eval(text, {"x": array, "y": np.array(other, "float32")})
            np.testing.assert_allclose(eval(text, {"x": x, "y": other}).numpy(), expected, rtol=2e-6)
    scope: dict = {"x": x, "y": x.copy()}
    exec(f"y {symbol}= x", scope)
    np.testing.assert_allclose(scope["y"].numpy(), eval(f"x {symbol} x", {"x": array}), rtol=2e-6)
    assert scope["y"].dtype == np.float32


@devices
def test_comparisons_matmul_and_signs(device: str) -> None:
    a = np.array([[1.0, 2], [3, -4]], "float32")
    x = make(a, device)
    for text in ("x > 2", "x >= x.T", "x < 0", "x <= x", "x == x.T", "x != 2", "2 > x", "-x", "abs(x)", "x @ x",
                 "x @ x.T"):
        assert (eval(text, {"x": x}).numpy() == eval(text, {"x": a})).all(), text


def test_python_scalars_are_weak() -> None:
    for dtype in ("float16", "float32", "int8", "uint8", "int64", lnb.bfloat16):
        x = lnb.ones(2, dtype=dtype)
        assert (x + 1).dtype == x.dtype == (1 - x).dtype == (x * True).dtype
    assert (lnb.ones(2, dtype="int32") * 0.5).dtype == np.float64 and (lnb.ones(2, dtype="bool") + 1).dtype == np.int64
    assert (lnb.ones(2, dtype="float32") * 1j).dtype == np.complex64


@devices
def test_copies_are_independent(device: str) -> None:
    a = make([1, 2], device)
    for other in (a.copy(), copy.copy(a), lnb.tensor(a), a.clone(), lnb.array(a), a.astype("float32")):
        other[0] = 9
        assert a.tolist() == [1, 2] and other.tolist() == [9, 2] and other.device == device
    assert a.astype("float32", copy=False) is a and a.to("float32") is a and a.to(device) is a


@devices
def test_attributes(device: str) -> None:
    array = np.zeros((2, 3, 4), "float32")
    x = make(array, device)
    for name in ("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides"):
        assert getattr(x, name) == getattr(array, name), name
    assert x.device == device and x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert type(x.shape) is tuple and all(type(size) is int for size in x.shape)
    with pytest.raises(ShapeError, match="mT: needs two axes"):
        x[0, 0].mT  # noqa: B018
    with pytest.raises(AttributeError):
        x.nonsense = 1


# ------------------------------------------------------------------------------------------- NumPy's arrays
def test_numpy_shares_memory_on_the_cpu() -> None:
    x = make([1, 2, 3], "cpu")
    array = x.numpy()
    array[0] = 9
    x[1] = 8
    assert x.tolist() == [9, 8, 3] == array.tolist() and array.flags.writeable
    assert np.shares_memory(lnb.asarray(array).numpy(), array)
    assert not np.shares_memory(lnb.tensor(array).numpy(), array)


@devices
def test_numpy_is_read_only_where_writing_would_falsify(device: str) -> None:
    w = make([1, 2, 3], device, requires_grad=True)
    c = make([4, 5, 6], device)
    view = c[1:]
    assert not w.numpy().flags.writeable and not (w * 2).numpy().flags.writeable
    y = w * c
    if device == "cpu":                                        # on cuda it is a copy, on mlx never to be written
        assert not any(x.numpy().flags.writeable for x in (c, view, c.detach()))
    y.sum().backward()                                         # releases what it saved
    may_write = device != "mlx"
    assert c.numpy().flags.writeable == view.numpy().flags.writeable == may_write
    y = w * c
    del y
    assert c.numpy().flags.writeable == may_write


@devices
def test_array_protocol_refuses_what_numpy_would_lose(device: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    with pytest.raises(GradError, match=r"__array__: the tensor requires grad.*Use \.detach\(\)"):
        np.asarray(w)
    if device == "mlx":
        with pytest.raises(GradError, match=r"__array__: the tensor lives on mlx\. Use \.to\('cpu'\)"):
            np.asarray(w.detach())
    array = np.asarray(w.detach().to("cpu"))
    assert array.tolist() == [1, 2] and array.dtype == np.float32
    assert np.array(w.detach().to("cpu"), dtype="int8").dtype == np.int8


@devices
def test_grad_is_assigned_like_the_tensor(device: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    with pytest.raises(ShapeError, match=r"^grad: got shape \(3,\), .* for shape \(2,\), "):
        w.grad = make([1, 2, 3], device)
    with pytest.raises(ShapeError, match="grad: got a list"):
        w.grad = [1, 2]
    w.grad = make([3, 4], device)
    w.sum().backward()
    assert w.grad.tolist() == [4, 5]
    w.zero_grad()
    assert w.grad is None and make([1], device).grad is None
    with pytest.raises(GradError, match="grad: the tensor does not require grad"):
        make([1], device).grad = make([1], device)
    with pytest.raises(DTypeError, match="requires_grad: int64 has no gradient"):
        lnb.tensor([1], device=device).requires_grad = True
    with pytest.raises(GradError, match="requires_grad: the tensor was computed"):
        (w * 1).requires_grad = False
