"""Numbers in a row: in steps, evenly between ends, and evenly on a logarithmic scale."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import as_array
from ..array import Tensor, fresh
from ..errors import DTypeError, LucidError, ShapeError, told
from ..ops.arithmetic import power
from ..ops.axes import expand_dims, moveaxis
from ..ops.movement import astype, joined
from ..register import functions, public, short
from .data import finish, float_dtype, from_host, place_of
from .filled import allocated, is_usual


@public(method=False)
def arange(start: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None,
           like: Any = None, requires_grad: bool = False) -> Tensor:
    """start, start + step, ... below stop; `arange(stop)` starts at 0. Integers give int64.

    >>> import lucid_nb as lnb
    >>> lnb.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if type(start) is int and stop is dtype is device is like is None and type(step) is int and step == 1 and (
            not requires_grad and 0 <= start < shapes.MIDDLING) and is_usual():
        return short.made(np.arange(start))
    if start is None and stop is None:
        raise DTypeError("arange: neither start nor stop. Give stop, at least.")
    start, stop = (0, start) if stop is None else (0 if start is None else start, stop)
    start, stop, step = (x.item() if getattr(x, "size", 0) == 1 else x for x in (start, stop, step))
    if not all(isinstance(x, (int, float)) for x in (start, stop, step)):
        raise DTypeError(f"arange: from {told(start)} to {told(stop)} in steps of {told(step)}. Use real numbers.")
    if not all(_is_moderate(x) for x in (start, stop, step)):
        numbers = f"from {told(start)} to {told(stop)} in steps of {told(step)}"
        raise dtypes.OverflowError(f"arange: {numbers} leaves int64 and float64. Use smaller numbers.")
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ShapeError(f"arange: from {start} to {stop} in steps of {step} never ends. "
                         "Use finite numbers, step not 0.")
    name = place_of(device, like)
    is_whole = all(isinstance(x, int) for x in (start, stop, step))
    wanted = dtypes.INT64 if is_whole and dtype is None else float_dtype("arange", dtype, name)
    if wanted.kind == "b":
        raise DTypeError("arange: bool has no steps. Use an integer dtype.")
    count = max(0, -((start - stop) // step) if is_whole else math.ceil((stop - start) / step))
    shapes.check_sizes("arange", (count,))
    if wanted.kind in "iu" and count:
        dtypes.as_weak_scalar("arange", start, wanted)
        dtypes.as_weak_scalar("arange", start + step * (count - 1), wanted)
    raw = allocated("arange", (count,), wanted, lambda: backend.table(name).iota(start, step, count, wanted))
    return finish(raw, requires_grad)


def _is_moderate(number: float) -> bool:
    """Has it a float64, as integers of Python need not?"""
    return not isinstance(number, int) or number.bit_length() < 1024


# ------------------------------------------------------------------------------------------- between two ends
@public(method=False)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0, *, device: Any = None, requires_grad: bool = False) -> Any:
    """`num` numbers evenly from `start` to `stop`, with NumPy's bits; ends that are arrays give a row for each element.

    `endpoint`: is `stop` the last number? `retstep`: give (numbers, step). `axis`: where the numbers lie in the result.
    Ends that are tensors get their gradient.

    >>> import lucid_nb as lnb
    >>> lnb.linspace(0, 1, 5)
    tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    count = _count("linspace", num)
    if not isinstance(start, Tensor) and not isinstance(stop, Tensor):
        name = place_of(device, None)
        def numpys() -> Any:
            return np.linspace(start, stop, num=count, endpoint=endpoint, retstep=True, axis=axis)
        found = _on_host("linspace", numpys, start, stop)
        if dtype is not None and dtypes.as_dtype("linspace", dtype).kind in "iu":
            dtypes.real_float("linspace", found[0].dtype)
            found = np.floor(found[0]), found[1]
        numbers = from_host("linspace", found[0], dtype, name, requires_grad)
        return (numbers, from_host("linspace", np.asarray(found[1]), None, name)) if retstep else numbers
    numbers, step = _between(start, stop, count, endpoint)
    if dtype is not None:
        wanted = dtypes.as_dtype("linspace", dtype)
        numbers = astype(functions["floor"](numbers) if wanted.kind in "iu" else numbers, wanted, copy=False)
    numbers = moveaxis(numbers, 0, axis) if axis else numbers
    return (numbers, step) if retstep else numbers


def _count(op: str, num: Any) -> int:
    if not hasattr(num, "__index__"):
        raise DTypeError(f"{op}: num {told(num)} is not an integer. Use integers.")
    count = shapes.as_integer(op, "num", num)
    if count < 0:
        raise ShapeError(f"{op}: num {count} is negative. Use 0 or more.")
    shapes.check_sizes(op, (count,))
    return count


def _on_host(op: str, make: Callable[[], Any], *ends: Any) -> Any:
    """What NumPy makes of ends that are numbers or arrays; ends that are neither, and too many numbers, are refused."""
    for end in ends:
        if np.asarray(end).dtype.kind not in "biufc" and np.asarray(end).dtype != dtypes.BFLOAT16:
            raise DTypeError(f"{op}: {told(end)} is no number of a dtype. Use numbers or arrays of them.")
    try:
        return make()
    except LucidError:
        raise
    except MemoryError as error:
        raise ShapeError(f"{op}: {error}. Use a smaller num.") from None
    except ValueError as error:
        raise ShapeError(f"{op}: {error}. Use other ends.") from None


def _between(start: Any, stop: Any, count: int, endpoint: bool) -> tuple[Tensor, Tensor]:
    """The numbers along a first axis, and the step, by ops: each rounding is that of NumPy's."""
    like = start if isinstance(start, Tensor) else stop
    first, last = (end.refresh() if isinstance(end, Tensor) else _beside("linspace", end, like)
                   for end in (start, stop))
    dtype = dtypes.promote((first.dtype, last.dtype, float), first.device)
    first, last = astype(first, dtype, copy=False), astype(last, dtype, copy=False)
    difference = last - first
    parts = count - 1 if endpoint else count
    row = np.arange(count).astype(dtype).reshape(-1, *[1] * difference.ndim)
    numbers = fresh(backend.of(first.raw).from_numpy(row))
    if parts <= 0:
        return numbers * difference + first, difference * math.nan
    step = difference / parts
    if (step.to_host() == 0).any():                # it underflows: the other order of rounding loses less
        numbers = numbers / parts * difference + first
    else:
        numbers = numbers * step + first
    if endpoint and count > 1:
        numbers[-1] = last
    return numbers, step


def _beside(op: str, value: Any, like: Tensor) -> Tensor:
    """A number or an array on the device of a tensor, in a dtype that decides nothing."""
    if type(value) in dtypes.WEAK and dtypes.is_inexact(like.dtype):
        array = dtypes.as_weak_scalar(op, value, dtypes.promote((type(value), like.dtype), like.device))
    else:
        array = as_array(op, value)
        dtypes.check_supported(op, array.dtype)
        array = array if isinstance(value, np.ndarray) else array.astype(dtypes.on_device(array.dtype, like.device))
    return fresh(backend.of(like.raw).from_numpy(array))


@public(method=False)
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
             axis: int = 0, *, device: Any = None) -> Tensor:
    """`num` powers of `base`, whose exponents lie evenly from `start` to `stop`.

    >>> import lucid_nb as lnb
    >>> lnb.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if not any(isinstance(end, Tensor) for end in (start, stop, base)):
        count = _count("logspace", num)
        found = _on_host("logspace", lambda: np.logspace(start, stop, count, endpoint, base, None, axis), start, stop)
        return from_host("logspace", found, dtype, place_of(device, None))
    exponents = linspace(start, stop, num, endpoint, axis=axis, device=device)
    powers = power(base, exponents)
    return powers if dtype is None else astype(powers, dtype, copy=False)


@public(method=False)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0, *,
              device: Any = None) -> Tensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before; the ends are exact.

    >>> import lucid_nb as lnb
    >>> lnb.geomspace(1, 8, 4)
    tensor([1., 2., 4., 8.])
    """
    count = _count("geomspace", num)
    if not isinstance(start, Tensor) and not isinstance(stop, Tensor):
        wanted = None if dtype is None else dtypes.as_dtype("geomspace", dtype)
        inner = None if wanted == dtypes.BFLOAT16 else wanted            # it decides what is computed in
        found = _on_host("geomspace", lambda: np.geomspace(start, stop, count, endpoint, inner, axis), start, stop)
        return from_host("geomspace", found, dtype, place_of(device, None))
    like = start if isinstance(start, Tensor) else stop
    first, last = (end if isinstance(end, Tensor) else _beside("geomspace", end, like) for end in (start, stop))
    if "c" in (first.dtype.kind, last.dtype.kind):
        raise DTypeError("geomspace: complex tensors as ends. Give them as NumPy arrays, with .numpy().")
    kind = dtypes.promote((first.dtype, last.dtype, float), first.device)
    first, last = astype(first, kind, copy=False), astype(last, kind, copy=False)
    shapes.broadcast_shapes("geomspace", first.shape, last.shape)
    if not (first.to_host() * last.to_host() > 0).all():
        raise ShapeError("geomspace: ends of different signs, or 0. Give ends of one sign.")
    sign = functions["sign"](first.detach())
    scale = linspace(functions["log10"](first * sign), functions["log10"](last * sign), count, endpoint)
    numbers = power(10.0, scale) * sign
    is_closed = endpoint and count > 1             # both ends are exact
    ends = [expand_dims(end.broadcast_to(numbers.shape[1:]), 0) for end in (first, last)]
    parts = [*ends[:count > 0], numbers[1:count - is_closed], *ends[1:][:is_closed]]
    numbers = joined("geomspace", parts, 0, None, kind, "same_kind")
    numbers = moveaxis(numbers, 0, axis) if axis else numbers
    return numbers if dtype is None else astype(numbers, dtype, copy=False)
