"""The roads in machine code: what they give is NumPy's, what they leave to the functions in Python, what they hold."""

import gc
import inspect
import os
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from operator import index as to_index

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import register, roads
from lucid_nb.kernels import builtin
from lucid_nb.storage import Permute, Reshape, Slice

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]
OPERATORS = {"+": lambda x, y: x + y, "<": lambda x, y: x < y, "//": lambda x, y: x // y}
LAYOUTS = {"vector": lambda a: a, "strided": lambda a: a[::2], "reversed": lambda a: a[::-1], "empty": lambda a: a[:0],
           "matrix": lambda a: a.reshape(2, 6), "transposed": lambda a: a.reshape(2, 6).T, "element": lambda a: a[3],
           "one": lambda a: a[3:4], "column": lambda a: a.reshape(2, 6)[:, 1],
           "no axes": lambda a: a.reshape(12)[3, ...]}


@pytest.fixture(scope="module", autouse=True)
def laid():
    """The roads, which a process that begins with an empty store would do without at first."""
    lnb.ones(2) + lnb.ones(2)
    builtin._address()
    assert type(vars(lnb.Tensor)["__getitem__"]).__name__ == "instancemethod"


def data(dtype):
    values = np.array([1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 0, 3])
    return values.astype(dtype) if dtype == "bool" else (values - (0 if dtype[0] == "u" else 2)).astype(dtype)


def outcome(call, *given):
    """What a call gives, or the kind of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(call(*given))
        except (TypeError, ValueError, OverflowError) as error:
            return OverflowError if isinstance(error, OverflowError) else type(error).__mro__[-4:]


def long_steps(array):
    """The strides of axes that have a second element."""
    return [stride for stride, size in zip(array.strides, array.shape) if size > 1]


def written(function, out, *given):
    """Is it `out` that the function gives?"""
    return function(*given, out=out) is out


def ravel(x):
    """Either library's."""
    return (lnb if type(x) is lnb.Tensor else np).ravel(x)


def same(ours, theirs):
    if not isinstance(theirs, np.ndarray):
        return not isinstance(ours, np.ndarray)
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and np.array_equal(ours, theirs, equal_nan=(
        theirs.dtype.kind in "fc"))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_what_numpy_gives(name, dtype):
    operator, array = OPERATORS[name], data(dtype)
    for layout in LAYOUTS.values():
        x, a = layout(lnb.asarray(array)), layout(array)
        for y, b in ((x, a), (lnb.asarray(array)[3], array[3]), (2, 2), (-3, -3), (0.5, 0.5), (300, 300), (True, True),
                     (lnb.asarray(array)[1:2], array[1:2]), *[(1 << 70, 1 << 70)] * (dtype != "bool")):
            for first, other in (((x, y), (a, b)), ((y, x), (b, a))):
                if isinstance(first[0], lnb.Tensor) or isinstance(first[1], lnb.Tensor):
                    for _ in range(2):                 # the kernel is known the second time
                        assert same(outcome(operator, *first), outcome(operator, *other)), (layout, first, other)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "complex128"])
