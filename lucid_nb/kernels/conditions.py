"""Floating-point conditions of elementwise kernels: how a program's are told, and by which code."""

from ..program import Program
from . import compiler, store

FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
# Modes of warnings. EXACT: the CPU's own flags are right. Of the others, told from inputs and results: an infinity
# from finite inputs is an overflow, or a division by zero (DIVIDES; QUOTIENT and FLOORED where the last input is 0,
# POWER where the first is), and rounding an infinite quotient down is invalid too (FLOORED); of SCALES only the first
# input is a float; a result below the normal range is an underflow from UNDERFLOWS on. Of integers, told from the
# last input: a division by zero, of FLOORS also the overflow of the lowest integer by -1, of INVERTS also an invalid
# value.
SILENT, EXACT, PLAIN, QUOTIENT, FLOORED, SCALES, DIVIDES, UNDERFLOWS, POWER, WHOLE, FLOORS, INVERTS = range(12)
INVALID, DIVIDE, OVERFLOW, UNDERFLOW = 1, 2, 4, 8                         # conditions, on every CPU
QUIET_STEPS = frozenset("input literal negative absolute copysign floor ceil truncate round_even sign maximum minimum "
                        "where greater greater_equal less less_equal equal not_equal isfinite isinf "
                        "cbrt arctan arctan2 arcsinh tanh".split())
EXACT_STEPS = frozenset("input literal add subtract multiply divide reciprocal negative sqrt absolute copysign "
                        "floor ceil truncate round_even".split())
MODES = {**dict.fromkeys(("log", "log1p", "log2", "log10", "arctanh"), DIVIDES), "exp": UNDERFLOWS, "exp2": UNDERFLOWS,
         "power": POWER, "floor_divide": FLOORED, "ldexp": SCALES}
OF_INTEGERS = {"remainder": WHOLE, "fmod": WHOLE, "floor_divide": FLOORS, "reciprocal": INVERTS}


def warning_mode(program: Program) -> int:
    """How the conditions of a program are told."""
    kinds = {*program.inputs, *program.results}
    steps = {step.op for step in program.steps}
    if program.warns and len(kinds) == 1 and kinds <= INTEGERS:
        return max((OF_INTEGERS.get(step, SILENT) for step in steps), default=SILENT)
    if "ldexp" in steps:
        kinds -= INTEGERS
    if not program.warns or len(kinds) > 1 or not kinds <= FLOATS or steps <= QUIET_STEPS:
        return SILENT
    if steps <= EXACT_STEPS and (kinds != {"float16"} or compiler.has_half()):
        return EXACT
    if steps <= EXACT_STEPS:          # rounding to float16 by integers raises no flags
        return QUOTIENT if {"divide", "reciprocal"} & steps else PLAIN
    mode = max((MODES.get(step, PLAIN) for step in steps), default=PLAIN)
    return QUOTIENT if mode == FLOORED and {"float16", "bfloat16"} & kinds else mode      # no infinity was rounded down


def examiner(program: Program) -> int:
    """Address of what runs a program's kernel and tells its conditions meanwhile; 0 where nothing has to."""
    mode, dtype = warning_mode(program), program.inputs[0]
    if mode <= EXACT:
        return 0

    def compile_examiner(symbol: str) -> bytes:
        from .loops import conditions as loops
        return store.words_object((loops.of_integers if mode >= WHOLE else loops.of_floats)(dtype), symbol)
    return store.load(f"conditions of {dtype}", compile_examiner)
