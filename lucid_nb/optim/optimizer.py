"""Optimizer: parameter groups, per-parameter state, and the walk over both."""

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from .. import backend
from ..array import Tensor
from ..creation import asarray, zeros_like
from ..errors import ConfigError, GradError, ShapeError, StateError, told
from ..tape import grad_mode
from .hooks import Hooked, hooked
from .step import compute_dtype

Group = dict[str, Any]
Choice = bool | None          # PyTorch's foreach and fused, which are accepted: a step is fused wherever it can be
CHOICES = ("foreach", "fused", "capturable")
# What a group may hold beside an optimizer's settings: names, and what schedules remember.
OTHERS = {"params", "param_names", "name", "initial_lr", "min_lr", "max_lr", "swa_lr", "base_momentum", "max_momentum",
          "differentiable", *CHOICES}


class Optimizer(Hooked):
    """Base of the optimizers: a subclass gives `defaults` and `update(param, gradient, state, group)`.

    `params` are tensors, pairs (name, tensor), or dicts with "params" and settings that differ from the defaults.
    `state` holds what is remembered of each parameter, `steps` counts the calls of `step`.

    >>> class Signs(lnb.optim.Optimizer):
    ...     def update(self, param, gradient, state, group):
    ...         return param - group["lr"] * lnb.sign(gradient)
    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Signs([x], {"lr": 0.5}).step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults, self.param_groups = defaults, []  # type: tuple[dict[str, Any], list[Group]]
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.steps = 0
        if isinstance(params, Tensor):
            raise ConfigError(f"{type(self).__name__}: params is one tensor. Pass a list of them.")
        groups = list_of(type(self).__name__, params)
        if not groups:
            raise ConfigError(f"{type(self).__name__}: no parameters. Pass model.parameters() of a model that has any.")
        for group in groups if any(isinstance(group, dict) for group in groups) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with their own settings; the defaults fill in what is missing.

        A wrong group is refused with ConfigError or GradError, and the optimizer stays as it was.
        """
        name = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            found = f"has the keys {list(param_group)}" if isinstance(param_group, dict) else \
                f"is a {type(param_group).__name__}"
            raise ConfigError(f"{name}: a group {found}. Pass dicts with 'params', or parameters only.")
        group = {key: plain(value) for key, value in {**self.defaults, **param_group}.items()}
        strange = [key for key in group if key not in self.defaults and key not in OTHERS]
        if strange:
            raise ConfigError(f"{name}: a group has the setting {strange[0]!r}. Use {', '.join(self.defaults)}; put "
                              "what is your own into param_groups afterwards.")
        group.update(self._split_names(group["params"]))
        known = {id(param) for other in self.param_groups for param in other["params"]}
        for param in group["params"]:
            self._check_param(param, known)
            known.add(id(param))
        self._check_group(group)
        self.param_groups.append(group)

    def _split_names(self, params: Any) -> dict[str, list[Any]]:
        """The parameters of a group, and their names where it gives pairs."""
        params = [params] if isinstance(params, Tensor) else list_of(type(self).__name__, params)
        is_pair = [isinstance(param, tuple) and len(param) == 2 for param in params]
        if not any(is_pair):
            return {"params": params}
        if not all(is_pair):
            raise ConfigError(f"{type(self).__name__}: some parameters have names, others none. Name all or none.")
        return {"params": [param for _, param in params], "param_names": [name for name, _ in params]}

    def _check_group(self, group: Group) -> None:
        """Refuse settings that no optimizer has, then those of this one that are out of range."""
        if group.get("differentiable"):
            raise ConfigError(f"{type(self).__name__}: differentiable is True. Leave it out: a step is not recorded.")
        self.check(group)

    def _check_param(self, param: Any, known: set[int]) -> None:
        name = type(self).__name__
        if not isinstance(param, Tensor):
            raise ConfigError(f"{name}: a parameter is a {type(param).__name__}. Pass tensors.")
        if id(param) in known:
            raise ConfigError(f"{name}: a parameter of shape {param.shape} is given twice. Pass each once.")
        if not param.is_leaf:
            raise GradError(f"{name}: a tensor of shape {param.shape} is computed from others. Optimize those.")

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range."""

    def check_saved(self, param: Tensor, state: Mapping[str, Any]) -> None:
        """Refuse a saved state that cannot be this parameter's."""

    def refuse_negative(self, group: Group, *names: str) -> None:
        """ConfigError unless these settings are numbers of 0 or more."""
        for name in names:
            self.refuse(group, name, lambda value: value >= 0, "a number of 0 or more")

    def refuse_betas(self, group: Group) -> None:
        """ConfigError unless `betas` are two numbers of 0 or more, below 1."""
        self.refuse(group, "betas", lambda betas: len(betas) == 2 and all(0 <= beta < 1 for beta in betas),
                    "two numbers of 0 or more, below 1")

    def refuse(self, group: Group, name: str, allowed: Callable[[Any], Any], words: str) -> None:
        """ConfigError unless the setting is allowed."""
        refuse(type(self).__name__, name, group[name], allowed, words)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or with set_to_none=False fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = None if set_to_none else zeros_like(param.grad)

    @hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; `closure`, if given, computes the loss anew first."""
        loss = None
        if closure is not None:
            with grad_mode(True):
                loss = closure()
        with grad_mode(False):
            for group in self.param_groups:
                self.step_group(group)
            evaluate(self._all())
        self.steps += 1
        return loss

    def step_group(self, group: Group) -> None:
        """Update the parameters of a group that have a gradient."""
        for param in group["params"]:
            if param.grad is not None:
                new = self.update(param, param.grad, self.state.setdefault(param, {}), group)
                param.write(new, f"{type(self).__name__}.step")

    def update(self, param: Tensor, gradient: Tensor, state: dict[str, Any], group: Group) -> Tensor:
        """The new value of one parameter, after renewing its state; nothing is recorded."""
        raise NotImplementedError(f"{type(self).__name__}: update is missing. Return the new value of the parameter.")

    def state_dict(self) -> dict[str, Any]:
        """Settings and state, with parameters numbered in the order in which they were given."""
        self._tell("state_dict_pre")
        numbers = {id(param): number for number, param in enumerate(self._all())}
        groups = [{**group, "params": [numbers[id(param)] for param in group["params"]]} for group in self.param_groups]
        found = {"state": {numbers[id(param)]: dict(state) for param, state in self.state.items()},
                 "param_groups": groups}
        return cast(dict[str, Any], self._passed("state_dict_post", found))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over settings and state; arrays are cast to their parameter's dtype and copied to its device.

        What does not fit is refused with StateError, ShapeError or ConfigError, and everything stays as it was.
        """
        state_dict = self._passed("load_state_dict_pre", state_dict)
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= state_dict.keys():
            found = list(state_dict) if isinstance(state_dict, Mapping) else type(state_dict).__name__
            raise StateError(f"load_state_dict: the state is {found}. Pass what state_dict() gave.")
        saved = state_dict["param_groups"]
        if not isinstance(saved, list | tuple) or not all(isinstance(group, Mapping) and isinstance(
                group.get("params"), list | tuple) for group in saved):
            raise StateError(f"load_state_dict: param_groups are {told(saved)}. Pass what state_dict() gave.")
        sizes, own = [len(group["params"]) for group in saved], [len(group["params"]) for group in self.param_groups]
        if sizes != own:
            raise ShapeError(f"load_state_dict: groups of {sizes} parameters for an optimizer with {own}. "
                             "Load into an optimizer of the same parameters.")
        settings = [{key: copy.deepcopy(plain(value)) for key, value in other.items() if key != "params"}
                    for other in saved]
        for group, given in zip(self.param_groups, settings):
            self._check_group({**group, **given})
        self.state = {param: {key: take_over(value, param) for key, value in state.items()}
                      for param, state in self._owned(state_dict["state"])}
        for group, given in zip(self.param_groups, settings):
            group.update(given)
        self._tell("load_state_dict_post")

    def _owned(self, states: Any) -> list[tuple[Tensor, Mapping[str, Any]]]:
        """The saved state of each parameter that has one, after checking that it is one."""
        params = self._all()
        if not isinstance(states, Mapping) or not all(isinstance(state, Mapping) for state in states.values()):
            raise StateError(f"load_state_dict: state is {told(states)}. Pass what state_dict() gave.")
        strange = [key for key in states if not str(key).isdecimal() or int(key) >= len(params)]
        if strange:
            raise StateError(f"load_state_dict: state of parameters {told(strange)}, of {len(params)} that there are. "
                             "Load into an optimizer of the same parameters.")
        owned = [(params[int(key)], state) for key, state in states.items()]
        for param, state in owned:
            self.check_saved(param, state)
        return owned

    def _all(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [param for group in self.param_groups for param in group["params"]]

    def __repr__(self) -> str:
        lines = [f"  group {number}: " + ", ".join(f"{key}={value}" for key, value in group.items() if key != "params")
                 for number, group in enumerate(self.param_groups)]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)"


