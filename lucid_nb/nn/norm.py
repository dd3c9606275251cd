"""Normalisation layers."""

from collections.abc import Sequence
from typing import Any

from .. import tape
from ..array import Tensor
from ..creation import ones, zeros
from ..errors import ConfigError, ShapeError
from ..ops.normalization import checked_eps, last_axes
from ..shapes import Shape, as_integer, as_number
from . import functional as F
from .functional.norm import as_input
from .module import Module
from .parameter import Buffer, Parameter


def _weights(layer: Module, shape: Shape, weight: bool, bias: bool, device: str | None, dtype: Any) -> None:
    """Register weight, ones, and bias, zeros, where they are wanted."""
    for name, make, wanted in (("weight", ones, weight), ("bias", zeros, bias)):
        layer.register_parameter(name, Parameter(make(shape, dtype=dtype, device=device)) if wanted else None)


def _reset(layer: Module) -> None:
    """Weight 1 and bias 0 again."""
    for name, value in (("weight", 1), ("bias", 0)):
        param = layer._parameters.get(name)
        if param is not None:
            param.detach()[...] = value


def _positive(kind: str, what: str, size: Any) -> int:
    found = as_integer(kind, what, size)
    if found < 1:
        raise ConfigError(f"{kind}: {what} is {found}. Use a number of 1 or more.")
    return found


class _RunningNorm(Module):
    """What normalises channels by statistics of the input, or by running ones."""

    axes: tuple[int, ...] = ()             # how many the input may have
    _may_lack = frozenset({"num_batches_tracked"})     # as in states saved before it was counted
    affine_default, tracking_default = True, True

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool | None = None,
                 track_running_stats: bool | None = None, device: str | None = None, dtype: Any = "float32", *,
                 bias: bool = True) -> None:
        super().__init__()
        kind = type(self).__name__
        self.num_features, self.eps, self.momentum = _positive(kind, "num_features", num_features), eps, momentum
        checked_eps(kind, eps, "Batch" in kind)
        if momentum is not None:
            as_number(kind, "momentum", momentum)
        self.affine = self.affine_default if affine is None else affine
        self.track_running_stats = self.tracking_default if track_running_stats is None else track_running_stats
        shape = (self.num_features,)
        _weights(self, shape, self.affine, self.affine and bias, device, dtype)
        for name, make, kind in (("running_mean", zeros, dtype), ("running_var", ones, dtype),
                                 ("num_batches_tracked", zeros, "int64")):
            size = () if name == "num_batches_tracked" else shape
            self.register_buffer(name, Buffer(make(size, dtype=kind, device=device)) if self.track_running_stats
                                 else None)

    def reset_running_stats(self) -> None:
        """Forget the running statistics: mean 0, variance 1, no batches."""
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            buffer = self._buffers[name]
            if buffer is not None:
                buffer[...] = value

    def reset_parameters(self) -> None:
        """Forget the running statistics; weight 1 and bias 0."""
        self.reset_running_stats()
        _reset(self)

    def _check(self, input: Any) -> None:
        if len(input.shape) not in self.axes:
            wanted = " or ".join(map(str, self.axes))
            raise ShapeError(f"{type(self).__name__}: an input of shape {tuple(input.shape)}. Give it {wanted} axes.")

    def extra_repr(self) -> str:
        """Channels and settings."""
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_RunningNorm):
    """Batch normalisation of inputs with so many axes."""

    def _share(self, counts: bool) -> float:
        """The share of a batch, yet to be counted, in the running statistics; of all alike without momentum."""
        if self.momentum is not None:
            return self.momentum
        if not (self.training and self.track_running_stats):
            return 0.0
        return 1.0 / (float(self.num_batches_tracked) + counts)

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        input = as_input(type(self).__name__, input, self.weight)
        self._check(input)
        uses_input = self.training or not self.track_running_stats
        counts = self.training and self.track_running_stats and not tape.modes.repeats
        found = F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, uses_input,
                             self._share(counts), self.eps)
        if counts:                       # a batch that was refused does not count
            self.num_batches_tracked[...] = self.num_batches_tracked + 1
        return found


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length): see nn.functional.batch_norm.

    In training the statistics are the batch's, and running ones move towards them by the share `momentum`; None gives
    all batches the same share. In evaluation, and with track_running_stats, the running ones are used.

    >>> layer = lnb.nn.BatchNorm1d(2)
    >>> layer(np.float32([[0, 10], [2, 30]])).tolist()
    [[-0.9999949932098389, -0.9999999403953552], [0.9999949932098389, 0.9999999403953552]]
    >>> layer.running_mean.tolist()
    [0.10000000149011612, 2.0]
    """

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images (batch, channels, height, width): see BatchNorm1d.

    >>> lnb.nn.BatchNorm2d(3)
    BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes (batch, channels, depth, height, width): see BatchNorm1d."""

    axes = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (batch, channels, ...) with the statistics of all processes: here there is one.

    `process_group` is accepted. See BatchNorm1d.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: str | None = None,
                 dtype: Any = "float32", *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check(self, input: Any) -> None:
        if len(input.shape) < 2:
            raise ShapeError(f"SyncBatchNorm: an input of shape {tuple(input.shape)}. Give it (batch, channels, ...).")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with a layer of this kind in the place of every BatchNorm1d, 2d and 3d, with its parameters."""
        for name, child in list(module.named_children()):
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        if not isinstance(module, _BatchNorm) or isinstance(module, cls):
            return module
        made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                   process_group)
        made.train(module.training)
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        return made


class _InstanceNorm(_RunningNorm):
    """Instance normalisation of inputs with so many axes, the first of two being without a batch."""

    affine_default, tracking_default = False, False

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        input = as_input(type(self).__name__, input, self.weight)
        self._check(input)
        is_single = len(input.shape) == self.axes[0]
        x = input[None] if is_single else input
        if x.shape[1] != self.num_features:
            raise ShapeError(f"{type(self).__name__}: {x.shape[1]} channels in an input of shape {input.shape}. Give "
                             f"it {self.num_features}.")
        found = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                                self.training or not self.track_running_stats, self.momentum or 0.0, self.eps)
        return found[0] if is_single else found


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of each channel of each example, (batch, channels, length) or without batch.

    See nn.functional.instance_norm; without learned weights and running statistics unless they are asked for.

    >>> lnb.nn.InstanceNorm1d(1)(np.float32([[[1, 3]]])).numpy().round(3).tolist()
    [[[-1.0, 1.0]]]
    """

    axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of each channel of each image, (batch, channels, height, width) or without batch."""

    axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of each channel of each volume, (batch, channels, depth, height, width) or without batch."""

    axes = (4, 5)


