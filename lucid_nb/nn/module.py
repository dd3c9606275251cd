"""Module: parameters, buffers and submodules under one name each, and what is done to all of them at once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from .. import dtypes
from ..array import Tensor
from ..errors import ConfigError, DTypeError
from ..fusion.watching import MODAL
from ..tape import Handle
from . import hooks, state
from .parameter import Buffer, Parameter


class Module:
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
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, "Module | None"]
    _transient: set[str]
    _forward_hooks: hooks.Hooks
    _forward_pre_hooks: hooks.Hooks
    _backward_hooks: hooks.Hooks
    _backward_pre_hooks: hooks.Hooks

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _transient=set(),
                             _forward_hooks={}, _forward_pre_hooks={}, _backward_hooks={}, _backward_pre_hooks={})

    # ------------------------------------------------------------------------------------------------- calling
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__}: forward is missing. Define what the module computes.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return hooks.called(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                              with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args, output)` after each forward; what it returns, unless None, replaces the output.

        `prepend`: before the hooks there are. `with_kwargs`: `hook(module, args, kwargs, output)`.
        """
        return Handle(self._forward_hooks, hooks.checked("register_forward_hook", hook, with_kwargs), prepend)

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

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` before backward goes through the module; a tuple replaces `grad_output`."""
        return Handle(self._backward_pre_hooks, hooks.checked("register_full_backward_pre_hook", hook), prepend)

    # ---------------------------------------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            raise ConfigError(f"{type(self).__name__}: {name!r} is assigned before the module is set up. "
                              "Call super().__init__() first.")
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        elif isinstance(value, Buffer) or (name in self._buffers and (value is None or isinstance(value, Tensor))):
            self.register_buffer(name, value, name not in self._transient)
        elif name in self._parameters or name in self._modules:
            self._replace(name, value)
        else:
            self._forget(name)
            self.__dict__[name] = value

    def _replace(self, name: str, value: Any) -> None:
        """A parameter or module may be switched off by None; anything else in its place is a mistake."""
        kind = "parameter" if name in self._parameters else "module"
        if value is not None:
            raise DTypeError(f"{type(self).__name__}: {name!r} is a {kind} and cannot become a {type(value).__name__}. "
                             f"Assign a {kind} or None, or delete it first.")
        (self._parameters if name in self._parameters else self._modules)[name] = None

    def __getattr__(self, name: str) -> Any:
        for members in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(members, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name: str) -> bool:
        """Take a name out of every table; whether it was in one."""
        tables = (self._parameters, self._buffers, self._modules)
        found = [table for table in tables if name in table]
        for table in found:
            del table[name]
        self._transient.discard(name)
        return bool(found)

    def _register(self, table: dict[str, Any], name: str, value: Any) -> None:
        if not name or "." in name:
            raise ConfigError(f"{type(self).__name__}: {name!r} cannot name a member. Use a word without dots.")
        if name not in table:
            self._forget(name)
            self.__dict__.pop(name, None)
        table[name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under this name; None keeps the name for later."""
        if param is not None and not isinstance(param, Parameter):
            raise DTypeError(f"register_parameter: {name!r} is a {type(param).__name__}. Wrap it in nn.Parameter.")
        self._register(self._parameters, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is moved and saved with the module but not trained; not saved unless `persistent`."""
        self._register(self._buffers, name, tensor if tensor is None or isinstance(tensor, Tensor) else Buffer(tensor))
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a submodule under this name."""
        if module is not None and not isinstance(module, Module):
            raise DTypeError(f"add_module: {name!r} is a {type(module).__name__}. Pass an nn.Module.")
        self._register(self._modules, name, module)

    register_module = add_module

    # ----------------------------------------------------------------------------------------------- traversal
    def named_modules(self, prefix: str = "") -> "Iterator[tuple[str, Module]]":
        """This module and all below it, each once, by dotted name."""
        seen: set[int] = set()
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            below = [(f"{path}.{name}" if path else name, child) for name, child in module._modules.items()
                     if child is not None]
            pending.extend(reversed(below))

    def _named(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        """The members of one table by dotted name, each object once."""
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, item in getattr(module, table).items():
                if item is not None and id(item) not in seen:
                    seen.add(id(item))
                    yield (f"{path}.{name}" if path else name), item

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters by dotted name, shared ones once."""
        return self._named("_parameters", prefix, recurse)

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers by dotted name."""
        return self._named("_buffers", prefix, recurse)

    def named_children(self) -> "Iterator[tuple[str, Module]]":
        """The modules directly below, by name."""
        return self._named("_modules", "", recurse=False)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, shared ones once."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def children(self) -> "Iterator[Module]":
        """The modules directly below."""
        return (module for _, module in self.named_children())

    def modules(self) -> "Iterator[Module]":
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def get_submodule(self, target: str) -> "Module":
        """The module of a dotted name; "" is this one."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name) if isinstance(module, Module) else None
            if module is None:
                raise AttributeError(f"{type(self).__name__!r} has no submodule {target!r}")
        return module

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

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for param in self.parameters():
            param.grad = None

    def to(self, *targets: Any, device: str | None = None, dtype: Any = None) -> Self:
        """Move all parameters and buffers to a device, or cast the floating ones to a dtype, in place.

        Optimizers and other holders of the parameters go on with the same objects. DTypeError if the dtype is not
        floating.
        """
        for target in targets:
            if isinstance(target, str) and target not in dtypes.NAMES:
                device = target
            else:
                dtype = target
        state.move(self, device, dtype)
        return self

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

    def count_parameters(self, recurse: bool = True) -> int:
        """The number of trainable elements."""
        return sum(param.size for param in self.parameters(recurse) if param.requires_grad)

    # ---------------------------------------------------------------------------------------------------- state
    def state_dict(self, destination: dict[str, Tensor] | None = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Tensor]:
        """All parameters and persistent buffers by dotted name, sharing memory with the module.

        Detached, unless `keep_vars`. The keys are PyTorch's.
        """
        return state.collect(self, {} if destination is None else destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> "LoadResult":
        """Write Tensors or NumPy arrays into the parameters and buffers, cast to their dtypes.

        StateError if, with `strict`, keys are missing or unexpected; ShapeError if a shape differs; DTypeError if an
        imaginary part would be lost. Nothing is written then. Returns the missing and the unexpected keys.
        """
        return LoadResult(*state.load(self, state_dict, strict))

    # ------------------------------------------------------------------------------------------------------ text
    def extra_repr(self) -> str:
        """What `repr` shows in the brackets."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra, name = self.extra_repr(), type(self).__name__
        if not lines:
            return f"{name}({extra})"
        return f"{name}(\n" + "".join(f"  {line}\n" for line in [extra, *lines] if line) + ")"


class LoadResult(NamedTuple):
    """The keys that `load_state_dict` did not find, and those that it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


MODAL.append(Module)
