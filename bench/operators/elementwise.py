"""PyTorch's elementwise operators and ours."""

from typing import Any

import lucid_nb as lnb
import lucid_nb.special

from .adapters import scaled, swapped, worded


def named(names: str) -> dict[str, Any]:
    """Functions that both libraries call the same."""
    return {name: getattr(lnb, name) for name in names.split()}


def divided(x: lnb.Tensor, y: lnb.Tensor, rounding_mode: str | None = None) -> lnb.Tensor:
    """PyTorch's div, whose quotients may be rounded."""
    return {None: lnb.divide, "floor": lnb.floor_divide, "trunc": lambda x, y: lnb.trunc(x / y)}[rounding_mode](x, y)


def logit(x: lnb.Tensor, eps: float | None = None) -> lnb.Tensor:
    """PyTorch's logit keeps away from 0 and 1 by eps."""
    return lnb.logit(x if eps is None else lnb.clip(x, eps, 1 - eps))


def clamped(x: lnb.Tensor, min: Any = None, max: Any = None) -> lnb.Tensor:
    """PyTorch's clamp."""
    return lnb.clip(x, min, max)


def polygamma(x: lnb.Tensor, order: int) -> lnb.Tensor:
    """The database gives polygamma's arguments the other way round."""
    return lnb.polygamma(order, x)


def nan_to_num(x: lnb.Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> lnb.Tensor:
    """PyTorch's has no `copy`."""
    return lnb.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


UNARY = named("""
    abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor i0 isfinite
    isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not nan_to_num positive rad2deg reciprocal
    round rsqrt sigmoid signbit sin sinc sinh sqrt square tan tanh trunc angle real imag bitwise_not frexp""") | {
    "conj": lnb.conj, "conj_physical": lnb.conj, "frac": lambda x: lnb.modf(x)[0], "neg": lnb.negative,
    "sgn": lnb.sign, "sign": lnb.sign, "logit": logit, "nan_to_num": nan_to_num, "polygamma": polygamma,
    "special.polygamma": polygamma, "mvlgamma": "a sum of lgamma", "special.entr": lnb.entr, "special.ndtr": lnb.ndtr,
    "special.ndtri": lnb.ndtri, "special.log_ndtr": lucid_nb.special.log_ndtr, "special.i0e": lucid_nb.special.i0e,
    "special.i1": lnb.i1, "special.i1e": lucid_nb.special.i1e, "special.erfcx": lucid_nb.special.erfcx,
}

BINARY = named("""
    atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign float_power floor_divide
    fmax fmin fmod gcd heaviside hypot isin lcm ldexp lerp logaddexp logaddexp2 logical_and logical_or logical_xor
    maximum minimum mul nextafter pow remainder true_divide xlogy""") | {
    "add": scaled(lnb.add), "sub": scaled(lnb.subtract), "div": divided, "eq": lnb.equal, "ne": lnb.not_equal,
    "lt": lnb.less, "le": lnb.less_equal, "gt": lnb.greater, "ge": lnb.greater_equal, "clamp": clamped,
    "clamp_min": clamped, "clamp_max": lambda x, max: lnb.clip(x, None, max),
    "where": lambda x, condition, y: lnb.where(condition, x, y),
    "rsub": lambda x, y, alpha=1: lnb.subtract(y, lnb.multiply(alpha, x)),
    "__radd__": swapped(lnb.add), "__rsub__": swapped(lnb.subtract),
    "__rmul__": swapped(lnb.multiply), "__rdiv__": swapped(lnb.divide), "__rmod__": swapped(lnb.remainder),
    "__rpow__": swapped(lnb.power), "special.xlog1py": lnb.xlog1py, "special.zeta": lucid_nb.special.zeta,
    "max.binary": lnb.maximum, "min.binary": lnb.minimum,
    "isclose": lnb.isclose, "allclose": lnb.allclose, "equal": lnb.array_equal,
    "addcmul": "x + value * y * z", "addcdiv": "x + value * y / z", "polar": "r * exp(1j * angle)",
    "igamma": "not asked for", "igammac": "not asked for",
}

TABLE = UNARY | BINARY | {"round": worded(lnb.round)}
