"""Shapes, orders, joining, casts and copies against NumPy; gradients against finite differences."""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import check_grad

from .derivatives import check_against_cpu

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
MOVES = {
    "reshape": (lambda x: x.reshape(4, -1), lambda x: x.reshape(4, -1)),
    "reshape to one axis": (lambda x: lnb.reshape(x, -1), lambda x: x.reshape(-1)),
    "reshape in Fortran order": (lambda x: lnb.reshape(x, (6, 4), order="F"), lambda x: x.reshape(6, 4, order="F")),
    "reshape of a transpose": (lambda x: x.T.reshape(8, 3), lambda x: x.T.reshape(8, 3)),
    "permute_dims": (lambda x: lnb.permute_dims(x, (2, 0, -2)), lambda x: x.transpose(2, 0, 1)),
    "transpose": (lambda x: lnb.transpose(x), lambda x: x.transpose()),
    "transpose of some axes": (lambda x: x.transpose(1, 0, 2), lambda x: x.transpose(1, 0, 2)),
    "mT": (lambda x: x.mT, lambda x: np.swapaxes(x, -1, -2)),
    "broadcast_to": (lambda x: lnb.broadcast_to(x[:, :1], (5, 2, 3, 4)),
                     lambda x: np.broadcast_to(x[:, :1], (5, 2, 3, 4))),
    "concat": (lambda x: lnb.concat([x, x[:, :1], x * 2], axis=1), lambda x: np.concatenate([x, x[:, :1], x * 2], 1)),
    "concat of flattened": (lambda x: lnb.concat([x, x[0]], axis=None), lambda x: np.concatenate([x, x[0]], axis=None)),
    "copy": (lambda x: x.copy() * 2, lambda x: x * 2),
}


@pytest.mark.parametrize("name", MOVES)
def test_movement_equals_numpy(name, device):
    ours, numpys = MOVES[name]
    found = ours(lnb.asarray(X, device=device))
    assert found.device == device and found.dtype == np.float32
    np.testing.assert_array_equal(found.to_host(), numpys(X))


@pytest.mark.parametrize("name", MOVES)
def test_gradient_follows_finite_differences(name):
    check_grad(lambda x: MOVES[name][0](x * x), X / 8)


@pytest.mark.parametrize("name", MOVES)
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: MOVES[name][0](x * x), X / 8, device=device)


def test_views_share_memory_and_copies_do_not(device):
    x = lnb.asarray(X.copy(), device=device)
    views = [x.reshape(-1), x.T, lnb.permute_dims(x, (1, 0, 2)), x.reshape(6, 4)]
    copies = [x.copy(), x.T.reshape(-1), lnb.concat([x]), x.astype("float32")]
    x[0, 0, 0] = 100
    for view in views:
        assert view.to_host().ravel()[0] == 100
    for copied in copies:
        assert copied.to_host().max() == 23


def test_reshape_that_needs_a_copy_can_be_refused():
    x = lnb.asarray(X)
    with pytest.raises(errors.ShapeError, match=r"reshape: \(4, 3, 2\) to \(24,\) needs a copy"):
        x.T.reshape(-1, copy=False)
    assert not np.shares_memory(x.reshape(-1, copy=True).numpy(), X)


def test_broadcast_is_read_only_and_without_memory():
    x = lnb.broadcast_to(lnb.asarray(np.float32(1)), (1000, 1000))
    assert x.strides == (0, 0)
    with pytest.raises(errors.ShapeError, match="setitem: the memory is read-only"):
        x[0] = 2


# ------------------------------------------------------------------------------------------- concatenation
def test_concat_promotes_and_takes_lists():
    found = lnb.concat([lnb.ones(2, dtype="float32"), [1, 2]])
    assert found.dtype == np.float64 and found.tolist() == [1, 1, 1, 2]
    assert lnb.concat([lnb.ones(2, dtype="int8"), lnb.ones(1, dtype="int16")]).dtype == np.int16
    assert lnb.concat([lnb.ones(2), lnb.ones(2)], dtype="float32").dtype == np.float32


def test_concat_sends_each_operand_its_gradient(device):
    a, b = (lnb.asarray(np.ones(shape, "float32"), device=device) for shape in ((2, 2), (2, 1)))
    b.requires_grad = True
    weights = lnb.asarray(np.arange(8, dtype="float32").reshape(2, 4), device=device)
    (lnb.concat([a, b, b], axis=1) * weights).sum().backward()
    assert b.grad.tolist() == [[5], [13]] and a.grad is None


# --------------------------------------------------------------------------------------------------- casts
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          ml_dtypes.bfloat16, "float32", "float64"]


@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_cast_equals_numpy(target, device, has_float64):
    for source in ("float32", "int32", "uint8", "bool", "float16"):
        if target == "float64" and not has_float64:
            pytest.skip("MLX has float64 on its CPU build only")
        x = np.array([0, 1, 2.5, 100, 7]).astype(source)
        found = lnb.asarray(x, device=device).astype(target)
        assert found.dtype == np.dtype(target) and found.device == device
        np.testing.assert_array_equal(found.to_host(), x.astype(target))


def test_cast_between_floats_passes_the_gradient_on_in_the_source_dtype(device):
    x = lnb.asarray(np.array([1, 2], "float32"), device=device)
    x.requires_grad = True
    (x.astype("float16") * 3).sum().backward()
    assert x.grad.dtype == np.float32 and x.grad.tolist() == [3, 3]


def test_cast_of_nan_and_overflow_follows_numpy():
    x = np.array([1e39, -1e39, np.nan, 70000, 1e-46])
    with np.errstate(all="ignore"):
        for target in ("float32", "float16", ml_dtypes.bfloat16):
            found, wanted = lnb.asarray(x).astype(target).numpy(), x.astype(target)
            np.testing.assert_array_equal(found.astype("float64"), wanted.astype("float64"))


