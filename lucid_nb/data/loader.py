"""DataLoader: batches of a dataset."""

import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import numpy as np

from ..errors import ConfigError, DTypeError, WorkerError, told
from . import pool, worker
from .pinning import check_pinning, pinned
from .reading import Reader
from .sampler import BatchSampler, RandomSampler, SeededSampler, SequentialSampler, positive
from .streams import Root, Roots

DEFAULT_PREFETCH = 2
END = object()


class DataLoader:
    """Batches of a dataset, in order or shuffled, read here or by worker processes; each iteration is one epoch.

    With `shuffle` the order is a function of `seed` and the number of epochs begun, so a run repeats exactly;
    `generator` takes the seed's place where the caller keeps the random state, and with neither the library's state
    counts (`lnb.random.seed`). `sampler` or `batch_sampler` replace the order altogether. `collate_fn` makes a batch of
    a list of samples, `default_collate` if it is not given. `batch_size=None` gives single samples. Of an
    `IterableDataset` the samples come in its own order.

    `num_workers` processes read ahead, `prefetch_factor` batches each; arrays come through shared memory. They are
    started anew (by spawn), so a script does its work under `if __name__ == "__main__":`, and what is sent to them is
    defined at the top of a module. With `persistent_workers` they stay for the next epoch. The order of batches does
    not depend on the number of workers. Nor does what Python's, NumPy's and the library's generators draw in them: it
    follows from seed, epoch and batch. But `worker_init_fn(id)`, which runs first in each, answers for the generators,
    and they start from a seed of the worker's own, as they do for streams. An exception comes to the caller, with a
    note that tells where it arose. WorkerError when a worker is killed, or gives no batch for `timeout` seconds.
    `pin_memory` puts batches where copying to cuda is fast; `in_order=False` gives whatever batch is ready.

    >>> loader = lnb.data.DataLoader(lnb.data.TensorDataset(np.arange(5)), batch_size=2)
    >>> [batch.tolist() for batch, in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable[int] | None = None, batch_sampler: Iterable[Sequence[int]] | None = None,
                 num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None,
                 multiprocessing_context: Any = None, generator: Any = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
                 seed: int | None = None) -> None:
        is_batched = batch_sampler is not None or batch_size is not None
        self.reader = Reader(dataset, collate_fn, batch_size, bool(drop_last), is_batched)
        _check_order(self.reader, bool(shuffle), sampler, batch_sampler)
        self.num_workers = positive("DataLoader", "num_workers", num_workers, 0)
        self.prefetch_factor = _prefetch(self.num_workers, prefetch_factor, persistent_workers, timeout)
        self.timeout, self.persistent_workers, self.in_order = timeout, bool(persistent_workers), bool(in_order)
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, pool.context_of(multiprocessing_context)
        self.pin_memory, self.generator = check_pinning(pin_memory, pin_memory_device), generator
        self.batch_size, self.roots = batch_size, Roots("DataLoader", seed, generator)
        self.sampler, self.batch_sampler = self._orders(bool(shuffle), sampler, batch_sampler, seed)
        self.pool: pool.Pool | None = None
        self.user: Any = None                        # a weak reference to the iterator that has the pool

    def _orders(self, shuffle: bool, sampler: Any, batch_sampler: Any, seed: int | None) -> tuple[Any, Any]:
        """The order of samples and that of batches."""
        if self.reader.is_stream or batch_sampler is not None:
            return sampler, batch_sampler
        if sampler is None:
            sampler = (RandomSampler(self.dataset, generator=self.generator, seed=seed) if shuffle
                       else SequentialSampler(self.dataset))
        return sampler, None if self.batch_size is None else BatchSampler(sampler, self.batch_size, self.drop_last)

    @property
    def dataset(self) -> Any:
        """Where the samples come from."""
        return self.reader.dataset

    @property
    def collate_fn(self) -> Any:
        """What makes a batch of a list of samples; None for `default_collate`."""
        return self.reader.collate_fn

    @property
    def drop_last(self) -> bool:
        """Is a short last batch left out?"""
        return self.reader.drop_last

    @property
    def epoch(self) -> int:
        """How many iterations were begun; assign it to go on with a run."""
        return self.roots.epoch

    @epoch.setter
    def epoch(self, number: int) -> None:
        self.roots.epoch = number
        if isinstance(self.sampler, SeededSampler):
            self.sampler.epoch = number

    def __iter__(self) -> Iterator[Any]:
        root = self.roots.next()                     # also without workers: the order must not depend on them
        found = self._batches() if not self.num_workers else self._by_workers(root)
        return map(pinned, found) if self.pin_memory else found

    def _plan(self) -> Iterator[Any]:
        """The indices of each batch, or of each sample."""
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _batches(self) -> Iterator[Any]:
        if self.reader.is_stream:
            return self.reader.stream()
        return (self.reader.read(indices) for indices in self._plan())

    def _by_workers(self, root: Root) -> "Batches":
        plan = repeat(None) if self.reader.is_stream else self._plan()
        user = self.user and self.user()
        if not self.persistent_workers or (user is not None and not user.is_done):
            return Batches(self, self._new_pool(), plan, root, True)
        if self.pool is None or self.pool.is_closed:
            self.pool = self._new_pool()
            weakref.finalize(self, self.pool.close).atexit = False
        found = Batches(self, self.pool, plan, root, False)
        self.user = weakref.ref(found)
        return found

    def _new_pool(self) -> pool.Pool:
        return pool.Pool(self.reader, self.worker_init_fn, self.num_workers, self.prefetch_factor,
                         self.multiprocessing_context, self.timeout)

    def __len__(self) -> int:
        if self.batch_sampler is not None or not self.reader.is_stream:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        if getattr(self.dataset, "__len__", None) is None:
            raise DTypeError(f"DataLoader: the stream {type(self.dataset).__name__} has no length. Count its batches, "
                             "or give it a __len__.")
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class Batches:
    """The batches of one epoch, read by workers."""

    def __init__(self, loader: DataLoader, workers: pool.Pool, plan: Iterator[Any], root: Root,
                 owns_pool: bool) -> None:
        self.loader = loader                         # whose end would be that of persistent workers
        self.pool, self.plan, self.owns_pool = workers, plan, owns_pool
        self.number, self.ended, self.is_done = 0, set[int](), False
        if owns_pool:
            weakref.finalize(self, workers.close).atexit = False
        with workers:
            workers.begin(root)
            for _ in range(loader.prefetch_factor):
                for worker_number in range(len(workers.connections)):
                    self._ask(worker_number)

    def _ask(self, worker_number: int) -> None:
        """Let a worker read the next batch of the plan, unless that or the worker's stream has ended."""
        if worker_number not in self.ended:
            indices = next(self.plan, END)
            if indices is not END:
                self.pool.ask(worker_number, self.number, indices)
                self.number += 1

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> Any:
        while self.pool.owed and not self.is_done:
            with self.pool:
                worker_number, reply = self.pool.receive(self.loader.in_order)
                if isinstance(reply, worker.End):
                    self.ended.add(worker_number)
                self._ask(worker_number)
            if isinstance(reply, worker.Failure):
                raise exception_of(reply, worker_number)
            if not isinstance(reply, worker.End):
                return reply
        self.is_done = True
        if self.owns_pool:
            self.pool.close()
        raise StopIteration


