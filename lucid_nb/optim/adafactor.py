"""Adafactor."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import zeros
from ..dtypes import BFLOAT16, FLOAT16
from ..errors import StateError
from ..ops.extremes import maximum
from .optimizer import Choice, Group, Optimizer
from .rule import next_step
from .step import compute_dtype, sign_of


class Adafactor(Optimizer):
    """Steps of g over the root of its running mean square, which of matrices is kept as one row and one column.

    `lr` bounds the relative size of a step, min(lr, 1 / sqrt(t)) times the parameter's own root mean square (at least
    eps[1]). The mean forgets by 1 - t**beta2_decay; eps[0] (None: the dtype's epsilon) bounds what is divided by; steps
    whose root mean square exceeds `d` are cut down to it. `weight_decay` shrinks the parameters by the factor
    1 - lr * weight_decay; `maximize` climbs. Of more than two axes the last two count as the matrix's.

    Source: N. Shazeer, M. Stern, Adafactor: adaptive learning rates with sublinear memory cost, 2018, with PyTorch's
    placement of lr.

    >>> x = lnb.tensor([[1.0, -2.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> optimizer = lnb.optim.Adafactor([x], lr=0.5)
    >>> optimizer.step()
    >>> np.round(x.detach().numpy(), 4).tolist(), optimizer.state[x]["col_var"].shape
    ([[0.2094, -1.2094]], (1, 2))
    """

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: Choice = None, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      maximize=maximize))

    def check(self, group: Group) -> None:
        """Refuse settings that are out of range, and complex parameters."""
        self.refuse_negative(group, "lr", "weight_decay")
        self.refuse(group, "beta2_decay", lambda value: value <= 0, "a number of 0 or less")
        self.refuse(group, "d", lambda value: value >= 1, "a number of 1 or more")
        self.refuse(group, "eps", lambda eps: len(eps) == 2 and (eps[0] is None or eps[0] >= 0) and eps[1] >= 0,
                    "None or a number of 0 or more, and a number of 0 or more")
        self.refuse(group, "params", lambda params: all(param.dtype.kind != "c" for param in params), "real parameters")

    def check_saved(self, param: Tensor, state: Mapping[str, Any]) -> None:
        """Refuse saved arrays that are not a row and a column, or a mean, of their parameter."""
        for name, value in state.items():
            wanted = () if name == "step" else _shape_of(name, param.shape)
            if wanted is None or getattr(value, "shape", ()) != wanted:
                raise StateError(f"load_state_dict: {name} does not belong to Adafactor and a parameter of shape "
                                 f"{param.shape}. Load the state of the same parameters.")

    def update(self, param: Tensor, gradient: Tensor, state: dict[str, Any], group: Group) -> Tensor:
        """The new value of one parameter, after renewing its state."""
        if not param.size:
            return param.detach()
        step = next_step(state)
        dtype, lr, (eps, least) = compute_dtype(param.dtype), group["lr"], group["eps"]
        eps = _epsilon(param.dtype) if eps is None else eps
        value, g = param.detach().astype(dtype), gradient.detach().astype(dtype) * sign_of(group)
        along = g / maximum(_mean_square(g, state, step ** group["beta2_decay"], eps), eps * eps) ** 0.5
        size = min(lr, step ** -0.5) * maximum(_size(value), least) / maximum(_size(along) / group["d"], 1)
        return value * (1 - lr * group["weight_decay"]) - size * along


def _shape_of(name: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of a part of the state, None where a parameter of that shape has no such part."""
    if len(shape) < 2:
        return shape if name == "variance" else None
    return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}.get(name)


def _epsilon(dtype: np.dtype) -> float:
    """The distance from 1 to the next number."""
    return {FLOAT16: 2.0 ** -10, BFLOAT16: 2.0 ** -7}.get(dtype) or float(np.finfo(dtype).eps)


def _size(x: Tensor) -> Tensor:
    """The root of the mean square."""
    return (x * x).mean() ** 0.5


def _mean_square(g: Tensor, state: dict[str, Any], fresh: float, eps: float) -> Tensor:
    """The running mean of squares, renewed with a share `fresh` of the gradient's; of matrices, its estimate."""
    square = g * g
    if g.ndim < 2:
        return _renewed(state, "variance", square, fresh)
    row = _renewed(state, "row_var", square.mean(axis=-1, keepdims=True), fresh)
    col = _renewed(state, "col_var", square.mean(axis=-2, keepdims=True), fresh)
    return row * col / maximum(row.mean(axis=-2, keepdims=True), eps)


def _renewed(state: dict[str, Any], name: str, value: Tensor, fresh: float) -> Tensor:
    """A running mean of the state, moved towards a value."""
    old = state.get(name)
    old = zeros(value.shape, dtype=value.dtype, device=value.device) if old is None else old
    state[name] = old + fresh * (value - old)
    return state[name]
