"""Pickles read as data: a machine that builds containers and numbers, and calls nothing but the builders it is given.

Python's own unpickler imports and calls what a file names. Here a name is looked up in a table of builders that stand
for NumPy's and PyTorch's, and one that is not there is refused. The opcodes are decoded by the standard library
(pickletools); what each does follows its documentation there.
"""

import pickletools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..array import Tensor
from ..errors import ConfigError, told

SCALARS = (str, bytes, bool, int, float, complex, type(None), np.generic)
VALUES = frozenset("INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING "
                   "UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 "
                   "BYTEARRAY8".split())
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set, "EMPTY_TUPLE": tuple}
OF_THE_TOP = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
NOTHING = frozenset(("PROTO", "FRAME", "STOP"))
LOOKUPS = frozenset(("GET", "BINGET", "LONG_BINGET"))
NOTES = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
MARK = object()
PLAIN = (bytearray, np.dtype)
Builder = Callable[..., Any]


class Machine:
    """One pickle being read.

    `builders` maps (module, name) to what stands for it, called with the machine and the arguments; `states` maps the
    type of what a builder made to what fills it; `persistent` reads a reference to an object outside of the pickle;
    `allowance` bounds the bytes that builders copy.
    """

    def __init__(self, op: str, builders: Mapping[tuple[str, str], Any], states: Mapping[type, Builder],
                 allowance: int, persistent: Builder | None = None) -> None:
        self.op, self.builders, self.states, self.persistent = op, builders, states, persistent
        self.left = allowance
        self.stack: list[Any]
        self.memo: dict[int, Any]

    def read(self, file: Any) -> Any:
        """The object of the pickle that starts here; the file is left behind it. `check` it when all is filled."""
        self.stack, self.memo = [], {}
        for opcode, argument, _ in pickletools.genops(file):
            self._step(opcode.name, argument)
        (found,) = self.stack
        return found

    def spend(self, amount: int) -> None:
        """Account for what a builder copies: a file may name one long string a million times."""
        self.left -= amount
        if self.left < 0:
            raise ConfigError(f"{self.op}: the pickle grows far beyond the size of its file. Do not trust it.")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in VALUES:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in OF_THE_TOP:
            stack.append(tuple([self.pop() for _ in range(OF_THE_TOP[name])][::-1]))
        elif name in LOOKUPS:
            stack.append(self.memo[int(argument)])
        elif name in NOTES:
            self.memo[int(argument)] = self.top()
        elif name in STEPS:
            STEPS[name](self, argument)
        elif name not in NOTHING:
            raise ConfigError(f"{self.op}: the pickle's opcode {name} has no place in a file of arrays. "
                              "Save arrays, numbers and containers of them.")

    def pop(self) -> Any:
        """The value on top, taken."""
        found = self.top()
        del self.stack[-1]
        return found

    def top(self) -> Any:
        """The value on top."""
        if self.stack[-1] is MARK:
            raise ValueError("a mark stands where a value should")
        return self.stack[-1]

    def pop_mark(self) -> list[Any]:
        """What lies above the last mark, which goes too."""
        start = len(self.stack) - 1
        while self.stack[start] is not MARK:
            start -= 1
            if start < 0:
                raise ValueError("a mark is missing")
        items = self.stack[start + 1:]
        del self.stack[start:]
        return items

    def check(self, found: Any) -> None:
        """Refuse a result that holds builders or what only they take; no recursion, for nesting has no bound."""
        seen, waiting = set(), [found]
        while waiting:
            value = waiting.pop()
            if isinstance(value, (dict, list, tuple, set, frozenset)):
                if id(value) not in seen:
                    seen.add(id(value))
                    waiting.extend(value.values() if isinstance(value, dict) else value)
            elif isinstance(value, Tensor) and value.raw is None:
                raise ValueError("an array has no content")
            elif callable(value) or not isinstance(value, (Tensor, *SCALARS, *PLAIN)):
                raise ConfigError(f"{self.op}: the file holds {_named(self.builders, value)} itself, not data. "
                                  "Save arrays, numbers and text.")


def key_of(key: Any) -> Any:
    """A key of a dict or set, if it is plain; hashing nested tuples would recurse as deep as the file likes."""
    parts = key if type(key) is tuple else (key,)
    if all(isinstance(part, SCALARS) for part in parts):
        return key
    raise ValueError(f"{told(type(key).__name__)} as a key")


