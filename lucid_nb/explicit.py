"""Functions of positions that differ between the examples of `vmap`, on all examples at once: the hidden axis is one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import backend, trees
from .array import Tensor, fresh
from .backend import Unbatchable
from .batched import Chosen, Level, levels_of
from .lifting import entered, explicit
from .ops.hosted import holds_anywhere
from .ops.movement import as_tensor
from .register import functions
from .shapes import product
from .tape import user_place

rules: dict[str, Callable] = {}


def instead(name: str, reason: Unbatchable, *arguments: Any) -> Any:
    """What a function would give, if it has a rule for positions that differ; otherwise the reason is raised again."""
    found = rules[name](reason.level, *arguments) if name in rules and reason.level is not None else None
    if found is None:
        raise reason
    return found


def rule(function: Callable) -> Callable:
    """Enter the rule of a function under its name. It gives None where it does not serve."""
    rules[function.__name__.lstrip("_")] = function
    return function


def _is_shared(x: Any, level: Level) -> bool:
    """Does the gradient of all examples go to one tensor, so that it need not be repeated?"""
    return not isinstance(x, Tensor) or level not in levels_of(x.raw)


def _behind(axis: int) -> int:
    return axis + 1 if axis >= 0 else axis


# ------------------------------------------------------------------------------------------------ positions
@rule
def _take(level: Level, x: Tensor, indices: Tensor, axis: int, mode: str) -> Tensor:
    """Slices along an axis."""
    places = explicit(indices, level)
    size = x.shape[axis]
    if mode != "raise":
        places = places % size if mode == "wrap" else functions["clip"](places, 0, size - 1)
    if _is_shared(x, level):
        return entered(functions["take"](x, places, axis), axis, level)
    return _getitem(level, x, (*(slice(None),) * axis, indices if mode == "raise" else entered(places, 0, level)))


@rule
def _getitem(level: Level, x: Tensor, parts: tuple) -> Tensor | Chosen | None:
    """NumPy's indexing, with one more array in front that goes along with the examples."""
    inside = _with_examples(level, x, parts)
    if inside is None:
        return _chosen(level, x, parts)
    places, place, count = inside
    found = explicit(x, level)[places]
    return entered(_moved(found, place, count), 0, level)


@rule
def _setitem(level: Level, target: Tensor, parts: tuple, value: Tensor) -> bool | None:
    """NumPy's assignment, as a new content of the target."""
    inside = _with_examples(level, target, parts)
    if inside is None:
        return _write_where(target, parts, value)
    if _is_shared(target, level):
        return None
    places, place, count = inside
    new = explicit(target, level).copy()
    shape = _moved(new[places], place, count).shape
    given = explicit(value, level)
    given = given.reshape((level.size, *(1,) * (len(shape) - given.ndim), *given.shape[1:])).broadcast_to(shape)
    axes = (*range(1 + place, 1 + place + count), *range(1, 1 + place))
    new[places] = given.permute((0, *axes, *range(len(axes) + 1, len(shape))))
    target.write(entered(new, 0, level), "setitem")
    return True


class Masked(NamedTuple):
    """A mask within an index: where all lies that it chooses from, and how many axes lie behind the mask's."""

    mask: Tensor
    place: tuple
    view: Tensor
    behind: int


def _masked(target: Tensor, parts: tuple) -> Masked | None:
    """One mask beside slices and integers, which fits."""
    masks = [number for number, part in enumerate(parts) if isinstance(part, Tensor) and part.dtype.kind == "b"]
    others = [part for number, part in enumerate(parts) if number not in masks]
    if len(masks) != 1 or not all(part is None or part is Ellipsis or type(part) in (slice, int) for part in others):
        return None
    mask, before, after = parts[masks[0]], parts[:masks[0]], parts[masks[0] + 1:]
    index = (*before, *(slice(None),) * mask.ndim, *after)
    view = target[index]
    place = _axes_of(target, index, len(before))
    fits = view.shape[place:place + mask.ndim] == mask.shape
    return Masked(mask, index, view, view.ndim - place - mask.ndim) if fits else None


def _chosen(level: Level, x: Tensor, parts: tuple) -> Chosen | None:
    """What a mask chooses, for arithmetic and the way back."""
    found = _masked(x, parts)
    if found is None:
        return None
    return Chosen(partial(Unbatchable, level, user_place()), found.mask, found.view.copy(),
                  lambda value: _without_count(as_tensor("index", value), found.mask.ndim, found.behind))


