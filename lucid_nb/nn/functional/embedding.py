"""Embeddings: rows of a table by number, alone or in bags."""

from typing import Any

import numpy as np

from ...array import Tensor
from ...backend import Unbatchable, batching
from ...creation import asarray
from ...errors import ConfigError, DTypeError, ShapeError, is_one_of
from ...ops import embedding as ops
from ...ops.positions import host_positions
from ...shapes import as_integer, as_number

MODES = ("sum", "mean", "max")


def padding_row(op: str, padding_idx: int | None, rows: int) -> int | None:
    """The row that means nothing, counted from the front; ConfigError if there is no such row."""
    if padding_idx is None:
        return None
    row = as_integer(op, "padding_idx", padding_idx)
    if not -rows <= row < rows:
        raise ConfigError(f"{op}: padding_idx is {row} of {rows} rows. Use {-rows} to {rows - 1}.")
    return row % rows


def check_bag(op: str, mode: str) -> str:
    """The mode, if it says what becomes of a bag."""
    if not is_one_of(mode, MODES):
        raise ConfigError(f"{op}: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    return mode


def _bound(op: str, max_norm: float, norm_type: float) -> tuple[float, float]:
    """The norm that rows may have, and its order."""
    most, order = as_number(op, "max_norm", max_norm), as_number(op, "norm_type", norm_type)
    if not (most >= 0 and order > 0):
        raise ConfigError(f"{op}: max_norm is {max_norm} and norm_type {norm_type}. Use a number that is not negative, "
                          "and a positive one.")
    return most, order


def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` (rows, features) whose numbers `input` holds: ``(*input.shape, features)``.

    The row `padding_idx` gets no gradient. Rows longer than `max_norm`, by the norm of order `norm_type`, are shortened
    to it in place. With `scale_grad_by_freq` gradients are divided by how often the row is read. Gradients are dense
    (`sparse` is ignored) and add up in the order of `input`. IndexError where there is no such row.

    >>> lnb.nn.functional.embedding([2, 0], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).tolist()
    [[3.0, 3.0], [1.0, 1.0]]
    """
    weight = asarray(weight)
    ops.checked_weight("embedding", weight)
    ignored = padding_row("embedding", padding_idx, weight.shape[0])
    try:
        positions = ops.rows_of("embedding", weight, input)
    except Unbatchable as reason:
        if max_norm is not None or scale_grad_by_freq:
            raise
        return batching.instead("embedding", reason, embedding, input, weight, ignored)
    if max_norm is not None:
        ops.bound_norms(weight, positions, *_bound("embedding", max_norm, norm_type))
    return ops.embedding(weight, positions, ignored, scale_grad_by_freq)


def embedding_bag(input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Sums, means or maxima of rows of `weight`, one for each bag: (bags, features).

    `input` is (bags, size), or (numbers,) with `offsets` where bags begin (and, with include_last_offset, where the
    last ends). Rows `padding_idx` do not count; a bag of nothing gives 0. `per_sample_weights`, like `input`, multiply
    the rows of a sum. Other arguments as `embedding`. The bags are laid out on the host.

    >>> lnb.nn.functional.embedding_bag([0, 1, 1], [[1.0], [2.0]], offsets=[0, 2], mode="sum").tolist()
    [[3.0], [2.0]]
    """
    weight = asarray(weight)
    ops.checked_weight("embedding_bag", weight)
    check_bag("embedding_bag", mode)
    if per_sample_weights is not None and mode != "sum":
        raise ConfigError(f"embedding_bag: per_sample_weights with mode {mode!r}. Use mode='sum'.")
    positions = host_positions("embedding_bag", input)
    ops.check_rows("embedding_bag", weight, positions)
    owners, count = _owners(positions, offsets, include_last_offset)
    factors = None if per_sample_weights is None else _factors(per_sample_weights, positions, weight)
    positions = positions.reshape(-1)
    ignored = padding_row("embedding_bag", padding_idx, weight.shape[0])
    if ignored is not None:
        kept = np.flatnonzero(positions != ignored)
        positions, owners = positions[kept], owners[kept]
        factors = None if factors is None else factors[kept]
    if max_norm is not None:
        ops.bound_norms(weight, positions, *_bound("embedding_bag", max_norm, norm_type))
    rows = ops.embedding(weight, positions, None, scale_grad_by_freq)
    return ops.bags(rows if factors is None else rows * factors.reshape(-1, 1), owners, count, mode)


def _owners(positions: np.ndarray, offsets: Any, has_last: bool) -> tuple[np.ndarray, int]:
    """The bag of each number, and how many bags there are."""
    if positions.ndim == 2:
        if offsets is not None:
            raise ShapeError(f"embedding_bag: offsets for an input of shape {positions.shape}. A row is a bag.")
        return np.arange(positions.shape[0]).repeat(positions.shape[1]), positions.shape[0]
    if positions.ndim != 1 or offsets is None:
        raise ShapeError(f"embedding_bag: an input of shape {positions.shape}, offsets "
                         f"{'are missing' if offsets is None else 'are given'}. Use (bags, size), or (numbers,) with "
                         "offsets.")
    starts = host_positions("embedding_bag", offsets)
    edges = starts if has_last else np.append(starts, positions.size)
    sizes = np.diff(edges)
    if starts.ndim != 1 or not edges.size or edges[0] != 0 or edges[-1] != positions.size or (sizes < 0).any():
        end = ", and end with the size of the input." if has_last else "."
        raise ShapeError(f"embedding_bag: offsets {starts.tolist()} for {positions.size} numbers. They must begin with "
                         f"0 and not fall{end}")
    return np.arange(sizes.size).repeat(sizes), sizes.size


def _factors(given: Any, positions: np.ndarray, weight: Tensor) -> Tensor:
    """Weights of rows, flat."""
    factors = asarray(given)
    if factors.shape != positions.shape:
        raise ShapeError(f"embedding_bag: per_sample_weights {factors.shape} for an input of shape {positions.shape}. "
                         "They must be alike.")
    if factors.dtype != weight.dtype:
        raise DTypeError(f"embedding_bag: per_sample_weights are {factors.dtype}, the weight {weight.dtype}. Use "
                         f".astype('{weight.dtype}').")
    return factors.reshape(-1)
