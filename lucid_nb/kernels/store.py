"""Kernels: compiled once, kept under the hash of their content, loaded in a fraction of a millisecond.

A stored kernel is an object file behind a header: magic, SHA-256 of the rest, symbol, object. An object file is code,
so the folder must belong to this user alone. Loading needs llvmlite only; Numba is imported when something must be
compiled. This is the only place that says MCJIT.
"""
import hashlib
import importlib
import importlib.util
import logging  # noqa: F401  Hooks before a fork run in reverse: its lock must be taken after ours, as compiling does.
import os
import stat
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.machinery import ModuleSpec
from pathlib import Path

from .. import config
from ..errors import BackendError
from . import compiler, objects
from .compiler import elementwise_object, module_object, range_object, ufunc_loop_object, words_object

__all__ = ["RangeKernel", "StoreError", "clear", "elementwise_object", "has", "keep", "load", "module_object",
           "path", "range_object", "size", "ufunc_loop_object", "words_object"]

MAGIC = b"LUCIDNB1"
SUFFIX, TEMPORARY = ".kernel", ".tmp"
FOLDER_LIMIT = 512 << 20                               # bytes; the oldest half goes when a process finds more
_lock = threading.RLock()
_addresses: dict[str, int] = {}
_memory: dict[str, bytes] = {}                         # kernels of this process when no folder is writable
_folders: dict[Path | None, Path | None] = {}          # what config.cache_dir was -> the folder, if it is usable
_said: set[str] = set()                                # "warned", "tidied": once a process


class StoreError(BackendError):
    """A stored kernel is unusable, or a new one may not be stored."""


# ------------------------------------------------------------------------------------------ loading
def load(text: str, compile_kernel: Callable[[str], bytes]) -> int:
    """The address of the C function whose complete source is `text`.

    compile_kernel(symbol) gives the bytes of an object file that exports `symbol`; it is called when the store has no
    sound object. StoreError when the object needs symbols that are not allowed.
    """
    with _lock:                                # two ops may share a formula, and two threads may want it first
        key = key_of(text)
        if key not in _addresses:
            _addresses[key] = _obtain(key, compile_kernel)
        return _addresses[key]


def keep(text: str, make: Callable[[], bytes]) -> bytes:
    """Bytes whose complete source is `text`, such as bitcode that several kernels take in; made once, then read."""
    key = key_of(text)
    with _lock:
        with suppress(OSError, KeyError, StoreError):
            return _checked(_read(key), "")
        found = make()
        _write(key, pack("", found))
        return found


def has(text: str) -> bool:
    """Is the kernel loaded or stored, so that loading it compiles nothing? (A damaged file is not noticed.)"""
    key, folder = key_of(text), path()
    return key in _addresses or key in _memory or folder is not None and (folder / (key + SUFFIX)).exists()


def key_of(text: str) -> str:
    """The content key of a kernel whose complete source is `text`."""
    return hashlib.sha256((environment(config.vector_width) + text).encode()).hexdigest()[:32]


@cache
def environment(width: int | str) -> str:
    """What besides its own text decides a kernel's machine code: CPU, compilers, and every source file of kernels."""
    import llvmlite
    import llvmlite.binding as llvm
    numba = importlib.util.find_spec("numba")                      # found, not imported
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    sources += [Path(numba.origin).with_name("_version.py")] if numba and numba.origin else []
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    triple, cpu, features = compiler.host()
    for part in (width, llvmlite.__version__, llvm.llvm_version_info, triple, cpu, sorted(features.items())):
        digest.update(repr(part).encode())
    return digest.hexdigest()


def _obtain(key: str, compile_kernel: Callable[[str], bytes]) -> int:
    """The address of a kernel, compiled and stored when the store has no sound one."""
    symbol = f"kernel_{key}"                           # the key in the symbol: one engine holds all of them
    with suppress(OSError, KeyError, StoreError):
        return _link(symbol, unpack(_read(key), symbol))
    code = compile_kernel(symbol)
    check(code)
    _write(key, pack(symbol, code))
    return _link(symbol, code)


