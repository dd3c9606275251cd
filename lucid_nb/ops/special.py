"""Special functions around the error function and the logarithm."""

import math
from collections.abc import Callable

from ..expr import Expr, Vocabulary, entry, product, quotient
from ..expr import m as words
from ..register import binary, unary
from .gamma import alternating, cosine, distance, sine
from .polynomial import polynomial

Single = tuple[Expr | None]
Pair = tuple[Expr | None, Expr | None]
INFINITY, NAN = float("inf"), float("nan")
ROOT_PI, ROOT_TWO = math.sqrt(math.pi), math.sqrt(2)
# Chebyshev fits, made with 50 digits, of the y where erfc(y) = z: y / (1 - z) in (1 - z)**2 up to 1/2; with
# s = sqrt(-log(z)), y / s in (s - 1.75) / (s + 1.75) from 1.1 to 6.07, which is as far as 1 - x has a float64, and in
# (s - 5) / (s + 5) from 3.5 to 27.4.
ERFINV_CENTRE = (
    4.904461049627301, -19.408536407963272, 36.480304098342955, -42.45284127882644, 34.14320152823454,
    -19.964989070363977, 8.809378634287999, -2.9349428559260615, 0.7884133709940454, -0.12811749263911879,
    0.05150959053468069, 0.028940340272347532, 0.036705907679086276, 0.042821459480396826, 0.05173196289705353,
    0.06495959757855177, 0.08655212960552519, 0.1275561753021322, 0.23201366653466757, 0.886226925452758)
ERFINV_TAIL = (
    0.0015123409775848104, -0.0042044134634147395, -0.001744254762661488, 0.02267416015649971, -0.04322316797698883,
    0.0377693839513548, -0.0006540760297340428, -0.044721535557670965, 0.062395930933064496, -0.03251078658877421,
    -0.03149727352313732, 0.08480749482901928, -0.08086609132951258, 0.004027348357626501, 0.10473360207706425,
    -0.16529141082690016, 0.0905094199086301, 0.1319271526120353, -0.42691056895798896, 0.487912078795371,
    0.8034233975277592)
ERFINV_FAR = (
    -0.0018289444477991468, 0.008987563268215712, -0.020931293947853886, 0.031978411961577496, -0.03923888436867257,
    0.04539784051692097, -0.05254991410985996, 0.05852606869711467, -0.05968868316531122, 0.05361839937407195,
    -0.03941915120809823, 0.01694945383019366, 0.013110600086079033, -0.049440070768475224, 0.08957912022396232,
    -0.13044750205346325, 0.16748469865827437, -0.19595518914668159, 0.20831214302380838, -0.19780489056421227,
    0.13748742983982645, 0.9558769717266671)
# (1 + 2 x) exp(x**2) erfc(x) in (x - 3.75) / (x + 3.75), x >= 0: M. M. Shepherd and J. G. Laframboise, "Chebyshev
# approximation of (1 + 2x) exp(x**2) erfc x", Mathematics of Computation 36 (1981); coefficients fitted with 60 digits.
SCALED_TAIL = (
    4.251471440013997e-10, 3.1114333792040705e-10, -5.173990211176934e-09, -3.744210079926997e-09,
    3.8675334234903824e-08, 2.3263508706248075e-08, -2.586685071507555e-07, -5.721823059948919e-08,
    1.751637648839004e-06, -9.735598967401093e-07, -1.1444146237694376e-05, 2.238423915508416e-05,
    5.164909889267991e-05, -0.00029015408054084243, 0.00029371366559134546, 0.0017556258528952954,
    -0.009746579558029276, 0.028362277418956403, -0.05869339858963677, 0.09230432116037748, -0.10880393014174886,
    0.0822767384901452, 0.0035854154854644293, -0.14024059858554697, 1.2375126308378275)
# (cos(pi x) - sinc(x)) / x**2 in x**2, |x| <= 1/2, fitted with 60 digits.
SINC_SLOPE = (
    -1.2767649554481104e-07, 4.0481709751849e-06, -9.766178312858364e-05, 0.0017811454504394063,
    -0.023460810348857115, 0.2091827825409614, -1.1445109447324986, 3.2469697011334144, -3.289868133696453)


SINC = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(11, -1, -1))      # in x**2


# ----------------------------------------------------------------------------------- the error function
@unary(kind="float", oracle="scipy.special.erfc", samples=((-3, 3),), ulp=2)
def erfc(m: Vocabulary, x: Expr) -> Expr:
    """1 - erf(x), with its relative accuracy kept in the right tail."""
    return m.erfc(x)


@unary(kind="float", oracle="scipy.special.ndtr", samples=((-4, 4),), ulp=2, method=False)
def ndtr(m: Vocabulary, x: Expr) -> Expr:
    """Distribution function of the standard normal distribution."""
    return m.normal_cdf(x)


