"""What tests of programs need: gradients against finite differences, comparison in units of the last place, inputs.

`check_grad` and `assert_close` need nothing but the library; the strategies `shapes`, `broadcastable_shapes`, `arrays`,
`axes`, `indices` and `conv_geometry` need hypothesis, which is loaded when one of them is called. The
assertions of numpy.testing are here by their names, and take tensors.
"""

from .arguments import ConvGeometry, axes, conv_geometry, indices
from .arrays import AWKWARD, LAYOUTS, arrays, broadcastable_shapes, laid_out, shapes
from .comparison import assert_close
from .gradients import check_grad
from .numpys import assertions as _assertions

__all__ = ["AWKWARD", "LAYOUTS", "ConvGeometry", "arrays", "assert_close", "axes", "broadcastable_shapes", "check_grad",
           "conv_geometry", "indices", "laid_out", "shapes"]
globals().update(_assertions)
__all__ += sorted(_assertions)
