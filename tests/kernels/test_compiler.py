"""Compiling leaves nothing behind in the process."""

import sys
from pathlib import Path

import pytest

from lucid_nb.kernels import compiler
from lucid_nb.kernels.loops import elementwise

LOOP = """
define void @kernel(ptr noalias %from, ptr noalias %to, i64 %count) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %head]
  %source = getelementptr float, ptr %from, i64 %i
  %target = getelementptr float, ptr %to, i64 %i
  %x = load float, ptr %source
  %y = fmul float %x, 3.0
  store float %y, ptr %target
  %next = add i64 %i, 1
  %inside = icmp slt i64 %next, %count
  br i1 %inside, label %head, label %out
out:
  ret void
}
"""


def resident():
    """MB of the process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def of_text():
    return compiler.module_object(LOOP, "kernel")


def of_function():
    return compiler.ufunc_loop_object(elementwise.ufunc_loop, "kernel")


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read as Linux tells it")
@pytest.mark.parametrize("compile_one, count", [(of_text, 100), (of_function, 12)])
def test_compiling_again_and_again_takes_no_more_memory(compile_one, count):
    for _ in range(count // 4):
        compile_one()
    before = resident()
    for _ in range(count):
        compile_one()
    assert resident() - before < 2                   # it was 7 and 4