def test_indices_give_what_numpy_gives(dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    x = lnb.asarray(array)
    for index in (1, -1, (1, 2, 3), (-1, -2, -3), (0, 1), (slice(1, None), 2), (..., 1), (None, 1),
                  slice(None, None, -1), (1, 2, 3, None), (slice(5, 1), 0), (0, ..., slice(1, 3)), (), ...,
                  (0, 1, 2, ...), (np.int64(1), 2), (True, 1), np.array([1, 0]), (1, lnb.asarray(2)), [0, 1]):
        found, wanted = x[index], array[index if type(index) is not tuple else tuple(map(np.asarray, index)) if any(
            isinstance(part, lnb.Tensor) for part in index) else index]
        assert type(found) is lnb.Tensor and same(np.asarray(found), np.asarray(wanted)), index
        assert found.is_value == isinstance(wanted, np.generic), index
    for index in (2, (0, 3, 0), (0, 0, -5), (0, 0, 0, 0), 1 << 70):
        with pytest.raises(IndexError):
            x[index]


def test_a_view_of_a_view_knows_its_steps_and_writes_the_base():
    x = lnb.arange(12.0)
    view = x[2:][1:5][::2]
    assert view.steps == (Slice((slice(2, None),)), Slice((slice(1, 5),)), Slice((slice(None, None, 2),)))
    view[1] = 50
    view += 1
    assert x.tolist() == [0, 1, 2, 4, 4, 51, 6, 7, 8, 9, 10, 11]
    x[3] = 9
    assert view.tolist() == [9, 51]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex128"])
def test_writes_do_what_numpys_do(dtype):
    for index in (1, (1,), -1, slice(1, 3), ..., slice(None, None, -2)):
        for value in (0, 1, 2.5, -1, True, 1 << 40, np.float64(3), "own"):
            ours, theirs = lnb.asarray(data(dtype)), data(dtype)
            given = (ours[2], theirs[2]) if value == "own" else (value, value)
            mine = outcome(ours.__setitem__, index, given[0])
            yours = outcome(theirs.__setitem__, index, given[1])
            if isinstance(mine, np.ndarray) and isinstance(yours, np.ndarray):
                assert np.array_equal(np.asarray(ours), theirs), (index, value)
            else:                                      # a float for integers is refused where NumPy drops its fraction
                assert np.array_equal(np.asarray(ours), data(dtype))


def test_overlapping_writes_and_updates_read_the_old_content():
    ours, theirs = lnb.arange(8.0), np.arange(8.0)
    for x in (ours, theirs):
        x[1:] = x[:-1]
        x[2:] += x[:-2]
        x[:4] *= x[3]
        x[::-1] -= x
    assert np.array_equal(np.asarray(ours), theirs)


def test_a_value_is_bound_anew_and_never_written():
    x = lnb.arange(3.0)
    first = kept = x[1]
    first += 5
    assert (kept.item(), first.item(), x.tolist()) == (1.0, 6.0, [0, 1, 2])
    for write in (lambda: kept.__setitem__(..., 3), lambda: x.sum().__setitem__((), 3)):
        with pytest.raises(ValueError, match="is a value"):
            write()


def test_read_only_memory_is_refused():
    array = np.arange(4.0)
    array.flags.writeable = False
    for x in (lnb.asarray(array), lnb.broadcast_to(lnb.ones(1), 4), lnb.lib.stride_tricks.sliding_window_view(
            lnb.ones(6), 3)[0], lnb.asarray(array)[1:]):
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            x += 1


def test_gradients_flow_through_operators_indices_and_writes():
    x = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = lnb.zeros(4)
    y[1:] = x * x
    y[0] = x[2]
    y += 1
    (y * y[1]).sum().backward()
    values = np.array([1.0, 2.0, 3.0])

    def of(v):
        inner = np.concatenate([v[2:], v * v]) + 1
        return (inner * inner[1]).sum()
    steps = [(of(values + e) - of(values - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    assert np.allclose(np.asarray(x.grad), steps, rtol=1e-6)
    with pytest.raises(lnb.errors.GradError):
        x[0] = 1.0
    saved = lnb.ones(3)
    product = (saved * x).sum()
    saved[0] = 5.0
    with pytest.raises(lnb.errors.GradError, match="setitem"):
        product.backward()


def test_what_a_graph_saved_may_be_written_through_a_view_and_is_noticed():
    saved, x = lnb.ones(3), lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = saved[:2]
    product = (saved * x).sum()
    view *= 3
    with pytest.raises(lnb.errors.GradError):
        product.backward()


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_products_with_vectors_and_places_give_what_numpy_gives(dtype):
    a = np.arange(12).reshape(3, 4).astype(dtype)
    x, mask = lnb.asarray(a), lnb.asarray(a % 2 == 0)
    for first, other in ((x[0], x[1]), (x, x[1]), (x[:, 1], x), (x[0, ::2], x[1, ::2])):
        wanted = np.asarray(first) @ np.asarray(other)
        found = first @ other
        assert same(np.asarray(found), np.asarray(wanted)) and found.is_value == isinstance(wanted, np.generic)
    places, number = lnb.asarray(np.array([2, 0, -1])), lnb.asarray(np.arange(3))[2]
    assert same(np.asarray(x[places]), a[[2, 0, -1]]) and same(np.asarray(x[mask]), a[a % 2 == 0])
    assert same(np.asarray(x[number]), a[2]) and same(np.asarray(x[0:number, np.int64(1)]), a[0:2, 1])
    x[places], a[[2, 0, -1]] = x[0], a[0]
    x[mask], a[a % 2 == 0] = 7, 7
    assert same(np.asarray(x), a)
    for wrong in (lnb.asarray([3]), lnb.asarray([True, False])):
        with pytest.raises(IndexError):
            x[wrong]
    with pytest.raises(ValueError, match="inner sizes"):
        x[0] @ x[0, :2]


def test_a_result_goes_straight_into_its_target_or_the_general_road():
    x, y, out, mixed = lnb.arange(4.0), lnb.ones(4), lnb.zeros(4), lnb.zeros(4, dtype="float32")
    view = out[1:]
    assert lnb.add(x, y, out=out) is out and view.tolist() == [2, 3, 4] and lnb.sqrt(out, out=out) is out
    assert lnb.add(x[1:], x[:-1], out=x[1:]).tolist() == [1, 3, 5] and x.tolist() == [0, 1, 3, 5]
    assert lnb.add(x, y, out=mixed).dtype == np.float32
    weight = lnb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    product = (out * weight).sum()
    lnb.add(x, y, out=out)
    with pytest.raises(lnb.errors.GradError):
        product.backward()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["add", "multiply", "negative", "less", "floor_divide", "sqrt"])
def test_results_go_into_targets_as_numpys_do(name, dtype):
    ours, theirs = getattr(lnb, name), getattr(np, name)
    for layout in LAYOUTS.values():
        for wanted in (dtype, "float64", "bool"):
            x, y, a, b = lnb.asarray(data(dtype)), lnb.asarray(data(dtype))[::-1], data(dtype), data(dtype)[::-1]
            out, target = lnb.zeros(12, dtype=wanted), np.zeros(12, wanted)
            both = [(layout(x), layout(y)), (layout(a), layout(b))]
            if theirs.nin == 1:
                both = [given[:1] for given in both]
            for mine, peer in (both, [(layout(x), layout(x)[..., :1])[:theirs.nin] for x in (x, a) if layout(a).ndim],
                               [(layout(one), 3)[:theirs.nin] for one in (x, a)]) if layout(a).ndim else (both,):
                result = outcome(written, ours, layout(out), *mine)
                other = outcome(written, theirs, layout(target), *peer)
                assert isinstance(result, tuple) == isinstance(other, tuple), (mine, peer)
                assert same(np.asarray(out), target), (mine, peer)


def test_results_overwrite_what_they_are_computed_from():
    ours, theirs = lnb.arange(8.0), np.arange(8.0)
    for library, x in ((lnb, ours), (np, theirs)):
        library.add(x[:-1], x[1:], out=x[1:])
        library.multiply(x, x[3:4], out=x)
        library.negative(x[::-1], out=x)
        library.subtract(x, 1, out=x)
        library.subtract(1, x, out=x)
    assert np.array_equal(np.asarray(ours), theirs)
    frozen, value = lnb.broadcast_to(lnb.ones(1), 8), ours[0]
    for out in (frozen, value):
        with pytest.raises(ValueError):
            lnb.add(frozen if out is frozen else value, 1.0, out=out)
    mixed, zero = lnb.ones(3, dtype="float32"), lnb.zeros((3, 1))
    for out, given in ((lnb.ones(3), (1.0, zero[:, 0])), (mixed, (lnb.ones(3), zero[:, 0])), (lnb.ones((3, 2)), (
            lnb.ones(2), zero))):
        with pytest.warns(RuntimeWarning) as caught:
            lnb.divide(*given, out=out)
        assert len(caught) == 1 and np.isinf(np.asarray(out)).all()
    weight = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    target = lnb.zeros(3)
    lnb.multiply(weight, weight, out=target)
    target.sum().backward()
    assert weight.grad.tolist() == [2, 4, 6]


@pytest.mark.parametrize("make", [float, int, bool, complex, lambda t: t.item(), to_index],
                         ids=["float", "int", "bool", "complex", "item", "index"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_pythons(make, dtype):
    for x, value in zip(lnb.asarray(data(dtype)), data(dtype)):
        if (dtype[0] == "c" and make in (float, int)) or (make is to_index and dtype.strip("u")[:3] != "int"):
            with pytest.raises(TypeError):
                make(x)
        else:
            found, wanted = make(x), make(value)
            assert type(found) is type(wanted) and found == wanted
    with pytest.raises((TypeError, ValueError)):
        make(lnb.ones((2, 2)))


def test_conditions_are_reported_once():
    zero = lnb.zeros(3)
    for call in (lambda: 1.0 / zero, lambda: zero / zero[0], lambda: zero[0] / zero[1]):
        with pytest.warns(RuntimeWarning) as caught:
            call()
        assert len(caught) == 1
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        1.0 / zero


def test_while_the_roads_are_closed_everything_goes_the_general_one(monkeypatch):
    x, seen = lnb.arange(3.0), []
    register.close_roads()
    try:
        monkeypatch.setattr(lnb.Tensor, "moved", lambda self, step, raw=None: seen.append(step))
        assert x[1:] is None and len(seen) == 1
    finally:
        register.reopen_roads()
    assert x[1:].tolist() == [1, 2] and len(seen) == 1


def test_no_reference_is_lost_or_kept():
    x, y = lnb.arange(6.0), lnb.arange(6.0)
    kinds = (None, True, False, x, y, x.raw, y.raw, x.raw.dtype, lnb.Tensor, x.share(), x.root)

    def work():
        for _ in range(200):
            x[2:4][0] = x[1] + 1 * y[3] / 2.5
            x[1:3] += y[1:3]
            x + y, -x, x < 2, x[::2] * y[1], float(x[2]), bool(x[1] > 0), x[3].item(), x[None][..., 1:]
            with suppress(IndexError):
                x[7]
    work()
    gc.collect()
    before = [sys.getrefcount(kind) for kind in kinds]
    work()
    gc.collect()
    assert all(abs(sys.getrefcount(kind) - count) < 50 for kind, count in zip(kinds, before))


def test_threads_take_the_roads_side_by_side():
    wrong = []

    def work(seed):
        x = lnb.arange(10.0) + seed
        for k in range(500):
            total = x[k % 10] + x[1:3][0]
            if total.item() != k % 10 + 1 + 2 * seed:
                wrong.append(total)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_finalizers_take_the_roads_while_the_process_ends():
    program = ("import os, lucid_nb as lnb\nfrom lucid_nb.kernels import builtin\n"
               "lnb.ones(2) + lnb.ones(2)\nbuiltin._address()\n"
               "class Late:\n    def __init__(self): self.x = lnb.ones(4)[1:]\n"
               "    def __del__(self, write=os.write):\n        x = self.x\n        x[:] = x[1] + x[::-1]\n"
               "        x += x\n        write(1, b'%d' % float((x + x)[0] + -x[1]))\n"
               "late = Late()\nlate.__del__()\n")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=100,
                           env=os.environ | {"PYTHONMALLOC": "debug"})         # memory that is given up is overwritten
    assert (found.returncode, found.stdout) == (0, b"416"), found.stderr


SHAPES = [-1, 12, (2, 6), (-1, 3), (3, 2, 2), (1, 12, 1), (0, -1), (), 7, (-1, -1), (5, -1), (1 << 62, 4),
          (1 << 70,), (np.int64(3), 4), (2, 6.0), (1,) * 66]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_shapes_are_views_where_numpys_are(layout):
    for shape in SHAPES:
        base, array = lnb.arange(12.0), np.arange(12.0)
        x, a = LAYOUTS[layout](base), LAYOUTS[layout](array)
        for call in (lambda x, shape: x.reshape(shape), lambda x, shape: x.reshape(*(shape or [()])),
                     lambda x, shape: x.T, lambda x, shape: x.reshape(shape).T.reshape(-1),
                     lambda x, shape: ravel(x), lambda x, shape: x.reshape(shape, order="F")):
            found, wanted = outcome(call, x, shape), outcome(call, a, shape)
            assert isinstance(found, tuple) == isinstance(wanted, tuple), (shape, found, wanted)
            assert isinstance(found, tuple) or same(found, wanted), (shape, found, wanted)
            if isinstance(wanted, np.ndarray) and wanted.size and not x.is_value:
                assert np.shares_memory(found, base.raw) == np.shares_memory(wanted, array), shape
                assert long_steps(np.asarray(call(x, shape))) == long_steps(wanted), shape


def test_views_in_other_shapes_know_their_steps_and_are_written_through():
    x = lnb.arange(6.0)
    view = x.reshape(2, -1).T
    assert view.steps == (Reshape((2, 3)), Permute((1, 0))) and lnb.ravel(x).steps == (Reshape((6,)),)
    view[0] = 7
    view.reshape(3, 2, 1).T[0, 1, 2] = 9
    assert x.tolist() == [7, 1, 2, 7, 4, 9]
    frozen = lnb.broadcast_to(lnb.ones(1), (1, 1))
    for one in (frozen.T, frozen.reshape(-1), lnb.ravel(frozen)):
        with pytest.raises(ValueError, match="read-only"):
            one[...] = 1
    weight = lnb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (weight.T.reshape(-1) * lnb.arange(4.0) + weight.reshape(-1) + lnb.ravel(weight)).sum().backward()
    assert weight.grad.tolist() == [[2, 4], [3, 5]]


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_new_tensors_are_as_numpys(name):
    ours, theirs = getattr(lnb, name), getattr(np, name)
    for shape in (0, 3, (2, 3), (0, 4), (), (1,) * 64, -1, (2, -3), (1,) * 65, (1 << 40, 1 << 40), 2.0):
        for dtype in (None, float, int, bool, np.float32, np.dtype("complex64"), "uint16", "no dtype"):
            found, wanted = outcome(ours, shape, dtype), outcome(theirs, shape, dtype)
            assert isinstance(found, tuple) == isinstance(wanted, tuple), (shape, dtype)
            if isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray):
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype) and found.flags.c_contiguous
                assert name == "empty" or same(found, wanted)
                made = ours(shape, dtype)
                like = getattr(lnb, f"{name}_like")(made)
                assert (like.shape, like.dtype, like.node) == (wanted.shape, wanted.dtype, None)
    dtype = np.dtype(np.float32)
    before = sys.getrefcount(dtype)
    kept = [ours(3, np.float32) for _ in range(100)]
    assert sys.getrefcount(dtype) - before in (0, 100)             # Python 3.12 and later may count nothing
    del kept
    assert sys.getrefcount(dtype) == before


class Stop(BaseException):
    """What is no error: as KeyboardInterrupt, which would end the test run where it went astray."""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Stop])
