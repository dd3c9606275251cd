"""Discrete Fourier transforms by NumPy's names: see lucid_nb.fft.

All are one op, linear, whose gradient is the opposite transform. On the CPU and, through the host, on CUDA it is
NumPy's; MLX has its own, of single precision.
"""

import warnings
from collections.abc import Sequence
from operator import index
from typing import Any

from .. import dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..errors import ConfigError, DTypeError, ShapeError, told
from ..op import ALL, Info, Primitive, registry
from ..register import functions
from ..shapes import Shape
from ..storage import Slice
from .movement import as_tensor, astype, deliver, duplicate

Axes = Sequence[int] | None
OPPOSITE = {"fft": "ifft", "ifft": "fft", "rfft": "irfft", "irfft": "rfft"}
# With the other scale, the opposite transform is the adjoint one.
SCALED_OTHERWISE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


# ------------------------------------------------------------------------------------------- the primitive
def _resized(ops: Any, x: Any, shape: Shape) -> Any:
    """The first elements along each axis, zeros behind them."""
    if x.shape == shape:
        return x
    missing = tuple([max(wanted - size, 0) for wanted, size in zip(shape, x.shape)])
    x = ops.view(x, steps=(Slice(tuple([slice(0, wanted) for wanted in shape])),))
    return ops.pad_constant(x, pairs=tuple([(0, more) for more in missing]), value=0) if any(missing) else x


def _pull_fourier(ops: Any, info: Info, g: Any, kind: str, axes: Shape, sizes: Shape, norm: str,
                  factor: float) -> tuple:
    """The adjoint. Of real numbers' half spectrum, each element but the ends stands for two."""
    weight = {"rfft": factor / 2, "irfft": factor * 2}.get(kind, 1)
    found = ops.fourier(g, kind=OPPOSITE[kind], axes=axes, sizes=sizes, norm=SCALED_OTHERWISE[norm], factor=weight)
    return (_resized(ops, found, info.shape(0)),)


_fourier = Primitive("fourier", lambda table, x, kind, axes, sizes, norm, factor: entry(table, "fourier")(
    kind, x, axes, sizes, norm, factor), _pull_fourier, flops=flops.fourier, linear=ALL)


# ----------------------------------------------------------------------------------------------- arguments
def _operand(op: str, kind: str, a: Any) -> Tensor:
    x = as_tensor(op, a)
    if x.dtype.kind == "c":
        if kind == "rfft":
            raise DTypeError(f"{op}: {x.dtype} is not real. Use .real, or fft.")
        return x
    return astype(x, dtypes.FLOAT32) if x.dtype == dtypes.BFLOAT16 else x


def _scale(op: str, norm: Any) -> str:
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in SCALED_OTHERWISE:
        raise ConfigError(f"{op}: norm {told(norm)} is unknown. Use \"backward\", \"ortho\" or \"forward\".")
    return norm


def _count(op: str, n: Any) -> int:
    try:
        return index(n)
    except TypeError:
        raise DTypeError(f"{op}: n is {told(n)}. Use an integer.") from None


def _check_count(op: str, size: int) -> None:
    if size < 1:
        raise ShapeError(f"{op}: {size} elements to transform. There must be 1 or more.")


def _along_one(op: str, kind: str, a: Any, n: Any, axis: int, norm: str) -> Tensor:
    """A transform along one axis."""
    x = _operand(op, kind, a)
    axis = shapes.normalize_axis(op, axis, x.ndim)
    if n is None:
        n = (x.shape[axis] - 1) * 2 if kind == "irfft" else x.shape[axis]
    elif type(n) is not int:
        n = _count(op, n)
    _check_count(op, n)
    found: Tensor = apply(_fourier, (x,), {"kind": kind, "axes": (axis,), "sizes": (n,), "norm": norm, "factor": 1})
    return found


def _sizes_and_axes(op: str, kind: str, x: Tensor, s: Any, axes: Any) -> tuple[Shape, Shape]:
    """The sizes and the axes of a transform over several; -1 in `s` is the size of that axis."""
    if s is axes is None:
        whole = x.shape
        return (whole if kind != "irfft" or not whole else (*whole[:-1], (whole[-1] - 1) * 2)), tuple(range(x.ndim))
    if s is not None and axes is None:
        warnings.warn(f"{op}: axes should not be None where s is given, as in NumPy 2. Name the axes.",
                      DeprecationWarning, stacklevel=4)
        axes = range(-len(tuple(s)), 0)
    found = tuple([shapes.normalize_axis(op, axis, x.ndim) for axis in shapes.as_shape(op, axes)])
    own = [x.shape[axis] for axis in found]
    if s is None:
        sizes = [*own[:-1], (own[-1] - 1) * 2] if kind == "irfft" and own else own
    else:
        wanted = shapes.as_shape(op, s)
        if len(wanted) != len(found):
            raise ShapeError(f"{op}: {len(wanted)} sizes s for {len(found)} axes. Give one for each.")
        sizes = [size if given == -1 else given for given, size in zip(wanted, own)]
    return tuple(sizes), found


