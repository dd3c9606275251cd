"""PyTorch's operators by name, and what we have for each: a function with PyTorch's arguments, or why there is none."""

from collections.abc import Callable

from . import elementwise, indexing, layers, movement, products, reductions

LATER = products.LATER
CHAPTERS: dict[str, dict[str, Callable | str]] = {
    "elementwise": elementwise.TABLE, "reductions and scans": reductions.TABLE, "movement": movement.TABLE,
    "indexing, sorting, searching": indexing.TABLE, "products": products.TABLE, "layers and losses": layers.TABLE,
    "linear algebra, so far": LATER}
TABLE = {name: found for chapter in CHAPTERS.values() for name, found in chapter.items()}


def entry(name: str) -> Callable | str:
    """What stands in the table for an operator: its variant's entry, or its own."""
    return TABLE[name] if name in TABLE else TABLE[name.rsplit(".", 1)[0]]