def exception_of(failure: worker.Failure, number: int) -> Exception:
    """The exception that a worker met, with a note of where. One that cannot be sent comes as a WorkerError."""
    error: Any = None
    if failure.pickled is not None:
        with suppress(Exception):
            error = pickle.loads(failure.pickled)
    if not isinstance(error, Exception) or isinstance(error, StopIteration):       # which would end the loop in silence
        error = WorkerError(f"DataLoader: worker {number} met {failure.words}. See the note.")
    error.add_note(f"In worker {number} of DataLoader:\n{failure.trace}")
    return error


def _check_order(reader: Reader, shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
    """Refuse what contradicts itself about the order of samples."""
    op = "DataLoader"
    for name, order in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if order is not None and not hasattr(order, "__iter__"):
            raise ConfigError(f"{op}: {name} is {told(order)}, which is no order of indices. Pass a sampler, and "
                              "other arguments by name.")
    if reader.is_stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ConfigError(f"{op}: an IterableDataset comes with shuffle, sampler or batch_sampler. Leave those out: "
                          "a stream has its own order.")
    if sampler is not None and shuffle:
        raise ConfigError(f"{op}: both sampler and shuffle are given. Let the sampler shuffle.")
    if batch_sampler is not None and (reader.batch_size != 1 or shuffle or sampler is not None or reader.drop_last):
        raise ConfigError(f"{op}: batch_sampler comes with batch_size, shuffle, sampler or drop_last. Leave those out.")
    if reader.batch_size is None and reader.drop_last:
        raise ConfigError(f"{op}: drop_last without batches. Leave it out, or give batch_size.")
    if reader.batch_size is not None:
        positive(op, "batch_size", reader.batch_size)


def _prefetch(num_workers: int, prefetch_factor: int | None, persistent_workers: bool, timeout: float) -> int:
    """How many batches each worker reads ahead; what is only for workers is refused without any."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float | np.number) or not 0 <= timeout < float("inf"):
        raise ConfigError(f"DataLoader: timeout is {told(timeout)}. Use seconds of 0 (no limit) or more.")
    if not num_workers and (prefetch_factor is not None or persistent_workers or timeout):
        raise ConfigError("DataLoader: prefetch_factor, persistent_workers or timeout without workers. Leave those "
                          "out, or use num_workers=1 or more.")
    return DEFAULT_PREFETCH if prefetch_factor is None else positive("DataLoader", "prefetch_factor", prefetch_factor)
