"""Modified Bessel functions of the first kind, of order 0 and 1.

To 8 polynomials in x**2, with positive coefficients; from there sqrt(x) exp(-x) I(x) is a polynomial in 16 / x - 1.
All are Chebyshev fits, made with 60 digits.
"""

from ..expr import Expr, Vocabulary, entry, product
from ..expr import m as words
from ..register import unary
from .polynomial import polynomial

Single = tuple[Expr | None]
NEAR = 8
I0 = (
    8.945227286481786e-34, 4.025388035510853e-31, 3.9693964093519767e-28, 2.585792216220012e-25,
    1.4971317807155651e-22, 7.24187672272501e-20, 2.8969167561484535e-17, 9.385963563008623e-15,
    2.402807613382039e-12, 4.709502788586949e-10, 6.78168402855519e-08, 6.7816840277310415e-06,
    0.00043402777777794754, 0.015624999999999676, 0.2500000000000002, 1.0)
I0_FAR = (
    1.0881994785467737e-10, 3.5253210197019894e-11, -7.473844621887023e-10, -2.7481116372766007e-10,
    2.3981927228948084e-09, 1.0924527246469816e-09, -4.848250922117567e-09, -3.11851456121237e-09,
    6.789790403895646e-09, 7.323310735122982e-09, -5.162517880938974e-09, -1.331979859201998e-08,
    -6.805980075129688e-09, 7.532386417555133e-09, 2.1556811109898745e-08, 3.932926571091252e-08,
    8.872154618944625e-08, 2.9735956581528157e-07, 1.4838475863096976e-06, 1.1143033802583682e-05,
    0.00013621607439187193, 0.0033605519836677235, 0.4021765094450081)
I1 = (
    2.716505589516919e-35, 1.3808181584914298e-32, 1.408926251589232e-29, 9.956969230500738e-27,
    6.2370206832638684e-24, 3.2918259018287706e-21, 1.448455537254395e-18, 5.214425120919993e-16,
    1.5017547367976848e-13, 3.3639305668982475e-11, 5.651403356704746e-09, 6.781684027764357e-07,
    5.42534722222271e-05, 0.0026041666666666574, 0.06250000000000001, 0.5)
I1_FAR = (
    2.242176856140209e-11, -9.491890389455102e-11, -1.6283264304883406e-10, 6.772747843676214e-10,
    5.87066461465504e-10, -2.2624401105396172e-09, -1.5218214056062584e-09, 4.763780077559428e-09,
    3.5017651929450184e-09, -6.9444186336429685e-09, -7.687251308601254e-09, 5.572018397928651e-09,
    1.405174692868538e-08, 6.847578299319394e-09, -8.432168972922966e-09, -2.3394122958371987e-08,
    -4.312849803100776e-08, -1.0001075046243859e-07, -3.483856346425313e-07, -1.8349102493990178e-06,
    -1.5038547198221758e-05, -0.00021923576383137776, -0.009749577193235765, 0.38939845902587233)


def _far(m: Vocabulary, a: Expr, coefficients: tuple[float, ...]) -> Expr:
    """exp(-a) I(a), a >= NEAR."""
    a = m.maximum(a, NEAR)
    return polynomial(2 * NEAR / a - 1, coefficients) / m.sqrt(a)


def _grown(m: Vocabulary, a: Expr, coefficients: tuple[float, ...]) -> Expr:
    """I(a), a >= NEAR; by halves of exp(a), since I(a) may fit where that does not."""
    a = m.minimum(a, 1500)
    half = m.exp(0.5 * a)
    return (half * _far(m, a, coefficients)) * half


def _i0(m: Vocabulary, x: Expr) -> Expr:
    a = m.absolute(x)
    return m.where(a < NEAR, polynomial(x * x, I0), _grown(m, a, I0_FAR))


def _i0e(m: Vocabulary, x: Expr) -> Expr:
    a = m.absolute(x)
    return m.where(a < NEAR, polynomial(x * x, I0) * m.exp(-a), _far(m, a, I0_FAR))


def _i1(m: Vocabulary, x: Expr) -> Expr:
    a = m.absolute(x)
    return m.where(a < NEAR, x * polynomial(x * x, I1), m.copysign(_grown(m, a, I1_FAR), x))


def _i1e(m: Vocabulary, x: Expr) -> Expr:
    a = m.absolute(x)
    return m.where(a < NEAR, x * polynomial(x * x, I1) * m.exp(-a), m.copysign(_far(m, a, I1_FAR), x))


def _over_argument(y: Expr, x: Expr) -> Expr:
    """y / x of a function that begins as x / 2."""
    return words.where(x == 0, 0.5, words.absorbing_quotient(y, x))


@entry(expansion=_i0, cost=40)
def i0_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.i1(x)),)
@entry(expansion=_i1, cost=40)
def i1_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.i0(x) - _over_argument(y, x)),)
@entry(expansion=_i0e, cost=40)
def i0e_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, words.i1e(x) - words.sign(x) * y),)
@entry(expansion=_i1e, cost=40)
def i1e_(g: Expr, y: Expr, x: Expr) -> Single:
    return (product(g, words.i0e(x) - words.sign(x) * y - _over_argument(y, x)),)


@unary(kind="ratio", oracle="scipy.special.i0", samples=((-9, 9),), ulp=8)
def i0(m: Vocabulary, x: Expr) -> Expr:
    """Modified Bessel function of the first kind, of order 0."""
    return m.i0(x)


@unary(kind="float", oracle="scipy.special.i1", samples=((-9, 9),), ulp=8, method=False)
def i1(m: Vocabulary, x: Expr) -> Expr:
    """Modified Bessel function of the first kind, of order 1."""
    return m.i1(x)


@unary(kind="float", oracle="scipy.special.i0e", samples=((0.5, 12),), ulp=8, published=False)
def i0e(m: Vocabulary, x: Expr) -> Expr:
    """i0(x) exp(-|x|), which does not overflow."""
    return m.i0e(x)


@unary(kind="float", oracle="scipy.special.i1e", samples=((0.5, 12),), ulp=8, published=False)
def i1e(m: Vocabulary, x: Expr) -> Expr:
    """i1(x) exp(-|x|), which does not overflow."""
    return m.i1e(x)
