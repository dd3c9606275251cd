"""Functions that read their arguments on the host: within `vmap`, and of tensors on one device alone."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import backend
from ..array import Tensor, fresh
from ..batched import taken_apart
from ..errors import DeviceError
from ..register import functions

Result = TypeVar("Result", bound=Callable[..., Any])


def holds_anywhere(condition: Tensor) -> bool:
    """Does it hold for an element, of any example of `vmap`?"""
    memory, levels = taken_apart(condition.raw)
    return bool(functions["any"](fresh(memory) if levels else condition).item())


def host_of_all(x: Tensor) -> np.ndarray:
    """The content on the host; within `vmap` that of all examples, in no order that an example would know."""
    memory, levels = taken_apart(x.raw)
    found: np.ndarray = backend.of(memory).to_numpy(memory) if levels else x.to_host()
    return found


def check_one_device(op: str, *given: Any) -> None:
    """Refuse operands, some in lists, on two devices, as if they were not read on the host. Integers may be anywhere:
    they are positions, classes or counts."""
    flat = [x for one in given for x in (one if type(one) in (list, tuple) else (one,))]
    found = list(dict.fromkeys([x.device for x in flat if isinstance(x, Tensor) and x.dtype.kind not in "iu"]))
    if len(found) > 1:
        raise DeviceError(f"{op}: operands live on {found[0]} and {found[1]}. Use .to({found[0]!r}) on one of them.")


def hosted(function: Result) -> Result:
    """Let a function that reads its arguments on the host have a rule, or run for each example of `vmap` by itself."""
    @functools.wraps(function)
    def outside(*arguments: Any, **keywords: Any) -> Any:
        check_one_device(function.__name__, *arguments, *keywords.values())
        try:
            return function(*arguments, **keywords)
        except backend.Unbatchable as reason:
            return backend.batching.instead("hosted", reason, outside, arguments, keywords)
    return outside  # type: ignore[return-value]
