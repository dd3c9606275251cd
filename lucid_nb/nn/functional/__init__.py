"""Layers and losses as functions. Arguments and defaults are PyTorch's, `dim` may also be called `axis`."""

from .activation import (
    GELU_FORMS,
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    one_axis,
    prelu,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from .convolution import conv2d
from .linear import flatten, linear
from .loss import REDUCTIONS, cross_entropy

__all__ = ["GELU_FORMS", "REDUCTIONS", "celu", "conv2d", "cross_entropy", "elu", "flatten", "gelu", "glu", "hardshrink",
           "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish",
           "one_axis", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus",
           "softshrink", "softsign", "tanh", "tanhshrink", "threshold"]
