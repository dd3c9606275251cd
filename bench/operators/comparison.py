"""One call of PyTorch's operator database made here, and what differs."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import lucid_nb as lnb

from .records import WIDER, Call, fill, widened

Tensors = list[lnb.Tensor]


class Difference(NamedTuple):
    """What differs: result, write, gradient, forward mode or second derivative; by how many tolerances, or how."""

    what: str
    how: str
    call: Call


def tolerance(dtype: np.dtype) -> float:
    """What is allowed relative to a value and to the largest of its array: eps to the power 2/3."""
    return float(np.finfo(dtype).eps) ** (2 / 3)


def differences(function: Callable, call: Call) -> list[Difference]:
    """Every way in which the function departs from PyTorch in this call.

    Of 32 bits the judge is PyTorch in 64: what is not further from that than values of PyTorch in 32 bits are does
    not depart.
    """
    found = list(departures(function, call, None))
    return list(departures(function, call, widened(call))) if found and call.dtype in WIDER else found


def departures(function: Callable, call: Call, judge: Call | None) -> Iterator[Difference]:
    """The same before, or with, a judge."""
    for what, check in (("result", check_results), ("gradient", check_gradients), ("forward", check_forward),
                        ("second", check_second)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for how in check(function, call, judge):
                    yield Difference(what, how, call)
        except Exception as error:                       # whatever it is, it is a row of the report
            yield Difference(what, f"{type(error).__name__}: {error}", call)
            if what == "result":
                return


# ------------------------------------------------------------------------------------------- calls of ours
def started(call: Call) -> Tensors:
    """The call's inputs; those that are differentiated by start a graph."""
    return [lnb.tensor(x, requires_grad=number in call.by) for number, x in enumerate(call.inputs)]


def applied(function: Callable, call: Call, tensors: Tensors) -> Tensors:
    """The results of the call, one after the other."""
    found = leaves(function(*fill(call.arguments, tensors), **fill(call.keywords, tensors)))
    return [x if isinstance(x, lnb.Tensor) else lnb.asarray(x) for x in found]


def leaves(tree: Any) -> Iterator[lnb.Tensor]:
    """The tensors in nested tuples and lists."""
    if isinstance(tree, (tuple, list)):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def differentiable(call: Call, results: Tensors) -> Tensors:
    """The results that PyTorch differentiates."""
    return [x for x, c in zip(results, call.cotangents) if c is not None]


def pulled_back(ends: Tensors, seeds: list[np.ndarray], starts: Tensors, **keywords: Any) -> list[lnb.Tensor | None]:
    """The gradients of what was recorded."""
    pairs = [(x, lnb.tensor(seed)) for x, seed in zip(ends, seeds) if x is not None and x.requires_grad]
    if not pairs:
        return [None] * len(starts)
    return list(lnb.autograd.grad([x for x, _ in pairs], starts, [seed for _, seed in pairs], allow_unused=True,
                                  **keywords))


# ------------------------------------------------------------------------------------------------ checks
def check_results(function: Callable, call: Call, judge: Call | None) -> Iterator[str]:
    """Values, shapes and dtypes of results, and of inputs that are written into."""
    tensors = [lnb.tensor(x) for x in call.inputs]
    results = applied(function, call, tensors)
    if len(results) != len(call.results):
        yield f"{len(results)} results, {len(call.results)} of PyTorch"
    for number, (ours, theirs) in enumerate(zip(results, call.results)):
        yield from apart(ours.numpy(), theirs, judge and judge.results[number])
    for ours, before, after in zip(tensors, call.inputs, call.after):
        if not np.array_equal(before, after, equal_nan=before.dtype.kind in "fc"):
            yield from apart(ours.numpy(), after)


def check_gradients(function: Callable, call: Call, judge: Call | None) -> Iterator[str]:
    """Gradients of the results times the cotangents."""
    if call.by:
        tensors = started(call)
        ends = differentiable(call, applied(function, call, tensors))
        found = pulled_back(ends, call.seeds, [tensors[number] for number in call.by])
        yield from gradients_apart(found, call.gradients, judge and judge.gradients, max(map(largest, call.seeds)))


