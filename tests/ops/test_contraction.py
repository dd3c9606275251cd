"""Products of vectors, matrices and arrays against NumPy's, by one table; gradients against finite differences."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, linalg
from lucid_nb.testing import arrays, assert_close, check_grad, laid_out

from .derivatives import check_against_cpu

RNG = np.random.default_rng(17)
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int64", "uint16", "bool")
LENGTH = 60          # more terms than any sum in the table has


def of_linalg(name):
    """A function of `linalg`, of the library or of NumPy."""
    return lambda xp, *operands: getattr(linalg if xp is lnb else np.linalg, name)(*operands)


def called(name, *arguments, **options):
    """A function of the top level."""
    return lambda xp, *operands: getattr(xp, name)(*operands, *arguments, **options)


# name: (function of a namespace and the operands, the operands' shapes)
TABLE = {
    "dot of vectors": (called("dot"), (5,), (5,)), "dot of a number": (called("dot"), (), (2, 3)),
    "dot": (called("dot"), (2, 3), (3, 4)), "dot of many axes": (called("dot"), (2, 3, 4), (5, 4, 3)),
    "dot of a matrix and a vector": (called("dot"), (2, 3), (3,)), "dot of nothing": (called("dot"), (2, 0), (0, 3)),
    "vdot": (called("vdot"), (2, 3), (3, 2)), "vdot of numbers": (called("vdot"), (), ()),
    "vdot of nothing": (called("vdot"), (0,), (0,)),
    "inner": (called("inner"), (2, 3), (4, 3)), "inner of vectors": (called("inner"), (4,), (4,)),
    "inner of a number": (called("inner"), (3,), ()), "inner of many axes": (called("inner"), (2, 1, 3), (2, 2, 3)),
    "outer": (called("outer"), (2, 2), (3,)), "outer of a number": (called("outer"), (), (3,)),
    "outer of nothing": (called("outer"), (0,), (3,)),
    "tensordot": (called("tensordot"), (2, 3, 4), (3, 4, 5)), "tensordot 0": (called("tensordot", 0), (2,), (3, 1)),
    "tensordot 1": (called("tensordot", 1), (2, 3), (3, 4)),
    "tensordot of pairs": (called("tensordot", ([0, -1], [2, 0])), (2, 3, 4), (4, 5, 2)),
    "tensordot of one pair": (called("tensordot", (0, 1)), (2, 3), (4, 2)),
    "tensordot of nothing": (called("tensordot", 1), (2, 0), (0, 3)),
    "vecdot": (called("vecdot"), (2, 1, 4), (3, 4)), "vecdot of an axis": (called("vecdot", axis=0), (3, 2), (3, 2)),
    "vecdot of many": (called("vecdot"), (40, 3), (40, 3)), "vecdot of vectors": (called("vecdot"), (7,), (7,)),
    "matvec": (called("matvec"), (2, 3, 4), (4,)), "matvec of batches": (called("matvec"), (2, 3), (5, 3)),
    "vecmat": (called("vecmat"), (3,), (2, 3, 4)), "vecmat of batches": (called("vecmat"), (5, 2), (2, 3)),
    "matmul": (called("matmul"), (2, 3, 4), (4, 5)), "matmul of vectors": (called("matmul"), (4,), (4,)),
    "kron": (called("kron"), (2, 3), (3, 2)), "kron of other ndim": (called("kron"), (2,), (2, 1, 3)),
    "kron of numbers": (called("kron"), (), ()), "trace": (called("trace"), (3, 4)),
    "trace of axes": (called("trace", -1, 2, 0), (3, 2, 4)), "trace of nothing": (called("trace", 9), (3, 4)),
    "cross": (called("cross"), (2, 3), (3,)), "cross of axes": (called("cross", 0, 1, 0), (3, 4), (4, 3)),
    "cross along": (called("cross", axis=0), (3, 4), (3, 1)),
    "convolve": (called("convolve"), (6,), (3,)), "convolve same": (called("convolve", "same"), (4,), (7,)),
    "convolve valid": (called("convolve", "valid"), (7,), (4,)), "convolve of a number": (called("convolve"), (3,), ()),
    "correlate": (called("correlate"), (6,), (3,)), "correlate same": (called("correlate", "same"), (6,), (4,)),
    "correlate full": (called("correlate", "full"), (3,), (6,)), "correlate back": (called("correlate"), (3,), (5,)),
    "correlate same back": (called("correlate", "same"), (4,), (7,)),
    "linalg.cross": (of_linalg("cross"), (2, 3), (2, 3)), "linalg.outer": (of_linalg("outer"), (2,), (3,)),
    "linalg.trace": (of_linalg("trace"), (2, 3, 4)), "linalg.diagonal": (of_linalg("diagonal"), (2, 3, 4)),
    "linalg.matrix_transpose": (of_linalg("matrix_transpose"), (2, 3, 4)),
    "linalg.tensordot": (of_linalg("tensordot"), (2, 3), (2, 3)), "linalg.vecdot": (of_linalg("vecdot"), (2, 3), (3,)),
    "linalg.matmul": (of_linalg("matmul"), (2, 3), (3, 1)),
    **{f"matrix_power {n}": (lambda xp, x, n=n: of_linalg("matrix_power")(xp, x, n), (2, 3, 3)) for n in range(5)},
    "multi_dot": (lambda xp, *xs: of_linalg("multi_dot")(xp, xs), (2, 5), (5, 3), (3, 4), (4, 1)),
    "multi_dot of three": (lambda xp, *xs: of_linalg("multi_dot")(xp, xs), (4,), (4, 2), (2, 3)),
    "multi_dot to a vector": (lambda xp, *xs: of_linalg("multi_dot")(xp, xs), (2, 4), (4, 3), (3,)),
    "multi_dot to a number": (lambda xp, *xs: of_linalg("multi_dot")(xp, xs), (4,), (4, 3), (3,)),
}
SUBTRACTS = ("cross",)                                     # NumPy has no difference of bools
SMOOTH = [name for name in TABLE if "nothing" not in name]


def check(name, operands, device="cpu"):
    """A call against NumPy's on the same numbers, of floats in more digits."""
    function = TABLE[name][0]
    dtype = operands[0].dtype
    found = function(lnb, *[lnb.asarray(x, device=device) for x in operands])
    assert found.device == device
    if dtype.kind in "biu":
        wanted = np.asarray(function(np, *operands))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.to_host(), wanted)
        return
    wide = [x.astype("clongdouble" if dtype.kind == "c" else "float64" if dtype.itemsize < 8 else "longdouble")
            for x in operands]
    wanted = np.asarray(function(np, *wide))
    assert found.dtype == dtype
    epsilon = 2.0 ** -7 if dtype == ml_dtypes.bfloat16 else float(np.finfo(dtype).eps)
    size = max([1.0, *[float(np.abs(x).max(initial=0)) for x in wide]]) ** max(2, len(operands), 4 * ("power" in name))
    assert_close(found, wanted, rtol=2 * epsilon, atol=2 * LENGTH * epsilon * size)


