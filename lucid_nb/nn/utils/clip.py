"""The norm of gradients, and its bound. Gradients are replaced, never written: others may share their memory."""

from collections.abc import Iterable
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, DTypeError, GradError
from ...ops.extremes import clip, minimum
from ...ops.joining import stack
from ...ops.movement import astype
from ...ops.vector_norm import vector_norm
from ...shapes import as_number
from ...tape import grad_mode
from ..container import listed

Params = Tensor | Iterable[Tensor]
EPS = 1e-6


def all_of(op: str, parameters: Params) -> list[Tensor]:
    """One tensor, or an iterable of them, as a list."""
    found = [parameters] if isinstance(parameters, Tensor) else listed(op, parameters)
    strange = [type(param).__name__ for param in found if not isinstance(param, Tensor)]
    if strange:
        raise DTypeError(f"{op}: a parameter is a {strange[0]}. Give tensors, such as module.parameters().")
    return found


def with_gradient(op: str, parameters: Params) -> list[Any]:
    """The parameters that have a gradient."""
    return [param for param in all_of(op, parameters) if param.grad is not None]


def bound_of(op: str, name: str, value: Any) -> float:
    """A bound as a number; a negative one would turn every gradient around, and NaN spoil it."""
    limit = as_number(op, name, value)
    if not limit >= 0:
        raise ConfigError(f"{op}: {name} is {value}. Use a number that is not negative.")
    return limit


def get_total_norm(tensors: Params, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of order `norm_type` of all elements of all tensors together; 0 of none.

    `foreach` is accepted. GradError where it is not finite, with `error_if_nonfinite`.

    >>> lnb.nn.utils.get_total_norm([lnb.tensor([3.0]), lnb.tensor([[4.0]])]).item()
    5.0
    """
    order = as_number("get_total_norm", "norm_type", norm_type)
    given = all_of("get_total_norm", tensors)
    if not given:
        return asarray(0.0, dtype="float32")
    device, dtype = given[0].device, max((x.dtype for x in given), key=lambda kind: kind.itemsize)
    with grad_mode(False):
        norms = [astype(vector_norm(x.detach(), ord=order), dtype).to(device) for x in given]
        total = vector_norm(stack(norms), ord=order)
    if error_if_nonfinite and not -float("inf") < float(total) < float("inf"):
        raise GradError(f"get_total_norm: the norm of order {norm_type} is {float(total)}. Look for what overflows, or "
                        "pass error_if_nonfinite=False.")
    return total


def clip_grads_with_norm_(parameters: Params, max_norm: float, total_norm: Any, foreach: bool | None = None, *,
                          eps: float = EPS) -> None:
    """Scale the gradients of all parameters by max_norm / (total_norm + eps), but never up."""
    limit = bound_of("clip_grads_with_norm_", "max_norm", max_norm)
    total = asarray(total_norm)
    factor = minimum(limit / (total + eps), 1.0)
    with grad_mode(False):
        for param in with_gradient("clip_grads_with_norm_", parameters):
            param.grad = param.grad.detach() * astype(factor, param.grad.dtype).to(param.grad.device)


def clip_grad_norm_(parameters: Params, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scale all gradients so that their norm together is at most `max_norm`; the norm that they had.

    As `clip_grads_with_norm_` by `get_total_norm`. Source: R. Pascanu, T. Mikolov, Y. Bengio, arXiv:1211.5063.

    >>> param = lnb.nn.Parameter([3.0, 4.0])
    >>> (param * param / 2).sum().backward()
    >>> lnb.nn.utils.clip_grad_norm_(param, 1.0).item()
    5.0
    >>> param.grad.numpy().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    bound_of("clip_grad_norm_", "max_norm", max_norm)
    params = with_gradient("clip_grad_norm_", parameters)
    total = get_total_norm([param.grad for param in params], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(params, max_norm, total)
    return total


def clip_grad_value_(parameters: Params, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of all gradients between -clip_value and clip_value."""
    limit = bound_of("clip_grad_value_", "clip_value", clip_value)
    with grad_mode(False):
        for param in with_gradient("clip_grad_value_", parameters):
            param.grad = clip(param.grad.detach(), -limit, limit)


# -------------------------------------------------------------------------------------------- lucid's spellings
def grad_norm(parameters: Params, norm_type: float = 2) -> Tensor:
    """The norm of order `norm_type` of the gradients of all parameters together."""
    return get_total_norm([param.grad for param in with_gradient("grad_norm", parameters)], norm_type)


def clip_grad_norm(parameters: Params, max_norm: float, norm_type: float = 2, eps: float = 1e-7) -> Tensor:
    """`clip_grad_norm_` with another summand beside the norm."""
    params = with_gradient("clip_grad_norm", parameters)
    total = grad_norm(params, norm_type)
    clip_grads_with_norm_(params, max_norm, total, eps=eps)
    return total


def clip_grad_value(parameters: Params, clip_value: float) -> None:
    """`clip_grad_value_`."""
    clip_grad_value_(parameters, clip_value)
