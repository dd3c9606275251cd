"""Creation, call for call, against NumPy: a table maps a label to a call on either library."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad

from .ops.moves import check_call, check_equal

F = np.asfortranarray(np.arange(6.0).reshape(2, 3))
CALLS = {
    "zeros in Fortran order": lambda n: n.zeros((2, 3), order="F"),
    "ones with everything": lambda n: n.ones((2, 3), "int16", "F"),
    "empty of nothing": lambda n: n.empty((0, 3), dtype="complex64"),
    "full": lambda n: n.full((2, 2), 7, order="F"),
    "full of a row": lambda n: n.full((2, 3), [1.5, 2, 3], "float32"),
    "full of a bool": lambda n: n.full(3, True),
    "full that does not fit": lambda n: n.full((2, 2), [1, 2, 3]),
    "zeros of a negative size": lambda n: n.zeros((2, -1)),
    "eye": lambda n: n.eye(3),
    "eye of a shape": lambda n: n.eye(2, 4, 1, "int32"),
    "eye below": lambda n: n.eye(4, 2, k=-1, dtype=bool, order="F"),
    "eye far away": lambda n: n.eye(2, k=5),
    "eye of nothing": lambda n: n.eye(0),
    "identity": lambda n: n.identity(3, "complex64"),
    "tri": lambda n: n.tri(3),
    "tri of a shape": lambda n: n.tri(2, 4, 1, dtype="int8"),
    "vander": lambda n: n.vander([1, 2, 3]),
    "vander of floats": lambda n: n.vander(np.array([1.5, -2.5], "float32"), 4, increasing=True),
    "vander of complex numbers": lambda n: n.vander(np.array([1j, 2]), 3),
    "vander of no power": lambda n: n.vander([1, 2], 0),
    "vander of a matrix": lambda n: n.vander([[1, 2]]),
    "tril_indices": lambda n: n.tril_indices(3),
    "tril_indices of a shape": lambda n: n.tril_indices(3, 1, 4),
    "triu_indices": lambda n: n.triu_indices(3, k=-1),
    "tril_indices_from": lambda n: n.tril_indices_from(n.asarray(F), 1),
    "triu_indices_from": lambda n: n.triu_indices_from(n.asarray(F)),
    "triu_indices_from of a row": lambda n: n.triu_indices_from(n.asarray(F[0])),
    "diag_indices": lambda n: n.diag_indices(3),
    "diag_indices of three axes": lambda n: n.diag_indices(2, 3),
    "diag_indices_from": lambda n: n.diag_indices_from(n.zeros((2, 2, 2))),
    "diag_indices_from of unequal axes": lambda n: n.diag_indices_from(n.asarray(F)),
    "mask_indices": lambda n: n.mask_indices(3, n.triu, 1),
    "indices": lambda n: n.indices((2, 3)),
    "sparse indices": lambda n: n.indices((2, 3), dtype="int32", sparse=True),
    "indices of nothing": lambda n: n.indices(()),
    "mgrid": lambda n: n.mgrid[0:3, 1:2:4j],
    "mgrid of one axis": lambda n: n.mgrid[-1:1:5j],
    "mgrid of whole steps": lambda n: n.mgrid[0:5:2],
    "ogrid": lambda n: n.ogrid[0:3, 0:2],
    "ogrid of fractions": lambda n: n.ogrid[0:1:0.25, 0:1:3j],
    "ogrid of one axis": lambda n: n.ogrid[0:3],
    "r_": lambda n: n.r_[1:4, 0, np.array([5, 6])],
    "r_ of a tensor": lambda n: n.r_[n.arange(3), 0, 1:2, [7, 8]],
    "r_ of floats": lambda n: n.r_[n.asarray(np.ones(2, "float32")), 0.5],
    "r_ of an axis": lambda n: n.r_["-1", n.zeros((2, 1)), n.ones((2, 2))],
    "r_ of rows": lambda n: n.r_["0,2", n.arange(3), n.arange(3)],
    "r_ of columns": lambda n: n.r_["1,2,0", n.arange(3), n.arange(3)],
    "r_ of three axes": lambda n: n.r_["0,3,-1", n.arange(3), n.arange(3)],
    "r_ of three axes otherwise": lambda n: n.r_["0,3,0", n.arange(3), n.zeros((3, 1))],
    "r_ of what does not fit": lambda n: n.r_["1", n.zeros((2, 1)), n.ones((3, 2))],
    "r_ of a range": lambda n: n.r_[0:1:5j],
    "c_": lambda n: n.c_[n.arange(3), n.arange(3)],
    "c_ of lists": lambda n: n.c_[[1, 2], [3, 4]],
    "c_ of a slice": lambda n: n.c_[n.zeros((3, 2)), 0:3],
    "ix_": lambda n: n.ix_([0, 2], [1, 3, 5]),
    "ix_ of masks": lambda n: n.ix_([True, False, True], np.array([2, 1])),
    "ix_ of nothing": lambda n: n.ix_([], [1]),
    "ix_ of a matrix": lambda n: n.ix_([[1]]),
    "asarray in an order": lambda n: n.asarray(F, order="C"),
    "asarray to a dtype": lambda n: n.asarray([1, 2], "float16"),
    "asfortranarray": lambda n: n.asfortranarray(F.T),
    "ascontiguousarray": lambda n: n.ascontiguousarray(F, dtype="float32"),
    "ascontiguousarray of a number": lambda n: n.ascontiguousarray(5.0),
    "asarray_chkfinite": lambda n: n.asarray_chkfinite([1, 2.5]),
    "asarray_chkfinite of NaN": lambda n: n.asarray_chkfinite([1, np.nan]),
    "array in an order": lambda n: n.array(F, order="C"),
    "array that keeps its order": lambda n: n.array(F),
    "array of more axes": lambda n: n.array([1, 2], ndmin=3),
    "array of a copy": lambda n: n.array([1, 2], copy=None),
    "array without a copy": lambda n: n.array([1, 2], copy=False),
    "array of another dtype without a copy": lambda n: n.asarray(F, "float32", copy=False),
    "frombuffer": lambda n: n.frombuffer(np.arange(4, dtype="int16").tobytes(), "int16", 2, offset=2),
    "frombuffer of floats": lambda n: n.frombuffer(np.arange(4.0)),
    "frombuffer beyond the end": lambda n: n.frombuffer(b"1234", "int16", 5),
    "frombuffer of a broken size": lambda n: n.frombuffer(b"123", "int16"),
    "fromiter": lambda n: n.fromiter((i * i for i in range(5)), "float32"),
    "fromiter of few": lambda n: n.fromiter(iter(range(5)), int, 3),
    "fromiter of too few": lambda n: n.fromiter(range(2), int, 5),
    "fromfunction": lambda n: n.fromfunction(lambda i, j: i * 10 + j, (2, 3)),
    "fromfunction of integers": lambda n: n.fromfunction(lambda i, j, add: i + add == j, (3, 3), dtype=int, add=1),
    "fromstring": lambda n: n.fromstring("1.5, 2", sep=","),
    "fromstring of integers": lambda n: n.fromstring("1 2 3", dtype="int32", count=2, sep=" "),
    "ndarray of a buffer": lambda n: n.ndarray((2,), float, buffer=np.arange(4.0), offset=8, strides=(16,)),
    "ndarray beyond its buffer": lambda n: n.ndarray((5,), float, buffer=np.arange(4.0)),
    "linspace of integers": lambda n: n.linspace(0, 10, 7, dtype=int),
    "linspace of negative integers": lambda n: n.linspace(-3, 3, 5, dtype="int8"),
    "linspace of nothing": lambda n: n.linspace(0, 1, 0),
    "linspace of one": lambda n: n.linspace(3, 7, 1),
    "linspace of one, open": lambda n: n.linspace(3, 7, 1, endpoint=False),
    "linspace of rows": lambda n: n.linspace([0, 1], [[5, 6], [7, 8.5]], 4),
    "linspace along the last axis": lambda n: n.linspace(np.zeros(2), np.ones(2), 5, axis=-1),
    "linspace of complex numbers": lambda n: n.linspace(1j, 2 + 3j, 4),
    "linspace with its step": lambda n: n.linspace(0, 2, 7, retstep=True),
    "linspace of a negative number": lambda n: n.linspace(0, 1, -1),
    "linspace of half a number": lambda n: n.linspace(0, 1, 2.5),
    "logspace": lambda n: n.logspace(0, 3, 7),
    "logspace of a base": lambda n: n.logspace(-2, 4, 5, endpoint=False, base=2, dtype="float32"),
    "logspace of bases": lambda n: n.logspace(1, [2, 3], 4, base=[[2], [3]], axis=-1),
    "geomspace": lambda n: n.geomspace(1, 1000, 7),
    "geomspace of negative numbers": lambda n: n.geomspace(-1, -100, 5, endpoint=False),
    "geomspace of complex numbers": lambda n: n.geomspace(1, 1j, 5),
    "geomspace of integers": lambda n: n.geomspace(1, 256, 9, dtype=int),
    "geomspace of nought": lambda n: n.geomspace(0, 1),
    "arange of a stop": lambda n: n.arange(stop=4),
    "arange of small integers": lambda n: n.arange(3, dtype="int8"),
}


@pytest.mark.parametrize("name", CALLS)
def test_creation_is_numpys(name):
    if "empty" in name:
        assert CALLS[name](lnb).shape == CALLS[name](np).shape
    check_call(lambda n, _: CALLS[name](n), np.zeros(0))


@pytest.mark.parametrize("name", ["zeros in Fortran order", "ones with everything", "full", "eye below",
                                  "asarray in an order", "asfortranarray", "ascontiguousarray", "array in an order",
                                  "array that keeps its order", "ndarray of a buffer"])
def test_orders_of_memory_are_numpys(name):
    assert CALLS[name](lnb).strides == CALLS[name](np).strides


@pytest.mark.parametrize("function", ["zeros_like", "ones_like", "empty_like", "full_like"])
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("array", [F, F.T, np.arange(24).reshape(2, 3, 4)], ids=["F", "C", "three axes"])
def test_likes_follow_order_and_shape(function, order, array):
    value = (7,) if function == "full_like" else ()
    ours, numpys = getattr(lnb, function), getattr(np, function)
    assert ours(array, *value, order=order).strides == numpys(array, *value, order=order).strides
    found, wanted = (f(array, *value, "int32", shape=(4, 1)) for f in (ours, numpys))
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    if function != "empty_like":
        check_equal(found, wanted)


ENDS = [(0, 1), (0.1, 0.7), (-5, 3), (1, 1), (0, 5e-324), (3.3, -2.2), (1e300, -1e300), (0, 1e-310),
        (np.float32(0.1), np.float32(3)), (7, np.float32(2))]


@pytest.mark.parametrize("start, stop", ENDS, ids=repr)
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", [None, "float32", "float16"])
def test_linspace_has_numpys_bits(start, stop, endpoint, dtype):
    for num in (2, 3, 10, 50, 101):
        with np.errstate(all="ignore"):
            wanted = np.linspace(start, stop, num, endpoint, dtype=dtype)
            found = lnb.linspace(start, stop, num, endpoint, dtype=dtype)
            of_tensors = lnb.linspace(start, lnb.asarray(np.asarray(stop, np.result_type(stop, 0.5))), num, endpoint,
                                      dtype=dtype)
        assert found.dtype == wanted.dtype and found.numpy().tobytes() == wanted.tobytes()
        assert of_tensors.numpy().tobytes() == wanted.astype(of_tensors.dtype).tobytes()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("ends", [(-2.5, 1000.0), (1000.0, np.array([-7.0, 3.0])), (1, 8),
                                  (np.float32(0.3), np.array([1, 2], "int8"))], ids=range(4))
@pytest.mark.parametrize("dtype", [None, "complex64", "complex128", "float32", "int16"])
def test_dtype_of_geomspace_decides_what_is_computed_in(ends, dtype):
    with np.errstate(all="ignore"):
        wanted, found = np.geomspace(*ends, 5, dtype=dtype), lnb.geomspace(*ends, 5, dtype=dtype)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_ranges_between_tensors_are_numpys_and_differentiable():
    start, stop = np.array([0.5, 1.0]), np.array([[2.0, 3.0], [4.0, 5.0]])
    ours = lnb.asarray(start), lnb.asarray(stop)
    check_equal(lnb.linspace(*ours, 5, axis=1), np.linspace(start, stop, 5, axis=1))
    check_equal(lnb.linspace(*ours, 4, False, True), np.linspace(start, stop, 4, False, True))
    check_equal(lnb.linspace(0, lnb.asarray(stop), 3, dtype=int), np.linspace(0, stop, 3, dtype=int))
    np.testing.assert_allclose(lnb.logspace(*ours, 4).numpy(), np.logspace(start, stop, 4), rtol=1e-15)
    np.testing.assert_allclose(lnb.geomspace(*ours, 4, axis=-1).numpy(), np.geomspace(start, stop, 4, axis=-1),
                               rtol=1e-14)
    np.testing.assert_allclose(lnb.geomspace(-ours[0], -ours[1], 3, False).numpy(),
                               np.geomspace(-start, -stop, 3, False), rtol=1e-14)
    check_grad(lambda a, b: lnb.linspace(a, b * b, 4), start, stop)
    check_grad(lambda a, b: lnb.logspace(a, b, 3, base=2.0), start, stop)
    check_grad(lambda a, b: lnb.geomspace(a, b, 4), start, stop)
    with pytest.raises(lnb.ShapeError, match="geomspace: ends of different signs"):
        lnb.geomspace(ours[0], -1.0)


def test_vander_and_r_are_differentiable():
    check_grad(lambda x: lnb.vander(x, 4), [0.5, 1.5])
    check_grad(lambda x: lnb.r_[x * x, 1, x], [0.5, 1.5])
    check_grad(lambda x: lnb.c_[x, x * x], [0.5, 1.5])


# ------------------------------------------------------------------------------------------ devices, memory
def test_new_tensors_live_where_they_are_asked():
    like = lnb.zeros(1, device="mlx")
    for made in (lnb.eye(2, device="mlx"), lnb.tri(2, device="mlx"), lnb.linspace(0, 1, 3, device="mlx"),
                 lnb.zeros(2, like=like), lnb.full(2, 1.5, like=like), lnb.arange(0.5, 2, like=like),
                 lnb.logspace(0, 1, 3, device="mlx"), lnb.geomspace(1, 2, 3, device="mlx"),
                 lnb.asarray([1.5], like=like), lnb.array([1.5], like=like),
                 lnb.fromiter([1.5], "float32", device="mlx"), lnb.identity(2, like=like),
                 lnb.linspace(0, lnb.ones(2, device="mlx", dtype="float32"), 3), lnb.r_[like, 1.0],
                 lnb.fromfunction(lambda i: i, (2,), device="mlx"), lnb.fromstring("1.5", sep=" ", device="mlx")):
        assert made.device == "mlx" and made.dtype == np.float32
    for made in (lnb.indices((2, 2), device="mlx"), *lnb.tril_indices(2, device="mlx"),
                 *lnb.diag_indices_from(lnb.zeros((2, 2), device="mlx")), *lnb.ix_(lnb.arange(2, device="mlx")),
                 lnb.frombuffer(b"12345678", "int64", device="mlx"), *lnb.mask_indices(2, lnb.tril, device="mlx")):
        assert made.device == "mlx" and made.dtype == np.int64
    with lnb.device("mlx"):
        assert lnb.mgrid[0:1:3j].device == "mlx" and lnb.ogrid[0:2, 0:2][0].device == "mlx"
        assert lnb.ndarray((2,)).device == "mlx" and lnb.r_[0.5].dtype == np.float32


def test_copies_are_refused_where_copy_is_false():
    x, array = lnb.zeros(3), np.zeros(3)
    assert lnb.asarray(x, copy=False) is x and np.shares_memory(lnb.asarray(array, copy=False).numpy(), array)
    assert np.shares_memory(lnb.array(array, copy=False, ndmin=2).numpy(), array)
    assert not np.shares_memory(lnb.asarray(array, copy=True).numpy(), array)
    for call in (lambda: lnb.asarray(x, "float32", copy=False), lambda: lnb.asarray([1], copy=False),
                 lambda: lnb.asarray(x, device="mlx", copy=False), lambda: lnb.asarray(F, order="C", copy=False)):
        with pytest.raises(ValueError, match=r"asarray: .* needs a copy, and copy=False"):
            call()


def test_buffers_are_shared():
    memory = bytearray(8)
    x = lnb.frombuffer(memory, "uint8")
    x[0] = 7
    assert memory[0] == 7
    with pytest.raises(lnb.ShapeError, match="read-only"):
        lnb.frombuffer(b"1234", "uint8")[0] = 1
    array = np.arange(4.0)
    lnb.ndarray((2,), "float64", buffer=array)[0] = 9
    assert array[0] == 9


def test_ndarray_is_the_class_of_tensors():
    assert isinstance(lnb.zeros(1), lnb.ndarray) and not isinstance(np.zeros(1), lnb.ndarray)
    assert issubclass(lnb.Tensor, lnb.ndarray) and issubclass(lnb.nn.Parameter, lnb.ndarray)
    assert lnb.ndarray.sum is lnb.Tensor.sum and lnb.ndarray((2, 3), "int8", order="F").strides == (1, 2)


def endless():
    """A list that holds itself."""
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize("call, error, text", [
    (lambda: lnb.arange(), lnb.DTypeError, "arange: neither start nor stop"),
    (lambda: lnb.arange(np.ones(3)), lnb.DTypeError, "arange: from 0 to array"),
    (lambda: lnb.arange(10 ** 400), lnb.OverflowError, "arange: from 0 to an integer of 1329 bits in steps of 1"),
    (lambda: lnb.tensor([10 ** 5000]), lnb.OverflowError, "tensor: an integer of 16610 bits does not fit int64"),
    (lambda: lnb.linspace(0, 10 ** 5000), lnb.DTypeError, "linspace: an integer of 16610 bits is no number"),
    (lambda: lnb.geomspace(lnb.ones(2), lnb.ones(3)), lnb.ShapeError, r"geomspace: shapes \(2,\) and \(3,\) do not"),
    (lambda: lnb.linspace(lnb.ones(2), "a"), lnb.DTypeError, "linspace: <U1 data has no arithmetic here"),
    (lambda: lnb.linspace(10 ** 400, lnb.ones(2)), lnb.OverflowError, "linspace: an integer of 1329 bits does not fit"),
    (lambda: lnb.linspace(0, 1j, dtype=int), lnb.DTypeError, "linspace: has no meaning for complex128"),
    (lambda: lnb.zeros(np.ones((9, 9))), lnb.ShapeError, r"zeros: array\(\[\[1., .*\.\.\. is not a shape"),
    (lambda: lnb.zeros((3, 10 ** 400)), lnb.ShapeError, r"zeros: shape \(3, an integer of 1329 bits\) has an integer"),
    (lambda: lnb.fromiter(5, int), lnb.DTypeError, "fromiter: 5 gives no numbers one by one"),
    (lambda: lnb.fromiter([None], int), lnb.DTypeError, r"fromiter: .*Give numbers that fit int64"),
    (lambda: lnb.frombuffer(b"12", "uint8", 10 ** 30), lnb.ShapeError, r"frombuffer: .*Give a dtype, count"),
    (lambda: lnb.asarray(endless()), lnb.DTypeError, "asarray: the sequence holds itself"),
    (lambda: lnb.abs(10 ** 5000), lnb.OverflowError, "absolute: an integer of 16610 bits does not fit int64"),
    (lambda: lnb.zeros(2, order="X"), lnb.ShapeError, "zeros: order 'X' is unknown"),
    (lambda: lnb.linspace("a", 1), lnb.DTypeError, "linspace: 'a' is no number"),
    (lambda: lnb.frombuffer([1, 2]), lnb.DTypeError, "frombuffer: list is no buffer"),
    (lambda: lnb.fromstring("1"), TypeError, "sep"),
    (lambda: lnb.fromstring("1", sep=""), lnb.ShapeError, "fromstring: no separator"),
    (lambda: lnb.eye(2.5), lnb.ShapeError, "eye: rows 2.5 is not an integer"),
    (lambda: lnb.eye(-1), lnb.ShapeError, "eye: negative size"),
    (lambda: lnb.r_["r", lnb.zeros(2)], lnb.DTypeError, "r_: 'r' is no directive"),
    (lambda: lnb.ix_([0.5]), lnb.IndexError, "ix_: float64 is no index")], ids=range(25))
def test_what_cannot_be_made_says_so(call, error, text):
    with pytest.raises(error, match=text):
        call()