def _named(builders: Mapping[tuple[str, str], Any], value: Any) -> str:
    names = [".".join(name) for name, builder in builders.items() if builder is value]
    return names[0] if names else f"a {type(value).__name__.lower()}"


def _mark(machine: Machine, _: Any) -> None:
    machine.stack.append(MARK)


def _drop(machine: Machine, _: Any) -> None:
    machine.stack.pop()


def _drop_to_mark(machine: Machine, _: Any) -> None:
    machine.pop_mark()


def _memoize(machine: Machine, _: Any) -> None:
    machine.memo[len(machine.memo)] = machine.top()


def _tuple(machine: Machine, _: Any) -> None:
    machine.stack.append(tuple(machine.pop_mark()))


def _list(machine: Machine, _: Any) -> None:
    machine.stack.append(machine.pop_mark())


def _frozenset(machine: Machine, _: Any) -> None:
    machine.stack.append(frozenset(map(key_of, machine.pop_mark())))


def _dict(machine: Machine, _: Any) -> None:
    items = machine.pop_mark()
    machine.stack.append({})
    _put(machine, items)


def _append(machine: Machine, _: Any) -> None:
    item = machine.pop()
    _of_kind(machine, list).append(item)


def _appends(machine: Machine, _: Any) -> None:
    items = machine.pop_mark()
    _of_kind(machine, list).extend(items)


def _add(machine: Machine, _: Any) -> None:
    items = machine.pop_mark()
    _of_kind(machine, set).update(map(key_of, items))


def _set_item(machine: Machine, _: Any) -> None:
    value, key = machine.pop(), machine.pop()
    _put(machine, [key, value])


def _set_items(machine: Machine, _: Any) -> None:
    _put(machine, machine.pop_mark())


def _put(machine: Machine, items: list[Any]) -> None:
    if len(items) % 2:
        raise ValueError("a key has no value")
    _of_kind(machine, dict).update(zip(map(key_of, items[::2]), items[1::2]))


def _of_kind(machine: Machine, kind: type) -> Any:
    """The container on top, which must be one that the file made, not a tensor or a builder."""
    found = machine.top()
    if type(found) is not kind and not (kind is dict and type(found) is OrderedDict):
        raise ValueError(f"a {type(found).__name__} is filled as a {kind.__name__}")
    return found


def _global(machine: Machine, argument: Any) -> None:
    """GLOBAL carries "module name"; STACK_GLOBAL takes both from the stack."""
    if argument is None:
        name, module = machine.pop(), machine.pop()
    else:
        module, _, name = argument.partition(" ")
    found = machine.builders.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
    if found is None:
        raise ConfigError(f"{machine.op}: the file asks for {told(f'{module}.{name}')}, and only arrays, numbers, "
                          "text and containers of them are read. Open it with its own program if you trust it.")
    machine.stack.append(found)


def _call(machine: Machine, _: Any) -> None:
    arguments, builder = machine.pop(), machine.pop()
    if not any(builder is known for known in machine.builders.values()) or type(arguments) is not tuple:
        raise ValueError(f"a {type(builder).__name__} is called")
    machine.stack.append(builder(machine, *arguments))


def _build(machine: Machine, _: Any) -> None:
    """Give what a builder made its state."""
    state = machine.pop()
    found = machine.top()
    fill = machine.states.get(type(found))
    if fill is None:
        raise ValueError(f"a {type(found).__name__} is given a state")
    fill(machine, found, state)


def _persistent(machine: Machine, _: Any) -> None:
    if machine.persistent is None:
        raise ValueError("it refers to objects outside")
    machine.stack.append(machine.persistent(machine.pop()))


STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "MARK": _mark, "POP": _drop, "POP_MARK": _drop_to_mark, "MEMOIZE": _memoize, "TUPLE": _tuple,
    "LIST": _list, "FROZENSET": _frozenset, "DICT": _dict, "APPEND": _append, "APPENDS": _appends, "ADDITEMS": _add,
    "SETITEM": _set_item, "SETITEMS": _set_items, "GLOBAL": _global, "STACK_GLOBAL": _global, "REDUCE": _call,
    "NEWOBJ": _call, "BUILD": _build, "BINPERSID": _persistent}
