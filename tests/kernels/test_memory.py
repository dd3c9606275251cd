"""Recycled memory: exports that outlive their array never change; bounds, forks, threads, collection."""
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lucid_nb
from lucid_nb import config
from lucid_nb.kernels import memory
from lucid_nb.recycling import size_class

pytestmark = pytest.mark.serial
ROOT = Path(lucid_nb.__file__).parents[1]
SHAPE = (512, 256)                       # float32: 512 KiB


@pytest.fixture(autouse=True)
def own_pool(monkeypatch):
    """A pool that holds nothing from other tests."""
    gc.collect()
    monkeypatch.setattr(memory.pool, "free", {})
    monkeypatch.setattr(config, "memory_pool_mb", 16)


def filled(value=None):
    array = memory.empty(SHAPE, "float32")
    array[:] = np.arange(array.size).reshape(SHAPE) if value is None else value
    return array


def overwrite():
    """Take every block that the pool would hand out for this shape, and more, and fill them."""
    return [filled(-1) for _ in range(6)]


def capsule(array):
    """A DLPack capsule that nobody has consumed, and the numbers behind it."""
    held = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    data = ctypes.c_void_p.from_address(pointer(held, b"dltensor")).value      # the first field of DLManagedTensor
    return held, np.ctypeslib.as_array((ctypes.c_float * array.size).from_address(data)).reshape(array.shape)


def torch_of(name):
    def export(array):
        torch = pytest.importorskip("torch", reason="torch is not installed; it is in the extras dev and bench")
        tensor = getattr(torch, name)(array)
        return tensor, tensor.numpy()
    return export


def pickled_buffers(array):
    buffers = []
    data = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    return (data, buffers), pickle.loads(data, buffers=buffers)


def array_interface(array):
    class Holder:
        __array_interface__, kept = array.__array_interface__, array
    return np.asarray(Holder())


def windows(array):
    return np.lib.stride_tricks.sliding_window_view(array, (2, 2))


EXPORTS = {name: lambda array, view=view: (view(array),) * 2 for name, view in {
    "step": lambda a: a[::2], "transpose": lambda a: a.T, "one element": lambda a: a[3, 4:5],
    "reshape": lambda a: a.ravel()[5:],
    "other dtype": lambda a: a.view(np.int32), "view of a view": lambda a: a[1:].T[::3, None], "windows": windows,
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 256)), "subclass": lambda a: a.view(np.ma.MaskedArray),
    "flat iterator": lambda a: a.flat, "memoryview": memoryview, "part of a memoryview": lambda a: memoryview(a)[2:5],
    "frombuffer": lambda a: np.frombuffer(a, np.float32), "ctypes": np.ctypeslib.as_ctypes,
    "array interface": array_interface, "numpy from_dlpack": np.from_dlpack}.items()}
EXPORTS |= {"capsule": capsule, "pickle buffers": pickled_buffers, "torch from_numpy": torch_of("from_numpy"),
            "torch from_dlpack": torch_of("from_dlpack")}


def numbers(seen):
    return np.array(seen, copy=True)


# ------------------------------------------------------------------------------------------ exports
@pytest.mark.parametrize("name", EXPORTS)
def test_export_outlives_its_array_unchanged(name):
    array = filled()
    held, seen = EXPORTS[name](array)
    before = numbers(seen)
    del array
    gc.collect()
    others = overwrite()
    np.testing.assert_array_equal(numbers(seen), before)
    assert (others[0] == -1).all()
    del held, seen


@pytest.mark.parametrize("name", EXPORTS)
def test_memory_comes_back_when_the_export_ends(name):
    array = filled()
    held, seen = EXPORTS[name](array)
    assert memory.pool.waiting() == 0
    del array, held, seen
    gc.collect()
    assert memory.pool.waiting() == size_class(512 << 10)


def test_array_in_a_cycle_comes_back_once():
    class Holder:
        def __del__(self):
            seen.append(self.array.sum())
    seen, holder = [], Holder()
    holder.array, holder.me = filled(1), holder
    del holder
    gc.collect()
    assert seen == [512 * 256] and memory.pool.waiting() == 512 << 10


# ------------------------------------------------------------------------------------------ arrays
@pytest.mark.parametrize("shape, dtype", [
    ((1 << 20,), "float32"), ((3, 5, 70001), "int8"), (300001, "float64"), ((), "int64"), ((0, 5), "float32"),
    ((2, 2), "bool"), ((70000, 3), ml_dtypes.bfloat16), ((40000,), "complex128"), ((200000,), "object")])
