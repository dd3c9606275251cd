"""Views at chosen strides: windows, any strides, other dtypes of the same bits. Published where NumPy has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..storage import Broadcast, Reinterpret, Slice, Strided, Windows, element_strides
from .movement import as_tensor


def sliding_window_view(x: Any, window_shape: int | Sequence[int], axis: int | Sequence[int] | None = None, *,
                        subok: bool = False, writeable: bool = False) -> Tensor:
    """Every window of a shape over the axes (all of them by default), as last axes of a read-only view; differentiable.

    >>> import lucid_nb as lnb
    >>> lnb.lib.stride_tricks.sliding_window_view(lnb.arange(4), 2).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    op = "sliding_window_view"
    x = as_tensor(op, x)
    _refuse_writing(op, writeable)
    sizes = shapes.as_shape(op, window_shape)
    given: Any = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(shapes.normalize_axis(op, one, x.ndim) for one in given)
    if len(sizes) != len(axes):
        raise ShapeError(f"{op}: a window of {len(sizes)} sizes for {len(axes)} axes. Give a size for each.")
    left = list(x.shape)
    for one, size in zip(axes, sizes):
        left[one] -= size - 1
        if size < 0 or left[one] < 1:
            raise ShapeError(f"{op}: window {sizes} on axes {axes} does not fit shape {x.shape}. Use 0 to its sizes.")
    return x.moved(Windows(sizes, axes))


def as_strided(x: Any, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None, subok: bool = False,
               writeable: bool = False) -> Tensor:
    """A read-only view of any shape and strides (in bytes) over the memory from the first element on; differentiable.

    Unlike NumPy's it reaches no memory outside the tensor's own. Where a device has no strides they are those of C
    order.

    >>> import lucid_nb as lnb
    >>> lnb.lib.stride_tricks.as_strided(lnb.arange(4), (3, 2), (8, 8)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    op = "as_strided"
    x = as_tensor(op, x)
    _refuse_writing(op, writeable)
    sizes = x.shape if shape is None else shapes.check_sizes(op, shapes.as_shape(op, shape))
    steps = x.strides if strides is None else shapes.as_shape(op, strides)
    width = x.itemsize
    if len(sizes) != len(steps) or any(step % width for step in steps):
        raise ShapeError(f"{op}: strides {steps} for shape {sizes} of {x.dtype}. Give a multiple of {width} for each "
                         "axis.")
    found = Strided(sizes, tuple(step // width for step in steps), element_strides(x.raw))
    low, high = _reach(sizes, found.strides)
    first, last = _reach(x.shape, found.own)
    if 0 not in sizes and (low < first or high > last or x.size == 0):
        raise ShapeError(f"{op}: shape {sizes} and strides {steps} reach outside the {x.size} elements. "
                         "Use a smaller shape.")
    if x.requires_grad and (found.places(x.shape) < 0).any():
        raise ShapeError(f"{op}: shape {sizes} and strides {steps} read between the elements, which have no gradient "
                         "here. Copy the tensor first.")
    return x.moved(found)


def _refuse_writing(op: str, writeable: bool) -> None:
    if writeable:
        raise ShapeError(f"{op}: views that may hold an element twice are read-only here. Leave writeable away, and "
                         "write into the base.")


def _reach(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest element that strides reach from the first."""
    spans = [(size - 1) * stride for size, stride in zip(sizes, strides)]
    return sum(span for span in spans if span < 0), sum(span for span in spans if span > 0)


# ------------------------------------------------------------------------------------------------ the bits
def view(self: Tensor, dtype: Any = None) -> Tensor:
    """The same memory as another dtype (None: as it is); of another size it divides or joins along the last axis.

    Complex numbers seen as their parts, and parts as complex numbers, keep the gradient; other views have none.

    >>> import lucid_nb as lnb
    >>> lnb.tensor([1.0, 2.0], dtype=lnb.float32).view(lnb.int32).tolist()
    [1065353216, 1073741824]
    """
    self.refresh()
    if dtype is None or (isinstance(dtype, type) and issubclass(dtype, (Tensor, np.ndarray))):
        return self.moved(Slice((...,)))
    wanted, own = dtypes.as_dtype("view", dtype), self.dtype
    if wanted == own:
        return self.moved(Slice((...,)))
    _check_sizes(self, own, wanted)
    is_complex = "c" in (own.kind, wanted.kind) and {own, wanted} in ({np.dtype(one), np.dtype(other)} for one, other
                                                                      in (("f4", "c8"), ("f8", "c16")))
    source = self if is_complex or self.node is None else self.detach()
    return source.moved(Reinterpret(own, wanted))


def _check_sizes(x: Tensor, own: np.dtype, wanted: np.dtype) -> None:
    """Refuse what has not as many bytes on the last axis as the other dtype needs."""
    if own.itemsize == wanted.itemsize:
        return
    if x.ndim == 0 or (element_strides(x.raw)[-1] != 1 and x.shape[-1] > 1 and x.size):
        raise ShapeError(f"view: {own} as {wanted} needs a last axis whose elements are neighbours, shape {x.shape}. "
                         "Use .copy().view.")
    if x.shape[-1] * own.itemsize % wanted.itemsize:
        raise ShapeError(f"view: {x.shape[-1]} elements of {own} are no whole number of {wanted}. "
                         "Use another dtype, or pad.")
    if x.storage is not None and any(type(step) is Broadcast for step in x.steps):
        raise DTypeError(f"view: broadcast memory cannot be read as {wanted}. Use .copy().view.")


Tensor.view = view  # type: ignore[method-assign]
