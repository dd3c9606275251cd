"""erf, erfc, the normal distribution function and gelu, each with its whole relative accuracy in the far tail.

For a >= 0, Phi(-a) = exp(-a**2 / 2) P(q) / (a + 1.25), q = (a - k) / (a + k). P is a minimax polynomial (Remez, 50
digits) over all a where the result is not zero. It is nearly constant, so that rounding in its steps hardly counts;
a**2 enters the exponential in two parts, since its rounding alone would cost a**2 ULP; what the other roundings lose is
carried along and added at the end.
"""
from ..intrinsics import copysign, fabs, multiply_add
from .common import constants, exact, f4, quick_two_sum, quotient_parts, scalar, two_sum
from .exponential import (
    TWICE4,
    TWICE8,
    expm1_parts_float32,
    expm1_parts_float64,
    scaled_float32,
    scaled_float64,
    square_parts_float32,
    square_parts_float64,
)

P4 = constants(f4, "-7.0314265e-05 -7.568201e-05 0.0006490355 -0.00014089784 -0.004877827 0.015816346 -0.0244811 "
                   "0.010673212 0.045094416 -0.1393029 0.49565586")
P8 = constants(float, "1.479856805221186e-09 2.889441373898249e-09 -1.4877114696999573e-08 -2.0834651234202617e-08 "
                      "1.2649247314518657e-07 1.4781428056527651e-08 -9.715295965467891e-07 1.6047897994629749e-06 "
                      "4.531894227217894e-06 -2.498197521236443e-05 3.266744067826899e-05 0.00012258319192384555 "
                      "-0.0008239014028315151 0.0026822924837688836 -0.006205337422292571 0.011035255170481763 "
                      "-0.015019559475147987 0.013828832106458046 -0.0019357291735216733 -0.024849896729394465 "
                      "0.06626929792504782 -0.11582454567002545 0.46965002885223966")
P_REST4, P_REST8 = f4(2.655098706714989e-09), -8.557165802497147e-18                      # what rounding P(0) lost
K4, K8 = f4(4.0), 6.0
ROOT_TWO4, ROOT_TWO_REST4 = f4(1.41421356), f4(2.4203235e-8)
ROOT_TWO8, ROOT_TWO_REST8 = 1.4142135623730951, -9.6672933134529135e-17
NEAR4 = constants(f4, "7.85386175855285500564e-5 -8.01019375646353443659e-4 5.18832770198300024475e-3 "
                      "-0.0268538119449195909867 0.11283585148889265126 -0.376126258242652810212 "
                      "0.128379165726719868864")
NEAR8 = constants(float, "5.94525827930620914294e-11 -1.13656638975627650008e-9 1.46578793080454292338e-8 "
                         "-1.6350025143827995677e-7 1.64609728097153496723e-6 -1.49255935064473622907e-5 "
                         "1.20553310368819429282e-4 -8.54832697874174687114e-4 5.22397762478085934962e-3 "
                         "-0.0268661706450728942171 0.112837916709548574893 -0.376126389031837476042 "
                         "0.12837916709551257390")
FAR_N4 = constants(f4, "-8.211743e-05 0.31357968 0.9513345 1.2597564")
FAR_D4 = constants(f4, "0.55291796 1.7114114 2.3821833 1.2578031")
FAR_N8 = constants(float, "-5.5358433857833086e-11 0.003929835302970466 0.04388457948628969 0.23778132408479905 "
                          "0.7762155744777153 1.6007622919675313 1.9932973163597985 1.2224474543381338")
FAR_D8 = constants(float, "0.006965446095760769 0.07778354382185534 0.4249365673901514 1.4147289216270378 "
                          "3.04424487644624 4.183975719845187 3.3726821979637363 1.2224473832800946")


@scalar
def _slope_float32(q):
    """(P(q) - P(0)) / q."""
    p = (((P4[0] * q + P4[1]) * q + P4[2]) * q + P4[3]) * q + P4[4]
    return ((((p * q + P4[5]) * q + P4[6]) * q + P4[7]) * q + P4[8]) * q + P4[9]


@scalar
def _slope_float64(q):
    p = ((((P8[0] * q + P8[1]) * q + P8[2]) * q + P8[3]) * q + P8[4]) * q + P8[5]
    p = (((((p * q + P8[6]) * q + P8[7]) * q + P8[8]) * q + P8[9]) * q + P8[10]) * q + P8[11]
    p = (((((p * q + P8[12]) * q + P8[13]) * q + P8[14]) * q + P8[15]) * q + P8[16]) * q + P8[17]
    return (((p * q + P8[18]) * q + P8[19]) * q + P8[20]) * q + P8[21]


@exact
def _tail_float32(a, a_rest, s):
    """exp(a**2 / 2) Phi(-a) (1 + s) as a sum of two, for the argument a + a_rest."""
    d, d_rest = two_sum(a, f4(1.25))
    q = (a - K4) / (a + K4)
    p, p_rest = quick_two_sum(P4[10], q * _slope_float32(q))
    v, rest = quotient_parts(p, p_rest + P_REST4, d, d_rest + a_rest, f4(1) / d)
    return v, multiply_add(v, s, rest)


@exact
def _tail_float64(a, a_rest, s):
    d, d_rest = two_sum(a, 1.25)
    q = (a - K8) / (a + K8)
    p, p_rest = quick_two_sum(P8[22], q * _slope_float64(q))
    v, rest = quotient_parts(p, p_rest + P_REST8, d, d_rest + a_rest, 1.0 / d)
    return v, multiply_add(v, s, rest)


