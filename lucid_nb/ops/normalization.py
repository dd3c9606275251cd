"""Normalisation by the statistics of a batch, of layers, groups and channels. Sources stand with the functions.

All of them are one primitive on x in the form (batch, channels, plane), statistics along axes 0 and 2, or (batch,
groups, channels of a group, plane), statistics along axes 2 and 3. Half floats are computed in float32.
"""

from collections.abc import Sequence
from typing import Any

import ml_dtypes

from .. import backend, dtypes, shapes
from ..apply import apply
from ..array import Tensor, fresh
from ..backward import raw_runner
from ..errors import ConfigError, DTypeError, ShapeError
from ..expr import Expr, Vocabulary
from ..op import Info, Primitive, registry
from ..shapes import Shape
from ..tape import grad_mode
from .movement import as_tensor, astype, reshape
from .reducers import internal

Weights = tuple[Any, Any]
BATCH, GROUP = (0, 2), (2, 3)


# ---------------------------------------------------------------------------------------------- primitives
def _inverse_deviation(m: Vocabulary, variance: Expr, eps: Expr) -> Expr:
    """1 over the standard deviation of variance + eps."""
    return m.reciprocal(m.sqrt(variance + eps))


def _standardized(m: Vocabulary, x: Expr, mean: Expr, scale: Expr, shift: Expr) -> Expr:
    """x with another mean and scale."""
    return (x - mean) * scale + shift


internal(_inverse_deviation, 2)
internal(_standardized, 4)


def _statistics(ops: Any, x: Any, axes: Shape, centred: bool) -> tuple[Any, Any, Any]:
    """x about its mean, the mean, and the biased variance; not centred, about 0."""
    mean = _mean(ops, x, axes)
    mean = mean if centred else ops.multiply(mean, 0)
    centre = ops.subtract(x, mean) if centred else x
    return centre, mean, _mean(ops, ops.multiply(centre, centre), axes)


def _mean(ops: Any, x: Any, axes: Shape) -> Any:
    count = shapes.product(tuple([x.shape[axis] for axis in axes]))
    return ops.multiply(ops.sum(x, axes=axes, keepdims=True), 1 / count if count else float("nan"))


def _normalize(table: Any, x: Any, weight: Any, bias: Any, axes: Shape, eps: float, centred: bool) -> tuple:
    """What was normalised, its mean and its variance."""
    if table.has("normalize"):
        return table.normalize(x, weight, bias, axes, eps, centred)
    ops = raw_runner
    _, mean, variance = _statistics(ops, x, axes, centred)
    scale = ops.multiply(ops.inverse_deviation(variance, eps), weight)
    return ops.standardized(x, mean, scale, bias), mean, variance


def _pull_normalize(ops: Any, info: Info, g: Any, x: Any, weight: Any, mean: Any, variance: Any, axes: Shape,
                    eps: float, centred: bool) -> tuple:
    """The gradients; composed where they are recorded, and where a device has no kernel. Statistics get none."""
    slope = g[0]
    if not ops.records and backend.of(slope).has("normalize_grad"):
        return backend.of(slope).normalize_grad(slope, x, weight, mean, variance, axes, eps, centred)
    centre, _, variance = _statistics(ops, x, axes, centred)
    inverse = ops.inverse_deviation(variance, eps)
    normal, inner = ops.multiply(centre, inverse), ops.multiply(slope, weight)
    tilt = ops.multiply(normal, _mean(ops, ops.multiply(inner, normal), axes))
    level = ops.subtract(inner, _mean(ops, inner, axes)) if centred else inner
    return ops.multiply(inverse, ops.subtract(level, tilt)), ops.multiply(slope, normal), slope


normalize = Primitive("normalize", _normalize, _pull_normalize, keeps=(0, 1, 4, 5))


# ------------------------------------------------------------------------------------------------ operands
def operand(op: str, x: Any, least: int) -> Tensor:
    """A float tensor of at least so many axes."""
    found = as_tensor(op, x)
    if found.ndim < least:
        raise ShapeError(f"{op}: an input of shape {found.shape} has {found.ndim} axes. Give it {least} or more.")
    return astype(found, dtypes.real_float(op, found.dtype), copy=False)


