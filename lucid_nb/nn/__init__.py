"""Layers. Names, arguments, defaults and keys of saved weights are PyTorch's."""

from . import functional, init
from .activation import GELU, LogSoftmax, ReLU, Sigmoid, Softmax, Softplus, Tanh
from .container import Sequential
from .conv import Conv2d
from .linear import Flatten, Identity, Linear
from .loss import CrossEntropyLoss
from .module import Module
from .parameter import Buffer, Parameter

__all__ = ["GELU", "Buffer", "Conv2d", "CrossEntropyLoss", "Flatten", "Identity", "Linear", "LogSoftmax", "Module",
           "Parameter", "ReLU", "Sequential", "Sigmoid", "Softmax", "Softplus", "Tanh", "functional", "init"]