def exp_of_square(m: Vocabulary, x: Expr) -> Expr:
    """exp(x**2), |x| <= 40: the square of x rounded to a 64th is exact, so that no rounding is magnified."""
    near = m.round_even(64 * x) / 64
    return m.exp(near * near) * m.exp((x - near) * (x + near))


def _erfcx(m: Vocabulary, x: Expr) -> Expr:
    a = m.absolute(x)
    near = m.minimum(a, 1e30)
    right = polynomial((near - 3.75) / (near + 3.75), SCALED_TAIL) * (0.5 / (a + 0.5))
    return m.where(x < 0, 2 * exp_of_square(m, m.maximum(x, -40)) - right, right)


@entry(expansion=_erfcx, cost=60)
def erfcx_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = 2 x y - 2 / sqrt(pi); its difference loses its digits far to the right, where a series takes its place."""
    square = 1 / (x * x)
    series = -square * polynomial(square, (59.0625, -13.125, 3.75, -1.5, 1.0))
    return (product(g, words.where(x > 30, series / ROOT_PI, 2 * x * y - 2 / ROOT_PI)),)


@unary(kind="float", oracle="scipy.special.erfcx", samples=((-2, 9),), ulp=8, published=False)
def erfcx(m: Vocabulary, x: Expr) -> Expr:
    """exp(x**2) erfc(x), which neither overflows nor vanishes on the right."""
    return m.erfcx(x)


def _log_ndtr(m: Vocabulary, x: Expr) -> Expr:
    left = m.log(0.5 * m.erfcx(m.maximum(-x, 0) * math.sqrt(0.5))) - 0.5 * (x * x)
    return m.where(x < -1, left, m.log1p(-m.normal_cdf(-x)))


@entry(expansion=_log_ndtr, cost=100)
def log_ndtr_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = density over distribution function."""
    return (product(g, math.sqrt(2 / math.pi) / words.erfcx(x * -math.sqrt(0.5))),)


@unary(kind="float", oracle="scipy.special.log_ndtr", samples=((-9, 4),), ulp=8, published=False)
def log_ndtr(m: Vocabulary, x: Expr) -> Expr:
    """Logarithm of the distribution function of the standard normal distribution."""
    return m.log_ndtr(x)


# --------------------------------------------------------------------------------------- and its inverse
def _from_root(s: Expr) -> Expr:
    """y over the root s, up to 6.07."""
    return polynomial((s - 1.75) / (s + 1.75), ERFINV_TAIL)


def _inverse(m: Vocabulary, x: Expr, z: Expr, ratio: Callable[[Expr], Expr]) -> Expr:
    """y with erf(y) = x, from x and the smaller of 1 - x and 1 + x, both without rounding errors worth mention."""
    square = x * x
    s = m.sqrt(-m.log(z))
    far = m.where(z == 0, INFINITY, s * ratio(s))
    return m.where(square < 0.5, x * polynomial(square, ERFINV_CENTRE), m.where(x < 0, -far, far))


def _down_to_the_smallest(s: Expr) -> Expr:
    """y over the root s, for any root."""
    return words.where(s < 6, _from_root(s), polynomial((s - 5) / (s + 5), ERFINV_FAR))


def _erfinv(m: Vocabulary, x: Expr) -> Expr:
    return _inverse(m, x, 1 - m.absolute(x), _from_root)


def _erfcinv(m: Vocabulary, z: Expr) -> Expr:
    return _inverse(m, 1 - z, m.minimum(z, 2 - z), _down_to_the_smallest)


def _ndtri(m: Vocabulary, p: Expr) -> Expr:
    return ROOT_TWO * _inverse(m, 2 * p - 1, 2 * m.minimum(p, 1 - p), _down_to_the_smallest)


@entry(expansion=_erfinv, cost=100)
def erfinv_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, ROOT_PI / 2 * words.exp(y * y)),)
@entry(expansion=_erfcinv, cost=100)
def erfcinv_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, -ROOT_PI / 2 * words.exp(y * y)),)
@entry(expansion=_ndtri, cost=100)
def ndtri_(g: Expr, y: Expr, x: Expr) -> Single:
    return (product(g, math.sqrt(2 * math.pi) * words.exp(0.5 * (y * y))),)


@unary(kind="float", oracle="scipy.special.erfinv", samples=((-0.95, 0.95),), ulp=8)
def erfinv(m: Vocabulary, x: Expr) -> Expr:
    """Inverse of erf on [-1, 1]; NaN elsewhere."""
    return m.erfinv(x)


@unary(kind="float", oracle="scipy.special.erfcinv", samples=((0.05, 1.9),), ulp=8, published=False)
def erfcinv(m: Vocabulary, x: Expr) -> Expr:
    """Inverse of erfc on [0, 2], right down to the smallest numbers; NaN elsewhere."""
    return m.erfcinv(x)


@unary(kind="float", oracle="scipy.special.ndtri", samples=((0.05, 0.95),), ulp=8, method=False)
def ndtri(m: Vocabulary, x: Expr) -> Expr:
    """Inverse of ndtr on [0, 1]: the quantiles of the standard normal distribution; NaN elsewhere."""
    return m.ndtri(x)