def refuse(op: str, name: str, value: Any, allowed: Callable[[Any], Any], words: str) -> None:
    """ConfigError unless the value is allowed; one that cannot even be tested, such as a text, is not."""
    try:
        is_allowed = bool(allowed(value))
    except (TypeError, ValueError, OverflowError):
        is_allowed = False
    if not is_allowed:
        raise ConfigError(f"{op}: {name} is {told(value)}. Use {words}.")


def list_of(op: str, params: Any) -> list[Any]:
    """The parameters, or groups, of an iterable."""
    try:
        return list(params)
    except TypeError:
        raise ConfigError(f"{op}: params is a {type(params).__name__}. Pass a list of tensors.") from None


def plain(value: Any) -> Any:
    """A setting as a Python number where it is an array of one element."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def take_over(value: Any, param: Tensor) -> Any:
    """A saved value for this parameter: arrays become tensors of its device and dtype, anything else is copied."""
    if isinstance(value, list | tuple):
        return [take_over(part, param) for part in value]
    if not getattr(value, "ndim", 0) and (isinstance(value, bool | int | float) or param.ndim
                                          or not hasattr(value, "ndim")):
        return copy.deepcopy(plain(value))
    with grad_mode(False):
        return asarray(value).to(param.device).astype(compute_dtype(param.dtype)).copy()


def evaluate(params: Iterable[Tensor]) -> None:
    """Start computing what a lazy device has put off, or each step would keep the graph of all steps before it.

    Nobody waits: the next step is recorded meanwhile.
    """
    for raw in {type(param.raw): param.raw for param in params}.values():
        table = backend.of(raw)
        if not table.aliases:
            table.start()