class LayerNorm(Module):
    """Normalisation over the last axes, whose sizes are normalized_shape: see nn.functional.layer_norm.

    >>> lnb.nn.LayerNorm(2)(np.float32([[1, 3]])).numpy().round(3).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self.normalized_shape, self.eps = last_axes("LayerNorm", normalized_shape), eps
        checked_eps("LayerNorm", eps)
        self.elementwise_affine = elementwise_affine
        _weights(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0."""
        _reset(self)

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """Division by the root mean square over the last axes: see nn.functional.rms_norm.

    >>> lnb.nn.RMSNorm(2)(np.float32([[3, 3]])).numpy().round(3).tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True, device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self.normalized_shape, self.eps = last_axes("RMSNorm", normalized_shape), eps
        checked_eps("RMSNorm", 0.0 if eps is None else eps)
        self.elementwise_affine = elementwise_affine
        _weights(self, self.normalized_shape, elementwise_affine, False, device, dtype)

    def reset_parameters(self) -> None:
        """Weight 1."""
        _reset(self)

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalisation of groups of channels of each image, (batch, channels, ...): see nn.functional.group_norm.

    >>> lnb.nn.GroupNorm(2, 4)(np.float32([[1, 3, 10, 30]])).numpy().round(3).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 device: str | None = None, dtype: Any = "float32", *, bias: bool = True) -> None:
        super().__init__()
        self.num_groups, self.num_channels = (_positive("GroupNorm", name, size) for name, size in
                                              (("num_groups", num_groups), ("num_channels", num_channels)))
        if self.num_channels % self.num_groups:
            raise ConfigError(f"GroupNorm: num_groups={num_groups} does not divide {num_channels} channels. Use a "
                              "divisor.")
        self.eps, self.affine = checked_eps("GroupNorm", eps), affine
        _weights(self, (self.num_channels,), affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0."""
        _reset(self)

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Groups, channels and settings."""
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class LocalResponseNorm(Module):
    """Division by a power of the squares of neighbouring channels: see nn.functional.local_response_norm."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = _positive("LocalResponseNorm", "size", size), alpha, beta, k

    def forward(self, input: Any) -> Tensor:
        """The normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Channels and settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class GlobalResponseNorm(Module):
    """Weighting of channels by how much of the response is theirs: see nn.functional.global_response_norm.

    gamma and beta are (1, channels, 1, 1) and start at 0, so that the layer starts as the identity.
    """

    def __init__(self, channels: int, eps: float = 1e-6, device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self.channels, self.eps = _positive("GlobalResponseNorm", "channels", channels), eps
        checked_eps("GlobalResponseNorm", eps)
        shape = (1, self.channels, 1, 1)
        self.gamma = Parameter(zeros(shape, dtype=dtype, device=device))
        self.beta = Parameter(zeros(shape, dtype=dtype, device=device))

    def forward(self, input: Any) -> Tensor:
        """The weighted input."""
        return F.global_response_norm(input, self.gamma, self.beta, self.eps)

    def extra_repr(self) -> str:
        """Channels and eps."""
        return f"{self.channels}, eps={self.eps}"
