"""Readers of object files, on objects that LLVM writes for each format and machine."""
import llvmlite.binding as llvm
import pytest

from lucid_nb.kernels import objects

# A call, a call with a name over eight letters, memset, a float constant table, a common symbol, a frame over a page.
MODULE = """
@shared = common global ptr null
@table = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.5]
declare void @helper(ptr)
declare void @a_helper_with_a_long_name(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @entry(ptr %p, i64 %n) {
  %frame = alloca [100000 x i8]
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  CALLS
  %place = getelementptr [4 x double], ptr @table, i64 0, i64 %n
  %value = load double, ptr %place
  store double %value, ptr %p
  store ptr %frame, ptr @shared
  ret void
}
"""
CALLS = "call void @helper(ptr %frame)\n  call void @a_helper_with_a_long_name(ptr %frame)"
TARGETS = [("x86_64-unknown-linux-gnu", "elf", "x86_64"), ("aarch64-unknown-linux-gnu", "elf", "aarch64"),
           ("arm64-apple-darwin", "macho", "aarch64"), ("x86_64-apple-darwin", "macho", "x86_64"),
           ("x86_64-pc-windows-msvc", "coff", "x86_64"), ("aarch64-pc-windows-msvc", "coff", "aarch64")]


def emit(triple, calls):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this llvmlite has no code generator for {triple}")
    module = llvm.parse_assembly(MODULE.replace("CALLS", calls))
    module.triple = triple
    return target.create_target_machine().emit_object(module)


@pytest.mark.parametrize("triple, kind, machine", TARGETS)
def test_undefined_symbols_are_found(triple, kind, machine):
    found = objects.read(emit(triple, CALLS))
    assert (found.format, found.machine) == (kind, machine)
    assert found.foreign_symbols() == ["a_helper_with_a_long_name", "helper"]
    assert "memset" in found.undefined or "bzero" in found.undefined


@pytest.mark.parametrize("triple, kind, machine", TARGETS)
def test_what_llvm_adds_by_itself_is_allowed(triple, kind, machine):
    assert objects.read(emit(triple, "")).foreign_symbols() == []


@pytest.mark.parametrize("junk", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 100, b"junk" * 1000, b"\0" * 64,
                                  bytes.fromhex("cffaedfe") + b"\xff" * 60, bytes.fromhex("6486") + b"\xff" * 60])
def test_junk_is_refused(junk):
    with pytest.raises(objects.ObjectError):
        objects.read(junk)


@pytest.mark.parametrize("triple, kind, machine", TARGETS)
def test_truncated_objects_never_pass(triple, kind, machine):
    code = emit(triple, CALLS)
    whole = objects.read(code)
    for length in range(0, len(code), 97):
        try:
            assert objects.read(code[:length]).undefined <= whole.undefined
        except objects.ObjectError:
            continue
