"""Forward mode: tangents pushed up the graph that was recorded, from what they are tangents of to the results.

Backward walks the tape down with pullbacks, this walks it up. No op states a derivative twice: of a formula the push
is the symbolic transpose of its gradient in the cotangent (so that complex numbers, too, come out right), of a
primitive that is linear it is the primitive itself, and of any other op the transpose of its pullback, made by
backward through the recorded pullback.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial, reduce
from itertools import chain, count
from typing import Any

from . import backend, expr, tape
from .anomaly import raw_of
from .array import Tensor
from .backward import RecordingRunner, Runner, pulled, raw_runner, recording_runner
from .batched import arranged, built, levels_of, merged, taken_apart
from .batched.levels import Levels
from .dtypes import is_inexact
from .graph import Wanted, reachable
from .op import ALL, Elementwise, Primitive, registry
from .shapes import LARGE
from .storage import Version


def push(roots: Sequence[Any], tangents: Mapping[Any, Any], call: Runner) -> list[Any]:
    """The tangents of the nodes `roots`, None for zero, when those of some nodes or leaves are given.

    On raw arrays, or, where `call` records, on Tensors.
    """
    if call is raw_runner and tape.modes.counter is not None:
        call = tape.modes.counter.runner
    known: dict[Any, Any] = dict(tangents)
    order = reachable(roots)
    several = {port.node for port in order if type(port) is tape.Port}      # nodes whose results have ports
    for node in order:
        if node in known:
            continue
        arriving: list[Any] = [None if edge is None else known.get(edge) for edge in node.edges]
        if all([t is None for t in arriving]):
            continue
        known[node] = arriving[0].get(node.index) if type(node) is tape.Port else \
            pushed(node, arriving, call, node in several)
    return [known.get(root) for root in roots]


def pushed(node: tape.Node, tangents: Sequence[Any], call: Runner, has_ports: bool) -> Any:
    """The tangent of a node's result, or of one with several results a dict of them, from those of its inputs."""
    op = node.op
    if isinstance(op, Elementwise):
        return _of_formula(op, node, tangents, call)
    if isinstance(op, Primitive) and op.push is not None:
        return op.push(node, tangents, call)
    if isinstance(op, Primitive) and op.linear:
        found = _of_linear(op, node, tangents, call)
        if found is not None:
            return found
    return _transposed(node, tangents, call, has_ports)


# ------------------------------------------------------------------------------------------------- formulas
def _push_op(op: Elementwise, wanted: tuple[bool, ...], given: tuple[bool, ...]
             ) -> tuple[Elementwise | None, tuple[int, ...]]:
    """The op from what is kept and the given tangents to the tangents of results, and the numbers of those results.

    It transposes the gradient in its cotangents: reverse mode through the gradient's own formula.
    """
    gradients, used, served = expr.gradient(op.outputs, op.arity, wanted)
    limit = op.arity + len(op.outputs)
    kept = sum(number < limit for number in used)
    places = count(kept)
    stand_ins = {number: expr.read(len(used) + number) for number in range(op.arity)}
    given = tuple([is_given and serve for is_given, serve in zip(given, served)])
    arriving = [stand_ins[number] if given[number] else None for number in range(op.arity) if served[number]]
    found = expr.reverse(gradients, arriving, len(used))[kept:]
    results = {number - limit: node for number, node in zip(used[kept:], found) if node is not None}
    if not results:
        return None, ()
    renumbered = {stand_ins[number]: expr.read(next(places)) for number in range(op.arity) if given[number]}
    integers = tuple([number for number, i in enumerate(used) if i in op.rule.integers])
    return Elementwise(f"{op.name}_push", expr.substitute(tuple(results.values()), renumbered), next(places),
                       integers=integers), tuple(results)


def _of_formula(op: Elementwise, node: tape.Node, tangents: Sequence[Any], call: Runner) -> Any:
    plan = node.plan
    given = tuple([t is not None and serve for t, serve in zip(tangents, plan.served)])
    found = plan.pushes.get(given)
    if found is None:
        wanted = tuple([edge is not None for edge in node.edges])
        found = plan.pushes[given] = _push_op(op, wanted, given)
    push_op, numbers = found
    if push_op is None:
        return None if plan.is_single else {}
    arguments = [*op.kept(node, call), *[t for t, is_given in zip(tangents, given) if is_given]]
    if node.like is None and call.is_quick:                  # one shape: the kernel, without the rules of broadcasting
        compiled = push_op.compile(arguments)
        results = (compiled.kernel if arguments[0].size < LARGE else compiled.large)(*arguments)
    else:
        results = call.run(push_op, arguments)
    results = results if type(results) is tuple else (results,)
    if node.like is not None:
        results = [_fitted(call, t, *node.like[op.arity + i]) for i, t in zip(numbers, results)]
    return results[0] if plan.is_single else dict(zip(numbers, results))


