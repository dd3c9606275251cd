"""reduce, accumulate, reduceat, outer and at of every function that NumPy has as a ufunc, against NumPy's."""

import functools
import zlib

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.register import functions
from lucid_nb.testing import check_grad

NAMES = sorted(name for name, function in functions.items() if hasattr(function, "record")
               and isinstance(getattr(np, name, None), np.ufunc) and function.__name__ == name)
# The exponents of ldexp are no numbers like its results, so that there is nothing to fold.
BINARY = [name for name in NAMES if getattr(np, name).nin == 2 and getattr(np, name).nout == 1 and name != "ldexp"]
ORDERED = {"subtract", "divide", "power", "remainder", "floor_divide", "fmod", "arctan2", "copysign", "heaviside",
           "nextafter", "float_power", "left_shift", "right_shift"}      # no element can be left out of these
# Their vectorised loops in NumPy lose elements when they fold along the memory: see test_folds_go_in_turn.
LOSSY = {"arctan2", "power"}
DTYPES = ("bool", "int8", "int64", "float32", "float64", "complex128")
TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "complex128": 1e-13, "complex64": 2e-6, "float16": 4e-3}


def sample(name, dtype, shape):
    """Small numbers on which the ops have values; the same in every process."""
    generator = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    x = generator.integers(1, 4, shape) if np.dtype(dtype).kind in "biu" else generator.uniform(0.5, 2, shape)
    return (x + 1j * generator.uniform(0.5, 2, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def dtypes_of(name, dtypes=DTYPES):
    """The dtypes of a test; complex numbers only where NumPy has a loop of them, or neither library has."""
    ours, theirs = (any("D" in loop for loop in getattr(module, name).types) for module in (lnb, np))
    return dtypes if ours == theirs else [dtype for dtype in dtypes if dtype != "complex128"]


def outcome(function, *arguments, **options):
    """What a call gives, or the kind of its error."""
    with np.errstate(all="ignore"):
        try:
            return function(*arguments, **options)
        except (TypeError, ValueError, IndexError) as error:
            return next(kind for kind in (TypeError, IndexError, ValueError) if isinstance(error, kind))


def assert_same(found, wanted, what=""):
    """Values, shape and dtype, or the kind of error."""
    if isinstance(wanted, type):
        assert found is wanted, f"{what}: {found} instead of {wanted}"
        return
    assert not isinstance(found, type), f"{what}: {found}, where NumPy gives {wanted!r}"
    assert isinstance(found, lnb.Tensor), what
    wanted = np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), what
    np.testing.assert_allclose(found.numpy(), wanted, rtol=TOLERANCE.get(str(wanted.dtype), 0), err_msg=what)


def compare(name, method, arrays, *rest, **options):
    """The method under both libraries."""
    wanted = outcome(getattr(getattr(np, name), method), *arrays, *rest, **options)
    found = outcome(getattr(getattr(lnb, name), method), *map(lnb.asarray, arrays), *rest, **options)
    assert_same(found, wanted, f"{name}.{method}({arrays[0].dtype}{arrays[0].shape}, {rest}, {options})")


@pytest.mark.parametrize("name", [name for name in BINARY if name not in LOSSY])
def test_reduce_gives_what_numpy_gives(name):
    for dtype in dtypes_of(name):
        x = sample(name, dtype, (4, 3))
        for options in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": None}, {"axis": (0, 1)}):
            compare(name, "reduce", (x,), **options)
        compare(name, "reduce", (x[:0],))
        compare(name, "reduce", (x[:1],))
        compare(name, "reduce", (x[0, 0],))


@pytest.mark.parametrize("name", BINARY)
def test_reduce_with_initial_where_dtype_and_out_gives_what_numpy_gives(name):
    x, mask = sample(name, "float64", (4, 3)), np.arange(12).reshape(4, 3) % 3 != 1
    if isinstance(outcome(getattr(np, name), x, x), type):
        x = x.astype("int64")
    compare(name, "reduce", (x,), initial=2)
    compare(name, "reduce", (x,), where=mask)
    compare(name, "reduce", (x,), dtype="float32")
    if name not in ORDERED:
        compare(name, "reduce", (x,), initial=2, where=mask)
    wanted = outcome(getattr(np, name).reduce, x)
    if not isinstance(wanted, type):
        target = lnb.asarray(np.zeros_like(wanted))
        found = getattr(lnb, name).reduce(lnb.asarray(x), out=target)
        assert found is target
        assert_same(found, wanted)


@pytest.mark.parametrize("name", sorted(LOSSY | {"subtract", "divide", "logaddexp"}))
def test_folds_go_in_turn(name):
    for dtype in ("int8", "float32", "float64"):
        x = sample(name, dtype, (4, 3))
        for axis in (0, 1):
            wanted = functools.reduce(getattr(np, name), np.moveaxis(x, axis, 0))
            assert_same(getattr(lnb, name).reduce(lnb.asarray(x), axis), wanted, name)
            found = getattr(lnb, name).reduceat(lnb.asarray(x), [0, 1], axis)
            assert_same(found[-1:] if axis == 0 else found[:, -1:], functools.reduce(
                getattr(np, name), np.split(x, x.shape[axis], axis)[1:]), name)


@pytest.mark.parametrize("name", BINARY)
def test_accumulate_gives_what_numpy_gives(name):
    for dtype in dtypes_of(name):
        x = sample(name, dtype, (5, 3))
        for options in ({}, {"axis": 1}):
            compare(name, "accumulate", (x,), **options)
        compare(name, "accumulate", (x[0, 0],))


@pytest.mark.parametrize("name", [name for name in BINARY if name not in LOSSY])
def test_reduceat_gives_what_numpy_gives(name):
    for dtype in ("int64", "float64"):
        x = sample(name, dtype, (6, 2))
        compare(name, "reduceat", (x,), [0, 3, 1, 5])
        compare(name, "reduceat", (x,), [1, 0], axis=1)
        compare(name, "reduceat", (x,), [0, 6])


@pytest.mark.parametrize("name", BINARY)
def test_outer_gives_what_numpy_gives(name):
    for first, second in zip(("int8", "int64", "float64"), dtypes_of(name, ["float32", "int64", "complex128"])):
        x, y = sample(name, first, (2, 3)), sample(name, second, (4,))
        compare(name, "outer", (x, y))
        compare(name, "outer", (x[0, 0], y))


@pytest.mark.parametrize("name", BINARY)
def test_at_counts_repeats_as_numpy_does(name):
    for dtype in ("bool", "int64", "float64"):
        for index in ([0, 2, 0, 0, -1], np.array([True, False, True, False]), slice(1, 3), 1,
                      (np.array([0, 0, 1]), np.array([2, 2, 0]))):
            x = sample(name, dtype, (4, 3))
            values = sample(name, dtype, np.shape(x[index]))
            wanted, target = x.copy(), lnb.asarray(x.copy())
            error = outcome(getattr(np, name).at, wanted, index, values)
            assert outcome(getattr(lnb, name).at, target, index, values) is error, (dtype, index)
            assert_same(target, wanted, f"{name}.at {dtype} {index}")


def test_at_refuses_an_index_that_is_out_of_range():
    with pytest.raises(IndexError, match="3"):
        lnb.add.at(lnb.zeros(3), [0, 3], 1.0)


def test_at_of_one_operand_counts_repeats():
    x = np.array([1.0, 2.0, 3.0])
    target = lnb.asarray(x.copy())
    np.negative.at(x, [0, 0, 1])
    lnb.negative.at(target, [0, 0, 1])
    assert_same(target, x)


def test_at_writes_numpys_memory_and_converts_as_numpy_does():
    x = np.zeros(3)
    lnb.add.at(x, [0, 0], lnb.tensor([1.0, 2.0]))
    assert x.tolist() == [3, 0, 0]
    whole, target = np.zeros(3, int), lnb.zeros(3, dtype=int)
    np.add.at(whole, [0, 0, 1], [0.7, 1.8, 2.5])
    lnb.add.at(target, [0, 0, 1], [0.7, 1.8, 2.5])
    assert_same(target, whole)
    with pytest.raises(TypeError, match="1j"):
        lnb.add.at(lnb.zeros(3), [0], 1j)


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "divide", "maximum", "hypot", "logaddexp", "power"])
def test_methods_are_differentiable(name):
    function, x = getattr(lnb, name), lnb.asarray(sample(name, "float64", (4, 3)))
    check_grad(lambda x: function.reduce(x, axis=0), x, order=2)
    check_grad(lambda x: function.accumulate(x, axis=0), x, order=2)
    check_grad(lambda x: function.reduceat(x, [0, 2, 1]), x, order=2)
    check_grad(lambda x, y: function.outer(x, y), x[0], x[1], order=2)

    def at(x, values):
        target = x * 1
        function.at(target, ([0, 3, 0],), values)
        return target
    check_grad(at, x, lnb.asarray(sample(name, "float64", (3, 3)) + 0.01), order=2)


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_numpys(name):
    ours, theirs = getattr(lnb, name), getattr(np, name)
    assert (ours.nin, ours.nout, ours.nargs) == (theirs.nin, theirs.nout, theirs.nargs)
    assert ours.identity == theirs.identity
    assert isinstance(ours, lnb.ufunc)
    # NumPy's other names of 64 bits, its mixed comparisons, and loops that it lists twice stand for no other dtypes.
    plain = [loop for loop in dict.fromkeys(theirs.types) if not set(loop) & set("qQgGOmMi") or "ii" in loop]
    found = [loop for loop in ours.types if "i" not in loop or "ii" in loop]
    assert [loop for loop in found if name != "logaddexp" or not set(loop) & {"F", "D"}] == plain
