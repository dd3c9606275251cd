"""A call of a user's function as one op of the tape, whose gradients the user states on tensors."""

from collections.abc import Callable, Container, Sequence
from functools import partial
from itertools import count
from typing import Any

from .. import shapes, tape, trees
from ..apply import version_of
from ..array import Tensor, fresh, ndarray
from ..backward import RecordingRunner, Runner
from ..batched import Batched, Within, levels_of, merged
from ..dtypes import is_inexact
from ..errors import DTypeError, GradError, ShapeError, described
from ..facts import Facts
from ..fusion.traced import Untraceable
from ..fusion.watching import as_step
from ..lifting import lifted
from ..op import Primitive

Tangents = Sequence[Tensor | None]
FACTS = Facts()


class Opaque(Primitive):
    """The op of one call: made anew for each, it holds what the call needs for its gradient besides saved tensors.

    It gets `gradients(kept, arriving)`: from the saved tensors and the gradients of the results to those of the inputs;
    and, where forward mode need not transpose it, `tangents(kept, moving)`: from tangents of inputs to those of
    results.
    """

    facts, keeps, linear = FACTS, (), ()
    rule = "backward"                  # what gives the gradients, and what gives tangents, for errors
    push_rule = "jvp"
    has_push = False
    materializes = True                # zeros instead of None, where nothing arrives

    def __init__(self, name: str) -> None:         # no name in the registry: it is not for others to call
        self.name = name
        self.places: list[int | None] = []             # of each saved tensor among inputs and results, or none
        self.is_single, self.count = True, 0           # is there one result by itself, and how many inputs

    def gradients(self, kept: Sequence[Tensor], arriving: Tangents) -> Tangents:
        """The gradients of the inputs."""
        raise NotImplementedError

    def tangents(self, kept: Sequence[Tensor], moving: Tangents) -> Tangents:
        """The tangents of the results."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- recording
    def record(self, inputs: Sequence[Tensor], edges: Sequence[Any], outputs: Sequence[Tensor],
               saved: Sequence[Tensor], is_single: bool) -> tape.Node:
        """The node of the call. Its results get it, or its ports, from `led_from`."""
        levels = merged(*[levels_of(x.raw) for x in (*inputs, *outputs, *saved)])
        if levels:               # an input that is the same for all examples gets the sum of their gradients
            inside = {id(x): lifted(x, levels) for x in inputs}
            edges = [None if edge is None else inside[id(x)].node for x, edge in zip(inputs, edges)]
            inputs, saved = [inside[id(x)] for x in inputs], [inside.get(id(x), x) for x in saved]
        ends = (*inputs, *outputs)
        like = [(x.raw.shape, x.raw.dtype) if type(x.raw) is ndarray else (x.shape, x.dtype) for x in ends]
        self.places = [*map(dict(zip(map(id, ends), count())).get, map(id, saved))]
        self.is_single, self.count = is_single, len(inputs)
        versions = tuple(map(version_of, saved))
        node = tape.Node(self, None, tuple(edges), tuple(like), tuple([x.raw for x in saved]), versions,
                         tape.user_place())
        if saved and tape.modes.packing is not None:
            tape.modes.packing.pack(node)
        return node

    def led_from(self, node: tape.Node | None, inputs: Sequence[Tensor], outputs: Sequence[Tensor],
                 carries: Sequence[bool], written: Container[int] = ()) -> list[Tensor]:
        """The results, those that carry a gradient with the way back to the node.

        `written`: ids of inputs that the call wrote into; their content is the result now, also for their views. Any
        other input among the results, or one that is there twice, becomes a tensor of its own.
        """
        seen, found = {*map(id, inputs)}, []
        for number, (x, does_carry) in enumerate(zip(outputs, carries)):
            is_shared = id(x) in seen or x.storage is not None
            seen.add(id(x))
            x = x.detach() if is_shared and id(x) not in written else x
            found.append(x)
            if not does_carry:
                continue
            end = node if self.is_single else tape.Port(node, number)  # type: ignore[arg-type]
            if id(x) in written:
                x.root.node, x.share().generation = end, x.share().generation + 1
                x.refresh()
            else:
                x._reroot(end)
        return found

    # --------------------------------------------------------------------------------------- differentiation
    def kept(self, node: tape.Node, call: Any) -> list[Tensor]:
        """The saved tensors, at their places in the graph where `call` records."""
        lift = call.lift if call.records else RecordingRunner.lift
        edges = [self._edge(node, place) if call.records else None for place in self.places]
        return list(map(lift, node.unpack(), edges, node.versions))

    def _edge(self, node: tape.Node, place: int | None) -> Any:
        if place is None or place < self.count:
            return None if place is None else node.edges[place]
        return node if self.is_single else tape.Port(node, place - self.count)

    def pullback(self, node: tape.Node, g: Any, call: Any) -> Sequence[Any]:
        """Gradients of the inputs."""
        parts = g if type(g) is dict else {0: g}
        on = next(iter(parts.values()))
        arriving = self._whole(call, parts, node.like[self.count:], on)
        versions = [version_of(t) for t in arriving if t is not None]      # of memory held so, every write is counted
        before = [version.written for version in versions]
        kept = self.kept(node, call)
        with _levels_of(*kept, *arriving):
            found = self.gradients(kept, arriving)
        if [version.written for version in versions] != before:
            raise GradError(f"{self.name}: {self.rule} wrote into a gradient that it got, which others may hold. Let "
                            "it work on a copy.")
        return [None if t is None or edge is None else self._fitted(call, self.rule, "argument", number, t, like, on)
                for number, (t, edge, like) in enumerate(zip(found, node.edges, node.like))]

    @property
    def push(self) -> Any:
        """How tangents pass; None where forward mode transposes the pullback."""
        return self._pushed if self.has_push else None

    def _pushed(self, node: tape.Node, tangents: Sequence[Any], call: Any) -> Any:
        parts = {number: t for number, t in enumerate(tangents) if t is not None}
        on = next(iter(parts.values()))
        moving = self._whole(call, parts, node.like[:self.count], on)
        kept = self.kept(node, call)
        with _levels_of(*kept, *moving):
            found = self.tangents(kept, moving)
        fit = partial(self._fitted, call, self.push_rule, "result")
        pushed = {number: fit(number, t, like, on)
                  for number, (t, like) in enumerate(zip(found, node.like[self.count:])) if t is not None}
        return pushed.get(0) if self.is_single else pushed

    def _whole(self, call: Runner, parts: dict[int, Any], likes: Sequence[tuple], on: Any) -> list[Tensor | None]:
        """Tensors for all that could arrive."""
        given = {number: t if isinstance(t, Tensor) else fresh(t) for number, t in parts.items()}
        if self.materializes:
            for number, (shape, dtype) in enumerate(likes):
                if number not in given and is_inexact(dtype):
                    zeros = call.cast(call.zeros(shape, on), dtype=dtype)
                    given[number] = zeros if isinstance(zeros, Tensor) else fresh(zeros)
        return [given.get(number) for number in range(len(likes))]

    def _fitted(self, call: Runner, rule: str, what: str, number: int, found: Any, like: tuple, on: Any) -> Any:
        """What a rule gives for an input or a result, checked against it."""
        shape, dtype = like
        if not isinstance(found, Tensor):
            raise GradError(f"{self.name}: {rule} gives a {type(found).__name__} for {what} {number}. Let it give a "
                            "tensor, or None for none.")
        found.refresh()
        if not is_inexact(found.dtype):
            raise DTypeError(f"{self.name}: {rule} gives {described(found)} for {what} {number}, {dtype} of shape "
                             f"{shape}. Let it give floats.")
        if found.shape != shape and not _reduces(found.shape, shape):
            raise ShapeError(f"{self.name}: {rule} gives shape {found.shape} for {what} {number} of shape {shape}. Let "
                             "it give one of that shape.")
        other = on.raw if isinstance(on, Tensor) else on
        if isinstance(found.raw, Batched) or isinstance(other, Batched):
            found = lifted(found, merged(levels_of(found.raw), levels_of(other)))
        return call.fit(found if call.records else found.raw, shape, dtype)


def traced(name: str, function: Callable, arguments: Sequence[Any]) -> Any:
    """What a call gives where it is traced, see fusion: one step of the plan. None where nobody traces."""
    leaves, structure = trees.flatten(tuple(arguments))
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    given_later = [isinstance(x, Tensor) for x in leaves]
    kept = [None if later else x for x, later in zip(leaves, given_later)]     # tensors would keep the trace
    results: list[trees.Structure] = []

    def call(*given: Tensor) -> tuple:
        rest = iter(given)
        filled = [next(rest) if later else x for x, later in zip(kept, given_later)]
        found, found_structure = trees.flatten(function(*trees.unflatten(structure, filled)))
        if not all(isinstance(x, Tensor) for x in found):
            raise Untraceable(f"{name} gives what is no tensor")
        results[:] = [found_structure]
        return tuple(found)
    found = as_step(name, call, tensors)
    return None if found is None else trees.unflatten(results[0], found)


def _levels_of(*given: Tensor | None) -> Within:
    """A block within the levels of `vmap` of what a rule gets, even if they ended: it may write into new memory."""
    return Within(merged(*[levels_of(t.raw) for t in given if t is not None]))


def _reduces(found: shapes.Shape, wanted: shapes.Shape) -> bool:
    """Can a gradient of this shape be summed to the wanted one, as if that had been broadcast?"""
    return len(found) >= len(wanted) and all(size in (1, own) for size, own in zip(wanted[::-1], found[::-1]))
