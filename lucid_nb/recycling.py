"""Blocks of memory kept for the next array, by size class, on the host and on devices.

Blocks come back from finalisers, which run in any thread and in the middle of anything, so nothing here takes a lock:
the free lists are deques, whose append and pop are single steps.
"""

import itertools
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Block = TypeVar("Block")


def size_class(size: int) -> int:
    """The size of the block for so many bytes: eight steps to each power of two, so at most an eighth is unused."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


class Recycler(Generic[Block]):
    """The free blocks of one kind of memory. `make` makes a block of so many bytes, `limit` says how many may wait."""

    def __init__(self, make: Callable[[int], Block], limit: Callable[[], float]) -> None:
        self.make, self.limit = make, limit
        self.free: dict[int, deque[Block]] = {}          # size class -> blocks, the latest used on the right
        self._used: dict[int, int] = {}                  # size class -> when it was last asked for or given back
        self._clock = itertools.count()
        # At least the bytes that wait: all that was given back since they were last counted, nothing taken off.
        # Counting is slow beside giving back. What two threads add at once may be lost, and then the next counting is
        # late by a block.
        self._at_most = 0

    def waiting(self) -> int:
        """Bytes that wait to be used again."""
        return sum(size * len(blocks) for size, blocks in list(self.free.items()))

    def release(self) -> int:
        """Give all waiting memory back to the system; the bytes given back."""
        return self._trim(0)

    def take(self, size: int) -> Block:
        """A free block of a size class, or a new one; when memory is short, after releasing what waits."""
        blocks = self._blocks_of(size)
        self._used[size] = next(self._clock)
        try:
            return blocks.pop()
        except IndexError:
            pass
        try:
            return self.make(size)
        except MemoryError:
            self.release()
            return self.make(size)

    def give_back(self, size: int, block: Block) -> None:
        """Keep a block for the next array, within the limit."""
        self._blocks_of(size).append(block)
        self._used[size], limit = next(self._clock), self.limit()
        self._at_most += size
        if self._at_most > limit:
            self._at_most = self.waiting()
            if self._at_most > limit:
                self._trim(limit)

    def _blocks_of(self, size: int) -> deque[Block]:
        """The free blocks of a size class."""
        found = self.free.get(size)
        return self.free.setdefault(size, deque()) if found is None else found

    def _trim(self, limit: float) -> int:
        """Drop blocks, of the least recently used size first and the oldest first, until `limit` bytes wait."""
        dropped = 0
        for size in sorted(self.free, key=lambda size: self._used.get(size, 0)):
            while self.waiting() > limit:
                try:
                    self.free[size].popleft()
                except IndexError:                       # empty, or another thread was faster
                    break
                dropped += size
        return dropped