@cache
def _engine():
    """The one MCJIT engine of the process."""
    import llvmlite.binding as llvm
    machine = compiler.target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _link(symbol: str, code: bytes) -> int:
    """Add an object to the engine and give the address of its symbol."""
    import llvmlite.binding as llvm
    _engine().add_object_file(llvm.ObjectFileRef.from_data(code))
    address = _engine().get_function_address(symbol)
    if not address:
        raise StoreError(f"store: an object does not export {symbol}. Compile it under the symbol that it is given.")
    return address


class RangeKernel:
    """A kernel over [start, stop), compiled or loaded when its address is first read.

    path is "module:function"; types are "float32*", "int64", "float64" and so on, one for each operand after start and
    stop. Nothing but a compilation imports the module.
    """

    __slots__ = ("_address", "path", "types")

    def __init__(self, path: str, types: tuple[str, ...]) -> None:
        self.path, self.types, self._address = path, tuple(types), 0

    @property
    def address(self) -> int:
        """Address of `void kernel(int64* table, int64 start, int64 stop)`."""
        if not self._address:
            with _lock:                        # nothing is imported outside: a fork waits for the lock
                spec, text = self._foreign_source()
                self._address = load(f"range {self.path} {self.types} {text}", partial(self._compile, spec, text))
        return self._address

    def _compile(self, spec: ModuleSpec | None, text: str, symbol: str) -> bytes:
        module, name = self.path.split(":")
        if spec is None:
            namespace = vars(importlib.import_module(module))
        else:                                  # the text of the key: Python's own cache may hold an older one
            namespace = vars(importlib.util.module_from_spec(spec))
            exec(compile(text, spec.origin or module, "exec"), namespace)
        function = namespace[name]
        return range_object(getattr(function, "py_func", function), self.types, symbol)

    def _foreign_source(self) -> tuple[ModuleSpec | None, str]:
        """The module and source of a kernel outside this package, which the environment does not cover."""
        module = self.path.split(":")[0]
        if module.startswith(f"{__package__}."):
            return None, ""
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.has_location or not spec.origin:
            return None, ""
        return spec, importlib.util.decode_source(Path(spec.origin).read_bytes())

    def __repr__(self) -> str:
        return f"RangeKernel({self.path!r}, {self.types!r})"


# ------------------------------------------------------------------------------------------ files
def pack(symbol: str, code: bytes) -> bytes:
    """The bytes of a stored kernel."""
    payload = struct.pack("<I", len(symbol)) + symbol.encode() + code
    return MAGIC + hashlib.sha256(payload).digest() + payload


def unpack(data: bytes, symbol: str) -> bytes:
    """The object that must export `symbol`, after the checksum: LLVM crashes on a truncated or foreign object."""
    code = _checked(data, symbol)
    check(code)
    return code


def _checked(data: bytes, symbol: str) -> bytes:
    """What was stored under a symbol, if it is whole."""
    payload = data[40:]
    if data[:8] != MAGIC or hashlib.sha256(payload).digest() != data[8:40]:
        raise StoreError("store: a stored kernel is damaged. It is compiled again.")
    (length,) = struct.unpack_from("<I", payload)
    if payload[4:4 + length] != symbol.encode():
        raise StoreError("store: a stored kernel has another's name. It is compiled again.")
    return payload[4 + length:]


def check(code: bytes) -> None:
    """Refuse an object for another machine, and one that needs more than memcpy (LLVM would abort the process)."""
    try:
        found = objects.read(code)
    except objects.ObjectError as error:
        raise StoreError(f"store: {error}. Check what made it.") from None
    triple = compiler.host()[0]
    machine = triple.split("-")[0].replace("arm64", "aarch64")
    kind = "macho" if "darwin" in triple or "macos" in triple else "coff" if "windows" in triple else "elf"
    if (found.format, found.machine) != (kind, machine):
        raise StoreError(f"store: an object is {found.format} for {found.machine}, not {kind} for {machine}. "
                         "Compile it here.")
    if found.foreign_symbols():
        raise StoreError(f"store: a kernel needs {found.foreign_symbols()}. Write it with the vocabulary of "
                         "kernels/math.")


