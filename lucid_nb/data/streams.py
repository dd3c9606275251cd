"""Seeds of shuffles and of workers: what is drawn repeats by its seed, and no two streams are alike."""

import random as python_random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import random
from ..errors import ConfigError, told

Root = tuple[int, ...]              # what the streams of one epoch follow from
READING, STARTING = 1, 2            # streams of a batch, and of a worker


def host_generator(op: str, generator: Any) -> np.random.Generator:
    """NumPy's generator of what a caller passes: it, the library's, or a seed."""
    if isinstance(generator, random.Generator):
        return generator.host
    if isinstance(generator, bool) or not isinstance(generator, np.random.Generator | int | np.integer):
        raise ConfigError(f"{op}: generator is {told(generator)}. Pass lnb.random.default_rng(seed) or NumPy's, or "
                          "seed=.")
    return np.random.default_rng(generator)


def drawn() -> Root:
    """The next root of the library's random state: it repeats after `lnb.random.seed`, and is new each time."""
    key = random.next_key()
    return (*key.words, key.stream)


class Roots:
    """One root after another, an epoch each: of a seed and the epoch's number, of a generator, or of the library."""

    def __init__(self, op: str, seed: int | None, generator: Any) -> None:
        if seed is not None and generator is not None:
            raise ConfigError(f"{op}: both seed and generator are given. Pass one of them.")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise ConfigError(f"{op}: seed is {told(seed)}. Use an integer of 0 or more.")
        self.seed = None if seed is None else int(seed)
        self.generator = None if generator is None else host_generator(op, generator)
        self.epoch = 0

    def next(self) -> Root:
        """The root of the epoch that begins."""
        self.epoch += 1
        if self.seed is not None:
            return (self.seed, self.epoch - 1)
        return drawn() if self.generator is None else (int(self.generator.integers(1 << 63)),)

    def next_generator(self) -> np.random.Generator:
        """The generator of the epoch that begins; a caller's own goes on where it stands."""
        return np.random.default_rng(self.next()) if self.generator is None else self.generator


class Seeds(NamedTuple):
    """The seeds of one stream: words for Python's, NumPy's and the library's generators, none of them alike."""

    python: int
    numpy: Sequence[int]
    library: int


def seeds_of(root: Root, kind: int, number: int) -> Seeds:
    """One stream of an epoch."""
    words = np.random.SeedSequence((*root, kind, number)).generate_state(9).tolist()
    return Seeds(sum(word << 32 * place for place, word in enumerate(words[:4])), words[4:8], words[8])


def seed_everything(seeds: Seeds) -> None:
    """Start Python's, NumPy's and the library's generators of this process."""
    python_random.seed(seeds.python)
    np.random.seed(seeds.numpy)
    random.seed(seeds.library)
