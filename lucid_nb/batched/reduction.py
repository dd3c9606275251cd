"""Rules of everything that works along axes: they are counted one further."""

from collections.abc import Callable
from typing import Any

from .device import Device, rule, rules
from .raw import Batched, common, spread

# At which place of an entry's arguments its axis stands, or its axes.
AXIS = dict(reduce=2, arg_reduce=2, moments=1, logsumexp=1, softmax=1, log_softmax=1, softmax_grad=2,
            log_softmax_grad=2, fourier=2, scan=2, extreme_scan=2, recurrence=2, sort=1, argsort=1, partition=2, topk=2,
            repeat=2, take_along=2, scatter_along=4)


def behind(axis: int) -> int:
    """An axis of an example, in the array with the hidden one; counted from the end it is the same."""
    return axis + 1 if axis >= 0 else axis


def _along(entry: str, place: int) -> Callable[..., Any]:
    def along(device: Device, *arguments: Any) -> Any:
        given = [x for x in arguments if isinstance(x, Batched)]
        size, level = common(given)
        call: list[Any] = [spread(x, size) if isinstance(x, Batched) else x for x in arguments]
        axis = call[place]
        call[place] = behind(axis) if isinstance(axis, int) else tuple(map(behind, axis))
        return device.wrapped(device.below(entry)(*call), level)
    return along


rules.update({entry: _along(entry, place) for entry, place in AXIS.items()})


@rule
def cross_entropy(device: Device, logits: Batched, target: Batched, ignore_index: int) -> Batched:
    """The loss of each row: the rows of all examples at once."""
    size, level = common((logits, target))
    found = device.under.cross_entropy(_rows(device, logits, size), _rows(device, target, size), ignore_index)
    return device.kind(device.under.reshape(found, (size, *target.shape)), level)


@rule
def cross_entropy_grad(device: Device, logits: Batched, target: Batched, g: Batched, ignore_index: int) -> Batched:
    """The gradient of the logits."""
    size, level = common((logits, target, g))
    flat = [_rows(device, x, size) for x in (logits, target, g)]
    found = device.under.cross_entropy_grad(*flat, ignore_index)
    return device.kind(device.under.reshape(found, (size, *logits.shape)), level)


def _rows(device: Device, x: Batched, size: int) -> Any:
    """The rows of every example, one after the other."""
    return device.under.reshape(spread(x, size), (size * x.shape[0], *x.shape[1:]))
