"""Dropout layers: active in training only. `lnb.random.seed` governs what they drop."""

from typing import Any

from ..array import Tensor
from ..errors import ConfigError
from ..shapes import as_integer
from . import functional as F
from .functional.dropout import check_probability
from .module import Module


class _Dropout(Module):
    """What drops with a probability."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = check_probability(type(self).__name__, p), inplace

    def extra_repr(self) -> str:
        """The probability, and whether the input is overwritten."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Elements 0 with probability p, the others divided by 1 - p: see nn.functional.dropout.

    >>> sorted({*lnb.nn.Dropout(0.75)(np.ones(100)).tolist()})
    [0.0, 4.0]
    >>> lnb.nn.Dropout(0.75).eval()(np.ones(2)).tolist()
    [1.0, 1.0]
    """

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Channels of (batch, channels, length) 0 with probability p: see nn.functional.dropout1d."""

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Channels of images (batch, channels, height, width) 0 with probability p: see nn.functional.dropout2d."""

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Channels of volumes (batch, channels, depth, height, width) 0 with probability p: see nn.functional.dropout3d."""

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Elements become selu's limit with probability p, mean and variance are kept: see nn.functional.alpha_dropout."""

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """Channels become selu's limit with probability p: see nn.functional.feature_alpha_dropout."""

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


class DropPath(Module):
    """Whole examples 0 with probability drop_prob, for branches beside a shortcut: see nn.functional.drop_path."""

    def __init__(self, drop_prob: float = 0.1, scale_by_keep: bool = True) -> None:
        super().__init__()
        self.drop_prob, self.scale_by_keep = check_probability("DropPath", drop_prob), scale_by_keep

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.drop_path(input, self.drop_prob, self.training, self.scale_by_keep)

    def extra_repr(self) -> str:
        """The probability."""
        return f"drop_prob={self.drop_prob}, scale_by_keep={self.scale_by_keep}"


class DropBlock(Module):
    """Square blocks of images 0, a share p of all cells: see nn.functional.drop_block."""

    def __init__(self, block_size: int, p: float = 0.1, eps: float = 1e-7) -> None:
        super().__init__()
        self.block_size, self.p, self.eps = as_integer("DropBlock", "block_size", block_size), p, eps
        check_probability("DropBlock", p)
        if self.block_size < 1:
            raise ConfigError(f"DropBlock: block_size is {block_size}. Use a number of cells of 1 or more.")

    def forward(self, input: Any) -> Tensor:
        """What is left of the input."""
        return F.drop_block(input, self.block_size, self.p, self.training, self.eps)

    def extra_repr(self) -> str:
        """The size of blocks, and the share of cells."""
        return f"block_size={self.block_size}, p={self.p}"
