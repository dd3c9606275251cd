"""out, where, casting, order, dtype and signature of elementwise functions, against NumPy's."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad

from .test_methods import NAMES, assert_same, outcome, sample

ARITIES = {name: getattr(np, name).nin for name in NAMES}
# Calls that NumPy refuses, and that have a meaning here: moduli in single precision, logarithms of complex sums.
MORE = {("absolute", "float32"), ("logaddexp", "complex128")}


@pytest.fixture(autouse=True)
def quiet():
    """Samples lie outside of some domains, where both libraries give NaN."""
    with np.errstate(all="ignore"):
        yield


def operands(name, dtypes=("float64", "float64")):
    """Operands that NumPy's function of this name takes, or integers where it takes no floats."""
    arrays = [sample(f"{name}{number}", dtype, (4, 3)) for number, dtype in zip(range(ARITIES[name]), dtypes)]
    if name == "ldexp":
        arrays[1] = sample(name, "int64", (4, 3))
    if isinstance(outcome(getattr(np, name), *arrays), type):
        arrays = [sample(name, "int64", (4, 3)) for _ in arrays]
    return arrays


def both(name, arrays, *rest, **options):
    """The call under both libraries: (ours, NumPy's)."""
    wanted = outcome(getattr(np, name), *arrays, *rest, **options)
    return outcome(getattr(lnb, name), *map(lnb.asarray, arrays), *rest, **options), wanted


def results(found):
    """The results of a call, or the kind of its error, as a tuple."""
    return found if isinstance(found, tuple) else (found,)


def check(name, found, wanted, what=""):
    """All results of one call."""
    assert len(results(found)) == len(results(wanted)), f"{name} {what}: {found}"
    for mine, theirs in zip(results(found), results(wanted)):
        assert_same(mine, theirs, f"{name} {what}")


@pytest.mark.parametrize("name", NAMES)
def test_out_is_written_and_given_back(name):
    arrays = operands(name)
    for kind in (None, "float32", "complex128"):
        plain = results(getattr(np, name)(*arrays))
        outs = [np.full(result.shape, 7, kind or result.dtype) for result in plain]
        targets = [lnb.asarray(out.copy()) for out in outs]
        pack = tuple if len(outs) > 1 else lambda one: one[0]
        wanted = outcome(getattr(np, name), *arrays, out=pack(outs))
        found = outcome(getattr(lnb, name), *map(lnb.asarray, arrays), out=pack(targets))
        check(name, found, wanted, f"out of {kind}")
        if not isinstance(found, type):
            assert all(mine is target for mine, target in zip(results(found), targets))
            again = getattr(lnb, name)(*map(lnb.asarray, arrays), *targets)           # by position
            assert results(again)[0] is targets[0]


@pytest.mark.parametrize("name", NAMES)
def test_where_leaves_the_others_alone(name):
    arrays, mask = operands(name), np.arange(12).reshape(4, 3) % 3 != 1
    plain = results(getattr(np, name)(*arrays))
    for where in (mask, mask[0], mask[:, :1], False):
        outs = [np.full(result.shape, 7).astype(result.dtype) for result in plain]
        targets = tuple([lnb.asarray(out.copy()) for out in outs])
        wanted = getattr(np, name)(*arrays, out=tuple(outs), where=where)
        found = getattr(lnb, name)(*map(lnb.asarray, arrays), out=targets, where=where)
        check(name, found, wanted, f"where {where}")
        bare = results(getattr(lnb, name)(*map(lnb.asarray, arrays), where=where))
        for mine, theirs in zip(bare, plain):
            chosen = np.broadcast_to(where, mine.shape)
            assert_same(mine[chosen], theirs[chosen], name)


@pytest.mark.parametrize("name", NAMES)
def test_dtype_and_casting_are_numpys(name):
    for given in (("int16", "int16"), ("float32", "float64"), ("complex128", "float32")):
        arrays = [sample(name, dtype, (2, 2)) for dtype in given][:ARITIES[name]]
        if isinstance(outcome(getattr(np, name), *arrays), type):
            continue
        for options in ({"dtype": "float32"}, {"dtype": "float64"}, {"dtype": "complex128"},
                        {"dtype": "int64", "casting": "unsafe"}, {"dtype": "int64"},
                        {"dtype": "float32", "casting": "safe"}, {"casting": "no"}, {"casting": "unsafe"},
                        {"subok": False}, {"order": "F"}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                found, wanted = both(name, arrays, **options)
            if given[0] == "complex128" and options.get("casting") == "unsafe" and found is TypeError:
                continue                      # nothing here loses an imaginary part
            if (name, options.get("dtype")) in MORE:
                continue
            check(name, found, wanted, f"{given} {options}")


def test_signature_chooses_the_loop():
    x = np.array([1, 2], np.int32)
    for signature in ("dd->d", (None, None, "float32"), ("f", "f", "f"), (np.float64, None, None), "ll->d"):
        check("add", *both("add", (x, x), signature=signature), what=signature)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_order_is_that_of_the_result_in_memory(order):
    c, f = np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))
    for arrays in ((c, c), (f, f), (c, f), (f, f[:, :1])):
        wanted = np.add(*arrays, order=order)
        found = lnb.add(*map(lnb.asarray, arrays), order=order)
        assert found.strides == wanted.strides, [array.strides for array in arrays]


