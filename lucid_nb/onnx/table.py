"""The table of operators: one entry for each operator of ONNX and range of opsets, and how a node calls it.

A handler takes a node's inputs by position, None for one that is left out, and its attributes by keyword, with the
standard's defaults. An attribute that became an input in a later opset is a positional parameter of that name, and
serves both. A keyword parameter `node` gets the node itself, for those that must know their opset or their outputs.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import BackendError, ConfigError, ShapeError
from ..register import functions

STANDARD = ("", "ai.onnx")


class Signature(NamedTuple):
    """How a handler is called: the names of its positional parameters, whether more inputs may follow, its keywords."""

    positional: tuple[str, ...]
    is_variadic: bool
    keywords: frozenset[str]
    required: frozenset[str]
    least: int                          # inputs that there must be


@dataclass(frozen=True)
class Operator:
    """An operator from an opset on. `fixed`: names of inputs that are no weights to train (statistics, sizes)."""

    name: str
    since: int
    handler: Callable[..., Any]
    domain: str = ""
    fixed: tuple[str, ...] = ()
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.handler).parameters.values()
        positional = tuple([p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])
        keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        object.__setattr__(self, "signature", Signature(
            positional, any(p.kind is p.VAR_POSITIONAL for p in parameters), frozenset([p.name for p in keywords]),
            frozenset([p.name for p in keywords if p.default is p.empty and p.name != "node"]),
            sum(1 for p in parameters if p.default is p.empty and p.name in positional)))

    def __reduce__(self) -> tuple:
        """Pickled by name: a handler may be no function of a module."""
        return _entry, (self.domain, self.name, self.since)

    def is_fixed(self, number: int) -> bool:
        """Is an input no weight?"""
        positional = self.signature.positional
        return number < len(positional) and positional[number] in self.fixed


@dataclass(frozen=True)
class Node:
    """What one node of a graph says: its operator, which outputs are wanted ("" is none), and its attributes."""

    operator: Operator
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    name: str = ""

    @property
    def title(self) -> str:
        """The operator, with the node's own name."""
        return f"{self.operator.name} {self.name!r}" if self.name else self.operator.name

    def wants(self, number: int) -> bool:
        """Is an output asked for?"""
        return number < len(self.outputs) and self.outputs[number] != ""

    def call(self, inputs: Sequence[Any], bodies: dict[str, Any] | None = None) -> tuple[Any, ...]:
        """The outputs. `bodies`: what stands for attributes that are graphs."""
        attributes = self.attributes | (bodies or {})
        arguments = self._arguments(list(inputs), attributes)
        if "node" in self.operator.signature.keywords:
            attributes["node"] = self
        found = self.operator.handler(*arguments, **attributes)
        return found if isinstance(found, tuple) else (found,)

    def _arguments(self, inputs: list[Any], attributes: dict[str, Any]) -> list[Any]:
        """The inputs, with attributes in the place of those that they became."""
        positional, is_variadic, keywords, required, least = self.operator.signature
        if len(inputs) > len(positional) and not is_variadic:
            raise ShapeError(f"onnx: {self.title} has {len(inputs)} inputs. The operator takes {len(positional)}.")
        for name in [name for name in positional[len(inputs):] if name in attributes]:
            place = positional.index(name)
            inputs += [None] * (place + 1 - len(inputs))
            inputs[place] = attributes.pop(name)
        absent = [name for number, name in enumerate(positional[:least]) if number >= len(inputs)]
        if absent:
            raise ShapeError(f"onnx: {self.title} has {len(inputs)} inputs. It needs {', '.join(absent)}, too.")
        unknown, missing = sorted({*attributes} - keywords), sorted(required - {*attributes})
        if unknown or missing:
            what = f"has the attributes {unknown}, which it does not know" if unknown else f"lacks {missing}"
            raise ConfigError(f"onnx: {self.title} of opset {self.opset} {what}. Check the model with onnx.checker.")
        return inputs


_table: dict[tuple[str, str], list[Operator]] = {}


def operator(*names: str, since: int = 1, domain: str = "", fixed: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Enter a handler as operators of these names, from an opset on."""
    def enter(handler: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            versions = _table.setdefault((domain, name), [])
            versions.append(Operator(name, since, handler, domain, fixed))
            versions.sort(key=lambda version: version.since)
        return handler
    return enter


def direct(words: str, **renamed: str) -> None:
    """Enter operators of one input that are functions of ours: of the same name in lower letters, or of another."""
    for name in words.split():
        operator(name)(_of_one(functions[name.lower()]))
    for name, ours in renamed.items():
        operator(name)(_of_one(functions[ours]))


def _of_one(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(x: Any, *, consumed_inputs: Any = None) -> Any:
        return function(x)
    return call


def find(name: str, domain: str, opset: int) -> Operator | None:
    """The entry that serves an opset."""
    versions = _table.get(("" if domain in STANDARD else domain, name), ())
    return next((version for version in reversed(versions) if version.since <= opset), None)


def required(name: str, domain: str, opset: int) -> Operator:
    """The entry that serves an opset; BackendError where there is none."""
    found = find(name, domain, opset)
    if found is None:
        raise BackendError(f"onnx: the operator {named(name, domain, opset)} is not supported. "
                           "lucid_nb.onnx.operators() lists those that are.")
    return found


def _entry(domain: str, name: str, since: int) -> Operator:
    return next(version for version in _table[domain, name] if version.since == since)


def named(name: str, domain: str, opset: int) -> str:
    """An operator as errors name it."""
    return f"{'ai.onnx' if domain in STANDARD else domain}.{name} (opset {opset})"


def entries() -> Iterator[Operator]:
    """Every entry."""
    for versions in _table.values():
        yield from versions


def operators() -> list[str]:
    """The names of the operators that `load` and `run_node` know, those of other domains with the domain before them.

    >>> {"Conv", "Gemm", "LSTM", "If"} <= set(lnb.onnx.operators())
    True
    """
    return sorted(f"{domain}.{name}" if domain else name for domain, name in _table)
