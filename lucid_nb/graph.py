"""The graph behind tensors: which nodes a result depends on, and which of them lead to what somebody asks about."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from .tape import Leaf


def reachable(roots: Iterable[Any], since: int | None = None) -> list[Any]:
    """Every node and port that the roots depend on, earliest first, leaves left out; of those recorded `since` only."""
    found, stack = {None}, list(roots)
    while stack:
        node = stack.pop()
        if node not in found and type(node) is not Leaf and (since is None or node.sequence < since):
            found.add(node)
            stack += node.edges
    return sorted(found - {None}, key=attrgetter("sequence"), reverse=True)


class Wanted:
    """Of which nodes, leaves or not, gradients are asked for: backward goes only where a way leads to them.

    `since`: the sequence number after which all ways to them were recorded, where that is known. `ends`: those that no
    way leads on from, so that nothing behind them is pulled, nor freed.
    """

    __slots__ = ("ends", "found", "nodes", "ways")

    def __init__(self, nodes: Iterable[Any], roots: Iterable[Any], since: int | None = None) -> None:
        self.nodes = frozenset(nodes)
        self.ways = {*self.nodes}
        self.found: dict[Any, Any] = {}       # of what was computed; backward gives the leaves'
        for node in reachable(roots, since):
            if not self.ways.isdisjoint(node.edges):
                self.ways.add(node)
        self.ends = frozenset([node for node in self.nodes if self.ways.isdisjoint(node.edges)])

    def takes(self, node: Any, g: Any) -> bool:
        """Note the gradient of a node that is asked for. Does none go on from here?"""
        if node in self.nodes:
            self.found[node] = g
        return node in self.ends
