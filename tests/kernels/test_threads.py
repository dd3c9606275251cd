"""The parallel driver: every index once, on both pools, in threads, after forks, nested, at exit."""
import ctypes
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lucid_nb
from lucid_nb import config
from lucid_nb.errors import ConfigError
from lucid_nb.kernels import pool, store, threads

pytestmark = pytest.mark.serial
HERE, ROOT = Path(__file__).parent, Path(lucid_nb.__file__).parents[1]
MARK = store.RangeKernel("sample_kernels:mark", ("int64*", "int64"))
REPORT = store.RangeKernel("sample_kernels:report", ("int64*", "int64*", "int64*"))
SQUARE = store.RangeKernel("sample_kernels:square", ("float64*", "float64*"))
MIX = store.RangeKernel("sample_kernels:mix", ("float64*", "float32*", "uint16*", "int64", "float64"))
LINUX = sys.platform.startswith("linux")
POOLS = [pytest.param(pool.PythonPool, id="python")]
POOLS += [pytest.param(pool.NativePool, id="native")] if LINUX else []


@pytest.fixture(params=POOLS)
def driver(request, monkeypatch):
    """The driver with two threads of one kind, and no pool yet."""
    monkeypatch.setattr(threads, "Pool", request.param)
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(config, "num_threads", 2)
    yield threads
    if threads._pool is not None:
        threads._pool.stop()


def ranges(count, grain):
    """The ranges into which one launch is cut, in order."""
    starts, stops, taken = (np.full(max(count, 1), fill, np.int64) for fill in (-1, -1, 0))
    threads.launch(REPORT, count, grain, starts, stops, taken)
    assert taken.max() <= 1
    return [(int(a), int(b)) for a, b in zip(starts, stops) if a >= 0]


def within_seconds(function, *arguments):
    """The result of a call that must not hang: in a thread, so that a hang fails the test."""
    results = []
    caller = threading.Thread(target=lambda: results.append(function(*arguments)), daemon=True)
    caller.start()
    caller.join(30)
    assert results, "hangs, or raised"
    return results[0]


# ------------------------------------------------------------------------------------------ splitting
@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.parametrize("count, grain", [(0, 0), (1, 0), (2, 1), (7, 1), (63, 0), (64, 5), (65, 1), (1000, 1),
                                          (1000, 900), (1000, 1000), (4097, 16), (100003, 1000)])
def test_every_index_is_visited_once(driver, number, count, grain):
    driver.set_num_threads(number)
    counts = np.zeros(count + 8, np.int64)
    driver.launch(MARK, count, grain, counts, 3)
    np.testing.assert_array_equal(counts, np.r_[np.ones(count, int), np.zeros(8, int)])


@pytest.mark.parametrize("count, grain", [(2, 1), (1000, 1), (100003, 1000), (10, 2)])
def test_large_ranges_are_cut_into_neighbours(driver, count, grain):
    parts = ranges(count, grain)
    assert 1 < len(parts) <= 2 * 2 * threads.CHUNKS
    assert parts[0][0] == 0 and parts[-1][1] == count
    assert all(left[1] == right[0] for left, right in itertools.pairwise(parts))


@pytest.mark.parametrize("count, chunk, number", [(n, c, t) for n in (1, 5, 64, 1000, 100003) for c in (1, 64, 4096)
                                                  for t in (1, 2, 3, 16)])
def test_spans_cover_the_range_and_none_is_empty(count, chunk, number):
    used, span = pool.spans(count, chunk, number)
    assert 1 <= used <= number and span % chunk == 0
    assert (used - 1) * span < count <= used * span


def test_one_thread_and_small_counts_are_one_range_without_a_pool(driver):
    assert ranges(1000, 1000) == [(0, 1000)]
    driver.set_num_threads(1)
    assert ranges(1000, 1) == [(0, 1000)]
    assert threads._pool is None


def test_bits_do_not_depend_on_the_number_of_threads(driver):
    x, results = np.random.default_rng(0).standard_normal(10007), []
    for number in (1, 2, 3, 4):
        driver.set_num_threads(number)
        y = np.zeros_like(x)
        driver.launch(SQUARE, len(x), 10, y, x)
        results.append(y)
    for y in results:
        np.testing.assert_array_equal(y, x * x)


# ------------------------------------------------------------------------------------------ operands
@pytest.mark.parametrize("offset, factor", [(3, 0.5), (np.int32(-3), np.float32(0.25)), (True, np.float64(1e300)),
                                            (0, -0.0)])
