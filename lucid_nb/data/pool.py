"""The worker processes of a DataLoader, from the loader's side."""

import atexit
import multiprocessing
import multiprocessing.util
import os
import pickle
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from .. import dtypes
from ..errors import ConfigError, WorkerError, told
from . import worker
from .reading import Reader
from .sharing import Letter, Parcel, Receiver, pack
from .streams import Root

GRACE = 2.0                                       # seconds for workers to end what they do
ONE_THREAD = ("LUCID_NB_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
GUARD = 'if __name__ == "__main__":'
METHODS = ("spawn", "forkserver")
_environment = threading.Lock()
_open = weakref.WeakSet["Pool"]()


@atexit.register                                  # before multiprocessing's own, which kills what still runs
def _close_all() -> None:
    for pool in list(_open):
        pool.close()


@contextmanager
def starting() -> Iterator[None]:
    """Processes that start in the block use one thread each, as they are the parallelism, and are deaf to Ctrl-C."""
    with _environment, undisturbed():
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        mask = None
        if hasattr(signal, "pthread_sigmask"):
            resource_tracker.ensure_running()     # which would unblock the signal, did it start later
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            if mask is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for name, value in before.items():
                os.environ.pop(name)
                os.environ.update({} if value is None else {name: value})


@contextmanager
def undisturbed() -> Iterator[None]:
    """A Ctrl-C in the block counts when it ends: a process half started would complain.

    That the signal is blocked does not keep it from other threads, after which Python raises it in this one.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if caught:
            signal.raise_signal(signal.SIGINT)


def context_of(method: Any) -> Any:
    """multiprocessing's way to start processes. A fork would copy threads' locks, and hang in them."""
    name = "spawn" if method is None else getattr(method, "get_start_method", lambda: method)()
    if name not in METHODS:
        raise ConfigError(f"DataLoader: multiprocessing_context is {told(name)}. Use one of {', '.join(METHODS)}.")
    return multiprocessing.get_context(name)


def check_place() -> None:
    """Refuse to start processes where that cannot be."""
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):    # this process is reading the script, to find what it defines
        raise ConfigError(f"DataLoader: a worker that reads the script starts workers itself. Put what the script does "
                          f"under `{GUARD}`.")
    if process.daemon:
        raise ConfigError("DataLoader: workers inside a worker process, which may start none. Use num_workers=0 there.")


class Pool:
    """Workers and what they owe, in the order in which it was asked for."""

    def __init__(self, reader: Reader, start: Any, count: int, prefetch: int, context: Any, timeout: float) -> None:
        check_place()
        self.owner, self.timeout, self.is_closed = os.getpid(), timeout, False
        self.owed: deque[int] = deque()           # the worker of each batch that is under way
        self.parcel = Parcel((reader, start))
        self.receivers = [Receiver() for _ in range(count)]
        self.connections: list[Connection] = []
        self.processes: list[Any] = []
        self.waiting = set(range(count))          # workers that have not opened the parcel
        _open.add(self)
        with self, starting():
            for number in range(count):
                self._start(context, worker.Role(number, count, prefetch, dtypes.default_dtype().name))

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        """An exception in the block, which may be Ctrl-C, ends the workers."""
        if kind is not None:
            self.close()

    def _start(self, context: Any, role: worker.Role) -> None:
        ours, theirs = context.Pipe()
        self.connections.append(ours)
        process = context.Process(target=worker.main, args=(theirs, self.parcel, role), daemon=True,
                                  name=f"lucid_nb DataLoader {role.id}")
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise self._unsendable(error) from None
        finally:
            theirs.close()
        self.processes.append(process)

    def _unsendable(self, error: Exception) -> Exception:
        """What cannot be sent to a worker, in words; other errors stay as they are."""
        reader, start = self.parcel.value
        for name, part in (("dataset", reader.dataset), ("collate_fn", reader.collate_fn), ("worker_init_fn", start)):
            try:
                pack(part)
            except Exception:
                return ConfigError(f"DataLoader: the {name} cannot be sent to a worker, {error}. Define what it is "
                                   "made of at the top of a module, or use num_workers=0.")
        return error

    # ------------------------------------------------------------------------------------------------ talking
    def begin(self, root: Root) -> None:
        """A new epoch; what is left of another one is dropped."""
        while self.owed:
            self._answer(self.owed.popleft())
        for number in range(len(self.connections)):
            self._send(number, worker.Epoch(root))

    def ask(self, number: int, batch: int, indices: Any) -> None:
        """Let a worker read a batch."""
        self._send(number, worker.Read(batch, indices))
        self.owed.append(number)

    def _send(self, number: int, task: Any) -> None:
        try:
            self.connections[number].send(task)
        except (BrokenPipeError, ConnectionResetError):
            raise self._dead(number) from None

    def receive(self, in_order: bool) -> tuple[int, Any]:
        """A worker that owed a batch, and its reply: of the batch asked for first, or of one that is ready."""
        number = self.owed[0] if in_order else self._first_ready()
        self.owed.remove(number)
        return number, self._answer(number)

    def _first_ready(self) -> int:
        owing: dict[Any, int] = {self.connections[number]: number for number in self.owed}
        ready = wait(list(owing), self.timeout or None)
        return owing[ready[0]] if ready else self.owed[0]       # then the time is over for that one too

    def _answer(self, number: int) -> Any:
        """The next reply of a worker. WorkerError where it is dead, or the time is over."""
        try:
            reply = self._reply(number)
            if number in self.waiting:
                self.waiting.discard(number)
                if not self.waiting:
                    self.parcel.close()
                reply = self._reply(number)
        except (EOFError, ConnectionResetError, BrokenPipeError):
            raise self._dead(number) from None
        return self.receivers[number].take(reply) if isinstance(reply, Letter) else reply

    def _reply(self, number: int) -> Any:
        connection, process = self.connections[number], self.processes[number]
        ready = wait([connection, process.sentinel], self.timeout or None)
        if not ready:
            raise WorkerError(f"DataLoader: worker {number} gave no batch within {self.timeout:g} s. Raise timeout, or "
                              "find out what the dataset waits for.")
        if connection not in ready and not connection.poll():
            raise EOFError
        return connection.recv()

    def _dead(self, number: int) -> WorkerError:
        """The error that says how a worker ended."""
        process = self.processes[number]
        process.join(GRACE)
        code = process.exitcode
        how = "closed its connection" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        advice = "The system may be short of memory: use fewer workers or smaller batches"
        if number in self.waiting and code is not None and code > 0:
            advice = f"What it printed says why; a script must do its work under `{GUARD}`"
        self.close()
        return WorkerError(f"DataLoader: worker {number} {how}. {advice}.")

    # ----------------------------------------------------------------------------------------------- the end
    def close(self) -> None:
        """End the workers, and leave no process and no shared memory behind."""
        if self.is_closed or os.getpid() != self.owner:     # a forked child does not own them
            return
        self.is_closed = True
        self.owed.clear()
        for number, connection in enumerate(self.connections):
            self._drain(number, connection)
            connection.close()
        until = time.monotonic() + GRACE
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
        for process in self.processes:
            if process.exitcode is None:
                process.kill()
                process.join()
        for receiver in self.receivers:
            receiver.close()
        self.parcel.close()

    def _drain(self, number: int, connection: Connection) -> None:
        """Take the names of shared memory that wait in the connection."""
        try:
            while connection.poll():
                reply = connection.recv()
                if isinstance(reply, Letter) and reply.slot is not None:
                    self.receivers[number].open(reply)
        except (EOFError, OSError, pickle.UnpicklingError):
            pass
