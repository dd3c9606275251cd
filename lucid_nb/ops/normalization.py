"""Normalisation by the statistics of a batch, of layers, groups and channels. Sources stand with the functions.

All of them are one primitive on x in the form (batch, channels, plane), statistics along axes 0 and 2, or (batch,
groups, channels of a group, plane), statistics along axes 2 and 3. Half floats are computed in float32.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import backend, dtypes, flops, shapes, tape
from ..apply import apply
from ..array import Tensor
from ..backward import raw_runner
from ..errors import ConfigError, DTypeError, ShapeError
from ..expr import Expr, Vocabulary
from ..op import Info, Primitive, registry
from ..register import functions
from ..remembered import constant, remembered
from ..shapes import Shape, as_number
from .composite import composite
from .movement import as_tensor, astype
from .reducers import internal

Weights = tuple[Any, Any]
BATCH, GROUP = (0, 2), (2, 3)
FLOATS = (dtypes.FLOAT32, dtypes.FLOAT64)


# ---------------------------------------------------------------------------------------------- primitives
def _inverse_deviation(m: Vocabulary, variance: Expr, eps: Expr) -> Expr:
    """1 over the standard deviation of variance + eps."""
    return m.reciprocal(m.sqrt(variance + eps))


def _standardized(m: Vocabulary, x: Expr, mean: Expr, scale: Expr, shift: Expr) -> Expr:
    """x with another mean and scale."""
    return (x - mean) * scale + shift


def _remembered(m: Vocabulary, running: Expr, found: Expr, momentum: Expr, factor: Expr) -> Expr:
    """A running statistic moved by a share towards what was found, times a factor."""
    return running * (1 - momentum) + found * (momentum * factor)


for _formula, _arity in ((_inverse_deviation, 2), (_standardized, 4), (_remembered, 4)):
    internal(_formula, _arity)


def _statistics(ops: Any, x: Any, axes: Shape, centred: bool) -> tuple[Any, Any, Any]:
    """x about its mean, the mean, and the biased variance; not centred, about 0."""
    mean = _mean(ops, x, axes)
    mean = mean if centred else ops.multiply(mean, 0)
    centre = ops.subtract(x, mean) if centred else x
    return centre, mean, _mean(ops, ops.multiply(centre, centre), axes)


def _mean(ops: Any, x: Any, axes: Shape) -> Any:
    count = shapes.product(tuple([x.shape[axis] for axis in axes]))
    return ops.multiply(ops.sum(x, axes=axes, keepdims=True), 1 / count if count else float("nan"))


class Form(NamedTuple):
    """How x is normalised: its shape as a batch or as groups, that of weights, and which axes have statistics."""

    shape: Shape
    weights: Shape
    axes: Shape
    eps: float
    centred: bool = True


def _is_wider(table: Any, weight: Any, x: Any) -> bool:
    """Is x of half floats, which the device does not normalise beside weights in float32?"""
    return x.dtype != weight.dtype and "normalize" not in getattr(table.module, "HALVES", ())


def _normalize(table: Any, x: Any, weight: Any, bias: Any, form: Form) -> tuple:
    """What was normalised, in the shape of x, and in that of the form its mean and its variance, which like weights are
    float32 where x is of half floats."""
    if _is_wider(table, weight, x):
        y, *found = _normalize(table, table.cast(x, table.dtype_of(weight)), weight, bias, form)
        return table.cast(y, table.dtype_of(x)), *found
    if table.has("normalize"):
        return table.normalize(x, weight, bias, form.shape, form.axes, form.eps, form.centred)
    reshape, shape, ops = table.reshape, tuple(x.shape), raw_runner
    x, weight, bias = reshape(x, form.shape), reshape(weight, form.weights), reshape(bias, form.weights)
    _, mean, variance = _statistics(ops, x, form.axes, form.centred)
    scale = ops.multiply(ops.inverse_deviation(variance, form.eps), weight)
    return reshape(ops.standardized(x, mean, scale, bias), shape), mean, variance


def _pull_normalize(ops: Any, info: Info, g: Any, x: Any, weight: Any, mean: Any, variance: Any, form: Form) -> tuple:
    """The gradients; composed where they are recorded, and where a device has no kernel. Statistics get none."""
    slope, (narrow, dtype) = g[0], (info.dtype(0), info.dtype(1))
    table = backend.of(slope)
    is_composed = ops.records or not table.has("normalize_grad")
    widens = narrow != dtype and (is_composed or _is_wider(table, weight, x))
    if widens:
        slope, x = ops.cast(slope, dtype=dtype), ops.cast(x, dtype=dtype)
    if is_composed:
        of_x, *others = _composed(ops, info, slope, x, weight, form)
    else:
        of_x, *others = table.normalize_grad(slope, x, weight, mean, variance, form.shape, form.axes, form.eps,
                                             form.centred)
    return ops.cast(of_x, dtype=narrow) if widens else of_x, *others


def _composed(ops: Any, info: Info, slope: Any, x: Any, weight: Any, form: Form) -> tuple:
    """The gradients by other ops, of what is recorded."""
    slope, x, weight = [ops.reshape(part, shape=shape) for part, shape in
                        ((slope, form.shape), (x, form.shape), (weight, form.weights))]
    centre, _, variance = _statistics(ops, x, form.axes, form.centred)
    inverse = ops.inverse_deviation(variance, form.eps)
    normal, inner = ops.multiply(centre, inverse), ops.multiply(slope, weight)
    tilt = ops.multiply(normal, _mean(ops, ops.multiply(inner, normal), form.axes))
    level = ops.subtract(inner, _mean(ops, inner, form.axes)) if form.centred else inner
    of_x = ops.multiply(inverse, ops.subtract(level, tilt))
    others = tuple([axis for axis, (one, size) in enumerate(zip(form.weights, form.shape)) if one != size])
    sums = [ops.sum(part, axes=others, keepdims=True) if others else part
            for part in (ops.multiply(slope, normal), slope)]
    return tuple([ops.reshape(part, shape=info.shape(number)) for number, part in enumerate((of_x, *sums))])


normalize = Primitive("normalize", _normalize, _pull_normalize, keeps=(0, 1, 4, 5),
                      flops=flops.per_input(8), gradient_flops=2)


# ------------------------------------------------------------------------------- by statistics that are given
def _per_channel(ops: Any, part: Any, ndim: int) -> Any:
    """A number for each channel, so that it broadcasts beside x of so many axes."""
    return part if ndim == 2 else ops.reshape(part, shape=(*part.shape, *(1,) * (ndim - 2)))


def _normalize_by(ops: Any, x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    scale = ops.multiply(ops.inverse_deviation(variance, eps), weight)
    return ops.standardized(x, *[_per_channel(ops, part, len(x.shape)) for part in (mean, scale, bias)])


def _pull_normalize_by(ops: Any, info: Info, g: Any, x: Any, mean: Any, variance: Any, weight: Any,
                       eps: float) -> tuple:
    of_x, of_mean, of_variance, of_weight, of_bias = info.wanted
    ndim, inverse = len(x.shape), ops.inverse_deviation(variance, eps)
    scale, along = ops.multiply(inverse, weight), dict(axes=(0, *range(2, ndim)), keepdims=False)
    slope = ops.sum(g, **along) if of_mean or of_bias else None
    by_centre = None
    if of_variance or of_weight:
        by_centre = ops.multiply(inverse, ops.sum(ops.multiply(
            g, ops.subtract(x, _per_channel(ops, mean, ndim))), **along))
    return (ops.multiply(g, _per_channel(ops, scale, ndim)) if of_x else None,
            ops.negative(ops.multiply(slope, scale)) if of_mean else None,
            ops.multiply(by_centre, ops.multiply(ops.multiply(inverse, scale), -0.5)) if of_variance else None,
            by_centre if of_weight else None, slope if of_bias else None)


normalize_by = composite("normalize_by", _normalize_by, _pull_normalize_by, keeps=(0, 1, 2, 3),
                         flops=flops.normalize_by)


# ------------------------------------------------------------------------------------------------ operands
def operand(op: str, x: Any, least: int) -> Tensor:
    """A float tensor of at least so many axes."""
    found = as_tensor(op, x)
    if found.ndim < least:
        raise ShapeError(f"{op}: an input of shape {found.shape} has {found.ndim} axes. Give it {least} or more.")
    wanted = found.dtype if found.dtype in FLOATS else dtypes.real_float(op, found.dtype, found.device)
    return astype(found, wanted, copy=False)


def checked_eps(op: str, eps: float, of_batch: bool = False) -> float:
    """eps, unless it is no number, or negative where batches are normalised, as in PyTorch."""
    found = as_number(op, "eps", eps)
    if of_batch and not found >= 0:
        raise ConfigError(f"{op}: eps is {eps}. Use a number that is not negative.")
    return found


def checked_vector(op: str, what: str, given: Any, shape: Shape, x: Tensor) -> Tensor:
    """A tensor of the wanted shape, on x's device."""
    found = as_tensor(op, given)
    if found.shape == shape and found.dtype == x.dtype:
        return found
    if found.shape != shape:
        raise ShapeError(f"{op}: {what} has shape {found.shape} for an input of shape {x.shape}. It must have shape "
                         f"{shape}.")
    if not dtypes.is_inexact(found.dtype) or found.dtype.kind == "c":
        raise DTypeError(f"{op}: {what} is {found.dtype}. Use a real float.")
    return found


