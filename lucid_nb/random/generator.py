"""NumPy's generators of today: `default_rng` and what it gives."""

from typing import Any

import numpy as np

from ..array import Tensor
from ..errors import DTypeError
from ..ops.movement import deliver
from .distributions import Distributions, Size
from .drawing import called, delivered, in_slices, on_host


class Generator(Distributions):
    """NumPy's generator of this bit generator; `host` is NumPy's object, with which its state is shared.

    >>> rng = lnb.random.Generator(lnb.random.PCG64(5))
    >>> rng.integers(10, size=3).tolist() == np.random.Generator(np.random.PCG64(5)).integers(10, size=3).tolist()
    True
    """

    def __init__(self, bit_generator: Any) -> None:
        self.host = called("Generator", np.random.Generator, bit_generator)

    @property
    def bit_generator(self) -> Any:
        """NumPy's bit generator; its `state` is a dict to be saved, and assigned to go back."""
        return self.host.bit_generator

    def spawn(self, n_children: int) -> list["Generator"]:
        """So many generators whose numbers have nothing to do with each other's: for threads, say."""
        return [Generator(child.bit_generator) for child in called("spawn", self.host.spawn, n_children)]

    def _filled(self, op: str, size: Size, kind: Any, out: Any, device: Any, *parameters: Any, **how: Any) -> Any:
        """Numbers of a dtype that NumPy draws in; in `out` where it is given."""
        if out is not None and out.dtype != np.dtype(kind):
            raise DTypeError(f"{op}: out is of {out.dtype}, and dtype says {np.dtype(kind)}. Make them equal.")
        shape = out.shape if size is None and out is not None else size
        found = called(op, getattr(self.host, op), *parameters, size=shape, dtype=np.dtype(kind), **how)
        asked = None if kind is np.float64 and out is None else kind
        return deliver(op, delivered(op, found, asked, device if out is None else getattr(out, "device", "cpu"),
                                     parameters), out)

    def random(self, size: Size = None, dtype: Any = np.float64, out: Any = None, *, device: Any = None) -> Tensor:
        """Numbers from 0 (included) to 1 (excluded), evenly; `dtype` is float64 or float32, drawn as such."""
        found: Tensor = self._filled("random", size, dtype, out, device)
        return found

    def standard_normal(self, size: Size = None, dtype: Any = np.float64, out: Any = None, *,
                        device: Any = None) -> Tensor:
        """Normal distribution of mean 0 and standard deviation 1, in float64 or float32."""
        found: Tensor = self._filled("standard_normal", size, dtype, out, device)
        return found

    def standard_exponential(self, size: Size = None, dtype: Any = np.float64, method: str = "zig", out: Any = None, *,
                             device: Any = None) -> Tensor:
        """Exponential distribution of mean 1, in float64 or float32; `method`: "zig" or "inv"."""
        found: Tensor = self._filled("standard_exponential", size, dtype, out, device, method=method)
        return found

    def standard_gamma(self, shape: Any, size: Size = None, dtype: Any = np.float64, out: Any = None, *,
                       device: Any = None) -> Tensor:
        """Gamma distribution of this shape >= 0 and scale 1, in float64 or float32."""
        found: Tensor = self._filled("standard_gamma", size, dtype, out, device, shape)
        return found

    def integers(self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False, *,
                 device: Any = None) -> Tensor:
        """Integers from low to high, which is left out unless `endpoint`; `integers(high)` starts at 0.

        >>> 0 <= int(lnb.random.default_rng(1).integers(5)) < 5
        True
        """
        found = called("integers", self.host.integers, low, high, size, dtype=np.dtype(dtype), endpoint=endpoint)
        return delivered("integers", found, dtype, device, (low, high))

    def multivariate_normal(self, mean: Any, cov: Any, size: Size = None, check_valid: str = "warn", tol: float = 1e-8,
                            *, method: str = "svd", dtype: Any = None, device: Any = None, **how: Any) -> Tensor:
        """As NumPy's; `method`: how the covariance is taken apart, "svd", "eigh" or "cholesky"."""
        return super().multivariate_normal(mean, cov, size, check_valid, tol, dtype=dtype, device=device,
                                           method=method, **how)

    def multivariate_hypergeometric(self, colors: Any, nsample: Any, size: Size = None, method: str = "marginals", *,
                                    device: Any = None) -> Tensor:
        """How many of each colour are among nsample drawn; int64. `method`: "marginals" or "count"."""
        found = called("multivariate_hypergeometric", self.host.multivariate_hypergeometric, colors, nsample, size,
                       method=method)
        return delivered("multivariate_hypergeometric", found, None, device, (colors,))

    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0,
               shuffle: bool = True, *, device: Any = None) -> Any:
        """Items of `a` along an axis, or numbers below an integer `a`; differentiable. `p`: their probabilities.

        >>> sorted(lnb.random.default_rng(0).choice(3, 3, replace=False).tolist())
        [0, 1, 2]
        """
        return self._chosen(a, size, device, axis, replace=replace, p=p, shuffle=shuffle)

    def permutation(self, x: Any, axis: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
        """`x` in a random order along an axis, differentiable; or the integers below an integer `x`."""
        return self._permuted(x, axis, dtype, device)

    def permuted(self, x: Any, axis: int | None = None, out: Any = None) -> Tensor:
        """Each line along an axis in a random order of its own; all elements without one. Differentiable."""
        return in_slices(self, x, axis, out)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring a tensor, an array or a list into a random order along an axis, in place."""
        self._shuffle(x, axis)


def default_rng(seed: Any = None) -> Generator:
    """A generator that gives what NumPy's `default_rng` gives: `seed` is as there, or a generator, which is shared.

    >>> float(lnb.random.default_rng(3).random()) == np.random.default_rng(3).random()
    True
    """
    if isinstance(seed, Generator):
        return seed
    host = called("default_rng", np.random.default_rng, on_host("default_rng", seed))
    return Generator(host.bit_generator)
