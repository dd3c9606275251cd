"""Layers and losses as functions. Arguments and defaults are PyTorch's, `dim` may also be called `axis`."""

from .activation import GELU_FORMS, gelu, log_softmax, one_axis, relu, sigmoid, softmax, softplus, tanh
from .convolution import conv2d
from .linear import flatten, linear
from .loss import REDUCTIONS, cross_entropy

__all__ = ["GELU_FORMS", "REDUCTIONS", "conv2d", "cross_entropy", "flatten", "gelu", "linear", "log_softmax",
           "one_axis", "relu", "sigmoid", "softmax", "softplus", "tanh"]