def check_forward(function: Callable, call: Call, judge: Call | None) -> Iterator[str]:
    """Forward mode along the directions, times the cotangents, against PyTorch's gradients times the directions."""
    if not call.by:
        return

    def ends_of(*starts: lnb.Tensor) -> Tensors:
        tensors = [lnb.tensor(x) for x in call.inputs]
        for number, start in zip(call.by, starts):
            tensors[number] = start
        return differentiable(call, applied(function, call, tensors))
    primals = tuple(lnb.tensor(call.inputs[number]) for number in call.by)
    _, tangents = lnb.jvp(ends_of, primals, tuple(map(lnb.tensor, call.directions)))
    pushed = [(c, t.numpy()) for c, t in zip(call.seeds, tangents)]
    pulled = [(g, d) for g, d in zip(call.gradients, call.directions) if g is not None]
    ours, theirs = projected(pushed), projected(pulled)
    if judge is not None:
        theirs = projected([(g, d) for g, d in zip(judge.gradients, judge.directions) if g is not None])
    size = sum(float(np.abs(a * b).sum()) for a, b in pushed + pulled) + max(map(largest, call.directions))
    allowed = tolerance(np.dtype(call.dtype)) * size
    if not (abs(ours - theirs) <= allowed or (np.isnan(ours) and np.isnan(theirs)) or ours == theirs):
        yield f"{ours:.6g}, {theirs:.6g} of PyTorch's gradients"


def projected(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The real inner product of arrays in two lists."""
    return float(sum(np.real(np.conj(a) * b).sum() for a, b in pairs))


def check_second(function: Callable, call: Call, judge: Call | None) -> Iterator[str]:
    """Gradients of gradients times the directions."""
    if not call.by or call.second is None:
        return
    tensors = started(call)
    starts = [tensors[number] for number in call.by]
    ends = differentiable(call, applied(function, call, tensors))
    first = pulled_back(ends, call.seeds, starts, create_graph=True)
    found = pulled_back(first, call.directions, starts)
    yield from gradients_apart(found, call.second, None, max(map(largest, [*call.seeds, *call.gradients])))


def gradients_apart(found: list, expected: list[np.ndarray | None], exact: list | None, scale: float) -> Iterator[str]:
    """Gradients compared; none is as good as zeros."""
    for ours, theirs, judge in zip(found, expected, exact or [None] * len(found)):
        if ours is not None or theirs is not None:
            ours = np.zeros_like(theirs) if ours is None else ours.detach().numpy()
            yield from apart(ours, np.zeros_like(ours) if theirs is None else theirs, judge, scale)


def apart(ours: np.ndarray, theirs: np.ndarray, judge: np.ndarray | None = None, scale: float = 0) -> Iterator[str]:
    """How two arrays differ: in shape, dtype, or value, which may be of the order of `scale` before it cancels."""
    if ours.shape != theirs.shape:
        yield f"shape {ours.shape}, {theirs.shape} of PyTorch"
    elif ours.dtype != theirs.dtype:
        yield f"dtype {ours.dtype}, {theirs.dtype} of PyTorch"
    elif theirs.dtype.kind not in "fc":
        if not np.array_equal(ours, theirs):
            yield f"{np.count_nonzero(ours != theirs)} of {theirs.size} values"
    else:
        far = beyond(ours, theirs, max(scale, largest(theirs)))
        if judge is not None:
            far &= ~(np.abs(ours - judge) <= np.abs(theirs - judge).max())
        if far.any():
            where = np.unravel_index(np.argmax(far), far.shape)
            yield f"{np.count_nonzero(far)} of {theirs.size} values, as {ours[where]:.8g} for {theirs[where]:.8g}"


def largest(values: np.ndarray | None) -> float:
    """The largest finite magnitude, 0 of nothing."""
    sizes = np.zeros(0) if values is None else np.abs(values[np.isfinite(values)])
    return float(sizes.max()) if sizes.size else 0.0


def beyond(ours: np.ndarray, theirs: np.ndarray, scale: float) -> np.ndarray:
    """Where values are further apart than the dtype's tolerance."""
    allowed = tolerance(theirs.dtype) * (np.abs(theirs) + scale)
    with np.errstate(all="ignore"):
        near = (np.abs(ours - theirs) <= allowed) & np.isfinite(ours) & np.isfinite(theirs)
    return ~(near | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
