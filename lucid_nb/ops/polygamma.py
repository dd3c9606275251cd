"""digamma and its derivatives, and Hurwitz's zeta function, on the whole real axis. How: see gamma.py."""

import math
from collections.abc import Callable
from typing import Any

from ..array import Tensor
from ..expr import Expr, Operand, Vocabulary, entry, lift, make, product
from ..expr import m as words
from ..register import binary, public, unary
from .gamma import INFINITY, NAN, alternating, cosine, distance, sine
from .polynomial import polynomial

Single = tuple[Expr | None]
# digamma(1 + u) / (t - ROOT - ROOT_REST) in t, and (log(x) - digamma(x)) / w in w, x >= 2.
DIGAMMA = (
    -0.00017312261802727394, 0.00025968482126430747, -0.00015148586836773365, 0.0002272331660987376,
    -0.0004821990530566789, 0.0007233266279287554, -0.0010376374098418604, 0.0015566317474486838,
    -0.002345267632540769, 0.003519006401502276, -0.005279964873257405, 0.007926944646403797, -0.011908218001568644,
    0.0179072524394512, -0.02697579675613825, 0.04076083381242074, -0.061922133273064534, 0.09498872445494122,
    -0.14840492305390884, 0.2405424842407742, -0.4236274212814605, 0.951055876031833)
DIGAMMA_FAR = (
    0.018516488468722787, -0.08641185778791217, 0.1829409687636497, -0.22866234142437097, 0.18101453736603368,
    -0.08637584948675128, 0.01656446662241638, 0.004490758243103709, 0.0004269786153145922, -0.004210408051208012,
    3.2621992765852657e-06, 0.003968082067521024, 6.1000501595899154e-09, -0.008333333468178638,
    1.6203152213308865e-12, 0.08333333333332534, 0.5)
ROOT, ROOT_REST = -0.0383678562939167, 1.2622790435331673e-09     # the first is exact in float32 too
# Of its derivatives of order k: f(1 + u) in t, and ((-1)**(k + 1) f(x) / ((k - 1)! w**k) - 1) / w in w, x >= 2.
TRIGAMMA = (
    -0.0020225715556743875, 0.0029146795300520247, -0.0011593980593327233, 0.001649724591052466,
    -0.004331508544530822, 0.006178903477731779, -0.008040318942244863, 0.011388650813380011, -0.016255026466779662,
    0.022861728277273355, -0.03198496291673483, 0.04456455631327344, -0.0617404572989626, 0.08496893411907179,
    -0.11604072202106154, 0.15705319559990144, -0.21030987313635566, 0.2780808134929046, -0.36214936502368467,
    0.4630645250992974, -0.5790416377778788, 0.7045455170012301, -0.82879664423432, 0.9348022005446793)
TRIGAMMA_FAR = (
    -0.279353416465883, 1.0452926954325559, -1.4245036941046338, 0.30102841556958665, 1.7097666653999206,
    -2.796335393763015, 2.2647229654211025, -1.0357921132628196, 0.18885976919958014, 0.042419787699873,
    0.004361187290222644, -0.03375399665779022, 2.9356484075880375e-05, 0.023808090371791612, 4.645181305708095e-08,
    -0.033333334251960965, 9.609147195107705e-12, 0.16666666666662672, 0.5)
TETRAGAMMA = (
    0.01974722287070104, -0.027556826669640277, 0.006262263401120323, -0.008440209863369049, 0.03436485921236923,
    -0.047202486584765495, 0.05492377136277675, -0.07448599378849317, 0.10308018584206026, -0.1383614169922952,
    0.18403571309183506, -0.24359097746093591, 0.3198052848351795, -0.4158260334220515, 0.5347985345997144,
    -0.6791437581397471, 0.8496879429967121, -1.0443665444816737, 1.2564256144504402, -1.4721691110025494,
    1.6684848799852254, -1.8107468251278644, 1.85225810040591, -1.7371249133336042, 1.4090910340024372,
    -0.82879664423432)
TETRAGAMMA_FAR = (
    17.875328045201293, -85.9503260959053, 185.64797683393715, -233.62224502202784, 182.37500213814883,
    -81.24763810273633, 7.421952918991525, 14.767923944122847, -9.045120414783192, 1.3890151875816537,
    0.5981199468723772, 0.028941794475875065, -0.30259698803860313, 0.000167430834877155, 0.1666591507385167,
    2.2305651126370844e-07, -0.16666667069298913, 3.831886207797991e-11, 0.49999999999985556, 1.0)
