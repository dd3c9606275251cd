"""Copies: contiguous memory of any array, by tiles where the source lies across, and the axes that two arrays share."""

from collections.abc import Sequence

import numpy as np

from ..shapes import inverse_permutation
from . import memory, store, threads

TILE = 32                # rows and columns of a tile: its lines of both sides stay in the first-level cache
SMALL = 4096             # elements below which NumPy's copy is as fast
MIDDLING = 2 << 20      # bytes below which memory that the C library recycles is as quick as ours
STREAMED = 4 << 20       # bytes from which a result goes past the caches: see docs/performance.md
BLOCK = 4096             # bytes that are copied at once where little is repeated: larger copies took 1.4 times as long
GRAIN = 256              # blocks of one thread's smallest share
PAST = store.RangeKernel("lucid_nb.kernels.loops.copying:past", ("int64",) * 4)
TRANSPOSE = store.RangeKernel("lucid_nb.kernels.loops.copying:transpose", ("int64",) * 7)


def contiguous(raw: np.ndarray) -> np.ndarray:
    """The array itself where it is C-contiguous, otherwise a copy that is."""
    return raw if raw.flags.c_contiguous else copy(raw)


def copy(raw: np.ndarray) -> np.ndarray:
    """A C-contiguous copy."""
    if raw.flags.c_contiguous and raw.nbytes < MIDDLING:
        return raw.copy()
    new = memory.empty(raw.shape, raw.dtype)
    if raw.size < SMALL:
        np.copyto(new, raw)
    elif raw.flags.c_contiguous and raw.nbytes >= STREAMED and not raw.dtype.hasobject:
        _store_past(raw, new, BLOCK)
    elif raw.strides[0] == 0 and raw.nbytes < BLOCK * len(raw):
        _copy_repeated(raw, new)
    elif raw.itemsize not in (2, 4, 8) or not _copy_across(raw, new):
        np.copyto(new, raw)
    return new


def _store_past(raw: np.ndarray, new: np.ndarray, step: int) -> None:
    """Fill recycled memory past the caches, `step` bytes on for each block."""
    threads.launch(PAST, -(-new.nbytes // BLOCK), GRAIN, raw, new, step, new.nbytes)


def _copy_repeated(raw: np.ndarray, new: np.ndarray) -> None:
    """Copy one small array that is repeated: NumPy's loop would copy few elements at a time.

    What is there is doubled up to BLOCK bytes, which are then written again and again.
    """
    if new.nbytes >= STREAMED and BLOCK % new[0].nbytes == 0 and not new.dtype.hasobject:
        return _store_past(np.repeat(raw[:1], BLOCK // new[0].nbytes, axis=0), new, 0)
    new[0], filled, most = raw[0], 1, BLOCK // max(1, new[0].nbytes)
    while 2 * filled <= most:
        new[filled:2 * filled] = new[:filled]
        filled *= 2
    whole = len(new) // filled
    new[filled:whole * filled].reshape(whole - 1, filled, *new.shape[1:])[...] = new[:filled]
    new[whole * filled:] = new[:len(new) - whole * filled]


def _copy_across(raw: np.ndarray, new: np.ndarray) -> bool:
    """Copy by tiles, if the array is a batch of matrices whose columns are contiguous."""
    shape, (strides,) = coalesce(raw.shape, [raw.strides])
    if not 2 <= len(shape) <= 3 or strides[-2] != raw.itemsize or strides[-1] <= raw.itemsize:
        return False
    batch = shape[0] if len(shape) == 3 else 1
    step = strides[0] if len(shape) == 3 else 0
    rows, cols = shape[-2:]
    bands = batch * -(-rows // TILE)
    grain = max(1, 65536 // (TILE * cols))
    threads.launch(TRANSPOSE, bands, grain, raw, new, raw.itemsize, rows, cols, strides[-1], step)
    return True


def coalesce(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Join neighbouring axes that every operand walks as one; axes of one element vanish.

    `strides` holds a sequence for each operand. At least one axis remains.

    >>> coalesce((2, 3, 4), [(48, 16, 4), (0, 0, 4)])
    ([6, 4], [[16, 4], [0, 4]])
    """
    sizes: list[int] = []
    joined: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        here = [stride[axis] for stride in strides]
        if size == 1:
            continue
        if sizes and all(j[-1] == h * size for j, h in zip(joined, here)):
            sizes[-1] *= size
            joined = [[*j[:-1], h] for j, h in zip(joined, here)]
        else:
            sizes.append(size)
            joined = [[*j, h] for j, h in zip(joined, here)]
    return (sizes, joined) if sizes else ([1], [[0] for _ in strides])


# ------------------------------------------------------------------------------------------------ orders of axes
def axes_in_memory(raws: Sequence[np.ndarray], from_fastest: bool = True) -> tuple[int, ...]:
    """Axes from the slowest to the fastest in the memory of arrays; where these differ, C's.

    Axes of one element say nothing: NumPy settles them from the fastest on where it iterates, from the slowest on
    where it joins.
    """
    order = [*range(raws[0].ndim)][::-1 if from_fastest else 1]
    strides = [tuple([0 if size == 1 else stride for stride, size in zip(raw.strides, raw.shape)]) for raw in raws]
    for place in range(1, len(order)):
        axis, target = order[place], place
        for before in range(place - 1, -1, -1):
            fast, slow = (axis, order[before]) if from_fastest else (order[before], axis)
            is_earlier = runs_faster(fast, slow, strides)
            if is_earlier is False:
                break
            target = before if is_earlier else target
        order.insert(target, order.pop(place))
    return tuple(order[::-1] if from_fastest else order)


def runs_faster(axis: int, other: int, strides: Sequence[tuple[int, ...]]) -> bool | None:
    """Does an axis run faster in memory than one behind it? None where no operand tells; where they differ it does
    not, and the order of the axes stays."""
    told = [abs(stride[axis]) < abs(stride[other]) for stride in strides if stride[axis] and stride[other]]
    return all(told) if told else None


def new_like(raws: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Memory for a shape of as many axes as the arrays have, which run in it as in theirs; of the first one's dtype."""
    if all([raw.flags.c_contiguous for raw in raws]):
        return memory.empty(tuple(shape), raws[0].dtype)
    axes = axes_in_memory(raws, False)
    new = memory.empty(tuple([shape[axis] for axis in axes]), raws[0].dtype)
    return new.transpose(inverse_permutation(axes))


def with_axes_of(raw: np.ndarray, found: np.ndarray) -> np.ndarray:
    """An array of the same shape, copied where its axes do not run in memory as those of `raw` do."""
    axes = axes_in_memory([raw], False)
    ordered = found.transpose(axes)
    if ordered.flags.c_contiguous:
        return found
    return copy(ordered).transpose(inverse_permutation(axes))
