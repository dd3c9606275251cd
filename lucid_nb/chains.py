"""Automatic fusion in backward: chains of ops of one input, whose inner values nobody else needs, become one kernel.

A chain is found while backward runs, where a gradient is large enough that memory traffic, not calls, is the cost. Its
kernel multiplies the derivatives of its links without storing what lies between them, and computes again what it can
derive more cheaply than load. Neighbours that undo each other vanish: two negatives, two reciprocals, exp and log, two
permutations, two reshapes. (At 0, at infinities and where rounding loses the value between them, such a pair counts as
what it is in exact arithmetic, the identity: docs/guide/chains.md.)
"""

from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

from . import expr, tape
from .op import Elementwise
from .shapes import LARGE
from .storage import Permute, Reshape
from .views import movement

INVERSE = {("negative", "negative"), ("reciprocal", "reciprocal"), ("exp", "log"), ("log", "exp")}
LINKS = 64                       # of one kernel, so that it compiles in a moment
CHAINS = 1024                    # whose ops are remembered
Key = tuple[Elementwise, bool, tuple[int, ...]]     # has the first operand the gradient; slots of what is saved


class Chains:
    """How one backward pulls: chains at once, anything else as `tape.pull` does."""

    __slots__ = ("asked", "consumers", "roots", "threshold")

    def __init__(self, roots: Sequence[tuple[Any, Any]], asked: Container[Any], threshold: int) -> None:
        self.roots, self.asked, self.threshold = roots, asked, threshold
        self.consumers: dict[Any, int] | None = None

    def pull(self, node: Any, g: Any, call: Any, retain_graph: bool) -> tuple[Any, Any]:
        """The gradients of what a node, or the chain that begins at it, was computed from, and where they go."""
        if not is_link(node) or not is_link(way_of(node)):
            return tape.pull(node, g, call, retain_graph)
        links = self._chain(node)
        if len(links) == 1:
            return tape.pull(node, g, call, retain_graph)
        for link in links:
            link.unpack()                              # raises where it was overwritten
        for run in runs(without_inverses(links)):
            g = pulled_through(run, g, call)
        if not retain_graph:
            for link in links:
                link.release()
        return (g,), (way_of(links[-1]),)

    def _chain(self, node: tape.Node) -> list[tape.Node]:
        """The links from a node on, as far as nobody else needs what lies between."""
        if self.consumers is None:
            self.consumers = consumers_of([root for root, _ in self.roots])
        links = [node]
        while len(links) < LINKS:
            target = way_of(links[-1])
            if not is_link(target) or target.watch is not None or target in self.asked or self.consumers[target] > 1:
                break
            links.append(target)
        return links


def consumers_of(roots: Sequence[Any]) -> dict[Any, int]:
    """How many edges lead to each node behind the roots; being a root counts as one."""
    counts = {None: 0}
    queue = list(roots)
    for node in queue:                           # it grows while it is read
        known = counts.get(node)
        counts[node] = 1 if known is None else known + 1
        if known is None:
            queue += node.edges
    return counts


def is_link(node: Any) -> bool:
    """Does one gradient of one array, of the shape and dtype of what arrives, leave this node?"""
    if type(node) is not tape.Node or type(node.saved) not in (tuple, list):      # freed, or kept in another way
        return False
    if node.op is movement:
        return all(isinstance(step, (Permute, Reshape)) for step in node.plan["steps"])
    if not isinstance(node.op, Elementwise) or node.op.rule.integers or not keeps_shape(node):
        return False
    return node.op.arity <= 2 and node.plan.is_single and sum(node.plan.served) == 1 == \
        len(node.edges) - node.edges.count(None)


def keeps_shape(node: tape.Node) -> bool:
    """Has the operand that gets a gradient the shape of the result, beside others that may be one number?"""
    like = node.like                             # where all is alike it is not kept
    if like is None:
        return True
    wanted = next((number for number, edge in enumerate(node.edges) if edge is not None), -1)
    return like[wanted] == like[-1] and len({dtype for _, dtype in like}) == 1


def way_of(node: tape.Node) -> Any:
    """Where the one gradient of a link goes."""
    return next(edge for edge in node.edges if edge is not None)


# ----------------------------------------------------------------------------------------- pairs that cancel
def without_inverses(links: Sequence[tape.Node]) -> list[tape.Node]:
    """The links without neighbours that undo each other, also those that become neighbours so."""
    kept: list[tape.Node] = []
    for link in links:
        if kept and undoes(kept[-1], link):
            kept.pop()
        else:
            kept.append(link)
    return kept


