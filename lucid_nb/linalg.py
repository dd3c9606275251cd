"""Linear algebra: NumPy's and the array API's namespace of that name."""

from .ops.axes import matrix_transpose
from .ops.linalg import matmul, tensordot, vecdot
from .ops.matrices import cross, diagonal, outer, trace
from .ops.products import matrix_power, multi_dot
from .ops.vector_norm import matrix_norm, norm, vector_norm

__all__ = ["cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot", "norm",
           "outer", "tensordot", "trace", "vecdot", "vector_norm"]
