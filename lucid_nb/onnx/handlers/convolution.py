"""Convolutions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ConfigError, ShapeError
from ...nn import functional as F
from ...register import functions
from ...shapes import product
from ..table import operator
from ..values import on

Pairs = list[tuple[int, int]]


def pairs_of(op: str, auto_pad: str, pads: Sequence[int] | None, sizes: Sequence[int], taps: Sequence[int],
             strides: Sequence[int], dilations: Sequence[int]) -> Pairs:
    """(low, high) padding of each spatial axis, as numbers or words say it."""
    ndim = len(sizes)
    if auto_pad in ("NOTSET", "", "VALID"):
        given = list(pads) if pads is not None and auto_pad != "VALID" else [0] * (2 * ndim)
        if len(given) != 2 * ndim:
            raise ShapeError(f"onnx: {op} has pads {given} for {ndim} spatial axes. Give two an axis.")
        return list(zip(given[:ndim], given[ndim:]))
    totals = [max((-(-size // stride) - 1) * stride + (count - 1) * spread + 1 - size, 0)
              for size, count, stride, spread in zip(sizes, taps, strides, dilations)]
    return [shared(op, auto_pad, total) for total in totals]


def shared(op: str, auto_pad: str, total: int) -> tuple[int, int]:
    """A total padding shared by both ends; an odd one has more at the end that the word names."""
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER", "NOTSET"):
        raise ConfigError(f"onnx: {op} has auto_pad {auto_pad!r}. Use NOTSET, VALID, SAME_UPPER or SAME_LOWER.")
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def spread(given: Sequence[int] | None, ndim: int) -> list[int]:
    """One number an axis, by default 1."""
    return list(given) if given else [1] * ndim


def _named(prefix: str, ndim: int) -> Any:
    if not 1 <= ndim <= 3:
        raise ShapeError(f"onnx: a convolution over {ndim} spatial axes. There are those over 1 to 3.")
    return getattr(F, f"{prefix}{ndim}d")


@operator("Conv")
def conv(x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
         kernel_shape: Any = None, pads: Any = None, strides: Any = None) -> Any:
    """The convolution of a batch."""
    ndim = x.ndim - 2
    steps, wide = spread(strides, ndim), spread(dilations, ndim)
    padding = pairs_of("Conv", auto_pad, pads, x.shape[2:], w.shape[2:], steps, wide)
    return _named("conv", ndim)(x, w, b, steps, padding, wide, group)


@operator("ConvTranspose")
def conv_transpose(x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
                   kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None, pads: Any = None,
                   strides: Any = None) -> Any:
    """The transpose of a convolution; padding cuts the result, and a negative one adds zeros to it."""
    ndim = x.ndim - 2
    steps, wide = spread(strides, ndim), spread(dilations, ndim)
    extra = list(output_padding) if output_padding else [0] * ndim
    whole = [step * (size - 1) + more + (taps - 1) * each + 1
             for step, size, more, taps, each in zip(steps, x.shape[2:], extra, w.shape[2:], wide)]
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * step for size, step in zip(x.shape[2:], steps)]
    if output_shape is not None:
        pairs = [shared("ConvTranspose", auto_pad, size - wanted)
                 for size, wanted in zip(whole, list(output_shape)[-ndim:])]
    else:
        pairs = pairs_of("ConvTranspose", auto_pad, pads, x.shape[2:], w.shape[2:], steps, wide)
    pairs = [(low, high - more) for (low, high), more in zip(pairs, extra)]
    found = _named("conv_transpose", ndim)(x, w, None, steps, [(max(low, 0), max(high, 0)) for low, high in pairs], 0,
                                           group, wide)
    if any(low < 0 or high < 0 for low, high in pairs):
        found = functions["pad"](found, [(0, 0), (0, 0), *[(max(-low, 0), max(-high, 0)) for low, high in pairs]])
    return found if b is None else found + b.reshape((-1, *[1] * ndim))


@operator("CausalConvWithState")
def causal_conv(x: Any, weight: Any, bias: Any = None, past_state: Any = None, *,
                activation: str = "none") -> tuple[Any, Any]:
    """Each channel's convolution with what came before, and what the next call needs of it."""
    before = weight.shape[-1] - 1
    if past_state is None:
        past_state = functions["zeros"]((*x.shape[:2], before), x.dtype, device=x.device)
    whole = functions["concat"]([past_state, x], axis=-1)
    found = F.conv1d(whole, weight, bias, groups=weight.shape[0])
    if activation not in ("none", "silu", "swish"):
        raise ConfigError(f"onnx: CausalConvWithState has activation {activation!r}. Use none, silu or swish.")
    return found if activation == "none" else F.silu(found), whole[..., whole.shape[-1] - before:]


# ---------------------------------------------------------------------------------------------- deformable
@operator("DeformConv")
def deform_conv(x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None, *, dilations: Any = None, group: int = 1,
                kernel_shape: Any = None, offset_group: int = 1, pads: Any = None, strides: Any = None) -> Any:
    """A convolution whose taps are moved by offsets, and weighted by a mask: J. Dai et al., arXiv:1703.06211."""
    ndim, (batch, channels, *sizes) = x.ndim - 2, x.shape
    taps, results = w.shape[2:], offset.shape[2:]
    count, places = product(taps), product(results)
    pairs = pairs_of("DeformConv", "NOTSET", pads, sizes, taps, spread(strides, ndim), spread(dilations, ndim))
    start = _taps(taps, results, spread(strides, ndim), spread(dilations, ndim), [low for low, _ in pairs])
    at = offset.reshape((batch * offset_group, count, ndim, places)) + on(x, start.astype(x.dtype))
    scale = on(x, np.array(sizes, x.dtype).reshape(-1, 1))
    grid = functions["permute_dims"](functions["flip"]((2 * at + 1) / scale - 1, 2), (0, 1, 3, 2))
    grid = grid.reshape((batch * offset_group, *[1] * (ndim - 2), count, places, ndim))
    image = x.reshape((batch * offset_group, channels // offset_group, *sizes))
    found = F.grid_sample(image, grid, "bilinear", "zeros", False)
    found = found.reshape((batch, offset_group, channels // offset_group, count, places))
    if mask is not None:
        found = found * mask.reshape((batch, offset_group, 1, count, places))
    columns = found.reshape((batch, group, channels // group * count, places))
    kernel = w.reshape((group, w.shape[0] // group, -1))
    result = functions["matmul"](kernel, columns).reshape((batch, w.shape[0], *results))
    return result if b is None else result + b.reshape((-1, *[1] * ndim))


def _taps(taps: Sequence[int], results: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
          lows: Sequence[int]) -> np.ndarray:
    """(taps, axes, results): the cell that each tap of each window reads where it is not moved."""
    grid = [np.asarray(part).reshape(-1) for part in np.indices(taps)]
    cells = [np.asarray(part).reshape(-1) for part in np.indices(results)]
    return np.stack([tap[:, None] * spread + cell[None] * stride - low for tap, cell, stride, spread, low
                     in zip(grid, cells, strides, dilations, lows)], 1)
