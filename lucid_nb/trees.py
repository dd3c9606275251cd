"""Nested tuples, lists, dicts and dataclasses of arrays: taken apart into leaves, and put together again."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from .errors import ShapeError, told

BRACKETS: dict[Any, str] = {tuple: "()", list: "[]", dict: "{}"}


class Structure(NamedTuple):
    """What a tree is besides its leaves. Equal for equal nesting, and hashable, so that it can be a key.

    `kind`: the container's type, None for a leaf; `names`: the keys of a dict, the fields of a dataclass; `parts`: the
    structures inside; `rest`: what else makes it, the factory of a defaultdict or static fields with their values.
    """

    kind: type | None
    names: tuple = ()
    parts: "tuple[Structure, ...]" = ()
    rest: tuple = ()

    @property
    def size(self) -> int:
        """How many leaves."""
        return 1 if self.kind is None else sum(part.size for part in self.parts)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inside = [f"{name!r}: {part}" for name, part in zip(self.names, self.parts)] or list(map(str, self.parts))
        brackets = BRACKETS.get(self.kind)
        text = ", ".join(inside)
        return f"{brackets[0]}{text}{brackets[1]}" if brackets else f"{self.kind.__name__}({text})"


    def paths(self) -> list[str]:
        """How Python would reach each leaf from the tree: ['w'][0]; an empty path for a tree that is a leaf."""
        if self.kind is None:
            return [""]
        is_dict = issubclass(self.kind, dict)
        steps = [f"[{name!r}]" if is_dict else f".{name}" for name in self.names] or \
            [f"[{number}]" for number in range(len(self.parts))]
        return [step + path for step, part in zip(steps, self.parts) for path in part.paths()]


LEAF = Structure(None)
NOTHING = Structure(type(None))


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree, from left to right, and its structure. None holds no leaf.

    A field of a dataclass with `metadata={"static": True}` is no leaf, but belongs to the structure.

    >>> leaves, structure = flatten({"w": [1.0, 2.0], "b": None})
    >>> leaves, str(structure)
    ([1.0, 2.0], "{'w': [*, *], 'b': NoneType()}")
    """
    leaves: list[Any] = []
    return leaves, _walk(tree, leaves)


def _walk(tree: Any, leaves: list[Any]) -> Structure:
    opened = _open(tree)
    if opened is None:
        leaves.append(tree)
        return LEAF
    names, parts = opened
    return Structure(type(tree), names, tuple([_walk(part, leaves) for part in parts]), _rest(tree))


def _open(tree: Any) -> tuple[tuple, Sequence[Any]] | None:
    """The names and parts of a container; None for a leaf."""
    kind = type(tree)
    if kind is list or isinstance(tree, tuple):
        return (), tree
    if isinstance(tree, dict):
        return tuple(tree), list(tree.values())
    if tree is None:
        return (), ()
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(tree) if field.init and not _is_static(field))
        return names, [getattr(tree, name) for name in names]
    return None


def _is_static(field: Any) -> bool:
    return bool(field.metadata.get("static"))


def _rest(tree: Any) -> tuple:
    """What a container is made of besides its parts."""
    if isinstance(tree, defaultdict):
        return (tree.default_factory,)
    if dataclasses.is_dataclass(tree):
        return tuple([(field.name, getattr(tree, field.name)) for field in dataclasses.fields(tree)
                      if field.init and _is_static(field)])
    return ()


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree with this structure and these leaves."""
    return _build(structure, iter(leaves))


def _build(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind: Any = structure.kind
    if kind is None:
        return next(leaves)
    parts = [_build(part, leaves) for part in structure.parts]
    if kind is type(None):
        return None
    if issubclass(kind, dict):
        return kind(*structure.rest, dict(zip(structure.names, parts)))
    if dataclasses.is_dataclass(kind):
        return cast(Any, kind)(**dict(zip(structure.names, parts)), **dict(structure.rest))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def leaves_like(op: str, what: str, structure: Structure, tree: Any, may_miss: bool = False) -> list[Any]:
    """The leaves of a tree that must have this structure; dicts may name their keys in another order.

    With `may_miss`, None may stand for any part, as None for each of its leaves.
    """
    leaves: list[Any] = []
    if not _match(structure, tree, leaves, may_miss):
        raise ShapeError(f"{op}: {what} is nested as {told(str(flatten(tree)[1]))}, and {told(str(structure))} was "
                         "expected. Nest it the same way.")
    return leaves


def _match(structure: Structure, tree: Any, leaves: list[Any], may_miss: bool) -> bool:
    if tree is None and may_miss:
        leaves += [None] * structure.size
        return True
    opened = _open(tree)
    if structure.kind is None:
        leaves.append(tree)
        return opened is None
    if opened is None or len(opened[1]) != len(structure.parts) or {*opened[0]} != {*structure.names}:
        return False
    if issubclass(structure.kind, dict) != isinstance(tree, dict):
        return False
    by_name = dict(zip(*opened))
    parts = [by_name[name] for name in structure.names] if structure.names else opened[1]
    return all([_match(inner, part, leaves, may_miss) for inner, part in zip(structure.parts, parts)])


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with each leaf replaced by `function(leaf)`.

    >>> map_leaves(lambda x: 2 * x, (1, {"a": 3}))
    (2, {'a': 6})
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])
