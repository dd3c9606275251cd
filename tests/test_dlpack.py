"""Capsules beside NumPy's, PyTorch's and MLX's own: the same memory, the same numbers, given back when they go."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import dlpack
from lucid_nb.dtypes import BFLOAT16
from lucid_nb.testing import arrays, shapes

DTYPES = "bool int8 uint16 int32 int64 float16 float32 float64 complex64 complex128".split()


class Producer:
    """An object that lends one block."""

    def __init__(self, block, is_versioned):
        self.block, self.is_versioned = block, is_versioned

    def __dlpack__(self, **options):
        return dlpack.lend(self.block, self.is_versioned)

    def __dlpack_device__(self):
        return self.block.device


@given(st.data(), st.sampled_from(DTYPES), st.booleans())
def test_numpy_reads_what_is_lent(data, dtype, is_versioned):
    array = data.draw(arrays(dtype, data.draw(shapes())))
    if not array.flags.writeable:
        array = array.copy()
    found = np.from_dlpack(Producer(dlpack.of_host(array), is_versioned))
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.size == 0 or np.shares_memory(found, array)


@given(st.data(), st.sampled_from(DTYPES))
def test_what_numpy_lends_is_read(data, dtype):
    array = data.draw(arrays(dtype, data.draw(shapes())))
    block = dlpack.borrow(array.__dlpack__(max_version=(1, 0)))
    found = dlpack.on_host(block)
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.flags.writeable == (array.flags.writeable or array.size == 0)


@pytest.mark.parametrize("is_versioned", [False, True])
def test_owner_lives_as_long_as_the_consumer(is_versioned):
    array = np.arange(6.0).view(type("Array", (np.ndarray,), {}))
    alive = weakref.ref(array)
    taken = np.from_dlpack(Producer(dlpack.of_host(array), is_versioned))
    unused = dlpack.lend(dlpack.of_host(array), is_versioned)
    del array
    gc.collect()
    assert alive() is not None and taken.tolist() == [0, 1, 2, 3, 4, 5]
    del taken
    assert alive() is not None
    del unused
    assert alive() is None


def test_lender_gets_its_memory_back_when_the_loan_ends():
    array = np.arange(6.0).view(type("Array", (np.ndarray,), {}))
    alive = weakref.ref(array)
    found = dlpack.on_host(dlpack.borrow(dlpack.lend(dlpack.of_host(array), True)))
    del array
    gc.collect()
    assert alive() is not None and found[5] == 5
    del found
    assert alive() is None


def test_capsule_is_taken_once():
    capsule = np.arange(3).__dlpack__()
    dlpack.borrow(capsule)
    with pytest.raises(lnb.errors.DTypeError, match="taken before"):
        dlpack.borrow(capsule)


def test_read_only_memory_needs_a_consumer_that_knows():
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.raises(lnb.errors.DTypeError, match="read-only"):
        dlpack.lend(dlpack.of_host(array), False)
    assert not np.from_dlpack(Producer(dlpack.of_host(array), True)).flags.writeable


def test_unknown_dtype_is_told():
    array = np.arange(4, dtype=np.uint8)
    capsule = array.__dlpack__()
    dlpack._managed(capsule, False).array.dtype.bits = 4
    with pytest.raises(lnb.errors.DTypeError, match="code 1 of 4 bits"):
        dlpack.borrow(capsule)


# ------------------------------------------------------------------------------------------------ bfloat16
def test_bfloat16_goes_to_torch_and_back_without_a_copy():
    torch = pytest.importorskip("torch")
    ours = lnb.arange(6, dtype="float32").reshape(2, 3).astype(lnb.bfloat16)
    theirs = torch.from_dlpack(ours.T)
    theirs[2, 1] = 40
    assert ours.tolist() == [[0, 1, 2], [3, 4, 40]] and theirs.dtype == torch.bfloat16
    back = lnb.from_dlpack(theirs)
    back[0, 0] = 7
    assert back.dtype == BFLOAT16 and ours[0, 0] == 7 and theirs[0, 0] == 7


def test_bfloat16_goes_to_mlx_and_comes_back():
    mx = pytest.importorskip("mlx.core")
    found = lnb.from_dlpack(mx.array([1.5, 2, 3]).astype(mx.bfloat16))
    assert found.dtype == BFLOAT16 and found.tolist() == [1.5, 2, 3]


def test_bfloat16_copy_is_its_own():
    ours = lnb.ones(3, dtype=lnb.bfloat16)
    found = dlpack.on_host(dlpack.borrow(ours.__dlpack__(copy=True, max_version=(1, 0))))
    found[0] = 5
    assert ours.tolist() == [1, 1, 1]


def test_other_devices_are_refused():
    with pytest.raises(lnb.errors.DeviceError, match=r"asked for was DLPack's device \(2, 0\)"):
        lnb.ones(3).__dlpack__(dl_device=(2, 0))
