"""Stacking, blocks, broadcasts and grids against NumPy."""

import numpy as np
import pytest
from hypothesis import given

import lucid_nb as lnb

from . import moves

CALLS = {
    "concatenate": lambda n, x: n.concatenate((x, x[:1], x)),
    "concatenate on the last axis": lambda n, x: n.concatenate([x, x[..., ::-1]], axis=-1),
    "concatenate flat": lambda n, x: n.concatenate([x, x], axis=None),
    "concatenate of rows": lambda n, x: n.concatenate(x),
    "concatenate to a dtype": lambda n, x: n.concatenate([x, x], dtype="complex128"),
    "concatenate to a dtype that is too small": lambda n, x: n.concatenate([x, x], dtype="int8", casting="safe"),
    "stack": lambda n, x: n.stack([x, x]),
    "stack at the end": lambda n, x: n.stack((x, x[...]), axis=-1),
    "stack of one": lambda n, x: n.stack([x], 1),
    "stack of unequal": lambda n, x: n.stack([x, x[..., :1]]),
    "stack too far": lambda n, x: n.stack([x, x], axis=7),
    "hstack": lambda n, x: n.hstack([x, x]),
    "vstack": lambda n, x: n.vstack((x, x)),
    "dstack": lambda n, x: n.dstack([x, x]),
    "column_stack": lambda n, x: n.column_stack([x, x]),
    "append": lambda n, x: n.append(x, x),
    "append on an axis": lambda n, x: n.append(x, x, axis=0),
    "append of what does not fit": lambda n, x: n.append(x, 1, axis=0),
    "block of a list": lambda n, x: n.block([x, x]),
    "block of lists": lambda n, x: n.block([[x, x], [x, x]]),
    "block of unequal depths": lambda n, x: n.block([[x, x], x]),
    "block of nothing": lambda n, x: n.block([[], x]),
    "block of one": lambda n, x: n.block(x),
    "broadcast_arrays": lambda n, x: n.broadcast_arrays(x, x[..., :1]),
    "broadcast_arrays of one": lambda n, x: n.broadcast_arrays(x),
    "meshgrid": lambda n, x: n.meshgrid(x.reshape(-1)[:3], x.reshape(-1)[:2]),
    "meshgrid of rows first": lambda n, x: n.meshgrid(x.reshape(-1)[:3], x.reshape(-1)[:2], x.reshape(-1)[:2],
                                                      indexing="ij"),
    "sparse meshgrid": lambda n, x: n.meshgrid(x.reshape(-1)[:3], x.reshape(-1)[:2], sparse=True),
    "meshgrid of views": lambda n, x: n.meshgrid(x.reshape(-1)[:3], x.reshape(-1)[:2], copy=False),
    "meshgrid of one": lambda n, x: n.meshgrid(x),
    "unknown meshgrid": lambda n, x: n.meshgrid(x, x, indexing="yx"),
}
SHAPES = [(2, 3), (1, 2, 3), (3,)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays(max_dims=3))
def test_joining_is_numpys(name, array):
    moves.check_call(CALLS[name], array)


@pytest.mark.parametrize("name", CALLS)
def test_joined_arrays_are_new(name, device):
    if device == "mlx" and "dtype" in name:
        pytest.skip("MLX has no complex128")
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", [name for name in CALLS if "dtype" not in name])
def test_joining_follows_finite_differences(name):
    for shape in SHAPES[1:]:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", [name for name in CALLS if "dtype" not in name])
def test_joining_on_a_device(name, device):
    moves.check_call(CALLS[name], np.arange(6, dtype="float32").reshape(2, 3), device)
    moves.check_derivatives_on(CALLS[name], (2, 3), device)


@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("float16", "int16"), ("bool", "float32"), ("uint64", "int64"),
                                    ("float32", "complex64")])
def test_joined_dtypes_promote_as_numpys(dtypes):
    arrays = [np.ones((2, 2), dtype) for dtype in dtypes]
    for name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block"):
        moves.check_equal(getattr(lnb, name)([lnb.asarray(a) for a in arrays]), getattr(np, name)(arrays))


def test_lists_and_numbers_are_joined():
    moves.check_equal(lnb.hstack([lnb.zeros(2), [1, 2], 3]), np.hstack([np.zeros(2), [1, 2], 3]))
    moves.check_equal(lnb.stack([1, 2.5]), np.stack([1, 2.5]))
    moves.check_equal(lnb.append([1, 2], 3), np.append([1, 2], 3))


def test_joining_into_out():
    x = np.arange(4.0).reshape(2, 2)
    out, host = lnb.zeros((2, 2, 2)), np.zeros((4, 2))
    assert lnb.stack([x, x], out=out) is out and np.array_equal(out.numpy(), np.stack([x, x]))
    assert lnb.concat([lnb.asarray(x), x], 0, host) is host and np.array_equal(host, np.concatenate([x, x]))
    with pytest.raises(lnb.DTypeError, match="concat: got both out and dtype"):
        lnb.concat([x, x], out=host, dtype="float32")
    whole = lnb.zeros((4, 2), dtype="int64")
    with pytest.raises(lnb.DTypeError, match="concat: float64 does not go into int64 by casting 'same_kind'"):
        lnb.concat([x, x], out=whole)
    lnb.concat([x, x], out=whole, casting="unsafe")
    assert whole.tolist() == np.concatenate([x, x]).astype(int).tolist()


def test_broadcast_shapes_are_numpys():
    for shapes in ([(3, 1), (4,)], [2, (2,)], [()], [], [(0, 1), (5,)]):
        assert lnb.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    with pytest.raises(lnb.ShapeError, match="broadcast_shapes: shapes"):
        lnb.broadcast_shapes((2,), (3,))


def test_what_cannot_be_joined_is_refused():
    with pytest.raises(lnb.DTypeError, match="stack: got generator"):
        lnb.stack(x for x in [[1], [2]])
    with pytest.raises(lnb.ShapeError, match="vstack: no arrays"):
        lnb.vstack([])
    with pytest.raises(lnb.DeviceError, match="hstack: operands live on"):
        lnb.hstack([lnb.ones(1, dtype="float32"), lnb.ones(1, device="mlx")])
    with pytest.raises(lnb.DTypeError, match="block: got a tuple"):
        lnb.block([(1, 2)])
