"""The calls of ops: counted while a block runs, or read off the graph behind a tensor."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from . import flops, tape
from .array import Tensor
from .backward import RawRunner
from .batched import examples
from .errors import GradError
from .graph import reachable
from .op import Elementwise, Primitive
from .register import close_roads, reopen_roads
from .shapes import Shape, product

Like = tuple[Shape, np.dtype]
Params = Mapping[str, Any] | None


# ----------------------------------------------------------------------------------------- what one call costs
_formulas: "WeakKeyDictionary[Elementwise, int]" = WeakKeyDictionary()


def cost_of(op: Any, call: flops.Call) -> int:
    """Floating-point operations of a call: by its rule, or its formula for each element; see flops.py.

    What a user differentiates by a function of his own is no op with a rule, and costs what it calls.
    """
    if not isinstance(op, Elementwise):
        rule = op.facts.flops if isinstance(op, Primitive) else None
        return round(rule(call)) if rule is not None else 0
    each = _formulas.get(op)
    if each is None:
        each = _formulas[op] = flops.of_formula(op.outputs)
    return each * product(call.result)


# ---------------------------------------------------------------------------------------- behind a tensor
class Recorded(NamedTuple):
    """A call in a graph: its node, what each input is like, and the first result."""

    node: tape.Node
    inputs: tuple[Like, ...]
    result: Like

    @property
    def flops(self) -> int:
        """What it cost."""
        params = self.node.plan if isinstance(self.node.op, Primitive) else None
        call = flops.Call(tuple([shape for shape, _ in self.inputs]), self.result[0], params or {})
        return cost_of(self.node.op, call)


def recorded_behind(tensor: Tensor) -> list[Recorded]:
    """The calls that a tensor was computed by, each once, the latest first."""
    root = tensor.refresh().node
    known: dict[Any, Like] = {root: (tensor.shape, tensor.dtype)}
    found = []
    for node in reversed(reachable([root])):
        if type(node) is tape.Port:
            known.setdefault(node.node, known[node])
            continue
        count = len(node.edges)
        like = node.like or (known[node],) * (count + 1)
        result = like[count] if len(like) > count else known[node]
        found.append(Recorded(node, tuple(like[:count]), result))
        known |= {edge: what for edge, what in zip(node.edges, like) if edge is not None}
    return found


def _flops_behind(self: Tensor) -> int:
    """Floating-point operations of the graph behind the tensor, each recorded call once; 0 where there is none.

    What has no part in a gradient is not recorded: `lucid_nb.count_flops` counts it too. What counts as an operation:
    see there.

    >>> import lucid_nb as lnb
    >>> x, w = lnb.ones((8, 3)), lnb.ones((3, 5)).detach()
    >>> w.requires_grad = True
    >>> y = x @ w
    >>> y.flops, (y * y).flops
    (120, 160)
    """
    return sum(call.flops for call in recorded_behind(self))


Tensor.flops = property(_flops_behind, doc=_flops_behind.__doc__)  # type: ignore


# ------------------------------------------------------------------------------------------------- in a block
class Count(NamedTuple):
    """How often an op was called, and its floating-point operations."""

    calls: int
    flops: int


class FlopCounter:
    """Counts while its block runs; afterwards `total`, `table()` and `str` tell."""

    def __init__(self) -> None:
        self._counts: dict[str, Count] = {}
        self._before: list[FlopCounter | None] = []     # what counted around each block of this one
        self.runner = _CountingRunner(self)

    def __enter__(self) -> "FlopCounter":
        if self._before:
            raise GradError("count_flops: the block of this counter is open already. Take another counter.")
        self._before.append(tape.modes.counter)
        tape.modes.counter = self
        open_blocks(1)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.counter = self._before.pop()
        open_blocks(-1)

    # ------------------------------------------------------------------------------------------- counting
    def count(self, op: Elementwise | Primitive, raws: Sequence[Any], result: Any, params: Params) -> None:
        """Take up one call, as the tape and backward report it."""
        first = result[0] if type(result) is tuple else result
        shapes = tuple([tuple(getattr(raw, "shape", ())) for raw in raws])
        self.add(op.name, examples(first) * cost_of(op, flops.Call(shapes, tuple(first.shape), params or {})))

    def add(self, name: str, cost: int) -> None:
        """Take up a call of this cost, here and in the blocks around this one."""
        calls, before = self._counts.get(name, (0, 0))
        self._counts[name] = Count(calls + 1, before + cost)
        if self._before and self._before[-1] is not None:
            self._before[-1].add(name, cost)

    def pull(self, node: Any, g: Any, call: Any, retain_graph: bool) -> tuple[Any, Any]:
        """`tape.pull`; a pullback that called kernels itself, and no op, costs what its record says."""
        calls = self.calls
        found = tape.pull(node, g, call, retain_graph)
        op: Any = node.op if type(node) is tape.Node else None
        factor = op.facts.gradient_flops if isinstance(op, Primitive) else 0
        if factor and calls == self.calls:
            count = len(node.edges)
            shapes = [shape for shape, _ in node.like]
            made = flops.Call(tuple(shapes[:count]), shapes[count], node.plan or {})
            self.add(f"{op.name}_gradient", round(factor * cost_of(op, made)))
        return found

    # --------------------------------------------------------------------------------------------- results
    @property
    def total(self) -> int:
        """All floating-point operations."""
        return sum(count.flops for count in self._counts.values())

    @property
    def calls(self) -> int:
        """All calls of ops."""
        return sum(count.calls for count in self._counts.values())

    def table(self) -> dict[str, Count]:
        """{op: (calls, flops)}, the costliest first."""
        return dict(sorted(self._counts.items(), key=lambda item: (-item[1].flops, -item[1].calls, item[0])))

    def __str__(self) -> str:
        total = self.total
        rows = [("op", "calls", "flops", "share")]
        rows += [(name, f"{calls:,}", f"{cost:,}", f"{cost / total:.1%}" if total else "")
                 for name, (calls, cost) in self.table().items()]
        rows.append(("total", f"{self.calls:,}", f"{total:,}", "100.0%" if total else ""))
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join([row[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]])
                 .rstrip() for row in rows]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])

    def __repr__(self) -> str:
        return f"<FlopCounter: {self.calls:,} calls, {self.total:,} flops>"


class _CountingRunner(RawRunner):
    """On raw arrays, every op counted; so no kernel is called past it."""

    is_quick = False

    def __init__(self, counter: FlopCounter) -> None:
        self._counter = counter

    def run(self, op: Any, arguments: Sequence[Any], params: Params = None) -> Any:
        result = super().run(op, arguments, params)
        self._counter.count(op, arguments, result, params)
        return result

    def add(self, a: Any, b: Any) -> Any:
        """Two gradients of one value."""
        result = super().add(a, b)
        self._counter.add("add", product(tuple(result.shape)))
        return result


_open = 0                         # blocks, in all threads


def open_blocks(change: int) -> None:
    """While there are blocks, every op goes the general road: that of `apply`, which reports it, casts or traces."""
    global _open
    tape.anywhere.add(change)
    with tape.anywhere.lock:
        _open += change
        (close_roads if _open else reopen_roads)()


class cast_mode:
    """While the block lasts, operands of this thread's ops are cast by `casting`, or are not where that is None."""

    def __init__(self, casting: Any) -> None:
        self.casting = casting

    def __enter__(self) -> None:
        self.before, tape.modes.casting = tape.modes.casting, self.casting
        if self.casting is not None:
            open_blocks(1)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape.modes.casting = self.before
        if self.casting is not None:
            open_blocks(-1)