@pytest.mark.parametrize("target", ["int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "bool"])
def test_casting_of_the_same_value_refuses_what_numpy_refuses(target):
    for values, source in (([1, 2], "float64"), ([1.5], "float32"), ([np.nan, 2], "float64"), ([np.inf], "float64"),
                           ([-1], "int64"), ([300], "int16"), ([2 ** 53 + 1], "int64"), ([2 ** 63], "uint64"),
                           ([65519], "float32"), ([-0.0], "float64"), ([], "float64"), ([1e-50], "float64")):
        x = np.array(values, source)
        try:
            wanted = x.astype(target, casting="same_value")
        except ValueError:
            with pytest.raises(errors.ShapeError, match=r"astype: .* of .* is no .*, and casting='same_value'"):
                lnb.asarray(x).astype(target, casting="same_value")
        else:
            np.testing.assert_array_equal(lnb.asarray(x).astype(target, casting="same_value").numpy(), wanted)


def test_complex_to_real_is_refused():
    with pytest.raises(errors.DTypeError, match="astype: complex64 to float32 loses the imaginary part"):
        lnb.asarray(np.ones(2, "complex64")).astype("float32")


def test_to_moves_between_devices_and_dtypes(device):
    x = lnb.tensor(X.copy(), requires_grad=True)
    moved = x.to(device)
    assert moved.device == device and (moved is x) == (device == "cpu")
    (moved * 2).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == np.full(X.shape, 2).tolist()
    assert x.to("float16").dtype == np.float16 and x.to(lnb.float32) is x


# ------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("call, error, text", [
    (lambda x: x.reshape(5, 5), errors.ShapeError, r"reshape: 24 elements of shape \(2, 3, 4\) do not fit \(5, 5\)"),
    (lambda x: x.reshape(-1, -1), errors.ShapeError, r"reshape: shape \(-1, -1\) is not possible"),
    (lambda x: x.reshape(-1, 7), errors.ShapeError, r"reshape: 24 elements .* do not fill \(-1, 7\)"),
    (lambda x: lnb.permute_dims(x, (0, 1)), errors.ShapeError, "permute_dims: 2 axes"),
    (lambda x: lnb.permute_dims(x, (0, 1, 1)), errors.AxisError, "permute_dims: axis .* names an axis twice"),
    (lambda x: lnb.broadcast_to(x, (2, 3, 5)), errors.ShapeError, "broadcast_to: "),
    (lambda x: lnb.concat([]), errors.ShapeError, "concat: no arrays"),
    (lambda x: lnb.concat([x, x[:, :2]], axis=0), errors.ShapeError, "concat: shapes .* differ outside axis 0"),
    (lambda x: lnb.concat([x, x], axis=3), errors.AxisError, "concat: axis 3 is out of range"),
    (lambda x: x.astype("U1"), errors.DTypeError, "astype: <U1 data has no arithmetic here"),
    (lambda x: x.to("tpu"), errors.DeviceError, "device: 'tpu' is unknown")], ids=range(11))
def test_bad_arguments_are_refused_alike_on_every_device(call, error, text, device):
    with pytest.raises(error, match=text):
        call(lnb.asarray(X, device=device))


@pytest.mark.parametrize("order", ["C", "F", "A", "f", "a"])
@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)),
                                   np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)[:, :, 0]],
                         ids=["C", "F", "neither"])
def test_reshape_follows_numpys_orders(array, order):
    np.testing.assert_array_equal(lnb.asarray(array).reshape(3, 2, order=order).numpy(),
                                  array.reshape((3, 2), order=order))


def test_reshape_in_an_unknown_order_is_refused():
    with pytest.raises(lnb.ShapeError, match=r"reshape: order 'K' is unknown\. Use one of C, F, A"):
        lnb.ones(4).reshape(2, 2, order="K")


# ------------------------------------------------------------------------------------- casting, order, copies
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("source, target", [("float32", "float64"), ("float64", "float32"), ("int64", "int8"),
                                            ("int32", "float32"), ("float32", "int32"), ("uint8", "int16"),
                                            ("bool", "int8"), ("float64", "complex64"), ("int8", "int8")])
def test_astype_casts_as_numpys(source, target, casting):
    x = np.ones(2, source)
    try:
        wanted = x.astype(target, casting=casting)
    except TypeError:
        with pytest.raises(errors.DTypeError, match=f"astype: {source} does not go into {target} by casting"):
            lnb.asarray(x).astype(target, casting=casting)
        return
    found = lnb.astype(lnb.asarray(x), target, casting=casting)
    assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("array", [X, np.asfortranarray(X)], ids=["C", "F"])
def test_orders_of_copies_are_numpys(order, array):
    x = lnb.asarray(array)
    for found, wanted in ((x.copy(order), array.copy(order)),
                          (x.astype("float64", order), array.astype("float64", order)),
                          (x.astype("float32", order), array.astype("float32", order)),
                          (x.flatten(order), array.flatten(order))):
        assert found.strides == wanted.strides and np.array_equal(found.numpy(), wanted)
        assert not np.shares_memory(found.numpy(), array)
    assert lnb.astype(x, "float32", copy=False) is x
    with pytest.raises(errors.ShapeError, match="copy: order 'X' is unknown"):
        x.copy("X")


def test_ordered_copies_keep_the_gradient():
    check_grad(lambda x: x.copy("F") * x.astype("float64", "F"), X[0] / 8)


def test_unknown_casting_is_refused():
    with pytest.raises(errors.DTypeError, match="astype: casting 'sane' is unknown"):
        lnb.ones(1).astype("int8", casting="sane")