def _as(x: Tensor, dtype: Any) -> Tensor:
    return x if x.dtype == dtype else astype(x, dtype)


def _wide(dtype: Any) -> Any:
    return dtypes.FLOAT32 if dtype.itemsize == 2 else dtype


def _affine(op: str, weights: Weights, shape: Shape, x: Tensor, dtype: Any) -> list[Tensor]:
    """Weight and bias; ones and zeros where there is none."""
    return [constant(backend.of(x.raw), shape, value, dtype) if given is None else
            _as(checked_vector(op, what, given, shape, x), dtype)
            for what, given, value in zip(("weight", "bias"), weights, (1, 0))]


def _normalized(op: str, x: Tensor, weights: Weights, weight_shape: Shape,
                form: Form) -> tuple[Tensor, Tensor, Tensor]:
    """x normalised, and the statistics."""
    parts = _affine(op, weights, weight_shape, x, _wide(x.dtype))
    found: tuple[Tensor, Tensor, Tensor] = apply(normalize, (x, *parts), {"form": form})
    return found


# ----------------------------------------------------------------------------------------------- functions
def batch_norm(x: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Any, bias: Any, training: bool,
               momentum: float, eps: float, op: str = "batch_norm") -> Tensor:
    """x normalised by the statistics of each channel (axis 1), or by running ones: see nn.functional.batch_norm."""
    if not training:
        return by_running(op, x, running_mean, running_var, weight, bias, eps)
    y, mean, variance = _by_batch(op, x, running_mean, running_var, weight, bias, eps)
    count = y.size // max(y.shape[1], 1)
    if count:
        _remember(running_mean, mean.raw, momentum, 1.0)
        _remember(running_var, variance.raw, momentum, count / (count - 1))
    return y


