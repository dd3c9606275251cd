"""The library's random state: NumPy's on the host, and the keys that follow from the same seed."""

import itertools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import tape
from ..errors import ConfigError, told
from .drawing import on_host
from .keys import SPLITS, WORDS, Key, key

LARGEST_SEED = 2**32 - 1


class _Keys:
    """The keys that follow from a seed, one after the other: the streams of one key."""

    def __init__(self, root: Key, used: int = 0) -> None:
        self.words, self.numbers = root.words, itertools.count(used)

    @property
    def used(self) -> int:
        """How many were given: only its text tells where a count stands without moving it."""
        return int(repr(self.numbers).removeprefix("count(").removesuffix(")"))


def _entropy(count: int) -> int:
    return int.from_bytes(os.urandom(count), "little")


_seed: Any = _entropy(4)
_host = np.random.RandomState(_seed)
_keys = _Keys(key(_entropy(8)))


def seed(seed: Any = None) -> None:
    """Start the library's random state anew from a seed, 0 to 2**32 - 1; without one, from the system's entropy.

    The functions of `lnb.random` then give what NumPy's give after `numpy.random.seed` of the same number. ConfigError
    (a ValueError) for other seeds.

    >>> lnb.random.seed(0)
    >>> first = lnb.nn.Linear(2, 2).weight
    >>> lnb.random.seed(0)
    >>> bool((first == lnb.nn.Linear(2, 2).weight).numpy().all())
    True
    """
    global _keys, _seed
    chosen = _entropy(4) if seed is None else on_host("seed", seed)
    try:
        _host.seed(np.asarray(chosen) if isinstance(chosen, (list, tuple)) else chosen)
    except (ValueError, TypeError):
        raise ConfigError(f"seed: the seed is {told(seed)}. Use an integer from 0 to {LARGEST_SEED}, or "
                          "None.") from None
    _seed = chosen
    _keys = _Keys(key(_entropy(8) if seed is None else int(np.asarray(chosen).ravel()[0])))


def get_seed() -> Any:
    """The seed from which the library's random state last started; one drawn by the process where none was given.

    >>> lnb.random.seed(7)
    >>> lnb.random.get_seed()
    7
    """
    return _seed


def get_rng_state() -> dict[str, Any]:
    """All of the library's random state, NumPy's and that of the keys, as `lnb.save` keeps it in a .lcd file.

    >>> state = lnb.random.get_rng_state()
    >>> first = lnb.random.rand(2), lnb.nn.functional.dropout(lnb.ones(9)), lnb.random.rand(2)
    >>> lnb.random.set_rng_state(state)
    >>> again = lnb.random.rand(2), lnb.nn.functional.dropout(lnb.ones(9)), lnb.random.rand(2)
    >>> [one.tolist() == other.tolist() for one, other in zip(first, again)]
    [True, True, True]
    """
    return {"seed": _seed, "host": _host.get_state(legacy=False), "words": list(_keys.words), "used": _keys.used}


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Go back to a state that `get_rng_state` gave; ConfigError, and nothing changes, where it is none."""
    global _keys, _seed
    try:
        (first, second), used, place = map(int, state["words"]), int(state["used"]), dict(state["host"])
        numbers = dict(place["state"])
        place["state"] = {**numbers, "key": np.asarray(on_host("set_rng_state", numbers["key"]))}
        if not (0 <= first < WORDS and 0 <= second < WORDS and 0 <= used < SPLITS):
            raise ValueError("keys out of range")
        chosen = state["seed"]
        _host.set_state(place)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"set_rng_state: the state has {told(str(error))}. Pass what get_rng_state() gave.") from None
    _keys, _seed = _Keys(Key((first, second)), used), chosen


def host() -> np.random.RandomState:
    """The library's random state, as NumPy's object."""
    if tape.anywhere.blocks and tape.modes.draws is not None:
        tape.modes.draws.host(_host)
    return _host


def next_key() -> Key:
    """A key that no call before has given since the last `seed`; the state of NumPy's kind stays as it is."""
    if tape.anywhere.blocks and tape.modes.draws is not None:
        return tape.modes.draws.key(_new_key)
    return _new_key()


def _new_key() -> Key:
    keys = _keys
    return Key(keys.words, next(keys.numbers))
