"""Splitting: parts of an axis, as views."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .. import shapes
from ..array import Tensor
from ..errors import ShapeError
from ..register import public
from ..storage import Slice
from .axes import moveaxis
from .movement import as_tensor

Sections = int | Sequence[int]


def _parts(x: Tensor, bounds: Sequence[Any], axis: int) -> list[Tensor]:
    """Views between neighbouring bounds, which may be negative, as those of slices."""
    before = (slice(None),) * axis
    return [x.moved(Slice((*before, shapes.cut(slice(start, stop), x.shape[axis]), ...)))
            for start, stop in pairwise(bounds)]


def _bounds(op: str, sections: Any) -> list[int] | None:
    """Where to cut, if a sequence says so."""
    if isinstance(sections, Tensor):
        sections = sections.to_host()
    if isinstance(sections, (list, tuple)) or (isinstance(sections, np.ndarray) and sections.ndim):
        return [shapes.as_integer(op, "index", place) for place in sections]
    return None


def _array_split(op: str, x: Tensor, sections: Any, axis: int) -> list[Tensor]:
    axis = shapes.normalize_axis(op, axis, x.ndim)
    places = _bounds(op, sections)
    if places is not None:
        return _parts(x, [0, *places, x.shape[axis]], axis)
    count = shapes.as_integer(op, "sections", sections)
    if count <= 0:
        raise ShapeError(f"{op}: {count} sections. Use 1 or more.")
    shapes.check_sizes(op, (count,))
    size, longer = divmod(x.shape[axis], count)
    return _parts(x, [0, *accumulate([size + 1] * longer + [size] * (count - longer))], axis)


@public()
def array_split(ary: Any, indices_or_sections: Sections, axis: int = 0) -> list[Tensor]:
    """Parts of an axis as views: so many of nearly equal size, the longer ones first, or cut before these indices.

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.array_split(lnb.zeros(5), 3)]
    [(2,), (2,), (1,)]
    """
    return _array_split("array_split", as_tensor("array_split", ary), indices_or_sections, axis)


@public()
def split(ary: Any, indices_or_sections: Sections, axis: int = 0) -> list[Tensor]:
    """Parts of an axis as views: so many of equal size, or cut before these indices. (PyTorch's counts are sizes.)

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.split(lnb.zeros(6), [1, 3])]
    [(1,), (2,), (3,)]
    """
    return _split("split", as_tensor("split", ary), indices_or_sections, axis)


def _split(op: str, x: Tensor, sections: Any, axis: int) -> list[Tensor]:
    if _bounds(op, sections) is None:
        count = shapes.as_integer(op, "sections", sections)
        size = x.shape[shapes.normalize_axis(op, axis, x.ndim)]
        if count <= 0 or size % count:
            raise ShapeError(f"{op}: size {size} does not divide into {count} equal sections. Use array_split.")
    return _array_split(op, x, sections, axis)


def _split_on(op: str, x: Any, sections: Any, axis: int, ndim: int) -> list[Tensor]:
    """`split` for one of its relatives, which needs `ndim` axes."""
    x = as_tensor(op, x)
    if x.ndim < ndim:
        raise ShapeError(f"{op}: needs {ndim} axes or more, the shape is {x.shape}. Reshape it.")
    return _split(op, x, sections, axis if x.ndim > 1 else 0)


@public()
def hsplit(ary: Any, indices_or_sections: Sections) -> list[Tensor]:
    """`split` along axis 1, or along the only axis.

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.hsplit(lnb.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_on("hsplit", ary, indices_or_sections, 1, 1)


@public()
def vsplit(ary: Any, indices_or_sections: Sections) -> list[Tensor]:
    """`split` along axis 0 of two axes or more.

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.vsplit(lnb.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_on("vsplit", ary, indices_or_sections, 0, 2)


@public()
def dsplit(ary: Any, indices_or_sections: Sections) -> list[Tensor]:
    """`split` along axis 2.

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.dsplit(lnb.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_on("dsplit", ary, indices_or_sections, 2, 3)


@public()
def chunk(x: Any, chunks: int, /, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of an axis as views, all of one size but a shorter last one (PyTorch's rule).

    >>> import lucid_nb as lnb
    >>> [part.shape for part in lnb.chunk(lnb.zeros(5), 3)]
    [(2,), (2,), (1,)]
    """
    x = as_tensor("chunk", x)
    axis = shapes.normalize_axis("chunk", axis, x.ndim)
    count = shapes.as_integer("chunk", "chunks", chunks)
    if count < 1:
        raise ShapeError(f"chunk: {count} chunks. Use 1 or more.")
    size = x.shape[axis]
    step = max(-(-size // count), 1)
    bounds = [*range(0, size, step), size] if size else [0] * (count + 1)
    return tuple(_parts(x, bounds, axis))


@public(names=("unbind",))
def unstack(x: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which vanishes; views, but of one axis its elements as values.

    >>> import lucid_nb as lnb
    >>> [part.tolist() for part in lnb.unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    x = as_tensor("unstack", x)
    if x.ndim == 0:
        raise ShapeError("unstack: a 0-d array has no axis. Reshape it to (1,).")
    return tuple(moveaxis(x, axis, 0))