@pytest.mark.parametrize("name", TABLE)
def test_values_and_dtypes_equal_numpy(name):
    @settings(max_examples=settings.default.max_examples // 2)
    @given(st.data())
    def property(data):
        dtype = data.draw(st.sampled_from([d for d in DTYPES if d != "bool" or not any(s in name for s in SUBTRACTS)]))
        check(name, [data.draw(arrays(dtype, shape, awkward=False)) for shape in TABLE[name][1:]])
    property()


@pytest.mark.parametrize("name", TABLE)
def test_values_on_a_device_equal_numpy(name, device):
    for dtype in ("float32", "complex64", "int32"):
        check(name, [(3 * RNG.uniform(-1, 1, shape)).astype(dtype) for shape in TABLE[name][1:]], device)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_follows_finite_differences(name):
    function, *shapes = TABLE[name]
    inputs = [RNG.standard_normal(shape) for shape in shapes]
    check_grad(lambda *xs: function(lnb, *xs), *inputs)
    if name.split()[0] in ("vdot", "vecdot", "vecmat", "dot", "outer", "kron", "cross", "convolve", "correlate"):
        check_grad(lambda *xs: function(lnb, *xs), *[x + 1j * RNG.standard_normal(x.shape) for x in inputs])


@pytest.mark.parametrize("name", ["dot of many axes", "tensordot of pairs", "vecdot", "vecmat", "outer", "kron",
                                  "cross", "convolve same", "trace of axes", "multi_dot"])
def test_gradient_follows_the_cpu(name, device):
    function, *shapes = TABLE[name]
    check_against_cpu(lambda *xs: function(lnb, *xs), *[RNG.standard_normal(shape) for shape in shapes], device=device)


@pytest.mark.parametrize("first, second", [(3, 2), (2, 3)])
def test_cross_product_of_two_and_three_components_takes_zero_for_the_third(first, second):
    a, b = RNG.standard_normal((4, first)), RNG.standard_normal((4, second))
    padded = [np.pad(x, ((0, 0), (0, 3 - x.shape[1]))) for x in (a, b)]
    assert_close(lnb.cross(a, b), np.cross(*padded), rtol=1e-14)


def test_cross_product_in_the_plane_is_the_third_component():
    a, b = RNG.standard_normal((4, 2)), RNG.standard_normal((3, 1, 2))
    assert_close(lnb.cross(a, b), a[:, 0] * b[..., 1] - a[:, 1] * b[..., 0], rtol=1e-14)
    check_grad(lnb.cross, a, b)


def test_complex_gradients_follow_the_convention_of_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    a, b = [RNG.standard_normal(5) + 1j * RNG.standard_normal(5) for _ in range(2)]
    ours, theirs = ([make(x, requires_grad=True) for x in (a, b)] for make in (lnb.tensor, torch.tensor))
    lnb.vdot(*ours).backward(lnb.asarray(1 - 2j))
    torch.vdot(*theirs).backward(torch.tensor(1 - 2j, dtype=torch.complex128))
    for x, y in zip(ours, theirs):
        assert_close(x.grad, y.grad.numpy(), rtol=1e-14)


@pytest.mark.parametrize("name, shapes", [("dot", ((2, 3), (3, 2))), ("outer", ((2,), (3,))),
                                          ("vecdot", ((3, 2), (2,))), ("matvec", ((3, 2), (2,))),
                                          ("vecmat", ((3,), (3, 2))), ("trace", ((3, 3),)),
                                          ("matmul", ((2, 3), (3, 2)))])
def test_out_holds_the_result(name, shapes):
    operands = [RNG.standard_normal(shape) for shape in shapes]
    wanted = getattr(np, name)(*operands)
    out = lnb.zeros(wanted.shape)
    assert getattr(lnb, name)(*operands, out=out) is out
    assert_close(out, wanted, rtol=1e-14)
    with pytest.raises(errors.ShapeError, match=f"^{name}: out has shape"):
        getattr(lnb, name)(*operands, out=lnb.zeros((7, 7)))


@pytest.mark.parametrize("name", ["matmul", "vecdot", "matvec", "vecmat", "trace"])
def test_dtype_is_computed_in(name):
    operands = [np.full((2, 2), 100, "int8")] * (1 if name == "trace" else 2)
    found = getattr(lnb, name)(*operands, dtype="int32")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.to_host(), getattr(np, name)(*operands, dtype="int32"))


