"""Compiling leaves nothing behind in the process, and takes no instructions that compute otherwise than we say."""

import sys
from pathlib import Path

import llvmlite.binding as llvm
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
HALVES = """
define void @kernel(ptr noalias %x, ptr noalias %y) {
  %a = load <5 x half>, ptr %x
  %b = load <5 x half>, ptr %y
  %z = fdiv <5 x half> %a, %b
  store <5 x half> %z, ptr %y
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


@pytest.mark.skipif(not compiler.host()[0].startswith("x86"), reason="the CPU that is stood for is one of x86")
def test_quotients_of_float16_are_computed_in_float32_where_the_cpu_has_its_own(monkeypatch):
    """Its own are of eight, of which we write five: 0 / 0 in the others would be told as an invalid value."""
    cpu = compiler.host()[0], "sapphirerapids", {"avx512f": True, "avx512vl": True, "f16c": True, "avx512fp16": True}
    monkeypatch.setattr(compiler, "host", lambda: cpu)
    text = compiler.target_machine().emit_assembly(llvm.parse_assembly(HALVES))
    assert "vdivps" in text and "vdivph" not in text, text
