"""The transformer: layers of attention and a small network on each position, stacked.

Source: A. Vaswani et al., Attention is all you need, arXiv:1706.03762. Names and keys are PyTorch's.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..dtypes import as_dtype
from ..errors import ConfigError, ShapeError, is_one_of
from ..shapes import as_integer, check_sizes
from . import functional as F
from . import init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm

Activation = str | Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def as_activation(given: Activation) -> Callable[[Tensor], Tensor]:
    """The function that "relu", "gelu" or a function means."""
    if callable(given):
        return given
    if not is_one_of(given, tuple(ACTIVATIONS)):
        raise ConfigError(f"Transformer: activation {given!r} is unknown. Use 'relu', 'gelu' or a function.")
    return ACTIVATIONS[given]


def causal_mask(size: int, dtype: Any = "float32", device: str | None = None) -> Tensor:
    """Numbers to be added to scores so that position i looks at positions up to i: 0, and -inf above the diagonal."""
    size = as_integer("causal_mask", "the size", size)
    check_sizes("causal_mask", (size, size))
    table = np.where(np.tri(size, dtype=bool), 0, -np.inf).astype(as_dtype("causal_mask", dtype))
    return asarray(table, device=device)


def is_causal_mask(mask: Any, is_causal: bool | None) -> bool:
    """What is said, or else whether the mask is the causal one."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    host = mask.detach().to_host() if isinstance(mask, Tensor) else np.asarray(mask)
    if host.ndim != 2 or host.shape[0] != host.shape[1]:
        return False
    lower = np.tri(len(host), dtype=bool)
    return bool(np.array_equal(host, ~lower) if host.dtype.kind == "b" else
                np.array_equal(host, np.where(lower, 0, -np.inf)))


def heads_of(kind: str, nhead: int | None, num_heads: int | None) -> int:
    """The number of heads, which goes by PyTorch's name and by lucid's."""
    found = num_heads if nhead is None else nhead
    if found is None or None not in (nhead, num_heads):
        raise ConfigError(f"{kind}: nhead={nhead} and num_heads={num_heads}. Give one of them.")
    return found


class _Layer(Module):
    """What both layers have in common: attention, the network of positions, and how each joins its input."""

    attentions: tuple[str, ...]

    def __init__(self, d_model: int, nhead: int | None = None, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: str | None = None,
                 dtype: Any = "float32", *, num_heads: int | None = None) -> None:
        super().__init__()
        nhead = heads_of(type(self).__name__, nhead, num_heads)
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self.attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first, self.activation = norm_first, as_activation(activation)
        blocks = range(1, len(self.attentions) + 2)
        for number in blocks:
            self.add_module(f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for number in blocks:
            self.add_module(f"dropout{number}", Dropout(dropout))

    def _joined(self, x: Tensor, number: int, block: Callable[[Tensor], Tensor]) -> Tensor:
        """x + dropout(block(x)), normalised before the block or after the sum."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))

    def _feedforward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network on each position, each added to its input and normalised (before: `norm_first`).

    Inputs are (positions, batch, d_model), with `batch_first` (batch, positions, d_model), or without a batch.
    `dim_feedforward` is the width of the network, `activation` "relu", "gelu" or a function.

    >>> layer = lnb.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(np.ones((4, 5, 8), np.float32)).shape
    (4, 5, 8)
    """

    attentions = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False) -> Tensor:
        """The layer's output, like `src`; masks as in MultiheadAttention."""
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]
        x = self._joined(asarray(src), 1, attend)
        return self._joined(x, 2, self._feedforward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, and a network on each position, as in the encoder's layer.

    >>> layer = lnb.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(np.ones((4, 5, 8), np.float32), np.ones((4, 7, 8), np.float32)).shape
    (4, 5, 8)
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Tensor:
        """The layer's output, like `tgt`; masks as in MultiheadAttention."""
        memory = asarray(memory)

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def look(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask,
                                       is_causal=memory_is_causal)[0]
        x = self._joined(asarray(tgt), 1, attend)
        x = self._joined(x, 2, look)
        return self._joined(x, 3, self._feedforward)


# ------------------------------------------------------------------------------------------------- stacks
class _Stack(Module):
    """So many copies of a layer, and a norm after the last."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        kind = type(self).__name__
        self.num_layers = as_integer(kind, "num_layers", num_layers)
        if self.num_layers < 0:
            raise ConfigError(f"{kind}: num_layers is {self.num_layers}. Use 0 or more.")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(self.num_layers)])
        self.add_module("norm", norm)

    def _finished(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """`num_layers` copies of an encoder layer, and a norm after the last.

    >>> layer = lnb.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> lnb.nn.TransformerEncoder(layer, 2)(np.ones((4, 5, 8), np.float32)).shape
    (4, 5, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool | None = None) -> Tensor:
        """The last layer's output. Whether the mask is causal is looked up, unless `is_causal` says it."""
        x, causal = asarray(src), is_causal_mask(mask, is_causal)
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, causal)
        return self._finished(x)


class TransformerDecoder(_Stack):
    """`num_layers` copies of a decoder layer, and a norm after the last."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """The last layer's output. Whether tgt_mask is causal is looked up, unless `tgt_is_causal` says it."""
        x, causal = asarray(tgt), is_causal_mask(tgt_mask, tgt_is_causal)
        memory = asarray(memory)
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, causal,
                      memory_is_causal)
        return self._finished(x)


class Transformer(Module):
    """An encoder of sources and a decoder of targets that looks at what it found.

    Inputs are (positions, batch, d_model), with `batch_first` (batch, positions, d_model), or without a batch.
    `custom_encoder` and `custom_decoder` take the places of the stacks.

    >>> model = lnb.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(np.ones((4, 7, 8), np.float32), np.ones((4, 5, 8), np.float32)).shape
    (4, 5, 8)
    """

    def __init__(self, d_model: int = 512, nhead: int | None = None, num_encoder_layers: int = 6,
                 num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu,
                 custom_encoder: Module | None = None, custom_decoder: Module | None = None,
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
                 bias: bool = True, device: str | None = None, dtype: Any = "float32", *,
                 num_heads: int | None = None) -> None:
        super().__init__()
        nhead = 8 if nhead is None and num_heads is None else heads_of("Transformer", nhead, num_heads)
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
                   device, dtype)
        norm = dict(eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, LayerNorm(d_model, **norm))
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, LayerNorm(d_model, **norm))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for param in self.parameters():
            if param.ndim > 1:
                init.xavier_uniform_(param)

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, src_is_causal: bool | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """The decoder's output, like `tgt`; masks as in MultiheadAttention. ShapeError where sizes do not fit."""
        src, tgt = asarray(src), asarray(tgt)
        batch = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim or src.ndim not in (2, 3) or not src.shape[-1] == tgt.shape[-1] == self.d_model or (
                src.ndim == 3 and src.shape[batch] != tgt.shape[batch]):
            raise ShapeError(f"Transformer: src {src.shape} and tgt {tgt.shape} for {self.d_model} features. Both must "
                             "have them in the last axis, and equal batches.")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: str | None = None, dtype: Any = "float32") -> Tensor:
        """Numbers to be added to scores so that position i looks at positions up to i: 0, and -inf above.

        >>> lnb.nn.Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        return causal_mask(sz, dtype, device)