PENTAGAMMA = (
    0.300557073678414, -0.4070546381861973, 0.04213344430222181, -0.051581259937772746, 0.4421250066485941,
    -0.5868714861964841, 0.6079714334856691, -0.7916605374248136, 1.0712567817412448, -1.377700232509094,
    1.7478582986011064, -2.207811028158699, 2.761031278915079, -3.4109254944279157, 4.157432077433438,
    -4.989864726550633, 5.882785649953265, -6.7914398517610675, 7.647191433971004, -8.35493228926762,
    8.79497930204999, -8.833014667104216, 8.342424399918903, -7.242987300503239, 5.556774301217749,
    -3.4742498266672266, 1.4090910340024372)
PENTAGAMMA_FAR = (
    -373.88360663361505, 1981.2504617373747, -4832.5919778939, 7152.589293608052, -7103.314190259802,
    4906.70551209035, -2326.6938882478403, 685.6508658509524, -74.27029189435244, -20.975528980384183,
    1.5409673452861217, 4.604200931163787, 0.05499151529401952, -1.5050640148073813, 0.0003204647381611749,
    0.6666528946486817, 3.8509487424237235e-07, -0.5000000064751977, 5.688882650488707e-11, 0.9999999999998036,
    1.5000000000000002)
DERIVATIVES = {1: (TRIGAMMA, TRIGAMMA_FAR), 2: (TETRAGAMMA, TETRAGAMMA_FAR), 3: (PENTAGAMMA, PENTAGAMMA_FAR)}


def _digamma(m: Vocabulary, x: Expr) -> Expr:
    a = m.where(x < 0, 1 - x, x)
    t = m.where(a < 1, a - 0.5, a - 1.5)
    above = ((t - ROOT) - ROOT_REST) * polynomial(t, DIGAMMA)
    near = m.where(a < 1, above * x - 1, above) / m.where(a < 1, x, 1)
    w = 1 / m.maximum(a, 2)
    right = m.where(a < 2, near, m.log(a) - w * polynomial(w, DIGAMMA_FAR))
    r = distance(m, x)
    left = m.where(r == 0, NAN, right - math.pi * (cosine(m, r) / sine(r)))
    return m.where(x < 0, left, right)


@entry(expansion=_digamma, cost=110)
def digamma_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.trigamma(x)),)


def _derivative(order: int) -> Callable[[Vocabulary, Expr], Expr]:
    """The formula of a derivative of digamma."""
    sign, (near_one, far_off) = (-1) ** (order + 1), DERIVATIVES[order]

    def formula(m: Vocabulary, x: Expr) -> Expr:
        a = m.where(x < 0, 1 - x, x)
        w, inverse = 1 / m.maximum(a, 2), 1 / m.where(x < 0, sine(distance(m, x)), x)
        power, pole = w, inverse * inverse
        for _ in range(order - 1):
            power, pole = power * w, pole * inverse
        near = polynomial(m.where(a < 1, a - 0.5, a - 1.5), near_one)
        near = near + sign * math.factorial(order) * m.where(a < 1, pole, 0)
        far = sign * math.factorial(order - 1) * power * (1 + w * polynomial(w, far_off))
        right = m.where(a < 2, near, far)
        turn = math.pi * cosine(m, distance(m, x))
        factor = {1: lift(1), 2: -2 * turn, 3: 2 + 4 * (turn * turn)}[order]
        return m.where(x < 0, factor * pole - sign * right, right)
    return formula


@entry(expansion=_derivative(1), cost=100)
def trigamma(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.tetragamma(x)),)
@entry(expansion=_derivative(2), cost=100)
def tetragamma(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.pentagamma(x)),)
@entry(expansion=_derivative(3), cost=100)
def pentagamma(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.polygamma(4, x)),)


# ------------------------------------------------------------------------------------- zeta and polygamma
TERMS = 8
# Each coefficient of the Euler-Maclaurin series, B(2k) / (2k)!, over the one before it.
RATIOS = (-1 / 60, -1 / 42, -1 / 40, -5 / 198, -691 / 27300, -35 / 1382, -3617 / 142800, -219335 / 8659098,
          -1222277 / 48253700)


def _hurwitz(m: Vocabulary, s: Expr, q: Expr) -> Expr:
    """sum of (q + k)**-s over k >= 0 for q > 0: some terms, then Euler and Maclaurin's series for the rest.

    All relative to q**-s: so no rounding is magnified by s. Where q is large beside s the series alone will do.
    """
    is_near = q < s + TERMS
    terms = [m.exp(-s * m.log1p(k / q)) for k in range(1, TERMS + 1)]
    total = lift(1.0)
    for term in terms[-2::-1]:
        total = total + term
    a = m.where(is_near, q + TERMS, q)
    inverse = 1 / a
    series = lift(1.0)
    for k, ratio in reversed([*enumerate(RATIOS)]):
        series = 1 + ratio * ((s + (2 * k + 1)) * inverse) * ((s + (2 * k + 2)) * inverse) * series
    rest = a / (s - 1) + (0.5 + s * inverse / 12 * series)
    return m.absorbing_product(m.power(q, -s), m.where(is_near, total + terms[-1] * rest, rest))