def _write_where(target: Tensor, parts: tuple, value: Tensor | Chosen) -> bool | None:
    """Assignment where one mask holds, beside slices and integers: all is written, the rest with what it was.

    The value must not have an element for each place, since their number differs between examples, unless it was chosen
    by the same mask.
    """
    found = _masked(target, parts)
    if found is None:
        return None
    if isinstance(value, Chosen):
        new = value.whole if value.mask is found.mask and value.whole.shape == found.view.shape else None
    else:
        new = _without_count(value, found.mask.ndim, found.behind)
        new = None if new is not None and new.ndim and int in map(type, parts) else new
    if new is None or (new.dtype.kind == "c") > (target.dtype.kind == "c"):
        return None
    held = found.mask.reshape((*found.mask.shape, *(1,) * found.behind))
    target[found.place] = functions["where"](held, new.astype(target.dtype), found.view)
    return True


def _without_count(value: Tensor, ndim: int, behind: int) -> Tensor | None:
    """A value with axes of a mask in place of that of the chosen elements, along which it must be the same."""
    cut = value.ndim - behind
    if cut < 1:
        return value
    return value.reshape((*value.shape[:cut - 1], *(1,) * ndim, *value.shape[cut:])) if value.shape[cut - 1] == 1 \
        else None


def _with_examples(level: Level, x: Tensor, parts: tuple) -> tuple[tuple, int, int] | None:
    """The index of all examples; where the arrays' axes belong in an example's result, and how many they are."""
    arrays = [part for part in parts if not isinstance(part, slice) and part is not None and part is not Ellipsis]
    tensors = [part if isinstance(part, Tensor) else np.asarray(part) for part in arrays]
    if any(part.dtype.kind not in "iu" for part in tensors):
        return None                                  # masks choose as many as they say, other things are no index
    count = max([part.ndim for part in tensors])
    places = iter([_with_leading(level, part, count) for part in tensors])
    index = [next(places) if any(part is one for one in arrays) else part for part in parts]
    numbers = np.arange(level.size).reshape((level.size, *(1,) * count))
    return (numbers, *index), _place(x, parts, arrays), count


def _with_leading(level: Level, part: Any, count: int) -> Any:
    """The positions of all examples, with `count` axes behind theirs."""
    if not isinstance(part, Tensor) or _is_shared(part, level):
        return part
    found = explicit(part, level)
    return found.reshape((level.size, *(1,) * (count - part.ndim), *part.shape))


def _place(x: Tensor, parts: tuple, arrays: Sequence[Any]) -> int:
    """Before which axis of the result NumPy puts those of the arrays: in front, if something stands between them."""
    is_array = [any(part is one for one in arrays) for part in parts]
    first, last = is_array.index(True), len(parts) - is_array[::-1].index(True)
    if not all(is_array[first:last]):
        return 0
    return _axes_of(x, parts, first)


def _axes_of(x: Tensor, parts: tuple, count: int) -> int:
    """How many axes of the result come from so many parts of an index."""
    used = sum(part is not None and part is not Ellipsis for part in parts)
    return sum(x.ndim - used if part is Ellipsis else type(part) is not int for part in parts[:count])


def _moved(found: Tensor, place: int, count: int) -> Tensor:
    """The arrays' axes, which come after that of the examples, behind `place` others."""
    if not place or not count:
        return found
    rest = range(1 + count, 1 + count + place)
    return found.permute((0, *rest, *range(1, 1 + count), *range(1 + count + place, found.ndim)))


@rule
def _take_along_axis(level: Level, x: Tensor, indices: Tensor, axis: int) -> Tensor | None:
    """Elements at positions along an axis."""
    return _along(level, "take_along_axis", x, indices, axis)


@rule
def _gather(level: Level, x: Tensor, indices: Tensor, axis: int) -> Tensor | None:
    """Elements at positions along an axis, as PyTorch's."""
    return _along(level, "gather", x, indices, axis)


def _along(level: Level, name: str, x: Tensor, indices: Tensor, axis: int) -> Tensor | None:
    if indices.ndim != x.ndim or x.ndim == 0:
        return None                                  # the examples one by one say what is wrong
    return entered(functions[name](explicit(x, level), explicit(indices, level), _behind(axis)), 0, level)


@rule
def _scattered(level: Level, op: str, x: Tensor, index: Tensor, src: Any, axis: int, join: Callable,
               scatter: Callable) -> Tensor | None:
    """Elements joined with others at positions along an axis."""
    if index.ndim != x.ndim or x.ndim == 0:
        return None
    src = explicit(src, level) if isinstance(src, Tensor) and src.ndim else src
    return entered(scatter(op, explicit(x, level), explicit(index, level), src, _behind(axis), join), 0, level)


