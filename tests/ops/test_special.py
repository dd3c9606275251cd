"""Special functions over their whole domains, against mpmath; derivatives, limits and SciPy's names."""

import mpmath
import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import special
from lucid_nb.ops import polygamma
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

mp = mpmath.mp.clone()
mp.dps = 40
COUNT = 40
DTYPES = ("float32", "float64")
TINY, HUGE = {"float32": 1e-44, "float64": 1e-320}, {"float32": 1e38, "float64": 1e307}


def wide(digits, function):
    """A function evaluated where it cancels."""
    def evaluated(*xs):
        with mp.workdps(digits):
            return +function(*xs)
    return evaluated


def scaled_tail(x):
    """exp(x**2) erfc(x); far out, where mpmath's integers may overflow, by its asymptotic series."""
    return (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi)) if x > 1e10 else mp.exp(x * x) * mp.erfc(x)


def quantile(z):
    """The y of erfc(y) = z, by Newton's method, which makes 16 digits 64."""
    y = mp.mpf(scipy.special.erfcinv(float(z)))
    for _ in range(2):
        y += (mp.erfc(y) - z) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def over(low, high, count=COUNT):
    """Numbers of one sign over many exponents."""
    return np.exp(np.random.default_rng(3).uniform(np.log(low), np.log(high), count))


def even(low, high, count=COUNT):
    """Numbers between two bounds."""
    return np.random.default_rng(4).uniform(low, high, count)


def real_axis(dtype):
    """The gamma family's: near the origin, far on both sides, next to zero."""
    return np.r_[even(0, 10), even(0, 200), even(-20, 0), over(TINY[dtype], 1), over(1, 1e12), -over(1e-9, 1)]


def gamma_axis(dtype):
    """Where gamma is neither 0 nor infinite, mostly."""
    reach = 36 if dtype == "float32" else 172
    return np.r_[even(0, reach), even(-reach - 5, 0), even(-4, 4), over(TINY[dtype], 1)]


def probabilities(dtype):
    """Of 0 to 1."""
    return np.r_[even(0, 1), over(TINY[dtype], 1), 1 - over(1e-7, 0.1), 0.5 + over(1e-7, 0.1)]


def bessel_axis(dtype):
    """To where the functions overflow."""
    reach = 91 if dtype == "float32" else 713
    return np.r_[even(-10, 10), even(-reach, reach), over(TINY[dtype], 10)]


# Function, exact function, domain, units in the last place, and units of 1 next to a zero.
CASES = {
    "erfc": (special.erfc, mp.erfc, lambda d: np.r_[even(-6, 9), over(TINY[d], 1)], 2, 0),
    "erfcx": (special.erfcx, scaled_tail, lambda d: np.r_[even(-9, 20), over(TINY[d], HUGE[d])], 4, 0),
    "erfinv": (special.erfinv, wide(60, mp.erfinv),
               lambda d: np.r_[even(-1, 1), 1 - over(1e-7 if d == "float32" else 1e-16, 1), over(TINY[d], 1)], 4, 0),
    "erfcinv": (special.erfcinv, quantile, lambda d: np.r_[even(0, 2), over(TINY[d], 1)], 4, 0),
    "ndtr": (special.ndtr, mp.ncdf, lambda d: np.r_[even(-14, 5), over(TINY[d], 1)], 2, 0),
    "ndtri": (special.ndtri, lambda p: -mp.sqrt(2) * quantile(2 * p), probabilities, 4, 0),
    "log_ndtr": (special.log_ndtr, lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x)),
                 lambda d: np.r_[even(-40, 10), even(-2, 2), -over(1, 1e15)], 4, 0),
    "logit": (special.logit, wide(60, lambda p: mp.log(p / (1 - p))), probabilities, 4, 0),
    "entr": (special.entr, lambda x: -x * mp.log(x), lambda d: np.r_[even(0, 5), over(TINY[d], 1e30)], 3, 0),
    "sinc": (special.sinc, mp.sincpi, lambda d: np.r_[even(-5, 5), even(-1e4, 1e4), over(TINY[d], 1)], 4, 0),
    "gamma": (special.gamma, mp.gamma, gamma_axis, 8, 0),
    "lgamma": (special.lgamma, lambda x: mp.re(mp.loggamma(x)), real_axis, 8, 8),
    "digamma": (special.digamma, lambda x: mp.psi(0, x), real_axis, 8, 8),
    "trigamma": (polygamma.first_derivative, lambda x: mp.psi(1, x), real_axis, 8, 0),
    "tetragamma": (polygamma.second_derivative, lambda x: mp.psi(2, x), real_axis, 8, 64),
    "pentagamma": (polygamma.third_derivative, lambda x: mp.psi(3, x), lambda d: real_axis(d)[::2], 8, 0),
    "i0": (special.i0, lambda x: mp.besseli(0, x), bessel_axis, 8, 0),
    "i1": (special.i1, lambda x: mp.besseli(1, x), bessel_axis, 8, 0),
    "i0e": (special.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), bessel_axis, 8, 0),
    "i1e": (special.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), bessel_axis, 8, 0),
}


