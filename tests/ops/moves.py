"""One generic test of movement: a call is made on NumPy and on the library, over drawn dtypes, shapes and layouts.

A table maps a label to `call(library, x)`. Results must be equal in shape, dtype and every bit; what NumPy refuses must
be refused by an error of the same kind; what is a view in NumPy must be one here, seen from both sides.
"""

import warnings

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.errors import LucidError

from .derivatives import check_against_cpu

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", ml_dtypes.bfloat16, "float32", "float64",
          "complex64", "complex128"]


def arrays(max_dims=4, dtypes=DTYPES, awkward=True):
    """Arrays of any dtype, shape and layout."""
    return testing.arrays(st.sampled_from(dtypes), testing.shapes(max_dims=max_dims, max_side=3), awkward=awkward)


def call_numpy(call, x):
    """NumPy's result, or the error it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(np, x), None
        except (ValueError, TypeError, IndexError) as error:
            return None, error


def kind_of(error):
    """Which of Python's errors it is, that a program would catch."""
    return [kind for kind in (np.exceptions.AxisError, IndexError, TypeError, ValueError) if isinstance(error, kind)]


def check_call(call, array, device="cpu", same_error=True):
    """Hold one call on one array to NumPy."""
    x = lnb.asarray(array, device=device)
    wanted, error = call_numpy(call, array)
    if error is not None:
        try:
            call(lnb, x)
        except LucidError as refusal:
            assert not same_error or set(kind_of(refusal)) & set(kind_of(error)), (refusal, error)
            return
        raise AssertionError(f"NumPy raises {error!r}")
    check_equal(call(lnb, x), wanted, device)


def check_equal(found, wanted, device="cpu"):
    """Equal in shape, dtype and every bit but that of a NaN."""
    if isinstance(wanted, (tuple, list)):
        assert isinstance(found, (tuple, list)) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            check_equal(one, other, device)
        return
    wanted = np.asarray(wanted)
    assert isinstance(found, lnb.Tensor) and found.device == device
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, (found.shape, found.dtype, wanted)
    ours, numpys = (x.astype("float32") if x.dtype == ml_dtypes.bfloat16 else x for x in (found.to_host(), wanted))
    np.testing.assert_array_equal(ours, numpys)
    if numpys.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(numpys))


def check_view(call, shape, device):
    """Where NumPy gives a view, a write into either side is seen from the other; where it copies, none is."""
    array = np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape)
    wanted, error = call_numpy(call, array)
    if error is not None:
        return
    x = lnb.tensor(array, device=device)
    found = call(lnb, x)
    pairs = list(zip(found, wanted)) if isinstance(wanted, (tuple, list)) else [(found, wanted)]
    for number, (ours, numpys) in enumerate(pairs):
        if not isinstance(numpys, np.ndarray) or numpys.size == 0:
            continue
        shares = np.shares_memory(numpys, array)
        if shares and ours.numpy().flags.writeable:      # broadcast views are not, though NumPy's may be
            numpys.flags.writeable = True
            numpys[...] = -number - 1
            ours[...] = -number - 1
        elif not shares and not ours.is_value:
            ours[...] = -100                             # nobody else sees it
        if shares:
            array += 50
            x += 50
            np.testing.assert_array_equal(ours.to_host(), numpys)
        np.testing.assert_array_equal(x.to_host(), array)


def results(found):
    """The tensors of a result, as a tuple."""
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def check_derivatives(call, shape):
    """First and second derivatives against finite differences."""
    array = np.random.default_rng(5).uniform(0.5, 2, shape)
    found = call_numpy(call, array)[0]
    if any(part.size for part in results(np.zeros(0) if found is None else found)):
        testing.check_grad(lambda x: tuple(y * y for y in results(call(lnb, x)) if y.size), array)


def check_derivatives_on(call, shape, device):
    """A device's derivatives against the CPU's."""
    array = np.random.default_rng(5).uniform(0.5, 2, shape)
    if call_numpy(call, array)[1] is None:
        check_against_cpu(lambda x: lnb.concat([(y * y).reshape(-1) for y in results(call(lnb, x))]), array,
                          device=device)