@rule
def _embedding(level: Level, embed: Callable, positions: Tensor, weight: Tensor, ignored: int | None) -> Tensor | None:
    """Rows of a table by number."""
    if _is_shared(weight, level):
        return entered(embed(explicit(positions, level), weight, ignored), 0, level)
    embed(explicit(positions, level), functions["broadcast_to"](0.0, weight.shape))         # which refuses bad numbers
    found = _getitem(level, weight, (positions,))
    if found is None or ignored is None:
        return found
    is_ignored = (positions == ignored).reshape((*positions.shape, 1))
    return functions["where"](is_ignored, found.detach(), found)


# ---------------------------------------------------------------------------------------------------- classes
@rule
def _one_hot(level: Level, classes: Tensor, count: int, dtype: Any) -> Tensor:
    """1 at the place of each class."""
    return entered(functions["one_hot"](explicit(classes, level), count, dtype=dtype), 0, level)


@rule
def _losses_of_classes(level: Level, losses_of: Callable, logits: Tensor, target: Tensor, ignore_index: int,
                       reduction: str) -> Tensor:
    """The losses of the rows of all examples at once, then each example's mean or sum."""
    scores, classes = explicit(logits, level), explicit(target, level)
    if logits.ndim > 1:
        scores = scores.reshape((level.size * logits.shape[0], *logits.shape[1:]))
    rows = classes.reshape((-1, *target.shape[1:])) if target.ndim else classes
    losses = losses_of(scores, rows)
    if reduction == "none":
        return entered(losses.reshape((level.size, *target.shape)), 0, level)
    total = losses.reshape((level.size, product(target.shape))).sum(axis=1)
    if reduction == "mean":
        counted = (classes.reshape((level.size, product(target.shape))) != ignore_index).sum(axis=1)
        total = total / functions["maximum"](counted, 1).astype(total.dtype)
    return entered(total, 0, level)


# --------------------------------------------------------------------------------------------------- the host
together: dict[str, Callable] = {}                    # rules for all examples at once, by the function's name


@rule
def _hosted(level: Level, function: Callable, arguments: tuple, keywords: dict) -> Any:
    """What a function gives that reads its arguments on the host: by its rule, otherwise example by example."""
    special = together.get(function.__name__)
    found = special(level, *arguments, **keywords) if special is not None else None
    return _each(level, function, arguments, keywords) if found is None else found


def _each(level: Level, function: Callable, arguments: tuple, keywords: dict) -> Any:
    """The results of each example, where they have one shape."""
    leaves, structure = trees.flatten((arguments, keywords))
    is_apart = [isinstance(x, Tensor) and not _is_shared(x, level) for x in leaves]
    columns = [explicit(x, level) if apart else x for x, apart in zip(leaves, is_apart)]
    found = []
    for number in range(level.size):
        given, named = trees.unflatten(structure, [x[number] if apart else x for x, apart in zip(columns, is_apart)])
        found.append(trees.flatten(function(*given, **named)))
    if len({(nested, *[x.shape for x in results]) for results, nested in found}) != 1:
        return None
    stacked = [entered(functions["stack"](column), 0, level) for column in zip(*[results for results, _ in found])]
    return trees.unflatten(found[0][1], stacked)


def _bincount(level: Level, x: Any, weights: Any = None, minlength: int = 0) -> Tensor | None:
    """Where `minlength` says how many there are, the bins of all examples beside each other."""
    places = explicit(as_tensor("bincount", x), level)
    if places.ndim != 2 or places.dtype.kind not in "iu" or holds_anywhere((places < 0) | (places >= minlength)):
        return None
    starts = backend.table(places.device).from_numpy((np.arange(level.size) * minlength)[:, None])
    beside = places.astype("int64") + fresh(starts)
    if weights is not None:
        weights = explicit(as_tensor("bincount", weights), level)
        if weights.shape != places.shape:
            return None
        weights = weights.reshape(-1)
    found = functions["bincount"](beside.reshape(-1), weights, level.size * minlength)
    return entered(found.reshape((level.size, minlength)), 0, level)


def _digitize(level: Level, x: Any, bins: Any, right: bool = False) -> Tensor | None:
    """All elements at once, where the bins are the same for all."""
    if not _is_shared(bins, level):
        return None
    return entered(functions["digitize"](explicit(as_tensor("digitize", x), level), bins, right), 0, level)


together.update(bincount=_bincount, digitize=_digitize)
