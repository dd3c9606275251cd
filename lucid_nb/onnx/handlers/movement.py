"""Shapes: what joins, cuts, pads, repeats and rearranges."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...creation import asarray
from ...errors import ConfigError, ShapeError
from ...register import functions
from ...shapes import product
from ..table import Node, operator
from ..values import axes_of, host, integers, on, scalar, unsqueezed


@operator("Concat")
def concat(*inputs: Any, axis: int = 1) -> Any:
    """Joined along an axis."""
    return functions["concat"](inputs, axis=axis)


@operator("Split")
def split(x: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, node: Node) -> tuple[Any, ...]:
    """Parts along an axis, of given sizes or as equal as can be."""
    count, size = num_outputs or len(node.outputs), x.shape[axis]
    if split is None:
        each = -(-size // count)
        sizes = [min(each, size - start) for start in range(0, each * count, each)] if each else [0] * count
    else:
        sizes = integers(split)
    if min(sizes) < 0 or sum(sizes) != size:
        raise ShapeError(f"onnx: Split into {sizes} along an axis of {size}. The sizes must add up to it.")
    return tuple(functions["split"](x, np.cumsum(sizes)[:-1].tolist(), axis))


@operator("Slice")
def slice_(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """What lies between places along axes."""
    first, last = integers(starts), integers(ends)
    along = axes_of(axes, x.ndim) if axes is not None else range(len(first))
    every = integers(steps) if steps is not None else [1] * len(first)
    if 0 in every or not len(first) == len(last) == len(every):
        raise ShapeError(f"onnx: Slice from {first} to {last} by steps {every}. Give as many of each, no step 0.")
    index = [slice(None)] * x.ndim
    for axis, start, stop, step in zip(along, first, last, every):
        size = x.shape[axis]
        stop = -size - 1 if step < 0 and stop < -size else stop
        index[axis] = slice(start, None if step < 0 and stop < -size else stop, step)
    return x[tuple(index)]


@operator("Reshape")
def reshape(x: Any, shape: Any, *, allowzero: int = 0, consumed_inputs: Any = None) -> Any:
    """In another shape: one -1 is what is left, and a 0 the size that the axis has, unless allowzero."""
    wanted = integers(shape)
    if not allowzero:
        if any(size == 0 and axis >= x.ndim for axis, size in enumerate(wanted)):
            raise ShapeError(f"onnx: Reshape of {x.shape} to {wanted}: a 0 keeps a size that is not there.")
        wanted = [size or x.shape[axis] for axis, size in enumerate(wanted)]
    return x.reshape(wanted)


@operator("Flatten")
def flatten(x: Any, *, axis: int = 1) -> Any:
    """A matrix: the axes before this one, and the others."""
    lead = product(x.shape[:axis % x.ndim if axis < 0 else axis])
    return x.reshape((lead, x.size // lead if lead else product(x.shape[axis:])))


@operator("Transpose")
def transpose(x: Any, *, perm: Sequence[int] | None = None) -> Any:
    """Axes in another order."""
    return functions["permute_dims"](x, tuple(perm) if perm is not None else tuple(range(x.ndim))[::-1])


@operator("Squeeze")
def squeeze(x: Any, axes: Any = None) -> Any:
    """Without axes of size 1."""
    return functions["squeeze"](x, axes_of(axes, x.ndim) if axes is not None else None)


@operator("Unsqueeze")
def unsqueeze(x: Any, axes: Any) -> Any:
    """With more axes of size 1."""
    return unsqueezed(x, axes_of(axes, x.ndim + len(integers(axes))))


@operator("Expand")
def expand(x: Any, shape: Any) -> Any:
    """Repeated to what its shape and another broadcast to."""
    return functions["broadcast_to"](x, np.broadcast_shapes(x.shape, tuple(integers(shape))))


@operator("Tile", since=6)
def tile(x: Any, repeats: Any) -> Any:
    """Repeated along every axis."""
    return functions["tile"](x, integers(repeats))


@operator("Tile")
def tile_along(x: Any, tiles: Any, axis: Any) -> Any:
    """Repeated along one axis, before opset 6."""
    return functions["tile"](x, [int(scalar(tiles)) if at == scalar(axis) else 1 for at in range(x.ndim)])


# ------------------------------------------------------------------------------------------------- padding
PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@operator("Pad")
def pad(x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant",
        paddings: Any = None) -> Any:
    """More at both ends of axes, less where a number is negative."""
    if mode not in PAD_MODES:
        raise ConfigError(f"onnx: Pad has mode {mode!r}. Use one of {', '.join(PAD_MODES)}.")
    sizes = integers(pads)
    along = axes_of(axes, x.ndim) if axes is not None else range(x.ndim)
    count = len(along)
    if len(sizes) != 2 * count:
        raise ShapeError(f"onnx: Pad has {len(sizes)} sizes for {count} axes. Give two an axis.")
    pairs, cut = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for number, axis in enumerate(along):
        low, high = sizes[number], sizes[count + number]
        pairs[axis] = (max(low, 0), max(high, 0))
        cut[axis] = slice(max(-low, 0), x.shape[axis] - max(-high, 0))
    x = x[tuple(cut)] if any(size < 0 for size in sizes) else x
    if not any(map(any, pairs)):
        return x
    options = {"constant_values": 0 if value is None else scalar(value)} if mode == "constant" else {}
    return functions["pad"](x, pairs, mode=PAD_MODES[mode], **options)


@operator("CenterCropPad")
def center_crop_pad(x: Any, shape: Any, *, axes: Any = None) -> Any:
    """Cut or padded with zeros around the middle to other sizes."""
    along = axes_of(axes, x.ndim) if axes is not None else range(x.ndim)
    pairs, cut = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for axis, wanted in zip(along, integers(shape)):
        more = wanted - x.shape[axis]
        if more >= 0:
            pairs[axis] = (more // 2, more - more // 2)
        else:
            start = -more // 2
            cut[axis] = slice(start, start + wanted)
    return functions["pad"](x[tuple(cut)], pairs)


# -------------------------------------------------------------------------------------- blocks and sequences
@operator("DepthToSpace")
def depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Channels as blocks of a plane."""
    batch, channels, height, width = x.shape
    depth = channels // blocksize ** 2
    inner = (blocksize, blocksize, depth) if mode == "DCR" else (depth, blocksize, blocksize)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    blocks = functions["permute_dims"](x.reshape((batch, *inner, height, width)), order)
    return blocks.reshape((batch, depth, height * blocksize, width * blocksize))


