"""Samples made into batches."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes
from ..array import Tensor
from ..creation import asarray
from ..errors import DTypeError, ShapeError
from ..ops.movement import concat

NUMBERS = (np.ndarray, np.generic, bool, int, float, complex)


def default_collate(samples: Sequence[Any]) -> Any:
    """One batch of a list of samples: arrays and numbers are stacked along a new first axis, containers stay.

    Dicts, tuples, named tuples and lists are taken apart and keep their type; texts come as a list. ShapeError where
    samples are not alike, DTypeError for what is no number, text or container.

    >>> lnb.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    if not len(samples):
        raise ShapeError("default_collate: no samples. Give at least one.")
    first = samples[0]
    if isinstance(first, Tensor):
        return _stacked_tensors(samples)
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, NUMBERS):
        return _stacked_arrays(samples)
    if isinstance(first, Mapping):
        _check_alike("keys", [sorted(map(str, sample)) if isinstance(sample, Mapping) else type(sample).__name__
                              for sample in samples])
        return _like_mapping(first, {key: default_collate([sample[key] for sample in samples]) for key in first})
    if isinstance(first, Sequence):
        _check_alike("length", [len(sample) if isinstance(sample, Sequence) else type(sample).__name__
                                for sample in samples])
        return _like_sequence(first, [default_collate(part) for part in zip(*samples, strict=True)])
    raise DTypeError(f"default_collate: samples hold {type(first).__name__}. Pass collate_fn to DataLoader.")


def default_convert(sample: Any) -> Any:
    """The sample with tensors in place of its arrays; what DataLoader does where it makes no batches.

    >>> lnb.data.default_convert({"x": np.arange(3), "name": "a"})
    {'x': tensor([0, 1, 2]), 'name': 'a'}
    """
    return tree_map(lambda leaf: from_array("default_convert", np.asarray(leaf))
                    if isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind not in "SUO" else leaf, sample)


def from_array(op: str, array: np.ndarray) -> Tensor:
    """What `asarray` gives, without loading the kernels in a process that uses none, as workers do."""
    if backend.default_device() != "cpu":
        return asarray(array)
    dtypes.check_supported(op, array.dtype)
    is_default = array.dtype == dtypes.FLOAT64 and dtypes.default_dtype() != dtypes.FLOAT64
    return Tensor(array.astype(dtypes.default_dtype()) if is_default else array)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The containers of samples, with `function` of each leaf."""
    if isinstance(tree, Mapping):
        return _like_mapping(tree, {key: tree_map(function, value) for key, value in tree.items()})
    if isinstance(tree, Sequence) and not isinstance(tree, str | bytes | range):
        return _like_sequence(tree, [tree_map(function, part) for part in tree])
    return function(tree)


def _like_mapping(like: Mapping, parts: dict) -> Any:
    """The parts in a mapping of the same type, where one can be made of a dict; a defaultdict keeps its factory."""
    if type(like) is dict:
        return parts
    with contextlib.suppress(TypeError, ValueError):
        factory = getattr(like, "default_factory", None)
        return type(like)(factory, parts) if factory else type(like)(parts)  # type: ignore[call-arg]
    return parts


def _like_sequence(like: Sequence, parts: list) -> Any:
    """The parts in a sequence of the same type, where one can be made of a list."""
    if type(like) is list:
        return parts
    if hasattr(like, "_fields"):
        return type(like)(*parts)
    with contextlib.suppress(TypeError, ValueError):
        return type(like)(parts)  # type: ignore[call-arg]
    return parts


def is_plain(tensor: Tensor) -> bool:
    """Is it on the host and without a graph? NumPy serves it then, and a worker need not load the kernels."""
    return type(tensor.refresh().raw) is np.ndarray and tensor.node is None


def _stacked_tensors(samples: Sequence[Any]) -> Tensor:
    """Tensors of one shape along a new first axis; on the host, where no gradient and no other device is asked for."""
    strangers = [type(sample).__name__ for sample in samples if not isinstance(sample, Tensor)]
    _check_alike("type", ["Tensor", *strangers])
    _check_alike("shape", [sample.shape for sample in samples])
    if all(map(is_plain, samples)):
        return Tensor(np.stack([sample.raw for sample in samples]))
    return concat([sample.reshape(1, *sample.shape) for sample in samples])


def _stacked_arrays(samples: Sequence[Any]) -> Tensor:
    """Arrays or numbers along a new first axis."""
    if all([type(sample) is int or type(sample) is float for sample in samples]):
        return from_array("default_collate", np.asarray(samples))
    strangers = [type(sample).__name__ for sample in samples if not isinstance(sample, NUMBERS)]
    _check_alike("type", [type(samples[0]).__name__, *strangers])
    arrays = [np.asarray(sample) for sample in samples]
    _check_alike("shape", [array.shape for array in arrays])
    return from_array("default_collate", np.stack(arrays))


def _check_alike(what: str, found: list[Any]) -> None:
    """Refuse samples that make no batch."""
    for other in found:
        if other != found[0]:
            raise ShapeError(f"default_collate: samples of {what} {found[0]} and {other}. Make them alike, or pass "
                             "collate_fn to DataLoader.")
