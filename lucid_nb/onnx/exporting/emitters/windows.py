"""Convolutions and pools."""

from collections.abc import Sequence
from typing import Any

from ....windows import Sliding
from ..known import emits
from ..recording import Value
from ..sizes import is_fixed
from ..writer import Ref, Writer, refused


@emits("conv", "biased_conv")
def _conv(w: Writer, out: Value, x: Ref, weight: Ref, *bias: Ref, window: Any) -> str:
    return w.node("Conv", x, weight, *bias, strides=window.stride, pads=(*window.low, *window.high),
                  dilations=window.dilation, group=window.groups, kernel_shape=weight.shape[2:])


@emits("conv_input_grad")
def _conv_transpose(w: Writer, out: Value, g: Ref, weight: Ref, window: Any, x_shape: Any) -> str:
    """The transpose; what output_padding adds is what the sizes leave open."""
    extra = [size - ((count - 1) * stride - low - high + spread * (taps - 1) + 1) for size, count, stride, low, high,
             spread, taps in zip(x_shape[2:], g.shape[2:], window.stride, window.low, window.high, window.dilation,
                                 weight.shape[2:])]
    return w.node("ConvTranspose", g, weight, strides=window.stride, pads=(*window.low, *window.high),
                  dilations=window.dilation, group=window.groups, kernel_shape=weight.shape[2:],
                  output_padding=extra if any(extra) else None)


# --------------------------------------------------------------------------------------------------- pools
def _attributes(op: str, axes: Sequence[Any]) -> dict[str, Any]:
    """What a pool says of its windows. Ends are as the standard counts them, without ceil_mode."""
    if not all(isinstance(axis, Sliding) for axis in axes):
        raise refused(op, "has windows of several sizes. Use a size of the output that divides that of the input.")
    highs = [(axis.results - 1) * axis.stride + axis.dilation * (axis.taps - 1) + 1 - axis.low - axis.size
             for axis in axes]
    lows = [axis.low for axis in axes]
    return {"kernel_shape": [axis.taps for axis in axes], "strides": [axis.stride for axis in axes],
            "pads": [*lows, *[max(high, 0) for high in highs]], "dilations": [axis.dilation for axis in axes]}


def _is_global(x: Ref, axes: Sequence[Any]) -> bool:
    """Is there one window of all cells, whatever their number is?"""
    return all(axis.is_whole for axis in axes) or (
        all(not is_fixed(size) for size in x.shape[2:]) and all(axis.results == 1 for axis in axes))


def _batched(w: Writer, x: Ref, count: int) -> str:
    """With a batch, which the standard's pools have always."""
    return x.name if x.ndim == count + 2 else w.node("Unsqueeze", x, w.integers([0]))


def _unbatched(w: Writer, found: str, x: Ref, count: int) -> str:
    return found if x.ndim == count + 2 else w.node("Squeeze", found, w.integers([0]))


@emits("max_pool")
def _max_pool(w: Writer, out: Value, x: Ref, axes: Any) -> list[str]:
    count = len(axes)
    if _is_global(x, axes) and x.ndim == count + 2:
        return [w.node("GlobalMaxPool", x), ""]
    found = w.node("MaxPool", _batched(w, x, count), **_attributes("max_pool", axes))
    return [_unbatched(w, found, x, count), ""]


@emits("avg_pool")
def _avg_pool(w: Writer, out: Value, x: Ref, axes: Any, include_padding: bool, divisor: Any) -> str:
    count = len(axes)
    if divisor is not None:
        raise refused("avg_pool", "has divisor_override. Multiply the mean instead.")
    if _is_global(x, axes) and x.ndim == count + 2:
        return w.node("GlobalAveragePool", x)
    how = _attributes("avg_pool", axes)
    ends = how["pads"][count:]
    if include_padding and any(end > axis.high for end, axis in zip(ends, axes)):
        raise refused("avg_pool", "has ceil_mode and counts padding. Use count_include_pad=False.")
    del how["dilations"]
    found = w.node("AveragePool", _batched(w, x, count), count_include_pad=int(include_padding), **how)
    return _unbatched(w, found, x, count)
