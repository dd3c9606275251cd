"""Hooks of a module: around its forward, and at both ends of its way back."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..array import Tensor
from ..autograd import Function
from ..errors import DTypeError, GradError, described
from ..tape import is_recording

if TYPE_CHECKING:
    from .module import Module

class Hook(NamedTuple):
    """A hook, and how it is called."""

    call: Callable[..., Any]
    has_keywords: bool = False
    always: bool = False                                   # also after an error


Hooks = dict[int, Hook]
Gradients = tuple[Tensor | None, ...]


def checked(name: str, hook: Any, has_keywords: bool = False, always: bool = False) -> Hook:
    """A hook as it is kept."""
    if not callable(hook):
        raise DTypeError(f"{name}: {hook!r} is not a function. Give one of the module, and what it is told.")
    return Hook(hook, has_keywords, always)


def called(module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward`, its hooks around it."""
    waiting = {key: hook for key, hook in module._forward_hooks.items() if hook.always}
    try:
        return _called(module, args, kwargs, waiting)
    except Exception:
        for hook in waiting.values():
            _behind(hook, module, args, kwargs, None)
        raise


def _called(module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any], waiting: Hooks) -> Any:
    """`module.forward` with its hooks; those that are called leave `waiting`."""
    for hook in tuple(module._forward_pre_hooks.values()):
        found = hook.call(module, args, kwargs) if hook.has_keywords else hook.call(module, args)
        args, kwargs = _changed(module, found, hook.has_keywords, args, kwargs)
    ends = Ends(module) if module._backward_hooks or module._backward_pre_hooks else None
    args = args if ends is None else ends.enter(args)
    output = module.forward(*args, **kwargs)
    for key, hook in tuple(module._forward_hooks.items()):
        waiting.pop(key, None)
        changed = _behind(hook, module, args, kwargs, output)
        output = output if changed is None else changed
    return output if ends is None else ends.leave(output)


def _behind(hook: Hook, module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """What a hook after forward gives."""
    return hook.call(module, args, kwargs, output) if hook.has_keywords else hook.call(module, args, output)


def _changed(module: "Module", found: Any, has_keywords: bool, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments after a hook before forward."""
    if found is None:
        return args, kwargs
    if not has_keywords:
        return (found if isinstance(found, tuple) else (found,)), kwargs
    if not isinstance(found, tuple) or len(found) != 2:
        raise DTypeError(f"{type(module).__name__}: a forward_pre_hook with_kwargs gives a {type(found).__name__}. Let "
                         "it give None, or the pair of args and kwargs.")
    return found


# ------------------------------------------------------------------------------------------------- the way back
class module_input(Function):
    """The identity before a module, whose backward has the gradients of all inputs."""

    @staticmethod
    def forward(ctx: Any, ends: "Ends", *tensors: Tensor) -> Any:
        """The inputs."""
        ctx.ends = ends
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients after the hooks."""
        return None, *ctx.ends.at_inputs(gradients)


class module_output(Function):
    """The identity behind a module, whose backward has the gradients of all outputs."""

    @staticmethod
    def forward(ctx: Any, ends: "Ends", *tensors: Tensor) -> Any:
        """The outputs."""
        ctx.ends = ends
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients after the hooks."""
        return None, *ctx.ends.at_outputs(gradients)


class Ends:
    """Both ends of one call of a module, and the hooks that it had then."""

    def __init__(self, module: "Module") -> None:
        self.module = module
        self.before = [hook.call for hook in module._backward_pre_hooks.values()]
        self.behind = [hook.call for hook in module._backward_hooks.values()]
        self.inputs: list[int] = []              # places of what wants a gradient, among the positional arguments
        self.outputs: list[int] = []
        self.count, self.count_out = 0, 0
        self.arrived: Gradients | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments behind the first end."""
        self.count = len(args)
        self.inputs, placed = _through(module_input, self, args) if self.behind else ([], args)
        return tuple(placed)

    def leave(self, output: Any) -> Any:
        """The output behind the second end."""
        if not isinstance(output, (Tensor, tuple, list)):
            raise GradError(f"{type(self.module).__name__}: its output is a {type(output).__name__}, and it has hooks "
                            "for backward. Let forward give a tensor, or a tuple of them.")
        outputs = (output,) if isinstance(output, Tensor) else output
        self.count_out = len(outputs)
        self.outputs, placed = _through(module_output, self, outputs)
        if isinstance(output, Tensor):
            return placed[0]
        return type(output)(*placed) if hasattr(output, "_fields") else type(output)(placed)

    def at_outputs(self, gradients: Gradients) -> Sequence[Tensor | None]:
        """What hooks make of the gradients of outputs; where no input has one, all hooks are told now."""
        arrived = _spread(gradients, self.outputs, self.count_out)
        for hook in self.before:
            arrived = self._after(hook(self.module, arrived), arrived, "full_backward_pre_hook")
        self.arrived = arrived
        if not self.inputs:
            nothing: Gradients = (None,) * self.count
            for hook in self.behind:
                found = hook(self.module, nothing, arrived)
                if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                    raise GradError(f"{type(self.module).__name__}: a full_backward_hook gives gradients, and no input "
                                    "requires grad. Let it give None.")
        return [arrived[place] for place in self.outputs]

    def at_inputs(self, gradients: Gradients) -> Sequence[Tensor | None]:
        """What hooks make of the gradients of inputs; nothing, where these do not come from the outputs.

        (As in a second derivative, which reaches the inputs from inside the module.)
        """
        found, arrived, self.arrived = _spread(gradients, self.inputs, self.count), self.arrived, None
        if arrived is None:
            return gradients
        for hook in self.behind:
            found = self._after(hook(self.module, found, arrived), found, "full_backward_hook")
        return [found[place] for place in self.inputs]

    def _after(self, changed: Any, gradients: Gradients, name: str) -> Gradients:
        """The gradients after a hook."""
        if changed is None:
            return gradients
        found = changed if isinstance(changed, tuple) else (changed,)
        if len(found) != len(gradients):
            raise GradError(f"{type(self.module).__name__}: a {name} gives {len(found)} gradients instead of "
                            f"{len(gradients)}. Let it give None, or one for each.")
        for number, (new, old) in enumerate(zip(found, gradients)):
            if new is not None and old is not None and described(new) != described(old):
                raise GradError(f"{type(self.module).__name__}: a {name} gives {described(new)} as gradient {number}, "
                                f"which is {described(old)}. Let it give None, or one like it.")
        return found


def _through(end: type[Function], ends: Ends, values: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The places of tensors that want a gradient, and all values with those led through an end."""
    places = [place for place, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad and is_recording()]
    placed = list(values)
    if places:
        for place, x in zip(places, end.apply(ends, *[values[place] for place in places])):
            placed[place] = x
    return places, placed


def _spread(gradients: Gradients, places: Sequence[int], count: int) -> Gradients:
    """Gradients at their places, None elsewhere."""
    at = dict(zip(places, gradients))
    return tuple([at.get(place) for place in range(count)])