def _fitted(call: Runner, tangent: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A tangent in the shape and dtype of the result that it belongs to."""
    tangent = tangent if tuple(tangent.shape) == shape else call.broadcast_to(tangent, shape=shape)
    return call.fit(tangent, shape, dtype)


# ----------------------------------------------------------------------------------------------- primitives
@cache
def _groups(op: Primitive, given: tuple[bool, ...]) -> tuple[tuple[int, ...], ...] | None:
    """The groups of operands whose tangents count, of given ones; None where an operand is needed and not kept."""
    operands = range(len(given))
    groups = (tuple(operands),) if op.linear is ALL else op.linear
    groups = tuple(group for group in groups if any(given[number] for number in group))
    is_whole = {number for number in operands if given[number]} <= {*chain(*groups)}
    is_kept = all(number in group or number in op.keeps for group in groups for number in operands)
    return groups if is_whole and is_kept else None


def _of_linear(op: Primitive, node: tape.Node, tangents: Sequence[Any], call: Runner) -> Any:
    """The sum of what the op gives for the tangents of each group; None where an operand that it needs is not kept."""
    groups = _groups(op, tuple([t is not None for t in tangents]))
    if groups is None:
        return None
    kept = dict(zip(op.keeps, op.kept(node, call))) if op.keeps else {}
    like = next(t for t in tangents if t is not None)
    # Aliases of a recorded tensor must be views: the runner's own words for such ops make them.
    run = getattr(call, op.name) if registry[op.name] is op else partial(_run, call, op)
    parts = [run(*[_or_zeros(call, t, node.like[number], like) if number in group else kept[number]
                   for number, t in enumerate(tangents)], **(node.plan or {})) for group in groups]
    found = reduce(call.add, parts)
    return call.fit(found, *node.like[len(tangents)]) if len(node.like) > len(tangents) else found     # else a view


def _run(call: Runner, op: Primitive, *operands: Any, **params: Any) -> Any:
    return call.run(op, operands, params)


def _or_zeros(call: Runner, tangent: Any, like: tuple, on: Any) -> Any:
    """A tangent, or zeros in its place, on the device of another."""
    return call.cast(call.zeros(like[0], on), dtype=like[1]) if tangent is None else tangent


class _Apart(RecordingRunner):
    """Records the pullback alone: what was saved has no place in the graph."""

    @staticmethod
    def lift(raw: Any, edge: Any, version: Version) -> Tensor:
        return RecordingRunner.lift(raw, None, version)


_apart = _Apart()


def _transposed(node: tape.Node, tangents: Sequence[Any], call: Runner, has_ports: bool) -> Any:
    """The push as the transpose of the pullback: backward through it, recorded as a function of the cotangents."""
    with tape.grad_mode(True):
        since = tape.next_sequence()
        results = dict(enumerate(node.like[len(tangents):])) if has_ports else {0: node.like[-1]}
        cotangents, gradients = _recorded_pullback(node, results, tangents, call, has_ports)
        pairs = [(g, t) for g, t in zip(gradients, tangents) if g is not None and t is not None and g.requires_grad]
        nodes = [cotangent.node for cotangent in cotangents.values()]
        wanted = Wanted(nodes, [g.node for g, _ in pairs], since)
        roots = [(g.node, (t if isinstance(t, Tensor) else Tensor(t)) if call.records else raw_of(t)) for g, t in pairs
                 if g.node in wanted.ways]
    with tape.grad_mode(call.records and tape.is_recording()):
        found = pulled(roots, call, True, wanted) if roots else {}
    parts = {number: found.get(node) for number, node in zip(cotangents, nodes)}
    return parts if has_ports else parts[0]


def _recorded_pullback(node: tape.Node, results: Mapping[int, tuple], tangents: Sequence[Any], call: Runner,
                       has_ports: bool) -> tuple[dict[int, Tensor], Sequence[Any]]:
    """Leaves as cotangents, and the gradients of a node as functions of them.

    A leaf has an element for each example of vmap: where what was saved has more levels, it begins again with these,
    since else the gradient of the leaf would be the sum over the examples.
    """
    on = raw_of(next(t for t in tangents if t is not None))
    layers = taken_apart(on)[1]
    while True:
        cotangents = {number: _leaf_of_ones(like, on, layers) for number, like in results.items()
                      if is_inexact(like[1])}
        gradients = node.op.pullback(node, cotangents if has_ports else cotangents[0],
                                     recording_runner if call.records else _apart)
        known = [level for level in layers if level is not None]
        found = merged(known, *[levels_of(raw_of(g)) for g in gradients if g is not None])
        if len(found) == len(known):
            return cotangents, gradients
        layers = found


def _leaf_of_ones(like: tuple, on: Any, layers: Levels) -> Tensor:
    """A cotangent to differentiate by: the pullback is linear in it, but may iterate until its values stay."""
    return Tensor(built(arranged(backend.of(on).full(like[0], 1, like[1]), layers), layers), tape.Leaf())