def flops_enabled() -> bool:
    """Is this thread inside a block of count_flops?"""
    return tape.modes.counter is not None


def count_flops() -> FlopCounter:
    """Count the floating-point operations of every op that this thread calls in a block, backward included.

    Where products are summed (matmul, linear, convolutions, attention, recurrent layers) a multiply and its add are
    **one** operation, as papers give the cost of networks; twice the figure are additions and multiplications. An
    elementwise op costs its formula for each element of the result: 1 for arithmetic, extremes and rounding, 10 for
    exp, log and erf, 8 for tanh, 6 for sin, cos and sqrt, 11 for a power; comparisons, choices and bits cost 0, and so
    does what moves data. Sums and products cost n - m for m results of n elements, sorting n log2(n). The count
    follows from shapes, not from the kernel: masks, zeros and what a device computes besides do not show.

    `total`, `calls` and `table()`, {op: (calls, flops)}, tell of the block; `str` makes a table of it. Blocks nest.

    >>> import lucid_nb as lnb
    >>> x, w = lnb.ones((8, 3)), lnb.ones((3, 5))
    >>> with lnb.count_flops() as counter:
    ...     y = lnb.exp(x @ w)
    >>> counter.total
    520
    >>> print(counter)
    op      calls  flops   share
    ----------------------------
    exp         1    400   76.9%
    matmul      1    120   23.1%
    ----------------------------
    total       2    520  100.0%
    """
    return FlopCounter()
