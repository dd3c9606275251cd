"""Optimizers whose update is one formula: all parameters of a group in one pass or one program."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import backend
from ..array import Tensor
from ..creation import full_like
from ..dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64
from ..errors import StateError, told
from ..tape import user_place
from .optimizer import Group, Optimizer
from .step import Step, compute_dtype

FUSED = (FLOAT32, FLOAT64)
# Parts of the state that only some settings have, which may be changed between saving and loading.
OPTIONAL = ("max_exp_avg_sq", "grad_avg", "momentum_buffer")
FUSED_HERE = (*FUSED, COMPLEX64, COMPLEX128)
Rule = tuple[Step, Sequence[str], tuple[float, ...]]
# A parameter's part in a step: its state and the names of what is renewed of it, arrays, formula and numbers.
Item = tuple[Tensor, dict[str, Any], Sequence[str], list[Any], Step, tuple[float, ...]]


def next_step(state: dict[str, Any]) -> int:
    """Count a step of a parameter; gives its number, from 1 on."""
    state["step"] = number = int(state.get("step", 0)) + 1
    return number


class RuleOptimizer(Optimizer):
    """Base of the optimizers that give `rule(state, group)` instead of `update`.

    `parts` names the arrays of their state; `scalars` what else they remember of a parameter.
    """

    parts: Sequence[str] = ()
    scalars: Sequence[str] = ("step",)

    def rule(self, state: dict[str, Any], group: Group) -> Rule:
        """The formula of the next step, the names of the state that it reads and renews, and its numbers."""
        raise NotImplementedError(f"{type(self).__name__}: rule is missing. Return a step, names and numbers.")

    def step_group(self, group: Group) -> None:
        """Update the parameters of a group that have a gradient."""
        items = []
        for param in group["params"]:
            gradient = param.grad
            if gradient is None:
                continue
            state = self.state.get(param)
            if state is None:
                state = self.state[param] = {}
            step, names, numbers = self.rule(state, group)
            raws = [param.refresh().raw, gradient.refresh().raw, *self._parts(param, state, group, names)]
            items.append((param, state, names, raws, step, numbers))
        step_all(f"{type(self).__name__}.step", items)

    def initial(self, name: str, group: Group) -> complex:
        """What the elements of a part of the state are before the first step."""
        return 0

    def _parts(self, param: Tensor, state: dict[str, Any], group: Group, names: Sequence[str]) -> Iterator[Any]:
        """The arrays of the state, new ones where it has none yet."""
        for name in names:
            part = state.get(name)
            if part is None:
                value = self.initial(name, group)
                value = complex(value, value) if param.dtype.kind == "c" else value
                part = state[name] = full_like(param, value, dtype=compute_dtype(param.dtype))
            elif type(part) is not Tensor or part.shape != param.shape:
                raise _misfit(f"{type(self).__name__}.step", name, part, param.shape)
            yield part.raw

    def check_saved(self, param: Tensor, state: Mapping[str, Any]) -> None:
        """Refuse arrays that lack or are not like their parameter: a step is one pass over all of them."""
        for name, value in state.items():
            if name not in (*self.parts, *self.scalars):
                raise StateError(f"load_state_dict: {name} is no state of {type(self).__name__}, which has "
                                 f"{', '.join((*self.scalars, *self.parts))}. Load what the same kind saved.")
            if name in self.scalars and not _is_number(value):
                raise StateError(f"load_state_dict: {name} is {told(value)}. Load a state in which it is a number.")
            if getattr(value, "ndim", 0) and value.shape != param.shape:
                raise _misfit("load_state_dict", name, value, param.shape)
        lacking = [name for name in self.parts if name not in OPTIONAL and state.get(name) is None]
        if state and lacking:
            raise StateError(f"load_state_dict: the state of a parameter lacks {', '.join(lacking)}, and has "
                             f"{', '.join(map(str, state))}. Load the whole state that {type(self).__name__} saved.")


def step_all(op: str, items: Sequence[Item]) -> None:
    """Renew parameters and states, in one pass over all that have a formula, numbers, device and dtype in common."""
    sets: dict[tuple[Any, ...], list[list[Any]]] = {}
    others: dict[tuple[Any, ...], list[Item]] = {}
    written = []
    for item in items:
        param, _, _, raws, step, numbers = item
        if _is_plain(raws):
            sets.setdefault((step, raws[0].dtype, numbers), []).append(raws)
            written.append(param)
        else:
            others.setdefault((step, backend.of(raws[0]), compute_dtype(param.dtype), numbers), []).append(item)
    for (step, _, numbers), arrays in sets.items():
        step.in_place(backend.of(arrays[0][0]), arrays, numbers)
    _mark(written, op)
    for (step, table, _, numbers), waiting in others.items():
        _replace(op, waiting, step.renewed(table, [raws for _, _, _, raws, _, _ in waiting], numbers))


def _replace(op: str, waiting: Sequence[Item], renewed: Sequence[Sequence[Any]]) -> None:
    """Write new values into parameters, and replace their state."""
    for (param, state, names, *_), (new, *parts) in zip(waiting, renewed, strict=True):
        state.update(zip(names, map(Tensor, parts)))
        param.write(Tensor(new), op)


def _misfit(op: str, name: str, value: Any, shape: tuple[int, ...]) -> StateError:
    """The error of a part of the state that is no array like its parameter."""
    found = f"has shape {tuple(value.shape)}" if hasattr(value, "shape") else f"is a {type(value).__name__}"
    return StateError(f"{op}: {name} {found} for a parameter of shape {shape}. Load the state of the same parameters.")


def _is_number(value: Any) -> bool:
    """Is this one finite number?"""
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _is_plain(raws: list[Any]) -> bool:
    """Are these arrays of one floating dtype that one pass over memory may overwrite?"""
    if type(raws[0]) is not np.ndarray:
        return _is_plain_elsewhere(raws)
    if raws[0].dtype not in FUSED_HERE or not raws[0].flags.writeable:
        return False
    dtype = raws[0].dtype
    return all([raw.flags.c_contiguous and (raw.dtype is dtype or raw.dtype == dtype) for raw in raws])


def _is_plain_elsewhere(raws: list[Any]) -> bool:
    """The same of arrays of a device."""
    table, dtypes = backend.of(raws[0]), {backend.of(raw).dtype_of(raw) for raw in raws}
    return (table.has("update") and len(dtypes) == 1 and dtypes <= {*FUSED}
            and all(backend.of(raw) is table and raw.is_contiguous and not raw.is_read_only for raw in raws))


def _mark(params: Sequence[Tensor], name: str) -> None:
    """Count a write of each, as Tensor.write does."""
    place = user_place()
    for param in params:
        param.share().version.write(name, place)
