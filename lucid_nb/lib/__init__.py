"""NumPy's `lib`: what lies beside the main namespace."""

from numpy.lib import NumpyVersion

from . import stride_tricks

__all__ = ["NumpyVersion", "stride_tricks"]
