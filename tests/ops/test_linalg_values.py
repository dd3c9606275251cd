"""Linear algebra against NumPy and SciPy: values, dtypes, shapes, layouts, errors."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import laid_out

from .linalg_calls import CALLS, EVERY, L, hermitian, numbers, operands, positive

DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "bool")
SHAPES = ((3, 3), (1, 1), (0, 0), (2, 3, 3), (0, 3, 3), (2, 1, 4, 4), (2, 0, 0))
ANY_SHAPES = (*SHAPES, (4, 3), (3, 4), (2, 4, 3), (2, 3, 4), (3, 0), (0, 3), (2, 0, 3))
OF_SQUARES = {
    "inv": L.inv, "det": L.det, "slogdet": L.slogdet, "cholesky": L.cholesky, "eig": L.eig, "eigh": L.eigh,
    "eigvals": L.eigvals, "eigvalsh": L.eigvalsh,
}
OF_ANY = {"qr": L.qr, "svd": L.svd, "svdvals": L.svdvals, "pinv": L.pinv, "matrix_rank": L.matrix_rank, "cond": L.cond}


def outcome(function, *arguments, **options):
    """What a call gives as a tuple, or its error."""
    try:
        with np.errstate(all="ignore"):
            found = function(*arguments, **options)
    except (ValueError, TypeError) as error:
        return error
    return tuple(found) if isinstance(found, tuple) else (found,)


def check(found, expected):
    """Hold results to others, and errors to errors of the same kind."""
    if isinstance(expected, Exception):
        kind = next(k for k in (np.linalg.LinAlgError, TypeError, ValueError) if isinstance(expected, k))
        assert isinstance(found, kind), (found, expected)
        return
    assert not isinstance(found, Exception), (repr(found), expected)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        theirs = np.asarray(theirs)
        if not isinstance(ours, lnb.Tensor):
            assert ours == theirs
            continue
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        kind = theirs.dtype if theirs.dtype.kind in "fc" else np.dtype("float64")
        size = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=1))
        np.testing.assert_allclose(ours.to_host(), theirs, rtol=1e3 * float(np.finfo(kind).eps),
                                   atol=1e3 * float(np.finfo(kind).eps) * size)


def oracle(name):
    """The module that has the function."""
    return np.linalg if name in CALLS else scipy.linalg


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
@pytest.mark.parametrize("name", EVERY)
def test_results_equal_numpys_and_scipys(name, dtype):
    given = operands(name, dtype)
    expected = outcome(EVERY[name].call, oracle(name), *given)
    check(outcome(EVERY[name].call, L, *map(lnb.asarray, given)), expected)


@pytest.mark.parametrize("name", EVERY)
def test_results_on_devices_equal_numpys(name, device):
    given = operands(name, "float32")
    expected = outcome(EVERY[name].call, oracle(name), *given)
    if isinstance(expected, Exception):
        return
    if np.asarray(expected[0]).dtype.kind == "c" and device == "mlx":
        given = [x.astype("complex64") for x in given]
        expected = outcome(EVERY[name].call, oracle(name), *given)
    found = outcome(EVERY[name].call, L, *[lnb.asarray(x, device=device) for x in given])
    assert not isinstance(found, Exception), found
    assert {x.device for x in found if isinstance(x, lnb.Tensor)} == {device}
    check(found, expected)


@given(name=st.sampled_from(sorted(OF_SQUARES | OF_ANY)), dtype=st.sampled_from(DTYPES),
       layout=st.sampled_from(["C", "F", "strided", "negative"]), data=st.data())
def test_any_shape_and_layout_gives_numpys_results(name, dtype, layout, data):
    shape = data.draw(st.sampled_from(ANY_SHAPES))
    x = numbers(shape, dtype, data.draw(st.integers(0, 5)))
    if name in ("cholesky", "eigh", "eigvalsh") and shape[-1] == shape[-2] and dtype != "bool":
        x = positive(x) if name == "cholesky" else hermitian(x)
    x = laid_out(x, layout)
    expected = outcome(getattr(np.linalg, name), x)
    check(outcome((OF_SQUARES | OF_ANY)[name], lnb.asarray(x)), expected)


@pytest.mark.parametrize("shapes", [((3, 3), (3,)), ((2, 3, 3), (3, 1)), ((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (4, 3, 2)),
                                    ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (3, 1)), ((2, 3, 3), (3,)),
                                    ((2, 3, 3), (2, 3)), ((3, 3), (4, 2)), ((3, 4), (3, 2)), ((2, 3, 3), (4, 3, 2)),
                                    ((3,), (3,)), ((3, 3), ())], ids=str)
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "complex128"), ("int64", "float32")], ids=str)
def test_solve_broadcasts_and_promotes_as_numpys(shapes, dtypes):
    a, b = [numbers(shape, dtype, 3) for shape, dtype in zip(shapes, dtypes)]
    check(outcome(L.solve, lnb.asarray(a), lnb.asarray(b)), outcome(np.linalg.solve, a, b))


@pytest.mark.parametrize("rcond", [None, -1, 0.5])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (4, 0), (0, 3)], ids=str)
def test_lstsq_of_any_rank_equals_numpys(shape, rcond):
    for dtype in ("float32", "complex128"):
        a = numbers(shape, dtype)
        dependent = a.copy()
        dependent[:, -1:] = dependent[:, :1]
        for matrix in (a, dependent):
            for b in (numbers((shape[0], 2), dtype), numbers((shape[0],), dtype)):
                check(outcome(L.lstsq, lnb.asarray(matrix), lnb.asarray(b), rcond),
                      outcome(np.linalg.lstsq, matrix, b, rcond))


def test_lstsq_of_a_batch_solves_each():
    a, b = numbers((2, 3, 4, 2), "float64"), numbers((3, 4, 1), "float64")
    found = L.lstsq(lnb.asarray(a), lnb.asarray(b))
    for at in np.ndindex(2, 3):
        expected = np.linalg.lstsq(a[at], b[at[1]])
        for ours, theirs in zip(found, expected):
            np.testing.assert_allclose(ours.to_host()[at], theirs, rtol=1e-10)


def test_triangular_solutions_of_batches_equal_scipys():
    a, b = positive(numbers((2, 1, 3, 3), "complex128")), numbers((4, 3, 2), "complex128")
    found = L.solve_triangular(lnb.asarray(a), lnb.asarray(b), "C", True).to_host()
    for at in np.ndindex(2, 4):
        np.testing.assert_allclose(found[at], scipy.linalg.solve_triangular(a[at[0], 0], b[at[1]], "C", True))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"], ids=str)
def test_condition_of_singular_matrices_equals_numpys(p):
    x = np.stack([np.ones((2, 2)), np.eye(2), np.zeros((2, 2)), [[1.0, 2], [3, 4]]])
    check(outcome(L.cond, lnb.asarray(x), p), outcome(np.linalg.cond, x, p))


@pytest.mark.parametrize("options", [{}, {"tol": 1.5}, {"rtol": 0.5}, {"hermitian": True}], ids=str)
def test_rank_by_any_tolerance_equals_numpys(options):
    x = np.stack([np.ones((3, 3)), np.eye(3), np.zeros((3, 3)), np.diag([4.0, 2, 1])])
    for part in (x, x[0], x[0, 0], 0 * x[0, 0], x[0, 0, 0]):
        if part.ndim >= 2 or not options:
            check(outcome(L.matrix_rank, lnb.asarray(part), **options), outcome(np.linalg.matrix_rank, part, **options))


@pytest.mark.parametrize("cut", [0.3, np.array([0.3, 1e-9])], ids=["one", "each"])
def test_pseudo_inverse_by_any_cut_equals_numpys(cut):
    x = np.stack([np.diag([4.0, 2, 1]), numbers((3, 3), "float64")])
    check(outcome(L.pinv, lnb.asarray(x), cut), outcome(np.linalg.pinv, x, cut))
    check(outcome(L.pinv, lnb.asarray(x), rtol=cut), outcome(np.linalg.pinv, x, rtol=cut))
    check(outcome(L.pinv, lnb.asarray(x), rtol=None), outcome(np.linalg.pinv, x, rtol=None))


def test_raw_qr_equals_numpys():
    x = numbers((2, 4, 3), "float64")
    check(outcome(L.qr, lnb.asarray(x), "raw"), outcome(np.linalg.qr, x, "raw"))


def test_results_have_numpys_names():
    x = lnb.asarray(positive(numbers((2, 2), "float64")))
    for name in ("eig", "eigh", "qr", "slogdet", "svd"):
        theirs, ours = getattr(np.linalg, name)(x.numpy()), getattr(L, name)(x)
        assert (type(ours).__name__, ours._fields) == (type(theirs).__name__, theirs._fields)


# ------------------------------------------------------------------------------------------------- errors
WRONG = {
    "not square": (np.ones((2, 3)), ("inv", "det", "slogdet", "cholesky", "eig", "eigh", "eigvals", "eigvalsh"),
                   errors.LinAlgError, "Last 2 dimensions of the array must be square"),
    "vector": (np.ones(3), (*OF_SQUARES, "qr", "svd", "svdvals", "pinv", "cond"), errors.LinAlgError,
               "1-dimensional array given. Array must be at least two-dimensional"),
    "half": (np.ones((2, 2), "float16"), (*OF_SQUARES, *OF_ANY), errors.DTypeError,
             "array type float16 is unsupported in linalg"),
    "singular": (np.ones((2, 2)), ("inv",), errors.LinAlgError, "Singular matrix"),
    "indefinite": (np.array([[1.0, 2], [2, 1]]), ("cholesky",), errors.LinAlgError, "Matrix is not positive definite"),
    "nan": (np.array([[1.0, np.nan], [0, 1]]), ("svd", "svdvals", "pinv", "cond", "matrix_rank"), errors.LinAlgError,
            "would not converge"),
    "nan eig": (np.array([[1.0, np.nan], [0, 1]]), ("eig", "eigvals"), errors.LinAlgError,
                "Array must not contain infs or NaNs"),
    "empty": (np.ones((0, 0)), ("cond",), errors.LinAlgError, "cond is not defined on empty arrays"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_errors_are_numpys_kinds_and_say_which_function(kind, device):
    x, names, error, text = WRONG[kind]
    for name in names:
        with pytest.raises(error, match=rf"^{name}: .*{text}"):
            getattr(L, name)(lnb.asarray(x.astype("float32" if x.dtype == "float64" else x.dtype), device=device))
        assert isinstance(outcome(getattr(np.linalg, name), x), np.linalg.LinAlgError if error is errors.LinAlgError
                          else TypeError)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: L.solve(x, x[:2]), errors.ShapeError, "solve: mismatch in core dimensions"),
    (lambda x: L.solve(x * 0, x), errors.LinAlgError, "solve: Singular matrix"),
    (lambda x: L.qr(x, "full"), errors.ShapeError, "qr: Unrecognized mode 'full'"),
    (lambda x: L.eigh(x, "X"), errors.ShapeError, "eigh: UPLO argument must be 'L' or 'U'"),
    (lambda x: L.pinv(x, 0.1, rtol=0.1), errors.ShapeError, "pinv: `rtol` and `rcond` can't be both set"),
    (lambda x: L.matrix_rank(x, 0.1, rtol=0.1), errors.ShapeError, "matrix_rank: `tol` and `rtol` can't be both set"),
    (lambda x: L.lstsq(x, x[:2]), errors.LinAlgError, "lstsq: Incompatible dimensions"),
    (lambda x: L.lstsq(x, x[0, 0]), errors.LinAlgError, "lstsq: 0-dimensional array"),
    (lambda x: L.tensorinv(x, 0), errors.ShapeError, "tensorinv: Invalid ind argument 0"),
    (lambda x: L.tensorsolve(x[:2], x[0]), errors.LinAlgError, "tensorsolve: Input arrays must satisfy"),
    (lambda x: L.solve_triangular(x * 0, x), errors.LinAlgError, "solve_triangular: singular matrix: .* diagonal 0"),
    (lambda x: L.solve_triangular(x, x, "H"), errors.ShapeError, "solve_triangular: trans 'H' is unknown"),
    (lambda x: L.solve_triangular(x / 0, x), ValueError, "infs or NaNs"),
    (lambda x: L.lu(x / 0), ValueError, "infs or NaNs"),
    (lambda x: L.expm(x[:2]), errors.LinAlgError, "expm: Last 2 dimensions"),
    (lambda x: L.matrix_power(x[0], 2), errors.LinAlgError, "matrix_power: 1-dimensional array given"),
    (lambda x: L.matrix_power(x, 2.5), errors.DTypeError, "matrix_power: exponent must be an integer"),
], ids=[f"wrong {number}" for number in range(17)])
def test_wrong_arguments_are_refused(call, error, text):
    with np.errstate(all="ignore"), pytest.raises(error, match=text):
        call(lnb.asarray(numbers((3, 3), "float64")))