@entry(expansion=_hurwitz, cost=400)
def hurwitz(g: Expr, y: Expr, s: Expr, q: Expr) -> tuple[None, Expr | None]:
    """Of s there is no derivative."""
    return None, product(g, -s * words.hurwitz(s + 1, q))


def _polygamma(m: Vocabulary, n: Expr, x: Expr) -> Expr:
    """(-1)**s gamma(s) zeta(s, x), s = n + 1; left of 0 the sum over all integers less that over the other side."""
    s = n + 1
    sign = alternating(m, s)
    side = m.hurwitz(s, m.where(x > 0, x, 1 - x))
    r = distance(m, x)
    middle = m.power(m.absolute(r), -s) * m.where(r < 0, sign, 1)
    whole = middle + (m.hurwitz(s, 1 + r) + sign * m.hurwitz(s, 1 - r))
    return sign * m.gamma(s) * m.where(x > 0, side, whole - sign * side)


def _more(n: Expr) -> Operand:
    return n.literal + 1 if n.op == "literal" else n + 1


@entry(expansion=_polygamma, cost=1300)
def polygamma_(g: Expr, y: Expr, n: Expr, x: Expr) -> tuple[None, Expr | None]:
    """Of the order there is no derivative."""
    return None, product(g, words.polygamma(_more(n), x))


NAMED = ("digamma", "trigamma", "tetragamma", "pentagamma")


def _of_order(n: Operand, x: Operand) -> Expr:
    """polygamma(n, x); of low literal orders the functions that have names."""
    n, x = lift(n), lift(x)
    named = dict(enumerate(NAMED)).get(n.literal) if n.op == "literal" else None
    return make(named, (x,)) if named else make("polygamma", (n, x))


Vocabulary.polygamma = staticmethod(_of_order)  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------- records
@unary(kind="float", oracle="scipy.special.digamma", samples=((0.2, 9),), ulp=8)
def digamma(m: Vocabulary, x: Expr) -> Expr:
    """Derivative of lgamma; NaN at negative integers."""
    return m.digamma(x)


@binary(kind="float", published=False, name="polygamma")
def derivative_of_digamma(m: Vocabulary, n: Expr, x: Expr) -> Expr:
    """The n-th derivative of digamma."""
    return m.where(n == 0, m.digamma(x), m.polygamma(n, x))


@public(method=False)
def polygamma(n: Any, x: Any, /) -> Tensor:
    """The n-th derivative of digamma at x, element by element; n holds integers from 0, and gets no gradient.

    Source: the Hurwitz zeta function, (-1)**(n + 1) n! zeta(n + 1, x).

    >>> import lucid_nb as lnb
    >>> round(lnb.polygamma(1, lnb.tensor(1.0)).item(), 6)
    1.644934
    """
    if type(n) is int and 0 <= n < len(NAMED):
        return (digamma, first_derivative, second_derivative, third_derivative)[n](x)
    return derivative_of_digamma(n, x)


@unary(kind="float", oracle="mpmath.trigamma", samples=((0.2, 9),), ulp=8, published=False, name="trigamma")
def first_derivative(m: Vocabulary, x: Expr) -> Expr:
    """Derivative of digamma."""
    return m.trigamma(x)


@unary(kind="float", oracle="mpmath.tetragamma", samples=((0.2, 9),), ulp=8, published=False, name="tetragamma")
def second_derivative(m: Vocabulary, x: Expr) -> Expr:
    """Second derivative of digamma."""
    return m.tetragamma(x)


@unary(kind="float", published=False, name="pentagamma")
def third_derivative(m: Vocabulary, x: Expr) -> Expr:
    """Third derivative of digamma."""
    return m.pentagamma(x)


@binary(kind="float", published=False)
def zeta(m: Vocabulary, s: Expr, q: Expr) -> Expr:
    """Hurwitz's zeta function, the sum of (q + k)**-s over k >= 0, for s > 1 and q > 0; of s there is no gradient."""
    return m.where(s < 1, NAN, m.where(q > 0, m.hurwitz(s, q), m.where(q == m.floor(q), INFINITY, NAN)))
