"""Sequences of different lengths as one tensor: padded, or packed without padding for recurrent layers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...array import Tensor
from ...creation import asarray, full
from ...errors import ConfigError, ShapeError
from ...ops.movement import concat


class PackedSequence(NamedTuple):
    """Sequences step by step: `data` (elements, ...) holds the first elements of all, then the second ones, ...

    `batch_sizes` counts the sequences that reach each step; the longest come first. `sorted_indices` says which
    sequence stands where, `unsorted_indices` is its inverse; both None where they were given in that order.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *targets: Any) -> "PackedSequence":
        """With the data on another device or in another dtype."""
        return self._replace(data=self.data.to(*targets))


def _as_lengths(op: str, lengths: Any, batch: int, most: int) -> np.ndarray:
    """The lengths as int64, one for each of the batch, 1 to `most`."""
    given = asarray(lengths).to_host()
    found = np.atleast_1d(given).astype(np.int64)
    if given.dtype.kind not in "iu" or found.shape != (batch,) or (found < 1).any() or (found > most).any():
        raise ShapeError(f"{op}: lengths {np.asarray(given).tolist()} for {batch} sequences of up to {most} elements. "
                         f"Give an integer from 1 to {most} for each.")
    return found


def _indices(array: np.ndarray, like: Tensor) -> Tensor:
    """Integers on the device of a tensor."""
    found = Tensor(np.ascontiguousarray(array, np.int64))
    return found if like.device == "cpu" else found.to(like.device)


def _two_axes(op: str, input: Any) -> Tensor:
    x = asarray(input)
    if x.ndim < 2:
        raise ShapeError(f"{op}: the input has shape {x.shape}. It needs an axis of time and one of the batch.")
    return x


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences (time, batch, ...), or (batch, time, ...) with batch_first, of these lengths.

    With enforce_sorted=False they may come in any order; recurrent layers give their states in that order. ShapeError
    for lengths that are 0, beyond the time, or with enforce_sorted increasing.

    >>> packed = lnb.nn.utils.rnn.pack_padded_sequence(np.float32([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1.0, 4.0, 2.0, 5.0, 3.0], [2, 2, 1])
    """
    x = _two_axes("pack_padded_sequence", input)
    batch, time = x.shape[:2] if batch_first else x.shape[1::-1]
    sizes = _as_lengths("pack_padded_sequence", lengths, batch, time)
    order = np.arange(batch) if enforce_sorted else np.argsort(-sizes, kind="stable")
    if (np.diff(sizes[order]) > 0).any():
        raise ShapeError(f"pack_padded_sequence: lengths {sizes.tolist()} increase. Sort the sequences, the longest "
                         "first, or pass enforce_sorted=False.")
    counts = [int((sizes > t).sum()) for t in range(int(sizes.max()))]
    places = [order[:count] * time + t if batch_first else t * batch + order[:count] for t, count in enumerate(counts)]
    data = x.reshape(batch * time, *x.shape[2:])[_indices(np.concatenate(places), x)]
    packed = PackedSequence(data, asarray(np.array(counts)))
    if enforce_sorted:
        return packed
    return packed._replace(sorted_indices=_indices(order, x), unsorted_indices=_indices(np.argsort(order), x))


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The inverse of pack_padded_sequence: the padded sequences and their lengths, both in the order before packing.

    `total_length` pads to more than the longest; ShapeError if it is less.
    """
    counts = sequence.batch_sizes.to_host()
    time = len(counts) if total_length is None else total_length
    if time < len(counts):
        raise ShapeError(f"pad_packed_sequence: total_length {time} is less than the longest sequence, {len(counts)}. "
                         "Use at least that.")
    lengths = (counts[:, None] > np.arange(counts[0])).sum(0)
    starts = np.concatenate([np.cumsum(counts) - counts, np.full(time - len(counts), counts.sum())])
    places = starts[:, None] + np.arange(counts[0])
    places[np.arange(time)[:, None] >= lengths] = counts.sum()               # the row of padding
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices.to_host()
        places, lengths = places[:, order], lengths[order]
    data = sequence.data
    row = full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = concat([data, row])[_indices(places.T if batch_first else places, data)]
    return padded, asarray(lengths.astype(np.int64))


def pad_sequence(sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences (time, ...) of different lengths as one tensor (longest, batch, ...), or with the batch first.

    >>> lnb.nn.utils.rnn.pad_sequence([np.float32([1, 2]), np.float32([3])], batch_first=True).tolist()
    [[1.0, 2.0], [3.0, 0.0]]
    """
    tensors = _listed("pad_sequence", sequences)
    if padding_side not in ("left", "right"):
        raise ConfigError(f"pad_sequence: padding_side is {padding_side!r}. Use 'left' or 'right'.")
    lengths = np.array([len(tensor) for tensor in tensors])
    longest, total = int(lengths.max()), int(lengths.sum())
    offsets = np.arange(longest) - (longest - lengths if padding_side == "left" else lengths * 0)[:, None]
    known = (offsets >= 0) & (offsets < lengths[:, None])
    places = np.where(known, (np.cumsum(lengths) - lengths)[:, None] + offsets, total)
    row = full((1, *tensors[0].shape[1:]), padding_value, dtype=tensors[0].dtype, device=tensors[0].device)
    return concat([*tensors, row])[_indices(places if batch_first else places.T, tensors[0])]


def _listed(op: str, sequences: Sequence[Any]) -> list[Tensor]:
    """The sequences as tensors that differ in their first size only."""
    tensors = [asarray(sequence) for sequence in sequences]
    shapes = [tensor.shape for tensor in tensors]
    if not tensors or not all(shapes) or len({shape[1:] for shape in shapes}) != 1:
        raise ShapeError(f"{op}: the sequences have shapes {shapes}. Give at least one, with sizes that differ along "
                         "the first axis only.")
    return tensors


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (time, ...) of different lengths, the longest first unless enforce_sorted=False."""
    tensors = _listed("pack_sequence", sequences)
    return pack_padded_sequence(pad_sequence(tensors), [len(tensor) for tensor in tensors],
                                enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences (time, ...) of a padded tensor, each of its length."""
    x = _two_axes("unpad_sequence", padded_sequences)
    batch, time = x.shape[:2] if batch_first else x.shape[1::-1]
    sizes = _as_lengths("unpad_sequence", lengths, batch, time)
    return [x[k, :size] if batch_first else x[:size, k] for k, size in enumerate(sizes.tolist())]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (time, ...) of a packed one, in the order before packing."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
