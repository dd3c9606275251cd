"""From a Python function or LLVM IR to an object file that exports one C function and needs nothing but memcpy.

Numba translates the function and the helpers it calls to LLVM IR; linking, optimising and emitting are done here, so
that everything but the exported symbol is internal: objects made by different processes, in which Numba counts its
functions anew, then share one engine without a clash of names, and the machine code is made once, not twice.
"""
import re
from contextlib import contextmanager
from functools import cache, partial

from .. import config

WORD_BITS = 64
RAISES = re.compile(r"store [^\n]*, ptr %excinfo\b")      # how Numba's functions leave an exception to their caller
ARM = ("aarch64", "arm64")                            # what triples of it begin with
# Arithmetic of float16 itself. LLVM prefers it to our float32, and rounds short vectors up with lanes of 0 / 0.
OWN_HALF = frozenset({"avx512fp16", "fullfp16"})
# From Golden Cove on some instructions wait for what they overwrite, which LLVM breaks where it is told; the CPU's
# name, read off a number that virtual machines choose, does not tell.
WAITING = ("false-deps-mullq", "false-deps-perm", "false-deps-range", "false-deps-getmant")
POOR = {"256": ("avx512", "avx10", "amx"), "128": ("avx", "amx", "fma", "f16c", "xop", "vaes", "vpclmul")}


@cache
def host():
    """LLVM's triple, CPU name and dict of CPU features of this machine."""
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def target_features():
    """The CPU features that kernels are compiled for: the host's without OWN_HALF and what the width excludes."""
    return _features_within(str(config.vector_width), host()[:2])


@cache
def _features_within(width, cpu):
    """The CPU features for vectors of this width; asked by every call of an emitted kernel."""
    beyond = POOR.get(width, ())
    return {name: has and name not in OWN_HALF and not name.startswith(beyond) for name, has in host()[2].items()}


def vector_width():
    """Bits of the widest vector registers that kernels are compiled for."""
    features = target_features()
    return 512 if features.get("avx512f") else 256 if features.get("avx2") else 128


def has_half():
    """May float16 be left to the CPU? Without the instructions LLVM would call a library.

    Asked whenever a kernel is made, as the width that kernels are compiled for may change in a process.
    """
    return host()[0].startswith(ARM) or target_features().get("f16c", False)


def target_machine():
    """A new LLVM target machine for this CPU. The large code model: MCJIT may put code and constants far apart."""
    import llvmlite.binding as llvm
    triple, cpu, _ = host()
    found = target_features()
    features = ",".join([*(("+" if has else "-") + name for name, has in sorted(found.items())),
                         *("+" + name for name in WAITING if found.get("avx512f"))])
    relocation = "static" if triple.startswith("x86") else "default"
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc=relocation, codemodel="jitdefault", jit=True)


def module_object(module, symbol, optimise=True, interleaves=True, check=None, as_written=False, quick=False):
    """The object file of LLVM IR (text or a parsed module), in which only `symbol` is visible from outside.

    `check(module)` may refuse what was made of it. `interleaves`: whether vectorised loops may run several vectors at
    once, which sums need, and which leaves more elements at the end of a row to be done one by one. `as_written`:
    the text decides by itself what is in vectors and what is unrolled. `quick`: without the passes that loops which
    become vectors gain nothing by, a third of the time.
    """
    import llvmlite.binding as llvm
    machine = target_machine()
    module = llvm.parse_assembly(module) if isinstance(module, str) else module
    _hide_all_but(module, symbol)
    if optimise:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2 if quick else 3)
        tuning.loop_vectorization = not as_written
        tuning.slp_vectorization = tuning.loop_unrolling = not (as_written or quick)
        tuning.loop_interleaving = interleaves
        _run_passes(module, machine, tuning)
    module.verify()
    if check is not None:
        check(module)
    return machine.emit_object(module)


def _hide_all_but(module, symbol):
    """Make all that a module defines internal, except for one function."""
    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name != symbol:
            item.linkage = "internal"


def _run_passes(module, machine, tuning):
    """Optimise a module."""
    import llvmlite.binding as llvm
    passes = llvm.create_pass_builder(machine, tuning)
    manager = passes.getModulePassManager()
    manager.run(module, passes)
    dispose = _missing_dispose(type(manager))
    if dispose:
        dispose(manager)
    manager.close()


