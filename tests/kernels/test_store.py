"""The kernel store: a second process without Numba, damaged and foreign files, unusable folders, forks."""
import ctypes
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
import sample_kernels

import lucid_nb
from lucid_nb import config
from lucid_nb.kernels import compiler, store

pytestmark = pytest.mark.serial
HERE, ROOT = Path(__file__).parent, Path(lucid_nb.__file__).parents[1]
PROGRAM = """
import ctypes, sys, warnings
import numpy as np
from lucid_nb.kernels import store
x, y = np.arange(5.0), np.zeros(5)
table = np.array([y.ctypes.data, x.ctypes.data], np.int64)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kernel = store.RangeKernel("sample_kernels:square", ("float64*", "float64*"))
    other = store.RangeKernel("sample_kernels:square", ("float32*", "float64*")).address
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(kernel.address)(table.ctypes.data, 1, 5)
print(y.tolist(), "numba" in sys.modules, len(caught))
"""
RIGHT = "[0.0, 1.0, 4.0, 9.0, 16.0]"


def start(folder, program=PROGRAM, **variables):
    ours = {"LUCID_NB_CACHE_DIR": str(folder), "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}"}
    return subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=os.environ | ours | variables, start_new_session=True)


def finish(process):
    try:
        output, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)        # and what it forked
        process.communicate()
        raise
    assert process.returncode == 0, errors
    return output.strip()


def run(folder, program=PROGRAM, **variables):
    return finish(start(folder, program, **variables))


def call(address, begin, end, *words):
    table = np.array(words, np.int64)
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)(table.ctypes.data, begin, end)


