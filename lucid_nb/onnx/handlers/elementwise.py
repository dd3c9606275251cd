"""Arithmetic, comparisons, bits and rounding, element by element."""

from functools import reduce
from typing import Any

import numpy as np

from ...array import Tensor
from ...errors import ConfigError, DTypeError
from ...register import functions
from ..library import dtype_of
from ..table import direct, operator

direct("Ceil Cos Cosh Erf Exp Floor Log Reciprocal Sign Sin Sinh Sqrt Tan Tanh IsNaN", Abs="absolute", Acos="arccos",
       Acosh="arccosh", Asin="arcsin", Asinh="arcsinh", Atan="arctan", Atanh="arctanh", BitwiseNot="invert",
       Neg="negative", Not="logical_not", Round="rint")


def _placed(x: Any, y: Any, axis: int | None) -> Any:
    """y with its axes at those of x from `axis` on, as opsets before 7 say it."""
    if axis is None or not y.ndim:
        return y
    return y.reshape((*y.shape, *[1] * (x.ndim - axis % x.ndim - y.ndim)))


def _pair(names: str, function: Any) -> None:
    @operator(*names.split())
    def call(x: Any, y: Any, *, broadcast: int = 0, axis: int | None = None, consumed_inputs: Any = None) -> Any:
        return function(x, _placed(x, y, axis))


def _quotient(x: Any, y: Any) -> Any:
    """Integers are divided towards zero."""
    if x.dtype.kind in "iu":
        return (x - functions["fmod"](x, y)) // y
    return x / y


def _power(x: Any, y: Any) -> Any:
    """In the dtype of the base."""
    return (x ** y).astype(x.dtype, copy=False)


for _name, _ours in dict(Add="add", Sub="subtract", Mul="multiply", And="logical_and", Or="logical_or",
                         Xor="logical_xor", BitwiseAnd="bitwise_and", BitwiseOr="bitwise_or", BitwiseXor="bitwise_xor",
                         Equal="equal", Greater="greater", GreaterOrEqual="greater_equal", Less="less",
                         LessOrEqual="less_equal").items():
    _pair(_name, functions[_ours])
_pair("Div", _quotient)
_pair("Pow", _power)


@operator("Mod")
def mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    """The remainder, of the divisor's sign, or with fmod of the dividend's."""
    return functions["fmod" if fmod else "remainder"](x, y)


@operator("BitShift")
def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    """Bits moved to the left or to the right."""
    if direction not in ("LEFT", "RIGHT"):
        raise ConfigError(f"onnx: BitShift has direction {direction!r}. Use 'LEFT' or 'RIGHT'.")
    return functions["left_shift" if direction == "LEFT" else "right_shift"](x, y)


def _folded(name: str, function: Any) -> None:
    @operator(name)
    def call(*inputs: Any, consumed_inputs: Any = None) -> Any:
        return reduce(function, inputs)


for _name, _ours in dict(Max="maximum", Min="minimum", Sum="add").items():
    _folded(_name, functions[_ours])


@operator("Mean")
def mean(*inputs: Any, consumed_inputs: Any = None) -> Any:
    """The mean of tensors."""
    return reduce(functions["add"], inputs) / len(inputs)


@operator("IsInf")
def isinf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Is it infinite, of the signs that are asked for?"""
    found = functions["isinf"](x)
    found = found if detect_negative else found & (x > 0)
    return found if detect_positive else found & (x < 0)


@operator("Where")
def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, otherwise y."""
    return functions["where"](condition, x, y)


@operator("Clip")
def clip(x: Any, min: Any = None, max: Any = None, *, consumed_inputs: Any = None) -> Any:
    """Between bounds."""
    if min is None and max is None:
        return x
    return functions["clip"](x, min, max)


@operator("Identity")
def identity(x: Any) -> Any:
    """The value itself."""
    return x


def _cast(x: Tensor, dtype: np.dtype) -> Tensor:
    with np.errstate(all="ignore"):                       # a float beyond all integers has no value of the standard's
        return x.astype(dtype)


@operator("Cast", since=6)
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """In another dtype."""
    return _cast(x, dtype_of(to))


@operator("Cast")
def cast_by_name(x: Any, *, to: str) -> Any:
    """In another dtype, which opsets before 6 name by a word."""
    if to.upper() not in ("FLOAT", "DOUBLE", "FLOAT16", "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16",
                          "UINT32", "UINT64"):
        raise DTypeError(f"onnx: Cast to {to!r}, which is no dtype of a tensor here. Convert the model to opset 13.")
    return _cast(x, np.dtype({"FLOAT": "float32", "DOUBLE": "float64"}.get(to.upper(), to.lower())))


@operator("CastLike")
def cast_like(x: Any, target_type: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """In the dtype of another tensor."""
    return _cast(x, target_type.dtype)


@operator("Swish")
def swish(x: Any, *, alpha: float = 1.0) -> Any:
    """x times the sigmoid of alpha x."""
    return functions["silu"](x) if alpha == 1 else x * functions["sigmoid"](alpha * x)


@operator("SwiGLU")
def swiglu(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    """b gated by the swish of a."""
    return swish(a, alpha=alpha) * b
