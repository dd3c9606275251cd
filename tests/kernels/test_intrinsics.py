"""Status flags by one meaning on every CPU, tables of constants, and what a kernel's function is marked with."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from lucid_nb.kernels import compiler, intrinsics, store

FLAGS = intrinsics.INVALID, intrinsics.DIVIDE, intrinsics.OVERFLOW, intrinsics.UNDERFLOW
WORDS = intrinsics.word_table("three_words", [7, 0xFFFFFFFF, 9])


def run(text, kinds, *arrays, **names):
    """Compile `def kernel(count, a, b, ...)` whose body is `text`, and call it."""
    body = "".join(f"    {line}\n" for line in text.splitlines())
    space = {**vars(intrinsics), **names}
    exec(f"def kernel(count, {', '.join('abc'[:len(kinds)])}):\n{body}", space)
    address = store.load(f"{kinds} {text}", lambda symbol: store.elementwise_object(space["kernel"], kinds, symbol))
    table = (ctypes.c_int64 * len(kinds))(*(a.ctypes.data for a in arrays))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)(arrays[0].size, ctypes.addressof(table))


@pytest.mark.parametrize("raised", [0, *FLAGS, sum(FLAGS), intrinsics.INVALID | intrinsics.OVERFLOW])
def test_flags_that_are_raised_are_read_and_cleared(raised):
    a = np.array([raised, -1, -1], np.int64)
    run("word = save_flags()\nclear_flags()\nraise_flags(a[0])\na[1] = raised_flags()\nclear_flags()\n"
        "a[2] = raised_flags()\nrestore_flags(word)", ["int64*"], a)
    assert a.tolist() == [raised, raised, 0]


@pytest.mark.parametrize(("x", "y", "flag"), [
    (0.0, 0.0, intrinsics.INVALID), (1.0, 0.0, intrinsics.DIVIDE), (1e308, 1e-308, intrinsics.OVERFLOW),
    (1e-308, 1e308, intrinsics.UNDERFLOW), (6.0, 3.0, 0)])
def test_flags_of_the_cpu_have_the_common_numbers(x, y, flag):
    found, operands = np.array([-1], np.int64), np.array([x, y, 0.0])
    run("word = save_flags()\nclear_flags()", ["int64*"], found)
    run("b[2] = b[0] / b[1]", ["int64*", "float64*"], found, operands)
    run("a[0] = raised_flags()", ["int64*"], found)
    assert found[0] == flag


def test_restored_flags_hide_what_was_raised_between():
    a = np.array([-1, -1], np.int64)
    run("clear_flags()\nword = save_flags()\nraise_flags(5)\na[0] = raised_flags()\nrestore_flags(word)\n"
        "a[1] = raised_flags()", ["int64*"], a)
    assert a.tolist() == [5, 0]


@pytest.mark.parametrize(("triple", "texts"), [
    ("aarch64-unknown-linux-gnu", ("mrs", "msr", "FPSR")), ("x86_64-unknown-linux-gnu", ("stmxcsr", "ldmxcsr")),
    ("riscv64-unknown-linux-gnu", ())])
def test_flags_are_emitted_for_other_machines(triple, texts, monkeypatch):
    monkeypatch.setattr(compiler, "host", lambda: (triple, "generic", {}))
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(intrinsics.WIDE_WORD, []), "status")
    builder = ir.IRBuilder(function.append_basic_block())
    word = intrinsics.emit_read_status(builder)
    intrinsics.emit_write_status(builder, word)
    builder.ret(word)
    parsed = llvm.parse_assembly(str(module))
    assert parsed.get_function("status").name == "status"
    if texts:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        text = llvm.Target.from_triple(triple).create_target_machine().emit_assembly(parsed)
        assert all(word in text for word in texts)


def test_word_table_is_read():
    a = np.zeros(3, np.int64)
    run("for i in range(count):\n    a[i] = WORDS(i)", ["int64*"], a, WORDS=WORDS)
    assert a.tolist() == [7, 0xFFFFFFFF, 9]
