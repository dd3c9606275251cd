"""Swin transformer: attention within windows that shift from block to block.

Sources: Z. Liu et al., Swin transformer, arXiv:2103.14030; Swin transformer V2, arXiv:2111.09883.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import nn
from ..array import Tensor
from ..creation import asarray, full, zeros
from ..nn import functional as F
from ..ops.axes import roll
from ..ops.extremes import minimum
from ..ops.movement import concat
from ..ops.padding import pad
from ..ops.transcendental import exp
from .blocks import Mlp, drop_rates, start
from .registry import register_model

OUTSIDE = -100.0                    # added to the scores of positions that come from elsewhere
LARGEST_SCALE = math.log(100.0)     # of the logarithm of V2's factor of scores
RANGE_V2 = 8                        # what V2 scales offsets to before their logarithm


def _offsets(size: int) -> np.ndarray:
    """The number of the offset between each two positions of a window, (positions * positions)."""
    places = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij")).reshape(2, -1)
    down, right = places[:, :, None] - places[:, None, :] + size - 1
    return (down * (2 * size - 1) + right).reshape(-1)


class _Windows:
    """How images of (height, width) are cut into windows, after being filled up and shifted."""

    def __init__(self, height: int, width: int, size: int, shift: int) -> None:
        self.extent, self.size = (height, width), size
        self.rows, self.cols = -(-height // size), -(-width // size)
        self.shifts = (shift if self.rows > 1 else 0, shift if self.cols > 1 else 0)

    def cut(self, x: Tensor) -> Tensor:
        """(batch, height, width, channels) to (batch * windows, positions, channels)."""
        size, batch, channels = self.size, x.shape[0], x.shape[3]
        fill = (self.rows * size - self.extent[0], self.cols * size - self.extent[1])
        x = pad(x, ((0, 0), (0, fill[0]), (0, fill[1]), (0, 0))) if any(fill) else x
        x = roll(x, (-self.shifts[0], -self.shifts[1]), (1, 2)) if any(self.shifts) else x
        x = x.reshape(batch, self.rows, size, self.cols, size, channels).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(-1, size * size, channels)

    def joined(self, x: Tensor) -> Tensor:
        """What `cut` took apart."""
        size, channels = self.size, x.shape[2]
        x = x.reshape(-1, self.rows, self.cols, size, size, channels).transpose(0, 1, 3, 2, 4, 5)
        x = x.reshape(-1, self.rows * size, self.cols * size, channels)
        x = roll(x, self.shifts, (1, 2)) if any(self.shifts) else x
        return x[:, :self.extent[0], :self.extent[1]]

    def mask(self) -> np.ndarray | None:
        """What keeps apart positions that a shift brought together, (windows, 1, positions, positions)."""
        if not any(self.shifts):
            return None
        size, shape = self.size, (self.rows * self.size, self.cols * self.size)
        regions = np.zeros(shape, np.int64)
        cuts = [[0, extent - size, extent - shift if shift else extent, extent]
                for extent, shift in zip(shape, self.shifts)]
        for number, (i, j) in enumerate(product(range(3), repeat=2)):
            regions[cuts[0][i]:cuts[0][i + 1], cuts[1][j]:cuts[1][j + 1]] = number
        cut = regions.reshape(self.rows, size, self.cols, size).transpose(0, 2, 1, 3).reshape(-1, 1, size * size)
        return np.where(cut[..., None] != cut[..., None, :], OUTSIDE, 0.0).astype(np.float32)


class _WindowAttention(nn.Module):
    """Attention of heads within windows, with a bias for each offset of two positions."""

    def __init__(self, width: int, window: int, shift: int, heads: int) -> None:
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self._make_bias()
        self.register_buffer("relative_position_index", _offsets(window))

    def _make_bias(self) -> None:
        offsets = (2 * self.window - 1) ** 2
        self.relative_position_bias_table = nn.Parameter(zeros((offsets, self.heads), dtype="float32"))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def bias_table(self) -> Tensor:
        """The bias of each offset, (offsets, heads)."""
        return self.relative_position_bias_table

    def qkv_bias(self) -> Tensor:
        """The bias of queries, keys and values."""
        return self.qkv.bias

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """How much the queries look at the keys."""
        return (q * q.shape[-1] ** -0.5) @ k.mT

    def forward(self, input: Tensor) -> Tensor:
        """The result, like the input (batch, height, width, channels)."""
        windows = _Windows(input.shape[1], input.shape[2], self.window, self.shift)
        x = windows.cut(input)
        count, places, width = x.shape
        qkv = F.linear(x, self.qkv.weight, self.qkv_bias())
        q, k, v = qkv.reshape(count, places, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)
        bias = self.bias_table()[self.relative_position_index].reshape(places, places, -1).transpose(2, 0, 1)
        scores, mask = self.scores(q, k) + bias, windows.mask()
        if mask is not None:
            apart = asarray(mask, dtype=scores.dtype, device=scores.device)
            scores = (scores.reshape(-1, len(mask), self.heads, places, places) + apart).reshape(scores.shape)
        found = (F.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(count, places, width)
        return windows.joined(self.proj(found))


class _WindowAttentionV2(_WindowAttention):
    """Attention by cosines, with biases that a small network makes of the logarithms of offsets."""

    def _make_bias(self) -> None:
        self.logit_scale = nn.Parameter(full((self.heads, 1, 1), math.log(10.0), dtype="float32"))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, self.heads, bias=False))
        line = np.arange(1 - self.window, self.window) * (RANGE_V2 / (self.window - 1))
        offsets = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)[None]
        scaled = np.sign(offsets) * np.log2(np.abs(offsets) + 1) / math.log2(RANGE_V2)
        self.register_buffer("relative_coords_table", scaled.astype(np.float32))

    def bias_table(self) -> Tensor:
        """The bias of each offset, (offsets, heads), from 0 to 16."""
        return 16 * F.sigmoid(self.cpb_mlp(self.relative_coords_table).reshape(-1, self.heads))

    def qkv_bias(self) -> Tensor:
        """The bias of queries and values: keys have none."""
        q, _, v = self.qkv.bias.reshape(3, -1)
        return concat((q, q.detach() * 0, v))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The cosines of queries and keys, scaled by head."""
        factor = exp(minimum(self.logit_scale, LARGEST_SCALE))
        return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * factor