Running = tuple[Tensor | None, Tensor | None]


def _running(op: str, mean: Any, variance: Any, x: Tensor) -> Running:
    """The running statistics, if they have an element for each channel."""
    found = [None if given is None else checked_vector(op, what, given, x.shape[1:2], x)
             for what, given in (("running_mean", mean), ("running_var", variance))]
    return found[0], found[1]


@remembered
def by_running(op: str, x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float) -> Tensor:
    """x normalised by statistics that are given."""
    x = operand(op, x, 2)
    eps, dtype = checked_eps(op, eps, True), _wide(x.dtype)
    running = [part for part in _running(op, running_mean, running_var, x) if part is not None]
    if len(running) < 2:
        raise ConfigError(f"{op}: running statistics are missing outside training. Give both, or training=True.")
    parts = [*[_as(part, dtype) for part in running], *_affine(op, (weight, bias), (x.shape[1],), x, dtype)]
    return _as(apply(normalize_by, (_as(x, dtype), *parts), {"eps": eps}), x.dtype)


@remembered
def _by_batch(op: str, x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any,
              eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """x normalised by the statistics of each channel, and these; running ones are only checked."""
    x = operand(op, x, 2)
    (batch, channels, *rest), eps = x.shape, checked_eps(op, eps, True)
    _running(op, running_mean, running_var, x)
    plane = math.prod(rest)
    if batch * plane == 1:
        raise ShapeError(f"{op}: one value a channel in training, shape {x.shape}, has no variance. Use a larger batch "
                         "or .eval().")
    form = Form((batch, channels, plane), (1, channels, 1), BATCH, eps)
    return _normalized(op, x, (weight, bias), (channels,), form)


def _remember(given: Any, found: Any, momentum: float, factor: float) -> None:
    """Move a running statistic towards what was found, times a factor, by a share."""
    if given is None or tape.modes.repeats:
        return
    running = as_tensor("batch_norm", given)
    table = backend.of(found)
    if table.has("remember") and running.refresh().node is None:
        running.check_writable("batch_norm")
        table.remember(running.raw, found, momentum, factor)
        running.mark_written("batch_norm")
    else:
        given = Tensor(table.reshape(found, running.shape))
        running.write(apply(registry["remembered"], (running.detach(), given, momentum, factor)), "batch_norm")


def instance_norm(x: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Any, bias: Any,
                  use_input_stats: bool, momentum: float, eps: float) -> Tensor:
    """x normalised in each image by the statistics of each channel: see nn.functional.instance_norm."""
    op = "instance_norm"
    x = operand(op, x, 2)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps, op)
    batch, channels = x.shape[:2]
    plane, running = math.prod(x.shape[2:]), _running(op, running_mean, running_var, x)
    if plane == 1:
        raise ShapeError(f"{op}: one value a channel, shape {x.shape}, has no variance. Use larger images.")
    form = Form((batch, channels, 1, plane), (1, channels, 1, 1), GROUP, checked_eps(op, eps))
    y, *found = _normalized(op, x, (weight, bias), (channels,), form)
    if batch and plane:
        for given, part, factor in zip(running, found, (1.0, plane / (plane - 1))):
            average = raw_runner.multiply(raw_runner.sum(part.raw, axes=(0,), keepdims=False), 1 / batch)
            _remember(given, average, momentum, factor)
    return y


