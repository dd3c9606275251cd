"""Limited-memory BFGS."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..array import Tensor
from ..creation import zeros
from ..errors import ConfigError, StateError
from ..ops.linalg import dot
from ..ops.movement import concat
from ..tape import grad_mode
from .hooks import hooked
from .line_search import Point, strong_wolfe
from .optimizer import Group, Optimizer, evaluate

VECTORS, LISTS = ("d", "prev_flat_grad"), ("old_dirs", "old_stps")
NUMBERS = ("func_evals", "n_iter", "t", "ro", "H_diag", "prev_loss", "al")
LEAST_CURVATURE = 1e-10          # below which a pair of differences is not remembered


class LBFGS(Optimizer):
    """Quasi-Newton steps: the inverse Hessian is estimated from the last `history_size` steps.

    `step(closure)` calls the closure, which computes the loss and its gradients anew, up to `max_eval` times (None:
    1.25 * max_iter) in up to `max_iter` iterations, until no gradient exceeds `tolerance_grad`, or no step nor change
    of the loss `tolerance_change`. `line_search_fn` is None for steps of length lr, or "strong_wolfe". All parameters
    form one group, are real and live on one device.

    Source: D. Liu, J. Nocedal, On the limited memory BFGS method for large scale optimization, 1989.

    >>> x = lnb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = lnb.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - lnb.asarray([3.0, 0.5])) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> float(optimizer.step(closure)), x.detach().numpy().round(1).tolist()
    (55.0625, [3.0, 0.5])
    """

    def __init__(self, params: Iterable[Any], lr: float = 1.0, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        super().__init__(params, dict(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
            line_search_fn=line_search_fn))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range, complex parameters, and a second group."""
        if self.param_groups and self.param_groups[0]["params"] is not group["params"]:
            raise ConfigError("LBFGS: there are several groups. Give all parameters as one.")
        self.refuse_negative(group, "lr", "tolerance_grad", "tolerance_change", "max_eval")
        for name in ("max_iter", "history_size"):
            self.refuse(group, name, lambda value: value >= 1 and value == int(value), "a whole number of 1 or more")
        self.refuse(group, "line_search_fn", lambda value: value in (None, "strong_wolfe"), "None or 'strong_wolfe'")
        self.refuse(group, "params", lambda params: params and all(param.dtype.kind != "c" for param in params),
                    "real parameters")

    def check_saved(self, param: Tensor, state: Mapping[str, Any]) -> None:
        """Refuse a saved state that is of other parameters."""
        sizes = {tuple(part.shape) for name in (*VECTORS, *LISTS) for part in
                 (state.get(name, []) if name in LISTS else [state.get(name)]) if part is not None}
        total = sum(own.size for own in self._all())
        if not sizes <= {(total,)} or not state.keys() <= {*VECTORS, *LISTS, *NUMBERS}:
            raise StateError(f"load_state_dict: the state {list(state)} does not belong to LBFGS and {total} numbers. "
                             "Load the state of the same parameters.")

    @hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Iterate; gives the loss before the first iteration."""
        if closure is None:
            raise ConfigError("LBFGS.step: the closure is missing. Pass one that computes the loss and the gradients.")
        group = self.param_groups[0]
        state = self.state.setdefault(group["params"][0], {"func_evals": 0, "n_iter": 0})
        with grad_mode(False):
            loss = _recorded(closure)
            state["func_evals"] += 1
            gradient = self._flat_gradient()
            if not _largest(gradient) <= group["tolerance_grad"]:
                self._iterate(closure, group, state, float(loss), gradient)
            evaluate(self._all())
        self.steps += 1
        return loss

    def _iterate(self, closure: Callable[[], Any], group: Group, state: dict[str, Any], value: float,
                 gradient: Tensor) -> None:
        """Step until one of the limits is reached."""
        calls, tiny = 1, group["tolerance_change"]
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._turn(group, state, gradient)
            before, slope = value, float(dot(gradient, direction))
            state.update(d=direction, t=_first_length(group, state, gradient), prev_flat_grad=gradient, prev_loss=value)
            if slope > -tiny:
                return
            is_last, start = iteration == group["max_iter"], Point(0.0, value, slope, gradient)
            point, used = self._advance(closure, group, state, start, group["max_eval"] - calls, is_last)
            value, gradient, state["t"] = point.value, point.gradient, point.place
            calls, state["func_evals"] = calls + used, state["func_evals"] + used
            if (is_last or calls >= group["max_eval"] or _largest(gradient) <= group["tolerance_grad"]
                    or _largest(direction) * abs(point.place) <= tiny or abs(value - before) < tiny):
                return

    def _turn(self, group: Group, state: dict[str, Any], gradient: Tensor) -> Tensor:
        """The direction: the estimated inverse Hessian times the negative gradient, after remembering the last step."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = float(dot(change, step))
        memory = state["old_dirs"], state["old_stps"], state["ro"]
        if curvature > LEAST_CURVATURE:
            for kept, new in zip(memory, (change, step, 1 / curvature)):
                kept.append(new)
                del kept[:-group["history_size"]]
            state["H_diag"] = curvature / float(dot(change, change))
        return _two_loops(-gradient, list(zip(*memory)), state["H_diag"])

    def _advance(self, closure: Callable[[], Any], group: Group, state: dict[str, Any], start: Point, limit: int,
                 is_last: bool) -> tuple[Point, int]:
        """Move the parameters along the direction; where they are then, and the evaluations that it took."""
        direction, first = state["d"], state["t"]
        values = [param.detach().copy() for param in self._all()]
        if group["line_search_fn"] is None:
            self._move(values, direction, first)
            if is_last:                      # nobody will ask for the value there
                return start._replace(place=first), 0
            return self._measure(closure, direction, first), 1

        def evaluate_at(place: float) -> Point:
            self._move(values, direction, place)
            try:
                return self._measure(closure, direction, place)
            finally:
                self._move(values, direction, 0.0)
        shortest = group["tolerance_change"] / (_largest(direction) or 1.0)
        point, used = strong_wolfe(evaluate_at, start, first, shortest, limit)
        self._move(values, direction, point.place)
        return point, used

    def _measure(self, closure: Callable[[], Any], direction: Tensor, place: float) -> Point:
        value = float(_recorded(closure))
        gradient = self._flat_gradient()
        return Point(place, value, float(dot(gradient, direction)), gradient)

    def _move(self, values: list[Tensor], direction: Tensor, place: float) -> None:
        """Put each parameter at its value plus `place` times its part of the direction."""
        first = 0
        for param, value in zip(self._all(), values, strict=True):
            part = direction[first:first + param.size].reshape(param.shape)
            param.write(value + place * part if place else value, "LBFGS.step")
            first += param.size

    def _flat_gradient(self) -> Tensor:
        """The gradients of all parameters in a row, zeros where there is none."""
        return concat([zeros(param.size, dtype=param.dtype, device=param.device) if param.grad is None
                            else param.grad.detach().reshape(-1) for param in self._all()])


def _recorded(closure: Callable[[], Any]) -> Any:
    with grad_mode(True):
        return closure()


def _largest(vector: Tensor) -> float:
    return float(abs(vector).max()) if vector.size else 0.0


def _first_length(group: Group, state: dict[str, Any], gradient: Tensor) -> float:
    """What a step tries first: lr, or less at the very first, when nothing is known of the curvature."""
    return group["lr"] * (1.0 if state["n_iter"] > 1 else min(1.0, 1 / float(abs(gradient).sum())))


def _two_loops(vector: Tensor, memory: list[tuple[Tensor, Tensor, float]], diagonal: float) -> Tensor:
    """The inverse Hessian that pairs of differences describe, times a vector (algorithm 7.4 of Nocedal and Wright)."""
    shares = []
    for change, step, inverse in reversed(memory):
        shares.append(float(dot(step, vector)) * inverse)
        vector = vector - shares[-1] * change
    vector = vector * diagonal
    for (change, step, inverse), share in zip(memory, reversed(shares)):
        vector = vector + (share - float(dot(change, vector)) * inverse) * step
    return vector
