"""Elements and slices taken at places, and written there."""

from typing import Any

import numpy as np

from ...errors import ConfigError
from ...register import functions
from ...shapes import product
from ..table import operator
from ..values import host, integers, on

REDUCTIONS = {"none": None, "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("Gather")
def gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """Slices along an axis."""
    return functions["take"](x, indices, axis=axis)


@operator("GatherElements")
def gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """Elements along an axis, each at its own place."""
    return functions["gather"](x, _positive(indices, x.shape[axis]), axis=axis)


def _positive(indices: Any, size: int) -> Any:
    """Places counted from the front."""
    return functions["where"](indices < 0, indices + size, indices)


def _rows(shape: tuple[int, ...], indices: Any) -> Any:
    """The number of each slice, of places along the leading axes of a shape."""
    depth = indices.shape[-1]
    number: Any = 0
    for axis in range(depth):
        number = number * shape[axis] + _positive(indices[..., axis], shape[axis])
    return number if depth else functions["zeros"](indices.shape[:-1], np.int64, device=indices.device)


@operator("GatherND")
def gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """Slices at places along several axes."""
    lead, depth = x.shape[:batch_dims], indices.shape[-1]
    rest = x.shape[batch_dims + depth:]
    block = x.shape[batch_dims:batch_dims + depth]
    rows = _rows(block, indices)
    flat = rows.reshape((product(lead), -1)) if batch_dims else rows.reshape(-1)
    if batch_dims:
        flat = flat + on(x, np.arange(product(lead))[:, None] * product(block))
    found = functions["take"](x.reshape((product(lead) * product(block), *rest)), flat.reshape(-1), axis=0)
    return found.reshape((*indices.shape[:-1], *rest))


def _reduction(op: str, reduction: str) -> str | None:
    if reduction not in REDUCTIONS:
        raise ConfigError(f"onnx: {op} has reduction {reduction!r}. Use one of {', '.join(REDUCTIONS)}.")
    return REDUCTIONS[reduction]


@operator("Scatter", "ScatterElements")
def scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    """A copy with elements along an axis replaced, or joined with what is there."""
    reduce, places = _reduction("ScatterElements", reduction), _positive(indices, x.shape[axis])
    if reduce is None:
        return functions["scatter"](x, places, updates, axis=axis)
    return functions["scatter_reduce"](x, places, updates, axis=axis, reduce=reduce)


@operator("ScatterND")
def scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    """A copy with slices at places along several axes replaced, or joined with what is there."""
    reduce, depth = _reduction("ScatterND", reduction), indices.shape[-1]
    rest = x.shape[depth:]
    rows = _rows(x.shape[:depth], indices).reshape((-1, 1))
    width = product(rest)
    flat = x.reshape((product(x.shape[:depth]), width))
    places = functions["broadcast_to"](rows, (rows.shape[0], width))
    values = updates.reshape(places.shape)
    if reduce is None:
        return functions["scatter"](flat, places, values, axis=0).reshape(x.shape)
    return functions["scatter_reduce"](flat, places, values, axis=0, reduce=reduce).reshape(x.shape)


@operator("TensorScatter")
def tensor_scatter(past_cache: Any, update: Any, write_indices: Any = None, *, axis: int = -2,
                   mode: str = "linear") -> Any:
    """A cache with new steps written from a place on that each example has; "circular" begins again at the end."""
    axis, size = axis % past_cache.ndim, past_cache.shape[axis % past_cache.ndim]
    first = np.zeros(past_cache.shape[0], np.int64) if write_indices is None else host(write_indices).astype(np.int64)
    places = first[:, None] + np.arange(update.shape[axis])
    places = places % size if mode == "circular" else places
    shape = [1] * past_cache.ndim
    shape[0], shape[axis] = places.shape
    index = functions["broadcast_to"](on(past_cache, places.reshape(shape)), update.shape)
    return functions["scatter"](past_cache, index, update, axis=axis)


# ----------------------------------------------------------------------------------------------- sequences


@operator("SequenceConstruct")
def sequence_construct(*inputs: Any) -> Any:
    """Tensors side by side."""
    return list(inputs)


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Any:
    """No tensors."""
    return []


@operator("SequenceAt")
def sequence_at(sequence: Any, position: Any) -> Any:
    """One tensor of a sequence."""
    return sequence[integers(position)[0]]


@operator("SequenceInsert")
def sequence_insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    """A sequence with one tensor more."""
    at = len(sequence) if position is None else integers(position)[0]
    at = at + len(sequence) if at < 0 else at
    return [*sequence[:at], tensor, *sequence[at:]]


@operator("SequenceErase")
def sequence_erase(sequence: Any, position: Any = None) -> Any:
    """A sequence with one tensor less."""
    at = (-1 if position is None else integers(position)[0]) % len(sequence)
    return [*sequence[:at], *sequence[at + 1:]]


@operator("SequenceLength")
def sequence_length(sequence: Any) -> Any:
    """How many tensors."""
    return functions["asarray"](np.array(len(sequence), np.int64))


@operator("ConcatFromSequence")
def concat_from_sequence(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    """Joined along an axis, or along a new one."""
    return functions["stack" if new_axis else "concat"](sequence, axis=axis)


@operator("SplitToSequence")
def split_to_sequence(x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    """Parts along an axis, of one size or of several; by default each place alone."""
    size = x.shape[axis]
    given = 1 if split is None else integers(split) if split.ndim else integers(split)[0]
    sizes = given if isinstance(given, list) else [min(given, size - start) for start in range(0, size, given)]
    parts = functions["split"](x, np.cumsum(sizes)[:-1].tolist(), axis)
    return parts if split is not None or keepdims else [functions["squeeze"](part, axis) for part in parts]


@operator("Optional")
def optional(value: Any = None, *, type: Any = None) -> Any:
    """A value, or none."""
    return value


@operator("OptionalHasElement")
def optional_has_element(value: Any = None) -> Any:
    """Is there a value?"""
    return functions["asarray"](np.array(value is not None))


@operator("OptionalGetElement")
def optional_get_element(value: Any) -> Any:
    """The value."""
    return value