def word(number):
    return int(np.float64(number).view(np.int64))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache") / "kernels"
    assert run(folder) == f"{RIGHT} True 0"
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache for this process, which has loaded nothing and said nothing."""
    monkeypatch.setattr(config, "cache_dir", tmp_path / "kernels")
    for name in ("_addresses", "_memory", "_folders"):
        monkeypatch.setattr(store, name, {})
    monkeypatch.setattr(store, "_said", set())
    return tmp_path / "kernels"


# ------------------------------------------------------------------------------------------ the files
def test_second_process_needs_no_numba(filled):
    assert run(filled) == f"{RIGHT} False 0"
    assert filled.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [lambda data: data[:len(data) // 2], lambda data: b"junk" * 100, lambda data: b"",
                                    lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
                                    lambda data: data[:8] + bytes(32) + data[40:]])
def test_damaged_objects_are_compiled_again(filled, damage):
    for path in filled.iterdir():
        path.write_bytes(damage(path.read_bytes()))
    assert run(filled) == f"{RIGHT} True 0"
    assert run(filled) == f"{RIGHT} False 0"


def test_objects_under_the_wrong_name_are_compiled_again(filled):
    first, second = filled.iterdir()
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    second.write_bytes(content[0])
    assert run(filled) == f"{RIGHT} True 0"


def test_objects_of_a_foreign_machine_are_compiled_again(filled):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    ours = llvm.get_process_triple()
    triple = "x86_64-unknown-linux-gnu" if ours.startswith("aarch64") else "aarch64-unknown-linux-gnu"
    try:
        machine = llvm.Target.from_triple(triple).create_target_machine()
    except RuntimeError:
        pytest.skip(f"this llvmlite has no code generator for {triple}")
    for path in filled.iterdir():
        symbol = f"kernel_{path.stem}"
        module = llvm.parse_assembly(f"define void @{symbol}(ptr %t, i64 %a, i64 %b) {{ ret void }}")
        module.triple = triple
        path.write_bytes(store.pack(symbol, machine.emit_object(module)))
    assert run(filled) == f"{RIGHT} True 0"


def test_eight_processes_fill_an_empty_cache(tmp_path):
    processes = [start(tmp_path / "kernels") for _ in range(8)]
    assert {finish(process) for process in processes} <= {f"{RIGHT} True 0", f"{RIGHT} False 0"}
    assert run(tmp_path / "kernels") == f"{RIGHT} False 0"
    assert len(list((tmp_path / "kernels").iterdir())) == 2


def test_size_and_clear_count_our_files_only(cache):
    assert store.size() == (0, 0) and store.path() == cache
    (cache / "notes.txt").write_text("mine")
    for text in ("a", "b"):
        store.load(text, lambda symbol: compiler.range_object(sample_kernels.square, ("float64*",) * 2, symbol))
    count, total = store.size()
    assert count == 2 and total == sum(file.stat().st_size for file in cache.glob("*.kernel"))
    assert store.clear() == 2 and store.size() == (0, 0)
    assert (cache / "notes.txt").exists()


def test_folder_that_grew_too_large_loses_its_oldest_kernels(cache, monkeypatch):
    store.path()
    for age in range(4):
        (cache / f"{age}.kernel").write_bytes(bytes(1000))
        os.utime(cache / f"{age}.kernel", (1e9 - age, 1e9 - age))
    (cache / "crashed.tmp").write_bytes(bytes(10))
    os.utime(cache / "crashed.tmp", (1e9, 1e9))
    monkeypatch.setattr(store, "FOLDER_LIMIT", 3500)
    store.load("new", lambda symbol: compiler.range_object(sample_kernels.square, ("float64*",) * 2, symbol))
    assert {file.name for file in cache.iterdir()} == {"0.kernel", store.key_of("new") + ".kernel"}


# ------------------------------------------------------------------------------------------ unusable folders
def open_to_others(tmp_path):
    tmp_path.chmod(0o777)
    return tmp_path


def below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "kernels"


def owned_by_another(tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o700)
    try:
        os.chown(tmp_path / "theirs", 12345, 12345)
    except PermissionError:
        pytest.skip("only root can give a folder away")
    return tmp_path / "theirs"


def read_only(tmp_path):
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    return tmp_path


@pytest.mark.parametrize("make", [open_to_others, below_a_file, owned_by_another, read_only])
def test_unusable_folder_gives_one_warning_and_right_results(make, tmp_path):
    folder = make(tmp_path)
    assert run(folder) == f"{RIGHT} True 1"
    assert not folder.is_dir() or not any(folder.iterdir())


def test_no_home_gives_one_warning():
    program = "import os\nos.path.expanduser = lambda path: path\n" + PROGRAM
    assert run("", program, HOME="", XDG_CACHE_HOME="") == f"{RIGHT} True 1"


def test_files_of_another_user_are_compiled_again(filled):
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    for path in filled.iterdir():
        os.chown(path, 12345, 12345)
    assert run(filled) == f"{RIGHT} True 0"
    assert run(filled) == f"{RIGHT} False 0"


def test_full_disk_keeps_kernels_in_memory(cache, monkeypatch):
    def no_space(*args, **kwargs):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(store.tempfile, "mkstemp", no_space)
    compiled = []

    def compile_kernel(symbol):
        compiled.append(symbol)
        return compiler.range_object(sample_kernels.square, ("float64*",) * 2, symbol)
    with pytest.warns(RuntimeWarning, match="No space left.*LUCID_NB_CACHE_DIR"):
        store.load("text", compile_kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.load("other", compile_kernel)
        store.load("text", compile_kernel)
    assert len(compiled) == 2 and store.size() == (0, 0)


# ------------------------------------------------------------------------------------------ content keys
def test_edited_source_outside_the_package_is_compiled_again(tmp_path):
    shutil.copy(HERE / "sample_kernels.py", tmp_path / "sample_kernels.py")
    paths = f"{ROOT}{os.pathsep}{tmp_path}"
    program = f"import sample_kernels\n{PROGRAM}"          # which leaves bytecode in Python's own cache
    source, then = tmp_path / "sample_kernels.py", (1e9, 1e9)
    os.utime(source, then)
    assert run(tmp_path / "kernels", program, PYTHONPATH=paths) == f"{RIGHT} True 0"
    text = source.read_text()
    source.write_text(text.replace("x[i] * x[i]", "x[i] + x[i]"))
    os.utime(source, then)                                 # of equal length and time, so that bytecode seems right
    assert run(tmp_path / "kernels", PYTHONPATH=paths) == "[0.0, 2.0, 4.0, 6.0, 8.0] True 0"


def test_edited_helper_in_the_package_is_compiled_again(tmp_path):
    shutil.copytree(ROOT / "lucid_nb", tmp_path / "lucid_nb", ignore=shutil.ignore_patterns("__pycache__"))
    below = tmp_path / "lucid_nb" / "kernels" / "copied"
    below.mkdir()
    (below / "__init__.py").write_text("")
    (below / "square.py").write_text("from .helper import power\n\n\ndef square(start, stop, y, x):\n"
                                     "    for i in range(start, stop):\n        y[i] = power(x[i])\n")
    helper = "from numba import njit\n\n\n@njit(forceinline=True)\ndef power(x):\n    return x * x\n"
    (below / "helper.py").write_text(helper)
    program = PROGRAM.replace("sample_kernels:square", "lucid_nb.kernels.copied.square:square")
    assert run(tmp_path / "kernels", program, PYTHONPATH=str(tmp_path)) == f"{RIGHT} True 0"
    assert run(tmp_path / "kernels", program, PYTHONPATH=str(tmp_path)) == f"{RIGHT} False 0"
    (below / "helper.py").write_text(helper.replace("x * x", "x-1"))          # Python's own cache goes by length
    assert run(tmp_path / "kernels", program, PYTHONPATH=str(tmp_path)) == "[0.0, 0.0, 1.0, 2.0, 3.0] True 0"


def test_key_depends_on_text_and_vector_width(monkeypatch):
    keys = {store.key_of("a"), store.key_of("b")}
    for width in (128, 256, 512):
        monkeypatch.setattr(config, "vector_width", width)
        keys.add(store.key_of("a"))
    assert len(keys) == 5


SAME_NAME = """
import ctypes, sys
from lucid_nb.kernels import store
def make(constant):
    def scale(start, stop, y):
        for i in range(start, stop):
            y[i] = y[i] * 2 + constant
    return scale
