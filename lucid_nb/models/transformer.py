"""The transformer that turns one sequence of tokens into another.

Source: A. Vaswani et al., Attention is all you need, arXiv:1706.03762.
"""

import math
from typing import Any

import numpy as np

from .. import nn
from ..array import Tensor
from ..errors import ShapeError
from .registry import register_model

LONGEST_WAVE = 10000.0              # of positions, over 2 pi


class PositionalEncoding(nn.Module):
    """Adds to (batch, positions, d_model) sines and cosines of the positions, then dropout.

    ShapeError for more than `max_len` positions.
    """

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        angles = np.arange(max_len)[:, None] * np.exp(np.arange(0, d_model, 2) * (-math.log(LONGEST_WAVE) / d_model))
        waves = np.stack((np.sin(angles), np.cos(angles)), -1).reshape(max_len, -1)[:, :d_model]
        self.register_buffer("pe", waves.astype(np.float32), persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        """The input with its positions told apart."""
        if input.shape[1] > self.pe.shape[0]:
            raise ShapeError(f"PositionalEncoding: {input.shape[1]} positions, and {self.pe.shape[0]} are known. Raise "
                             "max_len.")
        return self.dropout(input + self.pe[:input.shape[1]])


class Transformer(nn.Module):
    """Scores of the next token, (batch, tgt positions, tgt_vocab_size), from tokens (batch, positions) of both sides.

    Masks as in nn.Transformer; without `tgt_mask` no position looks at later ones.

    >>> model = lnb.models.Transformer(11, 13, 8, 2, 1, 1, 16)
    >>> model(np.zeros((2, 5), int), np.zeros((2, 4), int)).shape
    (2, 4, 13)
    """

    def __init__(self, src_vocab_size: int, tgt_vocab_size: int, d_model: int = 512, num_heads: int = 8,
                 num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
                 dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.d_model = d_model
        self.src_tok_emb = nn.Embedding(src_vocab_size, d_model)
        self.tgt_tok_emb = nn.Embedding(tgt_vocab_size, d_model)
        for embedding in (self.src_tok_emb, self.tgt_tok_emb):
            nn.init.normal_(embedding.weight, std=d_model ** -0.5)
        self.positional_encoding = PositionalEncoding(d_model, dropout, max_len)
        self.transformer = nn.Transformer(d_model, num_heads, num_encoder_layers, num_decoder_layers, dim_feedforward,
                                          dropout, batch_first=True)
        self.fc_out = nn.Linear(d_model, tgt_vocab_size)

    def _embedded(self, tokens: Any, embedding: nn.Embedding) -> Tensor:
        return self.positional_encoding(embedding(tokens) * math.sqrt(self.d_model))

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, mem_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
                mem_key_padding_mask: Any = None) -> Tensor:
        """The scores of the tokens that follow each target position."""
        source, target = self._embedded(src, self.src_tok_emb), self._embedded(tgt, self.tgt_tok_emb)
        is_causal = tgt_mask is None
        if is_causal:
            tgt_mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], target.device, target.dtype)
        found = self.transformer(source, target, src_mask, tgt_mask, mem_mask, src_key_padding_mask,
                                 tgt_key_padding_mask, mem_key_padding_mask, tgt_is_causal=is_causal)
        return self.fc_out(found)


@register_model
def transformer_base(src_vocab_size: int = 12000, tgt_vocab_size: int = 12000, **kwargs: Any) -> Transformer:
    """The base size: 512 features, 8 heads, 6 layers on each side."""
    return Transformer(src_vocab_size, tgt_vocab_size, **kwargs)


@register_model
def transformer_big(src_vocab_size: int = 12000, tgt_vocab_size: int = 12000, **kwargs: Any) -> Transformer:
    """The big size: 1024 features, 16 heads, 6 layers on each side, dropout 0.3."""
    given = {"d_model": 1024, "num_heads": 16, "dim_feedforward": 4096, "dropout": 0.3, **kwargs}
    return Transformer(src_vocab_size, tgt_vocab_size, **given)
