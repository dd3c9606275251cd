"""NumPy's `lib`: what lies beside the main namespace."""

from numpy.lib import Arrayterator, NumpyVersion, array_utils, format, introspect, mixins, npyio, scimath

from . import stride_tricks

__all__ = ["Arrayterator", "NumpyVersion", "array_utils", "format", "introspect", "mixins", "npyio", "scimath",
           "stride_tricks"]
