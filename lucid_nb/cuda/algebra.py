"""Fourier transforms and linear algebra by CuPy, where it is installed. NotImplemented leaves them to the host.

Matrices that are singular, or hold what is not finite, are left to the host as well, which knows the error to raise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .array import DeviceArray
from .cupy import called

NUMBERS = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


# ------------------------------------------------------------------------------------------------ Fourier transforms
def fourier(kind: str, raw: DeviceArray, axes: tuple[int, ...], sizes: tuple[int, ...], norm: str,
            factor: float) -> Any:
    """As the CPU's."""
    if raw.element not in NUMBERS:
        return NotImplemented
    twice = (slice(None),) * axes[-1] + (slice(1, (sizes[-1] + 1) // 2),)

    def transformed(library: Any, x: Any) -> Any:
        if factor != 1 and kind == "irfft":
            x = x.copy()
            x[twice] *= factor
        found = getattr(library.fft, kind + "n")(x, sizes, axes, norm)
        if factor != 1 and kind == "rfft":
            found[twice] *= factor
        return found
    found = called(f"{kind} of {len(axes)} axes", transformed, raw)
    return NotImplemented if found is None else found


# ---------------------------------------------------------------------------------------------------- linear algebra
def _finite(library: Any, *arrays: Any) -> None:
    if not all(bool(library.isfinite(x).all()) for x in arrays):
        raise np.linalg.LinAlgError("infs or nans")


def _routine(name: str, *taken: str) -> Callable[..., Any]:
    """A function of CuPy's linear algebra that takes these options in this order."""
    def call(library: Any, *arrays: Any, **options: Any) -> Any:
        return getattr(library.linalg, name)(*arrays, *(options[option] for option in taken))
    return call


# By name: the function, and what an option has to be, for what CuPy lacks or does otherwise.
ROUTINES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "inv": (_routine("inv"), {}), "solve": (_routine("solve"), {}), "det": (_routine("det"), {}),
    "slogdet": (_routine("slogdet"), {}), "cholesky": (_routine("cholesky"), {"upper": False}),
    "qr": (_routine("qr", "mode"), {}), "svd": (_routine("svd", "full"), {"hermitian": False}),
    "eigh": (_routine("eigh", "triangle"), {}), "eigvalsh": (_routine("eigvalsh", "triangle"), {}),
}


def linalg(routine: str, options: dict[str, Any], *raws: DeviceArray) -> Any:
    """As the CPU's."""
    function, asked = ROUTINES.get(routine, (None, {}))
    if (function is None or any(options[name] != value for name, value in asked.items())
            or any(raw.element not in NUMBERS or raw.shape[:-2] != raws[0].shape[:-2] for raw in raws)):
        return NotImplemented

    def computed(library: Any, *arrays: Any) -> Any:
        import cupyx
        _finite(library, *arrays)
        with cupyx.errstate(linalg="raise"):
            return function(library, *arrays, **options)
    found = called(routine, computed, *raws)
    return NotImplemented if found is None else found