@pytest.mark.parametrize("layout", ["F", "negative", "broadcast"])
def test_large_products_are_one_matrix_product_in_any_layout(layout):
    a, b = [laid_out(RNG.standard_normal(shape).astype("float32"), layout) for shape in ((40, 30, 20), (30, 50, 20))]
    wanted = np.tensordot(a.astype("float64"), b.astype("float64"), ([1, 2], [0, 2]))
    assert_close(lnb.tensordot(a, b, ([1, 2], [0, 2])), wanted, rtol=1e-4, atol=1e-3)


def ones(*shapes):
    """Operands of ones."""
    return [np.ones(shape, "float32") for shape in shapes]


@pytest.mark.parametrize("call, error, text", [
    (lambda *x: lnb.dot(*x), errors.ShapeError, r"dot: axis 1 of shape \(2, 3\) has size 3, axis 0 .*\(2, 3\) has 2"),
    (lambda *x: lnb.inner(x[0], x[1].T), errors.ShapeError, r"^inner: axis 1 .* They must be equal"),
    (lambda *x: lnb.vdot(x[0], x[1][0]), errors.ShapeError, r"vdot: 6 and 3 elements"),
    (lambda *x: lnb.tensordot(*x, 1), errors.ShapeError, r"^tensordot: axis 1 of shape \(2, 3\) has size 3"),
    (lambda *x: lnb.tensordot(*x, 3), errors.ShapeError, r"tensordot: axes 3 for shapes .* Use 0 to 2"),
    (lambda *x: lnb.tensordot(*x, ([0, 1], [0])), errors.ShapeError, r"tensordot: 2 axes of a and 1 of b"),
    (lambda *x: lnb.tensordot(*x, ([0, 0], [0, 0])), errors.AxisError, r"names an axis twice"),
    (lambda *x: lnb.vecdot(x[0], x[1][:, :2]), errors.ShapeError, r"vecdot: inner sizes differ, 3 and 2"),
    (lambda *x: lnb.vecdot(x[0], 2.0), errors.ShapeError, r"vecdot: shapes \(2, 3\) and \(\) have too few axes"),
    (lambda *x: lnb.matvec(x[0], x[1].T), errors.ShapeError, r"matvec: inner sizes differ, 3 and 2"),
    (lambda *x: lnb.vecmat(*x), errors.ShapeError, r"vecmat: inner sizes differ, 3 and 2"),
    (lambda *x: lnb.matmul(x[0], 2.0), errors.ShapeError, r"matmul: a 0-d operand \(shapes \(2, 3\) and \(\)\)"),
    (lambda *x: lnb.trace(x[0][0]), errors.ShapeError, r"trace: needs two axes, the shape is \(3,\)"),
    (lambda *x: lnb.cross(x[0].T[:1], x[1].T[:1], axis=0), errors.ShapeError, r"cross: axis 0 of shape \(1, 2\)"),
    (lambda *x: lnb.cross(x[0], 2.0), errors.ShapeError, r"cross: a 0-d operand is no vector"),
    (lambda *x: lnb.convolve(x[0][0, :0], x[1][0]), errors.ShapeError, r"convolve: an operand is empty"),
    (lambda *x: lnb.correlate(*x), errors.ShapeError, r"correlate: takes sequences, and a shape is \(2, 3\)"),
    (lambda *x: lnb.convolve(x[0][0], x[1][0], "most"), errors.ConfigError, r"convolve: mode 'most' is unknown"),
    (lambda *x: linalg.matrix_power(x[0], 2), errors.LinAlgError, r"matrix_power: Last 2 dimensions .* \(2, 3\)"),
    (lambda *x: linalg.matrix_power(x[0][:, :2] * 0, -1), errors.LinAlgError, r"inv: Singular matrix"),
    (lambda *x: linalg.matrix_power(x[0][:, :2], 1.5), errors.DTypeError, r"matrix_power: exponent must be an integer"),
    (lambda *x: linalg.multi_dot(x[:1]), errors.ShapeError, r"multi_dot: 1 array"),
    (lambda *x: linalg.multi_dot([x[0], x[1][0], x[1]]), errors.LinAlgError, r"multi_dot: array 1 of 3 has shape"),
    (lambda *x: linalg.cross(x[0][:, :2], x[1][:, :2]), errors.ShapeError, r"cross: .* 3 components"),
    (lambda *x: linalg.outer(*x), errors.ShapeError, r"outer: .*\(2, 3\)"),
])
def test_operands_that_do_not_fit_are_refused_alike_on_every_device(call, error, text, device):
    with pytest.raises(error, match=text):
        call(*[lnb.asarray(x, device=device) for x in ones((2, 3), (2, 3))])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("size", [4095, 4096, 6145, 100_000, 300_000])
def test_products_of_long_vectors_are_numpys_in_any_layout(dtype, size):
    a, b = RNG.standard_normal((2, 2 * size)).astype(dtype)
    for x, y in ((a[:size], b[:size]), (a[::2], b[size:]), (a[:size][::-1], b[1::2])):
        found = lnb.dot(lnb.asarray(x), lnb.asarray(y))
        wide = x.astype(np.clongdouble if dtype == "complex128" else np.longdouble)
        scale = np.finfo(dtype).eps if found.dtype.kind in "fc" else 0
        assert found.dtype == x.dtype and found.shape == ()
        assert abs(found.item() - np.dot(wide, y)) <= 8 * scale * np.linalg.norm(x) * np.linalg.norm(y)


def test_products_of_long_vectors_keep_what_is_not_finite_without_a_warning():
    x = lnb.full(5000, 1e200)
    assert lnb.dot(x, x).item() == np.inf
    x[2500] = np.nan
    assert np.isnan(lnb.dot(x, x).item())
    assert np.isnan(lnb.dot(lnb.full(5000, np.inf), lnb.zeros(5000)).item())
