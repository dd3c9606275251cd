"""Layers that learn the number of their input's features or channels from the first input."""

import inspect
from typing import Any, ClassVar

from ..creation import asarray
from ..errors import ShapeError
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import Uninitialized, UninitializedBuffer, UninitializedParameter


class _Lazy(Module):
    """A layer made without its first argument. Until its first call its tensors have no shapes; then it is the layer.

    Who holds the parameters, an optimizer for one, keeps the same objects; a state can be loaded before that call too.
    """

    becomes: ClassVar[type[Module]]
    _options: tuple[tuple[Any, ...], dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        kind = next((base for base in cls.__bases__ if not issubclass(base, _Lazy)), None)
        if kind is not None:
            cls.becomes = kind  # type: ignore[assignment]
            given = inspect.signature(kind)
            cls.__signature__ = given.replace(parameters=list(given.parameters.values())[1:])  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(type(self)).bind(*args, **kwargs).arguments
        probe: Any = super().__init__
        probe(max(1, bound.get("groups", 1)), *args, **kwargs)
        self._options = args, kwargs
        for table, kind in ((self._parameters, UninitializedParameter), (self._buffers, UninitializedBuffer)):
            for name, tensor in table.items():
                if tensor is not None and tensor.ndim:
                    table[name] = kind(tensor.requires_grad, tensor.device, tensor.dtype)  # type: ignore[assignment]

    def reset_parameters(self) -> None:
        """Nothing: there are no weights to be drawn yet."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("input")
        self.initialize_parameters(asarray(given).shape)
        return self(*args, **kwargs)

    def initialize_parameters(self, shape: tuple[int, ...]) -> None:
        """Become the layer for inputs of this shape, with weights drawn as its own are."""
        try:
            size = self._size(shape)
        except IndexError:
            raise ShapeError(f"{type(self).__name__}: an input of shape {shape} has too few axes. Give one as "
                             f"{self.becomes.__name__} takes.") from None
        kind: Any = self.becomes
        made = kind(size, *self._options[0], **self._options[1])
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            if isinstance(tensor, Uninitialized):
                like = getattr(made, name).detach().astype(tensor.dtype).to(tensor.device)
                tensor.materialize(like.shape)
                tensor.raw = like.raw
        kept = {"training", "_options", *Module().__dict__}
        self.__dict__.update({name: value for name, value in vars(made).items() if name not in kept})
        del self.__dict__["_options"]
        self.__class__ = self.becomes  # type: ignore[assignment]

    def _size(self, shape: tuple[int, ...]) -> int:
        """The first argument of the layer for inputs of this shape."""
        return shape[-1]


class _LazyConv(_Lazy):
    def _size(self, shape: tuple[int, ...]) -> int:
        return shape[-1 - self.becomes.ndim]  # type: ignore[attr-defined]


class _LazyNorm(_Lazy):
    def _size(self, shape: tuple[int, ...]) -> int:
        return shape[1]


class _LazyInstanceNorm(_Lazy):
    def _size(self, shape: tuple[int, ...]) -> int:
        is_single = len(shape) == self.becomes.axes[0]  # type: ignore[attr-defined]
        return shape[0 if is_single else 1]


class LazyLinear(_Lazy, Linear):
    """Linear without in_features, which the first input tells.

    >>> layer = lnb.nn.LazyLinear(3)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(np.ones((2, 4), np.float32)).shape, layer
    ((2, 3), Linear(in_features=4, out_features=3, bias=True))
    """


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d without in_channels."""


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d without in_channels.

    >>> lnb.nn.LazyConv2d(4, 3, padding=1)(np.ones((2, 1, 8, 8), np.float32)).shape
    (2, 4, 8, 8)
    """


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d without in_channels."""


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d without in_channels."""


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d without in_channels."""


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d without in_channels."""


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d without num_features."""


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d without num_features."""


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d without num_features."""


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """InstanceNorm1d without num_features."""


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """InstanceNorm2d without num_features."""


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """InstanceNorm3d without num_features."""