@exact
def erfc_float32(x):
    """2 Phi(-sqrt(2) x)."""
    t = f4(10.5) if fabs(x) > f4(10.5) else fabs(x)
    high, low = square_parts_float32(t)
    s, word = expm1_parts_float32(-high, -low, TWICE4)
    a = t * ROOT_TWO4
    a_rest = multiply_add(t, ROOT_TWO4, -a) + t * ROOT_TWO_REST4
    v, rest = _tail_float32(a, a_rest, s)
    tail = scaled_float32(f4(2) * (v + rest), word)
    return f4(2) - tail if x < f4(0) else tail


@exact
def erfc_float64(x):
    t = 27.5 if fabs(x) > 27.5 else fabs(x)
    high, low = square_parts_float64(t)
    s, word = expm1_parts_float64(-high, -low, TWICE8)
    a = t * ROOT_TWO8
    a_rest = multiply_add(t, ROOT_TWO8, -a) + t * ROOT_TWO_REST8
    v, rest = _tail_float64(a, a_rest, s)
    tail = scaled_float64(2.0 * (v + rest), word)
    return 2.0 - tail if x < 0.0 else tail


@scalar
def erf_float32(x):
    """Odd polynomial to 1; above, 1 - erfc(t) with exp(t**2) erfc(t) rational, which needs no care there."""
    t = f4(4.0) if fabs(x) > f4(4.0) else fabs(x)
    s = t * t
    near = ((NEAR4[0] * s + NEAR4[1]) * s + NEAR4[2]) * s + NEAR4[3]
    near = ((near * s + NEAR4[4]) * s + NEAR4[5]) * s + NEAR4[6]
    n = ((FAR_N4[0] * t + FAR_N4[1]) * t + FAR_N4[2]) * t + FAR_N4[3]
    d = ((FAR_D4[0] * t + FAR_D4[1]) * t + FAR_D4[2]) * t + FAR_D4[3]
    e, word = expm1_parts_float32(-s, f4(0), TWICE4)
    far = f4(1) - scaled_float32((n * e + n) / d, word)
    return copysign(near * t + t if t <= f4(1) else far, x)


@scalar
def erf_float64(x):
    t = 6.0 if fabs(x) > 6.0 else fabs(x)
    s = t * t
    near = ((NEAR8[0] * s + NEAR8[1]) * s + NEAR8[2]) * s + NEAR8[3]
    near = ((((near * s + NEAR8[4]) * s + NEAR8[5]) * s + NEAR8[6]) * s + NEAR8[7]) * s + NEAR8[8]
    near = (((near * s + NEAR8[9]) * s + NEAR8[10]) * s + NEAR8[11]) * s + NEAR8[12]
    n = ((FAR_N8[0] * t + FAR_N8[1]) * t + FAR_N8[2]) * t + FAR_N8[3]
    n = (((n * t + FAR_N8[4]) * t + FAR_N8[5]) * t + FAR_N8[6]) * t + FAR_N8[7]
    d = ((FAR_D8[0] * t + FAR_D8[1]) * t + FAR_D8[2]) * t + FAR_D8[3]
    d = (((d * t + FAR_D8[4]) * t + FAR_D8[5]) * t + FAR_D8[6]) * t + FAR_D8[7]
    e, word = expm1_parts_float64(-s, 0.0, TWICE8)
    far = 1.0 - scaled_float64((n * e + n) / d, word)
    return copysign(near * t + t if t <= 1.0 else far, x)


@exact
def _lower_tail_float32(a):
    """Phi(-a) before scaling, a >= 0, as a sum of two, and the word to scale with."""
    high, low = square_parts_float32(a)
    s, word = expm1_parts_float32(f4(-0.5) * high, f4(-0.5) * low, TWICE4)
    v, rest = _tail_float32(a, f4(0), s)
    return v, rest, word


@exact
def _lower_tail_float64(a):
    high, low = square_parts_float64(a)
    s, word = expm1_parts_float64(-0.5 * high, -0.5 * low, TWICE8)
    v, rest = _tail_float64(a, 0.0, s)
    return v, rest, word


@exact
def normal_cdf_float32(x):
    v, rest, word = _lower_tail_float32(f4(14.7) if fabs(x) > f4(14.7) else fabs(x))
    tail = scaled_float32(v + rest, word)
    return tail if x < f4(0) else f4(1) - tail


@exact
def normal_cdf_float64(x):
    v, rest, word = _lower_tail_float64(38.9 if fabs(x) > 38.9 else fabs(x))
    tail = scaled_float64(v + rest, word)
    return tail if x < 0.0 else 1.0 - tail


@exact
def gelu_float32(x):
    """x Phi(x) = max(x, 0) - |x| Phi(-|x|); the product comes before the scaling, where it would round twice."""
    a = f4(14.7) if fabs(x) > f4(14.7) else fabs(x)
    v, rest, word = _lower_tail_float32(a)
    return (f4(-0.0) if x < f4(0) else x) - scaled_float32(multiply_add(a, v, a * rest), word)


@exact
def gelu_float64(x):
    a = 38.9 if fabs(x) > 38.9 else fabs(x)
    v, rest, word = _lower_tail_float64(a)
    return (-0.0 if x < 0.0 else x) - scaled_float64(multiply_add(a, v, a * rest), word)
