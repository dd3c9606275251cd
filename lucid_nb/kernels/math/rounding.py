"""What the CPU has as one instruction: absolute value, square root, rounding to integers."""
from ..intrinsics import ceil, fabs, floor, round_even, square_root, truncate
from .common import scalar


@scalar
def absolute_float32(x): return fabs(x)
@scalar
def absolute_float64(x): return fabs(x)
@scalar
def sqrt_float32(x): return square_root(x)
@scalar
def sqrt_float64(x): return square_root(x)
@scalar
def floor_float32(x): return floor(x)
@scalar
def floor_float64(x): return floor(x)
@scalar
def ceil_float32(x): return ceil(x)
@scalar
def ceil_float64(x): return ceil(x)
@scalar
def truncate_float32(x): return truncate(x)
@scalar
def truncate_float64(x): return truncate(x)
@scalar
def round_even_float32(x): return round_even(x)
@scalar
def round_even_float64(x): return round_even(x)
