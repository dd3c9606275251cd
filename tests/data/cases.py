"""Datasets for worker processes, which import this file: so it imports little."""

import os
import random
import signal
import sys
import time

import numpy as np

import lucid_nb as lnb
from lucid_nb.data import Dataset, IterableDataset, get_worker_info


class Rows(Dataset):
    """(row of an array, its index, a text)."""

    def __init__(self, count):
        self.rows = np.arange(count * 300, dtype=np.float32).reshape(count, 300)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"row": self.rows[index], "index": index, "name": f"sample {index}"}


class Draws(Dataset):
    """What three generators draw, and in which process."""

    def __init__(self, count=24):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        key = lnb.random.next_key()
        library = lnb.random.host().random_sample()        # the state of lnb.random.rand, without its kernels
        drawn = np.random.rand(), random.random(), library, key.words[0] + key.stream / 1024
        return np.array([*drawn, get_worker_info().id])


class Troubles(Dataset):
    """Indices, and functions in place of some of them."""

    def __init__(self, **troubles):
        self.troubles = {int(name.strip("_")): trouble for name, trouble in troubles.items()}

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.troubles[index](index) if index in self.troubles else index


class TwoPartError(Exception):
    """An exception that pickle cannot make anew."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def raise_key(index):
    raise KeyError("lost", index)


def raise_two_part(index):
    raise TwoPartError(index, "more")


def raise_stop(index):
    raise StopIteration(index)


def kill_self(index):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(index):
    os._exit(3)


def sleep(index):
    time.sleep(60)


class Counting(IterableDataset):
    """The numbers below `count`, dealt to the workers, each with what NumPy draws."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return (np.array([number, np.random.rand()]) for number in range(first, self.count, step))


class Witness(Dataset):
    """What a worker has imported and uses; it counts in a counter that all share and in an array that is its own."""

    HEAVY = ("numba", "llvmlite", "scipy", "lucid_nb.kernels", "lucid_nb.nn", "lucid_nb.optim", "pytest", "torch")

    def __init__(self, counter):
        self.counter, self.rows = counter, np.zeros(5000)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        with self.counter.get_lock():
            self.counter.value += 1
        self.rows += 1
        loaded = [name for name in self.HEAVY if name in sys.modules]
        return loaded, lnb.config.num_threads, os.environ["OPENBLAS_NUM_THREADS"], self.rows[:2]


def keep_list(samples):
    """A collate_fn."""
    return samples


def seed_by_id(number):
    """A worker_init_fn that answers for a generator."""
    np.random.seed(100 + number)


class Mapped(Dataset):
    """One image again and again, transformed."""

    def __init__(self, image, transform):
        self.image, self.transform = image, transform

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return self.transform(lnb.asarray(self.image))


def double(image):
    """A function at the top of a module, for Lambda."""
    return image * 2
