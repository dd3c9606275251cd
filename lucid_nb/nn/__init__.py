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
from .loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    NLLLoss,
    PairwiseDistance,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from .module import Module
from .parameter import Buffer, Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "BCELoss", "BCEWithLogitsLoss", "Buffer", "Conv2d",
           "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "Flatten", "GaussianNLLLoss", "Hardshrink",
           "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity", "KLDivLoss", "L1Loss",
           "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "Mish", "Module",
           "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PReLU",
           "PairwiseDistance", "Parameter", "PoissonNLLLoss", "RReLU", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid",
           "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Swish",
           "Tanh", "Tanhshrink", "Threshold", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "functional",
           "init"]
