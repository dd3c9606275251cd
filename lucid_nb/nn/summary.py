"""A network as a table: what each module gives, holds and costs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..array import Tensor
from ..calls import FlopCounter, count_flops
from ..creation import zeros
from ..dtypes import is_inexact
from ..errors import ConfigError, DTypeError
from ..shapes import as_integer
from ..tape import Handle, grad_mode
from ..trees import flatten
from .module import Module

HEAD = ("module", "input", "output", "parameters", "flops", "bytes")
UNITS = ("", "K", "M", "G", "T")


@dataclass
class Row:
    """One call of a module: its place below the model, what goes in and comes out, what it holds and costs."""

    depth: int
    name: str
    kind: str
    input: str
    output: str = ""
    parameters: int | None = None            # all below it too; None where an earlier row has them
    flops: int = 0                           # of all below it too
    nbytes: int = 0                          # of what comes out

    def cells(self) -> list[str]:
        """The row as text."""
        label = f"{'  ' * self.depth}{self.kind}" + (f" ({self.name})" if self.name else "")
        held = "shared" if self.parameters is None else f"{self.parameters:,}"
        return [label, self.input, self.output, held, f"{self.flops:,}", f"{self.nbytes:,}"]


@dataclass
class Summary:
    """Rows in the order of the calls, and what the whole model holds. `str` makes a table of it."""

    rows: list[Row] = field(default_factory=list)
    parameters: int = 0
    trainable: int = 0
    parameter_bytes: int = 0
    buffer_bytes: int = 0
    depth: int | None = None

    @property
    def flops(self) -> int:
        """Floating-point operations of the call; a multiply and its add in a product are one: see lnb.count_flops."""
        return self.rows[0].flops

    @property
    def output_bytes(self) -> int:
        """The bytes of what all modules without submodules give."""
        innermost = [row for row, after in zip(self.rows, [*self.rows[1:], None])
                     if after is None or after.depth <= row.depth]
        return sum(row.nbytes for row in innermost)

    def __str__(self) -> str:
        shown = [row for row in self.rows if self.depth is None or row.depth <= self.depth]
        lines = [list(HEAD), *[row.cells() for row in shown]]
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = ["  ".join([cell.ljust(width) if place < 3 else cell.rjust(width)
                           for place, (cell, width) in enumerate(zip(line, widths))]).rstrip() for line in lines]
        rule = "-" * max(map(len, text))
        return "\n".join([text[0], rule, *text[1:], rule, *self._totals()])

    def _totals(self) -> list[str]:
        return [f"parameters: {self.parameters:,}, {self.trainable:,} of them trained",
                f"flops: {readable(self.flops)}",
                f"bytes: {readable(self.parameter_bytes)} of parameters, {readable(self.buffer_bytes)} of buffers, "
                f"{readable(self.output_bytes)} of outputs"]

    __repr__ = __str__


def readable(number: float) -> str:
    """A number with three digits and a unit of a thousand."""
    unit = 0
    while number >= 1000 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.3g}{UNITS[unit]}"


class _Watch:
    """What hooks of all modules write down during one call of the model."""

    def __init__(self, model: Module, counter: FlopCounter) -> None:
        self.rows: list[Row] = []
        self.open: list[tuple[Row, list[Tensor]]] = []
        self.counter, self.seen = counter, set[int]()
        self.names = {id(module): path.rpartition(".")[2] for path, module in model.named_modules()}

    def enter(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module is called."""
        row = Row(len(self.open), self.names.get(id(module), ""), type(module).__name__, shapes_of((args, kwargs)),
                  flops=-self.counter.total)
        self.rows.append(row)
        self.open.append((row, [param for param in module.parameters() if id(param) not in self.seen]))

    def leave(self, module: Module, args: tuple[Any, ...], output: Any) -> None:
        """A module has given its output."""
        row, own = self.open.pop()
        row.output, row.flops = shapes_of(output), row.flops + self.counter.total
        row.nbytes = sum(tensor.nbytes for tensor in tensors_in(output))
        if own or not any(True for _ in module.parameters()):
            row.parameters = sum(param.size for param in own)
        self.seen |= {id(param) for param in own}


def tensors_in(value: Any) -> list[Any]:
    """All tensors and arrays in nested tuples, lists and dicts."""
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, Tensor | np.ndarray)]


def shapes_of(value: Any) -> str:
    """The shapes of all tensors, 2x3 for (2, 3)."""
    return ", ".join("x".join(map(str, tensor.shape)) or "one" for tensor in tensors_in(value))


def as_input(model: Module, given: Any) -> Any:
    """An input, zeros where it is only a shape, like the first parameter that is no integer."""
    if not isinstance(given, tuple | list) or not given or not all(type(size) is int for size in given):
        return given
    like: Any = next((param for param in model.parameters() if is_inexact(param.dtype)), None)
    return zeros(tuple(given), dtype="float32" if like is None else like.dtype,
                 device=None if like is None else like.device)


def summary(model: Module, *inputs: Any, depth: int | None = None, **keywords: Any) -> Summary:
    """What every module of a model gives, holds and costs when the model is called with these arguments.

    An input that is a tuple of integers is a shape, and zeros of it are passed. The model runs once, in evaluation and
    without gradients, and is as before afterwards (but lazy layers have their shapes then). Columns: shapes of inputs
    and outputs, parameters, floating-point operations (a multiply and its add in a product are one), bytes of the
    output; those of a module count what is below it. `depth` bounds the rows that are shown.

    >>> net = lnb.nn.Sequential(lnb.nn.Linear(4, 8), lnb.nn.ReLU(), lnb.nn.Linear(8, 2))
    >>> lnb.nn.summary(net, (3, 4))
    module        input  output  parameters  flops  bytes
    -----------------------------------------------------
    Sequential    3x4    3x2             58    174     24
      Linear (0)  3x4    3x8             40    120     96
      ReLU (1)    3x8    3x8              0      0     96
      Linear (2)  3x8    3x2             18     54     24
    -----------------------------------------------------
    parameters: 58, 58 of them trained
    flops: 174
    bytes: 232 of parameters, 0 of buffers, 216 of outputs
    """
    if not isinstance(model, Module):
        raise DTypeError(f"summary: the model is a {type(model).__name__}. Pass an nn.Module.")
    if depth is not None and as_integer("summary", "depth", depth) < 0:
        raise ConfigError(f"summary: depth is {depth}. Use 0 or more.")
    with watched(model) as rows:
        model(*[as_input(model, given) for given in inputs], **keywords)
    return totalled(Summary(rows, depth=depth), list(model.parameters()), list(model.buffers()))


@contextmanager
def watched(model: Module) -> Iterator[list[Row]]:
    """Rows for what is called in the block, in evaluation and without gradients."""
    counter, modes = count_flops(), {module: module.training for module in model.modules()}
    watch, handles = _Watch(model, counter), list[Handle]()
    try:
        for module in modes:
            handles.append(module.register_forward_pre_hook(watch.enter, with_kwargs=True))
            handles.append(module.register_forward_hook(watch.leave))
        model.eval()
        with grad_mode(False), counter:
            yield watch.rows
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.__dict__["training"] = mode


def totalled(found: Summary, params: Sequence[Tensor], buffers: Sequence[Tensor]) -> Summary:
    """With what the whole model holds."""
    found.parameters = sum(param.size for param in params)
    found.trainable = sum(param.size for param in params if param.requires_grad)
    found.parameter_bytes = sum(param.nbytes for param in params)
    found.buffer_bytes = sum(buffer.nbytes for buffer in buffers)
    return found
