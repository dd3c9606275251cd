"""Module: parameters, buffers and submodules under one name each, and what is done to all of them at once."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from .. import dtypes
from ..array import Tensor
from ..errors import ConfigError
from ..fusion.watching import MODAL
from ..tape import Handle
from . import hooks, state
from .members import Members


class Module(Members):
    """Base of all layers: a subclass calls `super().__init__()`, assigns parameters and modules, and gives `forward`.

    >>> class Scale(lnb.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = lnb.nn.Parameter(np.float32([2, 3]))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> scale = Scale()
    >>> [name for name, _ in scale.named_parameters()]
    ['factor']
    >>> scale(np.float32([1, 1])).tolist()
    [2.0, 3.0]
    """

    training: bool
    _unsaved: ClassVar[frozenset[str]] = frozenset()         # members that the state leaves out
    _may_lack: ClassVar[frozenset[str]] = frozenset()        # buffers that a state need not have
    _forward_hooks: hooks.Hooks
    _forward_pre_hooks: hooks.Hooks
    _backward_hooks: hooks.Hooks
    _backward_pre_hooks: hooks.Hooks
    _state_hooks: dict[str, dict[int, Callable[..., Any]]]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _transient=set(), _derived={},
                             _forward_hooks={}, _forward_pre_hooks={}, _backward_hooks={}, _backward_pre_hooks={},
                             _state_hooks={moment: {} for moment in state.MOMENTS})

    # ------------------------------------------------------------------------------------------------- calling
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__}: forward is missing. Define what the module computes.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return hooks.called(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> Handle:
        """Call `hook(module, args, output)` after each forward; what it returns, unless None, replaces the output.

        `prepend`: before the hooks there are. `with_kwargs`: `hook(module, args, kwargs, output)`. `always_call`: also
        after an error, with None for the output.
        """
        kept = hooks.checked("register_forward_hook", hook, with_kwargs, always_call)
        return Handle(self._forward_hooks, kept, prepend)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                                  with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args)` before each forward; what it returns, unless None, replaces the arguments.

        `prepend`: before the hooks there are. `with_kwargs`: `hook(module, args, kwargs)`, which may give the pair.
        """
        return Handle(self._forward_pre_hooks, hooks.checked("register_forward_pre_hook", hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when backward has come through the module.

        Both are tuples, of the positional arguments and of the outputs, None for what has no gradient. A tuple that it
        returns replaces `grad_input`. `prepend`: before the hooks there are.
        """
        return Handle(self._backward_hooks, hooks.checked("register_full_backward_hook", hook), prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` before backward goes through the module; a tuple replaces `grad_output`."""
        return Handle(self._backward_pre_hooks, hooks.checked("register_full_backward_pre_hook", hook), prepend)

    # ----------------------------------------------------------------------------------------------- all at once
    def apply(self, function: "Callable[[Module], Any]") -> Self:
        """Call `function` on all modules below, then on this one."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set the training mode of this module and all below."""
        for module in self.modules():
            module.__dict__["training"] = bool(mode)
        return self

    def eval(self) -> Self:
        """Leave the training mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze all parameters, or thaw them."""
        for param in self.parameters():
            param.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with set_to_none=False fill them with zeros."""
        for param in self.parameters():
            param.grad = None if set_to_none or param.grad is None else param.grad.detach() * 0

    def reset_parameters(self) -> None:
        """Let the modules directly below draw their parameters anew; this one's own stay where it does not say how."""
        for child in self.children():
            child.reset_parameters()

    def to(self, *targets: Any, device: str | None = None, dtype: Any = None, non_blocking: bool = False) -> Self:
        """Move all parameters and buffers to a device, or cast the floating ones to a dtype, in place.

        A tensor among the targets gives its own device and dtype; `non_blocking` is accepted. Optimizers and other
        holders of the parameters go on with the same objects. DTypeError if the dtype is not floating.
        """
        for target in targets:
            if isinstance(target, Tensor):
                device, dtype = target.device, target.dtype
            elif isinstance(target, str) and target not in dtypes.NAMES:
                device = target
            elif target is not None:
                dtype = target
        state.move(self, device, dtype)
        return self

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """Move to the GPU."""
        return self.to("cuda")

    def to_empty(self, *, device: str, recurse: bool = True) -> Self:
        """Move to a device, parameters and buffers with undefined content, without copying what they hold."""
        state.empty_on(self, device, recurse)
        return self

    def type(self, dst_type: Any) -> Self:
        """Cast the floating parameters and buffers to a dtype."""
        return self.to(dtype=dst_type)

    def float(self) -> Self:
        """Cast to float32."""
        return self.to("float32")

    def double(self) -> Self:
        """Cast to float64."""
        return self.to("float64")

    def half(self) -> Self:
        """Cast to float16."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """Cast to bfloat16."""
        return self.to("bfloat16")

    # ---------------------------------------------------------------------------------------------------- state
    def state_dict(self, destination: dict[str, Tensor] | None = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Tensor]:
        """All parameters and persistent buffers by dotted name, sharing memory with the module.

        Detached, unless `keep_vars`. The keys are PyTorch's.
        """
        return state.collect(self, {} if destination is None else destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> "LoadResult":
        """Write Tensors or NumPy arrays into the parameters and buffers, cast to their dtypes.

        `assign`: what is given takes their place instead, uncopied, on its device and in its dtype. StateError if, with
        `strict`, keys are missing or unexpected; ShapeError if a shape differs; DTypeError if an imaginary part would
        be lost. Nothing is written then. Returns the missing and the unexpected keys.
        """
        result = LoadResult(*state.load(self, state_dict, strict, assign))
        for module in self.modules():
            for hook in tuple(module._state_hooks["loaded"].values()):
                hook(module, result)
        return result

    def get_extra_state(self) -> Any:
        """What a subclass wants saved besides tensors: it defines this and set_extra_state."""
        raise ConfigError(f"{type(self).__name__}: get_extra_state is missing. Define it beside set_extra_state.")

    def set_extra_state(self, state: Any) -> None:
        """Take up what get_extra_state gave."""
        raise ConfigError(f"{type(self).__name__}: set_extra_state is missing. Define it beside get_extra_state.")

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, prefix, keep_vars)` before the module gives its state."""
        return self._register_state_hook("register_state_dict_pre_hook", "saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, state_dict, prefix, metadata)` when the module gave its state, which it may change."""
        return self._register_state_hook("register_state_dict_post_hook", "saved", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, state, prefix, metadata, strict, missing, unexpected, errors)` before a state is read.

        It may change `state`, which is a copy, and add to the lists.
        """
        return self._register_state_hook("register_load_state_dict_pre_hook", "loading", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, result)` when a state is read; `result` has the lists missing_keys and unexpected_keys."""
        return self._register_state_hook("register_load_state_dict_post_hook", "loaded", hook)

    def _register_state_hook(self, name: str, moment: str, hook: Any) -> Handle:
        return Handle(self._state_hooks[moment], hooks.checked(name, hook)[0])

    # ------------------------------------------------------------------------------------------------------ text
    def extra_repr(self) -> str:
        """What `repr` shows in the brackets."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra, name = self.extra_repr(), type(self).__name__
        if not lines and "\n" not in extra:
            return f"{name}({extra})"
        return f"{name}(\n" + "".join(f"  {line}\n" for line in [*extra.split("\n"), *lines] if line) + ")"


class LoadResult(NamedTuple):
    """The keys that `load_state_dict` did not find, and those that it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


MODAL.append(Module)
Layer = TypeVar("Layer", bound=type[Module])


def auto_repr(*attr_names: str) -> Callable[[Layer], Layer]:
    """Decorate a class of modules: its `repr` shows these attributes.

    >>> @lnb.nn.auto_repr("size")
    ... class Scale(lnb.nn.Module):
    ...     size = 3
    >>> Scale()
    Scale(size=3)
    """
    def decorated(kind: Layer) -> Layer:
        kind.extra_repr = lambda self: ", ".join(  # type: ignore[method-assign]
            f"{name}={getattr(self, name, None)}" for name in attr_names)
        return kind
    return decorated


def set_state_dict_pass_attr(*attr_names: str) -> Callable[[Layer], Layer]:
    """Decorate a class of modules: its state leaves out these parameters, buffers and submodules.

    >>> @lnb.nn.set_state_dict_pass_attr("table")
    ... class Half(lnb.nn.Linear):
    ...     def __init__(self):
    ...         super().__init__(2, 2)
    ...         self.table = lnb.nn.Buffer([1.0])
    >>> list(Half().state_dict())
    ['weight', 'bias']
    """
    def decorated(kind: Layer) -> Layer:
        kind._unsaved = frozenset(attr_names)
        return kind
    return decorated
