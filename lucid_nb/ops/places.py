"""Elements by their places along an axis: how the results of sorting and of running extremes find their gradients."""

from typing import Any

from .. import flops
from ..apply import apply, operands
from ..array import Tensor
from ..op import Info, Primitive
from ..tape import is_recording
from .movement import as_tensor, to


def _spread(ops: Any, info: Info, g: Any, places: Any, axis: int) -> Any:
    """What belongs to elements by place, at their places among zeros."""
    return ops.add_along(ops.zeros(info.shape(0), g), places, g, axis=axis)


_take = Primitive("take_along", lambda table, x, places, axis: table.take_along(x, places, axis),
                  lambda ops, info, g, places, axis: (_spread(ops, info, g, places, axis), None), keeps=(1,),
                  linear=((0,),))
_add = Primitive("add_along",
                 lambda table, x, places, values, axis: table.scatter_along("sum", x, places, values, axis),
                 lambda ops, info, g, places, axis: (g, None, ops.take_along(g, places, axis=axis)), keeps=(1,),
                 flops=flops.per_input(1, 2), linear=((0, 2),))
_routed = Primitive("routed", lambda table, x, values, places, axis: values,
                    lambda ops, info, g, places, axis: (_spread(ops, info, g, places, axis), None, None), keeps=(2,))


def take_places(x: Tensor, places: Tensor, axis: int) -> Tensor:
    """Elements of x by their places along an axis; `places` has x's shape but for the axis."""
    return apply(_take, (x, places), {"axis": axis})


def routed(x: Tensor, values: Tensor, places: Tensor, axis: int) -> Tensor:
    """`values`, which are known to be `take_places(x, places, axis)`, with its gradient."""
    return apply(_routed, (x, values, places), {"axis": axis}) if wants_gradient(x) else values


def wants_gradient(x: Tensor) -> bool:
    """Will somebody ask for the gradient of what is computed of x?"""
    return x.requires_grad and is_recording()


def pair(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors on one device; a number that is alone is as in an array of its own."""
    found = operands(name, (x1, x2))
    device = next(x.device for x in found if isinstance(x, Tensor))
    first, second = [x if isinstance(x, Tensor) else to(as_tensor(name, x), device) for x in found]
    return first, second
