"""CuPy as its documentation describes it, by NumPy on the host's memory."""

import ctypes
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from lucid_nb.cuda import runtime
from lucid_nb.cuda.memory import Memory


class Array:
    """An array of CuPy: what it holds, and its interface."""

    def __init__(self, content):
        self.content = content

    def all(self):
        return self.content.all()

    def copy(self):
        return Array(self.content.copy())

    def __getitem__(self, place):
        return Array(self.content[place])

    def __setitem__(self, place, value):
        self.content[place] = value.content

    def __imul__(self, factor):
        self.content *= factor
        return self

    @property
    def __cuda_array_interface__(self):
        held = self.content
        return {"version": 3, "shape": held.shape, "typestr": held.dtype.str, "strides": held.strides,
                "data": (held.ctypes.data, False), "stream": 1}


class FakeCupy:
    """The package `cupy`. `refuses`: what raises; `streams` and `taken` tell how it was called."""

    def __init__(self, refuses=None):
        self.refuses, self.streams, self.taken, self.calls = refuses, [], 0, []
        self.cuda = SimpleNamespace(
            MemoryPointer=lambda memory, offset: (*memory, offset), ExternalStream=self.stream,
            UnownedMemory=lambda address, size, owner, device: (address, size, owner), using_allocator=self.using)
        self.linalg, self.fft = Functions(self, np.linalg), Functions(self, np.fft)

    def __getattr__(self, name):
        return getattr(Functions(self, np), name)

    @contextmanager
    def stream(self, number):
        self.streams.append(number)
        yield

    @contextmanager
    def using(self, allocator):
        """Take some memory, as CuPy does for what it computes."""
        address, size, owner, offset = allocator(100)
        assert isinstance(owner, Memory) and address == runtime.address(owner) and size == 100 and offset == 0
        self.taken += 1
        yield

    def ndarray(self, shape, dtype, memptr, strides):
        address, size, owner, offset = memptr
        assert owner is not None and size >= 0 and offset == 0
        spans = [(count - 1) * step for count, step in zip(shape, strides)]
        low, high = sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans)
        memory = (ctypes.c_char * (high - low + np.dtype(dtype).itemsize)).from_address(address + low)
        return Array(np.ndarray(shape, dtype, memory, -low, strides))


class Functions:
    """Functions of NumPy that take and give arrays of CuPy."""

    def __init__(self, fake, module):
        self.fake, self.module = fake, module

    def __getattr__(self, name):
        function = getattr(self.module, name)

        def call(*given, **keywords):
            self.fake.calls.append(name)
            if self.fake.refuses is not None:
                raise self.fake.refuses
            if name in ("sort", "argsort"):
                keywords["kind"] = "stable"
            found = function(*(one.content if isinstance(one, Array) else one for one in given), **keywords)
            return tuple(map(wrapped, found)) if isinstance(found, tuple) else wrapped(found)
        return call


def wrapped(found):
    return Array(np.asarray(found))
