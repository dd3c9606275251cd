"""Einstein sums: every contraction of two operands is one matrix product, in the order that opt_einsum finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from ..apply import apply
from ..array import Tensor
from ..errors import BackendError, ShapeError
from ..register import public
from ..shapes import Shape
from . import subscripts
from .contraction import Labels, Pair, common_sizes, contraction, promoted, summed
from .diagonal import diagonal
from .movement import deliver, duplicate, memory_order, permute_dims, reshape
from .subscripts import Term

Path = tuple[tuple[int, ...], ...]
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
    found = _run(_recipe(terms, result, tuple([x.shape for x in tensors]), _as_key(optimize)), tensors)
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
@dataclass(frozen=True)
class Preparation:
    """What one operand needs first: pairs of axes whose diagonal is taken, a shape without axes of size 1, and sums."""

    diagonals: tuple[tuple[int, int], ...]
    shape: Shape
    summed: tuple[int, ...]

    def of(self, x: Tensor) -> Tensor:
        """The operand, prepared."""
        for first, second in self.diagonals:
            x = diagonal(x, 0, first, second)
        x = x if x.shape == self.shape else reshape(x, self.shape)
        return summed(x, self.summed) if self.summed else x


@dataclass(frozen=True)
class Recipe:
    """The preparation of each operand; which are then contracted, last first, and how; the order at the end."""

    prepared: tuple[Preparation | None, ...]
    steps: tuple[tuple[tuple[int, ...], tuple[dict[str, Pair], ...]], ...]
    order: tuple[int, ...] | None


@lru_cache(1024)
def _recipe(terms: tuple[Term, ...], result: Term | None, given: tuple[Shape, ...], optimize: Any) -> Recipe:
    inputs, output = subscripts.resolved("einsum", terms, result, [len(shape) for shape in given])
    for number, (labels, shape) in enumerate(zip(inputs, given)):
        for label, size in zip(labels, shape):
            if size != shape[labels.index(label)]:
                raise ShapeError(f"einsum: {label!r} takes the diagonal of axes of sizes {shape[labels.index(label)]} "
                                 f"and {size} in operand {number}, shape {shape}. They must be equal.")
    sizes = common_sizes("einsum", inputs, given)
    taken = [_diagonals(labels) for labels in inputs]
    narrow = [tuple([x for x in single if shape[labels.index(x)] == sizes[x]])
              for labels, (_, single), shape in zip(inputs, taken, given)]
    kept = [tuple([x for x in labels if x in output or any([x in other for place, other in enumerate(narrow)
                                                             if place != number])])
            for number, labels in enumerate(narrow)]
    prepared = [None if labels == wanted else Preparation(
        pairs, tuple([sizes[x] for x in left]), tuple([axis for axis, x in enumerate(left) if x not in wanted]))
        for labels, (pairs, _), left, wanted in zip(inputs, taken, narrow, kept)]
    steps, last = _steps(kept, output, _path(inputs, output, given, optimize))
    return Recipe(tuple(prepared), steps, None if last == output else tuple([last.index(x) for x in output]))


def _diagonals(labels: Labels) -> tuple[tuple[tuple[int, int], ...], Labels]:
    """Pairs of axes whose diagonal, a new last axis, leaves each label once; and these labels."""
    pairs = []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            pairs.append((first, second))
            labels = (*[other for axis, other in enumerate(labels) if axis not in (first, second)], label)
    return tuple(pairs), labels


def _steps(terms: Sequence[Labels], output: Labels, path: Path) -> tuple[tuple, Labels]:
    """The pairs of a path, and the labels that it ends with; the last pair has the order of the result."""
    current, steps = list(terms), []
    for places in path:
        backward = tuple(sorted(places, reverse=True))
        picked = [current.pop(place) for place in backward][::-1]
        found, pairs = picked[0], []
        for number, other in enumerate(picked[1:], 2):
            rest = [label for labels in (*current, *picked[number:]) for label in labels]
            result = tuple([x for x in dict.fromkeys((*found, *other)) if x in rest or x in output])
            result = result if current or number < len(picked) else output
            pairs.append({"pair": Pair(found, other, result)})
            found = result
        current.append(found)
        steps.append((backward, tuple(pairs)))
    return tuple(steps), current[0]


def _path(inputs: Sequence[Labels], output: Labels, given: Sequence[Shape], optimize: Any) -> Path:
    """The order of contraction: a user's, from left to right, or opt_einsum's."""
    count = len(inputs)
    if isinstance(optimize, tuple):
        return _checked(optimize, count)
    if count < 3 or optimize is False:
        return ((0, 1), *((0, left) for left in range(count - 2, 0, -1)))[:count - 1]
    return _found_path(inputs, output, given, optimize)[0]


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


def _run(recipe: Recipe, tensors: Sequence[Tensor]) -> Tensor:
    current = [x if first is None else first.of(x) for first, x in zip(recipe.prepared, tensors)]
    for places, pairs in recipe.steps:
        picked = [current.pop(place) for place in places]
        found = picked.pop()
        for pair in pairs:
            found = apply(contraction, (found, picked.pop()), pair)
        current.append(found)
    return current[0] if recipe.order is None else permute_dims(current[0], recipe.order)