def undoes(outer: tape.Node, inner: tape.Node) -> bool:
    """Does `outer` give back what `inner` was computed from?"""
    if outer.op is movement is inner.op:
        return _same_geometry(outer.plan["steps"], inner.plan["steps"], inner.like[0][0])
    return (outer.op.name, inner.op.name) in INVERSE


def _same_geometry(outer: Sequence[Any], inner: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Do two movements of one step each lead back to this shape, elements in their order?"""
    if len(outer) != 1 != len(inner) or len(inner) != 1 or type(outer[0]) is not type(inner[0]):
        return False
    if isinstance(outer[0], Permute):
        return tuple(inner[0].axes[axis] for axis in outer[0].axes) == tuple(range(len(shape)))
    return tuple(outer[0].shape) == tuple(shape)


# ------------------------------------------------------------------------------------------------- one kernel
def runs(links: Sequence[tape.Node]) -> list[list[tape.Node]]:
    """Neighbouring formulas together, movements by themselves."""
    found: list[list[tape.Node]] = []
    for link in links:
        if found and link.op is not movement and found[-1][-1].op is not movement:
            found[-1].append(link)
        else:
            found.append([link])
    return found


def pulled_through(run: Sequence[tape.Node], g: Any, call: Any) -> Any:
    """The gradient before a run of links, from that after it."""
    if len(run) == 1:
        return next(part for part in run[0].op.pullback(run[0], g, call) if part is not None)
    slots: dict[int, int] = {}                       # of each saved array, the same one once
    given: list[Any] = []
    keys: list[Key] = []
    for link in run:
        for raw in link.saved:
            if slots.setdefault(id(raw), len(given)) == len(given):
                given.append(raw)
        keys.append((link.op, link.edges[0] is not None, tuple([slots[id(raw)] for raw in link.saved])))
    op, used = fused(tuple(keys), len(given))
    arguments = [*[given[slot] for slot in used], g]
    compiled = op.compile(arguments)
    return (compiled.large if g.size >= LARGE else compiled.kernel)(*arguments)


@lru_cache(CHAINS)
def fused(keys: tuple[Key, ...], count: int) -> tuple[Elementwise, tuple[int, ...]]:
    """The op of a run, and which of the saved arrays it reads; the gradient that arrives comes after them."""
    g = expr.read(count)
    for op, is_first, slots in keys:
        (pattern,), used, _ = expr.gradient(op.outputs, op.arity, wanted_of(op, is_first))
        kept = {expr.read(number): expr.read(slot) for number, slot in enumerate(slots)}
        (g,) = expr.substitute((pattern,), kept | ({expr.read(len(slots)): g} if len(used) > len(slots) else {}))
    g = _cheapest(g, _derivable(keys))
    read = sorted({node.literal for node in expr.topological((g,)) if node.op == "input"} - {count})
    numbering = {expr.read(old): expr.read(new) for new, old in enumerate([*read, count])}
    name = "_".join(dict.fromkeys(op.name for op, _, _ in keys))
    return Elementwise(f"{name}_chain", expr.substitute((g,), numbering), len(read) + 1), tuple(read)


def wanted_of(op: Elementwise, is_first: bool) -> tuple[bool, ...]:
    """Which operands of a link want a gradient: one."""
    return tuple([(number == 0) == is_first for number in range(op.arity)])


def _derivable(keys: Sequence[Key]) -> dict[expr.Expr, expr.Expr]:
    """Saved arrays that can be computed from others: {array: formula}, those of later links first."""
    found: dict[expr.Expr, expr.Expr] = {}
    value: expr.Expr | None = None                       # of what enters the link at hand, earliest first
    for op, is_first, slots in reversed(keys):
        _, used, _ = expr.gradient(op.outputs, op.arity, wanted_of(op, is_first))
        known = {number: expr.read(slot) for number, slot in zip(used, slots)}
        entry = 0 if is_first else 1
        if value is not None and entry in known:
            found[known[entry]] = value
        inputs = {expr.read(entry): known.get(entry, value)}
        inputs |= {expr.read(number): known.get(number) for number in range(op.arity) if number != entry}
        is_known = all(node is not None for node in inputs.values())
        made = expr.substitute(op.outputs[:1], inputs)[0] if is_known else None      # type: ignore[arg-type]
        if op.arity in known and made is not None:
            found[known[op.arity]] = made
        value = known.get(op.arity, made)
    return found


def _cheapest(g: expr.Expr, derivable: dict[expr.Expr, expr.Expr]) -> expr.Expr:
    """The formula with as many arrays computed instead of loaded as makes it cheaper."""
    for array, formula in reversed(derivable.items()):
        (candidate,) = expr.substitute((g,), {array: formula})
        if expr.cost((candidate,)) < expr.cost((g,)):
            g = candidate
    return g
