"""Einstein sums: every contraction of two operands is one matrix product, in the order that opt_einsum finds."""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from ..array import Tensor
from ..errors import BackendError, ShapeError
from ..register import public
from ..shapes import Shape
from . import subscripts
from .contraction import Label, Labels, common_sizes, contract, narrowed, permuted, promoted, summed
from .diagonal import diagonal
from .movement import deliver, duplicate, memory_order
from .subscripts import Term

Path = tuple[tuple[int, ...], ...]
Labelled = tuple[Tensor, Labels]
TITLE = "einsum_path"          # the first element of NumPy's paths


@public(method=False)
def einsum(*operands: Any, out: Any = None, dtype: Any = None, order: str = "K", casting: str = "safe",
           optimize: Any = True) -> Tensor:
    """The sum of products over the axes that the result does not name (A. Einstein's convention).

    `operands`: subscripts such as "ij,jk->ik" and an array for each of their parts; or arrays, each followed by a list
    of integers for its axes, and last that of the result. Without "->" the result has the labels that occur once, in
    their order. "..." stands for axes that broadcast, as axes of size 1 do. A label twice in one operand takes the
    diagonal. The dtype is that of the operands in common, also of sums; a result without sums may be a view.

    `optimize`: the order of three and more operands: True, "greedy", "optimal" and other words of opt_einsum, a path
    of `einsum_path`, or False, from left to right. ShapeError where subscripts and shapes do not fit.

    >>> import lucid_nb as lnb
    >>> a, b = lnb.arange(6).reshape(2, 3), lnb.ones((3, 4), dtype=int)
    >>> lnb.einsum("ij,jk->ik", a, b).tolist()
    [[3, 3, 3, 3], [12, 12, 12, 12]]
    >>> lnb.einsum("ii", lnb.ones((3, 3))).item()
    3.0
    """
    terms, result, values = subscripts.read("einsum", operands)
    tensors = promoted("einsum", values, dtype, casting)
    inputs, output, path = _recipe(terms, result, tuple([x.shape for x in tensors]), _as_key(optimize))
    found = _run(tensors, inputs, output, path)
    if str(order).upper() in ("C", "F"):
        found = duplicate(found, memory_order("einsum", found, order))
    return deliver("einsum", found, out, casting)


@public(method=False)
def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list, str]:
    """The order in which `einsum` contracts its operands: a list for its `optimize`, and a description by opt_einsum.

    >>> import lucid_nb as lnb
    >>> a = lnb.ones((2, 2))
    >>> lnb.einsum_path("ij,jk,kl->il", a, a, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    terms, result, values = subscripts.read("einsum_path", operands)
    given = [tuple(x.shape) for x in promoted("einsum_path", values)]
    inputs, output = subscripts.resolved("einsum_path", terms, result, [len(shape) for shape in given])
    path, report = _found_path(inputs, output, given, _as_key(optimize))
    return [TITLE, *path], report


# ------------------------------------------------------------------------------------------------- recipe
@lru_cache(1024)
def _recipe(terms: tuple[Term, ...], result: Term | None, given: tuple[Shape, ...],
            optimize: Any) -> tuple[list[Labels], Labels, Path]:
    """The labels of the operands and of the result, and the order of contraction."""
    inputs, output = subscripts.resolved("einsum", terms, result, [len(shape) for shape in given])
    for number, (labels, shape) in enumerate(zip(inputs, given)):
        for label, size in zip(labels, shape):
            if size != shape[labels.index(label)]:
                raise ShapeError(f"einsum: {label!r} takes the diagonal of axes of sizes {shape[labels.index(label)]} "
                                 f"and {size} in operand {number}, shape {shape}. They must be equal.")
    common_sizes("einsum", inputs, given)
    if isinstance(optimize, tuple):
        return inputs, output, _checked(optimize, len(inputs))
    if len(inputs) < 3 or optimize is False:
        return inputs, output, ((0, 1), *((0, count) for count in range(len(inputs) - 2, 0, -1)))[:len(inputs) - 1]
    return inputs, output, _found_path(inputs, output, given, optimize)[0]


def _as_key(optimize: Any) -> Any:
    """What `optimize` means, hashable: a word, False, or a path."""
    if isinstance(optimize, (bool, str)):
        return "greedy" if optimize is True else optimize
    if not isinstance(optimize, (tuple, list)) or not optimize:
        raise ShapeError(f"einsum: optimize {optimize!r} is unknown. Use True, False, 'greedy', 'optimal' or a path.")
    if optimize[0] == TITLE:
        return tuple([tuple(places) for places in optimize[1:]])
    return optimize[0] if isinstance(optimize[0], str) else tuple([tuple(places) for places in optimize])


def _checked(path: Path, count: int) -> Path:
    """A path of a user's, refused unless it leaves one operand."""
    left = count
    for places in path:
        if not places or len({*places}) != len(places) or not all(0 <= place < left for place in places):
            raise ShapeError(f"einsum: {places} in the path {path} names no {len(places)} of {left} operands. "
                             "Use a path of einsum_path.")
        left -= len(places) - 1
    if left != 1:
        raise ShapeError(f"einsum: the path {path} leaves {left} of {count} operands. Use a path of einsum_path.")
    return path


