"""Vision transformer: an image as a sequence of patches.

Source: A. Dosovitskiy et al., An image is worth 16x16 words, arXiv:2010.11929; the tiny and small sizes: H. Touvron et
al., Training data-efficient image transformers, arXiv:2012.12877.
"""

import math
from functools import partial
from typing import Any

from .. import nn
from ..array import Tensor
from ..creation import zeros
from ..errors import ConfigError, ShapeError
from ..ops.movement import broadcast_to, concat
from .blocks import Mlp
from .registry import register_model

NORM = partial(nn.LayerNorm, eps=1e-6)


class _EncoderBlock(nn.Module):
    """Self-attention and a network on each position, each normalised before and added to its input."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = NORM(width)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout, self.ln_2, self.mlp = nn.Dropout(dropout), NORM(width), Mlp(width, hidden, dropout)

    def forward(self, input: Tensor) -> Tensor:
        """The block's result (batch, positions, width)."""
        x = self.ln_1(input)
        x = input + self.dropout(self.self_attention(x, x, x, need_weights=False)[0])
        return x + self.mlp(self.ln_2(x))


class _Encoder(nn.Module):
    """Blocks over positions that are learned."""

    def __init__(self, positions: int, width: int, depth: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(zeros((1, positions, width), dtype="float32"))
        nn.init.normal_(self.pos_embedding, std=0.02)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential({f"encoder_layer_{number}": _EncoderBlock(width, heads, hidden, dropout)
                                     for number in range(depth)})
        self.ln = NORM(width)

    def forward(self, input: Tensor) -> Tensor:
        """The last block's result, normalised."""
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class ViT(nn.Module):
    """A vision transformer for images (batch, in_channels, image_size, image_size): the scores of the classes.

    The image is cut into squares of `patch_size`, each a vector of `embedding_dim`; a vector for the class is put
    before them. ShapeError for images of another size.
    """

    def __init__(self, image_size: int = 224, patch_size: int = 16, in_channels: int = 3, num_classes: int = 1000,
                 embedding_dim: int = 768, depth: int = 12, num_heads: int = 12, mlp_dim: int = 3072,
                 dropout_rate: float = 0.0) -> None:
        super().__init__()
        if image_size % patch_size:
            raise ConfigError(f"ViT: images of {image_size} are not cut into whole patches of {patch_size}. Choose "
                              "sizes of which one divides the other.")
        self.image_size = image_size
        self.conv_proj = nn.Conv2d(in_channels, embedding_dim, patch_size, patch_size)
        self.class_token = nn.Parameter(zeros((1, 1, embedding_dim), dtype="float32"))
        self.encoder = _Encoder((image_size // patch_size) ** 2 + 1, embedding_dim, depth, num_heads, mlp_dim,
                                dropout_rate)
        self.heads = nn.Sequential({"head": nn.Linear(embedding_dim, num_classes)})
        self._start(in_channels * patch_size * patch_size)

    def _start(self, fan_in: int) -> None:
        """Draw new weights; the scores begin at 0."""
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        for block in self.encoder.layers:
            for layer in (block.mlp[0], block.mlp[3]):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.normal_(layer.bias, std=1e-6)
        nn.init.zeros_(self.heads.head.weight)
        layers: Any = (self.conv_proj, self.heads.head)
        for layer in layers:
            nn.init.zeros_(layer.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The scores (batch, classes)."""
        if tuple(input.shape[-2:]) != (self.image_size, self.image_size):
            raise ShapeError(f"ViT: images of shape {tuple(input.shape)} for a model of {self.image_size}x"
                             f"{self.image_size}. Resize them, or make the model with image_size.")
        x = self.conv_proj(input).flatten(2).transpose(0, 2, 1)
        token = broadcast_to(self.class_token, (x.shape[0], 1, x.shape[2]))
        return self.heads(self.encoder(concat((token, x), axis=1))[:, 0])


@register_model
def vit_tiny(num_classes: int = 1000, **kwargs: Any) -> ViT:
    """ViT-Ti/16: 5,717,416 parameters for 1000 classes."""
    return ViT(num_classes=num_classes, embedding_dim=192, num_heads=3, mlp_dim=768, **kwargs)


@register_model
def vit_small(num_classes: int = 1000, **kwargs: Any) -> ViT:
    """ViT-S/16: 22,050,664 parameters for 1000 classes."""
    return ViT(num_classes=num_classes, embedding_dim=384, num_heads=6, mlp_dim=1536, **kwargs)


@register_model
def vit_base(num_classes: int = 1000, **kwargs: Any) -> ViT:
    """ViT-B/16, with `patch_size=32` ViT-B/32: 86,567,656 and 88,224,232 parameters for 1000 classes."""
    return ViT(num_classes=num_classes, **kwargs)


@register_model
def vit_large(num_classes: int = 1000, **kwargs: Any) -> ViT:
    """ViT-L/16, with `patch_size=32` ViT-L/32: 304,326,632 and 306,535,400 parameters for 1000 classes."""
    return ViT(num_classes=num_classes, embedding_dim=1024, depth=24, num_heads=16, mlp_dim=4096, **kwargs)


@register_model
def vit_huge(num_classes: int = 1000, patch_size: int = 14, **kwargs: Any) -> ViT:
    """ViT-H/14: 632,045,800 parameters for 1000 classes."""
    return ViT(num_classes=num_classes, patch_size=patch_size, embedding_dim=1280, depth=32, num_heads=16,
               mlp_dim=5120, **kwargs)