def errors(found, exact):
    """(in units in the last place, in units of 1) of results, infinite where rounding does not give the infinity."""
    info = np.finfo(found.dtype)
    bits, smallest, places, absolute = info.nmant + 1, info.minexp - info.nmant, [], []
    for y, e in zip(found.tolist(), exact):
        if mp.isinf(e) or abs(e) >= mp.mpf(2) ** info.maxexp * (1 - mp.mpf(2) ** (-bits - 1)):
            places.append(0.0 if y == float(mp.sign(e)) * np.inf else np.inf)
            absolute.append(np.inf)
            continue
        off = abs(mp.mpf(y) - e) if np.isfinite(y) else mp.inf
        places.append(float(off / mp.mpf(2) ** max(mp.frexp(e)[1] - bits if e else smallest, smallest)))
        absolute.append(float(off / mp.mpf(float(info.eps))))
    return np.array(places), np.array(absolute)


def worst(name, dtype, device):
    """The most wrong argument of a function, how much it is allowed, and how wrong it is."""
    function, exact, domain, ulp, near_zero = CASES[name]
    with np.errstate(all="ignore"):
        x = domain(dtype).astype(dtype)
        x = x[(x != 0) & ((np.abs(x) >= np.finfo(dtype).tiny) | (device == "cpu"))]
        found = function(lnb.asarray(x, device=device)).to_host()
    places, absolute = errors(found, [exact(mp.mpf(v)) for v in x.tolist()])
    places = np.where(absolute <= near_zero, 0, places)
    at = int(np.argmax(places))
    return x[at], ulp, places[at]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_function_is_right_over_its_whole_domain(name, dtype):
    at, allowed, off = worst(name, dtype, "cpu")
    assert off <= allowed, (at, off)


@pytest.mark.parametrize("name", CASES)
def test_expansion_on_mlx_is_right_in_single_precision(name):
    """Eight units more: MLX's exponential, power and logarithm are its own."""
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    at, allowed, off = worst(name, "float32", "mlx")
    assert off <= allowed + 8, (at, off)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [4, 10])
def test_polygamma_of_any_order(order, dtype):
    x = np.r_[even(0.05, 10, 12), even(10, 60, 6), even(-6, 0, 12)].astype(dtype)
    found = lnb.polygamma(order, lnb.asarray(x)).to_host()
    assert found.dtype == dtype
    exact = [mp.psi(order, mp.mpf(v)) for v in x.tolist()]
    places, _ = errors(found, exact)
    scale = np.array([float(abs(mp.psi(order, mp.mpf(abs(v))))) for v in x.tolist()])     # next to zeros on the left
    off = np.abs(found - np.array([float(e) for e in exact])) / (np.finfo(dtype).eps * scale)
    assert np.minimum(places, off).max() <= 16


