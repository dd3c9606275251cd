"""Sums of products of two sequences at every shift, by the convolution of networks."""

from typing import Any

from ..apply import apply
from ..array import Tensor
from ..errors import ConfigError, ShapeError
from ..op import registry
from ..register import public
from ..shapes import Window
from .axes import flip
from .complex import conjugate
from .contraction import promoted
from .movement import reshape

MODES = ("full", "same", "valid")


def _read(op: str, a: Any, v: Any, mode: Any) -> list[Tensor]:
    """Two sequences, checked."""
    if mode not in MODES:
        raise ConfigError(f"{op}: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    found = promoted(op, (a, v))
    for x in found:
        if x.ndim > 1:
            raise ShapeError(f"{op}: takes sequences, and a shape is {x.shape}. Use .reshape(-1), or a loop over rows.")
        if x.size == 0:
            raise ShapeError(f"{op}: an operand is empty (shapes {found[0].shape} and {found[1].shape}). Give at least "
                             "one number of each.")
    return [reshape(x, -1) for x in found]


def _slid(long: Tensor, short: Tensor, mode: str) -> Tensor:
    """Sums of the products of the shorter sequence with each stretch of the longer one, beyond whose ends are zeros."""
    taps = short.size
    pads = {"full": (taps - 1, taps - 1), "same": (taps // 2, taps - 1 - taps // 2), "valid": (0, 0)}
    low, high = pads[mode]
    window = Window((1,), (low,), (high,), (1,))
    return reshape(apply(registry["conv"], (reshape(long, 1, 1, -1), reshape(short, 1, 1, -1)), {"window": window}), -1)


@public(method=False)
def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The convolution of two sequences: sums of a[i] v[n - i].

    `mode`: "full", every n with a product; "same", as many as the longer sequence has, in their middle; "valid", where
    the shorter lies within the longer. ConfigError for another, ShapeError for what is empty or no sequence.

    >>> import lucid_nb as lnb
    >>> lnb.convolve([1, 2, 3], [1, 10])
    tensor([ 1, 12, 23, 30])
    """
    a, v = _read("convolve", a, v, mode)
    long, short = (v, a) if v.size > a.size else (a, v)
    return _slid(long, flip(short), mode)


@public(method=False)
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The correlation of two sequences: sums of a[n + i] conj(v[i]).

    `mode` as in `convolve`.

    >>> import lucid_nb as lnb
    >>> lnb.correlate([1, 2, 3], [0, 1, 0.5], "full")
    tensor([0.5, 2. , 3.5, 3. , 0. ])
    """
    a, v = _read("correlate", a, v, mode)
    v = conjugate(v) if v.dtype.kind == "c" else v
    return flip(_slid(v, a, mode)) if v.size > a.size else _slid(a, v, mode)
