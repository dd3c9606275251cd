"""Arrays as sets: distinct elements, membership, and what two arrays share. Results are sorted."""

from typing import Any, NamedTuple

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..errors import ShapeError
from ..op import Primitive
from ..register import public
from .gathering import take
from .logic import equal
from .movement import as_tensor, astype, concat, reshape
from .places import pair, wants_gradient
from .sorting import in_order, searchsorted

_unique = Primitive("unique", lambda table, x, index, inverse, counts, equal_nan:
                    entry(table, "unique")(x, index, inverse, counts, equal_nan), None, flops=flops.sorting)
_isin = Primitive("isin", lambda table, x, members: entry(table, "isin")(x, members), None, flops=flops.sorting)


class UniqueAllResult(NamedTuple):
    """Distinct elements, where each is first, which each element is, and how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """Distinct elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """Distinct elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _distinct(x: Tensor, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> list[Tensor]:
    """The distinct elements of a flattened tensor and what is asked for; their gradient goes to the first of equals."""
    flat, routes = reshape(x, -1), wants_gradient(x)
    found = list(apply(_unique, (flat.detach(),), {"index": index or routes, "inverse": inverse, "counts": counts,
                                                   "equal_nan": equal_nan}))
    if routes:
        found[0] = take(flat, found[1])
        found[1:2] = [found[1]] if index else []
    if inverse:
        found[1 + index] = reshape(found[1 + index], x.shape)
    return found


def _distinct_slices(x: Tensor, axis: int, index: bool, inverse: Any, counts: Any, equal_nan: bool) -> list[Tensor]:
    """The distinct slices along an axis, in lexicographic order; found on the host."""
    host = x.to_host()
    host = host.astype(np.float32) if host.dtype == dtypes.BFLOAT16 else host
    found = np.unique(host, True, inverse, counts, axis=axis, equal_nan=equal_nan)
    table = backend.of(x.raw)
    rest = [Tensor(table.from_numpy(np.asarray(part, np.int64))) for part in found[1:]]
    return [take(x, found[1], axis=axis), *(rest if index else rest[1:])]


@public()
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    """The distinct elements in order, or along an axis the distinct slices; more results as asked for, all int64.

    `return_index`: where each is first; `return_inverse`: which of them each element is; `return_counts`: how often
    each occurs. NaNs count as one element where `equal_nan`. They are in order even where not `sorted`.

    >>> import lucid_nb as lnb
    >>> lnb.unique(lnb.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    ar = as_tensor("unique", ar)
    asked = bool(return_index), bool(return_inverse), bool(return_counts), bool(equal_nan)
    if axis is None:
        found = _distinct(ar, *asked)
    else:
        found = _distinct_slices(ar, shapes.normalize_axis("unique", axis, ar.ndim), *asked)
    return tuple(found) if len(found) > 1 else found[0]


@public(method=False)
def unique_all(x: Any) -> UniqueAllResult:
    """The distinct elements in order, where each is first, which each element is, and how often each occurs.

    Every NaN is an element of its own, as the array API says.

    >>> import lucid_nb as lnb
    >>> lnb.unique_all(lnb.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    return UniqueAllResult(*_distinct(as_tensor("unique_all", x), True, True, True, False))


@public(method=False)
def unique_counts(x: Any) -> UniqueCountsResult:
    """The distinct elements in order, and how often each occurs; every NaN is an element of its own.

    >>> import lucid_nb as lnb
    >>> lnb.unique_counts(lnb.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """
    return UniqueCountsResult(*_distinct(as_tensor("unique_counts", x), False, False, True, False))


@public(method=False)
def unique_inverse(x: Any) -> UniqueInverseResult:
    """The distinct elements in order, and which of them each element is; every NaN is an element of its own.

    >>> import lucid_nb as lnb
    >>> lnb.unique_inverse(lnb.tensor([3, 1, 3])).values
    tensor([1, 3])
    """
    return UniqueInverseResult(*_distinct(as_tensor("unique_inverse", x), False, True, False, False))


@public(method=False)
def unique_values(x: Any) -> Tensor:
    """The distinct elements in order; every NaN is an element of its own.

    >>> import lucid_nb as lnb
    >>> lnb.unique_values(lnb.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    return _distinct(as_tensor("unique_values", x), False, False, False, False)[0]


# ---------------------------------------------------------------------------------------------- membership
@public(method=False)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: str | None = None) -> Tensor:
    """Which elements are among the test elements, as bool, or with `invert` are not; NaN is never among them.

    >>> import lucid_nb as lnb
    >>> lnb.isin(lnb.tensor([1, 2, 3]), [2, 4])
    tensor([False,  True, False])
    """
    if kind not in (None, "sort", "table"):
        raise ShapeError(f"isin: kind {kind!r} is unknown. Leave it out.")
    element, test_elements = pair("isin", element, test_elements)
    common = dtypes.promote((element.dtype, test_elements.dtype), element.device)
    operands = (astype(element.detach(), common, copy=False),
                astype(reshape(test_elements.detach(), -1), common, copy=False))
    found = apply(_isin, operands)
    return equal(found, False) if invert else found


def _pair(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two flattened tensors of one dtype."""
    a, b = pair(name, x1, x2)
    common = dtypes.promote((a.dtype, b.dtype), a.device)
    return reshape(astype(a, common, copy=False), -1), reshape(astype(b, common, copy=False), -1)


@public(method=False)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that two arrays share, in order, and with `return_indices` where each is first in both.

    >>> import lucid_nb as lnb
    >>> lnb.intersect1d([1, 3, 4, 3], [3, 1, 2])
    tensor([1, 3])
    """
    a, b = _pair("intersect1d", ar1, ar2)
    (a, in_a), (b, in_b) = _distinct(a, True, False, False, True), _distinct(b, True, False, False, True)
    shared = isin(a, b)
    values = a[shared]
    return (values, in_a[shared], in_b[searchsorted(b, values)]) if return_indices else values


@public(method=False)
def union1d(ar1: Any, ar2: Any) -> Tensor:
    """The distinct elements of two arrays together, in order.

    >>> import lucid_nb as lnb
    >>> lnb.union1d([3, 1], [2, 1])
    tensor([1, 2, 3])
    """
    return _distinct(concat(_pair("union1d", ar1, ar2)), False, False, False, True)[0]


@public(method=False)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The distinct elements of ar1 that are not in ar2, in order; with `assume_unique` as they stand in ar1.

    >>> import lucid_nb as lnb
    >>> lnb.setdiff1d([3, 1, 2], [2])
    tensor([1, 3])
    """
    a = as_tensor("setdiff1d", ar1)
    a = reshape(a, -1) if assume_unique else _distinct(a, False, False, False, True)[0]
    return a[isin(a, ar2, invert=True)]


@public(method=False)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The distinct elements that are in one of two arrays only, in order.

    >>> import lucid_nb as lnb
    >>> lnb.setxor1d([1, 2, 3], [3, 4])
    tensor([1, 2, 4])
    """
    a, b = [_distinct(x, False, False, False, True)[0] for x in _pair("setxor1d", ar1, ar2)]
    return in_order(concat([a[isin(a, b, invert=True)], b[isin(b, a, invert=True)]]), 0)