def _missing_dispose(kind):
    """What frees a pass manager, where its class does not by itself, None where it does.

    A manager keeps what its passes worked with, a quarter of a MB for a kernel. In llvmlite 0.50 the base class that
    frees managers stands behind one whose method of that name frees nothing.
    """
    from llvmlite.binding import ffi, newpassmanagers
    return newpassmanagers.NewPassManager._dispose if kind._dispose is ffi.ObjectRef._dispose else None


def numba_type(kind):
    """A Numba type from its name: "int64", "float64", "float32*"; a Numba type stays itself."""
    from numba import types
    if not isinstance(kind, str):
        return kind
    return types.CPointer(getattr(types, kind[:-1])) if kind.endswith("*") else getattr(types, kind)


def range_object(function, kinds, symbol):
    """Compile `function(start, stop, *operands)` to `void symbol(int64* table, int64 start, int64 stop)`.

    Word k of the table becomes operand k by its kind: a pointer from its address, an integer from the word, a float
    from the bits of a float64.
    """
    kinds = tuple(map(numba_type, kinds))

    def unpack(builder, inner, table, start, stop):
        return [start, stop, *(_operand(builder, table, k, kind, inner[2 + k]) for k, kind in enumerate(kinds))]

    bounds = (numba_type("int64"),) * 2
    return _c_function(function, bounds + kinds, (numba_type("int64*"), *bounds), unpack, symbol)


def elementwise_object(function, pointer_types, symbol):
    """Compile `function(count, *pointers)` to `void symbol(int64 count, int64* table of pointers)`."""
    kinds = tuple(map(numba_type, pointer_types))

    def unpack(builder, inner, count, table):
        return [count, *(_operand(builder, table, k, kind, inner[1 + k]) for k, kind in enumerate(kinds))]

    exported = numba_type("int64"), numba_type("int64*")
    return _c_function(function, (numba_type("int64"), *kinds), exported, unpack, symbol, interleaves=False)


def ufunc_loop_object(function, symbol):
    """Compile `function(pointers, counts, steps, data)` to `void symbol(int64*, int64*, int64*, int64*)`."""
    words = (numba_type("int64*"),) * 4
    return _c_function(function, words, words, lambda builder, inner, *arguments: list(arguments), symbol)


def words_object(function, symbol):
    """Compile `function` of three int64, which may be addresses, to a C function of the same that gives an int64."""
    words = (numba_type("int64"),) * 3
    return _c_function(function, words, words, lambda builder, inner, *arguments: list(arguments), symbol,
                       numba_type("int64"))


def _operand(builder, table, number, kind, wanted):
    """Word `number` of the table as an argument of LLVM type `wanted`."""
    from llvmlite import ir
    from numba import types
    word = builder.load(builder.gep(table, [ir.Constant(ir.IntType(WORD_BITS), number)]))
    if isinstance(kind, types.CPointer):
        return builder.inttoptr(word, wanted)
    if isinstance(kind, types.Float):
        value = builder.bitcast(word, ir.DoubleType())
        return value if kind.bitwidth == WORD_BITS else builder.fptrunc(value, wanted)
    return word if kind.bitwidth == WORD_BITS else builder.trunc(word, wanted)


def scalar_bitcode(function, kinds, returned, symbol):
    """The LLVM bitcode of a module in which `symbol` is a function of numbers that says what `function` says.

    Optimised, but for vectors: it becomes part of the loops that call it.
    """
    import llvmlite.binding as llvm
    kinds, returned = tuple(map(numba_type, kinds)), numba_type(returned)
    module, _ = _linked(function, kinds, kinds, lambda builder, inner, *arguments: list(arguments), symbol, returned)
    _hide_all_but(module, symbol)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    _run_passes(module, target_machine(), tuning)
    return module.as_bitcode()


def _c_function(function, arguments, exported, unpack, symbol, returned=None, interleaves=True):
    """The object of a compiled function under a C signature. A kernel cannot raise, which is checked."""
    module, name = _linked(function, arguments, exported, unpack, symbol, returned)
    # Inlined, the kernel would lose its attributes: vector width, and pointers that do not overlap.
    module.get_function(name).add_function_attribute("noinline")
    return module_object(module, symbol, interleaves=interleaves, check=partial(_check_cannot_raise, name))