def group_norm(x: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    """x normalised in each image by the statistics of groups of channels: see nn.functional.group_norm."""
    x, groups = operand("group_norm", x, 2), shapes.as_integer("group_norm", "num_groups", num_groups)
    batch, channels = x.shape[:2]
    if groups < 1 or channels % groups:
        raise ShapeError(f"group_norm: {channels} channels in {groups} groups. Use a divisor of {channels}.")
    inside = channels // groups
    form = Form((batch, groups, inside, math.prod(x.shape[2:])), (1, groups, inside, 1), GROUP,
                checked_eps("group_norm", eps))
    return _normalized("group_norm", x, (weight, bias), (channels,), form)[0]


def layer_norm(x: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any, eps: float) -> Tensor:
    """x normalised over its last axes: see nn.functional.layer_norm."""
    return _over_last_axes("layer_norm", operand("layer_norm", x, 1), normalized_shape, (weight, bias), eps, True)


def rms_norm(x: Any, normalized_shape: int | Sequence[int], weight: Any, eps: float | None) -> Tensor:
    """x divided by its root mean square over its last axes: see nn.functional.rms_norm."""
    x = as_tensor("rms_norm", x)
    if x.dtype.kind == "c":
        return _complex_rms_norm(x, normalized_shape, weight, eps)
    x = operand("rms_norm", x, 1)
    eps = float(ml_dtypes.finfo(x.dtype).eps) if eps is None else eps
    return _over_last_axes("rms_norm", x, normalized_shape, (weight, None), eps, False)


def _complex_rms_norm(x: Tensor, sizes: int | Sequence[int], weight: Any, eps: float | None) -> Tensor:
    """By the squares themselves, as PyTorch has it, not by those of their sizes."""
    wanted = checked_last_axes("rms_norm", x, sizes)
    eps = float(np.finfo(x.dtype).eps) if eps is None else checked_eps("rms_norm", eps)
    mean = (x * x).mean(tuple(range(x.ndim - len(wanted), x.ndim)), keepdims=True)
    found = x * functions["rsqrt"](mean + eps)
    return found if weight is None else found * weight


def last_axes(op: str, shape: int | Sequence[int]) -> Shape:
    """The sizes of the last axes, at least one."""
    found = shapes.check_sizes(op, shapes.as_shape(op, shape))
    if not found:
        raise ShapeError(f"{op}: normalized_shape is empty. Give the sizes of the last axes.")
    return found


def checked_last_axes(op: str, x: Tensor, sizes: int | Sequence[int]) -> Shape:
    """The sizes of the last axes, in which x ends."""
    wanted = last_axes(op, sizes)
    if x.shape[-len(wanted):] != wanted:
        raise ShapeError(f"{op}: an input of shape {x.shape} does not end in normalized_shape {wanted}. Make both "
                         "agree.")
    return wanted


def _over_last_axes(op: str, x: Tensor, sizes: int | Sequence[int], weights: Weights, eps: float,
                    centred: bool) -> Tensor:
    wanted = checked_last_axes(op, x, sizes)
    rows, width = math.prod(x.shape[:-len(wanted)]), math.prod(wanted)
    form = Form((rows, 1, width, 1), (1, 1, width, 1), GROUP, checked_eps(op, eps), centred)
    return _normalized(op, x, weights, wanted, form)[0]
