"""Backward under watch: it stops where a gradient becomes NaN, and tells what absorbing products hide.

`config.check_nan` asks for that everywhere; `detect_anomaly` in a block, where also any other error of backward tells
which op, called where, it comes from.
"""

import traceback
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from types import TracebackType
from typing import Any

import numpy as np

from . import backend, tape
from .array import Tensor
from .errors import GradError, HiddenNaNWarning
from .expr import make, topological
from .op import Elementwise

PLAIN = {"absorbing_product": "multiply", "absorbing_quotient": "divide"}
_registry: dict[Any, Any] = {}           # of warnings: one that is shown once for each line


def pull(raw_call: tape.Caller, node: Any, g: Any, call: tape.Caller, retain_graph: bool) -> tuple[Any, Any]:
    """`tape.pull` that looks at what arrives and at what it gives. `raw_call` calls ops on raw arrays."""
    if type(node) is tape.Port or node.saved is None:
        return tape.pull(node, g, call, retain_graph)
    saved = node.saved
    node.saved = (*saved,)          # read several times here; where it is computed again, that is done once
    try:
        gradients = _looked_at(raw_call, node, g, call)
    finally:
        node.saved = saved
    if not retain_graph:
        node.release()
    return gradients, node.edges


def _looked_at(raw_call: tape.Caller, node: tape.Node, g: Any, call: tape.Caller) -> Any:
    """The gradients of a node, none of them NaN."""
    if any(map(has_nan, g.values() if type(g) is dict else (g,))):
        raise GradError(f"{node.op.name}: the gradient that arrives at {tape.line_of(node.place)} holds NaN, given by "
                        "a hook or to backward, or the sum of infinities of both signs. Look at what uses its result.")
    gradients, edges = tape.pull(node, g, call, True)
    for number, gradient in enumerate(gradients):
        if gradient is not None and edges[number] is not None and has_nan(gradient):
            raise GradError(_explained(node, number))
    if isinstance(node.op, Elementwise) and _hides(raw_call, node, g, gradients):
        _warn(node)
    return gradients


def telling(*arguments: Any) -> dict[Any, Any]:
    """`tape.backward`, whose errors tell at which op they were raised."""
    try:
        return tape.backward(*arguments)
    except Exception as error:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            node = frame.f_locals.get("node") if frame.f_code is tape.backward.__code__ else None
            if node is not None:
                node = node.node if type(node) is tape.Port else node
                line = tape.line_of(node.place)
                if line not in str(error):
                    error.add_note(f"In backward, at {node.op.name}, called at {line}.")
                break
        raise


class detect_anomaly:
    """Within the block, in this thread, backward stops where a gradient becomes NaN, and errors tell where they began.

    GradError names the op, and the file and line of its forward call; any other error of backward (of a hook, of a
    function of one's own) gets a note with them. `check_nan=False`: notes alone. Looking at every gradient takes time;
    the forward pass may lie outside. On a GPU each op is waited for, so that its error is raised where it was called.
    `config.check_nan` looks everywhere.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor(0.0, requires_grad=True)
    >>> y = lnb.sqrt(x) * lnb.nan
    >>> with lnb.autograd.detect_anomaly():
    ...     y.backward()
    Traceback (most recent call last):
    ...
    lucid_nb.errors.GradError: multiply: the gradient of operand 0 holds NaN, of the call at ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.mode = bool(check_nan)
        self.before: list[bool | None] = []

    def __enter__(self) -> "detect_anomaly":
        self.before.append(tape.modes.anomaly)
        _set(self.mode)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _set(self.before.pop())


def _set(mode: bool | None) -> None:
    """The mode of this thread; devices that work behind the program's back wait for each op meanwhile."""
    tape.modes.anomaly = mode
    backend.tell_devices("watch", mode is not None)


class set_detect_anomaly(detect_anomaly):
    """`detect_anomaly` from now on in this thread, or no longer; as a context manager, only inside.

    >>> import lucid_nb as lnb
    >>> watching = lnb.autograd.set_detect_anomaly(True)
    >>> stopped = lnb.autograd.set_detect_anomaly(False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self.before.append(tape.modes.anomaly)
        _set(self.mode if mode else None)

    def __enter__(self) -> "set_detect_anomaly":
        """The mode is set already."""
        return self


def check_sums(leaves: dict[Any, Any]) -> None:
    """Refuse gradients of leaves that are NaN, though none of their parts is."""
    for g in leaves.values():
        if has_nan(g):
            raise GradError(f"backward: the gradient of a leaf of shape {tuple(g.shape)} holds NaN, the sum of "
                            "infinities of both signs. Look for what makes gradients infinite.")


def has_nan(g: Any) -> bool:
    """Is there a NaN in an array, raw or a tensor?"""
    raw = raw_of(g)
    return bool(np.isnan(backend.of(raw).to_numpy(raw)).any())


def raw_of(g: Any) -> Any:
    """The raw array of a gradient."""
    return g.refresh().raw if isinstance(g, Tensor) else g


def _explained(node: tape.Node, number: int) -> str:
    """What is wrong, and where to look."""
    cause = ("It works on NaN already: look for what makes that in the forward pass." if any(map(has_nan, _floats(
        node.saved))) else "Keep its operands off where the derivative is infinite or undefined.")
    return (f"{node.op.name}: the gradient of operand {number} holds NaN, of the call at {tape.line_of(node.place)}. "
            f"{cause}")


def _floats(raws: Iterable[Any]) -> list[Any]:
    """The arrays that could hold NaN."""
    return [raw for raw in raws if backend.of(raw).dtype_of(raw).kind in "fcV"]


# --------------------------------------------------------------------------------------- what zeros absorb
def _hides(raw_call: tape.Caller, node: tape.Node, g: Any, gradients: Any) -> bool:
    """Would plain products give NaN where the absorbing ones gave a number?"""
    plan = node.plan
    plain = None if plan.op is None else without_absorption(plan.op)
    if plain is None:
        return False
    shadow = tape.Node(node.op, replace(plan, op=plain, is_bound=False, step=None), node.edges, node.like,
                       node.saved, node.versions, node.place)
    arriving = {index: raw_of(part) for index, part in g.items()} if type(g) is dict else raw_of(g)
    with np.errstate(all="ignore"):
        others = node.op.pullback(shadow, arriving, raw_call)
    return any(found is not None and has_nan(other) for found, other in zip(gradients, others))


@lru_cache(256)
def without_absorption(op: Elementwise) -> Elementwise | None:
    """The op with IEEE's products, None if it has no others."""
    new: dict[Any, Any] = {}
    order = topological(op.outputs)
    for node in order:
        new[node] = make(PLAIN.get(node.op, node.op), tuple([new[arg] for arg in node.args])) if node.args else node
    if PLAIN.keys().isdisjoint(node.op for node in order):
        return None
    return Elementwise(f"{op.name}_plain", tuple([new[node] for node in op.outputs]), op.arity)


def _warn(node: tape.Node) -> None:
    """Say so, as a warning of the line that called the op."""
    text = (f"{node.op.name}: its gradient takes 0 times infinity (or NaN) for 0, at {tape.line_of(node.place)}. Right "
            "where the value is not used; otherwise keep its operands off where the derivative is infinite.")
    file, line = tape.file_and_line(node.place) if node.place else (__file__, 1)
    warnings.warn_explicit(text, HiddenNaNWarning, file, line, registry=_registry)
