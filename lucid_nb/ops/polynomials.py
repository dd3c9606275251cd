"""Polynomials by their coefficients, that of the highest power first, as NumPy's functions of old take them."""

from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..array import Tensor, fresh
from ..backend import of
from ..errors import ShapeError
from ..register import functions, public
from .correlation import convolve
from .movement import as_tensor, astype, concat, reshape


def is_numpys(*polynomials: Any) -> bool:
    """Is one of them NumPy's `poly1d`, which then the result is, too?"""
    return any(isinstance(p, np.poly1d) for p in polynomials)


def coefficients(op: str, p: Any) -> Tensor:
    """A tensor of one axis of coefficients; a number is a constant."""
    x = as_tensor(op, p.coeffs if isinstance(p, np.poly1d) else p)
    if x.ndim > 1:
        raise ShapeError(f"{op}: coefficients of shape {x.shape}. Give them along one axis.")
    return reshape(x, 1) if x.ndim == 0 else x


def inexact(x: Tensor) -> Tensor:
    """In floats, as NumPy makes them of integers."""
    return x if dtypes.is_inexact(x.dtype) else astype(x, dtypes.on_device(dtypes.FLOAT64, x.device))


def zeros_before(x: Tensor, count: int) -> Tensor:
    """So many zeros, then the elements."""
    return x if count <= 0 else concat([fresh(of(x.raw).full((count,), 0, x.dtype)), x])


def _result(found: Tensor, as_numpys: bool) -> Any:
    return np.poly1d(found.to_host()) if as_numpys else found


@public(method=False)
def polyval(p: Any, x: Any) -> Any:
    """The values of a polynomial at x, by Horner's rule; of NumPy's `poly1d` x, the polynomial of a polynomial.

    p: coefficients of one axis, the highest power first. Differentiable by both.

    >>> import lucid_nb as lnb
    >>> lnb.polyval([2.0, 0.0, 1.0], lnb.array([1.0, 3.0]))
    tensor([ 3., 19.])
    """
    if isinstance(x, np.poly1d):
        return np.polyval(coefficients("polyval", p).to_host(), x)
    p, x = coefficients("polyval", p), as_tensor("polyval", x)
    found = functions["zeros_like"](x)
    for coefficient in functions["unstack"](p):
        found = found * x + coefficient
    return found


@public(method=False)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> import lucid_nb as lnb
    >>> lnb.polyadd([1, 2], [3, 0, 0])
    tensor([3, 1, 2])
    """
    a, b = coefficients("polyadd", a1), coefficients("polyadd", a2)
    size = max(a.size, b.size)
    return _result(zeros_before(a, size - a.size) + zeros_before(b, size - b.size), is_numpys(a1, a2))


@public(method=False)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> import lucid_nb as lnb
    >>> lnb.polysub([1, 2], [3, 0, 0])
    tensor([-3,  1,  2])
    """
    a, b = coefficients("polysub", a1), coefficients("polysub", a2)
    size = max(a.size, b.size)
    return _result(zeros_before(a, size - a.size) - zeros_before(b, size - b.size), is_numpys(a1, a2))


def _without_zeros(x: Tensor) -> Tensor:
    """Without the zeros in front; of nothing else, one of them."""
    places = np.flatnonzero(x.to_host())
    return x[places[0]:] if places.size else x[:1] if x.size else zeros_before(x, 1)


@public(method=False)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, without zeros in front.

    >>> import lucid_nb as lnb
    >>> lnb.polymul([1, 2], [1, -2])
    tensor([ 1,  0, -4])
    """
    a, b = _without_zeros(coefficients("polymul", a1)), _without_zeros(coefficients("polymul", a2))
    return _result(convolve(a, b), is_numpys(a1, a2))


@public(method=False)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials; the remainder without what is nearly 0 in front. Differentiable.

    >>> import lucid_nb as lnb
    >>> [part.tolist() for part in lnb.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    rest, divisor = inexact(coefficients("polydiv", u)), inexact(coefficients("polydiv", v))
    wanted = dtypes.promote((rest.dtype, divisor.dtype), rest.device)
    rest, divisor = astype(rest, wanted, copy=False), astype(divisor, wanted, copy=False)
    quotients, scale, size = [], 1 / divisor[0], divisor.size
    rests = []
    for _ in range(rest.size - size + 1):
        quotients.append(rest[0] * scale)
        changed = concat([rest[:size] - quotients[-1] * divisor, rest[size:]])
        rests.append(changed[:1])
        rest = changed[1:]
    rest = concat([*rests, rest])
    quotient = functions["stack"](quotients) if quotients else zeros_before(rest[:0], 1)
    while rest.size > 1 and bool(functions["allclose"](rest[0], 0, rtol=1e-14)):
        rest = rest[1:]
    as_numpys = is_numpys(u, v)
    return _result(quotient, as_numpys), _result(rest, as_numpys)


@public(method=False)
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, of order m.

    >>> import lucid_nb as lnb
    >>> lnb.polyder([1, 1, 1])
    tensor([2, 1])
    """
    x, order = coefficients("polyder", p), shapes.as_integer("polyder", "m", m)
    if order < 0:
        raise ShapeError(f"polyder: m is {order}. Use 0 or more, or polyint.")
    for _ in range(order):
        x = x[:-1] * _powers(x)[:-1]
    return _result(x, is_numpys(p))


@public(method=False)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of a polynomial, m times; `k`: the constant of each time, or one for all, 0 by default.

    >>> import lucid_nb as lnb
    >>> lnb.polyint([2.0, 1.0], k=5)
    tensor([1., 1., 5.])
    """
    x, order = coefficients("polyint", p), shapes.as_integer("polyint", "m", m)
    if order < 0:
        raise ShapeError(f"polyint: m is {order}. Use 0 or more, or polyder.")
    constants = functions["zeros_like"](inexact(x[:0])) if k is None else coefficients("polyint", k)
    if k is not None and constants.size < order and constants.size != 1:
        raise ShapeError(f"polyint: {constants.size} constants k for {order} integrals. Give one for each, or one.")
    for number in range(order):
        raised = x / (_powers(x) + 1)
        start = number if constants.size > 1 else 0
        x = concat([raised, constants[start:start + 1] if constants.size else functions["zeros_like"](raised[:1])]
                   if raised.size else [constants[start:start + 1]])
    return _result(x, is_numpys(p))


def _powers(x: Tensor) -> Tensor:
    """The power that each coefficient belongs to."""
    return fresh(of(x.raw).iota(x.size - 1, -1, x.size, dtypes.INT64))


def of_roots(roots: Tensor) -> Tensor:
    """The polynomial whose highest coefficient is 1, of these roots; real where they are in conjugate pairs."""
    found = functions["ones_like"](roots[:1]) if roots.size else fresh(of(roots.raw).full((1,), 1, roots.dtype))
    for root in functions["unstack"](roots):
        found = concat([found, found[:1] * 0]) - concat([found[:1] * 0, found * root])
    if roots.dtype.kind != "c":
        return found
    host = roots.to_host()
    is_real = np.array_equal(np.sort(host), np.sort(np.conjugate(host)))
    real: Tensor = found.real.copy()
    return real if is_real else found
