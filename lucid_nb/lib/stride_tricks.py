"""Views at chosen strides, as NumPy's `lib.stride_tricks`."""

from ..ops.joining import broadcast_arrays, broadcast_shapes
from ..ops.movement import broadcast_to
from ..ops.strides import as_strided, sliding_window_view

__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view"]
