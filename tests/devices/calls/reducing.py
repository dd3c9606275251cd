"""Reductions, scans, sorting, searching, counting."""

import numpy as np

import lucid_nb as lnb

from . import call, whole

M, V = (3, 4), (6,)
NANS = np.array([[1, np.nan, -2], [0.5, 3, np.nan]], "float32")
ZEROS = np.array([0, 0, 1, 0, 2, 3, 0], "float32")
SAME = ("sum", "prod", "max", "min", "argmax", "argmin", "logsumexp", "mean", "var", "std", "ptp", "median")
CALLS = {name: call(lambda x, name=name: getattr(lnb, name)(x, 1), M) for name in SAME}
CALLS |= {f"{name} all": call(lambda x, name=name: getattr(lnb, name)(x), M) for name in SAME}
CALLS |= {name: call(lambda x, name=name: getattr(lnb, name)(x, 1), NANS)
          for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanargmax", "nanargmin", "nanmean", "nanvar", "nanstd",
                       "nanmedian", "nancumsum", "nancumprod")}
CALLS |= {name: call(lambda x, name=name: getattr(lnb, name)(x, 1), M)
          for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")}
CALLS |= {
    "cumulative_sum": call(lambda x: lnb.cumulative_sum(x, axis=1, include_initial=True), M),
    "cumulative_prod": call(lambda x: lnb.cumulative_prod(x, axis=1), M),
    "sum where": call(lambda x: lnb.sum(x, 0, where=x > 0), M), "sum first": call(lambda x: lnb.sum(x, 0), M),
    "any": call(lambda x: lnb.any(x > 0, 1), M), "all": call(lambda x: lnb.all(x > -1, 0), M),
    "count_nonzero": call(lambda x: lnb.count_nonzero(x > 0, 1), M),
    "average": call(lambda x: lnb.average(x, 1), M),
    "average weights": call(lambda x, w: lnb.average(x, 1, w * w), M, M),
    "quantile": call(lambda x: lnb.quantile(x, 0.3, axis=1), M),
    "quantile several": call(lambda x, q: lnb.quantile(x, lnb.sigmoid(q)), V, (2,)),
    "quantile weights": call(lambda x, w: lnb.quantile(x, 0.3, weights=w * w, method="inverted_cdf"), V, V),
    "percentile": call(lambda x: lnb.percentile(x, [10, 60]), V),
    "nanquantile": call(lambda x: lnb.nanquantile(x, 0.3, axis=1), NANS),
    "nanpercentile": call(lambda x: lnb.nanpercentile(x, 30, axis=1), NANS),
    "sort": call(lambda x: lnb.sort(x), M), "sort descending": call(lambda x: lnb.sort(x, 0, descending=True), M),
    "argsort": call(lambda x: lnb.argsort(x), M), "topk": call(lambda x: lnb.topk(x, 2), M),
    "partition": call(lambda x: lnb.partition(x, 2), M),
    "argpartition": call(lambda x: lnb.take_along_axis(x, lnb.argpartition(x, 2), -1)[:, 2], M),
    "lexsort": call(lambda i, x: lnb.lexsort([x, i]), whole(2, 6), V),
    "searchsorted": call(lambda a, x: lnb.searchsorted(lnb.sort(a), x), V, (3,)),
    "searchsorted sorter": call(lambda a, x: lnb.searchsorted(a, x, "right", lnb.argsort(a)), V, (3,)),
    "digitize": call(lambda x, b: lnb.digitize(x, lnb.sort(b)), V, (3,)),
    "isin": call(lambda a, b: lnb.isin(a, b), whole(5, 6), whole(5, 3)),
    "bincount": call(lambda i: lnb.bincount(i, minlength=5), whole(5, 6)),
    "bincount weights": call(lambda i, w: lnb.bincount(i, w), whole(5, 6), V),
    "histogram": call(lambda x: lnb.histogram(x, 3), V),
    "histogram edges": call(lambda x: lnb.histogram(x, [-1, 0, 1], density=True), V),
    "histogram weights": call(lambda x, w: lnb.histogram(x, 3, (-1, 1), weights=w), V, V),
    "histogram_bin_edges": call(lambda x: lnb.histogram_bin_edges(x, "fd"), V),
    "histogram2d": call(lambda x, y: lnb.histogram2d(x, y, 2), V, V),
    "histogramdd": call(lambda x: lnb.histogramdd(x, 2)[0], (6, 3)),
    "unique": call(lambda i: lnb.unique(i, return_index=True, return_inverse=True, return_counts=True), whole(4, 6)),
    "unique axis": call(lambda i: lnb.unique(i, axis=0), whole(2, 4, 2)),
    "unique_all": call(lambda i: tuple(lnb.unique_all(i)), whole(4, 6)),
    "unique_counts": call(lambda i: tuple(lnb.unique_counts(i)), whole(4, 6)),
    "unique_inverse": call(lambda i: tuple(lnb.unique_inverse(i)), whole(4, 6)),
    "unique_values": call(lambda i: lnb.unique_values(i), whole(4, 6)),
    "intersect1d": call(lambda i, j: lnb.intersect1d(i, j), whole(6, 5), whole(6, 4)),
    "union1d": call(lambda i, j: lnb.union1d(i, j), whole(6, 5), whole(6, 4)),
    "setdiff1d": call(lambda i, j: lnb.setdiff1d(i, j), whole(6, 5), whole(6, 4)),
    "setxor1d": call(lambda i, j: lnb.setxor1d(i, j), whole(6, 5), whole(6, 4)),
    "diff": call(lambda x: lnb.diff(x, 2, 0), (4, 3)), "ediff1d": call(lambda x: lnb.ediff1d(x, 1.0, 2.0), V),
    "trapezoid": call(lambda y, x: lnb.trapezoid(y, lnb.sort(x)), V, V),
    "gradient": call(lambda x: lnb.gradient(x), M), "gradient spaced": call(
        lambda y, x: lnb.gradient(y, lnb.cumsum(x * x + 1)), V, V),
    "max complex": call(lambda x, y: lnb.max(x + 1j * y), V, V),
    "argmin complex": call(lambda x, y: lnb.argmin(x + 1j * y), V, V),
    "median all of complex": call(lambda x, y: lnb.mean(x + 1j * y), V, V),
    "allclose": call(lambda x: lnb.asarray(lnb.allclose(x, x + 1e-9)), M),
    "isclose": call(lambda x: lnb.isclose(x, x + 1e-9), M),
    "array_equal": call(lambda x: lnb.asarray(lnb.array_equal(x, 1 * x)), M),
    "array_equiv": call(lambda x: lnb.asarray(lnb.array_equiv(x, x[None])), M),
    "trim_zeros": call(lambda x: lnb.trim_zeros(x), ZEROS),
}
