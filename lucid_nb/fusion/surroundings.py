"""What a function that is traced finds beside its arguments: a plan serves only while that is as it was.

Seen are the names that the function reads from closures and globals, and those that functions of its package among
them read; of dicts, of objects that it finds or is given, and of modules also what they hold: tensors, numbers and
strings. Where a tensor stands in the place of one like it the plan reads the new one.
"""

import dis
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np

from ..array import Tensor
from .traced import Traced

MISSING = object()
PLAIN = (bool, int, float, complex, str, NoneType)
MANY = 64                # functions, and names in a dict, beyond which nobody looks
LIBRARY = __name__.partition(".")[0]
TABLES = ("_parameters", "_buffers", "_modules")     # in which modules hold their members


class Surroundings:
    """Names in dicts and cells of closures with what they held, and the tensors that a plan reads of them."""

    def __init__(self, function: Any, arguments: Sequence[Any]) -> None:
        self.names: list[tuple[dict[Any, Any], Any, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.captured: list[Tensor] = []
        self.keys: dict[int, Any] = {}               # of tensors, by id: what a plan depends on of them
        self.needs: list[bool] = []                  # which of the captured want gradients
        self.codes: set[CodeType] = set()
        self.holders: list[dict[Any, Any]] = []
        main = plain_function(function)
        self.package = main.__module__.partition(".")[0] if main and main.__module__ else ""
        self.explore([function, *arguments])
        tables = [holder[name] for holder in self.holders for name in TABLES if type(holder.get(name)) is dict]
        self.before = [(holder, dict(holder)) for holder in (*self.holders, *tables)]

    # ------------------------------------------------------------------------------------------------- looking
    def explore(self, values: Iterable[Any]) -> None:
        """See what values hold, and what the functions among them find."""
        waiting, found = list(values), []
        while waiting:
            found.append(waiting.pop())
            function = plain_function(found[-1])
            if function is not None and len(self.codes) < MANY and function.__code__ not in self.codes and (
                    (function.__module__ or "").partition(".")[0] == self.package):
                self.codes.add(function.__code__)
                waiting += self._found_by(function)
        used = {name for code in self.codes for name in names_of(code)[1]}
        for value in found:
            self._see_inside(value, used)

    def _found_by(self, function: FunctionType) -> list[Any]:
        """What a function finds by name."""
        space, first = function.__globals__, len(self.names)
        self.names += [(space, name, space[name]) for name in names_of(function.__code__)[0]
                       if name in space and type(space[name]) is not ModuleType]
        cells = [(cell, content(cell)) for cell in function.__closure__ or ()]
        self.cells += cells
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        return [*[value for _, _, value in self.names[first:]], *[value for _, value in cells], *defaults]

    def _see_inside(self, value: Any, used: set[str]) -> None:
        """See the tensors, numbers and strings in a dict, and in those attributes of an object that functions use."""
        if isinstance(value, (Tensor, type, FunctionType)):
            return
        holder = value if type(value) is dict else getattr(value, "__dict__", None)
        if type(holder) is not dict or len(holder) > MANY or any(holder is each for each in self.holders):
            return
        self.holders.append(holder)
        is_whole = holder is value or (type(value).__module__ or "").partition(".")[0] == LIBRARY
        self.names += [(holder, name, held) for name, held in holder.items()
                       if (is_whole or name in used) and (isinstance(held, Tensor) or type(held) in PLAIN)]

    def see_members(self, modes: Sequence[tuple[Any, bool]], members: Sequence[tuple[Any, str, Any]]) -> None:
        """See training modes and members of modules that were read, and the modules."""
        self.names += [(vars(module), "training", mode) for module, mode in modes]
        for module, name, value in members:
            for table in [vars(module)[table] for table in TABLES]:
                if name in table:
                    self.names.append((table, name, value))
        self.explore({id(module): module for module, *_ in (*modes, *members)}.values())

    # ------------------------------------------------------------------------------------------------ deciding
    def close(self, captured: Sequence[Tensor]) -> list[Tensor]:
        """Note which tensors a plan reads; gives them."""
        self.captured, self.needs = list(captured), [x.requires_grad for x in captured]
        held = [*[value for _, _, value in self.names], *[value for _, value in self.cells], *captured]
        self.keys = {id(value): key_of(value) for value in held if isinstance(value, Tensor)}
        return self.captured

    def current(self) -> list[Tensor] | None:
        """The tensors that a plan reads, as they are now; None where it does not hold any more."""
        for holder, name, value in self.names:
            if holder.get(name, MISSING) is not value:
                return self._replaced()
        for cell, value in self.cells:
            if content(cell) is not value:
                return self._replaced()
        return self.captured if [x.requires_grad for x in self.captured] == self.needs else None

    def _replaced(self) -> list[Tensor] | None:
        """The same where something changed: other tensors in the places of those that they are like."""
        pairs = [(value, holder.get(name, MISSING)) for holder, name, value in self.names]
        new: dict[int, Tensor] = {}
        for value, now in [*pairs, *[(value, content(cell)) for cell, value in self.cells]]:
            if isinstance(value, Tensor):
                if not isinstance(now, Tensor) or new.setdefault(id(value), now) is not now:
                    return None
            elif now is not value and (type(now) not in PLAIN or key_of(now) != key_of(value)):
                return None
        found = [new.get(id(x), x) for x in self.captured]
        is_like = all([key_of(now) == self.keys[old] for old, now in new.items()])
        return found if is_like and [x.requires_grad for x in found] == self.needs else None

    def were_changed(self) -> bool:
        """Did the function itself put something else there? Where that is traced, what was there comes back."""
        is_changed = False
        for holder, name, value in self.names:
            now = holder.get(name, MISSING)
            is_changed |= now is not value
            if isinstance(now, Traced):
                holder[name] = value
        for cell, value in self.cells:
            now = content(cell)
            is_changed |= now is not value
            if isinstance(now, Traced):
                cell.cell_contents = value
        for holder, before in self.before:
            for name in [name for name, now in holder.items() if isinstance(now, Traced)]:
                is_changed = True
                del holder[name]
                holder |= {name: before[name]} if name in before else {}
        return is_changed


def key_of(leaf: Any) -> Any:
    """What a plan depends on of an argument."""
    if isinstance(leaf, Tensor):
        return leaf.shape, leaf.dtype, type(leaf.raw), leaf.device, leaf.requires_grad
    if isinstance(leaf, np.ndarray):
        return leaf.shape, leaf.dtype
    if isinstance(leaf, (float, complex, np.inexact)):
        return type(leaf), repr(leaf)                # 0.0 equals -0.0, and nan not itself
    return type(leaf), leaf


def content(cell: Any) -> Any:
    """What a cell of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def plain_function(value: Any) -> FunctionType | None:
    """The function that a call of the value runs, if it is one of Python."""
    if isinstance(value, partial):
        value = value.func
    if isinstance(value, MethodType):
        value = value.__func__
    if isinstance(value, FunctionType):
        return value
    if isinstance(value, type) or not callable(value):
        return None
    inner = getattr(value, "__wrapped__", None) or getattr(type(value), "forward", None)
    return inner if isinstance(inner, FunctionType) else None


@lru_cache(1024)
def names_of(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The globals that code names, and all other names in it, attributes among them; inner functions' too."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL")}
    used = {*code.co_names}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            globals_, others = names_of(inner)
            found |= globals_
            used |= others
    return frozenset(found), frozenset(used)
