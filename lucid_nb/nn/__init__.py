"""Layers. Names, arguments, defaults and keys of saved weights are PyTorch's."""

from . import functional, init
from .activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Swish,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .container import Sequential
from .conv import Conv2d
from .linear import Flatten, Identity, Linear
from .loss import CrossEntropyLoss
from .module import Module
from .parameter import Buffer, Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Buffer", "Conv2d", "CrossEntropyLoss", "Flatten", "Hardshrink",
           "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax",
           "Mish", "Module", "PReLU", "Parameter", "RReLU", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "Softmax",
           "Softmin", "Softplus", "Softshrink", "Softsign", "Swish", "Tanh", "Tanhshrink", "Threshold", "functional",
           "init"]
