"""Where a transform begins: the arguments of a function as tensors at the start of a graph of their own."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, tape, trees
from ..apply import as_array, as_operand, version_of
from ..array import Tensor, fresh
from ..backward import Runner, pulled, raw_runner, recording_runner
from ..errors import DTypeError, GradError, ShapeError, described, told
from ..fusion.watching import ASKS, refuse_tracing
from ..graph import Wanted
from ..lifting import here
from ..op import ALL, Primitive

# Between the graph of an inner transform and the outer one that its argument comes from.
_start = Primitive("start", lambda table, x: x, lambda ops, info, g: (g,), linear=ALL)


class Start:
    """Trees of arguments whose leaves were replaced by tensors that nothing leads to but what lies outside.

    `trees`: the arguments to call the function with; `given`: the tensors as they were; `nodes`: where gradients end.
    """

    def __init__(self, op: str, arguments: Sequence[Any]) -> None:
        refuse_tracing(ASKS)
        self.op, self.since = op, tape.next_sequence()
        self.trees: list[Any] = []
        self.structures: list[trees.Structure] = []
        self.given: list[Tensor] = []
        self.nodes: list[Any] = []
        for number, argument in enumerate(arguments):
            leaves, structure = trees.flatten(argument)
            started = [self._started(leaf, number) for leaf in leaves]
            self.structures.append(structure)
            self.trees.append(trees.unflatten(structure, started))

    def _started(self, leaf: Any, number: int) -> Tensor:
        x = here(as_float(self.op, leaf, f"argument {number}"))
        self.given.append(x)
        node = x.node if tape.is_recording() else None
        node = tape.Leaf() if node is None else tape.Node(_start, None, (node,), ((x.shape, x.dtype),) * 2)
        self.nodes.append(node)
        started = Tensor(x.raw, node, x.is_value)
        started.version = version_of(x)
        return started

    def unflatten(self, leaves: Sequence[Any]) -> list[Any]:
        """Leaves for all arguments, each argument's as its tree."""
        found, first = [], 0
        for structure in self.structures:
            last = first + structure.size
            found.append(trees.unflatten(structure, leaves[first:last]))
            first = last
        return found

    def outcome(self, tree: Any) -> Any:
        """A result as the caller gets it: outside the graph, unless something outside may be differentiated later."""
        if not tape.is_recording():
            return released(tree)
        leaves = [leaf for leaf in trees.flatten(tree)[0] if isinstance(leaf, Tensor)]
        return tree if self.has_outside([leaf.refresh().node for leaf in leaves]) else released(tree)

    def tangents(self, given: Sequence[Any]) -> list[Tensor]:
        """Tangents of the arguments, checked against them."""
        if len(given) != len(self.structures):
            raise ShapeError(f"{self.op}: got {len(given)} tangents for {len(self.structures)} arguments. Give one for "
                             "each.")
        leaves = [leaf for structure, tree in zip(self.structures, given)
                  for leaf in trees.leaves_like(self.op, "a tangent", structure, tree)]
        return [_like_primal(self.op, leaf, x) for leaf, x in zip(leaves, self.given)]

    # ------------------------------------------------------------------------------------------- directions
    def pull(self, outputs: Sequence[Tensor], seeds: Sequence[Tensor], retain_graph: bool) -> list[Tensor]:
        """The gradients of the given tensors when those of outputs are `seeds`; zeros where nothing leads to one."""
        nodes = [output.refresh().node for output in outputs]
        moving = [seed for node, seed in zip(nodes, seeds) if node is not None]
        runner, records = self.runner(nodes, moving, self.given)
        wanted = Wanted(self.nodes, nodes, self.since) if runner.records else None
        roots = [(node, seed if runner.records else seed.raw) for node, seed in zip(nodes, seeds)
                 if (node is not None if wanted is None else node in wanted.ways)]
        with tape.grad_mode(records):
            found = pulled(roots, runner, retain_graph or records, wanted) if roots else {}
        return [as_result(found.get(node), x) for node, x in zip(self.nodes, self.given)]

    def runner(self, roots: Iterable[Any], moving: Sequence[Tensor], given: Sequence[Tensor]) -> tuple[Runner, bool]:
        """What to call ops with, and whether what it does is recorded: something outside may be differentiated later.

        `moving`: the cotangents or tangents. Where they lie on a device of their own, as in vmap, they meet the saved
        values as Tensors.
        """
        is_apart = any([type(moved.raw) is not type(x.raw) for moved, x in zip(moving, given)])
        records = tape.is_recording() and (any([moved.requires_grad for moved in moving]) or self.has_outside(roots))
        return (recording_runner if records or is_apart else raw_runner), records

    def has_outside(self, roots: Iterable[Any]) -> bool:
        """Does a way lead from the roots to anything but our own leaves?"""
        seen, queue = {None, *[node for node in self.nodes if type(node) is tape.Leaf]}, list(roots)
        for node in queue:                       # it grows while it is read
            if node not in seen:
                if type(node) is tape.Leaf or node.sequence > self.since:
                    return True
                seen.add(node)
                queue += node.edges
        return False


