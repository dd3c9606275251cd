"""Functions that read their arguments on the host, within `vmap`."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import backend
from ..array import Tensor, fresh
from ..batched import taken_apart
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


def hosted(function: Result) -> Result:
    """Let a function that reads its arguments on the host have a rule, or run for each example of `vmap` by itself."""
    @functools.wraps(function)
    def outside(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except backend.Unbatchable as reason:
            return backend.batching.instead("hosted", reason, outside, arguments, keywords)
    return outside  # type: ignore[return-value]