def _found_path(inputs: Sequence[Labels], output: Labels, given: Sequence[Shape], optimize: Any) -> tuple[Path, str]:
    """opt_einsum's path and its description."""
    try:
        opt_einsum = import_module("opt_einsum")
    except ImportError:
        raise BackendError("einsum: an order of contraction needs opt_einsum. Install it, pip install opt_einsum, or "
                           "use optimize=False.") from None
    text = ["".join([label if isinstance(label, str) else opt_einsum.get_symbol(subscripts.MOST_LABELS - int(label))
                     for label in labels]) for labels in (*inputs, output)]
    try:
        path, report = opt_einsum.contract_path(f"{','.join(text[:-1])}->{text[-1]}", *given, shapes=True,
                                                optimize=optimize)
    except (KeyError, TypeError, ValueError) as error:
        raise ShapeError(f"einsum: optimize {optimize!r}: {error}. Use True, False, 'greedy' or 'optimal'.") from None
    return tuple([tuple(places) for places in path]), str(report)


# ---------------------------------------------------------------------------------------------------- run
def _run(tensors: Sequence[Tensor], inputs: Sequence[Labels], output: Labels, path: Path) -> Tensor:
    sizes = common_sizes("einsum", inputs, [x.shape for x in tensors])
    current = [narrowed(*_diagonals(x, labels), sizes) for x, labels in zip(tensors, inputs)]
    current = [summed(x, labels, _others(current, number, output)) for number, (x, labels) in enumerate(current)]
    for places in path:
        picked = [current.pop(place) for place in sorted(places, reverse=True)][::-1]
        found = picked[0]
        for number, other in enumerate(picked[1:], 2):
            rest = [label for _, labels in (*current, *picked[number:]) for label in labels]
            found = _pair(found, other, rest, output)
        current.append(found)
    return permuted(*current[0], output)


def _others(current: Sequence[Labelled], number: int, output: Labels) -> set:
    """The labels that another operand or the result has."""
    return {*output, *[label for place, (_, labels) in enumerate(current) if place != number for label in labels]}


def _pair(first: Labelled, second: Labelled, rest: Sequence[Label], output: Labels) -> Labelled:
    """The contraction of two operands, to what the others or the result need; last in the order of the result."""
    (a, left), (b, right) = first, second
    result = tuple([label for label in dict.fromkeys((*left, *right)) if label in rest or label in output])
    result = result if rest else output
    return contract(a, left, b, right, result), result


def _diagonals(x: Tensor, labels: Labels) -> Labelled:
    """A view with each label once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = (*[other for axis, other in enumerate(labels) if axis not in (first, second)], label)
    return x, labels
