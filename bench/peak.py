"""What this machine can do at most: multiply-adds of one core from registers, and bytes a second of a copy."""

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from lucid_nb.kernels import compiler, store

CHAINS = 12              # independent sums, enough to hide the latency of a multiply-add on every current core
TURNS = 2_000_000
RUNS = 100               # some 0.3 s: long enough for a moment without neighbours


def source(lanes: int, symbol: str) -> str:
    """LLVM IR of a loop of multiply-adds over vectors of float32."""
    kind = f"<{lanes} x float>"
    first = [f"  %a{i} = phi {kind} [ zeroinitializer, %entry ], [ %b{i}, %loop ]" for i in range(CHAINS)]
    steps = [f"  %b{i} = call {kind} @llvm.fmuladd.v{lanes}f32({kind} %x, {kind} %x, {kind} %a{i})"
             for i in range(CHAINS)]
    sums = [f"  %s{i} = fadd {kind} {'%b0' if i == 1 else f'%s{i - 1}'}, %b{i}" for i in range(1, CHAINS)]
    return "\n".join([f"declare {kind} @llvm.fmuladd.v{lanes}f32({kind}, {kind}, {kind})",
                      f"define void @{symbol}(ptr %place, i64 %turns) {{", "entry:",
                      f"  %x = load {kind}, ptr %place, align 4", "  br label %loop", "loop:",
                      "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]", *first, *steps,
                      "  %next = add i64 %turn, 1", "  %more = icmp slt i64 %next, %turns",
                      "  br i1 %more, label %loop, label %done", "done:", *sums,
                      f"  store {kind} %s{CHAINS - 1}, ptr %place, align 4", "  ret void", "}"])


@cache
def gigaflops() -> float:
    """The best of some turns, in GFLOP/s of float32 on one core."""
    lanes = compiler.vector_width() // 32
    address = store.load(source(lanes, "peak"), lambda symbol: store.module_object(source(lanes, symbol), symbol))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)
    place = np.full(64, 1e-3, np.float32)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run(place.ctypes.data, TURNS)
        times.append(time.perf_counter() - start)
    return 2 * lanes * CHAINS * TURNS / min(times) / 1e9


def copy_gigabytes(threads: int = 1, megabytes: int = 256) -> float:
    """Bytes read and written a second by NumPy's copy of so many megabytes, a part for each thread, in GB/s."""
    given = np.array_split(np.ones(megabytes << 17), threads)
    found = [np.empty_like(part) for part in given]
    times = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(9):
            start = time.perf_counter()
            list(pool.map(np.copyto, found, given))
            times.append(time.perf_counter() - start)
    return 2 * (megabytes << 20) / min(times) / 1e9


if __name__ == "__main__":
    print(f"one core: {gigaflops():.0f} GFLOP/s of float32; a copy: {copy_gigabytes():.1f} GB/s")