def _owned(status: os.stat_result) -> bool:
    """Does the file belong to this user? Windows keeps a user's folders apart by itself."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _read(key: str) -> bytes:
    """The stored bytes; a file that another user owns is not ours."""
    folder = path()
    if key in _memory or folder is None:
        return _memory[key]
    handle = os.open(folder / (key + SUFFIX), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:              # not blocking: a pipe of that name would never answer
        status = os.fstat(handle)
        if not (_owned(status) and stat.S_ISREG(status.st_mode)):
            raise StoreError("store: a stored kernel is no file of this user. It is compiled again.")
        return file.read()


def _write(key: str, data: bytes) -> None:
    """Write under a temporary name and rename, so that readers see all or nothing."""
    folder = path()
    try:
        if folder is None:
            raise OSError(f"{config.cache_dir} is not a folder that this user alone can write")
        _tidy(folder)
        target = folder / (key + SUFFIX)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, target)
        except OSError as error:
            Path(temporary).unlink(missing_ok=True)
            # Windows does not replace a file that another process reads: that one holds the same kernel.
            if not (os.name == "nt" and isinstance(error, PermissionError) and target.exists()):
                raise
    except OSError as error:
        _memory[key] = data
        _warn(error)


def _warn(error: OSError) -> None:
    """Say once that kernels are not kept."""
    if "warned" not in _said:
        _said.add("warned")
        warnings.warn(f"store: kernels are compiled again by every process, because {error}. Set LUCID_NB_CACHE_DIR "
                      "to a folder that only you can write.", RuntimeWarning, stacklevel=2)


def _tidy(folder: Path) -> None:
    """Once a process: remove what crashed writers left, and the oldest kernels when the folder has grown too large."""
    if "tidied" in _said:
        return
    _said.add("tidied")
    kernels = sorted(_files(folder), key=lambda item: item[1].st_mtime)
    total = sum(status.st_size for _, status in kernels)
    keep = FOLDER_LIMIT // 2 if total > FOLDER_LIMIT else total
    for file, status in kernels:
        abandoned = file.suffix == TEMPORARY and time.time() - status.st_mtime > 3600
        if total > keep or abandoned:
            file.unlink(missing_ok=True)
            total -= status.st_size


def _files(folder: Path | None) -> list[tuple[Path, os.stat_result]]:
    """Our files in the folder; others' are left alone."""
    found = []
    for file in [] if folder is None else [*folder.glob("*" + SUFFIX), *folder.glob("*" + TEMPORARY)]:
        with suppress(OSError):                        # another process may have cleared it
            found.append((file, file.stat()))
    return found


# ------------------------------------------------------------------------------------------ the folder
def path() -> Path | None:
    """The folder of stored kernels, None when there is no place that this user alone can write."""
    wanted = config.cache_dir
    if wanted not in _folders:
        _folders[wanted] = wanted if wanted is not None and _usable(wanted) else None
    return _folders[wanted]


def _usable(folder: Path) -> bool:
    """Can this user, and nobody else, write there?"""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        private = not hasattr(os, "getuid") or not status.st_mode & 0o022
        return folder.is_dir() and _owned(status) and private and os.access(folder, os.W_OK | os.X_OK)
    except (OSError, ValueError):
        return False


def size() -> tuple[int, int]:
    """How many kernels the folder holds, and their bytes."""
    files = _files(path())
    return len(files), sum(status.st_size for _, status in files)


def clear() -> int:
    """Remove all stored kernels; the number removed. What this process has loaded stays usable."""
    files = _files(path())
    for file, _ in files:
        file.unlink(missing_ok=True)
    return len(files)


# ------------------------------------------------------------------------------------------ forks
_held: list = []


def _locks() -> list:
    """The locks of compiling, in the order in which compiling takes them: ours, those of Numba's contexts (which the
    first njit of a process makes), that of Numba's compiler, llvmlite's."""
    target = getattr(sys.modules.get("numba.core.registry"), "CPUTarget", None)
    contexts = [vars(target).get(f"_toplevel_{kind}_context") for kind in ("target", "typing")] if target else []
    numba = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    llvm = getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None)
    inner = [getattr(context, name, None) for context in contexts for name in ("_lock", "lock")]
    return [lock for lock in (_lock, *inner, getattr(numba, "_lock", None), getattr(llvm, "_lock", None))
            if lock is not None]


def _before_fork() -> None:
    """Wait for compilations of other threads: a child would inherit their locks, and nobody to release them."""
    locks = _locks()
    for lock in locks:
        lock.acquire()
    _held.append(locks)


def _after_fork() -> None:
    """Let compilations go on, in the parent and in the child."""
    for lock in reversed(_held.pop()):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