import numpy as np
y = np.arange(3.0)
for constant in CONSTANTS:
    compile_kernel = lambda symbol: store.range_object(make(constant), ("float64*",), symbol)
    address = store.load(f"constant {constant}", compile_kernel)
    table = np.array([y.ctypes.data], np.int64)
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)(table.ctypes.data, 0, 3)
print(y.tolist(), "numba" in sys.modules)
"""


def test_kernels_of_one_name_from_different_processes_do_not_mix(tmp_path):
    assert run(tmp_path / "k", SAME_NAME.replace("CONSTANTS", "[1.0]")) == "[1.0, 3.0, 5.0] True"
    assert run(tmp_path / "k", SAME_NAME.replace("CONSTANTS", "[5.0]")) == "[5.0, 7.0, 9.0] True"
    assert run(tmp_path / "k", SAME_NAME.replace("CONSTANTS", "[1.0, 5.0]")) == "[7.0, 11.0, 15.0] False"


# ------------------------------------------------------------------------------------------ what is compiled
def test_operands_of_every_kind_arrive(cache):
    y, x, h = np.zeros(9), np.linspace(-1, 1, 9, dtype=np.float32), np.arange(9, dtype=np.uint16)
    kernel = store.RangeKernel("sample_kernels:mix", ("float64*", "float32*", "uint16*", "int64", "float64"))
    call(kernel.address, 2, 8, y.ctypes.data, x.ctypes.data, h.ctypes.data, -(1 << 40), word(0.1))
    expected = np.where((np.arange(9) >= 2) & (np.arange(9) < 8), 0.1 * x.astype(float) + h - float(1 << 40), 0)
    np.testing.assert_array_equal(y, expected)


def test_narrow_scalars_arrive(cache):
    y, x = np.zeros(5, np.float32), np.linspace(-1, 1, 5, dtype=np.float32)
    kernel = store.RangeKernel("sample_kernels:narrow", ("float32*", "float32*", "int32", "float32"))
    call(kernel.address, 0, 5, y.ctypes.data, x.ctypes.data, -3, word(0.5))
    np.testing.assert_array_equal(y, np.float32(0.5) * x - 3)


@pytest.mark.parametrize("width", [128, 256, 512, "auto"])
def test_every_vector_width_computes_the_same(cache, monkeypatch, width):
    monkeypatch.setattr(config, "vector_width", width)
    assert compiler.vector_width() <= (512 if width == "auto" else width)
    x, y = np.linspace(-3, 3, 101), np.zeros(101)
    kernel = store.RangeKernel("sample_kernels:square", ("float64*", "float64*"))
    call(kernel.address, 0, 101, y.ctypes.data, x.ctypes.data)
    np.testing.assert_array_equal(y, x * x)


def test_elementwise_and_ufunc_loop_signatures(cache):
    def double(count, x, y):
        for i in range(count):
            y[i] = 2 * x[i]

    def loop(pointers, counts, steps, data):
        data[0] = pointers[0] + 10 * counts[0] + 100 * steps[0]
    x, y, data = np.arange(4.0), np.zeros(4), np.zeros(1, np.int64)
    address = store.load("double", lambda symbol: store.elementwise_object(double, ("float64*",) * 2, symbol))
    table = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2)(address)(3, table.ctypes.data)
    assert y.tolist() == [0, 2, 4, 0]
    address = store.load("loop", lambda symbol: store.ufunc_loop_object(loop, symbol))
    words = [np.array([n], np.int64) for n in (1, 2, 3)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(address)(*(w.ctypes.data for w in words), data.ctypes.data)
    assert data[0] == 321


def test_module_object_exports_its_symbol_only(cache):
    text = """
    define i64 @helper(i64 %x) noinline {
      %y = mul i64 %x, 3
      ret i64 %y
    }
    define i64 @SYMBOL(i64 %x) {
      %y = call i64 @helper(i64 %x)
      ret i64 %y
    }"""
    address = store.load("module", lambda symbol: store.module_object(text.replace("SYMBOL", symbol), symbol))
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(14) == 42


def test_libm_is_refused(cache):
    def with_libm(start, stop, x):
        for i in range(start, stop):
            x[i] = math.lgamma(x[i])
    with pytest.raises(store.StoreError, match=r"needs \[.*lgamma"):
        store.load("libm", lambda symbol: store.range_object(with_libm, ("float64*",), symbol))
    assert store.size() == (0, 0)


def test_kernel_that_can_raise_is_refused(cache):
    def with_zero_divisors(start, stop, x):
        for i in range(start, stop):
            x[i] = 1.0 / x[i]
    with pytest.raises(RuntimeError, match="can raise"):
        store.load("raises", lambda symbol: store.range_object(with_zero_divisors, ("complex128*",), symbol))


def test_object_under_another_symbol_is_refused(cache):
    with pytest.raises(store.StoreError, match="does not export"):
        store.load("x", lambda symbol: store.range_object(sample_kernels.square, ("float64*",) * 2, "other_symbol"))


# ------------------------------------------------------------------------------------------ threads and forks
def test_threads_that_want_one_new_kernel_compile_it_once(cache):
    compiled, addresses = [], []

    def compile_kernel(symbol):
        compiled.append(symbol)
        return compiler.range_object(sample_kernels.square, ("float64*",) * 2, symbol)
    def want():
        addresses.append(store.load("shared", compile_kernel))
    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(addresses) == 4 and len(set(addresses)) == 1 and len(compiled) == 1


FORK = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
from lucid_nb.kernels import store

def make(number):
    def kernel(start, stop, y):
        for i in range(start, stop):
            y[i] = y[i] * number
    return kernel

def compile_some(first):
    for number in range(first, first + 5):
        store.load(f"{number}", lambda symbol: store.range_object(make(number), ("float64*",), symbol))

NUMBA_FIRST
thread = threading.Thread(target=COMPILE, daemon=True)
thread.start()
children = []
def fork_and_compile():
    for delay in (0.0, 0.02, 0.1, 0.3):
        time.sleep(delay)
        child = os.fork()
        if child == 0:
            compile_some(100)
            os._exit(0)
        children.append(child)
forker = threading.Thread(target=fork_and_compile)
forker.start()
forker.join()
print([os.waitpid(child, 0)[1] for child in children])
thread.join()
"""
USER_NUMBA = """
from numba import njit
def compile_users():
    for number in range(20):
        njit("f8(f8)")(lambda x: x * number)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("first, work", [("", "lambda: compile_some(0)"), (USER_NUMBA, "compile_users")])
def test_fork_in_a_thread_while_another_compiles(tmp_path, first, work):
    program = FORK.replace("NUMBA_FIRST", first).replace("COMPILE", work)
    assert run(tmp_path / "kernels", program) == "[0, 0, 0, 0]"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe_in_place_of_a_kernel_is_compiled_again(filled, tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(filled, folder)
    for file in folder.iterdir():
        file.unlink()
        os.mkfifo(file)
    assert run(folder) == f"{RIGHT} True 0"