def _along_many(op: str, kind: str, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Tensor:
    """A transform over several axes; one that is named twice is transformed twice."""
    x, scale = _operand(op, kind, a), _scale(op, norm)
    sizes, found = _sizes_and_axes(op, kind, x, s, axes)
    if not found:
        if kind in ("rfft", "irfft"):
            raise shapes.AxisError(f"{op}: no axes. Name at least one.")
        return deliver(op, x, out)
    _check_count(op, min(sizes))
    if len(found) == 1 or axes is None or len(set(found)) == len(found):
        how = {"kind": kind, "axes": found, "sizes": sizes, "norm": scale, "factor": 1}
        return deliver(op, apply(_fourier, (x,), how), out)
    kinds = [kind.replace("r", "")] * (len(found) - 1) + [kind]
    steps = list(zip(kinds, sizes, found))
    for step, size, axis in steps if kind == "irfft" else reversed(steps):
        x = _along_one(op, step, x, size, axis, scale)
    return deliver(op, x, out)


# ------------------------------------------------------------------------------------------------ one axis
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The discrete Fourier transform along an axis: X[k] = sum of x[j] exp(-2 pi i j k / n).

    a: real or complex, of any shape; its first `n` elements along `axis` are taken, or zeros added (n is its size by
    default). `norm`: "backward" (the default) scales the inverse by 1 / n, "forward" this one, "ortho" both by
    1 / sqrt(n). The result is complex64 for float32 and float16, otherwise complex128; on mlx complex64, and float64 is
    refused. Differentiable. `out` is written and given back. ShapeError (a ValueError) where n is below 1, AxisError
    where there is no such axis, ConfigError (a ValueError) for another norm. J. Cooley and J. Tukey, Mathematics of
    Computation 19 (1965).

    >>> import lucid_nb as lnb
    >>> lnb.fft.fft([1.0, 0.0, 0.0, 0.0]).real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return deliver("fft", _along_one("fft", "fft", a, n, axis, _scale("fft", norm)), out)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of `fft`: x[j] = sum of X[k] exp(2 pi i j k / n) / n. Called as `fft` is.

    >>> import lucid_nb as lnb
    >>> lnb.fft.ifft(lnb.fft.fft([1.0, 2.0, 5.0])).real.round(12).tolist()
    [1.0, 2.0, 5.0]
    """
    return deliver("ifft", _along_one("ifft", "ifft", a, n, axis, _scale("ifft", norm)), out)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of real numbers; the others are their conjugates. DTypeError of complex.

    >>> import lucid_nb as lnb
    >>> lnb.fft.rfft(lnb.ones(6)).shape
    (4,)
    """
    return deliver("rfft", _along_one("rfft", "rfft", a, n, axis, _scale("rfft", norm)), out)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of `rfft`: n real numbers (by default 2 * (size - 1)) of the first n // 2 + 1 elements of a spectrum.

    What a spectrum of real numbers has not, the imaginary parts of the first and, where n is even, the last element, is
    left out, and has no gradient.

    >>> import lucid_nb as lnb
    >>> lnb.fft.irfft(lnb.fft.rfft([1.0, 2.0, 5.0]), 3).round(12).tolist()
    [1.0, 2.0, 5.0]
    """
    return deliver("irfft", _along_one("irfft", "irfft", a, n, axis, _scale("irfft", norm)), out)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The real spectrum, n elements (by default 2 * (size - 1)), of a signal that is its own mirrored conjugate.

    a: the first n // 2 + 1 elements of that signal. Arguments, dtypes and errors are those of `irfft`.

    >>> import lucid_nb as lnb
    >>> lnb.fft.hfft([1.0, 0.0, 0.0]).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    scale = SCALED_OTHERWISE[_scale("hfft", norm)]
    return deliver("hfft", _along_one("hfft", "irfft", _conjugate(as_tensor("hfft", a)), n, axis, scale), out)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of `hfft`: of n real numbers, the first n // 2 + 1 elements of the signal whose spectrum they are.

    >>> import lucid_nb as lnb
    >>> lnb.fft.ihfft(lnb.fft.hfft([1.0, 2.0, 5.0])).real.round(12).tolist()
    [1.0, 2.0, 5.0]
    """
    scale = SCALED_OTHERWISE[_scale("ihfft", norm)]
    return deliver("ihfft", _conjugate(_along_one("ihfft", "rfft", a, n, axis, scale)), out)


def _conjugate(x: Tensor) -> Tensor:
    found: Tensor = functions["conj"](x) if x.dtype.kind == "c" else x
    return found


# -------------------------------------------------------------------------------------------- several axes
def fftn(a: Any, s: Axes = None, axes: Axes = None, norm: str | None = None, out: Any = None) -> Tensor:
    """`fft` over several axes, all by default. `s`: the sizes along `axes`, -1 for that of the array.

    `s` without `axes` means the last ones, with NumPy's DeprecationWarning; as many as axes, or ShapeError.

    >>> import lucid_nb as lnb
    >>> lnb.fft.fftn(lnb.ones((2, 2))).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return _along_many("fftn", "fft", a, s, axes, norm, out)


def ifftn(a: Any, s: Axes = None, axes: Axes = None, norm: str | None = None, out: Any = None) -> Tensor:
    """`ifft` over several axes: the inverse of `fftn`, called as it is.

    >>> import lucid_nb as lnb
    >>> lnb.fft.ifftn(lnb.ones((2, 2))).real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return _along_many("ifftn", "ifft", a, s, axes, norm, out)


def rfftn(a: Any, s: Axes = None, axes: Axes = None, norm: str | None = None, out: Any = None) -> Tensor:
    """`rfft` along the last of the axes, then `fft` along the others; called as `fftn` is.

    >>> import lucid_nb as lnb
    >>> lnb.fft.rfftn(lnb.ones((2, 4))).shape
    (2, 3)
    """
    return _along_many("rfftn", "rfft", a, s, axes, norm, out)


def irfftn(a: Any, s: Axes = None, axes: Axes = None, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of `rfftn`; by default it gives 2 * (size - 1) elements along the last of the axes.

    >>> import lucid_nb as lnb
    >>> lnb.fft.irfftn(lnb.fft.rfftn(lnb.ones((2, 4)))).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return _along_many("irfftn", "irfft", a, s, axes, norm, out)


def fft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """`fftn` over two axes, the last by default.

    >>> import lucid_nb as lnb
    >>> lnb.fft.fft2(lnb.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _along_many("fft2", "fft", a, s, axes, norm, out)


def ifft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """`ifftn` over two axes, the last by default.

    >>> import lucid_nb as lnb
    >>> lnb.fft.ifft2(lnb.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _along_many("ifft2", "ifft", a, s, axes, norm, out)


def rfft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """`rfftn` over two axes, the last by default.

    >>> import lucid_nb as lnb
    >>> lnb.fft.rfft2(lnb.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return _along_many("rfft2", "rfft", a, s, axes, norm, out)


def irfft2(a: Any, s: Axes = None, axes: Axes = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """`irfftn` over two axes, the last by default.

    >>> import lucid_nb as lnb
    >>> lnb.fft.irfft2(lnb.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return _along_many("irfft2", "irfft", a, s, axes, norm, out)


# ------------------------------------------------------------------------------------------- order of bins
def fftshift(x: Any, axes: int | Axes = None) -> Tensor:
    """The element of frequency 0 moved to the middle along axes, all by default; differentiable.

    >>> import lucid_nb as lnb
    >>> lnb.fft.fftshift([0, 1, 2, -2, -1])
    tensor([-2, -1,  0,  1,  2])
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, axes: int | Axes = None) -> Tensor:
    """The inverse of `fftshift`, which of an odd number of elements is another one.

    >>> import lucid_nb as lnb
    >>> lnb.fft.ifftshift([-2, -1, 0, 1, 2])
    tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(op: str, x: Any, axes: int | Axes, sign: int) -> Tensor:
    x = as_tensor(op, x)
    shape, ndim = x.shape, x.ndim
    moves = [0] * ndim
    for axis in range(ndim) if axes is None else shapes.as_shape(op, axes):
        axis = shapes.normalize_axis(op, axis, ndim)
        moves[axis] += sign * (shape[axis] // 2)
    shifts = tuple([move % size if size else 0 for move, size in zip(moves, shape)])
    found: Tensor = apply(registry["roll_by"], (x,), {"shifts": shifts}) if any(shifts) else duplicate(x, "C")
    return found
