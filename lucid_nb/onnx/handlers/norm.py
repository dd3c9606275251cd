"""Normalisations."""

from typing import Any

from ...nn import functional as F
from ...register import functions
from ..table import Node, operator
from ..values import axes_of


@operator("BatchNormalization", fixed=("mean", "var"))
def batch_norm(x: Any, scale: Any, b: Any, mean: Any, var: Any, *, epsilon: float = 1e-5, momentum: float = 0.9,
               training_mode: int = 0, is_test: int = 1, spatial: int = 1, consumed_inputs: Any = None,
               node: Node) -> Any:
    """Normalised by statistics of each channel: given ones, or in training those of the batch."""
    if not training_mode or node.opset < 14:
        return F.batch_norm(x, mean, var, scale, b, False, 0.0, epsilon)
    axes = (0, *range(2, x.ndim))
    found = F.batch_norm(x, None, None, scale, b, True, 0.0, epsilon)
    own = [functions[name](x, axis=axes).detach().astype(mean.dtype) for name in ("mean", "var")]
    return found, *[given * momentum + new * (1 - momentum) for given, new in zip((mean, var), own)]


@operator("InstanceNormalization")
def instance_norm(x: Any, scale: Any, b: Any, *, epsilon: float = 1e-5, consumed_inputs: Any = None) -> Any:
    """Normalised by statistics of each plane."""
    return F.instance_norm(x, None, None, scale, b, True, 0.0, epsilon)


@operator("GroupNormalization", since=21)
def group_norm(x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """Normalised by statistics of groups of channels."""
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@operator("GroupNormalization", since=18)
def group_norm_by_groups(x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5) -> Any:
    """Before opset 21 weights are those of groups."""
    wide = [functions["repeat"](part, x.shape[1] // num_groups) for part in (scale, bias)]
    return F.group_norm(x, num_groups, *wide, epsilon)


def _whole(weight: Any, shape: tuple[int, ...]) -> Any:
    """A weight in the shape that is normalised."""
    return weight if weight is None or weight.shape == shape else functions["broadcast_to"](weight, shape)


@operator("LayerNormalization")
def layer_norm(x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
               node: Node) -> Any:
    """Normalised over the axes from one on; with the means and the inverse deviations."""
    start = axis % x.ndim
    sizes, axes = x.shape[start:], tuple(range(start, x.ndim))
    found = F.layer_norm(x, sizes, _whole(scale, sizes), _whole(b, sizes), epsilon)
    if len(node.outputs) == 1:
        return found
    wide = x.astype("float32", copy=False) if x.dtype.itemsize == 2 else x
    variance = functions["var"](wide, axis=axes, keepdims=True)
    return found, functions["mean"](wide, axis=axes, keepdims=True), functions["rsqrt"](variance + epsilon)


@operator("RMSNormalization")
def rms_norm(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """Divided by the root of the mean square over the axes from one on."""
    sizes = x.shape[axis % x.ndim:]
    return F.rms_norm(x, sizes, _whole(scale, sizes), epsilon)


@operator("LRN")
def local_response_norm(x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    """Divided by squares of neighbouring channels; of an even number more lie behind."""
    if size % 2:
        return F.local_response_norm(x, size, alpha, beta, bias)
    flip = functions["flip"]
    return flip(F.local_response_norm(flip(x, 1), size, alpha, beta, bias), 1)


@operator("MeanVarianceNormalization")
def mean_variance_norm(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    """Mean 0 and deviation 1 over axes."""
    along = axes_of(axes, x.ndim)
    deviation = functions["std"](x, axis=along, keepdims=True)
    return (x - functions["mean"](x, axis=along, keepdims=True)) / (deviation + 1e-9)


@operator("LpNormalization")
def lp_norm(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    """Divided by the norm along an axis; zeros stay."""
    size = functions["sum"](abs(x) if p == 1 else x * x, axis=axis, keepdims=True)
    size = size if p == 1 else functions["sqrt"](size)
    return x / functions["where"](size == 0, 1, size)
