"""Texts, memory and iteration of tensors, and the names that are NumPy's own; oracle: NumPy."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import backend

X = np.array([[1.0, 2.5, -3.25], [1e-9, 1e9, np.nan]])
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
# NumPy's objects for what no tensor holds or does: those that lucid_nb has by NumPy's names.
OWN = """False_ ScalarType True_ asmatrix base_repr binary_repr bmat busday_count busday_offset busdaycalendar bytes_
char character ctypeslib datetime64 datetime_as_string datetime_data dtype emath errstate euler_gamma
exceptions flatiter format_float_positional format_float_scientific frompyfunc get_include get_printoptions
getbufsize geterr geterrcall index_exp inf info is_busday isnat little_endian ma matrix memmap mintypecode nan
ndindex nested_iters newaxis object_ pi poly1d polynomial printoptions rec recarray record s_ sctypeDict
set_printoptions setbufsize seterr seterrcall show_config show_runtime str_ strings timedelta64 typecodes
typename typing void""".split()


@pytest.mark.parametrize("name", OWN)
def test_names_of_the_host_are_numpys_objects(name):
    assert getattr(lnb, name) is getattr(np, name) and name in dir(lnb)


def test_no_name_of_numpys_is_missing_but_those_of_its_machinery():
    machinery = {"core", "f2py", "test", "float128", "complex256", "longdouble", "clongdouble"}
    assert {name for name in dir(np) if name[0] != "_" and not hasattr(lnb, name)} <= machinery


@pytest.mark.parametrize("device", DEVICES)
def test_texts_are_numpys(device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    x = X.astype("float32")
    on = lnb.asarray(x, device=device)
    for how in ({}, {"precision": 2, "suppress_small": True}, {"max_line_width": 20}):
        for name in ("array2string", "array_repr", "array_str"):
            assert getattr(lnb, name)(on, **how) == getattr(np, name)(x, **how)
    assert lnb.array2string(on, separator=",", formatter={"float": "<{:.1f}>".format}) == np.array2string(
        x, separator=",", formatter={"float": "<{:.1f}>".format})
    assert lnb.array_repr(lnb.tensor([1.0], requires_grad=True)) == "array([1.])"


def test_print_options_govern_tensors():
    x = lnb.asarray(X)
    with lnb.printoptions(precision=2, suppress=True):
        assert lnb.array_str(x) == str(X) and repr(x) == "tensor(" + np.array2string(
            X, separator=", ", prefix="tensor(") + ")"
        assert repr(lnb.tensor([0.123456])) == "tensor([0.12])"
    before = lnb.get_printoptions()
    lnb.set_printoptions(linewidth=40)
    try:
        assert np.get_printoptions()["linewidth"] == 40 and lnb.array_str(lnb.arange(40)) == str(np.arange(40))
    finally:
        lnb.set_printoptions(**before)


@pytest.mark.parametrize("device", DEVICES)
def test_elements_are_enumerated_as_numpys(device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    for x in (np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.array(5), np.zeros((2, 0))):
        found = list(lnb.ndenumerate(lnb.asarray(x, device=device)))
        assert [(place, int(value)) for place, value in found] == [(place, int(v)) for place, v in np.ndenumerate(x)]
        assert all(isinstance(value, lnb.Tensor) and value.device == device for _, value in found)
    assert list(lnb.ndindex(2, 2)) == list(np.ndindex(2, 2))


def test_enumerated_elements_have_gradients():
    x = lnb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    sum(value * (place[0] + 2 * place[1]) for place, value in lnb.ndenumerate(x)).backward()
    assert x.grad.tolist() == [[0, 2], [1, 3]]


def test_iterators_are_numpys():
    x, y = np.arange(6).reshape(2, 3), np.arange(3)
    for how in ({}, {"order": "F"}, {"flags": ["multi_index"]}):
        assert list(map(int, lnb.nditer(lnb.asarray(x), **how))) == list(map(int, np.nditer(x, **how)))
    pairs = [(int(a), int(b)) for a, b in lnb.nditer([lnb.asarray(x), y])]
    assert pairs == [(int(a), int(b)) for a, b in np.nditer([x, y])]
    z = lnb.zeros(3)
    with lnb.nditer(z, op_flags=["readwrite"]) as places:
        for place in places:
            place[...] = 7
    assert z.tolist() == [7, 7, 7]
    found, wanted = lnb.broadcast(lnb.asarray(x), y), np.broadcast(x, y)
    assert found.shape == wanted.shape and [tuple(map(int, p)) for p in found] == [tuple(map(int, p)) for p in wanted]
    with pytest.raises(ValueError, match="broadcast"):
        lnb.broadcast(lnb.ones(2), lnb.ones(3))
    for value in (lnb.ones(2), lnb.tensor(1.0), [1], 1, "a"):
        assert lnb.iterable(value) is np.iterable(np.asarray(value) if isinstance(value, lnb.Tensor) else value)


def test_shared_memory_is_numpys():
    x = np.arange(12)
    on = lnb.asarray(x)
    views = {"even": slice(None, None, 2), "odd": slice(1, None, 2), "front": slice(0, 3), "back": slice(6, None)}
    for name in ("shares_memory", "may_share_memory"):
        for a in views.values():
            for b in views.values():
                assert getattr(lnb, name)(on[a], on[b]) is getattr(np, name)(x[a], x[b])
            assert getattr(lnb, name)(on[a], x) is True
        assert getattr(lnb, name)(on, lnb.arange(12)) is False
    if backend.is_usable("mlx"):
        there = lnb.arange(4, device="mlx")
        assert lnb.shares_memory(there[1:], there) and not lnb.may_share_memory(there, lnb.arange(4, device="mlx"))
        assert not lnb.shares_memory(there, on)


def test_requirements_are_numpys():
    for x in (X, X.T, X[:, ::2], np.broadcast_to(X[0], (2, 3))):
        for needs in (None, "C", ["F"], ["W"], ["C", "W", "O"], ["F", "ALIGNED"], ["F_CONTIGUOUS"], "CW"):
            found, wanted = lnb.require(lnb.asarray(x), requirements=needs), np.require(x, requirements=needs)
            np.testing.assert_array_equal(found.numpy(), wanted, strict=True)
            for flag in ("c_contiguous", "f_contiguous", "writeable"):
                assert getattr(found.raw.flags, flag) == getattr(wanted.flags, flag), (needs, flag)
            assert np.may_share_memory(found.numpy(), x) == np.may_share_memory(wanted, x)
    assert lnb.require([1, 2], "float32").dtype == np.float32
    for wrong in (["C", "F"], ["Q"]):
        with pytest.raises(ValueError, match="require: "):
            lnb.require(X, requirements=wrong)


# ---------------------------------------------------------------------------------------------- assertions
@pytest.mark.parametrize("device", DEVICES)
def test_assertions_are_numpys(device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    a, near, far = np.float32([1, 2]), np.float32([1, 2 + 1e-6]), np.float32([1, 3])
    ours = {id(x): lnb.asarray(x, device=device) for x in (a, near, far)}
    cases = {"assert_allclose": {"rtol": 1e-5}, "assert_almost_equal": {}, "assert_array_almost_equal": {},
             "assert_array_equal": {}, "assert_equal": {}, "assert_array_less": {},
             "assert_array_almost_equal_nulp": {"nulp": 8}, "assert_array_max_ulp": {"maxulp": 8}}
    for name, how in cases.items():
        for x, y in ((a, a), (a, near), (a, far), (far, a), (a - 1, a)):
            texts = []
            for module, p, q in ((np.testing, x, y), (lnb.testing, ours.get(id(x), x), ours.get(id(y), y))):
                try:
                    getattr(module, name)(p, q, **how)
                    texts.append(None)
                except AssertionError as error:
                    texts.append(str(error))
            assert texts[0] == texts[1]
    lnb.testing.assert_equal({"a": [ours[id(a)], 1]}, {"a": [a, 1]})
    with pytest.raises(AssertionError, match="dtype"):
        lnb.testing.assert_array_equal(ours[id(a)], a.astype("float64"), strict=True)
    lnb.testing.assert_approx_equal(lnb.tensor(1.0), 1.0)
    with pytest.raises(AssertionError):
        lnb.testing.assert_(lnb.tensor(0))


def test_assertions_of_errors_are_numpys_own():
    for name in ("assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings", "suppress_warnings"):
        assert getattr(lnb.testing, name) is getattr(np.testing, name)
    assert {name for name in np.testing.__all__ if name.startswith("assert_")} <= set(lnb.testing.__all__)
    lnb.testing.assert_raises(ValueError, lnb.zeros(2).reshape, 3)


@pytest.mark.parametrize("name", ["Arrayterator", "NumpyVersion", "array_utils", "format", "introspect", "mixins",
                                  "npyio", "scimath"])
def test_names_of_lib_are_numpys_objects(name):
    assert getattr(lnb.lib, name) is getattr(np.lib, name)
