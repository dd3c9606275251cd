"""Batches in page-locked memory, from which copies to cuda are fast."""

import sys
import warnings
from typing import Any

import numpy as np

from .. import backend, config
from ..array import Tensor
from ..errors import ConfigError, told
from ..recycling import Recycler, size_class
from .collate import tree_map


def _locked(size: int) -> Any:
    from numba import cuda
    return cuda.pinned_array(size, np.uint8)


_blocks = Recycler[Any](_locked, lambda: config.memory_pool_mb << 20)      # locking memory takes as long as a copy


class Lease:
    """A block that an array lies in, and that goes back when no view of the array is left."""

    def __init__(self, size: int) -> None:
        self.size = size_class(size)
        self.block = _blocks.take(self.size)
        self.__array_interface__ = self.block.__array_interface__

    def __del__(self) -> None:
        if not sys.is_finalizing():
            _blocks.give_back(self.size, self.block)


def check_pinning(wanted: Any, device: str) -> bool:
    """Shall batches be pinned? A warning where that would be of no use, as there is no cuda."""
    if device not in ("", "cuda"):
        raise ConfigError(f"DataLoader: pin_memory_device is {told(device)}. Leave it out, or use 'cuda'.")
    if wanted and not backend.is_usable("cuda"):
        warnings.warn("DataLoader: pin_memory is of no use here, as there is no cuda. Leave it out.", RuntimeWarning,
                      stacklevel=3)
        return False
    return bool(wanted)


def pinned(batch: Any) -> Any:
    """The batch with copies of its tensors on the cpu in page-locked memory; objects may have a method `pin_memory`."""
    return tree_map(_pin, batch)


def _pin(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf.pin_memory() if hasattr(leaf, "pin_memory") else leaf
    if leaf.device != "cpu" or leaf.requires_grad or not leaf.size:
        return leaf
    flat = np.asarray(Lease(leaf.nbytes))[:leaf.nbytes]
    own: np.ndarray = np.ndarray(leaf.shape, leaf.dtype, flat)
    own[...] = leaf.to_host()
    return Tensor(own)
