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
from .classes import (
    cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
)
from .convolution import conv2d
from .distance import (
    cosine_embedding_loss,
    cosine_similarity,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .linear import flatten, linear
from .loss import (
    REDUCTIONS,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)

__all__ = ["GELU_FORMS", "REDUCTIONS", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "conv2d",
           "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "elu", "flatten", "gaussian_nll_loss", "gelu",
           "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "kl_div",
           "l1_loss", "leaky_relu", "linear", "log_softmax", "logsigmoid", "margin_ranking_loss", "mish", "mse_loss",
           "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "one_axis",
           "pairwise_distance", "poisson_nll_loss", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu",
           "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
           "tanhshrink", "threshold", "triplet_margin_loss", "triplet_margin_with_distance_loss"]