@operator("SpaceToDepth")
def space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Blocks of a plane as channels."""
    batch, channels, height, width = x.shape
    rows, cols = height // blocksize, width // blocksize
    blocks = x.reshape((batch, channels, rows, blocksize, cols, blocksize))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return functions["permute_dims"](blocks, order).reshape((batch, channels * blocksize ** 2, rows, cols))


@operator("ReverseSequence")
def reverse_sequence(x: Any, sequence_lens: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """The first steps of each example in reverse order."""
    steps, lengths = np.arange(x.shape[time_axis])[:, None], host(sequence_lens)[None]
    places = np.where(steps < lengths, lengths - 1 - steps, steps)
    places = places if time_axis < batch_axis else places.T
    shape = [1] * x.ndim
    shape[time_axis], shape[batch_axis] = x.shape[time_axis], x.shape[batch_axis]
    index = functions["broadcast_to"](on(x, places.reshape(shape)), x.shape)
    return functions["take_along_axis"](x, index, time_axis)


# ------------------------------------------------------------------------------------- shapes and constants
@operator("Shape")
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    """The sizes of axes."""
    return on(x, np.array(x.shape[start:end], np.int64))


@operator("Size")
def size(x: Any) -> Any:
    """The number of elements."""
    return on(x, np.array(x.size, np.int64))


@operator("ConstantOfShape")
def constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    """One value, as often as a shape says."""
    filler = np.zeros(1, np.float32) if value is None else host(value)
    return functions["full"](integers(shape), filler.reshape(-1)[0], filler.dtype, device=shape.device)


@operator("Constant")
def constant(*, value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
             value_ints: Any = None) -> Any:
    """A value of the graph's own; `load` keeps it as a buffer."""
    for given, dtype in ((value_float, np.float32), (value_floats, np.float32), (value_int, np.int64),
                         (value_ints, np.int64)):
        if given is not None:
            return asarray(np.asarray(given, dtype))
    return asarray(value)
