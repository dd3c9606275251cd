"""PyTorch's reductions and scans, and ours."""

from typing import Any

import lucid_nb as lnb

from .adapters import over_axes, spread, worded


def variance_and_mean(x: lnb.Tensor, *arguments: Any, **keywords: Any) -> tuple[lnb.Tensor, lnb.Tensor]:
    """PyTorch's var_mean."""
    return spread(lnb.var)(x, *arguments, **keywords), mean_beside(x, *arguments, **keywords)


def deviation_and_mean(x: lnb.Tensor, *arguments: Any, **keywords: Any) -> tuple[lnb.Tensor, lnb.Tensor]:
    """PyTorch's std_mean."""
    return spread(lnb.std)(x, *arguments, **keywords), mean_beside(x, *arguments, **keywords)


def mean_beside(x: lnb.Tensor, dim: Any = None, *rest: Any, keepdim: bool = False, **keywords: Any) -> lnb.Tensor:
    """The mean over the same axes."""
    return over_axes(lnb.mean)(x, None if isinstance(dim, bool) else dim, keepdim)


def quantile(function: Any) -> Any:
    """PyTorch calls the method interpolation."""
    return worded(function, interpolation="method")


def smallest_and_largest(x: lnb.Tensor, dim: int | None = None, keepdim: bool = False) -> list[lnb.Tensor]:
    """PyTorch's aminmax."""
    return [lnb.amin(x, axis=dim, keepdims=keepdim), lnb.amax(x, axis=dim, keepdims=keepdim)]


def norm(x: lnb.Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> lnb.Tensor:
    """PyTorch's torch.norm: of vectors, unless the nuclear norm is asked for."""
    if p == "nuc":
        return lnb.linalg.norm(x, "nuc", (0, 1) if dim is None else tuple(dim), keepdim)
    axis = tuple(dim) if isinstance(dim, (tuple, list)) else dim
    return lnb.linalg.vector_norm(x, ord=2 if p == "fro" else p, axis=axis, keepdims=keepdim)


def kth(x: lnb.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[lnb.Tensor, lnb.Tensor]:
    """PyTorch's kthvalue: the last of the k smallest."""
    values, indices = lnb.topk(lnb.atleast_1d(x), k, dim, largest=False)
    last = [lnb.take(found, [k - 1], axis=dim) for found in (values, indices)]
    return tuple(found if keepdim and x.ndim else lnb.squeeze(found, axis=dim) for found in last)


def extreme(largest: bool) -> Any:
    """PyTorch's max and min over one axis, which give positions too: topk of one."""
    def found(x: lnb.Tensor, dim: int, keepdim: bool = False) -> list[lnb.Tensor]:
        ends = lnb.topk(lnb.atleast_1d(x), 1, dim, largest)
        return [end if keepdim and x.ndim else lnb.squeeze(end, axis=dim) for end in ends]
    return found


def median(x: lnb.Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """PyTorch's median is the lower of the two in the middle."""
    if dim is None:
        return lnb.quantile(x, 0.5, method="lower")
    return kth(x, ((x.shape[dim] if x.ndim else 1) + 1) // 2, dim, keepdim)


TABLE = {name: over_axes(getattr(lnb, name)) for name in """
    all any amax amin argmax argmin count_nonzero logsumexp mean nanmean nansum prod sum""".split()} | {
    "cumsum": worded(lnb.cumsum), "cumprod": worded(lnb.cumprod), "cummax": worded(lnb.cummax),
    "cummin": worded(lnb.cummin), "logcumsumexp": worded(lnb.logcumsumexp),
    "std": spread(lnb.std), "var": spread(lnb.var), "var_mean": variance_and_mean, "std_mean": deviation_and_mean,
    "quantile": quantile(lnb.quantile), "nanquantile": quantile(lnb.nanquantile),
    "aminmax": smallest_and_largest, "norm": norm, "max.reduction_no_dim": lnb.max, "min.reduction_no_dim": lnb.min,
    "max.reduction_with_dim": extreme(True), "min.reduction_with_dim": extreme(False), "kthvalue": kth,
    "median": median, "nanmedian": "nanquantile(method='lower') gives its values; positions are not there",
    "mode": "not asked for", "renorm": "not asked for",
    "cumulative_trapezoid": "not asked for",
}
