"""Plans of convolutions: which kernels run and how they are launched, chosen once for a geometry and kept.

config.cuda_conv_cache_size plans are kept; the one that was used least recently makes room. A choice that had to fall
back on another is kept too, so that nothing is tried in vain again.
"""

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..errors import level_of_user
from ..shapes import Shape, Window
from .runtime import cuda

Plan = Callable[..., Any]
WATCHED = 256          # calls after which it is asked how many plans had to go


class Key(NamedTuple):
    """All that a choice may depend on. `window` has the stride, both paddings, the kernel's dilation and the groups.

    Libraries ask for aligned operands, our own kernels do not. `rules`: what settings allow a library to do.
    """

    entry: str
    device: int
    dtype: np.dtype
    shapes: tuple[Shape, ...]
    strides: tuple[Shape, ...]
    window: Window
    input_dilation: Shape
    flip: bool
    aligned: bool
    rules: Any


def device() -> int:
    """The number of the device in use."""
    return getattr(cuda.get_current_device(), "id", 0)       # the simulator's has none


class Plans:
    """The plans that were chosen last."""

    def __init__(self) -> None:
        self.kept: OrderedDict[Hashable, Plan] = OrderedDict()
        self.lock = threading.Lock()
        self.calls = self.evictions = 0
        self.has_warned = False

    def find(self, key: Hashable, choose: Callable[[], Plan]) -> Plan:
        """The plan of a key, chosen where none is kept."""
        with self.lock:
            thrashes = self._count()
            plan = self.kept.get(key)
            if plan is not None:
                self.kept.move_to_end(key)
        if thrashes:
            _warn(config.cuda_conv_cache_size)
        if plan is None:
            plan = choose()
            self.keep(key, plan)
        return plan

    def keep(self, key: Hashable, plan: Plan) -> None:
        """Keep a plan, in place of another of its key, and let those go that are too many."""
        with self.lock:
            self.kept[key] = plan
            self.kept.move_to_end(key)
            while len(self.kept) > config.cuda_conv_cache_size:
                self.kept.popitem(last=False)
                self.evictions += 1

    def _count(self) -> bool:
        """Count a call. Did so many of the last calls cost a plan that the user should know, for the first time?"""
        self.calls += 1
        if self.calls < WATCHED:
            return False
        thrashes = self.evictions > WATCHED // 2 and config.cuda_conv_cache_size > 0 and not self.has_warned
        self.has_warned |= thrashes
        self.calls = self.evictions = 0
        return thrashes


def _warn(size: int) -> None:
    warnings.warn(f"conv: more than half of the last {WATCHED} convolutions on the GPU had to be planned anew, because "
                  f"there are more geometries than the {size} plans that are kept. Raise config.cuda_conv_cache_size "
                  "(LUCID_NB_CUDA_CONV_CACHE_SIZE), or use fewer shapes.", RuntimeWarning, stacklevel=level_of_user())


PLANS = Plans()
