"""What is read or computed on the host, and why. The tests and docs/guide/mlx.md read this table.

A row: the functions (F: nn.functional; [] is indexing), what the host does, and why. All else is recorded and stays on
the device. What is read is computed first, with all that it depends on.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """Names of functions, apart by spaces, and what happens on the host."""

    names: str
    what: str


HOST = {
    "values": Row("tolist item to_host numpy float bool int complex",
                  "The values themselves are asked for."),
    "positions": Row("take take_along_axis index_select gather choose put put_along_axis [] scatter scatter_add "
                     "scatter_reduce one_hot unravel_index ravel_multi_index F.one_hot F.embedding F.embedding_bag "
                     "F.cross_entropy F.nll_loss F.multi_margin_loss F.multilabel_margin_loss F.ctc_loss "
                     "F.max_unpool1d F.max_unpool2d F.max_unpool3d",
                     "Positions and classes are read, so that one out of bounds is refused before MLX sees it: MLX "
                     "checks none, and reads or writes beyond the array."),
    "masks": Row("where nonzero argwhere flatnonzero extract masked_select compress place piecewise "
                 "trim_zeros mask_indices",
                 "How many elements a mask keeps depends on its values; the mask is read, the elements stay on the "
                 "device. where with choices reads nothing."),
    "sets": Row("unique unique_all unique_counts unique_inverse unique_values union1d intersect1d setdiff1d setxor1d "
                "isin searchsorted digitize lexsort",
                "MLX has none of them: the CPU's kernels work on copies, and results go back."),
    "counts": Row("bincount histogram histogram2d histogramdd histogram_bin_edges",
                  "MLX counts nothing: the CPU's kernels do. Sums of weights stay on the device."),
    "remainders": Row("fmod remainder floor_divide divmod gcd lcm bitwise_count F.grid_sample F.rotate",
                      "MLX has no exact remainder of floats, no divisors and no bit counts: NumPy's. grid_sample only "
                      "where it reflects. Integers are divided on the device."),
    "warnings": Row("nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin nanmedian nanquantile nanpercentile var "
                    "std average",
                    "Whether there is nothing but NaN, nothing under the mask, or a sum of weights of 0 is read, for "
                    "the warning or the error of NumPy."),
    "linalg": Row("cholesky cond det eig eigh eigvals eigvalsh expm inv lstsq lu matrix_rank pinv qr slogdet solve "
                  "solve_triangular svd svdvals tensorinv tensorsolve",
                  "LAPACK works on the host; matrices are read, and results go back. So it is with norms by singular "
                  "values and negative powers of matrices."),
    "checks": Row("allclose array_equal array_equiv asarray_chkfinite F.gaussian_nll_loss common_type",
                  "The answer is a Python bool, or an error."),
    "random": Row("F.dropout F.dropout1d F.dropout2d F.dropout3d F.alpha_dropout F.feature_alpha_dropout F.drop_path "
                  "F.drop_block F.rrelu F.fractional_max_pool2d F.fractional_max_pool3d",
                  "On the CPU build the CPU's kernel makes the random words, 20 times as fast; they are uploaded. "
                  "On the GPU MLX computes the same words. Windows that are drawn are chosen on the host."),
}
LACKING = {
    "linalg": "LAPACK works on the host: ops go there.",
    **dict.fromkeys(("searchsorted", "unique", "isin"), "MLX has none: ops go through the host."),
    "over": "Use .to('cpu') first.",
    "assign": "MLX arrays do not share memory. Use put_slice, which gives a new array.",
}
"""Entries of the table that this device lacks, and what is done instead."""
