"""The gamma and beta functions; what polygamma.py shares with them.

Near the origin polynomials in t = u - 1/2 give f(1 + u), 0 <= u < 1, and recurrences lead there; far from it Stirling's
series is a polynomial in w = 1 / x; left of the origin reflection leads to the right, with sin(pi x) of the distance r
to the nearest integer, which is exact. All polynomials are Chebyshev fits, made with 60 digits.
"""

import math

from ..expr import Expr, Vocabulary, entry, product
from ..expr import m as words
from ..register import binary, unary
from .polynomial import polynomial

Single = tuple[Expr | None]
INFINITY, NAN = float("inf"), float("nan")
# sin(pi r) / (pi r) in r**2, |r| <= 1/2.
SINE = (
    -7.0931258816238045e-09, 2.5300985563134005e-07, -6.975840829271595e-06, 0.0001484287872033628,
    -0.002346081034815316, 0.026147847817611935, -0.19075182412208255, 0.8117424252833536, -1.6449340668482264, 1.0)
# gamma(1 + u) in t, and (gamma(x) exp(x) x**(1/2 - x) / sqrt(2 pi) - 1) / w in w, x >= 3.
GAMMA = (
    -0.00025303807808043895, 0.00037955491879486174, -0.00022139952612051456, 0.0003320885800907498,
    -0.0007046879722466143, 0.0010569633457018935, -0.0015159595901781905, 0.002273514062024839,
    -0.003423629338262631, 0.005132883760616497, -0.007690139287816347, 0.011522407277990318, -0.017222447013020576,
    0.02583761230507782, -0.03800193543217766, 0.058610303633145476, -0.07752305230182892, 0.1446453590475836,
    -0.10729480456475984, 0.4148134536882826, 0.032338397448885, 0.886226925452758)
STIRLING = (
    0.0022754768221075576, -0.006480101023555285, 0.007866811263366198, -0.004727624702847, 0.0007320916170646586,
    0.0007301829848563828, -3.876530932382897e-05, -0.0005932557792855465, 6.979151855445873e-05,
    0.0007840367867996487, -0.0002294720365197553, -0.0026813271612058792, 0.0034722222222257865,
    0.08333333333333333)
# lgamma(1 + u) / (u (u - 1)) in t, and (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) / w in w, x >= 3.
LOG_GAMMA = (
    1.1820969445467145e-05, -1.8527803997032962e-05, 1.3584275459130943e-05, -2.148770252062576e-05,
    4.281642862794779e-05, -6.793733027397047e-05, 0.00010541715222185904, -0.0001685717945035172,
    0.00027130273545114005, -0.00043803516132580534, 0.0007115202752051298, -0.001164411377219605,
    0.0019229162321227923, -0.0032120742206072908, 0.005446457842219553, -0.009425622444829649, 0.01679709863121395,
    -0.03130848750105327, 0.06291140107456485, -0.14595989591430594, 0.4831289505409809)
LOG_STIRLING = (
    0.0023736044130631758, -0.006674202110490034, 0.007973778606662261, -0.004669055978648447, 0.0006370025982923009,
    0.0007375662304097895, 1.2198681519691183e-05, -0.0005962526795436775, 5.843701942009662e-08,
    0.0007936485683586381, 5.181214028338763e-11, -0.002777777778420492, 3.2074286469565198e-15, 0.08333333333333333)



def distance(m: Vocabulary, x: Expr) -> Expr:
    """x less the nearest integer."""
    return x - m.round_even(x)


def sine(r: Expr) -> Expr:
    """sin(pi r) / pi, |r| <= 1/2."""
    return r * polynomial(r * r, SINE)


def cosine(m: Vocabulary, r: Expr) -> Expr:
    """cos(pi r) / pi, |r| <= 1/2."""
    return sine(0.5 - m.absolute(r))


def alternating(m: Vocabulary, n: Expr) -> Expr:
    """(-1)**n of an integer."""
    return 1 - 2 * (n - 2 * m.floor(0.5 * n))


def centred(m: Vocabulary, a: Expr) -> Expr:
    """t of 0 <= a < 3."""
    return m.where(a < 1, a - 0.5, m.where(a < 2, a - 1.5, a - 2.5))


# ------------------------------------------------------------------------------------------------- gamma
def _gamma(m: Vocabulary, x: Expr) -> Expr:
    """From 3 on sqrt(2 pi) x**(x - 1/2) exp(-x), by halves of the power; left of 0 pi / (sin(pi x) |x| gamma(|x|))."""
    y = m.absolute(x)
    unit = polynomial(centred(m, y), GAMMA)
    half, small = m.power(y, 0.5 * y - 0.25), m.exp(-y)
    w = 1 / m.maximum(y, 3)
    rest = math.sqrt(2 * math.pi) * (1 + w * polynomial(w, STIRLING))
    right = m.where(y < 1, unit / x, m.where(y < 2, unit, (y - 1) * unit))
    right = m.where(y < 3, right, m.where(half == INFINITY, INFINITY, ((half * small) * half) * rest))
    r = distance(m, x)
    turn = 1 / (alternating(m, m.round_even(x)) * sine(r))
    left = turn / m.where(y < 1, unit, m.where(y < 2, y * unit, (y * (y - 1)) * unit))
    far_left = m.where(half == INFINITY, 0 * turn, ((turn / (rest * y)) / (half * small)) / half)
    return m.where(x < 0, m.where(r == 0, NAN, m.where(y < 3, left, far_left)), right)


@entry(expansion=_gamma, cost=120)
def gamma_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.absorbing_product(y, words.digamma(x))),)