def test_operands_of_every_type_arrive(driver, offset, factor):
    y, x, h = np.zeros(500), np.linspace(-1, 1, 500, dtype=np.float32), np.arange(500, dtype=np.uint16)
    x.flags.writeable = False
    driver.launch(MIX, 500, 10, y, x, h, offset, factor)
    np.testing.assert_array_equal(y, float(factor) * x.astype(float) + h + int(offset))


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros(0), np.zeros((4, 4))[1:, ::2], np.broadcast_to(1.5, (2, 3)),
                                   np.zeros(5, ml_dtypes.bfloat16)[2:], np.zeros(3, np.bool_), np.ma.zeros(3),
                                   np.zeros((), np.complex64)])
def test_addresses_are_numpys(array):
    assert threads.address_of(array) == array.ctypes.data


def test_addresses_and_ready_tables_are_accepted(driver):
    x, y = np.arange(1000.0), np.zeros(1000)
    table = np.array([y.ctypes.data, x.ctypes.data], np.int64)
    driver.run(SQUARE.address, table.ctypes.data, 1000, 10)
    np.testing.assert_array_equal(y, x * x)
    driver.launch(SQUARE.address, 1000, 10, x, y)
    np.testing.assert_array_equal(x, y * y)


# ------------------------------------------------------------------------------------------ sizes of the pool
def test_bad_numbers_are_refused_and_the_old_one_stays(driver):
    for number in (0, -1, 1.5, "many", None):
        with pytest.raises(ConfigError, match="num_threads"):
            driver.set_num_threads(number)
    assert driver.num_threads() == 2


@pytest.mark.skipif(not LINUX, reason="counts threads in /proc")
def test_changing_the_number_starts_and_ends_threads(driver):
    before = len(os.listdir("/proc/self/task"))
    for number in (2, 5, 1, 3, 2):
        driver.set_num_threads(number)
        ranges(1000, 1)
        if number > 1:
            assert len(os.listdir("/proc/self/task")) == before + number - 1
    driver.set_num_threads(4)
    assert threads._pool.threads == 2


@pytest.mark.skipif(not LINUX, reason="the native pool is Linux's")
def test_fewer_threads_than_wanted_do(monkeypatch):
    libc = pool._libc()
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(config, "num_threads", 4)
    monkeypatch.setattr(libc, "pthread_create", lambda *arguments: 11)          # EAGAIN
    counts = np.zeros(1000, np.int64)
    threads.launch(MARK, 1000, 1, counts, 3)
    assert (counts == 1).all() and threads._pool._handles == []


@pytest.mark.skipif(not LINUX, reason="reads signal masks in /proc")
def test_native_workers_leave_signals_to_python(monkeypatch):
    before = set(os.listdir("/proc/self/task"))
    workers = pool.NativePool(3)
    new = set(os.listdir("/proc/self/task")) - before
    masks = [Path(f"/proc/self/task/{task}/status").read_text().split("SigBlk:")[1].split()[0] for task in new]
    workers.stop()
    assert len(masks) == 2 and all(int(mask, 16) & 1 << 1 for mask in masks)     # bit 1: SIGINT


# ------------------------------------------------------------------------------------------ calls at once
def test_taken_pool_means_one_range_in_the_caller(driver):
    with threads._lock:
        assert within_seconds(ranges, 1000, 1) == [(0, 1000)]
    assert len(ranges(1000, 1)) > 1


class InterruptedLock:
    """The driver's lock with an interrupt right after an acquisition, before its result is kept."""

    def __init__(self, lock):
        self.lock, self.release, self._is_owned = lock, lock.release, lock._is_owned

    def acquire(self, blocking=True):
        self.lock.acquire(blocking=blocking)
        raise KeyboardInterrupt


def test_interrupt_after_the_lock_was_taken_leaves_the_pool_free(driver, monkeypatch):
    real = threads._lock
    monkeypatch.setattr(threads, "_lock", InterruptedLock(real))
    with pytest.raises(KeyboardInterrupt):
        ranges(1000, 1)
    monkeypatch.setattr(threads, "_lock", real)
    assert len(ranges(1000, 1)) > 1 and len(within_seconds(ranges, 1000, 1)) > 1


def test_interrupt_of_a_call_that_found_the_pool_taken_leaves_it_taken(driver, monkeypatch):
    real = threads._lock
    with real:
        monkeypatch.setattr(threads, "_lock", InterruptedLock(real))
        interrupted = within_seconds(pytest.raises, KeyboardInterrupt, ranges, 1000, 1)
        monkeypatch.setattr(threads, "_lock", real)
        assert interrupted.type is KeyboardInterrupt and within_seconds(ranges, 1000, 1) == [(0, 1000)]


