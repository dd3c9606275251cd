"""What a device does again behind Python's back, such as a graph that is replayed, counts as writes anew.

Otherwise a gradient would read what was saved before a replay and is there no longer.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

from . import backend
from .array import Tensor
from .storage import Storage, clock
from .tape import user_place


class Rewrites:
    """The memory of a device that is written within the block, and the tensors whose memory the block `is_own` to.

    They are looked for once, among all objects, and not held: memory that something holds counts as saved.
    """

    def __init__(self, device: str, is_own: Callable[[Any], bool]) -> None:
        self.device, self.is_own = device, is_own

    def __enter__(self) -> "Rewrites":
        self.begun = clock.now
        return self

    def __exit__(self, *_: object) -> None:
        objects = gc.get_objects()
        self.written = [ref(found.version) for found in objects if type(found) is Storage and self._is_written(found)]
        self.made = [ref(found) for found in objects
                     if issubclass(type(found), Tensor) and self.is_own(getattr(found, "raw", None))]

    def _is_written(self, found: Storage) -> bool:
        return found.version.written > self.begun and backend.of(found.raw).name == self.device

    def repeat(self, name: str) -> None:
        """Count all of it as written once more, by the caller outside this package."""
        place = user_place(sys._getframe(1))
        tensors = [found for held in self.made if (found := held()) is not None]
        versions = [found.version if found.storage is None else found.storage.version for found in tensors]
        for version in {*versions, *[held() for held in self.written]} - {None}:
            version.write(name, place)


def _tell(table: backend.Table) -> None:
    if table.has("note_rewrites"):
        table.note_rewrites(Rewrites)


backend.when_loaded.append(_tell)
