"""Rules of products: one product of all examples where one side is the same for all, a batch of them otherwise."""

from math import prod
from typing import Any

from ..shapes import Shape, Window, swapped_last
from .device import Device, _example_by_example, rule
from .raw import Batched, aligned, common, first, spread


@rule
def linalg(device: Device, routine: str, options: dict[str, Any], *arrays: Batched) -> Any:
    """A routine of matrices, for all examples at once."""
    ndim = max([len(x.shape) for x in arrays])
    found = device.below("linalg")(routine, options, *[aligned(x, ndim) for x in arrays])
    return device.wrapped(found, common(arrays)[1])


@rule
def matmul(device: Device, a: Batched, b: Batched) -> Batched:
    """The matrix product."""
    under, level = device.under, common((a, b))[1]
    if b.hidden == 1 and len(b.shape) == 2:
        rows = under.reshape(a.raw, (a.hidden * prod(a.shape[:-1]), a.shape[-1]))
        return device.kind(under.reshape(under.matmul(rows, first(b)), (a.hidden, *a.shape[:-1], b.shape[-1])), level)
    if a.hidden == 1 and len(a.shape) == 2:
        return _turned(device, matmul(device, _turned(device, b), _turned(device, a)))
    ndim = max(len(a.shape), len(b.shape))
    return device.kind(under.matmul(aligned(a, ndim), aligned(b, ndim)), level)


def _turned(device: Device, x: Batched) -> Batched:
    """Matrices transposed."""
    return device.kind(device.under.permute(x.raw, swapped_last(len(x.raw.shape))), x.level)


# --------------------------------------------------------------------------------------------- convolutions
def _in_batch(device: Device, x: Batched) -> Any:
    """The images of all examples as one batch."""
    return device.under.reshape(x.raw, (x.hidden * x.shape[0], *x.shape[1:]))


def _in_channels(device: Device, x: Batched, size: int) -> Any:
    """The channels of all examples beside each other, in each image."""
    under, count = device.under, len(x.raw.shape)
    turned = under.permute(spread(x, size), (1, 0, *range(2, count)))
    return under.reshape(turned, (x.shape[0], size * x.shape[1], *x.shape[2:]))


def _in_filters(device: Device, w: Batched, size: int) -> Any:
    """The filters of all examples, one after the other."""
    return device.under.reshape(spread(w, size), (size * w.shape[0], *w.shape[1:]))


def _from_channels(device: Device, found: Any, size: int) -> Any:
    """(images, examples x channels, ...) with the examples first."""
    under, shape = device.under, tuple(found.shape)
    parted = under.reshape(found, (shape[0], size, shape[1] // size if size else 0, *shape[2:]))
    return under.permute(parted, (1, 0, *range(2, len(shape) + 1)))


def _grouped(window: Window, size: int) -> Window:
    """The window with groups of its own for each example."""
    return Window(window.stride, window.low, window.high, window.dilation, window.groups * size)


def _is_refused(device: Device, window: Window) -> bool:
    """Does the device below refuse groups over so many axes (MLX over three)?"""
    return device.DEVICE == "mlx" and window.ndim == 3


@rule
def conv(device: Device, x: Batched, w: Batched, window: Window) -> Batched:
    """The convolution: examples are images of one batch, or groups of channels where each has its own filters."""
    under = device.under
    size, level = common((x, w))
    if w.hidden == 1:
        found = under.conv(_in_batch(device, x), first(w), window)
        return device.kind(under.reshape(found, (x.hidden, x.shape[0], *found.shape[1:])), level)
    if x.hidden == 1 and window.groups == 1:
        return device.kind(_from_channels(device, under.conv(first(x), _in_filters(device, w, size), window), size),
                           level)
    if _is_refused(device, window):
        found = _example_by_example(device, "conv", x, w, window)
        return device.kind(found.raw, level)
    found = under.conv(_in_channels(device, x, size), _in_filters(device, w, size), _grouped(window, size))
    return device.kind(_from_channels(device, found, size), level)


@rule
def conv_input_grad(device: Device, g: Batched, w: Batched, window: Window, x_shape: Shape) -> Batched:
    """The gradient of the convolution's input, in the same ways."""
    under = device.under
    size, level = common((g, w))
    if w.hidden == 1:
        found = under.conv_input_grad(_in_batch(device, g), first(w), window, (g.hidden * x_shape[0], *x_shape[1:]))
        return device.kind(under.reshape(found, (g.hidden, *x_shape)), level)
    if _is_refused(device, window):
        found = _example_by_example(device, "conv_input_grad", g, w, window, x_shape)
        return device.kind(found.raw, level)
    shape = (x_shape[0], size * x_shape[1], *x_shape[2:])
    found = under.conv_input_grad(_in_channels(device, g, size), _in_filters(device, w, size), _grouped(window, size),
                                  shape)
    return device.kind(_from_channels(device, found, size), level)


@rule
def conv_weight_grad(device: Device, x: Batched, g: Batched, window: Window, w_shape: Shape) -> Batched:
    """The gradient of the convolution's filters: each example has its own."""
    under = device.under
    size, level = common((x, g))
    if _is_refused(device, window) or size == 1:
        found = _example_by_example(device, "conv_weight_grad", x, g, window, w_shape)
        return device.kind(found.raw, level)
    shape = (size * w_shape[0], *w_shape[1:])
    if x.hidden == 1 and window.groups == 1:
        found = under.conv_weight_grad(first(x), _in_channels(device, g, size), window, shape)
    else:
        found = under.conv_weight_grad(_in_channels(device, x, size), _in_channels(device, g, size),
                                       _grouped(window, size), shape)
    return device.kind(under.reshape(found, (size, *w_shape)), level)
