"""The short road of small arrays: what it takes itself, what it leaves to the ufunc, and whose references it holds."""

import gc
import sys

import numpy as np
import pytest

from lucid_nb import expr
from lucid_nb.kernels import builtin, elementwise
from lucid_nb.program import type_program

builtin._address()             # otherwise the first calls of a process that begins with an empty store do without


def kernel(formula, dtypes, name="probe", warns=False):
    """A compiled formula."""
    outputs = expr.trace(formula, len(dtypes))
    return elementwise.kernel(type_program(outputs, dtypes, elementwise.native(), warns), name)


def add(dtype="float32"):
    return kernel(lambda m, x, y: x + y, [dtype, dtype], "add")


@pytest.fixture
def arrays():
    draw = np.random.default_rng(0)
    return draw.standard_normal((3, 5)).astype("float32"), draw.standard_normal((3, 5)).astype("float32")


def test_this_python_has_the_road():
    assert builtin.is_possible()
    assert type(add().small).__name__ == "builtin_function_or_method"


def test_contiguous_arrays_give_what_the_ufunc_gives(arrays):
    found = add().small(*arrays)
    assert type(found) is np.ndarray and found.dtype == np.float32 and found.flags.owndata and found.flags.c_contiguous
    assert (found == add().ufunc(*arrays)).all()


@pytest.mark.parametrize("change", [
    lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[::2], lambda x: x[0], lambda x: x[:, :1], lambda x: x[0, 0],
    lambda x: np.asarray(x[0, 0]), lambda x: x[:0], lambda x: 2.5, lambda x: np.frombuffer(b"0" + x.tobytes(), "u1")[1:]
    .view("float32").reshape(x.shape)], ids=["transposed", "reversed", "strided", "row", "column", "scalar", "0-d",
                                             "empty", "python", "unaligned"])
def test_everything_else_goes_to_the_ufunc(arrays, change):
    other = change(arrays[1])
    first = arrays[0] if np.shape(other) in ((3, 5), (5,), (3, 1), ()) else other
    found, expected = add().small(first, other), first + other
    assert np.shape(found) == np.shape(expected) and np.array_equal(found, expected)


def test_other_dtypes_are_cast_as_numpy_casts(arrays):
    found = add("float64").small(*arrays)
    assert found.dtype == np.float64 and np.array_equal(found, arrays[0].astype("f8") + arrays[1].astype("f8"))


def test_equal_sizes_of_other_shapes_broadcast_or_raise(arrays):
    column, row = arrays[0][:, :1].copy(), arrays[0][:1, :3].copy()
    assert np.array_equal(add().small(column, row), column + row)
    with pytest.raises(ValueError, match="broadcast"):
        add().small(arrays[0], arrays[1].reshape(5, 3))


def test_wrong_number_of_arguments_raises_as_numpy_does(arrays):
    with pytest.raises(TypeError, match="positional argument"):
        add().small(arrays[0])


def test_several_results_come_as_a_tuple(arrays):
    both = kernel(lambda m, x, y: (x + y, x * y), ["float32", "float32"], "both").small(*arrays)
    assert type(both) is tuple and np.array_equal(both[0], arrays[0] + arrays[1])
    assert np.array_equal(both[1], arrays[0] * arrays[1])


def test_bool_result_has_bool_dtype(arrays):
    found = kernel(lambda m, x, y: x > y, ["float32", "float32"], "greater").small(*arrays)
    assert found.dtype == bool and np.array_equal(found, arrays[0] > arrays[1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats_take_the_road_too(arrays, dtype):
    import ml_dtypes
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x, y = arrays[0].astype(kind), arrays[1].astype(kind)
    found = add(dtype).small(x, y)
    assert found.dtype == kind and np.array_equal(found, (x.astype("f4") + y.astype("f4")).astype(kind))


def test_conditions_are_reported_once_by_numpy():
    divide = kernel(lambda m, x, y: x / y, ["float64", "float64"], "divide", warns=True).small
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as caught:
        found = divide(np.ones(3), np.array([1.0, 0.0, 2.0]))
    assert len(caught) == 1 and np.array_equal(found, [1, np.inf, 0.5])
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide"):
        divide(np.ones(3), np.zeros(3))


def test_no_reference_is_lost_or_kept(arrays):
    x, y = arrays
    small = kernel(lambda m, x, y: (x + y, x > y), ["float32", "float32"], "pair").small
    for _ in range(10):
        small(x, y), small(x, y.T.copy().T)
    gc.collect()
    counts = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype("float32"))
    for _ in range(1000):
        small(x, y), small(x, y.T.copy().T)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == counts[:2]
    assert abs(sys.getrefcount(np.dtype("float32")) - counts[2]) < 50
    first, second = small(x, y)
    assert sys.getrefcount(first) == 2 == sys.getrefcount(second)


def test_without_the_road_the_ufunc_serves_alone(arrays, monkeypatch):
    monkeypatch.setattr(builtin, "is_possible", lambda: False)
    program = type_program(expr.trace(lambda m, x: m.exp(x), 1), ["float32"], elementwise.native())
    alone = elementwise.Kernel(program, "exp")
    assert type(alone.small) is np.ufunc and np.allclose(alone.small(arrays[0]), np.exp(arrays[0]))


def test_an_empty_store_begins_with_the_ufunc_and_changes_over_when_it_pays(arrays, monkeypatch):
    monkeypatch.setattr(builtin, "is_ready", lambda: False)
    monkeypatch.setattr(builtin, "_early", iter([builtin.PATIENCE - 1, builtin.PATIENCE]))
    program = type_program(expr.trace(lambda m, x: m.exp(x), 1), ["float32"], elementwise.native())
    early = elementwise.Kernel(program, "exp")
    expected = np.exp(arrays[0])
    assert "by_builtin" not in vars(early)
    assert np.allclose(early.small(arrays[0]), expected) and "by_builtin" not in vars(early)
    assert np.allclose(early.small(arrays[0]), expected)
    assert type(vars(early)["by_builtin"]).__name__ == "builtin_function_or_method"
