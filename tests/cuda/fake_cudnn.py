"""The frontend of cuDNN as its documentation describes it, computed by NumPy on the host's memory."""

import ctypes
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from lucid_nb.shapes import Window
from tests.naive_conv import naive

DTYPES = {"HALF": "float16", "BFLOAT16": ml_dtypes.bfloat16, "FLOAT": "float32", "DOUBLE": "float64"}
STEPS = ["validate", "build_operation_graph", "create_execution_plans", "deselect_numeric_notes",
         "deselect_workspace_greater_than", "check_support", "build_plans", "get_workspace_size"]


def names(*values):
    """An enumeration."""
    return SimpleNamespace(**{value: value for value in values})


class Tensor:
    """A tensor of a graph; setters give it back."""

    def __init__(self, **known):
        self.known = known

    def __getattr__(self, name):
        assert name in ("set_uid", "set_output", "set_data_type", "set_dim", "set_stride")

        def change(value):
            self.known[{"set_data_type": "data_type"}.get(name, name.removeprefix("set_"))] = value
            return self
        return change


class Graph:
    """One convolution."""

    def __init__(self, fake, io_data_type, intermediate_data_type, compute_data_type, handle):
        self.fake, self.compute, self.tensors, self.steps = fake, compute_data_type, {}, []
        assert handle == "handle"
        fake.graphs.append(self)

    def tensor(self, dim, stride, data_type, uid):
        self.tensors[uid] = Tensor(dim=dim, stride=stride, data_type=data_type, uid=uid)
        return self.tensors[uid]

    def conv_fprop(self, image, weight, **geometry):
        return self.node(0, (image, weight), geometry)

    def conv_dgrad(self, loss, filter, **geometry):
        return self.node(1, (loss, filter), geometry)

    def conv_wgrad(self, image, loss, **geometry):
        return self.node(2, (image, loss), geometry)

    def node(self, kind, operands, geometry):
        self.kind, self.operands, self.geometry, self.result = kind, operands, geometry, Tensor()
        return self.result

    def __getattr__(self, name):
        if name not in STEPS:
            raise AttributeError(name)

        def step(*given):
            self.steps.append((name, *given))
            if name == self.fake.refuses:
                raise RuntimeError(f"{name}: not supported")
            return self.fake.workspace if name == "get_workspace_size" else None
        return step

    def array(self, tensor, address):
        """The host's memory as a tensor says it lies."""
        known = tensor.known
        dtype = np.dtype(DTYPES[known["data_type"]])
        count = 1 + sum((size - 1) * stride for size, stride in zip(known["dim"], known["stride"]))
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        return np.lib.stride_tricks.as_strided(np.frombuffer(memory, dtype), known["dim"],
                                               [stride * dtype.itemsize for stride in known["stride"]])

    def execute(self, places, workspace, handle):
        assert [name for name, *_ in self.steps] == STEPS and handle == "handle"
        assert self.fake.stream == 0 and bool(workspace) == bool(self.fake.workspace)
        if self.fake.refuses == "execute":
            raise RuntimeError("execute: not supported")
        assert self.result.known["output"] is True
        a, b = (self.array(own, places[own.known["uid"]]) for own in self.operands)
        y = self.array(self.result, places[self.result.known["uid"]])
        x, w, g = (a, b, y) if self.kind == 0 else (y, b, a) if self.kind == 1 else (a, y, b)
        given = {name: tuple(value) for name, value in self.geometry.items() if name != "compute_data_type"}
        window = Window(given["stride"], given["pre_padding"], given["post_padding"], given["dilation"],
                        x.shape[1] // w.shape[1])
        known = [np.zeros(own.shape) if own is y else own for own in (x, w, g)]
        y[...] = naive(*known, window)[self.kind]
        self.fake.executed += 1


class FakeCudnn:
    """The package `cudnn`. `refuses`: the step that raises; `workspace`: bytes that a graph asks for."""

    data_type, heur_mode = names(*DTYPES), names("A", "FALLBACK")
    numerical_note = names("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION", "FFT",
                           "NONDETERMINISTIC", "WINOGRAD", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6",
                           "WINOGRAD_TILE_13x13")

    def __init__(self, refuses="", workspace=0):
        self.refuses, self.workspace, self.graphs, self.executed, self.stream = refuses, workspace, [], 0, None

    def pygraph(self, **keywords):
        return Graph(self, **keywords)

    def create_handle(self):
        return "handle"

    def set_stream(self, handle, stream):
        self.stream = stream