class _Block(nn.Module):
    """Attention and a network on each position, each normalised before and added to its input."""

    attention: type[_WindowAttention] = _WindowAttention

    def __init__(self, width: int, heads: int, window: int, shift: int, ratio: float, drop: float) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), self.attention(width, window, shift, heads)
        self.stochastic_depth = nn.DropPath(drop)
        self.norm2, self.mlp = nn.LayerNorm(width), Mlp(width, int(width * ratio))

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        x = input + self.stochastic_depth(self.attn(self.norm1(input)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class _BlockV2(_Block):
    """The same, normalised after attention and network."""

    attention = _WindowAttentionV2

    def forward(self, input: Tensor) -> Tensor:
        """The block's result."""
        x = input + self.stochastic_depth(self.norm1(self.attn(input)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


def _quarters(x: Tensor) -> Tensor:
    """The four pixels of each 2x2 square, filled up with 0, side by side in the channels."""
    odd = (x.shape[1] % 2, x.shape[2] % 2)
    x = pad(x, ((0, 0), (0, odd[0]), (0, odd[1]), (0, 0))) if any(odd) else x
    return concat([x[:, row::2, col::2] for col in (0, 1) for row in (0, 1)], axis=-1)


class _Merging(nn.Module):
    """Half the extent, twice the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduction, self.norm = nn.Linear(4 * width, 2 * width, bias=False), nn.LayerNorm(4 * width)

    def forward(self, input: Tensor) -> Tensor:
        """(batch, height / 2, width / 2, 2 * channels)."""
        return self.reduction(self.norm(_quarters(input)))


class _MergingV2(nn.Module):
    """Half the extent, twice the channels, normalised at the end."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduction, self.norm = nn.Linear(4 * width, 2 * width, bias=False), nn.LayerNorm(2 * width)

    def forward(self, input: Tensor) -> Tensor:
        """(batch, height / 2, width / 2, 2 * channels)."""
        return self.norm(self.reduction(_quarters(input)))


class _Patches(nn.Sequential):
    """Patches as vectors, channels last."""

    def forward(self, input: Tensor) -> Tensor:
        """(batch, rows, columns, channels)."""
        convolution, _, norm = self
        return norm(convolution(input).transpose(0, 2, 3, 1))


class SwinTransformer(nn.Module):
    """A Swin transformer for images (batch, in_channels, height, width): the scores of the classes.

    `depths` and `num_heads` by stage; `window_size` in patches; `drop_path_rate`: the probability with which the last
    block is dropped in training. Images of any size are filled up to whole windows.
    """

    block: type[_Block] = _Block
    merging: Callable[[int], nn.Module] = _Merging

    def __init__(self, patch_size: int = 4, in_channels: int = 3, num_classes: int = 1000, embed_dim: int = 96,
                 depths: Sequence[int] = (2, 2, 6, 2), num_heads: Sequence[int] = (3, 6, 12, 24), window_size: int = 7,
                 mlp_ratio: float = 4.0, drop_path_rate: float = 0.1) -> None:
        super().__init__()
        rates, width = iter(drop_rates(drop_path_rate, sum(depths))), embed_dim
        layers: list[nn.Module] = [_Patches(nn.Conv2d(in_channels, width, patch_size, patch_size), nn.Identity(),
                                            nn.LayerNorm(width))]
        for number, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            if number:
                layers.append(self.merging(width))
                width *= 2
            layers.append(nn.Sequential(*[
                self.block(width, heads, window_size, window_size // 2 * (place % 2), mlp_ratio, next(rates))
                for place in range(depth)]))
        self.features, self.norm = nn.Sequential(*layers), nn.LayerNorm(width)
        self.head = nn.Linear(width, num_classes)
        start(self, None, "truncated")

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        return self.head(self.norm(self.features(input)).mean((1, 2)))


class SwinTransformer_V2(SwinTransformer):
    """A Swin transformer V2: cosine attention, biases made of offsets, norms after the blocks."""

    block, merging = _BlockV2, _MergingV2


SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"drop_path_rate": 0.2}, "small": {"depths": (2, 2, 18, 2), "drop_path_rate": 0.3},
    "base": {"depths": (2, 2, 18, 2), "embed_dim": 128, "num_heads": (4, 8, 16, 32), "drop_path_rate": 0.5},
    "large": {"depths": (2, 2, 18, 2), "embed_dim": 192, "num_heads": (6, 12, 24, 48), "drop_path_rate": 0.5}}


@register_model
def swin_tiny(num_classes: int = 1000, **kwargs: Any) -> SwinTransformer:
    """Swin-T: 28,288,354 parameters for 1000 classes."""
    return SwinTransformer(num_classes=num_classes, **{**SIZES["tiny"], **kwargs})


@register_model
def swin_small(num_classes: int = 1000, **kwargs: Any) -> SwinTransformer:
    """Swin-S: 49,606,258 parameters for 1000 classes."""
    return SwinTransformer(num_classes=num_classes, **{**SIZES["small"], **kwargs})


@register_model
def swin_base(num_classes: int = 1000, **kwargs: Any) -> SwinTransformer:
    """Swin-B: 87,768,224 parameters for 1000 classes."""
    return SwinTransformer(num_classes=num_classes, **{**SIZES["base"], **kwargs})


@register_model
def swin_large(num_classes: int = 1000, **kwargs: Any) -> SwinTransformer:
    """Swin-L: 196,532,476 parameters for 1000 classes."""
    return SwinTransformer(num_classes=num_classes, **{**SIZES["large"], **kwargs})


@register_model
def swin_v2_tiny(num_classes: int = 1000, window_size: int = 8, **kwargs: Any) -> SwinTransformer_V2:
    """SwinV2-T: 28,351,570 parameters for 1000 classes."""
    return SwinTransformer_V2(num_classes=num_classes, window_size=window_size, **{**SIZES["tiny"], **kwargs})


@register_model
def swin_v2_small(num_classes: int = 1000, window_size: int = 8, **kwargs: Any) -> SwinTransformer_V2:
    """SwinV2-S: 49,737,442 parameters for 1000 classes."""
    return SwinTransformer_V2(num_classes=num_classes, window_size=window_size, **{**SIZES["small"], **kwargs})


@register_model
def swin_v2_base(num_classes: int = 1000, window_size: int = 8, **kwargs: Any) -> SwinTransformer_V2:
    """SwinV2-B: 87,930,848 parameters for 1000 classes."""
    return SwinTransformer_V2(num_classes=num_classes, window_size=window_size, **{**SIZES["base"], **kwargs})
