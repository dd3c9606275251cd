"""A model of ONNX as a module."""

import os
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, DTypeError, ShapeError
from ..nn.module import Module
from ..nn.parameter import Buffer, Parameter
from .graph import Builder, described
from .library import library
from .nodes import as_value
from .reading import check_model, check_operators, opsets_of, read_model

Source = str | os.PathLike | bytes | Any


class Model(Module):
    """A graph of ONNX as a module: see `load`.

    `inputs` and `outputs`: {name: (dtype, shape)} as the file says them; a size that may vary is a name or None.
    `opsets`: {domain: version}. Called with tensors or arrays in the order of `inputs`, or by name; it gives the
    output, or a tuple of them in the order of `outputs`.
    """

    def __init__(self, proto: Any, folder: Any = None) -> None:
        super().__init__()
        self.opsets = opsets_of(proto)
        builder = Builder(self.opsets, folder)
        self.graph = builder.graph(proto.graph)
        own = {*self.graph.constants}
        self.defaults = tuple([each.name for each in proto.graph.input if each.name in own])
        self.inputs = {each.name: described(each) for each in proto.graph.input if each.name not in own}
        self.outputs = {each.name: described(each) for each in proto.graph.output}
        self.places: dict[str, tuple[Module, str]] = {}
        for name, array in builder.arrays.items():
            trains = array.ndim > 0 and array.dtype.kind in "fcV" and name in builder.weights - builder.literals
            self._store(name, array, trains, name not in builder.literals)

    def _store(self, name: str, array: np.ndarray, trains: bool, persistent: bool) -> None:
        """Keep an array as a parameter or a buffer under its own name, dots making modules."""
        *path, last = name.split(".")
        module: Module = self
        for part in path:
            child = module._modules.get(part)
            if child is None:
                if not part or hasattr(module, part):
                    path, last, module = [], name.replace(".", "_"), self
                    break
                child = Module()
                module.add_module(part, child)
            module = child
        while not last or hasattr(module, last):
            last = f"{last}_"
        if trains:
            module.register_parameter(last, Parameter(array))
        else:
            module.register_buffer(last, Buffer(array), persistent)
        self.places[name] = (module, last)

    @property
    def title(self) -> str:
        """The graph's name."""
        return self.graph.name or "model"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output, or a tuple of them."""
        store = {name: getattr(module, last) for name, (module, last) in self.places.items()}
        given = self._given(args, kwargs)
        inputs = [given[name] if name in given else store[self.graph.constants[name]] for name in self.graph.inputs]
        found = self.graph.run(*inputs, store=store)
        return found[0] if len(found) == 1 else found

    def _given(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The inputs by name, checked against what the file says of them."""
        names = [*self.inputs]
        given = dict(zip(names, args)) | kwargs
        unknown = sorted({*kwargs} - {*names, *self.defaults})
        missing = [name for name in names if name not in given]
        if len(args) > len(names) or unknown or missing or {*names[:len(args)]} & {*kwargs}:
            raise ConfigError(f"{self.title}: got {len(args)} inputs and those named {sorted(kwargs)}. "
                              f"It takes {', '.join(names) or 'none'}, each once.")
        device = next((tensor.device for tensor in (*self.parameters(), *self.buffers())), None)
        return {name: self._input(name, value, device) for name, value in given.items()}

    def _input(self, name: str, value: Any, device: str | None) -> Any:
        dtype, shape = self.inputs.get(name, ("", None))
        if isinstance(value, (np.ndarray, np.generic, int, float, bool)):
            value = asarray(np.asarray(value), device=device)
        value = as_value(value)
        if shape is None or not isinstance(value, Tensor):
            return value
        if value.ndim != len(shape) or any(isinstance(size, int) and size != own
                                           for size, own in zip(shape, value.shape)):
            raise ShapeError(f"{self.title}: the input {name!r} has shape {value.shape}. The model takes {shape}.")
        if (value.dtype.kind in "biu") != (dtype.startswith(("int", "uint", "bool"))):
            raise DTypeError(f"{self.title}: the input {name!r} is {value.dtype}. The model takes {dtype}: "
                             f".astype({dtype!r}).")
        return value

    def extra_repr(self) -> str:
        """The inputs and outputs."""
        return f"inputs={[*self.inputs]}, outputs={[*self.outputs]}, nodes={len(self.graph.steps)}"


def load(source: Source) -> Model:
    """The module of a model of ONNX: a path, its bytes, or an onnx.ModelProto.

    Initializers become parameters where they are floats with axes that the model computes with, otherwise buffers
    (running statistics, integers, numbers); each has its name in `state_dict`. The module is called with tensors or
    arrays in the order of its `inputs`, or by name. It is differentiable, goes to devices by `.to`, and can be trained.

    Nothing in the file is run as code. Weights in files of their own must lie in the model's folder. BackendError names
    all operators that are not supported; ConfigError says what breaks the standard's rules, ShapeError where a tensor
    has not as many bytes as its shape needs, DTypeError where its dtype is none of tensors here.

    Source: the intermediate representation of ONNX, onnx.ai/onnx/repo-docs/IR.html.

    >>> lnb.onnx.load("missing.onnx")
    Traceback (most recent call last):
    lucid_nb.errors.ConfigError: onnx.load: there is no file 'missing.onnx'. Give the path of a model.
    """
    proto, folder = read_model(source)
    check_operators(proto)
    check_model(proto)
    if proto.functions:
        proto = library().inliner.inline_local_functions(proto)
    return Model(proto, folder)
