"""Keys: a generator that computes each number from its position, with the same bits on every device.

It is Philox4x32-10 (see kernels/loops/random.py), and the same for any number of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor
from ..errors import ConfigError, DTypeError
from ..ops.dropout import random_bits

HALF, WORDS, SPLITS = 32, 1 << 32, 1 << 63         # a stream whose highest bit is set makes keys, not numbers
LARGEST_KEY = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Key:
    """A place from which random numbers follow: two words of 32 bits, and the number of a stream below 2**63.

    A key that was used once gives the same numbers again; `split` gives new ones.

    >>> lnb.random.key(1).uniform((2,)).tolist() == lnb.random.key(1).uniform((2,), device="cpu").tolist()
    True
    """

    words: tuple[int, int]
    stream: int = 0

    def split(self, num: int = 2) -> "tuple[Key, ...]":
        """So many keys whose numbers have nothing to do with each other's, nor with this key's."""
        count = shapes.as_integer("split", "num", num)
        if count < 0:
            raise ConfigError(f"split: num is {count}. Use a number of 0 or more.")
        found = random_bits(self.words, self.stream | SPLITS, 4 * count, "cpu").raw.reshape(count, 4).tolist()
        return tuple([Key((a, b), c | (d >> 1) << HALF) for a, b, c, d in found])

    def bits(self, shape: Any = (), *, device: str | None = None) -> Tensor:
        """Random words of 32 bits, uint32."""
        found, where = self._shape("bits", shape), backend.resolve(device)
        return random_bits(self.words, self.stream, shapes.product(found), where).reshape(found)

    def uniform(self, shape: Any = (), low: float = 0.0, high: float = 1.0, *, dtype: Any = "float32",
                device: str | None = None) -> Tensor:
        """Numbers drawn evenly, low <= x < high (which rounding may reach): 24 random bits each, 53 of float64."""
        kind = self._float("uniform", dtype)
        return self._placed(low + (high - low) * self._fractions(self._shape("uniform", shape), kind), kind, device)

    def normal(self, shape: Any = (), mean: float = 0.0, std: float = 1.0, *, dtype: Any = "float32",
               device: str | None = None) -> Tensor:
        """Normally distributed numbers, made from uniform ones by G. Box and M. Muller's transform (1958)."""
        kind, wanted = self._float("normal", dtype), self._shape("normal", shape)
        one, two = self._fractions((2, *wanted), dtypes.FLOAT64)
        return self._placed(mean + std * np.sqrt(-2 * np.log(1 - one)) * np.cos(2 * np.pi * two), kind, device)

    def _fractions(self, shape: shapes.Shape, dtype: np.dtype) -> np.ndarray:
        """Multiples of 2**-24, or of 2**-53, from 0 up to 1."""
        count = shapes.product(shape)
        if dtype != dtypes.FLOAT64:
            words = random_bits(self.words, self.stream, count, "cpu").raw.reshape(shape)
            return (words >> 8).astype(dtypes.FLOAT32) * np.float32(2.0 ** -24)
        words = random_bits(self.words, self.stream, 2 * count, "cpu").raw.astype(np.uint64)
        return (((words[:count] << 32 | words[count:]) >> 11) * 2.0 ** -53).reshape(shape)

    @staticmethod
    def _shape(op: str, shape: Any) -> shapes.Shape:
        return shapes.check_sizes(op, shapes.as_shape(op, shape))

    @staticmethod
    def _float(op: str, dtype: Any) -> np.dtype:
        kind = dtypes.as_dtype(op, dtype)
        if not dtypes.is_inexact(kind) or kind.kind == "c":
            raise DTypeError(f"{op}: {kind} holds no fractions. Use a real float.")
        return kind

    @staticmethod
    def _placed(numbers: np.ndarray, dtype: np.dtype, device: str | None) -> Tensor:
        array = np.asarray(numbers).astype(dtype)
        return Tensor(backend.table(backend.resolve(device)).from_numpy(array))


def key(seed: int) -> Key:
    """The key of a seed, 0 to 2**64 - 1.

    >>> lnb.random.key(3)
    Key(words=(3, 0), stream=0)
    """
    number = shapes.as_integer("key", "seed", seed)
    if not 0 <= number <= LARGEST_KEY:
        raise ConfigError(f"key: the seed is {number}. Use an integer from 0 to {LARGEST_KEY}.")
    return Key((number % WORDS, number >> HALF))


def split(key: Key, num: int = 2) -> tuple[Key, ...]:
    """So many new keys of a key.

    >>> one, two = lnb.random.split(lnb.random.key(0))
    >>> one == two
    False
    """
    return key.split(num)
