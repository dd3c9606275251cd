"""What runs in a worker process of a DataLoader."""

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from itertools import islice
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from .. import config, dtypes
from ..errors import ConfigError
from .reading import Reader
from .sharing import Letter, Sealed, Sender
from .streams import READING, STARTING, Root, seed_everything, seeds_of

GRACE = 5.0                                # seconds that a worker has to end by itself, when its loader is gone


class WorkerInfo(NamedTuple):
    """Which worker this is: its number, how many there are, the seed of its streams, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class Epoch(NamedTuple):
    """A task: from here on an epoch follows from this root."""

    root: Root


class Read(NamedTuple):
    """A task: a batch of these samples; of the next ones, of a stream. It is the epoch's batch of that number."""

    number: int
    indices: Any


class Failure(NamedTuple):
    """A reply: an exception, pickled where that can be, in words, and where it came from."""

    pickled: bytes | None
    words: str
    trace: str


class End(NamedTuple):
    """A reply: the stream of this worker has ended."""


class Ready(NamedTuple):
    """A reply: the worker has its parcel."""


class Role(NamedTuple):
    """What a worker is told when it starts."""

    id: int
    num_workers: int
    slots: int
    default_dtype: str


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader: which it is. None elsewhere.

    >>> lnb.data.get_worker_info() is None
    True
    """
    return _info


def main(connection: Connection, sealed: Sealed, role: Role) -> None:
    """Do the tasks that come, until the loader closes the connection or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)           # Ctrl-C goes to all; the loader ends its workers
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    config.num_threads = 1
    dtypes.set_default_dtype(role.default_dtype)
    tasks, sender = SimpleQueue[Any](), Sender(role.slots)
    threading.Thread(target=_listen, args=(connection, tasks, sender), daemon=True).start()
    try:
        worker = Worker(sealed, role, sender)
        connection.send(Ready())
        for task in iter(tasks.get, None):
            reply = worker.do(task)
            if reply is not None:
                connection.send(reply)
    except (BrokenPipeError, ConnectionResetError):
        pass                                               # nobody waits for the batch any more
    finally:
        sender.close()


def _listen(connection: Connection, tasks: "SimpleQueue[Any]", sender: Sender) -> None:
    """Put the tasks into the queue, so that the loader never waits to send one, and notice when it is gone."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        pass
    sender.close()
    tasks.put(None)
    time.sleep(GRACE)
    os._exit(1)                                            # the main thread hangs in what the dataset does


class Worker:
    """The dataset and where reading stands."""

    def __init__(self, sealed: Sealed, role: Role, sender: Sender) -> None:
        self.role, self.sender = role, sender
        self.trouble: Failure | None = None
        self.root: Root = ()
        self.is_started = False
        self.batches: Iterator[Any] | None = None
        try:
            self.reader: Reader
            self.reader, self.start = sealed.open()
        except (AttributeError, ImportError) as error:
            self.trouble = failure_of(ConfigError(f"DataLoader: a worker does not find what the dataset is made of, "
                                                  f"{error}. Define it in a file that it can import, or use "
                                                  "num_workers=0."))
        except Exception as error:
            self.trouble = failure_of(error)

    def do(self, task: Any) -> Any:
        """The reply to a task; None where there is nothing to say."""
        if isinstance(task, Epoch):
            self.root, self.batches = task.root, None
            return None
        try:
            return self.trouble or self._read(task)
        except Exception as error:
            return failure_of(error)

    def _read(self, task: Read) -> Letter | End:
        if not self.is_started:
            self._start()
        if self.reader.is_stream:
            return self._next()
        if self.start is None:              # then what is drawn depends on the batch, not on who reads it
            seed_everything(seeds_of(self.root, READING, task.number))
        return self.sender.send(self.reader.read(task.indices))

    def _start(self) -> None:
        """Before the first batch: its streams, and the caller's function."""
        global _info
        seeds = seeds_of(self.root, STARTING, self.role.id)
        _info = WorkerInfo(self.role.id, self.role.num_workers, seeds.library, self.reader.dataset)
        seed_everything(seeds)
        self.is_started = True
        if self.start is not None:
            self.start(self.role.id)

    def _next(self) -> Letter | End:
        """The next batch of a stream."""
        if self.batches is None:
            if self.start is None:
                seed_everything(seeds_of(self.root, STARTING, self.role.id))
            self.batches = self.reader.stream()
        for batch in islice(self.batches, 1):
            return self.sender.send(batch)
        return End()


def failure_of(error: Exception) -> Failure:
    """The exception as a reply."""
    words = f"{type(error).__name__}: {error}"
    trace = "".join(traceback.format_exception(error)).rstrip()
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        return Failure(None, words, trace)
    return Failure(pickled, words, trace)
