"""Two pools of worker threads over range kernels: native ones where the C library has POSIX semaphores, else Python's.

Either way a job is a range cut into chunks, taken one by one from a shared counter by the workers and by the caller.
When the chunks are gone the caller takes back the wake-up calls that no worker has answered yet: a sleepy worker, or
one that a fork has left behind, then delays nobody.
"""
import _thread
import ctypes
import itertools
import platform
import signal
import sys
import threading
from collections.abc import Callable
from functools import cache

from . import store

RangeFunction = Callable[[int | bytes, int, int], None]
SPINS = 1000                     # of a thread that waits, some 30 us, before it sleeps
LINE = 128                       # bytes; two cache lines, as processors fetch them in pairs
STACK = 4 << 20                  # bytes of a worker's stack
# Of the shared lines, in bytes: the counter, the job, the semaphore of finished workers; then one line a worker,
# which holds its semaphore, a word that ends it, and the address of the pool.
COUNTER, JOB, DONE, WORKERS = 0, LINE, 2 * LINE, 3 * LINE
STOP, POOL = 64, 72

# sem_wait, sem_post and sem_trywait are called through addresses in the job line, so that the object needs no symbols.
MODULE = """
PAUSE_DECLARATION

define internal ptr @word(ptr %base, i64 %offset) {
  %place = getelementptr i8, ptr %base, i64 %offset
  %word = load ptr, ptr %place
  ret ptr %word
}

define internal void @wait(ptr %pool, ptr %semaphore) {
entry:
  %try = call ptr @word(ptr %pool, i64 AT_TRYWAIT)
  %sleep = call ptr @word(ptr %pool, i64 AT_WAIT)
  br label %spin
spin:
  %i = phi i64 [0, %entry], [%next, %again]
  %missed = call i32 %try(ptr %semaphore)
  %got = icmp eq i32 %missed, 0
  br i1 %got, label %done, label %again
again:
  PAUSE
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, SPINS
  br i1 %more, label %spin, label %asleep
asleep:
  %failed = call i32 %sleep(ptr %semaphore)
  %interrupted = icmp ne i32 %failed, 0
  br i1 %interrupted, label %asleep, label %done
done:
  ret void
}

define internal void @work(ptr %pool) {
entry:
  %kernel = call ptr @word(ptr %pool, i64 AT_KERNEL)
  %table = call ptr @word(ptr %pool, i64 AT_TABLE)
  %count.at = getelementptr i8, ptr %pool, i64 AT_COUNT
  %count = load i64, ptr %count.at
  %chunk.at = getelementptr i8, ptr %pool, i64 AT_CHUNK
  %chunk = load i64, ptr %chunk.at
  br label %take
take:
  %start = atomicrmw add ptr %pool, i64 %chunk seq_cst
  %left = icmp slt i64 %start, %count
  br i1 %left, label %run, label %done
run:
  %end = add i64 %start, %chunk
  %whole = icmp slt i64 %end, %count
  %stop = select i1 %whole, i64 %end, i64 %count
  call void %kernel(ptr %table, i64 %start, i64 %stop)
  br label %take
done:
  ret void
}

define ptr @worker(ptr %line) {
entry:
  %pool = call ptr @word(ptr %line, i64 POOL)
  %post = call ptr @word(ptr %pool, i64 AT_POST)
  %finished = getelementptr i8, ptr %pool, i64 DONE
  br label %loop
loop:
  call void @wait(ptr %pool, ptr %line)
  %stop = call ptr @word(ptr %line, i64 STOP)
  %ends = icmp ne ptr %stop, null
  br i1 %ends, label %end, label %job
job:
  call void @work(ptr %pool)
  call i32 %post(ptr %finished)
  br label %loop
end:
  ret ptr null
}

define void @dispatch(ptr %pool, i64 %workers, ptr %kernel, ptr %table, i64 %count, i64 %chunk) {
entry:
  %kernel.at = getelementptr i8, ptr %pool, i64 AT_KERNEL
  store ptr %kernel, ptr %kernel.at
  %table.at = getelementptr i8, ptr %pool, i64 AT_TABLE
  store ptr %table, ptr %table.at
  %count.at = getelementptr i8, ptr %pool, i64 AT_COUNT
  store i64 %count, ptr %count.at
  %chunk.at = getelementptr i8, ptr %pool, i64 AT_CHUNK
  store i64 %chunk, ptr %chunk.at
  store atomic i64 0, ptr %pool seq_cst, align 8
  %post = call ptr @word(ptr %pool, i64 AT_POST)
  %try = call ptr @word(ptr %pool, i64 AT_TRYWAIT)
  %finished = getelementptr i8, ptr %pool, i64 DONE
  br label %wake
wake:
  %i = phi i64 [0, %entry], [%i.next, %call]
  %calls = icmp slt i64 %i, %workers
  br i1 %calls, label %call, label %help
call:
  %line.offset = mul i64 %i, LINE
  %line.place = add i64 %line.offset, WORKERS
  %line = getelementptr i8, ptr %pool, i64 %line.place
  call i32 %post(ptr %line)
  %i.next = add i64 %i, 1
  br label %wake
help:
  call void @work(ptr %pool)
  br label %collect
collect:
  %j = phi i64 [0, %help], [%j.next, %counted]
  %checks = icmp slt i64 %j, %workers
  br i1 %checks, label %check, label %end
check:
  %busy.offset = mul i64 %j, LINE
  %busy.place = add i64 %busy.offset, WORKERS
  %busy = getelementptr i8, ptr %pool, i64 %busy.place
  %answered = call i32 %try(ptr %busy)
  %unanswered = icmp eq i32 %answered, 0
  br i1 %unanswered, label %counted, label %join
join:
  call void @wait(ptr %pool, ptr %finished)
  br label %counted
counted:
  %j.next = add i64 %j, 1
  br label %collect
end:
  ret void
}
"""
FIELDS = ("AT_KERNEL", "AT_TABLE", "AT_COUNT", "AT_CHUNK", "AT_WAIT", "AT_POST", "AT_TRYWAIT")
PLACES = {name: JOB + 8 * number for number, name in enumerate(FIELDS)}


