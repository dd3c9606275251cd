"""Activations."""

from typing import Any

from ...nn import functional as F
from ...register import functions
from ...shapes import product
from ..table import direct, operator
from ..values import on

direct("Relu Sigmoid Tanh Softsign Mish HardSwish")
direct("", Softplus="softplus")
SELU = 1.67326319217681884765625, 1.05070102214813232421875      # float32's, which the standard writes out


@operator("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.01, consumed_inputs: Any = None) -> Any:
    """alpha x below 0."""
    return F.leaky_relu(x, alpha)


@operator("PRelu", since=7)
def prelu(x: Any, slope: Any, *, consumed_inputs: Any = None) -> Any:
    """slope x below 0; the slope broadcasts."""
    return functions["leaky_relu"](x, slope) if x.dtype.kind == "f" else functions["where"](x < 0, slope * x, x)


@operator("PRelu")
def _prelu_of_channels(x: Any, slope: Any, *, consumed_inputs: Any = None) -> Any:
    """Before opset 7 a slope of one axis is that of the channels."""
    wide = slope.ndim == 1 and slope.shape[0] > 1 and x.ndim > 1
    return functions["leaky_relu"](x, slope.reshape((-1, *[1] * (x.ndim - 2))) if wide else slope)


@operator("Elu")
def elu(x: Any, *, alpha: float = 1.0, consumed_inputs: Any = None) -> Any:
    """alpha (exp(x) - 1) below 0."""
    return F.elu(x, alpha)


@operator("Celu")
def celu(x: Any, *, alpha: float = 1.0) -> Any:
    """alpha (exp(x / alpha) - 1) below 0."""
    return F.celu(x, alpha)


@operator("Selu")
def selu(x: Any, *, alpha: float = SELU[0], gamma: float = SELU[1], consumed_inputs: Any = None) -> Any:
    """gamma times an elu."""
    return gamma * F.elu(x, alpha)


@operator("Gelu")
def gelu(x: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution below x."""
    return F.gelu(x, approximate)


@operator("HardSigmoid")
def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5, consumed_inputs: Any = None) -> Any:
    """alpha x + beta between 0 and 1."""
    return functions["clip"](alpha * x + beta, 0.0, 1.0)


@operator("ThresholdedRelu")
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    """x above alpha, otherwise 0."""
    return F.threshold(x, alpha, 0.0)


@operator("Shrink")
def shrink(x: Any, *, lambd: float = 0.5, bias: float = 0.0) -> Any:
    """What is farther from 0 than lambd, moved towards it by a bias; otherwise 0."""
    where = functions["where"]
    return where(x < -lambd, x + bias, where(x > lambd, x - bias, x * 0)).astype(x.dtype, copy=False)


def _hardmax(x: Any, axis: int) -> Any:
    best = functions["argmax"](x, axis, keepdims=True)
    places = on(x, range(x.shape[axis])).reshape((-1, *[1] * (x.ndim - axis % x.ndim - 1)))
    return (places == best).astype(x.dtype)


for _name, _function in dict(Softmax=F.softmax, LogSoftmax=F.log_softmax, Hardmax=_hardmax).items():
    def _enter(name: str, function: Any) -> None:
        @operator(name, since=13)
        def along(x: Any, *, axis: int = -1) -> Any:
            return function(x, axis=axis)

        @operator(name)
        def of_rows(x: Any, *, axis: int = 1) -> Any:
            """Before opset 13 all axes from this one on are one."""
            lead = product(x.shape[:axis % x.ndim])
            return function(x.reshape((lead, x.size // lead if lead else 0)), axis=1).reshape(x.shape)
    _enter(_name, _function)
