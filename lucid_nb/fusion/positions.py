"""Functions of positions while a function is traced: what they read on the host they read at each call of the plan.

They stand where `vmap` has its own rules for positions that differ between examples, and use the same hook.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..array import Tensor
from ..register import functions
from ..trees import flatten, unflatten
from .trace import Trace


def _losses(losses_of: Callable, scores: Tensor, classes: Tensor, ignore_index: int, reduction: str) -> Tensor:
    """Losses of classes, and their mean over those that count."""
    losses = losses_of(scores, classes)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    counted = functions["maximum"]((classes != ignore_index).sum(), 1)
    return losses.sum() / functions["astype"](counted, losses.dtype)


CALLS: Mapping[str, Callable] = {
    "getitem": lambda x, parts: x[parts], "losses_of_classes": _losses,
    "take": lambda x, indices, axis, mode: functions["take"](x, indices, axis, mode=mode),
    "take_along_axis": lambda x, indices, axis: functions["take_along_axis"](x, indices, axis),
    "embedding": lambda embedding, places, weight, padding: embedding(places, weight, padding),
    "gather": lambda x, index, axis: functions["gather"](x, index, axis)}


def instead(trace: Trace, name: str, reason: Exception, *arguments: Any) -> Any:
    """What a function of positions gives: an ordinary call of the plan."""
    call = CALLS.get(name)
    if call is None:
        raise reason
    leaves, structure = flatten(arguments)
    places = [place for place, x in enumerate(leaves) if isinstance(x, Tensor)]
    operands = [trace.capture(leaves[place]) for place in places]
    kept = [None if isinstance(x, Tensor) else x for x in leaves]       # tensors would keep the trace

    def run(*given: Tensor) -> Any:
        filled = dict(zip(places, given))
        return call(*unflatten(structure, [filled.get(place, x) for place, x in enumerate(kept)]))
    return trace.function_of_positions(run, name, operands, arguments)
