"""Hooks of an optimizer: around its step, and around its state being saved and loaded."""

import functools
from collections.abc import Callable
from typing import Any

from ..errors import ConfigError, DTypeError, told
from ..tape import Handle

Hook = Callable[..., Any]


class Hooked:
    """Base of what has such hooks. They belong to the object alone: neither pickles nor copies take them along."""

    def _hooks(self, moment: str) -> dict[int, Hook]:
        """The hooks of a moment, in the order in which they are called."""
        hooks: dict[int, Hook] = self.__dict__.setdefault("_hooks_at", {}).setdefault(moment, {})
        return hooks

    def _tell(self, moment: str) -> None:
        """Call the hooks of a moment with this object."""
        for hook in tuple(self._hooks(moment).values()):
            hook(self)

    def _passed(self, moment: str, state: Any) -> Any:
        """A state after the hooks of a moment, each of which may give another."""
        for hook in tuple(self._hooks(moment).values()):
            found = hook(self, state)
            state = state if found is None else found
        return state

    def _hang(self, moment: str, hook: Any, prepend: bool = False) -> Handle:
        if not callable(hook):
            raise DTypeError(f"register_{moment}_hook: {told(hook)} is not a function. Give one of the optimizer.")
        return Handle(self._hooks(moment), hook, prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hooks_at"}

    def register_step_pre_hook(self, hook: Hook) -> Handle:
        """Call hook(optimizer, args, kwargs) before each step; it may give other (args, kwargs).

        As in PyTorch the first of `args` is the optimizer itself.
        """
        return self._hang("step_pre", hook)

    def register_step_post_hook(self, hook: Hook) -> Handle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return self._hang("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call hook(optimizer) before `state_dict` collects."""
        return self._hang("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) with what `state_dict` collected; it may give another."""
        return self._hang("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) before `load_state_dict` checks it; it may give another."""
        return self._hang("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call hook(optimizer) after `load_state_dict` has taken a state over."""
        return self._hang("load_state_dict_post", hook, prepend)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `step`: tells the hooks before and after."""
    @functools.wraps(step)
    def told_step(self: Any, *others: Any, **kwargs: Any) -> Any:
        if "_hooks_at" not in self.__dict__:
            return step(self, *others, **kwargs)
        args = (self, *others)
        for hook in tuple(self._hooks("step_pre").values()):
            found = hook(self, args, kwargs)
            if found is not None and not (isinstance(found, tuple) and len(found) == 2):
                raise ConfigError(f"{type(self).__name__}.step: a hook gave {told(found)}. Give (args, kwargs), or "
                                  "None.")
            args, kwargs = (args, kwargs) if found is None else found
        result = step(*args, **kwargs)
        for hook in tuple(self._hooks("step_post").values()):
            hook(self, args, kwargs)
        return result
    return told_step
