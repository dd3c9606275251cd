"""Matrix products: large and small tiles, aligned and not, skinny ones, parts of the depth, epilogues."""

import lucid_nb.cuda as table
from lucid_nb.cuda import gemm
from lucid_nb.cuda.tiles import Epilogue

from . import FLOATS, HALVES, array, launches

SIDE = 4096
SUMS = ("each thread holds the sums of a tile in 64 registers, so that what is read from shared memory is used eight "
        "times; two blocks of 256 threads hide its latency")
FRAGMENTS = ("whole rows of both operands stay in registers while they are multiplied, and the next slice of the depth "
             "beside them; two blocks of 256 threads hide the latency of shared memory")
LINES = ("the walk along a line is unrolled, by loads of 16 bytes: three or four blocks of 256 threads keep enough of "
         "them on their way; in fewer registers sums are spilled")

SPILLED = ("a few places do not fit beside the sums in 128 registers; they are read again from memory that the first "
           "cache holds, where a third of the sums would be the price of keeping them")


def turned(shape, dtype):
    """A transposed view."""
    return table.permute(array(shape[::-1], dtype), (1, 0))


def flops(rows, depth, cols):
    """Of a product; a complex product is four real ones and two sums."""
    return lambda dtype: 2 * rows * depth * cols * (4 if dtype.startswith("complex") else 1)


@launches(*FLOATS, *HALVES, "int8", "int32", "int64", "bool", "complex64", "complex128", flops=flops(SIDE, SIDE, SIDE),
          registers=SUMS, stack=SPILLED)
def square(dtype):
    table.matmul(array((SIDE, SIDE), dtype), array((SIDE, SIDE), dtype))


@launches("float32", "float64", "bfloat16", flops=flops(SIDE, SIDE, SIDE), registers=SUMS, stack=SPILLED)
def transposed_operands(dtype):
    table.matmul(turned((SIDE, SIDE), dtype), turned((SIDE, SIDE), dtype))


@launches("float32", "float64", *HALVES, "complex64", flops=flops(4001, 4003, 4005), registers=SUMS,
          stack=SPILLED)
def ragged(dtype):
    table.linear(array((4001, 4003), dtype), turned((4003, 4005), dtype), array(4005, dtype),
                 "" if dtype.startswith("complex") else "relu")


@launches(*FLOATS, *HALVES, flops=flops(SIDE, SIDE, SIDE), registers=SUMS, stack=SPILLED)
def linear_with_relu(dtype):
    table.linear(array((SIDE, SIDE), dtype), turned((SIDE, SIDE), dtype), array(SIDE, dtype), "relu")


@launches(*FLOATS, *HALVES, "int32", "int64", "bool", "complex64", "complex128", flops=flops(512 * 64, 64, 64),
          registers=FRAGMENTS)
def small_batches(dtype):
    table.matmul(array((512, 64, 64), dtype), array((512, 64, 64), dtype))


@launches("float32", "bfloat16", flops=flops(128, 1 << 18, 128), registers=SUMS)
def deep(dtype):
    table.matmul(turned((128, 1 << 18), dtype), array((1 << 18, 128), dtype))


@launches(*FLOATS, *HALVES, "int32", "complex64", flops=flops(1, SIDE, SIDE), registers=LINES)
def one_row(dtype):
    table.matmul(array((1, SIDE), dtype), turned((SIDE, SIDE), dtype))
    table.matmul(array((1, SIDE), dtype), array((SIDE, SIDE), dtype))


@launches("float32", "float64", "bfloat16", "complex128", flops=flops(4, SIDE, SIDE), registers=LINES)
def four_rows(dtype):
    table.matmul(array((4, SIDE), dtype), turned((SIDE, SIDE), dtype))


@launches("float32", "float64", *HALVES, "complex64")
def finished_after_a_library(dtype):
    made, is_complex = array((SIDE, SIDE), dtype), dtype.startswith("complex")
    epilogue = Epilogue(True, "" if is_complex else "relu")
    gemm._join(made.memory, made.element, made, array(SIDE, dtype).memory, 1, epilogue)
