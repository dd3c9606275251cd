"""A batch normalisation in evaluation as a part of the layer before it, whose weights it scales."""

import copy
from typing import Any, TypeVar

from ...array import Tensor
from ...creation import ones, zeros
from ...errors import ConfigError, ShapeError
from ...tape import grad_mode
from ..module import Module
from ..parameter import Parameter

Layer = TypeVar("Layer", bound=Module)
Pair = tuple[Parameter, Parameter]


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """A convolution that does what `conv` and then `bn` do, both in evaluation; `transpose` for a transposed one.

    >>> conv, norm = lnb.nn.Conv2d(1, 2, 3).eval(), lnb.nn.BatchNorm2d(2).eval()
    >>> lnb.nn.utils.fuse_conv_bn_eval(conv, norm)
    Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    return _fused("fuse_conv_bn_eval", conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """A linear layer that does what `linear` and then `bn` do, both in evaluation."""
    return _fused("fuse_linear_bn_eval", linear, bn, 0)


def _fused(op: str, layer: Any, bn: Any, axis: int) -> Any:
    if layer.training or bn.training:
        raise ConfigError(f"{op}: a module is in training, whose statistics are not fixed. Call eval() on both.")
    if bn.running_mean is None or bn.running_var is None:
        raise ConfigError(f"{op}: {type(bn).__name__} has no running statistics. Give it track_running_stats=True.")
    found = copy.deepcopy(layer)
    found.weight, found.bias = _weights(op, layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps,
                                        bn.weight, bn.bias, axis)
    return found


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> Pair:
    """Weight and bias of a convolution that does what one with these and a batch normalisation do."""
    return _weights("fuse_conv_bn_weights", conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> Pair:
    """Weight and bias of a linear layer that does what one with these and a batch normalisation do."""
    return _weights("fuse_linear_bn_weights", linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _weights(op: str, weight: Tensor, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float,
             scale: Tensor | None, shift: Tensor | None, axis: int) -> Pair:
    """weight * s and (bias - mean) * s + shift, s being scale / sqrt(variance + eps) of each channel that comes out."""
    with grad_mode(False):
        kind = dict(dtype=weight.dtype, device=weight.device)
        if mean.shape != (weight.shape[axis],):
            raise ShapeError(f"{op}: statistics of {mean.shape} for a weight of shape {weight.shape}. They must have "
                             f"({weight.shape[axis]},).")
        scale = ones(mean.shape, **kind) if scale is None else scale
        shift = zeros(mean.shape, **kind) if shift is None else shift
        bias = zeros(mean.shape, **kind) if bias is None else bias
        factor = scale.detach() * (variance + eps) ** -0.5
        along = [1] * weight.ndim
        along[axis] = -1
        new = weight.detach() * factor.reshape(along), (bias.detach() - mean) * factor + shift.detach()
    return Parameter(new[0].astype(weight.dtype)), Parameter(new[1].astype(weight.dtype))
