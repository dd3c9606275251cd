"""The ops that views and writes need on the tape: a movement, its adjoint, and a write as an out-of-place update."""

from collections.abc import Sequence
from typing import Any

from . import tape
from .backend import Table
from .op import ALL, Info, Primitive
from .storage import Movement, Root, Slice, embed, put, read

Steps = tuple[Movement, ...]
INDICES = frozenset((tuple, int, slice, type(None), type(Ellipsis)))        # kinds of what stands for a slice in a path


def spelled_out(path: tuple) -> Steps:
    """A path in which indices stood for slices, since making those takes as long as a view."""
    if INDICES.isdisjoint(map(type, path)):
        return path
    return tuple([Slice(step if type(step) is tuple else (step,)) if type(step) in INDICES else step for step in path])


def view_node(node: Any, like: tuple, steps: Steps) -> Any:
    """The node of a view of something with this node, shape and dtype."""
    return node if node is None else tape.Node(movement, {"steps": steps}, (node,), (like,))


def current_node(before: Any, root: Root, steps: Steps) -> Any:
    """The node of a view after writes: `before`, if the content that it leads to is still the same.

    What was asked of the old node's gradient is asked of the new one: both call the hooks, one keeps `.grad`.
    """
    rest = steps[root.depth:]
    if not rest:
        return root.node
    found = before
    while found is not root.node and type(found) is tape.Node and found.op is movement:
        found = found.edges[0]
    if found is root.node:
        return before
    after = view_node(root.node, root.like, rest)
    if after is not None and before is not None and before.watch is not None:
        after.watch = before.watch.move_keeping(None)
        after.watch.hooks = before.watch.hooks
    return after


def _index_put(table: Table, base: Any, value: Any, steps: Steps) -> Any:
    """`base` with the view at the end of `steps` replaced by `value`, broadcast and cast to it."""
    value = table.cast(value, table.dtype_of(base))
    return put(base, steps, table.broadcast_to(value, tuple(read(base, steps).shape)))


def _pull_index_put(ops: Any, info: Info, g: Any, steps: Steps) -> Sequence[Any]:
    """The written region passes its gradient to the value; the rest passes on to the old content."""
    of_base, of_value = info.wanted
    rest = ops.index_put_view(g, ops.zeros((), g), steps=steps) if of_base else None
    return rest, ops.view(g, steps=steps) if of_value else None


movement = Primitive("view", lambda table, raw, steps: read(raw, steps),
                     lambda ops, info, g, steps: (ops.embed(g, shape=info.shape(0), steps=steps),), linear=ALL)
embedding = Primitive("embed", lambda table, g, shape, steps: embed(shape, steps, g),
                      lambda ops, info, g, shape, steps: (ops.view(g, steps=steps),), linear=ALL)
index_put_view = Primitive("index_put_view", _index_put, _pull_index_put, linear=ALL)
