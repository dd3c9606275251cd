"""Views and writes on the CPU and on MLX, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError, ShapeError

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


def make(data: Any, device: str, **facts: Any) -> lnb.Tensor:
    """A float32 tensor on a device."""
    return lnb.tensor(np.array(data, "float32"), device=device, **facts)


def values(x: lnb.Tensor) -> list:
    """The content, also of what requires grad."""
    return x.detach().tolist()


# ------------------------------------------------------------------------------------------- views, writes
@devices
def test_swap_through_a_temporary(device: str) -> None:
    a = make([1, 2, 3], device)
    t = a[0]
    a[0] = a[1]
    a[1] = t
    assert values(a) == [2, 1, 3]


@devices
def test_scaled_slice_is_seen_through_every_view(device: str) -> None:
    a = make(np.arange(12).reshape(4, 3), device)
    transposed, flat, reverse = a.T, a.reshape(-1), a[::-1]
    a[1:3] *= 10
    expected = np.arange(12.0).reshape(4, 3)
    expected[1:3] *= 10
    assert (a.numpy() == expected).all() and (transposed.numpy() == expected.T).all()
    assert (flat.numpy() == expected.ravel()).all() and (reverse.numpy() == expected[::-1]).all()
    transposed[1:, 0] = 7
    expected.T[1:, 0] = 7
    assert (a.numpy() == expected).all() and (flat.numpy() == expected.ravel()).all()


@devices
@pytest.mark.parametrize("target, source", [("1:", ":-1"), (":-1", "1:"), ("::-1", "::1"), ("2:4", "1:3")])
@pytest.mark.parametrize("how", ["{0} += {1}", "{0} = {1}", "{0} *= {1} + 1"])
def test_overlapping_write_reads_old_values(device: str, target: str, source: str, how: str) -> None:
    expected = np.arange(1.0, 6.0, dtype="float32")
    x = make(expected, device)
    exec(how.format(f"x[{target}]", f"x[{source}]"), {"x": x})
    exec(how.format(f"x[{target}]", f"x[{source}]"), {"x": expected})
    assert values(x) == expected.tolist()


@devices
@pytest.mark.parametrize("read", [
    lambda a: a[None], lambda a: a[..., None, 1], lambda a: a[::-1], lambda a: a[3:0:-2, ::-1], lambda a: a[...],
    lambda a: a[..., 0:0], lambda a: a[4:2], lambda a: a.T[1:][::-2], lambda a: a.reshape(2, 2, 3).T[1],
    lambda a: a[1:3].reshape(-1), lambda a: a[:, None, ::2].reshape(4, 1, 2), lambda a: a[-100:100, :10**12]])
def test_write_into_a_view_writes_the_base(device: str, read: Callable) -> None:
    expected = np.arange(12.0, dtype="float32").reshape(4, 3)
    a = make(expected, device)
    view, other = read(a), a.T
    read(expected)[...] = 50 + np.arange(read(expected).size).reshape(read(expected).shape)
    view[...] = make(50 + np.arange(view.size).reshape(view.shape), device)
    assert (a.numpy() == expected).all() and (other.numpy() == expected.T).all()
    assert (view.numpy() == read(expected)).all()


@devices
def test_reshape_that_needs_a_copy_is_no_view(device: str) -> None:
    a = make([[1, 2], [3, 4]], device)
    flat = a.T.reshape(-1)
    flat[0] = 9
    assert values(a) == [[1, 2], [3, 4]] and values(flat) == [9, 3, 2, 4]
    with pytest.raises(ShapeError, match=r"reshape: .* needs a copy"):
        a.T.reshape(-1, copy=False)
    copied = a.reshape(-1, copy=True)
    copied[0] = 7
    assert values(a) == [[1, 2], [3, 4]] and values(copied) == [7, 2, 3, 4]


def test_reshape_of_column_major_memory_is_a_view_where_numpy_gives_one() -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    x = lnb.asarray(array)
    x.reshape(-1)[0] = 50
    x.T.reshape(-1)[1] = 70
    assert array.tolist() == [[0, 1, 2], [70, 4, 5]]
    w = lnb.tensor(array, requires_grad=True)
    y = lnb.exp(lnb.asarray(array)) * w * 1
    y.T.reshape(3, 2)[1:] = 0
    y.sum().backward()
    assert w.grad[:, 1:].tolist() == [[0, 0], [0, 0]]


@devices
def test_broadcast_views_are_read_only_and_follow_their_base(device: str) -> None:
    a = make([1, 2], device)
    for wide in (lnb.broadcast_to(a, (3, 2)), lnb.broadcast_to(a, (2,)), lnb.broadcast_to(a, (3, 2))[1]):
        with pytest.raises(ShapeError, match="setitem: the memory is read-only"):
            wide[...] = 0
        with pytest.raises(ShapeError, match="in-place add: the memory is read-only"):
            wide += 1
        assert not wide.numpy().flags.writeable
    wide = lnb.broadcast_to(a, (3, 2))
    a[0] = 7
    assert values(wide) == [[7, 2]] * 3 and values(wide[1:, :1]) == [[7], [7]]


@devices
def test_gradient_of_a_broadcast_view_is_summed(device: str) -> None:
    w = make([[1], [2]], device, requires_grad=True)
    wide = lnb.broadcast_to(w * 1, (3, 2, 4))
    (wide[1:, :, 1] * make([1, 10], device)).sum().backward()
    assert values(w.grad) == [[2], [20]]


@devices
def test_writes_take_what_numpy_takes(device: str) -> None:
    a = make(np.zeros((2, 3)), device)
    a[0] = [1, 2, 3]
    a[1] = np.array([4, 5, 6], "int64") if device == "cpu" else lnb.tensor([4, 5, 6], device=device)
    a[:, 1] = 9
    a[:, 2:] = make([[7], [8]], device)
    assert values(a) == [[1, 9, 7], [4, 9, 8]]
    i = lnb.tensor([1, 2, 3], device=device)
    i[0] = 7.9                                              # NumPy's assignment casts, its in-place arithmetic does not
    i[1:] = make([8.9, -8.9], device)
    assert values(i) == [7, 8, -8]
    with pytest.raises(DTypeError, match=r"in-place add: float.* cannot go into int64"):
        i += 0.5
    assert values(i) == [7, 8, -8]


@devices
def test_in_place_operators_write_through(device: str) -> None:
    a, expected = make([[1, 2], [3, 4]], device), np.array([[1, 2], [3, 4]], "float32")
    view, before = a.T, a
    for x in (a, expected):
        x += 1
        x *= np.float32(2).item()
        x -= x[0]
        x /= 4
    assert a is before and (a.numpy() == expected).all() and (view.numpy() == expected.T).all()


@pytest.mark.parametrize("device, is_view", [("cpu", False), ("mlx", True)])
@pytest.mark.parametrize("compute", [np.exp, lambda t: t + t, lambda t: -t])
def test_flat_view_of_a_transposed_result_depends_on_its_memory_order(compute, device: str, is_view: bool) -> None:
    content = np.arange(6, dtype="float32").reshape(2, 3)
    y, theirs = compute(make(content, device).T), compute(content.T)
    assert np.shares_memory(theirs.reshape(-1), theirs) is False
    before = y.tolist()
    y.reshape(-1)[0] = 99.0                       # documented in reshape and in the README, under Devices
    assert (y.tolist() != before) == is_view and y.tolist()[1:] == before[1:]
    flat = y.copy().reshape(-1)                   # what is copied runs along the last axis everywhere
    assert flat.tolist() == np.array(y.tolist()).ravel().tolist()
