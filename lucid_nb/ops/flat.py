"""Writing whole tensors, and `x.flat`: all elements in C order, to read, write and iterate."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..apply import as_operand
from ..array import Tensor
from ..errors import DTypeError, IndexError, ShapeError
from ..register import public
from ..storage import is_viewable
from .indexing import as_value, without_leading
from .logic import where
from .movement import check_cast, duplicate, reshape
from .tiling import resize


class Flat:
    """The elements of a tensor in C order, as NumPy's flatiter: indexed reading copies, writing writes the tensor."""

    __slots__ = ("base", "index")

    def __init__(self, base: Tensor) -> None:
        self.base, self.index = base, 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The index, in the tensor, of the element that comes next."""
        return tuple(int(i) for i in np.unravel_index(self.index, self.base.shape)) if self.index < len(self) else \
            (self.base.shape[0], *(0,) * (self.base.ndim - 1))

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> "Iterator[Tensor]":
        return self

    def __next__(self) -> Tensor:
        if self.index >= len(self):
            raise StopIteration
        found = self.base[self.coords]
        self.index += 1
        return found

    def __getitem__(self, index: Any) -> Tensor:
        found = reshape(self.base, -1)[self._checked(index)]
        return found if found.is_value else duplicate(found, "C")

    def __setitem__(self, index: Any, value: Any) -> None:
        index, base = self._checked(index), self.base
        base.check_writable("flat")
        is_view = is_viewable(base.share(), base.raw, base.steps, (base.size,))
        row = reshape(base, -1)
        target = row[index]
        value = as_value(base, value)
        if value.size == 0 or target.size == 0:
            return
        # NumPy begins again where the values end.
        row[index] = resize(value, target.shape) if value.ndim else value.broadcast_to(target.shape)
        if not is_view:
            base.write(reshape(row, base.shape), "flat")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(np.asarray(self.base).reshape(-1), dtype=dtype)

    def copy(self) -> Tensor:
        """All elements in a row, as a new tensor."""
        return self[...]

    def _checked(self, index: Any) -> Any:
        """One index for the one axis, as NumPy asks."""
        if isinstance(index, tuple):
            if len(index) != 1:
                raise IndexError(f"flat: {len(index)} indices for one axis. Use one.")
            index = index[0]
        if index is None:
            raise IndexError("flat: None adds no axis here. Use integers, slices or arrays.")
        return index

    def __eq__(self, other: Any) -> Any:
        return self[...] == other

    def __ne__(self, other: Any) -> Any:
        return self[...] != other

    __hash__ = None  # type: ignore[assignment]


def flat(self: Tensor) -> Any:
    """All elements in C order: read, written by index, iterated; assigned, the values again and again."""
    return Flat(self.refresh())


def _set_flat(self: Tensor, value: Any) -> None:
    Flat(self)[...] = value


Tensor.flat = property(flat, _set_flat, doc=flat.__doc__)  # type: ignore[assignment, method-assign]


def _set_shape(self: Tensor, shape: Any) -> None:
    """Let the tensor itself have other extents, as NumPy's `x.shape = ...`: the same memory, and the same graph."""
    self.check_writable("shape")
    try:
        seen = reshape(self, shapes.as_shape("shape", shape), copy=False)
    except ShapeError as error:
        if "copy" not in str(error):
            raise
        raise AttributeError(f"shape: {self.shape} to {shape} needs a copy. Use reshape.") from None
    for slot in ("raw", "node", "storage", "path", "root", "generation", "version"):
        setattr(self, slot, getattr(seen, slot))


Tensor.shape = property(Tensor.shape.fget, _set_shape, doc=Tensor.shape.__doc__)  # type: ignore


# ------------------------------------------------------------------------------------------- whole tensors
def fill(self: Tensor, value: Any) -> None:
    """Write one value everywhere, in place.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(2)
    >>> x.fill(3)
    >>> x
    tensor([3., 3.])
    """
    self.check_writable("fill")
    found = as_value(self, value)
    if found.size != 1:
        raise ShapeError(f"fill: a value of shape {found.shape}. Give one number, or use x[...] = values.")
    self.write(reshape(found, ()), "fill")


Tensor.fill = fill  # type: ignore[method-assign]


@public(method=False)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src`, broadcast, into `dst`, where a mask holds; recorded as every write is.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(3)
    >>> lnb.copyto(x, [1, 2, 3], where=[True, False, True])
    >>> x
    tensor([1., 0., 3.])
    """
    if isinstance(dst, np.ndarray):
        np.copyto(dst, np.asarray(src), casting=casting, where=np.asarray(where))  # type: ignore[arg-type]
        return
    if not isinstance(dst, Tensor):
        raise DTypeError(f"copyto: dst is of type {type(dst).__name__}. Give a tensor.")
    dst.check_writable("copyto")
    value = _source(dst, src, casting)
    if where is not True:
        mask = where if isinstance(where, Tensor) else as_operand("copyto", where, dst.device)
        value = _masked(dst, value, mask)
    dst.write(value, "copyto", casting)


def _source(dst: Tensor, src: Any, casting: str) -> Tensor:
    """What is copied, without leading axes of size 1; Python numbers are weak."""
    if type(src) in dtypes.WEAK:
        natural = np.dtype(type(src))
        is_kind = "biufc".index(natural.kind) <= "biufc".index("f" if dtypes.is_float(dst.dtype) else dst.dtype.kind)
        if casting != "unsafe" and not is_kind:
            raise DTypeError(f"copyto: {src!r} does not go into {dst.dtype} by casting {casting!r}. Convert it.")
    value = as_value(dst, src)
    check_cast("copyto", dst.dtype if type(src) in dtypes.WEAK else value.dtype, dst.dtype, casting)
    return without_leading(value, dst.ndim)


def _masked(dst: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """`value` where the mask holds, otherwise what is there."""
    if mask.dtype != dtypes.BOOL:
        raise DTypeError(f"copyto: where has dtype {mask.dtype}. Use a mask of bools.")
    if value.dtype != dst.dtype and not dtypes.can_cast(value.dtype, dst.dtype, "unsafe"):
        raise DTypeError(f"copyto: {value.dtype} cannot go into {dst.dtype}. Use .astype.")
    return where(mask.broadcast_to(dst.shape), value.astype(dst.dtype, copy=False), dst)
