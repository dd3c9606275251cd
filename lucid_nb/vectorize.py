"""`vmap`: a function of one example becomes a function of many, which runs once on all of them."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import backend, lifting, tape, trees
from .apply import as_operand
from .array import Tensor
from .backend import Unbatchable, batching
from .batched import Level, active
from .errors import AxisError, DTypeError, ShapeError, told
from .explicit import instead
from .register import functions
from .trees import Structure

Axis = int | None


class Argument(NamedTuple):
    """A leaf of the arguments: its place for errors, what it is, and the axis of its examples, counted from the front.

    What has no axis and is no tensor is passed on as it is.
    """

    place: str
    value: Any
    axis: Axis


def vmap(function: Callable, in_axes: Any = 0, out_axes: Any = 0) -> Callable:
    """A function of one example as a function of many: all at once, by the batched form of every op.

    `in_axes`: along which axis of each argument its examples lie, None for what is the same for all; one for all
    arguments, or a tuple with one for each, which may be a tree as the argument is. `out_axes`: where the axis of
    examples goes in the results, None for a result that does not depend on them (otherwise such a one is repeated).
    Keyword arguments are the same for all. ShapeError where sizes differ, or nothing has examples.

    A function that reads values on the host (`if x > 0`, `x.item()`, what a mask chooses) runs example by example, with
    a warning that names the op. Random numbers drawn inside are the same for all examples: draw others outside.

    >>> import lucid_nb as lnb
    >>> lnb.vmap(lambda x, y: (x * y).sum())(lnb.ones((3, 2)), lnb.full((3, 2), 2.0))
    tensor([4., 4., 4.])
    """
    if not callable(function):
        raise DTypeError(f"vmap: {told(function)} is not a function. Give one.")

    @functools.wraps(function)
    def mapped(*arguments: Any, **shared: Any) -> Any:
        batching.lift, batching.fit, batching.made, batching.instead = lifting.lift, lifting.fit, lifting.made, instead
        leaves, structure = trees.flatten(arguments)
        given = [_argument(place, value, axis) for (place, value), axis in
                 zip(zip(_places(structure), leaves), _axes_of("in_axes", in_axes, structure, len(arguments)))]
        level = active.enter(_common_size(given))
        try:
            inside = [x.value if not isinstance(x.value, Tensor) else lifting.entered(x.value, x.axis, level)
                      for x in given]
            found = function(*trees.unflatten(structure, inside), **shared)
            return _out(found, out_axes, lambda x, axis: _left(x, axis, level))
        except Unbatchable as reason:
            if reason.level is not level:
                raise
            _warn(reason)
        finally:
            active.levels.remove(level)
            level.roots.clear()
        return _one_by_one(function, given, structure, shared, out_axes, level.size)
    return mapped


# --------------------------------------------------------------------------------------------------- axes
def _places(structure: Structure) -> list[str]:
    """The number of each leaf's argument, and where in it the leaf is."""
    return [f"argument {number} at {path}" if path else f"argument {number}"
            for number, part in enumerate(structure.parts) for path in part.paths()]


def _axes_of(what: str, axes: Any, structure: Structure, count: int = 0) -> list[Axis]:
    """The axis of each leaf; one axis serves all that is nested below it."""
    if what == "in_axes" and isinstance(axes, (list, tuple)):
        if len(axes) != count:
            raise ShapeError(f"vmap: in_axes has {len(axes)} entries for {count} arguments. Give one for each.")
        return [axis for part, inner in zip(axes, structure.parts) for axis in _axes_below(what, part, inner)]
    return _axes_below(what, axes, structure)


def _axes_below(what: str, axes: Any, structure: Structure) -> list[Axis]:
    if axes is None or type(axes) is int:
        return [axes] * _count(structure)
    parts = _parts_like(axes, structure)
    if parts is None:
        raise ShapeError(f"vmap: {what} has {told(axes)} for a tree {told(str(structure))}. Use an integer, None, or a "
                         "tree of the same kind.")
    return [axis for part, inner in zip(parts, structure.parts) for axis in _axes_below(what, part, inner)]


def _count(structure: Structure) -> int:
    return 1 if structure.kind is None else sum(map(_count, structure.parts))


def _parts_like(axes: Any, structure: Structure) -> list[Any] | None:
    """The axes of the parts of a container, if they are nested as it is."""
    names, kind = structure.names, structure.kind
    if kind is None:
        return None
    if issubclass(kind, dict):
        return [axes[name] for name in names] if isinstance(axes, dict) and {*axes} == {*names} else None
    if names:
        return [getattr(axes, name, None) for name in names] if isinstance(axes, kind) else None
    return list(axes) if isinstance(axes, (tuple, list)) and len(axes) == len(structure.parts) else None


