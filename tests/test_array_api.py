"""The array API standard's inspection: the namespace of a tensor, devices, dtypes and capabilities."""

import numpy as np
import pytest

import lucid_nb as lnb

INFO = lnb.__array_namespace_info__()


def test_a_tensor_leads_to_the_namespace():
    x = lnb.ones(2)
    assert x.__array_namespace__() is lnb
    assert x.__array_namespace__(api_version="2024.12") is lnb
    with pytest.raises(ValueError, match=r"^__array_namespace__: version '1999.12'"):
        x.__array_namespace__(api_version="1999.12")


def test_info_names_what_can_be_made():
    for device in INFO.devices():
        for name, dtype in INFO.dtypes(device=device).items():
            made = lnb.empty(1, dtype=dtype, device=device)
            assert (made.dtype, made.device) == (np.dtype(name), device)
    assert INFO.default_device() in INFO.devices()
    assert INFO.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}


def test_default_dtypes_are_those_of_new_tensors():
    for device in INFO.devices():
        found = INFO.default_dtypes(device=device)
        with lnb.device(device):
            made = {"real floating": lnb.zeros(1), "integral": lnb.asarray([1]), "complex floating": lnb.asarray([1j]),
                    "indexing": lnb.argmax(lnb.zeros(1))}
        assert found == {kind: x.dtype for kind, x in made.items()}, device


@pytest.mark.parametrize("kind", ["bool", "signed integer", "unsigned integer", "integral", "real floating",
                                  "complex floating", "numeric", ("bool", "integral"), None])
def test_dtypes_of_a_kind_are_numpys(kind):
    theirs = np.__array_namespace_info__().dtypes(kind=kind)
    assert INFO.dtypes(kind=kind, device="cpu") == theirs


def test_a_kind_that_is_no_word_is_refused():
    with pytest.raises(TypeError, match=r"^dtypes: kind is of type list"):
        INFO.dtypes(kind=["bool"])


def test_limits_of_floats_are_pythons_numbers():
    for name in ("float16", "float32", "float64", "complex64"):
        ours, theirs = lnb.finfo(name), np.finfo(name)
        for limit in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
            assert isinstance(getattr(ours, limit), float)
            assert getattr(ours, limit) == getattr(theirs, limit)
        assert (ours.bits, ours.dtype) == (theirs.bits, theirs.dtype)
        assert str(ours) == str(theirs)
    assert (lnb.ones(1, dtype="float32") + lnb.finfo("float32").eps).dtype == lnb.float32


def test_copies_of_numbers_in_memory_can_be_written_as_numpys():
    for make in (lambda m: m.asarray(m.zeros(()), copy=True), lambda m: m.array(m.ones(3).sum()),
                 lambda m: m.zeros(()).copy(), lambda m: m.zeros(()).astype("int8"), lambda m: m.copy(m.zeros(()))):
        ours, theirs = make(lnb), make(np)
        ours[()] = theirs[()] = 1
        assert ours.item() == theirs.item() == 1
    for value in (lnb.ones(3).sum(), lnb.ones(3)[0], lnb.ones(3).sum().copy()):
        with pytest.raises(ValueError, match="0-d result is a value"):
            value[()] = 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_expm1_has_the_special_values_of_the_standard(dtype):
    inf, nan = np.inf, np.nan
    cases = {complex(inf, 0): complex(inf, 0), complex(-inf, inf): -1, complex(-inf, nan): -1,
             complex(nan, 0): complex(nan, 0), complex(inf, inf): complex(inf, nan),
             complex(inf, nan): complex(inf, nan), complex(-inf, 2): -1, 0j: 0}
    with np.errstate(all="ignore"):
        found = lnb.expm1(lnb.asarray(list(cases), dtype=dtype)).numpy()
    np.testing.assert_array_equal(found.real, np.array(list(cases.values()), dtype).real)
    np.testing.assert_array_equal(found.imag, np.array(list(cases.values()), dtype).imag)


def test_the_variance_of_one_value_that_is_no_number_is_none():
    for value in (np.nan, np.inf, 3.0):
        for shape in ((), (1,), (2, 1)):
            x = np.full(shape, value)
            for name in ("var", "std"):
                with np.errstate(all="ignore"):
                    found, wanted = (getattr(m, name)(m.asarray(x), axis=-1 if shape else None) for m in (lnb, np))
                np.testing.assert_array_equal(found, wanted)
