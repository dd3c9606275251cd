"""Reading by position: slices along an axis, or one position for each element."""

from typing import Any

from .. import shapes
from ..apply import apply
from ..array import Tensor
from ..backend import Unbatchable, batching
from ..errors import IndexError, ShapeError
from ..op import Primitive
from ..register import public
from ..shapes import Shape
from ..storage import Slice
from .indexing import as_index, checks_bounds, take
from .movement import as_tensor, reshape
from .positions import counted_from_front, extremes, positions_of

_along = Primitive("along", lambda table, x, index, axis: table.take_along(x, index, axis),
                   lambda ops, info, g, index, axis: (
                       ops.sum_along(ops.zeros(info.shape(0), g), index, g, axis=axis), None), keeps=(1,),
                   linear=((0,),))


# ------------------------------------------------------------------------------------------------ positions
def along_positions(op: str, index: Any, x: Tensor, axis: int) -> Tensor:
    """An index with an axis for each of x's, on x's device; counted from the front where its kernels ask for that."""
    positions = positions_of(op, index, x.device) if not (isinstance(index, Tensor) and checks_bounds(index)) else \
        index.raw
    if positions.dtype.kind not in "iu":
        raise IndexError(f"{op}: {positions.dtype} is no index. Use integers.")
    if positions.ndim != x.ndim:
        raise ShapeError(f"{op}: an index of shape {positions.shape} for {x.shape}. Give it {x.ndim} axes.")
    if not checks_bounds(x):
        positions = counted_from_front(op, positions, axis, x.shape[axis])
    return as_index(positions, x)


def checked(primitive: Primitive, tensors: tuple[Tensor, ...], params: dict) -> Tensor:
    """The op; if a kernel met a position out of bounds, an error that names it."""
    try:
        found: Tensor = apply(primitive, tensors, params)
        return found
    except IndexError:
        axis = params["axis"]
        for extreme in extremes(tensors[1].to_host()):
            shapes.check_bounds(extreme, axis, tensors[0].shape[axis])
        raise


# ------------------------------------------------------------------------------------------------ reading
@public(method=False)
def index_select(x: Any, indices: Any, /, axis: int = 0) -> Tensor:
    """Slices along an axis at integer positions, as PyTorch's: `take` with an axis.

    >>> import lucid_nb as lnb
    >>> lnb.index_select([[1, 2], [3, 4]], [1], axis=1)
    tensor([[2],
            [4]])
    """
    return take(x, indices, axis=axis)


@public()
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """Elements at positions along an axis, one for each element of `indices`; other axes broadcast.

    >>> import lucid_nb as lnb
    >>> lnb.take_along_axis(lnb.tensor([[3, 1], [2, 5]]), [[1], [0]], axis=1)
    tensor([[1],
            [2]])
    """
    arr = as_tensor("take_along_axis", arr)
    arr, axis = ((reshape(arr, -1), 0) if axis is None else
                 (arr, shapes.normalize_axis("take_along_axis", axis, arr.ndim)))
    try:
        index = along_positions("take_along_axis", indices, arr, axis)
    except Unbatchable as reason:
        return batching.instead("take_along_axis", reason, arr, indices, axis)
    arr, index = _broadcast_but("take_along_axis", arr, index, axis)
    return checked(_along, (arr, index), {"axis": axis})


def _broadcast_but(op: str, x: Tensor, index: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Both broadcast in all axes but one."""
    ours, theirs = list(x.shape), list(index.shape)
    ours[axis] = theirs[axis] = 1
    common = list(shapes.broadcast_shapes(op, tuple(ours), tuple(theirs)))
    for sizes, tensor in ((ours, x), (theirs, index)):
        sizes[:] = common
        sizes[axis] = tensor.shape[axis]
    return (x if x.shape == tuple(ours) else x.broadcast_to(tuple(ours)),
            index if index.shape == tuple(theirs) else index.broadcast_to(tuple(theirs)))


@public(method=False)
def gather(x: Any, index: Any, /, axis: int = -1) -> Tensor:
    """Elements at positions along an axis, one for each element of `index`, as PyTorch's: nothing broadcasts, and in
    other axes `index` may be smaller.

    >>> import lucid_nb as lnb
    >>> lnb.gather(lnb.tensor([[1, 2], [3, 4]]), [[0, 0], [1, 0]], axis=1)
    tensor([[1, 1],
            [4, 3]])
    """
    x = as_tensor("gather", x)
    if x.ndim == 0:                                                     # counts as an array of one element
        x, index = reshape(x, 1), as_tensor("gather", index)
        return reshape(gather(x, reshape(index, -1), axis), index.shape)
    axis = shapes.normalize_axis("gather", axis, x.ndim)
    try:
        index = along_positions("gather", index, x, axis)
    except Unbatchable as reason:
        return batching.instead("gather", reason, x, index, axis)
    region = region_of("gather", x.shape, index.shape, axis)
    part = x if region is None else x.moved(Slice(region))
    return checked(_along, (part, index), {"axis": axis})


def region_of(op: str, shape: Shape, wanted: Shape, axis: int) -> tuple | None:
    """The part of an array whose other extents an index has; None for all of it."""
    for other, (size, given) in enumerate(zip(shape, wanted)):
        if other != axis and given > size:
            raise ShapeError(f"{op}: an index of shape {wanted} for {shape}, larger on axis {other}. Make it smaller.")
    if all(size == given for other, (size, given) in enumerate(zip(shape, wanted)) if other != axis):
        return None
    return (*[slice(None) if other == axis else slice(0, given) for other, given in enumerate(wanted)], ...)