def test_only_what_is_selected_warns():
    x, y = lnb.asarray([1.0, 2.0]), lnb.asarray([0.0, 4.0])
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert lnb.divide(x, y, where=y != 0, out=lnb.zeros(2)).tolist() == [0, 0.5]
    with pytest.warns(RuntimeWarning, match="divide by zero"), np.errstate(all="warn"):
        lnb.divide(x, y, where=y == 0)


def test_out_takes_part_in_broadcasting_and_overlaps():
    x = np.arange(3.0)
    for shape in ((2, 3), (3,), (3, 1), (1, 3)):
        found, wanted = both("add", (x, x), out=np.zeros(shape))
        assert isinstance(found, type) == isinstance(wanted, type)
        assert isinstance(found, type) or np.array_equal(found, wanted)
    x, y = np.arange(5.0), lnb.arange(5.0)
    np.add(x[1:], x[:-1], out=x[1:])
    lnb.add(y[1:], y[:-1], out=y[1:])
    assert_same(y, x)


def test_python_numbers_stay_weak():
    x = np.arange(3, dtype=np.int8)
    for options in ({"dtype": "int64"}, {"dtype": "float32"}, {"where": np.array([True, False, True]), "out": None}):
        for number in (300 if "dtype" in options else 3, 1.5):
            wanted = outcome(np.add, x, number, **options)
            found = outcome(lnb.add, lnb.asarray(x), number, **options)
            if "where" in options:
                found, wanted = found[[0, 2]], wanted[[0, 2]]
            check("add", found, wanted, f"{options} {number}")
    assert lnb.add(1, 2, dtype="float32").dtype == "float32"


def test_wrong_arguments_are_refused():
    x = lnb.ones(3)
    with pytest.raises(TypeError, match="axis"):
        lnb.add(x, x, axis=0)
    for options, kind in (({"casting": "other"}, (TypeError, ValueError)),
                          ({"order": "X"}, ValueError), ({"out": [0.0] * 3}, TypeError), ({"out": (x, x)}, TypeError),
                          ({"where": x}, TypeError), ({"out": lnb.ones(2)}, ValueError),
                          ({"dtype": "int8"}, TypeError), ({"dtype": "float32", "signature": "dd->d"}, TypeError)):
        with pytest.raises(kind, match=r"^add: "):
            lnb.add(x, x, **options)
    assert np.array_equal(x, np.ones(3))


def test_options_are_differentiable():
    x, y = lnb.asarray(sample("x", "float64", (3, 2))), lnb.asarray(sample("y", "float64", (3, 2)))
    mask = lnb.asarray([[True, False], [False, False], [True, True]])

    def into(x, y):
        out = x * 3
        lnb.multiply(x, y, out=out, where=mask)
        return out
    check_grad(into, x, y, order=2)
    check_grad(lambda x, y: lnb.divide(x, y, where=mask), x, y, order=2)
    check_grad(lambda x, y: lnb.power(x, y, out=lnb.empty((3, 2))), x, y, order=2)
    check_grad(lambda x: lnb.exp(x, dtype="float64", order="F"), x, order=2)


def test_numpys_functions_take_tensors_with_options():
    x, y = sample("x", "float64", (3, 2)), sample("y", "float64", (3, 2))
    a, b = lnb.tensor(x, requires_grad=True), lnb.asarray(y)
    found = np.multiply(a, b, where=x > 1, out=(lnb.zeros((3, 2)),))
    assert_same(found.detach(), np.multiply(x, y, where=x > 1, out=np.zeros((3, 2))))
    found.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.where(x > 1, y, 0))
    assert_same(np.add.reduce(b, axis=1), np.add.reduce(y, axis=1))
    assert_same(np.maximum.accumulate(b), np.maximum.accumulate(y))
    assert_same(np.subtract.outer(b, y), np.subtract.outer(y, y))
    np.add.at(b, ([0, 0],), 1.0)
    np.add.at(y, ([0, 0],), 1.0)
    assert_same(b, y)