def _linked(function, arguments, exported, unpack, symbol, returned):
    """The LLVM module of a compiled function, what it calls, and `symbol`, its C form; and its own name in it.

    Numba's own cfunc would wrap a kernel in code that reports exceptions: it needs the GIL and a dozen Python symbols.
    This wrapper converts the arguments, calls, drops the status.
    """
    from numba.core.compiler_lock import global_compiler_lock
    contexts = _contexts()          # before the lock of the compiler, which their making takes in its turn
    with global_compiler_lock:
        with _helpers_as_ir():
            result = _translated(function, arguments, returned or numba_type("void"), *contexts)
            library = result.library
            library.add_ir_module(_wrapper(result, exported, unpack, symbol, returned))
        # Not Numba's library.finalize: it would hand the module to Numba's engine, which emits it a second time.
        module = library._final_module
        for helper in dict.fromkeys(library._linking_libraries):
            module.link_in(helper._get_module_for_linking(), preserve=True)
        return module, result.fndesc.llvm_func_name


def _check_cannot_raise(name, module):
    """Refuse a kernel that can end early with an exception: nobody would see it, and results would stay unwritten."""
    if RAISES.search(str(module.get_function(name))):
        raise RuntimeError(f"compiler: {name} can raise. Divide complex numbers by divide_complex128, check no sizes.")


@contextmanager
def _helpers_as_ir():
    """While it lasts, Numba makes no machine code of the functions that a kernel calls, and does not optimise each by
    itself: only what they become within the kernel counts, and half of a cold start went into the rest. Its managers
    of passes over functions are freed.

    Numba's lock must be held. A helper that was compiled here can be called from kernels only.
    """
    from llvmlite.binding.newpassmanagers import FunctionPassManager
    from numba.core import codegen, cpu, lowering
    replaced = ((cpu.CPUContext, "get_executable", lambda context, library, *rest: [].index),   # a key of its own
                (codegen.CPUCodeLibrary, "_optimize_final_module", _nothing),
                (codegen.JITCPUCodegen, "_add_module", _nothing),            # Numba's engine, which would emit it
                (codegen.JITCodeLibrary, "_finalize_specific", _nothing),
                (lowering.Lower, "create_cpython_wrapper", _nothing),
                (lowering.Lower, "create_cfunc_wrapper", _nothing),
                *[(FunctionPassManager, "_dispose", dispose) for dispose in [_missing_dispose(FunctionPassManager)]
                  if dispose])
    kept = [getattr(owner, name) for owner, name, _ in replaced]
    try:
        for owner, name, value in replaced:
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name, _), value in zip(replaced, kept):
            setattr(owner, name, value)


def _nothing(*_):
    """In the place of a step that is left out."""


def _contexts():
    """Numba's typing and target contexts."""
    from numba.core.registry import cpu_target
    target = cpu_target.target_context
    return cpu_target.typing_context, target


def _translated(function, arguments, returned, typing, target):
    """Numba's compile result of a function: IR only, no wrappers, no machine code."""
    from numba.core.compiler import Flags, compile_extra
    from numba.core.cpu import FastMathOptions
    flags = Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model, flags.fastmath = "numpy", FastMathOptions({"contract"})
    typing.refresh()
    target.refresh()
    return compile_extra(typing, target, function, arguments, returned, flags, {})


def _wrapper(result, exported, unpack, symbol, returned):
    """An IR module with the C function `symbol`, which calls the compiled function."""
    from llvmlite import ir
    module = result.library.create_ir_module(symbol)
    inner = result.target_context.declare_function(module, result.fndesc)
    kinds = [result.target_context.get_value_type(kind) for kind in exported]
    kind = ir.VoidType() if returned is None else result.target_context.get_value_type(returned)
    wrapper = ir.Function(module, ir.FunctionType(kind, kinds), symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block())
    result_slot, exception_slot, *wanted = inner.function_type.args
    slots = [builder.alloca(slot.pointee) for slot in (result_slot, exception_slot)]
    builder.call(inner, slots + unpack(builder, wanted, *wrapper.args))
    builder.ret_void() if returned is None else builder.ret(builder.load(slots[0]))
    return module