def _module() -> str:
    """The native pool's code for this processor."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    text = MODULE.replace("PAUSE_DECLARATION", "declare void @llvm.x86.sse2.pause()" if x86
                          else "declare void @llvm.aarch64.hint(i32)")
    text = text.replace("PAUSE", "call void @llvm.x86.sse2.pause()" if x86 else "call void @llvm.aarch64.hint(i32 1)")
    sizes = dict(SPINS=SPINS, WORKERS=WORKERS, DONE=DONE, STOP=STOP, POOL=POOL, LINE=LINE)
    for name, value in (PLACES | sizes).items():
        text = text.replace(f" {name}", f" {value}")
    return text


def _entry(name: str) -> int:
    """Address of one of the module's two functions."""
    text = _module()
    return store.load(f"{name} of {text}", lambda symbol: store.module_object(
        text.replace(f"@{name}(", f"@{symbol}("), symbol))


@cache
def range_function(address: int) -> RangeFunction:
    """A range kernel as a Python function of table, start and stop that releases the GIL."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)


class NativePool:
    """Workers of the C library: they never hold the GIL, and die with the process."""

    def __init__(self, threads: int) -> None:
        self.threads, self._handles, self._libc = threads, [], _libc()
        # Memory of C's: sleeping workers look at it until the process ends, later than any Python object lives.
        size = WORKERS + threads * LINE + LINE
        start = self._libc.calloc(1, size)
        if not start:
            raise MemoryError(f"threads: no {size} bytes for {threads} threads")
        self._allocated, self._base = start, -(-start // LINE) * LINE
        for name, function in (("AT_WAIT", "sem_wait"), ("AT_POST", "sem_post"), ("AT_TRYWAIT", "sem_trywait")):
            self._put(PLACES[name], ctypes.cast(getattr(self._libc, function), ctypes.c_void_p).value)
        self._libc.sem_init(self._base + DONE, 0, 0)
        words = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        self._dispatch = ctypes.CFUNCTYPE(None, *words)(_entry("dispatch"))
        self._start(threads - 1)

    def _put(self, offset: int, value: int | None) -> None:
        ctypes.c_int64.from_address(self._base + offset).value = value

    def _start(self, wanted: int) -> None:
        """Start workers, fewer when the system gives no more. Signals are for Python's own threads."""
        worker, attributes = _entry("worker"), ctypes.create_string_buffer(256)
        self._libc.pthread_attr_init(attributes)
        self._libc.pthread_attr_setstacksize(attributes, STACK)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for number in range(wanted):
                place, handle = WORKERS + number * LINE, ctypes.c_void_p()
                self._libc.sem_init(self._base + place, 0, 0)
                self._put(place + POOL, self._base)
                if self._libc.pthread_create(ctypes.byref(handle), attributes, worker, self._base + place):
                    break
                self._handles.append(handle)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._libc.pthread_attr_destroy(attributes)

    def run(self, address: int, table: int | bytes, count: int, chunk: int) -> None:
        """Run a range kernel over range(count) in chunks; returns when all are done."""
        workers = min(len(self._handles), -(-count // chunk) - 1)
        self._dispatch(self._base, workers, address, table, count, chunk)

    def stop(self) -> None:
        """End the workers, which are idle, and wait for that."""
        for number, handle in enumerate(self._handles):
            self._put(WORKERS + number * LINE + STOP, 1)
            self._libc.sem_post(self._base + WORKERS + number * LINE)
            self._libc.pthread_join(handle, None)
        self._handles = []
        self._libc.free(self._allocated)


@cache
def _libc() -> ctypes.CDLL:
    """The C library, with the argument types of what is used here."""
    libc, pointer = ctypes.CDLL(None), ctypes.c_void_p
    libc.calloc.restype, libc.calloc.argtypes = pointer, [ctypes.c_size_t] * 2
    libc.sem_init.argtypes = [pointer, ctypes.c_int, ctypes.c_uint]
    libc.pthread_create.argtypes = [pointer] * 4
    libc.pthread_attr_setstacksize.argtypes = [pointer, ctypes.c_size_t]
    libc.pthread_join.argtypes = [pointer] * 2
    for name in ("sem_post", "sem_wait", "sem_trywait", "free", "pthread_attr_init", "pthread_attr_destroy"):
        getattr(libc, name).argtypes = [pointer]
    return libc


class PythonPool:
    """Python threads that call range kernels with the GIL released, for systems without POSIX semaphores."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._workers = [_PythonWorker() for _ in range(threads - 1)]

    def run(self, address: int, table: int | bytes, count: int, chunk: int) -> None:
        """Run a range kernel over range(count) in chunks; returns when all are done."""
        job = range_function(address), table, count, chunk, itertools.count(0, chunk)
        called = self._workers[:-(-count // chunk) - 1]
        for worker in called:
            worker.job = job
            worker.wake.release()
        _take_chunks(*job)
        for worker in called:
            if not worker.wake.acquire(blocking=False):
                worker.done.acquire()

    def stop(self) -> None:
        """End the workers, which are idle, and wait for that."""
        for worker in self._workers:
            worker.job = None
            worker.wake.release()
            worker.thread.join()


class _PythonWorker:
    """A daemon thread that waits for jobs; its two locks serve as semaphores."""

    def __init__(self) -> None:
        self.wake, self.done = _thread.allocate_lock(), _thread.allocate_lock()
        self.wake.acquire()
        self.done.acquire()
        self.job: tuple | None = None
        self.thread = threading.Thread(target=self._loop, name="lucid_nb worker", daemon=True)
        self.thread.start()

    def _loop(self) -> None:
        while True:
            self.wake.acquire()
            if self.job is None:
                return
            _take_chunks(*self.job)
            self.done.release()


def _take_chunks(function: RangeFunction, table: int | bytes, count: int, chunk: int, counter: itertools.count) -> None:
    """Run chunks until there are none. Advancing a counter is one step under the GIL."""
    for start in counter:
        if start >= count:
            return
        function(table, start, min(start + chunk, count))


# macOS has no unnamed semaphores, Windows no pthreads.
Pool = NativePool if sys.platform.startswith("linux") and sys.maxsize > 1 << 32 else PythonPool