def _lgamma(m: Vocabulary, x: Expr) -> Expr:
    a = m.where(x < 0, 1 - x, x)
    t = centred(m, a)
    logarithm = m.log(m.where(a < 1, a, m.where(a < 2, 1, m.where(a < 3, a - 1, a))))
    near = ((t + 0.5) * (t - 0.5)) * polynomial(t, LOG_GAMMA) + m.where(a < 1, -logarithm, logarithm)
    w = 1 / m.maximum(a, 3)
    far = (a - 0.5) * (logarithm - 1) + (0.5 * math.log(2 * math.pi) - 0.5 + w * polynomial(w, LOG_STIRLING))
    right = m.where(a < 3, near, far)
    size = m.absolute(sine(distance(m, x)))
    left = m.where(size == 0, INFINITY, m.where(x == -INFINITY, INFINITY, -(m.log(size) + right)))
    return m.where(x < 0, left, right)


@entry(expansion=_lgamma, cost=110)
def lgamma_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.digamma(x)),)


# ----------------------------------------------------------------------------------------------- records
@unary(kind="float", oracle="scipy.special.gamma", samples=((0.2, 5),), ulp=8, method=False)
def gamma(m: Vocabulary, x: Expr) -> Expr:
    """Gamma function, (x - 1)! of integers; NaN at the negative ones."""
    return m.gamma(x)


@unary(kind="float", oracle="scipy.special.gammaln", samples=((0.2, 9),), ulp=8)
def lgamma(m: Vocabulary, x: Expr) -> Expr:
    """Logarithm of the absolute value of the gamma function."""
    return m.lgamma(x)


# -------------------------------------------------------------------------------------------------- beta
BETA_FAR = 30      # of a + b: gamma(a + b) is finite below in float32 too


TINY = 1e-20       # gamma(b) is 1 / b below, in every place


def _far_betaln(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """The logarithm of _far_beta, where no large terms cancel."""
    u, v, w = 1 / m.maximum(b, 3), 1 / m.maximum(a + b, 3), 1 / m.maximum(a, 3)
    stirling = 0.5 * math.log(2 * math.pi) - 0.5 * m.log(b) + u * polynomial(u, LOG_STIRLING)
    scaled = m.where(b < 3, m.lgamma(m.minimum(b, 3)) - b * (m.log(b) - 1), stirling)
    rest = w * polynomial(w, LOG_STIRLING) - v * polynomial(v, LOG_STIRLING)
    return (scaled + b * m.log(b / (a + b))) - ((a - 0.5) * m.log1p(b / a) - rest)


def _near_beta(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """For a >= b; what rounding a + b lost is made good with digamma(a + b), roughly."""
    both = a + b
    lost = b - (both - a)
    quotient = m.gamma(a) * (m.gamma(b) / m.gamma(both))
    return quotient - quotient * (lost * (m.log(both) - 0.5 / both))


def _far_beta(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """For a >= b, as gamma(b) exp(b) b**-b (b / (a + b))**b (1 + b / a)**(1 / 2 - a): its error grows as b only."""
    u, v, w = 1 / m.maximum(b, 3), 1 / m.maximum(a + b, 3), 1 / m.maximum(a, 3)
    near = m.gamma(m.minimum(b, 3)) * m.exp(b) / m.power(b, b)
    scaled = m.where(b < 3, near, m.sqrt(2 * math.pi / b) * (1 + u * polynomial(u, STIRLING)))
    rest = w * polynomial(w, LOG_STIRLING) - v * polynomial(v, LOG_STIRLING)
    return scaled * (m.power(b / (a + b), b) * m.exp(rest - (a - 0.5) * m.log1p(b / a)))


def _beta(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    a, b = m.maximum(x, y), m.minimum(x, y)
    inside = m.where(a + b < BETA_FAR, _near_beta(m, a, b), m.where(a == INFINITY, 0, _far_beta(m, a, b)))
    inside = m.where(b < m.where(a == INFINITY, 0, TINY), (1 + b / a) / b, inside)
    return m.where(b > 0, inside, m.where(b == 0, INFINITY, NAN))


def _betaln(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    a, b = m.maximum(x, y), m.minimum(x, y)
    far = m.where(a == INFINITY, -INFINITY, _far_betaln(m, a, b))
    inside = m.where(a + b < BETA_FAR, m.log(_near_beta(m, a, b)), far)
    inside = m.where(b < m.where(a == INFINITY, 0, TINY), m.log1p(b / a) - m.log(b), inside)
    return m.where(b > 0, inside, m.where(b == 0, INFINITY, NAN))


@entry(expansion=_beta, cost=500)
def beta_(g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr | None, Expr | None]:
    """d = beta (digamma(a) - digamma(a + b))."""
    both = words.digamma(a + b)
    return product(g, y * (words.digamma(a) - both)), product(g, y * (words.digamma(b) - both))


@entry(expansion=_betaln, cost=500)
def betaln_(g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr | None, Expr | None]:
    """d = digamma(a) - digamma(a + b)."""
    both = words.digamma(a + b)
    return product(g, words.digamma(a) - both), product(g, words.digamma(b) - both)


@binary(kind="float", oracle="scipy.special.beta", samples=((0.3, 9), (0.3, 9)), ulp=16, method=False)
def beta(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """Euler's beta function, gamma(a) gamma(b) / gamma(a + b), of numbers from 0; NaN elsewhere."""
    return m.beta(a, b)


@binary(kind="float", oracle="scipy.special.betaln", samples=((0.3, 1), (1, 9)), ulp=16, published=False)
def betaln(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """Logarithm of the beta function, of numbers from 0; NaN elsewhere."""
    return m.betaln(a, b)
