"""Layers whose input are numbers of rows of a table."""

from typing import Any, Self

from ..array import Tensor
from ..creation import asarray, empty
from ..errors import ShapeError
from ..shapes import as_integer
from . import functional as F
from . import init
from .functional.embedding import check_bag, padding_row
from .module import Module
from .parameter import Parameter


class _Table(Module):
    """What both layers have in common: the table, drawn from the normal distribution; a row that stays 0."""

    padding_idx: int | None

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None,
                 norm_type: float, scale_grad_by_freq: bool, sparse: bool, _weight: Any, device: str | None,
                 dtype: Any) -> None:
        super().__init__()
        kind = type(self).__name__
        rows, features = (as_integer(kind, name, size) for name, size in
                          (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)))
        if rows < 0 or features < 0:
            raise ShapeError(f"{kind}: sizes {rows} and {features}. Use sizes of 0 or more.")
        self.num_embeddings, self.embedding_dim = rows, features
        self.padding_idx = padding_row(kind, padding_idx, rows)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Parameter(empty((rows, features), dtype=dtype, device=device))
            self.reset_parameters()
        elif asarray(_weight).shape != (rows, features):
            raise ShapeError(f"{kind}: a weight of shape {asarray(_weight).shape} for {rows} rows of {features}. "
                             f"It must be ({rows}, {features}).")
        else:
            self.weight = Parameter(_weight, device=device)

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0

    @classmethod
    def _from(cls, embeddings: Any, freeze: bool, options: dict[str, Any]) -> Self:
        table = asarray(embeddings)
        if table.ndim != 2:
            raise ShapeError(f"{cls.__name__}: embeddings of shape {table.shape}. Use (rows, features).")
        layer = cls(table.shape[0], table.shape[1], _weight=table, **options)
        layer.weight.requires_grad = not freeze
        return layer

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        if hasattr(self, "mode"):
            defaults |= {"mode": None, "padding_idx": defaults.pop("padding_idx")}
        extras = [(name, getattr(self, name), default) for name, default in defaults.items()]
        text = "".join(f", {name}={value!r}" for name, value, default in extras if value != default)
        return f"{self.num_embeddings}, {self.embedding_dim}{text}"


class Embedding(_Table):
    """The rows of a table by number: integers (...) to (..., embedding_dim).

    `weight` is (num_embeddings, embedding_dim), normal; row `padding_idx` starts at 0 and is not trained. `max_norm`,
    `norm_type`, `scale_grad_by_freq`: see nn.functional.embedding. Gradients are dense.

    >>> layer = lnb.nn.Embedding(10, 3)
    >>> layer([[1, 2, 4, 5], [4, 3, 2, 9]]).shape
    (2, 4, 3)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Any = None, device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                         _weight, device, dtype)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Self:
        """A layer with this table, copied; frozen, it is not trained."""
        return cls._from(embeddings, freeze, dict(
            padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse))

    def forward(self, input: Any) -> Tensor:
        """The rows."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows: see nn.functional.embedding_bag.

    >>> layer = lnb.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer([1, 2, 4, 5], [0, 3]).shape
    (2, 3)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: str | None = None,
                 dtype: Any = "float32") -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                         _weight, device, dtype)
        self.mode, self.include_last_offset = check_bag("EmbeddingBag", mode), include_last_offset

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> Self:
        """A layer with this table, copied; frozen, it is not trained."""
        return cls._from(embeddings, freeze, dict(
            max_norm=max_norm, norm_type=norm_type, mode=mode, sparse=sparse, scale_grad_by_freq=scale_grad_by_freq,
            include_last_offset=include_last_offset, padding_idx=padding_idx))

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        """One row a bag."""
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)