def test_polygamma_broadcasts_orders():
    x, orders = np.array([0.5, 2.5]), np.arange(6)[:, None]
    assert np.allclose(lnb.polygamma(orders, x).to_host(), scipy.special.polygamma(orders, x), rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeta_is_that_of_hurwitz(dtype):
    orders, places = [1.0625, 1.5, 2, 3.5, 8, 20], [0.0625, 0.5, 1, 3, 9.5, 30, 200]
    s, q = (a.ravel().astype(dtype) for a in np.meshgrid(orders, places))
    exact = [wide(90, mp.zeta)(mp.mpf(a), mp.mpf(b)) for a, b in zip(s.tolist(), q.tolist())]
    places, _ = errors(special.zeta(s, q).to_host(), exact)
    assert places.max() <= 8
    assert special.zeta([1.0, 0.5, 2.0, 2.0], [1.0, 1.0, 0.0, -0.5]).tolist()[:3:2] == [np.inf, np.inf]
    assert np.isnan(special.zeta([0.5, 2.0], [1.0, -0.5]).to_host()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_beta_is_right_where_it_is_large_and_where_it_is_small(dtype):
    """Its error grows as the smaller argument where gamma(a + b) would overflow."""
    grid = [1e-25, 1e-3, 0.5, 2.5, 7.25, 14, 25.5, 100, 1e12]
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(grid, grid))
    by_logarithms = wide(70, lambda x, y: mp.exp(mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)))
    exact = [by_logarithms(mp.mpf(x), mp.mpf(y)) for x, y in zip(a.tolist(), b.tolist())]
    with np.errstate(all="ignore"):
        places, _ = errors(special.beta(a, b).to_host(), exact)
        assert (places <= 16 + 4 * np.minimum(a, b)).all()
        places, absolute = errors(special.betaln(a, b).to_host(), [mp.log(e) for e in exact])
    assert np.minimum(places, absolute).max() <= 16


LIMITS = np.array([0.0, -0.0, 1.0, -1.0, -2.0, -0.5, 2.0, np.inf, -np.inf, np.nan])
# Where SciPy's answer is not the limit, or not that of the C library's function of the same name.
DIFFERENT = {"gammaln": [-np.inf], "i0": [np.inf, -np.inf], "i1": [np.inf, -np.inf]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["erfc", "erfcx", "erfinv", "erfcinv", "ndtr", "ndtri", "log_ndtr", "logit", "entr",
                                  "gamma", "gammaln", "digamma", "i0", "i1", "i0e", "i1e", "expit", "log_expit"])
def test_limits_are_those_of_scipy(name, dtype):
    x = LIMITS[~np.isin(LIMITS, DIFFERENT.get(name, []))].astype(dtype)
    with np.errstate(all="ignore"):
        found, wanted = getattr(special, name)(x).to_host(), getattr(scipy.special, name)(x)
    assert np.allclose(found, wanted, rtol=1e-6, equal_nan=True)
    assert np.array_equal(np.signbit(found[wanted == np.inf]), np.signbit(wanted[wanted == np.inf]))


@pytest.mark.parametrize("name", ["sinc", "i0"])
def test_functions_that_numpy_has_too_take_integers_for_float64(name):
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32"):
        assert getattr(lnb, name)(lnb.ones(2, dtype=dtype)).dtype == getattr(np, name)(np.ones(2, dtype)).dtype


def test_complex_sinc_is_that_of_mathematics():
    z = np.array([0, 0.1 + 0.2j, 0.49, 0.5j, 0.51 + 0.1j, 2.5, -3.2 + 1j, 100.25 + 2j, 1e-9j])
    exact = [complex(mp.sincpi(w)) for w in z.tolist()]
    assert_close(lnb.sinc(z).numpy(), exact, rtol=1e-14)
    narrow = z.astype("complex64")
    assert_close(lnb.sinc(narrow).numpy(), np.sinc(narrow.astype("complex128")), rtol=2e-6)
    assert lnb.sinc(lnb.tensor([1 + 0j, 7, -2])).tolist() == [0, 0, 0] and np.isnan(lnb.sinc(complex("inf")).item())
    check_grad(lnb.sinc, z)


