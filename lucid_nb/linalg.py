"""Linear algebra: NumPy's and the array API's namespace of that name, and three functions of SciPy's."""

from .errors import LinAlgError
from .ops.axes import matrix_transpose
from .ops.decompositions import cholesky, lu, qr
from .ops.determinants import det, slogdet
from .ops.eigen import eig, eigh, eigvals, eigvalsh
from .ops.linalg import matmul, tensordot, vecdot
from .ops.matrices import cross, diagonal, outer, trace
from .ops.matrix_functions import expm, matrix_power
from .ops.products import multi_dot
from .ops.singular import cond, matrix_rank, svd, svdvals
from .ops.solves import inv, lstsq, pinv, solve, solve_triangular, tensorinv, tensorsolve
from .ops.vector_norm import matrix_norm, norm, vector_norm

__all__ = ["LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm",
           "inv", "lstsq", "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
           "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals",
           "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm"]
