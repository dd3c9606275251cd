"""Places in the flat array and coordinates along axes, from each other, on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor, fresh
from ..errors import DTypeError, IndexError, ShapeError, is_one_of
from ..register import public
from .movement import items_of
from .positions import MODES, host_positions

ORDERS = ("C", "F")


def _device_of(values: Any) -> str:
    values = values if isinstance(values, (list, tuple)) else [values]
    return next((x.device for x in values if isinstance(x, Tensor)), backend.default_device())


def _check_order(op: str, order: str) -> None:
    if not is_one_of(order, ORDERS):
        raise ShapeError(f"{op}: order {order!r} is unknown. Use C or F.")


@public(method=False)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """The coordinates of places in the flat array of a shape, int64, a tensor an axis.

    >>> import lucid_nb as lnb
    >>> lnb.unravel_index([5, 2], (2, 3))
    (tensor([1, 0]), tensor([2, 2]))
    """
    wanted = shapes.as_shape("unravel_index", shape)
    _check_order("unravel_index", order)
    places = host_positions("unravel_index", indices, True)
    count = shapes.product(wanted)
    if places.size and (places.min() < 0 or places.max() >= count):
        worst = int(places.min() if places.min() < 0 else places.max())
        raise IndexError(f"unravel_index: {worst} is out of range for {count} elements of shape {wanted}. "
                         f"Use 0 to {count - 1}.")
    found = np.unravel_index(places.astype(np.int64), wanted, order)  # type: ignore[call-overload]
    table = backend.table(_device_of(indices))
    return tuple([fresh(table.from_numpy(np.array(part, dtypes.INT64))) for part in found])


@public(method=False)
def ravel_multi_index(multi_index: Sequence[Any], dims: Any, mode: Any = "raise", order: str = "C") -> Tensor:
    """The places in the flat array of elements with these coordinates, one array an axis.

    `mode`: "raise", "wrap" or "clip" what is out of range; one for all axes or one for each.

    >>> import lucid_nb as lnb
    >>> lnb.ravel_multi_index(([1, 0], [2, 2]), (2, 3))
    tensor([5, 2])
    """
    wanted = shapes.as_shape("ravel_multi_index", dims)
    _check_order("ravel_multi_index", order)
    parts = [host_positions("ravel_multi_index", part, True).astype(np.int64)
             for part in items_of("ravel_multi_index", "multi_index", multi_index)]
    if len(parts) != len(wanted):
        raise ShapeError(f"ravel_multi_index: {len(parts)} coordinates for shape {wanted}. Give one an axis.")
    for one in mode if isinstance(mode, (tuple, list)) else (mode,):
        if not is_one_of(one, MODES):
            raise DTypeError(f"ravel_multi_index: mode {one!r} is unknown. Use raise, wrap or clip.")
    try:
        found = np.ravel_multi_index(tuple(parts), wanted, mode, order)  # type: ignore[call-overload]
    except ValueError as error:
        raise ShapeError(f"ravel_multi_index: {error}, shape {wanted}. Use another mode.") from None
    return fresh(backend.table(_device_of(multi_index)).from_numpy(np.array(found, dtypes.INT64)))