def test_limits_where_scipy_has_others():
    infinities = [np.inf, -np.inf]
    assert special.gammaln(infinities).tolist() == [np.inf, np.inf]                      # as the C library's lgamma
    assert special.i0(infinities).tolist() == [np.inf, np.inf] and special.i1(infinities).tolist() == infinities
    assert special.xlogy([0.0, 0.0, 0.0], [0.0, np.inf, -1.0]).tolist() == [0, 0, 0]
    assert special.xlog1py([0.0, 2.0], [-1.0, 0.0]).tolist() == [0, 0]
    assert np.isnan(special.xlogy(0.0, np.nan).item()) and np.isnan(special.beta(-0.5, 2.0).item())
    assert special.sinc(np.arange(1.0, 9)).tolist() == [0] * 8


@pytest.mark.parametrize(("function", "points"), [
    (special.gamma, [-3.4, -0.6, 0.3, 2.7, 9.5]), (special.lgamma, [-3.4, -0.6, 0.3, 2.7, 30.5]),
    (special.digamma, [-2.4, -0.7, 0.4, 1.5, 30.5]), (lambda x: special.polygamma(1, x), [-1.4, 0.6, 1.5, 8.5]),
    (lambda q: special.zeta(2.5, q), [0.7, 3.5]),
    (special.sinc, [-2.3, 0.0, 1e-3, 0.5, 1.0]), (special.erfcx, [-1.5, 0.2, 5.0, 29.0, 45.0]),
    (special.log_ndtr, [-30.0, -4.0, 0.5, 6.0]), (special.i0, [-9.5, 0.0, 0.5, 12.0]),
    (special.i1, [-9.5, 0.0, 0.5, 12.0]), (special.i1e, [-9.5, 0.3, 12.0]), (special.entr, [0.2, 3.0])])
def test_derivatives_follow_finite_differences(function, points):
    """To second order, left of the origin and in the tails too."""
    check_grad(function, points)


def test_derivative_of_scaled_tail_keeps_its_digits():
    x = lnb.tensor([31.0, 1e3, 1e6], requires_grad=True)
    special.erfcx(x).sum().backward()
    exact = [float(2 * mp.mpf(v) * mp.exp(mp.mpf(v) ** 2) * mp.erfc(v) - 2 / mp.sqrt(mp.pi)) for v in (31, 1000)]
    assert np.allclose(x.grad.to_host()[:2], exact, rtol=1e-12, atol=0)
    assert x.grad.to_host()[2] == pytest.approx(-1e-12 / np.sqrt(np.pi), rel=1e-10)


def test_xlogy_has_gradients_where_it_is_zero():
    x, y = lnb.tensor([0.0, 0.0, 2.0], requires_grad=True), lnb.tensor([0.0, 3.0, 0.5], requires_grad=True)
    special.xlogy(x, y).sum().backward()
    assert np.allclose(x.grad.to_host(), [0, np.log(3), np.log(0.5)]) and np.allclose(y.grad.to_host(), [0, 0, 4])


@pytest.mark.parametrize("name", ["gamma", "erfinv", "erfcx", *(pytest.param(n, marks=pytest.mark.sweep) for n in (
    "lgamma", "digamma", "ndtri", "i0", "sinc", "logit"))])
def test_derivatives_on_devices_follow_the_cpu(name, device):
    points = np.array([0.1, 0.35, 0.6, 0.9])
    check_against_cpu(getattr(special, name), points, device=device, rtol=4e-5)


def test_namespace_has_scipys_names():
    for name in special.__all__:
        assert callable(getattr(special, name)) and (hasattr(scipy.special, name) or name in ("lgamma", "sinc"))
    assert lnb.special is special and special.psi is special.digamma and lnb.lgamma is special.gammaln
    for name in ("erfc", "erfinv", "lgamma", "digamma", "polygamma", "expit", "logit", "xlogy", "i0", "sinc"):
        assert getattr(lnb, name) is getattr(special, name)
