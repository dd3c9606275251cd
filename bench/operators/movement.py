"""PyTorch's operators that move, join and split, and ours."""

from typing import Any

import lucid_nb as lnb

from .adapters import lengths, many, worded


def expanded(x: lnb.Tensor, *shape: Any) -> lnb.Tensor:
    """PyTorch's expand: -1 keeps an extent."""
    sizes = list(shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape)
    before = len(sizes) - x.ndim
    return lnb.broadcast_to(x, [x.shape[place - before] if size == -1 else size for place, size in enumerate(sizes)])


def meshgrid(*arrays: Any, indexing: str = "ij") -> Any:
    """PyTorch's meshgrid: also of a list."""
    return lnb.meshgrid(*(arrays[0] if isinstance(arrays[0], (tuple, list)) else arrays), indexing=indexing)


def split(x: lnb.Tensor, size: Any, dim: int = 0) -> list[lnb.Tensor]:
    """PyTorch's split: parts of one size, or of the sizes listed."""
    total = x.shape[dim]
    ends = range(size, total, size) if isinstance(size, int) else [sum(size[:i + 1]) for i in range(len(size) - 1)]
    return lnb.split(x, list(ends), axis=dim)


def tensor_split(x: lnb.Tensor, sections: Any, dim: int = 0) -> list[lnb.Tensor]:
    """PyTorch's tensor_split: NumPy's array_split."""
    return lnb.array_split(x, lengths(sections), axis=dim)


def windows(x: lnb.Tensor, dim: int, size: int, step: int) -> lnb.Tensor:
    """PyTorch's Tensor.unfold: windows along an axis, the place within them last."""
    if not x.ndim:
        return lnb.atleast_1d(x)
    found = lnb.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return found[(slice(None),) * (dim % x.ndim) + (slice(None, None, step),)]


def repeated(x: lnb.Tensor, *counts: Any) -> lnb.Tensor:
    """PyTorch's repeat: NumPy's tile."""
    return lnb.tile(x, tuple(counts[0]) if counts and isinstance(counts[0], (tuple, list)) else counts)


def repeat_interleave(x: lnb.Tensor, repeats: Any, dim: int | None = None, output_size: int | None = None
                      ) -> lnb.Tensor:
    """PyTorch's repeat_interleave: NumPy's repeat."""
    return lnb.repeat(x, repeats, axis=dim)


def squeezed(x: lnb.Tensor, dim: Any = None) -> lnb.Tensor:
    """PyTorch's squeeze leaves longer axes as they are."""
    axes = range(x.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return lnb.squeeze(x, axis=tuple(axis % x.ndim for axis in axes if x.ndim and x.shape[axis] == 1))


def transposed(x: lnb.Tensor, first: int, second: int) -> lnb.Tensor:
    """PyTorch's transpose: NumPy's swapaxes."""
    return lnb.swapaxes(x, first, second) if x.ndim else x


def rolled(x: lnb.Tensor, shifts: Any, dims: Any = None) -> lnb.Tensor:
    """PyTorch's roll."""
    return lnb.roll(x, shifts, axis=dims)


def sizes_of(function: Any) -> Any:
    """A function of a shape, which PyTorch also takes as single numbers."""
    return lambda x, *shape: function(x, shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape)


def matrix(x: lnb.Tensor) -> lnb.Tensor:
    """PyTorch's t: of at most two axes."""
    return lnb.permute_dims(x, tuple(reversed(range(x.ndim))))


TABLE = {
    "broadcast_to": sizes_of(lnb.broadcast_to), "expand": expanded, "reshape": sizes_of(lnb.reshape),
    "view": sizes_of(lnb.reshape), "permute": sizes_of(lnb.permute_dims), "chunk": worded(lnb.chunk),
    "diag": lnb.diag, "diagflat": worded(lnb.diagflat, offset="k"), "diag_embed": worded(lnb.diag_embed),
    "diagonal": worded(lnb.diagonal), "flip": worded(lnb.flip), "fliplr": lnb.fliplr, "flipud": lnb.flipud,
    "meshgrid": meshgrid, "roll": rolled, "rot90": worded(lnb.rot90, dims="axes"), "split": split,
    "split_with_sizes": split, "tensor_split": tensor_split, "ravel": lnb.ravel,
    "atleast_1d": many(lnb.atleast_1d), "atleast_2d": many(lnb.atleast_2d), "atleast_3d": many(lnb.atleast_3d),
    "flatten": worded(lnb.flatten), "unflatten": "reshape", "stack": worded(lnb.stack), "hstack": lnb.hstack,
    "vstack": lnb.vstack, "dstack": lnb.dstack, "column_stack": lnb.column_stack, "cat": worded(lnb.concat),
    "unbind": worded(lnb.unbind), "unfold": windows, "movedim": lnb.moveaxis, "repeat": repeated, "tile": repeated,
    "squeeze": squeezed, "unsqueeze": lnb.unsqueeze, "transpose": transposed, "t": matrix,
    "T": matrix, "mT": lnb.matrix_transpose, "tril": lnb.tril, "triu": lnb.triu,
    "repeat_interleave": repeat_interleave, "hsplit": lnb.hsplit, "vsplit": lnb.vsplit, "dsplit": lnb.dsplit,
    "broadcast_tensors": lnb.broadcast_arrays, "clone": lnb.copy, "full_like": lnb.full_like,
    "ones_like": lnb.ones_like, "zeros_like": lnb.zeros_like, "expand_as": lambda x, y: lnb.broadcast_to(x, y.shape),
    "reshape_as": lambda x, y: lnb.reshape(x, y.shape), "view_as": lambda x, y: lnb.reshape(x, y.shape),
}
