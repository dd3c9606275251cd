"""Dropout: elements that a stream of random words chooses are replaced, the others scaled.

The words follow from a key and the number of a stream alone, so the gradient makes them again instead of keeping them.
"""

from typing import Any

import numpy as np

from .. import backend, dtypes, flops
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..backward import raw_runner
from ..op import ALL, Primitive
from .movement import as_tensor, astype

WORDS = 1 << 32


def _dropout(table: Any, x: Any, key: tuple[int, int], stream: int, threshold: int, scale: float, moved: float,
             dropped: float) -> Any:
    """Where a device has no kernel, the words are made on the host."""
    if table.has("dropout"):
        return table.dropout(x, *key, stream, threshold, scale, moved, dropped)
    words = backend.table("cpu").random_bits(*key, stream, int(np.prod(x.shape)))
    kept = table.from_numpy(words.reshape(x.shape) < threshold)
    scaled = raw_runner.multiply(x, scale)
    return raw_runner.where(kept, raw_runner.subtract(scaled, -moved) if moved else scaled, dropped)


def _pull_dropout(ops: Any, info: Any, g: Any, key: tuple[int, int], stream: int, threshold: int, scale: float,
                  moved: float, dropped: float) -> tuple:
    """What is moved by a constant, or replaced by one, has no part in it."""
    return (ops.dropout(g, key=key, stream=stream, threshold=threshold, scale=scale, moved=0.0, dropped=0.0),)


_drop = Primitive("dropout", _dropout, _pull_dropout, flops=flops.per_input(1), linear=ALL)
_drop_affine = Primitive("affine_dropout", _dropout, _pull_dropout, flops=flops.per_input(1))


def threshold_of(p: float) -> int:
    """The random word below which an element is kept that is dropped with probability p."""
    return min(round((1.0 - p) * WORDS), WORDS - 1)


def dropout(x: Any, key: tuple[int, int], stream: int, p: float, scale: float, moved: float = 0.0,
            dropped: float = 0.0) -> Tensor:
    """x * scale + moved with probability 1 - p for each element, otherwise `dropped`."""
    x = as_tensor("dropout", x)
    x = astype(x, dtypes.real_float("dropout", x.dtype, x.device), copy=False)
    op = _drop if moved == dropped == 0 else _drop_affine
    return apply(op, (x,), {"key": key, "stream": stream, "threshold": threshold_of(p), "scale": scale,
                               "moved": moved, "dropped": dropped})


def random_bits(key: tuple[int, int], stream: int, count: int, device: str) -> Tensor:
    """The first words of a stream, uint32; made on the host where a device makes none."""
    table = backend.table(device)
    if table.has("random_bits"):
        return Tensor(table.random_bits(*key, stream, count))
    return Tensor(table.from_numpy(entry(backend.table("cpu"), "random_bits")(*key, stream, count)))