# --------------------------------------------------------------------------------------------------- leaves
def _like_primal(op: str, leaf: Any, x: Tensor) -> Tensor:
    """A tangent, checked against what it is a tangent of. Numbers, lists and arrays take its dtype and device."""
    if not isinstance(leaf, Tensor):
        array = as_array(op, leaf)
        if not dtypes.can_cast(array.dtype, x.dtype, "same_kind"):
            raise DTypeError(f"{op}: a tangent is {array.dtype}, and its primal {x.dtype}. Give one like it.")
        leaf = fresh(backend.of(x.raw).from_numpy(array.astype(x.dtype)))
    leaf.refresh()
    if leaf.shape != x.shape or leaf.dtype != x.dtype or leaf.device != x.device:
        raise ShapeError(f"{op}: a tangent is {described(leaf)}, and its primal {described(x)}. Give one like it.")
    return leaf


def as_float(op: str, leaf: Any, what: str) -> Tensor:
    """A leaf as a tensor that can have a gradient. Python's integers are taken for floats.

    A number stays a value, which `+=` rebinds.
    """
    if isinstance(leaf, Tensor):
        x = leaf.refresh()
    elif isinstance(leaf, (bool, int, float, complex)):
        x = Tensor(np.asarray(leaf, np.complex128 if isinstance(leaf, complex) else dtypes.default_dtype()), None, True)
    else:
        x = _as_number(op, leaf, what)
    if not dtypes.is_inexact(x.dtype):
        raise DTypeError(f"{op}: {what} holds {described(x)}, which has no gradient. Use .astype('float64'), or leave "
                         "it out of argnums.")
    return x


def _as_number(op: str, leaf: Any, what: str) -> Tensor:
    """What is neither a tensor nor a number of Python."""
    try:
        x = as_operand(op, leaf, "cpu")
    except DTypeError:
        raise DTypeError(f"{op}: {what} holds {told(leaf)}, of {type(leaf).__name__}, which has no gradient. Pass it "
                         "apart from what is differentiated, or as a field of a dataclass with "
                         'metadata={"static": True}.') from None
    x.is_value = isinstance(leaf, np.generic)
    return x


def as_result(g: Any, like: Tensor) -> Tensor:
    """A gradient or tangent as a tensor; zeros where none came."""
    if g is None:
        return filled_like(like, 0)
    return g if isinstance(g, Tensor) else fresh(g)


def filled_like(x: Tensor, value: float) -> Tensor:
    """A tensor full of a value, of the shape, dtype and device of another."""
    return fresh(backend.of(x.raw).full(x.shape, value, x.dtype))


def as_tensors(op: str, tree: Any) -> tuple[list[Tensor], trees.Structure]:
    """The leaves of a function's result as tensors."""
    leaves, structure = trees.flatten(tree)
    return [leaf.refresh() if isinstance(leaf, Tensor) else _result_leaf(op, leaf) for leaf in leaves], structure


def _result_leaf(op: str, leaf: Any) -> Tensor:
    try:
        return as_operand(op, leaf, "cpu")
    except (DTypeError, ShapeError):
        raise DTypeError(f"{op}: the function gives {told(leaf)}, of {type(leaf).__name__}. Let it give tensors, or "
                         "nested tuples, lists and dicts of them.") from None


def scalar_result(op: str, result: Any) -> Tensor:
    """The result that a gradient is asked of: one real number."""
    leaves, structure = ([result.refresh()], trees.LEAF) if isinstance(result, Tensor) else as_tensors(op, result)
    if structure is not trees.LEAF:
        raise GradError(f"{op}: the function gives {told(str(structure))}. Let it give one number, with has_aux=True "
                        "for more, or use vjp.")
    leaf, = leaves
    if leaf.size != 1:
        raise GradError(f"{op}: the function gives {described(leaf)}, not one number. Sum it, or use vjp or jacobian.")
    if leaf.dtype.kind == "c":
        raise GradError(f"{op}: the function gives {described(leaf)}. Take its real part, or use vjp.")
    return leaf


def released(tree: Any) -> Any:
    """A result outside the graph that made it."""
    return trees.map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) and leaf.requires_grad else leaf,
                            tree)


def recorded_call(f: Callable, /, *arguments: Any, **keywords: Any) -> Any:
    """A call that is recorded, whatever mode the caller is in."""
    if tape.is_recording():                  # without a block, which every op in it would have to look up
        return f(*arguments, **keywords)
    with tape.grad_mode(True):
        return f(*arguments, **keywords)