def test_arrays_are_like_numpys(shape, dtype):
    for _ in range(2):
        array, expected = memory.empty(shape, dtype), np.empty(shape, dtype)
        assert (array.shape, array.dtype, array.strides) == (expected.shape, expected.dtype, expected.strides)
        assert array.flags.writeable and array.flags.c_contiguous
        if expected.nbytes >= memory.LARGE and not array.dtype.hasobject:
            assert array.ctypes.data % 4096 == 0
        array.fill(1)
        assert (array == 1).all()


@pytest.mark.parametrize("shape", [(-1, 1 << 20), (-1, -(1 << 20)), -5])
def test_negative_shapes_are_numpys_error(shape):
    with pytest.raises(ValueError, match="negative dimensions"):
        memory.empty(shape, "float64")


def test_large_memory_is_used_again_and_small_is_numpys():
    array = memory.empty((1 << 18,), "float32")
    address = array.ctypes.data
    del array
    assert memory.empty((512, 500), "float32").ctypes.data == address
    assert memory.empty((10,), "float32").base is None


def test_live_arrays_never_share_memory():
    arrays = [filled(number) for number in range(8)]
    del arrays[::2]
    arrays += [filled(number) for number in range(10, 14)]
    assert [array[0, 0] for array in arrays] == [1, 3, 5, 7, 10, 11, 12, 13]
    assert all((array == array[0, 0]).all() for array in arrays)


@pytest.mark.parametrize("size", [1 << 18, (1 << 18) + 1, 300_001, 999_999, (1 << 30) - 1, 1 << 30])
def test_size_classes_waste_at_most_an_eighth(size):
    assert size <= size_class(size) <= size * 9 / 8
    assert size_class(size_class(size)) == size_class(size)


# ------------------------------------------------------------------------------------------ bounds
def test_pool_is_bounded_and_drops_the_least_recently_used(monkeypatch):
    monkeypatch.setattr(config, "memory_pool_mb", 3)
    old = memory.empty((1 << 20,), "uint8")
    del old
    arrays = [memory.empty((3 << 18,), "uint8") for _ in range(5)]
    del arrays
    assert memory.pool.waiting() == 4 * (3 << 18)
    assert len(memory.pool.free[1 << 20]) == 0


def test_pool_of_zero_keeps_nothing(monkeypatch):
    monkeypatch.setattr(config, "memory_pool_mb", 0)
    del [filled()][0]
    assert memory.pool.waiting() == 0


def test_release_empties_the_pool():
    arrays = [filled() for _ in range(3)]
    del arrays
    assert memory.pool.release() == 3 * (512 << 10) and memory.pool.waiting() == 0


def test_short_memory_releases_the_pool_and_tries_again(monkeypatch):
    del [filled()][0]
    block, calls = memory.Block, []

    def short(size):
        calls.append(size)
        if len(calls) == 1:
            raise MemoryError
        return block(size)
    monkeypatch.setattr(memory, "Block", short)
    array = memory.empty((1 << 20,), "uint8")
    assert array.nbytes == 1 << 20 and len(calls) == 2 and memory.pool.waiting() == 0


# ------------------------------------------------------------------------------------------ threads and processes
def test_threads_that_allocate_and_free_never_share():
    wrong = []

    def work(value):
        kept = []
        for step in range(300):
            array = filled(value)
            kept = [*kept[-2:], array[::3]]
            if step % 50 == 0:
                gc.collect()
            if not all((view == value).all() for view in kept):
                wrong.append((value, step))
    callers = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert wrong == [] and memory.pool.waiting() <= 16 << 20


PROGRAM = """
import os, sys
import numpy as np
from lucid_nb.kernels import memory
from lucid_nb.recycling import size_class
array = memory.empty((1 << 18,), "float32")
array[:] = 1
view = array[::2]
del array
child = os.fork()
if child == 0:
    others = [memory.empty((1 << 18,), "float32") for _ in range(3)]
    for other in others:
        other[:] = 2
    right = (view == 1).all()
    del view
    memory.empty((1 << 18,), "float32")[:] = 3
    sys.exit(0 if right else 1)
status = os.waitpid(child, 0)[1]
print(status, bool((view == 1).all()))
sys.kept = view
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_child_and_parent_do_not_disturb_each_other_and_exit_quietly():
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("0 True", "", 0)
