"""Repetition against NumPy."""

import numpy as np
import pytest
from hypothesis import given

import lucid_nb as lnb

from . import moves

CALLS = {
    "tile": lambda n, x: n.tile(x, 2),
    "tile of rows": lambda n, x: n.tile(x, (2, 1)),
    "tile of more axes": lambda n, x: n.tile(x, (2, 1, 3, 1, 2)),
    "tile of all": lambda n, x: n.tile(x, (3,) * x.ndim),
    "tile of an array": lambda n, x: n.tile(x, np.array([1, 2])),
    "tile once": lambda n, x: n.tile(x, 1),
    "tile never": lambda n, x: n.tile(x, (0, 2)),
    "tile less than never": lambda n, x: n.tile(x, -1),
    "repeat": lambda n, x: n.repeat(x, 2),
    "repeat of an axis": lambda n, x: x.repeat(3, axis=1),
    "repeat of the last": lambda n, x: n.repeat(x, 2, -1),
    "repeat never": lambda n, x: n.repeat(x, 0, axis=0),
    "repeat by one number in a list": lambda n, x: n.repeat(x, [2], axis=0),
    "repeat by numbers": lambda n, x: n.repeat(x, [2, 0, 1], axis=0),
    "repeat of the last by numbers": lambda n, x: n.repeat(x, n.asarray([1, 3]), axis=-1),
    "repeat by less than nothing": lambda n, x: n.repeat(x, -1),
    "repeat of a missing axis": lambda n, x: n.repeat(x, 2, axis=5),
    "resize": lambda n, x: n.resize(x, (2, 3)),
    "resize to less": lambda n, x: n.resize(x, 1),
    "resize to nothing": lambda n, x: n.resize(x, (0, 2)),
    "resize to much": lambda n, x: n.resize(x, (5, 4, 3)),
    "resize to a negative size": lambda n, x: n.resize(x, (-1, 2)),
}
SHAPES = [(2, 3), (3, 2), (3,)]


@pytest.mark.parametrize("name", CALLS)
@given(array=moves.arrays())
def test_repetition_is_numpys(name, array):
    moves.check_call(CALLS[name], array)


@pytest.mark.parametrize("name", CALLS)
def test_repetition_copies(name, device):
    for shape in SHAPES:
        moves.check_view(CALLS[name], shape, device)


@pytest.mark.parametrize("name", CALLS)
def test_repetition_follows_finite_differences(name):
    for shape in SHAPES:
        moves.check_derivatives(CALLS[name], shape)


@pytest.mark.parametrize("name", CALLS)
def test_repetition_on_a_device(name, device):
    for shape in SHAPES[:2]:
        moves.check_call(CALLS[name], np.arange(6, dtype="float32").reshape(shape), device)
        moves.check_derivatives_on(CALLS[name], shape, device)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_long_repetitions_of_short_arrays_are_numpys(dtype):
    for size, count in ((3, 40001), (1, 30000), (100, 1000), (4097, 3), (1000, 41)):
        x = np.arange(size).astype(dtype)
        np.testing.assert_array_equal(lnb.tile(lnb.asarray(x), count).numpy(), np.tile(x, count))
        wide = x.reshape(1, -1)
        np.testing.assert_array_equal(lnb.tile(lnb.asarray(wide), (count, 2)).numpy(), np.tile(wide, (count, 2)))
        np.testing.assert_array_equal(lnb.asarray(wide).broadcast_to((count, size)).copy().numpy(),
                                      np.broadcast_to(wide, (count, size)))


@pytest.mark.parametrize("call, error, text", [
    (lambda x: lnb.repeat(x, [1, 2]), lnb.ShapeError, r"repeat: \(2,\) repeats for 3 elements"),
    (lambda x: lnb.repeat(x, [1, -2, 1]), lnb.ShapeError, "repeat: -2 times. Use 0 or more"),
    (lambda x: lnb.repeat(x, 0.5), lnb.DTypeError, "repeat: float64 is no number of times"),
    (lambda x: lnb.tile(x, (1, -1)), lnb.ShapeError, r"tile: reps \(1, -1\) has a negative number"),
    (lambda x: lnb.tile(x, 2 ** 60), lnb.ShapeError, "tile: shape .* has .* elements, more than memory can hold"),
    (lambda x: lnb.resize(x, (-3,)), lnb.ShapeError, "resize: negative size")], ids=range(6))
def test_bad_repetition_is_refused_alike_on_every_device(call, error, text, device):
    with pytest.raises(error, match=text):
        call(lnb.zeros(3, dtype="float32", device=device))


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
@pytest.mark.parametrize("size", [0, 1, 5000, 100_000, 300_000])
def test_long_rows_are_moved_as_numpys(size, dtype):
    """On both sides of the sizes at which another road is taken, in memory of their own."""
    x = (np.arange(2 * size) % 251).astype(dtype)
    for raw in (x[:size], x[::2], x[::-2]):
        ours = lnb.asarray(raw)
        for call in (lambda n, x: n.tile(x, 3), lambda n, x: n.repeat(x, 3), lambda n, x: n.repeat(x, 0),
                     lambda n, x: n.roll(x, 1), lambda n, x: n.roll(x, -3), lambda n, x: n.roll(x, 2 * size + 1),
                     lambda n, x: n.roll(x, 0), lambda n, x: n.stack((x, x)), lambda n, x: n.concatenate((x, x))):
            found = call(lnb, ours)
            np.testing.assert_array_equal(found.numpy(), call(np, raw), strict=True)
            assert found.numpy().flags.writeable and not np.shares_memory(found.numpy(), raw)