def test_what_stops_a_handler_is_not_swallowed(stop, monkeypatch):
    calls = []

    def handler(*_, **__):
        calls.append(1)
        raise stop
    zeros = lnb.zeros((2, 3))
    by_ufunc = (lambda: lnb.ones((2, 1)) / zeros, lambda: lnb.ones(3) / zeros.T[:, :1])
    for call in (*by_ufunc, lambda: 1.0 / zeros[0], lambda: zeros / zeros, lambda: zeros.__itruediv__(zeros[:, :1]),
                 lambda: lnb.full(2, 1e200) @ lnb.full(2, 1e200)):
        call_and_count(call, calls, stop, lambda: np.errstate(all="call", call=handler))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", handler)
            call_and_count(call, calls, stop, lambda: np.errstate(all="warn"))


def call_and_count(call, calls, stop, state):
    calls.clear()
    with state(), pytest.raises(stop):
        call()
    assert len(calls) == 1


def test_an_interrupt_while_memory_is_first_shared_is_not_swallowed(monkeypatch):
    code = lnb.Tensor.share.__code__

    def stop(frame, event, argument):
        if frame.f_code is code:
            raise Stop
    for call in (lambda x: x[1:], lambda x: x.T, lambda x: x.reshape(2, 2), lambda x: x[np.int64(1):], lnb.ravel,
                 lambda x: x[None]):
        x = lnb.arange(4.0)
        sys.setprofile(stop)
        try:
            with pytest.raises(Stop):
                call(x)
        finally:
            sys.setprofile(None)
        assert call(x).size


def test_every_plain_operator_has_its_road():
    assert {"add", "sub", "mul", "truediv", "lt", "eq", "neg", "and"} <= set(register.operators)
    laid = {name for name, method in vars(lnb.Tensor).items() if type(method).__name__ == "instancemethod" or
            inspect.isbuiltin(getattr(method, "fget", None))}
    assert {"__add__", "__radd__", "__iadd__", "__lt__", "__neg__", "__getitem__", "__setitem__", "__float__", "item",
            "__bool__", "T"} <= laid
    functions = [getattr(one, "fget", one) for one in roads.general.values()]
    assert roads._of_op and laid == set(roads.general) and all(map(inspect.isfunction, functions))
