"""Cells added around the last axes, or cut off."""

from collections.abc import Sequence
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, ShapeError, is_one_of
from ...ops import padding
from ...shapes import as_integer

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}   # and NumPy's names


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Cells added before and after axes, the last axis first: (left, right, top, bottom, ...); negative ones are cut.

    `mode`: "constant" (with value, 0 by default), "reflect" (fewer than the axis has), "replicate" or "circular" (no
    more than the axis has, after a cut). lnb.pad is NumPy's.

    >>> lnb.nn.functional.pad([[1, 2, 3]], (1, 2), mode="circular")
    tensor([[3, 1, 2, 3, 1, 2]])
    >>> lnb.nn.functional.pad([[1, 2, 3]], (-1, 0, 0, 1), value=9)
    tensor([[2, 3],
            [9, 9]])
    """
    x = asarray(input)
    if not is_one_of(mode, MODES):
        raise ConfigError(f"pad: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    if value is not None and mode != "constant":
        raise ConfigError(f"pad: value is {value}, but mode {mode!r} takes none. Leave it out.")
    pairs = _pairs(x, pad)
    for size, pair in zip(x.shape, pairs):
        _check(mode, x, size, pair)
    options = {"constant_values": 0 if value is None else value} if mode == "constant" else {}
    added = tuple([(max(low, 0), max(high, 0)) for low, high in pairs])
    is_cut = any(min(pair) < 0 for pair in pairs)
    if not any(map(any, added)):
        return (_cut(x, pairs) if is_cut else x).copy()
    if mode == "circular" and is_cut:                                     # what is left goes around
        return padding.pad(_cut(x, pairs), added, MODES[mode])
    found = padding.pad(x, added, MODES[mode], **options)
    return _cut(found, pairs).copy() if is_cut else found


def _cut(x: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """A view without the elements that negative numbers name."""
    return x[tuple([slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape, pairs)])]


def _pairs(x: Tensor, given: Sequence[int]) -> list[tuple[int, int]]:
    """What comes before and after each axis, the first axis first."""
    if not isinstance(given, Sequence) or len(given) % 2 or len(given) > 2 * x.ndim:
        raise ShapeError(f"pad: {given!r} for an input of shape {x.shape}. Give two numbers for each axis, the last "
                         "axis first.")
    numbers = [as_integer("pad", "pad", number) for number in given]
    pairs = list(zip(numbers[::2], numbers[1::2]))
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def _check(mode: str, x: Tensor, size: int, pair: tuple[int, int]) -> None:
    """Refuse to cut off more than there is, and to repeat more than the mode has."""
    left = size + sum(min(count, 0) for count in pair)
    if left < 0:
        raise ShapeError(f"pad: {pair} cuts off more than {size} elements, of shape {x.shape}. Cut less.")
    most = {"reflect": size - 1, "circular": left}.get(mode, max(pair))
    if max(pair) > max(most, 0):
        raise ShapeError(f"pad: {pair} cells around {size} elements, of shape {x.shape}. Mode {mode!r} has at most "
                         f"{max(most, 0)}.")
