"""Attention layers."""

from typing import Any

from ..array import Tensor
from ..creation import asarray, empty
from ..errors import ConfigError, ShapeError
from ..shapes import Shape, as_integer
from . import functional as F
from . import init
from .functional.attention import with_batch
from .functional.dropout import check_probability
from .linear import Linear
from .module import Module
from .parameter import Parameter


class ScaledDotProductAttention(Module):
    """nn.functional.scaled_dot_product_attention with its options kept; weights are dropped in training only."""

    def __init__(self, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                 scale: float | None = None, enable_gqa: bool = False) -> None:
        super().__init__()
        self.attn_mask, self.dropout_p, self.is_causal = attn_mask, dropout_p, is_causal
        self.scale, self.enable_gqa = scale, enable_gqa

    def forward(self, query: Any, key: Any, value: Any) -> Tensor:
        """The attended values."""
        share = self.dropout_p if self.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, self.attn_mask, share, self.is_causal, self.scale,
                                              self.enable_gqa)

    def extra_repr(self) -> str:
        """The options."""
        return f"dropout_p={self.dropout_p}, is_causal={self.is_causal}, scale={self.scale}"


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, each on embed_dim / num_heads features, with projections before and after.

    Inputs are (positions, batch, features), with `batch_first` (batch, positions, features), or without a batch. Keys
    have `kdim` features, values `vdim`. `add_bias_kv` adds a learned position to keys and values, `add_zero_attn`
    zeros. Parameters: in_proj_weight (3 * embed_dim, embed_dim), or q_proj_weight, k_proj_weight and
    v_proj_weight where kdim or vdim differs, in_proj_bias, bias_k, bias_v, out_proj.

    Source: A. Vaswani et al., Attention is all you need, arXiv:1706.03762.

    >>> layer = lnb.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = np.ones((4, 5, 8), np.float32)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    ((4, 5, 8), (4, 5, 5))
    """

    in_proj_weight: Parameter | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: str | None = None,
                 dtype: Any = "float32") -> None:
        super().__init__()
        self.embed_dim, self.num_heads = (as_integer("MultiheadAttention", name, size) for name, size in
                                          (("embed_dim", embed_dim), ("num_heads", num_heads)))
        if self.embed_dim < 1 or self.num_heads < 1 or self.embed_dim % self.num_heads:
            raise ConfigError(f"MultiheadAttention: {embed_dim} features in {num_heads} heads. embed_dim must be a "
                              "positive multiple of num_heads.")
        self.kdim, self.vdim = (self.embed_dim if size is None else as_integer("MultiheadAttention", name, size)
                                for name, size in (("kdim", kdim), ("vdim", vdim)))
        self.head_dim = self.embed_dim // self.num_heads
        self.dropout = check_probability("MultiheadAttention", dropout)
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == self.embed_dim
        size, is_packed = self.embed_dim, self._qkv_same_embed_dim
        shapes: dict[str, tuple[bool, Shape]] = {
            "in_proj_weight": (is_packed, (3 * size, size)), "q_proj_weight": (not is_packed, (size, size)),
            "k_proj_weight": (not is_packed, (size, self.kdim)), "v_proj_weight": (not is_packed, (size, self.vdim)),
            "in_proj_bias": (bias, (3 * size,)), "bias_k": (add_bias_kv, (1, 1, size)),
            "bias_v": (add_bias_kv, (1, 1, size))}
        for name, (wanted, shape) in shapes.items():
            made = Parameter(empty(shape, dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, made)
        self.out_proj = Linear(size, size, bias=bias, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew; biases of projections are 0."""
        self.out_proj.reset_parameters()
        for name, param in self._parameters.items():
            if param is not None and name.endswith("weight"):
                init.xavier_uniform_(param)
            elif param is not None and name in ("bias_k", "bias_v"):
                init.xavier_normal_(param)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)

    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
                attn_mask: Any = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """The output, like the query, and the weights (batch, queries, keys), with every head's own if not averaged.

        Masks: see nn.functional.multi_head_attention_forward. Without `need_weights` they are None, and attention is
        fused. `is_causal` says that attn_mask is the causal one.
        """
        inputs: list[Any] = []
        for x in (query, key, value):
            same = next((made for given, made in inputs if given is x), None)      # one input is projected at once
            inputs.append((x, same if same is not None else x if isinstance(x, Tensor) else asarray(x)))
        q, k, v = (made for _, made in inputs)
        sizes = (self.embed_dim, self.kdim, self.vdim)
        if tuple([x.shape[-1] if x.ndim else 0 for x in (q, k, v)]) != sizes:
            raise ShapeError(f"MultiheadAttention: query {q.shape}, key {k.shape}, value {v.shape}. The features (last "
                             f"axis) must be {', '.join(map(str, sizes))}.")
        weights = self.in_proj_weight if self._qkv_same_embed_dim else (
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return with_batch(
            q, k, v, self.num_heads, weights, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias,
            bias_k=self.bias_k, bias_v=self.bias_v, add_zero_attn=self.add_zero_attn, dropout_p=self.dropout,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            average_attn_weights=average_attn_weights, is_causal=is_causal, batch_first=self.batch_first)


MultiHeadAttention = MultiheadAttention
