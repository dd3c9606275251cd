"""What stands for the folder of a device: the entries of the table, each by its rule."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import backend
from ..backend import ENTRIES, Table, Unbatchable
from ..errors import ShapeError
from . import raw as raws
from .raw import Batched, common

Rule = Callable[..., Any]
rules: dict[str, Rule] = {}
NAMES = {*ENTRIES, "put_slice", "sample", "sample_input_grad", "sample_weight_grad"} - {"assign"}
FAST = {"moments"}                    # entries that serve only where the device below has them
COUNTING = {"nonzero", "unique"}      # entries whose results are as large as the values say


def rule(function: Rule) -> Rule:
    """Enter the rule of an entry under its name."""
    rules[function.__name__] = function
    return function


class Device:
    """The entries for arrays of class `kind` over a device below. It has all that are listed; what that device lacks
    goes through the host.
    """

    ALIASES = False
    UNAVAILABLE = ""

    def __init__(self, under: Table, kind: type[Batched]) -> None:
        self.under, self.kind = under, kind
        self.DEVICE, self.RAW_TYPES, self.NATIVE = under.device, (kind,), under.NATIVE
        self.UNSUPPORTED = {"assign": "Use put_slice, which gives a new array."}

    def __getattr__(self, entry: str) -> Any:
        if entry not in NAMES and not (entry in FAST and self.under.has(entry)):
            raise AttributeError(entry)
        found = partial(rules[entry], self) if entry in rules else partial(_example_by_example, self, entry)
        setattr(self, entry, found)
        return found

    def below(self, entry: str) -> Rule:
        """An entry of the device below."""
        return backend.entry(self.under, entry)

    def wrapped(self, found: Any, level: Any) -> Any:
        """One result of the device below, or several, as arrays of this one."""
        return tuple([self.kind(one, level) for one in found]) if type(found) is tuple else self.kind(found, level)


raws.makers.append(Device)


def _example_by_example(device: Device, entry: str, *arguments: Any) -> Any:
    """The rule of entries that have none of their own: a call for each example."""
    call, given = device.below(entry), [x for x in arguments if isinstance(x, Batched)]
    size, level = common(given)
    if entry in COUNTING and size != 1:
        raise Unbatchable(level)
    if size == 0:
        raise ShapeError(f"{entry}: takes at least one example within vmap. Leave empty batches out.")
    found = [call(*[_example(x, number) for x in arguments]) for number in range(size)]
    if type(found[0]) is tuple:
        return tuple([_stacked(device, parts, level) for parts in zip(*found)])
    return _stacked(device, found, level)


def _example(x: Any, number: int) -> Any:
    return x.under.slice(x.raw, (number if x.hidden != 1 else 0,)) if isinstance(x, Batched) else x


def _stacked(device: Device, parts: Sequence[Any], level: Any) -> Batched:
    under = device.under
    rows = [under.reshape(part, (1, *part.shape)) for part in parts]
    return device.kind(rows[0] if len(rows) == 1 else under.concatenate(rows, 0), level)