def test_interrupt_of_the_callers_share_waits_for_the_workers(monkeypatch):
    work, calls, started, busy = pool._work, itertools.count(), threading.Event(), []

    def interrupted(number, *job):
        if number == 0 and next(calls) == 0:
            started.wait(30)
            raise KeyboardInterrupt
        busy.append(number)
        started.set()
        work(number, *job)
        busy.remove(number)
    workers, counts = pool.PythonPool(3), np.zeros(1000, np.int64)
    table = np.array([counts.ctypes.data, 3000], np.int64)
    monkeypatch.setattr(pool, "_work", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workers.run(MARK.address, table.ctypes.data, 1000, 10)
    assert busy == []
    for _ in range(20):
        counts[:] = 0
        within_seconds(workers.run, MARK.address, table.ctypes.data, 1000, 10)
        assert (counts == 1).all()
    within_seconds(workers.stop)


def test_four_threads_at_once_get_right_results(driver):
    x, wrong = np.random.default_rng(1).standard_normal(5000), []

    def work(scale):
        operand, expected = x * scale, (x * scale) ** 2
        for _ in range(200):
            y = np.zeros_like(x)
            driver.launch(SQUARE, len(x), 10, y, operand)
            if not (y == expected).all():
                wrong.append(scale)
    callers = [threading.Thread(target=work, args=(scale,)) for scale in (1.0, 2.0, 3.0, 4.0)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert wrong == []


def test_nested_calls_run_serially(driver):
    inner, outer = [], np.zeros(8, np.int64)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def kernel(table, start, stop):
        inner.append(ranges(1000, 1))
        outer[start:stop] += 1
    within_seconds(driver.launch, ctypes.cast(kernel, ctypes.c_void_p).value, 8, 1)
    assert (outer == 1).all()
    assert len(inner) == 8 and all(parts == [(0, 1000)] for parts in inner)


# ------------------------------------------------------------------------------------------ processes
START = """
import os, sys, threading, time
import numpy as np
from lucid_nb.kernels import pool, store, threads
threads.Pool = getattr(pool, sys.argv[1])
threads.set_num_threads(3)
mark = store.RangeKernel("sample_kernels:mark", ("int64*", "int64"))
report = store.RangeKernel("sample_kernels:report", ("int64*", "int64*", "int64*"))

def parts():
    starts, stops, taken = np.full(1000, -1), np.zeros(1000, int), np.zeros(1000, int)
    threads.launch(report, 1000, 1, starts, stops, taken)
    return int((starts >= 0).sum())

def right(repeats=10):
    counts = np.zeros(100, int)
    threads.launch(mark, 100, 1, counts, repeats)
    return bool((counts == 1).all())

def forked():
    child = os.fork()
    if child == 0:
        fresh = threads._pool is None
        os._exit(0 if fresh and parts() > 1 and all(right() for _ in range(20)) and threads._pool.threads == 3 else 1)
    return os.waitpid(child, 0)[1]

assert right() and parts() > 1
"""
FORK_AFTER_USE = "print(forked(), forked(), right())"
FORK_IN_THREAD = """
results = []
forker = threading.Thread(target=lambda: results.append(forked()))
forker.start()
forker.join()
print(*results, forked(), right())
"""
FORK_WHILE_BUSY = """
stop = []
def keep_busy():
    while not stop:
        right(100000)
busy = threading.Thread(target=keep_busy)
busy.start()
results = []
while len(results) < 5:
    time.sleep(0.003)
    if threads._lock.acquire(blocking=False):
        threads._lock.release()
    else:
        results.append(forked())
stop.append(True)
busy.join()
print(max(results), min(results), right())
"""
EXIT_WHILE_BUSY = """
def keep_busy():
    while True:
        right(1000)
for _ in range(2):
    threading.Thread(target=keep_busy, daemon=True).start()
time.sleep(0.05)
print(0, 0, True)
"""
EXIT_AFTER_USE = "print(0, 0, right())"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("program", [
    pytest.param(FORK_AFTER_USE, id="fork-after-use"), pytest.param(FORK_IN_THREAD, id="fork-in-thread"),
    pytest.param(FORK_WHILE_BUSY, id="fork-while-busy"), pytest.param(EXIT_WHILE_BUSY, id="exit-while-busy"),
    pytest.param(EXIT_AFTER_USE, id="exit-after-use")])
def test_forks_and_exits_neither_hang_nor_abort(program, kind):
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", "PYTHONWARNINGS": "ignore"}
    for _ in range(3):
        done = subprocess.run([sys.executable, "-P", "-c", START + program, kind.__name__], env=environment,
                              capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout.strip()) == (0, "0 0 True"), done.stderr
