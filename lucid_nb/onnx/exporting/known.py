"""The table of what can be written: an emitter for each primitive of ours, and for each kind of view."""

from collections.abc import Callable
from typing import Any

Emit = Callable[..., Any]
emitters: dict[str, Emit] = {}


def emits(*names: str) -> Callable[[Emit], Emit]:
    """Enter how a primitive, or a view, is written: from a writer, the result, the operands and the parameters."""
    def enter(emit: Emit) -> Emit:
        emitters.update(dict.fromkeys(names, emit))
        return emit
    return enter
