"""Random numbers. `seed` sets the state from which initialisers and unseeded shuffles draw.

The state is NumPy's, kept on the host, so a seed gives the same numbers on every device.
"""

import numpy as np

from .errors import ConfigError

LARGEST_SEED = 2**32 - 1
default_rng = np.random.default_rng
RandomState = np.random.RandomState
_host = RandomState()


def seed(seed: int | None = None) -> None:
    """Start the library's random state anew from a seed, 0 to 2**32 - 1; without one, from the system's entropy.

    >>> lnb.random.seed(0)
    >>> first = lnb.nn.Linear(2, 2).weight
    >>> lnb.random.seed(0)
    >>> bool((first == lnb.nn.Linear(2, 2).weight).numpy().all())
    True
    """
    try:
        _host.seed(seed)
    except (ValueError, TypeError):
        raise ConfigError(f"seed: the seed is {seed!r}. Use an integer from 0 to {LARGEST_SEED}, or None.") from None


def host() -> RandomState:
    """The library's random state."""
    return _host
