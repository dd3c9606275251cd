"""Dropout of elements, of channels and of what surrounds a cell. Masks follow from keys: see lucid_nb.random.

`key`: a key of `lnb.random.key` where the mask is to be chosen; otherwise each call has its own, which
`lnb.random.seed` governs. The same key gives the same mask on every device.
"""

from functools import reduce
from typing import Any

from ... import random
from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, ShapeError
from ...ops import dropout as drop
from ...ops.extremes import maximum
from ...ops.padding import pad
from ...random import Key
from ...shapes import as_integer, as_number
from .activation import finished

SATURATION = -1.7580993408473766           # what selu tends to, on the left: -SELU_SCALE * SELU_ALPHA


def check_probability(op: str, p: float) -> float:
    """p, if it is a probability."""
    found = as_number(op, "the probability", p)
    if not 0 <= found <= 1:
        raise ConfigError(f"{op}: p is {p}. Use a probability, 0 to 1.")
    return found


def _dropped(x: Any, p: float, key: Key | None, scale: float, moved: float = 0.0, dropped: float = 0.0) -> Tensor:
    """Elements with probability p `dropped`, the others x * scale + moved."""
    chosen = random.next_key() if key is None else key
    return drop.dropout(x, chosen.words, chosen.stream, p, scale, moved, dropped)


def _scale(p: float) -> float:
    return 1 / (1 - p) if p < 1 else 0.0


def _alpha(p: float) -> tuple[float, float]:
    """The factor and the shift that keep mean 0 and variance 1 where SATURATION replaces what is dropped."""
    factor = ((1 - p) * (1 + p * SATURATION ** 2)) ** -0.5 if p < 1 else 0.0
    return factor, -factor * p * SATURATION


def _mask(x: Tensor, shape: tuple[int, ...], p: float, key: Key | None, scale: float) -> Tensor:
    """`scale` where something is kept, otherwise 0."""
    ones = asarray(1.0, dtype=x.dtype, device=x.device).broadcast_to(shape)
    return _dropped(ones, p, key, scale)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *,
            key: Key | None = None) -> Tensor:
    """In training each element with probability p 0, otherwise divided by 1 - p.

    Source: N. Srivastava et al., Dropout, Journal of Machine Learning Research 15 (2014).

    >>> sorted({*lnb.nn.functional.dropout(np.ones(100), 0.5).tolist()})
    [0.0, 2.0]
    """
    if not training or check_probability("dropout", p) == 0:
        return asarray(input)
    return finished("dropout", input, _dropped(input, p, key, _scale(p)), inplace)


def _channels(op: str, input: Any, p: float, inplace: bool, key: Key | None, batched: int,
              single: int | None) -> Tensor:
    """Whole channels dropped, of a batch of examples or of a single one."""
    x = asarray(input)
    if x.ndim not in (batched, single or batched):
        raise ShapeError(f"{op}: an input of shape {x.shape}. Give it {batched} axes.")
    lead = 2 if x.ndim == batched or single is None else 1
    shape = (*x.shape[:lead], *(1,) * (x.ndim - lead))
    return finished(op, input, x * _mask(x, shape, check_probability(op, p), key, _scale(p)), inplace)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *,
              key: Key | None = None) -> Tensor:
    """In training each channel with probability p 0, otherwise divided by 1 - p: (batch, channels, length), or without
    batch."""
    return _channels("dropout1d", input, p, inplace, key, 3, 2) if training else asarray(input)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *,
              key: Key | None = None) -> Tensor:
    """As dropout1d, of images (batch, channels, height, width); three axes are (batch, channels, length)."""
    if not training:
        return asarray(input)
    return _channels("dropout2d", input, p, inplace, key, 3 if asarray(input).ndim == 3 else 4, None)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *,
              key: Key | None = None) -> Tensor:
    """As dropout1d, of volumes (batch, channels, depth, height, width), or without batch."""
    return _channels("dropout3d", input, p, inplace, key, 5, 4) if training else asarray(input)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False, *,
                  key: Key | None = None) -> Tensor:
    """In training each element with probability p selu's limit; all then moved and scaled, so that mean 0 and variance
    1 are kept (G. Klambauer et al., arXiv:1706.02515)."""
    if not training or check_probability("alpha_dropout", p) == 0:
        return asarray(input)
    factor, shift = _alpha(p)
    found = _dropped(input, p, key, factor, shift, factor * SATURATION + shift)
    return finished("alpha_dropout", input, found, inplace)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False, *,
                          key: Key | None = None) -> Tensor:
    """As alpha_dropout, of whole channels (axis 1)."""
    if not training or check_probability("feature_alpha_dropout", p) == 0:
        return asarray(input)
    x, (factor, shift) = asarray(input), _alpha(p)
    if x.ndim < 2:
        raise ShapeError(f"feature_alpha_dropout: an input of shape {x.shape} has no channels. Give it 2 axes or more.")
    kept = _mask(x, (*x.shape[:2], *(1,) * (x.ndim - 2)), p, key, 1.0)
    level = (1 - kept) * (factor * SATURATION) + shift
    return finished("feature_alpha_dropout", input, x * (kept * factor) + level, inplace)


def drop_path(input: Any, p: float = 0.1, training: bool = True, scale_by_keep: bool = True, *,
              key: Key | None = None) -> Tensor:
    """In training each example (axis 0) with probability p 0, the others divided by 1 - p where scale_by_keep says so.

    Source: G. Huang et al., Deep networks with stochastic depth, arXiv:1603.09382.
    """
    if not training or check_probability("drop_path", p) == 0:
        return asarray(input)
    x = asarray(input)
    return x * _mask(x, (*x.shape[:1], *(1,) * (x.ndim - 1)), p, key, _scale(p) if scale_by_keep else 1.0)


def _spread(seeds: Tensor, size: int, axis: int) -> Tensor:
    """Each cell that is 1 with the next size - 1 along an axis."""
    width = [(size - 1, size - 1) if axis == each else (0, 0) for each in range(seeds.ndim)]
    padded, count = pad(seeds, width), seeds.shape[axis] + size - 1
    parts = [padded[(slice(None),) * axis + (slice(first, first + count),)] for first in range(size)]
    return reduce(maximum, parts)


def drop_block(input: Any, block_size: int, p: float = 0.1, training: bool = True, eps: float = 1e-7, *,
               key: Key | None = None) -> Tensor:
    """In training square blocks of images (batch, channels, height, width) 0, a share p of all cells; what is left is
    scaled by the share of each image batch that is left (with eps added).

    Source: G. Ghiasi, T. Lin, Q. Le, DropBlock, arXiv:1810.12890.
    """
    size, x = as_integer("drop_block", "block_size", block_size), asarray(input)
    if not training or check_probability("drop_block", p) == 0:
        return x
    if x.ndim != 4 or not 1 <= size <= min(x.shape[2:]):
        raise ShapeError(f"drop_block: blocks of {size} in an input of shape {x.shape}. Give images, (batch, channels, "
                         "height, width), not smaller than a block.")
    height, width = x.shape[2:]
    corners = (*x.shape[:2], height - size + 1, width - size + 1)
    share = min(1.0, p * height * width / (size * size * corners[2] * corners[3]))
    seeds = 1 - _mask(x, corners, share, key, 1.0)
    kept = 1 - _spread(_spread(seeds, size, 2), size, 3)
    return x * kept * (kept.size / (kept.sum() + eps))
