"""Two pools of worker threads over range kernels: native ones where the C library has POSIX semaphores, else Python's.

Either way every thread, the caller too, has one span of the range as its own, the same in each job of a size, so that
what it wrote is still in its cache. It takes chunks of the span one by one, then helps with the spans of the others.
When all are taken the caller withdraws the wake-up calls that no worker has answered yet: a sleepy worker, or one that
a fork has left behind, then delays nobody.
"""
import _thread
import ctypes
import itertools
import platform
import re
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
# The pool in bytes: the job, the semaphore of finished workers, then one line a thread. A line holds the semaphore that
# wakes the thread, a word that ends it, the address of the pool, the thread's number (the caller's is 0), and the part
# of its span that nobody has taken: first and end.
JOB, DONE, LINES = 0, LINE, 2 * LINE
STOP, POOL, NUMBER, FIRST, END = 64, 72, 80, 88, 96

# sem_wait, sem_post and sem_trywait are called through addresses in the job line, so that the object needs no symbols.
MODULE = """
PAUSE_DECLARATION

define internal ptr @word(ptr %base, i64 %offset) {
  %place = getelementptr i8, ptr %base, i64 %offset
  %word = load ptr, ptr %place
  ret ptr %word
}

define internal i64 @number(ptr %base, i64 %offset) {
  %place = getelementptr i8, ptr %base, i64 %offset
  %number = load i64, ptr %place
  ret i64 %number
}

define internal ptr @line(ptr %pool, i64 %thread) {
  %lines = mul i64 %thread, LINE
  %offset = add i64 %lines, LINES
  %line = getelementptr i8, ptr %pool, i64 %offset
  ret ptr %line
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

define internal void @work(ptr %pool, i64 %self) {
entry:
  %kernel = call ptr @word(ptr %pool, i64 AT_KERNEL)
  %table = call ptr @word(ptr %pool, i64 AT_TABLE)
  %chunk = call i64 @number(ptr %pool, i64 AT_CHUNK)
  %threads = call i64 @number(ptr %pool, i64 AT_THREADS)
  br label %visit
visit:
  %turn = phi i64 [0, %entry], [%turn.next, %leave]
  %more = icmp slt i64 %turn, %threads
  br i1 %more, label %span, label %done
span:
  %unwrapped = add i64 %self, %turn
  %owner = urem i64 %unwrapped, %threads
  %line = call ptr @line(ptr %pool, i64 %owner)
  %first = getelementptr i8, ptr %line, i64 FIRST
  %end = call i64 @number(ptr %line, i64 END)
  br label %take
take:
  %start = atomicrmw add ptr %first, i64 %chunk seq_cst
  %left = icmp slt i64 %start, %end
  br i1 %left, label %run, label %leave
run:
  %full = add i64 %start, %chunk
  %whole = icmp slt i64 %full, %end
  %stop = select i1 %whole, i64 %full, i64 %end
  call void %kernel(ptr %table, i64 %start, i64 %stop)
  br label %take
leave:
  %turn.next = add i64 %turn, 1
  br label %visit
done:
  ret void
}

define ptr @worker(ptr %line) {
entry:
  %pool = call ptr @word(ptr %line, i64 POOL)
  %self = call i64 @number(ptr %line, i64 NUMBER)
  %post = call ptr @word(ptr %pool, i64 AT_POST)
  %finished = getelementptr i8, ptr %pool, i64 DONE
  br label %loop
loop:
  call void @wait(ptr %pool, ptr %line)
  %stop = call i64 @number(ptr %line, i64 STOP)
  %ends = icmp ne i64 %stop, 0
  br i1 %ends, label %end, label %job
job:
  call void @work(ptr %pool, i64 %self)
  call i32 %post(ptr %finished)
  br label %loop
end:
  ret ptr null
}

define void @dispatch(ptr %pool, i64 %threads, ptr %kernel, ptr %table, i64 %count, i64 %span, i64 %chunk) {
entry:
  %kernel.at = getelementptr i8, ptr %pool, i64 AT_KERNEL
  store ptr %kernel, ptr %kernel.at
  %table.at = getelementptr i8, ptr %pool, i64 AT_TABLE
  store ptr %table, ptr %table.at
  %chunk.at = getelementptr i8, ptr %pool, i64 AT_CHUNK
  store i64 %chunk, ptr %chunk.at
  %threads.at = getelementptr i8, ptr %pool, i64 AT_THREADS
  store i64 %threads, ptr %threads.at
  %post = call ptr @word(ptr %pool, i64 AT_POST)
  %try = call ptr @word(ptr %pool, i64 AT_TRYWAIT)
  %finished = getelementptr i8, ptr %pool, i64 DONE
  br label %assign
assign:
  %k = phi i64 [0, %entry], [%k.next, %assign]
  %assigned = call ptr @line(ptr %pool, i64 %k)
  %first = mul i64 %k, %span
  %first.at = getelementptr i8, ptr %assigned, i64 FIRST
  store atomic i64 %first, ptr %first.at seq_cst, align 8
  %full = add i64 %first, %span
  %whole = icmp slt i64 %full, %count
  %last = select i1 %whole, i64 %full, i64 %count
  %last.at = getelementptr i8, ptr %assigned, i64 END
  store i64 %last, ptr %last.at
  %k.next = add i64 %k, 1
  %assigns = icmp slt i64 %k.next, %threads
  br i1 %assigns, label %assign, label %wake
wake:
  %i = phi i64 [1, %assign], [%i.next, %call]
  %calls = icmp slt i64 %i, %threads
  br i1 %calls, label %call, label %help
call:
  %line = call ptr @line(ptr %pool, i64 %i)
  call i32 %post(ptr %line)
  %i.next = add i64 %i, 1
  br label %wake
help:
  call void @work(ptr %pool, i64 0)
  br label %collect
collect:
  %j = phi i64 [1, %help], [%j.next, %counted]
  %checks = icmp slt i64 %j, %threads
  br i1 %checks, label %check, label %end
check:
  %busy = call ptr @line(ptr %pool, i64 %j)
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
FIELDS = ("AT_KERNEL", "AT_TABLE", "AT_CHUNK", "AT_THREADS", "AT_WAIT", "AT_POST", "AT_TRYWAIT")
PLACES = {name: JOB + 8 * number for number, name in enumerate(FIELDS)}


def _module() -> str:
    """The native pool's code for this processor."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    text = MODULE.replace("PAUSE_DECLARATION", "declare void @llvm.x86.sse2.pause()" if x86
                          else "declare void @llvm.aarch64.hint(i32)")
    text = text.replace("PAUSE", "call void @llvm.x86.sse2.pause()" if x86 else "call void @llvm.aarch64.hint(i32 1)")
    numbers = PLACES | {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    return re.sub(r"\b[A-Z_]{3,}\b", lambda match: str(numbers[match[0]]), text)


def _entry(name: str) -> int:
    """Address of one of the module's two functions."""
    text = _module()
    return store.load(f"{name} of {text}", lambda symbol: store.module_object(
        text.replace(f"@{name}(", f"@{symbol}("), symbol))


def spans(count: int, chunk: int, threads: int) -> tuple[int, int]:
    """How many threads share range(count), and the span of each: whole chunks."""
    chunks = -(-count // chunk)
    span = -(-chunks // min(threads, chunks)) * chunk
    return -(-count // span), span


@cache
def range_function(address: int) -> RangeFunction:
    """A range kernel as a Python function of table, start and stop that releases the GIL."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)


class NativePool:
    """Workers of the C library: they never hold the GIL, and die with the process."""

    def __init__(self, threads: int) -> None:
        self.threads, self._libc = threads, _libc()
        self._handles: list[ctypes.c_void_p] = []
        # Memory of C's: sleeping workers look at it until the process ends, later than any Python object lives.
        size = LINES + threads * LINE + LINE
        start = self._libc.calloc(1, size)
        if not start:
            raise MemoryError(f"threads: no {size} bytes for {threads} threads")
        self._allocated, self._base = start, -(-start // LINE) * LINE
        for name, function in (("AT_WAIT", "sem_wait"), ("AT_POST", "sem_post"), ("AT_TRYWAIT", "sem_trywait")):
            self._put(PLACES[name], ctypes.cast(getattr(self._libc, function), ctypes.c_void_p).value or 0)
        self._libc.sem_init(self._base + DONE, 0, 0)
        pointer, word = ctypes.c_void_p, ctypes.c_int64
        self._dispatch = ctypes.CFUNCTYPE(None, pointer, word, pointer, pointer, word, word, word)(_entry("dispatch"))
        self._start()

    def _put(self, offset: int, value: int) -> None:
        ctypes.c_int64.from_address(self._base + offset).value = value

    def _start(self) -> None:
        """Start workers, fewer when the system gives no more. Signals are for Python's own threads."""
        worker, attributes = _entry("worker"), ctypes.create_string_buffer(256)
        self._libc.pthread_attr_init(attributes)
        self._libc.pthread_attr_setstacksize(attributes, STACK)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for number in range(1, self.threads):
                place, handle = LINES + number * LINE, ctypes.c_void_p()
                self._libc.sem_init(self._base + place, 0, 0)
                self._put(place + POOL, self._base)
                self._put(place + NUMBER, number)
                if self._libc.pthread_create(ctypes.byref(handle), attributes, worker, self._base + place):
                    break
                self._handles.append(handle)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._libc.pthread_attr_destroy(attributes)

    def run(self, address: int, table: int | bytes, count: int, chunk: int) -> None:
        """Run a range kernel over range(count) in chunks; returns when all are done."""
        threads, span = spans(count, chunk, len(self._handles) + 1)
        self._dispatch(self._base, threads, address, table, count, span, chunk)

    def stop(self) -> None:
        """End the workers, which are idle, and wait for that."""
        for number, handle in enumerate(self._handles, 1):
            self._put(LINES + number * LINE + STOP, 1)
            self._libc.sem_post(self._base + LINES + number * LINE)
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
        self._workers = [_PythonWorker(number) for number in range(1, threads)]

    def run(self, address: int, table: int | bytes, count: int, chunk: int) -> None:
        """Run a range kernel over range(count) in chunks; returns when all are done."""
        threads, span = spans(count, chunk, self.threads)
        ends = [min((thread + 1) * span, count) for thread in range(threads)]
        counters = [itertools.count(thread * span, chunk) for thread in range(threads)]
        job = range_function(address), table, chunk, list(zip(counters, ends))
        called = self._workers[:threads - 1]
        try:
            for worker in called:
                worker.job = job
                worker.wake.release()
            _work(0, *job)
        finally:                     # after an interrupt too: workers write to memory that the caller then gives up
            for worker in called:
                if worker.job is job and not worker.wake.acquire(blocking=False):
                    worker.done.acquire()

    def stop(self) -> None:
        """End the workers, which are idle, and wait for that."""
        for worker in self._workers:
            worker.job = None
            worker.wake.release()
            worker.thread.join()


class _PythonWorker:
    """A daemon thread that waits for jobs; its two locks serve as semaphores."""

    def __init__(self, number: int) -> None:
        self.number = number
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
            _work(self.number, *self.job)
            self.done.release()


def _work(self: int, function: RangeFunction, table: int | bytes, chunk: int, parts: list) -> None:
    """Run the chunks of a thread's own span, then of the others'. Advancing a counter is one step under the GIL."""
    for counter, end in parts[self:] + parts[:self]:
        for start in counter:
            if start >= end:
                break
            function(table, start, min(start + chunk, end))


# macOS has no unnamed semaphores, Windows no pthreads.
Pool = NativePool if sys.platform.startswith("linux") and sys.maxsize > 1 << 32 else PythonPool
