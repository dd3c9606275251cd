"""The network of denoising diffusion: a U-Net of residual blocks that know the time.

Source: J. Ho, A. Jain, P. Abbeel, Denoising diffusion probabilistic models, arXiv:2006.11239 (appendix B).
"""

import math
from collections.abc import Sequence

import numpy as np

from .. import nn
from ..array import Tensor
from ..creation import asarray
from ..nn import functional as F
from ..ops.movement import concat
from ..ops.trigonometric import cos, sin

GROUPS, LONGEST_WAVE = 32, 10000.0


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(math.gcd(GROUPS, channels), channels)


class _ResBlock(nn.Module):
    """Two convolutions with norms before them; what stands for the time is added between."""

    def __init__(self, inputs: int, outputs: int, time_features: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.conv1 = _norm(inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time_proj = nn.Linear(time_features, outputs)
        self.norm2, self.dropout = _norm(outputs), nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.residual = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, input: Tensor, time: Tensor) -> Tensor:
        """The block's result."""
        found = self.conv1(F.silu(self.norm1(input))) + self.time_proj(F.silu(time))[:, :, None, None]
        return self.residual(input) + self.conv2(self.dropout(F.silu(self.norm2(found))))


class _Attention(nn.Module):
    """Attention among the pixels, added to them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm, self.qkv = _norm(channels), nn.Conv2d(channels, 3 * channels, 1)
        self.proj = nn.Conv2d(channels, channels, 1)

    def forward(self, input: Tensor) -> Tensor:
        """The result, like the input (batch, channels, height, width)."""
        batch, channels = input.shape[:2]
        q, k, v = self.qkv(self.norm(input)).reshape(batch, 3, channels, -1).transpose(1, 0, 3, 2)
        found = F.scaled_dot_product_attention(q, k, v)
        return input + self.proj(found.transpose(0, 2, 1).reshape(input.shape))


class _Level(nn.Module):
    """One residual block, with attention where the extent is among those that have it."""

    def __init__(self, inputs: int, outputs: int, time_features: int, dropout: float, attends: bool) -> None:
        super().__init__()
        self.block = _ResBlock(inputs, outputs, time_features, dropout)
        self.attention = _Attention(outputs) if attends else nn.Identity()

    def forward(self, input: Tensor, time: Tensor) -> Tensor:
        """The result (batch, outputs, height, width)."""
        return self.attention(self.block(input, time))


class UNet(nn.Module):
    """What noise is in images (batch, in_channels, image_size, image_size) at times (batch,), of the same shape.

    `channel_mults`: the channels of each level over `base_channels`, each level with half the extent of the one
    before; `num_res_blocks` of each level on the way down, one more on the way up; `attention_res`: the extents at
    which pixels look at each other. The defaults are the published network for 32x32: 35.7 million parameters.
    """

    def __init__(self, in_channels: int = 3, out_channels: int = 3, base_channels: int = 128,
                 channel_mults: Sequence[int] = (1, 2, 2, 2), num_res_blocks: int = 2,
                 attention_res: Sequence[int] = (16,), image_size: int = 32, dropout: float = 0.1) -> None:
        super().__init__()
        self.base_channels, self.num_res_blocks = base_channels, num_res_blocks
        features = 4 * base_channels
        self.time_mlp = nn.Sequential(nn.Linear(base_channels, features), nn.SiLU(), nn.Linear(features, features))
        self.init_conv = nn.Conv2d(in_channels, base_channels, 3, padding=1)
        down, up, samples_down, samples_up = [], [], [], []
        width, extent, kept = base_channels, image_size, [base_channels]
        for number, mult in enumerate(channel_mults):
            for _ in range(num_res_blocks):
                down.append(_Level(width, base_channels * mult, features, dropout, extent in attention_res))
                width = base_channels * mult
                kept.append(width)
            if number < len(channel_mults) - 1:
                samples_down.append(nn.Conv2d(width, width, 3, 2, 1))
                extent = -(-extent // 2)
                kept.append(width)
        self.mid_block1, self.mid_attn = _ResBlock(width, width, features, dropout), _Attention(width)
        self.mid_block2 = _ResBlock(width, width, features, dropout)
        for number, mult in reversed(list(enumerate(channel_mults))):
            attends = math.ceil(image_size / 2 ** number) in attention_res
            for _ in range(num_res_blocks + 1):
                up.append(_Level(width + kept.pop(), base_channels * mult, features, dropout, attends))
                width = base_channels * mult
            if number:
                samples_up.append(nn.Conv2d(width, width, 3, padding=1))
        self.down, self.downsample = nn.ModuleList(down), nn.ModuleList(samples_down)
        self.up, self.upsample = nn.ModuleList(up), nn.ModuleList(samples_up)
        self.final_norm, self.final_conv = _norm(width), nn.Conv2d(width, out_channels, 3, padding=1)

    def time_embedding(self, t: Tensor) -> Tensor:
        """Features of the times (batch,), (batch, 4 * base_channels)."""
        half = self.base_channels // 2
        waves = np.exp(np.arange(half) * (-math.log(LONGEST_WAVE) / (half - 1))).astype(np.float32)
        angles = t.astype("float32")[:, None] * asarray(waves, device=t.device)
        return self.time_mlp(concat((sin(angles), cos(angles)), axis=1).astype(self.init_conv.weight.dtype))

    def forward(self, input: Tensor, t: Tensor) -> Tensor:
        """The noise that was added to the images."""
        time, x = self.time_embedding(t), self.init_conv(input)
        kept, samples = [x], iter(self.downsample)
        for number, level in enumerate(self.down, 1):
            x = level(x, time)
            kept.append(x)
            if number % self.num_res_blocks == 0 and number < len(self.down):
                x = next(samples)(x)
                kept.append(x)
        x = self.mid_block2(self.mid_attn(self.mid_block1(x, time)), time)
        samples = iter(self.upsample)
        for number, level in enumerate(self.up, 1):
            x = level(concat((x, kept.pop()), axis=1), time)
            if number % (self.num_res_blocks + 1) == 0 and number < len(self.up):
                x = next(samples)(F.interpolate(x, size=kept[-1].shape[2:], mode="nearest"))
        return self.final_conv(F.silu(self.final_norm(x)))