def checked_eps(op: str, eps: float) -> float:
    """eps, unless it is negative or no number."""
    if not eps >= 0:
        raise ConfigError(f"{op}: eps is {eps}. Use a number that is not negative.")
    return float(eps)


def checked_vector(op: str, what: str, given: Any, shape: Shape, x: Tensor) -> Tensor:
    """A tensor of the wanted shape, on x's device."""
    found = as_tensor(op, given)
    if found.shape != shape:
        raise ShapeError(f"{op}: {what} has shape {found.shape} for an input of shape {x.shape}. It must have shape "
                         f"{shape}.")
    if not dtypes.is_inexact(found.dtype) or found.dtype.kind == "c":
        raise DTypeError(f"{op}: {what} is {found.dtype}. Use a real float.")
    return found


def _wide(x: Tensor) -> Tensor:
    return astype(x, dtypes.FLOAT32, copy=False) if x.dtype.itemsize == 2 else x


def _affine(op: str, weights: Weights, shape: Shape, x: Tensor, form: Shape, dtype: Any) -> list[Tensor]:
    """Weight and bias in a form that broadcasts; ones and zeros where there is none."""
    table, found = backend.of(x.raw), []
    for what, given, value in zip(("weight", "bias"), weights, (1, 0)):
        if given is None:
            found.append(fresh(table.full(form, value, dtype)))
        else:
            found.append(reshape(astype(checked_vector(op, what, given, shape, x), dtype, copy=False), form))
    return found


def normalized(op: str, x: Tensor, form: Shape, axes: Shape, weights: Weights, weight_shape: Shape, weight_form: Shape,
               eps: float, centred: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """x normalised in another form, and the statistics, outside any graph."""
    wide = _wide(x)
    weight, bias = _affine(op, weights, weight_shape, x, weight_form, wide.dtype)
    y, mean, variance = apply(normalize, (reshape(wide, form), weight, bias),
                              {"axes": axes, "eps": checked_eps(op, eps), "centred": centred})
    return astype(reshape(y, x.shape), x.dtype, copy=False), mean, variance


# ----------------------------------------------------------------------------------------------- functions
def batch_norm(x: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Any, bias: Any, training: bool,
               momentum: float, eps: float, op: str = "batch_norm") -> Tensor:
    """x normalised by the statistics of each channel (axis 1), or by running ones: see nn.functional.batch_norm."""
    x = operand(op, x, 2)
    channels, count = x.shape[1], shapes.product((x.shape[0], *x.shape[2:]))
    for what, given in (("running_mean", running_mean), ("running_var", running_var)):
        if given is not None:
            checked_vector(op, what, given, (channels,), x)
    if not training:
        if running_mean is None or running_var is None:
            raise ConfigError(f"{op}: running statistics are missing outside training. Give both, or training=True.")
        return _by_running(op, x, running_mean, running_var, (weight, bias), eps)
    if count == 1:
        raise ShapeError(f"{op}: one value a channel in training, shape {x.shape}, has no variance. Use a larger batch "
                         "or .eval().")
    form = (x.shape[0], channels, shapes.product(x.shape[2:]))
    y, mean, variance = normalized(op, x, form, BATCH, (weight, bias), (channels,), (1, channels, 1), eps)
    if count:
        remember(running_mean, mean.raw, momentum)
        remember(running_var, variance.raw, momentum, count / (count - 1))
    return y


def _by_running(op: str, x: Tensor, mean: Tensor, variance: Tensor, weights: Weights, eps: float) -> Tensor:
    """x normalised by statistics that are given."""
    form, dtype = (x.shape[1], *(1,) * (x.ndim - 2)), _wide(x).dtype
    weight, bias = _affine(op, weights, (x.shape[1],), x, (x.shape[1],), dtype)
    scale = apply(registry["inverse_deviation"], (astype(variance, dtype, copy=False), checked_eps(op, eps))) * weight
    middle = astype(mean, dtype, copy=False)
    y = apply(registry["standardized"], (_wide(x), *[reshape(part, form) for part in (middle, scale, bias)]))
    return astype(y, x.dtype, copy=False)


def remember(running: Tensor | None, found: Any, momentum: float, factor: float = 1.0) -> None:
    """Move a running statistic towards what was found, times a factor, by a share."""
    if running is None:
        return
    with grad_mode(False):
        mixed = running * (1 - momentum) + reshape(fresh(found), running.shape) * (momentum * factor)
        running.write(astype(mixed, running.dtype, copy=False), "batch_norm")


def instance_norm(x: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Any, bias: Any,
                  use_input_stats: bool, momentum: float, eps: float) -> Tensor:
    """x normalised in each image by the statistics of each channel: see nn.functional.instance_norm."""
    op = "instance_norm"
    x = operand(op, x, 2)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps, op)
    batch, channels = x.shape[:2]
    plane = shapes.product(x.shape[2:])
    if plane == 1:
        raise ShapeError(f"{op}: one value a channel, shape {x.shape}, has no variance. Use larger images.")
    for what, given in (("running_mean", running_mean), ("running_var", running_var)):
        if given is not None:
            checked_vector(op, what, given, (channels,), x)
    y, mean, variance = normalized(op, x, (batch, channels, 1, plane), GROUP, (weight, bias), (channels,),
                                   (1, channels, 1, 1), eps)
    if batch and plane:
        for running, found, factor in ((running_mean, mean, 1.0), (running_var, variance, plane / (plane - 1))):
            average = raw_runner.multiply(raw_runner.sum(found.raw, axes=(0,), keepdims=False), 1 / batch)
            remember(running, average, momentum, factor)
    return y


