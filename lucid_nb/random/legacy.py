"""NumPy's generator of old, and the functions of `lnb.random`, which are its methods on the library's own state."""

from typing import Any

import numpy as np

from ..array import Tensor
from ..errors import ConfigError
from . import state
from .distributions import Distributions, Size
from .drawing import called, delivered, on_host


class RandomState(Distributions):
    """NumPy's `RandomState` of this seed; `host` is NumPy's object, with which its state is shared.

    >>> lnb.random.RandomState(2).rand(2).tolist() == np.random.RandomState(2).rand(2).tolist()
    True
    """

    def __init__(self, seed: Any = None) -> None:
        self.host = called("RandomState", np.random.RandomState, seed)

    def seed(self, seed: Any = None) -> None:
        """Start anew from a seed, 0 to 2**32 - 1, or from the system's entropy."""
        called("seed", self.host.seed, seed)

    def get_state(self, legacy: bool = True) -> Any:
        """The state, to be saved: a tuple, or a dict where not `legacy`."""
        return self.host.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Go back to a state that `get_state` gave."""
        called("set_state", self.host.set_state, state)

    # --------------------------------------------------------------------------------------------- numbers
    def random_sample(self, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Numbers from 0 (included) to 1 (excluded), evenly."""
        return self.draw("random_sample", (), size, dtype, device)

    random = random_sample

    def rand(self, *sizes: int, dtype: Any = None, device: Any = None, requires_grad: bool = False,
             keep_grad: bool = False) -> Tensor:
        """`random_sample` of a shape given by one argument for each axis.

        >>> lnb.random.rand(2, 3).shape
        (2, 3)
        """
        return _leaf(delivered("rand", called("rand", self.host.rand, *sizes), dtype, device), requires_grad, keep_grad)

    def randn(self, *sizes: int, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              keep_grad: bool = False) -> Tensor:
        """`standard_normal` of a shape given by one argument for each axis."""
        return _leaf(delivered("randn", called("randn", self.host.randn, *sizes), dtype, device), requires_grad,
                     keep_grad)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None, *, dtype: Any = None, device: Any = None,
                requires_grad: bool = False, keep_grad: bool = False) -> Tensor:
        """Numbers from low (included) to high (excluded), evenly."""
        return _leaf(self.draw("uniform", (low, high), size, dtype, device), requires_grad, keep_grad)

    def bernoulli(self, probs: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                  keep_grad: bool = False) -> Tensor:
        """1 with probability `probs`, otherwise 0, in the default float: an element for each of `probs`, from 0 to 1.

        >>> lnb.random.bernoulli([0.0, 1.0]).tolist()
        [0.0, 1.0]
        """
        chances = np.asarray(on_host("bernoulli", probs))
        if not ((chances >= 0) & (chances <= 1)).all():
            raise ConfigError("bernoulli: a probability is not from 0 to 1. Clip them.")
        found = (self.host.random_sample(chances.shape) < chances).astype(np.float64)
        return _leaf(delivered("bernoulli", found, dtype, device, (probs,)), requires_grad, keep_grad)

    def randint(self, low: Any, high: Any = None, size: Size = None, dtype: Any = int, *, device: Any = None,
                requires_grad: bool = False, keep_grad: bool = False) -> Tensor:
        """Integers from low (included) to high (excluded); `randint(high)` starts at 0."""
        found = called("randint", self.host.randint, low, high, size, dtype=np.dtype(dtype))
        return _leaf(delivered("randint", found, dtype, device, (low, high)), requires_grad, keep_grad)

    def random_integers(self, low: Any, high: Any = None, size: Size = None, *, device: Any = None) -> Tensor:
        """Integers from low (or 1) to high, both included; with NumPy's DeprecationWarning: use `randint`."""
        return delivered("random_integers", called("random_integers", self.host.random_integers, low, high, size),
                         None, device, (low, high))

    def tomaxint(self, size: Size = None, *, device: Any = None) -> Tensor:
        """Integers from 0 to the largest int64."""
        return self.draw("tomaxint", (), size, None, device)

    def standard_normal(self, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Normal distribution of mean 0 and standard deviation 1."""
        return self.draw("standard_normal", (), size, dtype, device)

    def standard_exponential(self, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Exponential distribution of mean 1."""
        return self.draw("standard_exponential", (), size, dtype, device)

    def standard_gamma(self, shape: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Gamma distribution of this shape >= 0 and scale 1."""
        return self.draw("standard_gamma", (shape,), size, dtype, device)

    # ---------------------------------------------------------------------------------------------- orders
    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None, *, device: Any = None) -> Any:
        """Items of `a`, of one axis, or numbers below an integer `a`; differentiable. `p`: their probabilities.

        >>> sorted(lnb.random.choice([2, 3], 2, replace=False).tolist())
        [2, 3]
        """
        if getattr(a, "ndim", 0) > 1:
            raise ConfigError(f"choice: a has shape {a.shape}. Give a tensor of one axis, or use default_rng().choice.")
        return self._chosen(a, size, device, 0, replace=replace, p=p)

    def permutation(self, x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                    keep_grad: bool = False) -> Tensor:
        """`x` in a random order along its first axis, differentiable; or the integers below an integer `x`."""
        return _leaf(self._permuted(x, 0, dtype, device), requires_grad, keep_grad)

    def shuffle(self, x: Any) -> None:
        """Bring a tensor, an array or a list into a random order along its first axis, in place.

        >>> x = lnb.arange(4)
        >>> lnb.random.shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3]
        """
        self._shuffle(x, 0)


def _leaf(found: Tensor, requires_grad: bool, keep_grad: bool) -> Tensor:
    """With a gradient where one is asked for; `keep_grad` is `retain_grad()` at once."""
    if requires_grad:
        found.is_value = False
        found.requires_grad = True
        if keep_grad:
            found.retain_grad()
    return found


class _Library(RandomState):
    """The library's own state, see state.py."""

    def __init__(self) -> None:
        pass

    @property
    def host(self) -> np.random.RandomState:
        """The state, whose use is noticed."""
        return state.host()


library = _Library()
