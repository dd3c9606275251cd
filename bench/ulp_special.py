"""Special functions for bench/ulp.py: exact values by MPFR, and by mpmath in 130 bits where MPFR lacks them.

mpmath takes some hundred microseconds a value, so those functions are measured at a 200th of the points. Left of the
origin, next to their zeros, lgamma and digamma are measured in units of the last place of their values at 1 - x, which
cancel there, or of 1 if those are less; tetragamma in those of 1.
"""

from collections.abc import Callable
from typing import Any

import gmpy2
import mpmath
import numpy as np
from gmpy2 import mpfr

RARE = 200
mp = mpmath.mp.clone()
mp.prec = 130


def by_mpmath(function: Callable, digits: int = 0) -> Callable:
    """The value of a function of mpmath as a number of MPFR; with more digits where it cancels."""
    def exact(x: mpfr) -> mpfr:
        with mp.workprec(130 + int(3.33 * digits)):
            value = mp.mpf(function(mp.mpf(float(x))))
            if mp.isinf(value):
                return mpfr(float(value))
            sign, mantissa, exponent, _ = value._mpf_
        return gmpy2.mul_2exp(mpfr(-int(mantissa) if sign else int(mantissa)), exponent) if exponent >= 0 else (
            gmpy2.div_2exp(mpfr(-int(mantissa) if sign else int(mantissa)), -exponent))
    return exact


def reflected(function: Callable) -> Callable:
    """The unit of a function with zeros on the left: 1, or its value on the other side if that is more."""
    return lambda x: max(abs(function(1 - x)), mpfr(1)) if x < 0 else mpfr(0)


def one(x: mpfr) -> mpfr:
    """The unit of 1."""
    return mpfr(1)


def spans(single: tuple[float, float], double: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Intervals for both dtypes."""
    return {"float32": single, "float64": double}


def same(low: float, high: float) -> dict[str, tuple[float, float]]:
    """One interval for both."""
    return spans((low, high), (low, high))


POSITIVE, UNIT = (0.0, np.inf), (0.0, 1.0)
JOINTS = (1.0, 2.0, 3.0)
CASES: dict[str, dict[str, Any]] = {
    "silu": dict(exact=lambda x: x / (1 + gmpy2.exp(-x)), span=spans((-108, 30), (-750, 50)), points=(0.0, -87.3)),
    "tanhshrink": dict(exact=by_mpmath(lambda x: x - mp.tanh(x), 700), span=same(-3, 3), points=(1.0,), rare=True,
                       domain=(-1e3, 1e3)),
    "gamma": dict(exact=gmpy2.gamma, span=spans((-36, 36), (-172, 172)), points=(0.0, *JOINTS, 35.0, 171.6),
                  domain=(-200, 200)),
    "lgamma": dict(exact=lambda x: gmpy2.lgamma(x)[0], span=same(-20, 100), points=(*JOINTS, -2.4570247, -0.5),
                   unit=reflected(lambda x: gmpy2.lgamma(x)[0]), domain=(-1e4, np.inf)),
    "digamma": dict(exact=gmpy2.digamma, span=same(-20, 100), points=(*JOINTS, 1.4616321, -0.504083),
                    unit=reflected(gmpy2.digamma), domain=(-1e4, np.inf)),
    "trigamma": dict(exact=by_mpmath(lambda x: mp.psi(1, x)), span=same(-20, 50), points=JOINTS, rare=True,
                     domain=(-1e4, 1e12)),
    "tetragamma": dict(exact=by_mpmath(lambda x: mp.psi(2, x)), span=same(-20, 50), points=JOINTS, rare=True, unit=one,
                       domain=(-1e4, 1e12)),
    "erfinv": dict(exact=by_mpmath(mp.erfinv), span=same(-1, 1), points=(0.7071, 0.99), domain=(-1, 1), rare=True),
    "erfcinv": dict(exact=by_mpmath(lambda z: mp.erfinv(1 - z), 360), span=same(0, 2), points=(0.2929, 1.7071),
                    domain=(0, 2), rare=True),
    "ndtri": dict(exact=by_mpmath(lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), 360), span=same(0, 1), domain=UNIT,
                  points=(0.1464, 0.8536, 0.5), rare=True),
    "erfcx": dict(exact=by_mpmath(lambda x: mp.exp(x * x) * mp.erfc(x)), span=spans((-9, 20), (-26, 40)), rare=True,
                  domain=(-27, np.inf)),
    "log_ndtr": dict(exact=by_mpmath(lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x))),
                     span=same(-40, 10), points=(-1.0,), domain=(-1e6, 1e2), rare=True),
    "logit": dict(exact=lambda p: gmpy2.log(p / (1 - p)), span=same(0, 1), points=(0.25, 0.5, 0.75), domain=UNIT),
    "i0": dict(exact=by_mpmath(lambda x: mp.besseli(0, x)), span=spans((-91, 91), (-713, 713)), points=(8.0,),
               domain=(-720, 720), rare=True),
    "i1": dict(exact=by_mpmath(lambda x: mp.besseli(1, x)), span=spans((-91, 91), (-713, 713)), points=(8.0,),
               domain=(-720, 720), rare=True),
    "i0e": dict(exact=by_mpmath(lambda x: mp.besseli(0, x) * mp.exp(-abs(x))), span=same(-20, 20), points=(8.0,),
                domain=(-1e4, 1e4), rare=True),
    "i1e": dict(exact=by_mpmath(lambda x: mp.besseli(1, x) * mp.exp(-abs(x))), span=same(-20, 20), points=(8.0,),
                domain=(-1e4, 1e4), rare=True),
}