def group_norm(x: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    """x normalised in each image by the statistics of groups of channels: see nn.functional.group_norm."""
    x, groups = operand("group_norm", x, 2), shapes.as_integer("group_norm", "num_groups", num_groups)
    batch, channels = x.shape[:2]
    if groups < 1 or channels % groups:
        raise ShapeError(f"group_norm: {channels} channels in {groups} groups. Use a divisor of {channels}.")
    form = (batch, groups, channels // groups, shapes.product(x.shape[2:]))
    return normalized("group_norm", x, form, GROUP, (weight, bias), (channels,), (1, groups, form[2], 1), eps)[0]


def layer_norm(x: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any, eps: float) -> Tensor:
    """x normalised over its last axes: see nn.functional.layer_norm."""
    return _over_last_axes("layer_norm", x, normalized_shape, (weight, bias), eps, True)


def rms_norm(x: Any, normalized_shape: int | Sequence[int], weight: Any, eps: float | None) -> Tensor:
    """x divided by its root mean square over its last axes: see nn.functional.rms_norm."""
    x = operand("rms_norm", x, 1)
    eps = float(ml_dtypes.finfo(x.dtype).eps) if eps is None else eps
    return _over_last_axes("rms_norm", x, normalized_shape, (weight, None), eps, False)


def last_axes(op: str, shape: int | Sequence[int]) -> Shape:
    """The sizes of the last axes, at least one."""
    found = shapes.check_sizes(op, shapes.as_shape(op, shape))
    if not found:
        raise ShapeError(f"{op}: normalized_shape is empty. Give the sizes of the last axes.")
    return found


def _over_last_axes(op: str, x: Any, sizes: int | Sequence[int], weights: Weights, eps: float,
                    centred: bool) -> Tensor:
    x, wanted = operand(op, x, 1), last_axes(op, sizes)
    if x.shape[-len(wanted):] != wanted:
        raise ShapeError(f"{op}: an input of shape {x.shape} does not end in normalized_shape {wanted}. Make both "
                         "agree.")
    width = shapes.product(wanted)
    form = (shapes.product(x.shape[:-len(wanted)]), 1, width, 1)
    return normalized(op, x, form, GROUP, weights, wanted, (1, 1, width, 1), eps, centred)[0]