# -------------------------------------------------------------------------------------------- logarithms
def _logit(m: Vocabulary, x: Expr) -> Expr:
    """Next to 1/2, where the logarithm vanishes, of one plus what is exact."""
    near = m.log1p((2 * x - 1) / (1 - x))
    return m.where(m.absolute(x - 0.5) < 0.25, near, m.log(x / (1 - x)))


@entry(expansion=_logit, cost=40)
def logit_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, x * (1 - x)),)


@unary(kind="float", oracle="scipy.special.logit", samples=((0.05, 0.95),), ulp=4)
def logit(m: Vocabulary, x: Expr) -> Expr:
    """log(x / (1 - x)), the inverse of expit, on [0, 1]; NaN elsewhere."""
    return m.logit(x)


def _times_logarithm(m: Vocabulary, x: Expr, y: Expr, logarithm: Expr) -> Expr:
    """The product, but 0 where x is 0, unless y is NaN."""
    return m.where(x == 0, m.where(y != y, y, 0), x * logarithm)


@entry(expansion=lambda m, x, y: _times_logarithm(m, x, y, m.log(y)), cost=14)
def xlogy_(g: Expr, z: Expr, x: Expr, y: Expr) -> Pair:
    """Both derivatives are 0 where x is 0 and y is not positive."""
    logarithm = words.where(x == 0, words.where(y > 0, words.log(y), 0), words.log(y))
    return product(g, logarithm), quotient(words.absorbing_product(g, x), y)


@entry(expansion=lambda m, x, y: _times_logarithm(m, x, y, m.log1p(y)), cost=18)
def xlog1py_(g: Expr, z: Expr, x: Expr, y: Expr) -> Pair:
    """Both derivatives are 0 where x is 0 and 1 + y is not positive."""
    logarithm = words.where(x == 0, words.where(y > -1, words.log1p(y), 0), words.log1p(y))
    return product(g, logarithm), quotient(words.absorbing_product(g, x), 1 + y)


@binary(kind="float", oracle="scipy.special.xlogy", samples=((-3, 3), (0.2, 9)), ulp=3)
def xlogy(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x log(y), 0 where x is 0."""
    return m.xlogy(x, y)


@binary(kind="float", oracle="scipy.special.xlog1py", samples=((-3, 3), (-0.8, 9)), ulp=3, method=False)
def xlog1py(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x log(1 + y), 0 where x is 0."""
    return m.xlog1py(x, y)


@unary(kind="float", oracle="scipy.special.entr", samples=((0.1, 5),), ulp=3, method=False)
def entr(m: Vocabulary, x: Expr) -> Expr:
    """-x log(x), the summand of an entropy; 0 at 0 and -inf below."""
    return m.where(x > 0, -(x * m.log(x)), m.where(x == 0, 0, m.where(x < 0, -INFINITY, x)))


# -------------------------------------------------------------------------------------------------- sinc
def _sinc(m: Vocabulary, x: Expr) -> Expr:
    return m.where(x == 0, 1, alternating(m, m.round_even(x)) * sine(distance(m, x)) / x)


def _sinc_slope(m: Vocabulary, x: Expr) -> Expr:
    """(cos(pi x) - sinc(x)) / x, next to 0 a polynomial."""
    cosine_of = alternating(m, m.round_even(x)) * math.pi * cosine(m, distance(m, x))
    return m.where(m.absolute(x) < 0.5, x * polynomial(x * x, SINC_SLOPE), (cosine_of - m.sinc(x)) / x)


@entry(expansion=_sinc, cost=30)
def sinc_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.sinc_slope(x)),)
@entry(expansion=_sinc_slope, cost=60)
def sinc_slope(g: Expr, y: Expr, x: Expr) -> Single:
    """-pi**2 sinc(x) - 2 y / x."""
    rest = words.where(x == 0, -2 / 3 * math.pi ** 2, 2 * words.absorbing_quotient(y, x))
    return (product(g, -(math.pi ** 2 * words.sinc(x) + rest)),)


def _complex_sinc(m: Vocabulary, z: Expr) -> Expr:
    """By its series near 0, where the derivatives of the quotient would cancel."""
    whole, is_near = m.round_even(m.real(z)), m.modulus(z) < 0.5
    divisor = m.where(is_near, 1, math.pi * z)
    return m.where(is_near, polynomial(z * z, SINC), alternating(m, whole) * m.sin(math.pi * (z - whole)) / divisor)


@unary(kind="ratio", oracle="mpmath.sinc", samples=((-3.4, 3.4),), ulp=8, complexes=_complex_sinc)
def sinc(m: Vocabulary, x: Expr) -> Expr:
    """sin(pi x) / (pi x), 1 at 0 and exactly 0 at the other integers."""
    return m.sinc(x)