def _argument(place: str, value: Any, axis: Axis) -> Argument:
    """A leaf with its axis from the front, checked."""
    if axis is None:
        return Argument(place, value.refresh() if isinstance(value, Tensor) else value, None)
    x = value.refresh() if isinstance(value, Tensor) else as_operand("vmap", value, backend.default_device())
    if not -x.ndim <= axis < x.ndim:
        remedy = f"Use {-x.ndim} to {x.ndim - 1}, or None." if x.ndim else "Use None for what is the same for all."
        raise AxisError(f"vmap: {place} has shape {x.shape}, and in_axes says axis {axis}. {remedy}")
    return Argument(place, x, axis % x.ndim)


def _common_size(given: Sequence[Argument]) -> int:
    """How many examples there are."""
    mapped = [(x, x.value.shape[x.axis]) for x in given if x.axis is not None]
    if not mapped:
        raise ShapeError("vmap: no argument has examples, in_axes is None for all. Give one of them an axis.")
    first, size = mapped[0]
    for x, other in mapped:
        if other != size:
            raise ShapeError(f"vmap: {first.place} has {size} examples (shape {first.value.shape}, axis {first.axis}), "
                             f"{x.place} has {other} (shape {x.value.shape}, axis {x.axis}). Make them equal, or use "
                             "in_axes None.")
    return size


def _out(found: Any, out_axes: Any, leave: Callable[[Any, Axis], Any]) -> Any:
    """The tree of results, each leaf out of the level."""
    leaves, structure = trees.flatten(found)
    axes = _axes_of("out_axes", out_axes, structure)
    return trees.unflatten(structure, [leave(x, axis) for x, axis in zip(leaves, axes)])


def _out_axis(x: Tensor, axis: int) -> int:
    """The place of the axis of examples in a result, from the front."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise AxisError(f"vmap: out_axes says axis {axis} for results of shape {x.shape} with one axis more. Use "
                        f"{-x.ndim - 1} to {x.ndim}.")
    return axis % (x.ndim + 1)


def _left(found: Any, axis: Axis, level: Level) -> Tensor:
    """A result out of the level."""
    x = found.refresh() if isinstance(found, Tensor) else as_operand("vmap", found, backend.default_device())
    return lifting.left_alone(x, level) if axis is None else lifting.left(x, _out_axis(x, axis), level)


# ------------------------------------------------------------------------------------------ example by example
def _one_by_one(function: Callable, given: Sequence[Argument], structure: Structure, shared: dict, out_axes: Any,
                size: int) -> Any:
    """The results of one example after the other, stacked; recorded as any other call."""
    if size == 0:
        raise ShapeError("vmap: no examples, and the function reads values of them. Leave empty batches out.")
    found = [function(*trees.unflatten(structure, [_example(x, number) for x in given]), **shared)
             for number in range(size)]
    flat = [trees.flatten(one) for one in found]
    if any(other != flat[0][1] for _, other in flat):
        raise ShapeError("vmap: the examples give results that are nested in different ways. Give the same tree for "
                         "all.")
    axes = _axes_of("out_axes", out_axes, flat[0][1])
    columns = list(zip(*[leaves for leaves, _ in flat]))
    return trees.unflatten(flat[0][1], [_stacked(column, axis) for column, axis in zip(columns, axes)])


def _example(x: Argument, number: int) -> Any:
    return x.value if x.axis is None else x.value[(slice(None),) * x.axis + (number,)]


def _stacked(column: Sequence[Any], axis: Axis) -> Tensor:
    """One result of all examples."""
    tensors = [x if isinstance(x, Tensor) else as_operand("vmap", x, backend.default_device()) for x in column]
    if axis is None:
        return tensors[0]
    if any(x.shape != tensors[0].shape for x in tensors):
        sizes = sorted({x.shape for x in tensors})
        raise ShapeError(f"vmap: the examples give results of different shapes, {sizes[0]} and {sizes[1]}. Make them "
                         "equal.")
    found: Tensor = functions["stack"](tensors, axis=_out_axis(tensors[0], axis))
    return found


def _warn(reason: Unbatchable) -> None:
    """Say once for each line which op made vmap run the examples one by one."""
    trace, name, place = reason.__traceback__, "", None
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(tape.PACKAGE):
            name, place = "", (code, trace.tb_lasti)
        elif not name and (code.co_name in functions or code.co_name in READING or "functional" in code.co_filename):
            name = READING.get(code.co_name, code.co_name)
        trace = trace.tb_next
    name, place = (name, place) if reason.place is None else (READING["getitem"], reason.place)
    warnings.warn(f"vmap: {name or 'an op'} at {tape.line_of(place)} reads on the host what differs between examples, "
                  "so they run one by one. Use where, or index with tensors of integers.", stacklevel=3)


READING = {"getitem": "indexing", "setitem": "indexing", "__bool__": "bool", "__float__": "float", "__int__": "int",
           "__complex__": "complex", "__index__": "index", "__array__": "NumPy", "__repr__": "repr", "item": "item",
           "__format__": "format", "__contains__": "in", "numpy": "numpy", "tolist": "tolist", "__hash__": "hash"}
