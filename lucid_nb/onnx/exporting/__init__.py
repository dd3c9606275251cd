"""Models as files of ONNX: recorded while they run, and written op by op."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...array import Tensor
from ...creation import asarray
from ...errors import BackendError, ConfigError
from ...io.writing import write_whole
from ...nn.module import Module
from ..library import library
from . import emitters
from .graph import Emission, difference
from .recording import Recording, record
from .sizes import Comparison

__all__ = ["OPSET", "emitters", "export"]
OPSET = 20
MOST = 2 ** 31 - 1                  # bytes of a proto
Inputs = Any
Dynamic = Mapping[str, Mapping[int, str] | Sequence[int]]


def export(model: Callable[..., Any], inputs: Inputs, path: str | os.PathLike | None = None, *,
           input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
           dynamic_axes: Dynamic | None = None, opset: int = OPSET, verify: bool | None = None) -> Any:
    """Write what a model computes as a file of ONNX, and return the onnx.ModelProto.

    The model, a module or a function of tensors that gives tensors, runs once on `inputs`: one, a list of them, or a
    dict {argument: tensor}. Every op that it calls becomes nodes; a module is run as in `.eval()`. Parameters and
    buffers have their names in `state_dict`. Control flow of Python is what it was for these inputs.

    `dynamic_axes`: {input: {axis: name}}, sizes that may be others than in `inputs`; the model runs twice then, and
    what differs between both must follow from these sizes. Axes of one name have one size. `path`: nothing is written
    where it is left out, nor where anything fails; a file is replaced as a whole. `verify`: compute the graph in
    onnxruntime, too, and compare (by default where that is installed).

    BackendError names what the standard has no operator for, and calls that no graph can hold: values that are read,
    memory that is written, random numbers.

    >>> layer = lnb.nn.Linear(3, 2)
    >>> proto = lnb.onnx.export(layer, np.zeros((4, 3), "float32"), dynamic_axes={"input": {0: "batch"}})
    >>> [node.op_type for node in proto.graph.node], [tensor.name for tensor in proto.graph.initializer]
    (['Gemm'], ['weight', 'bias'])
    >>> lnb.onnx.load(proto)(np.ones((7, 3), "float32")).shape
    (7, 2)
    """
    given, call = _inputs(model, inputs, input_names)
    symbols = _symbols(given, dynamic_axes or {})
    named = dict(_named(model)) if isinstance(model, Module) else {}
    with _evaluating(model):
        first = record(call, given, named)
        runs = [(given, first)]
        if symbols:
            other = {name: _longer(name, x, symbols) for name, x in given.items()}
            runs.append((other, record(call, other, named)))
    names = _output_names(output_names, first)
    proto = _emitted(model, runs, names, opset, symbols)
    _check(proto)
    if verify or (verify is None and find_spec("onnxruntime") is not None):
        for tensors, recording in runs:
            _verify(proto, tensors, recording)
    if path is not None:
        data = proto.SerializeToString(deterministic=True)
        write_whole(path, lambda beside: Path(beside).write_bytes(data))
    return proto


def _emitted(model: Any, runs: list[tuple[dict[str, Tensor], Recording]], names: list[str], opset: int,
             symbols: Mapping[str, dict[str, int]]) -> Any:
    """The proto; where sizes are dynamic, it must be the same for both runs."""
    title = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "model")
    if symbols:
        sizes = {}
        for symbol, axes in symbols.items():
            name, axis = next(iter(axes.items()))
            sizes[symbol] = (runs[0][0][name].shape[axis], runs[1][0][name].shape[axis])
        Comparison(runs[0][1], runs[1][1], sizes)
    first_axes = {symbol: next(iter(axes.items())) for symbol, axes in symbols.items()}
    found, *others = [Emission(recording, names, opset, first_axes).model(title) for _, recording in runs]
    for other in others:
        where = difference(found, other)
        if where:
            raise BackendError(f"onnx.export: {where} depends on the size of a dynamic axis in a way that the graph "
                               "does not follow. Leave dynamic_axes out, or that op.")
    return found


# --------------------------------------------------------------------------------------------------- inputs
def _inputs(model: Any, inputs: Inputs, names: Sequence[str] | None) -> tuple[dict[str, Tensor], Callable[..., Any]]:
    """The inputs by name, and the model as a function of them by position."""
    if isinstance(inputs, Mapping):
        own = [*inputs]
        given = [asarray(x) for x in inputs.values()]

        def call(*xs: Tensor) -> Any:
            return model(**dict(zip(own, xs)))
    else:
        given = [asarray(x) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        own, call = _parameters(model, len(given)), model
    wanted = list(names) if names is not None else own
    if len(wanted) != len(given) or len({*wanted}) != len(wanted) or not all(wanted):
        raise ConfigError(f"onnx.export: the names {wanted} for {len(given)} inputs. Give each one a name of its own.")
    return {name: x.detach() for name, x in zip(wanted, given)}, call


def _parameters(model: Any, count: int) -> list[str]:
    """The names of the model's parameters; of what says none, numbers."""
    try:
        parameters = inspect.signature(model.forward if isinstance(model, Module) else model).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return names[:count] if len(names) >= count else [f"input_{number}" for number in range(count)]


def _named(model: Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


def _symbols(given: Mapping[str, Tensor], dynamic: Dynamic) -> dict[str, dict[str, int]]:
    """{name of a size: {input: axis}}."""
    found: dict[str, dict[str, int]] = {}
    for name, axes in dynamic.items():
        words = axes if isinstance(axes, Mapping) else {axis: f"{name}_{axis}" for axis in axes}
        for axis, word in words.items():
            if name not in given or not -given[name].ndim <= axis < given[name].ndim:
                raise ConfigError(f"onnx.export: dynamic_axes names axis {axis} of {name!r}. The inputs are "
                                  f"{ {each: x.shape for each, x in given.items()} }.")
            found.setdefault(word, {})[name] = axis % given[name].ndim
    for word, places in found.items():
        sizes = {given[name].shape[axis] for name, axis in places.items()}
        if len(sizes) > 1 or 0 in sizes:
            raise ConfigError(f"onnx.export: the dynamic size {word!r} is {sorted(sizes)} in the inputs. Give inputs "
                              "of one size, which is not 0.")
    return found


def _longer(name: str, x: Tensor, symbols: Mapping[str, Mapping[str, int]]) -> Tensor:
    """An input with more along its dynamic axes: for each name of a size another number more."""
    array = np.asarray(x.to_host())
    for number, places in enumerate(symbols.values(), 1):
        if name in places:
            axis = places[name]
            index = np.arange(array.shape[axis] + 2 * number + 1) % array.shape[axis]
            array = np.take(array, index, axis)
    return asarray(array, device=x.device)


def _output_names(names: Sequence[str] | None, recording: Recording) -> list[str]:
    count = len(recording.outputs)
    found = list(names) if names is not None else ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    if len(found) != count or len({*found, *recording.inputs}) != count + len(recording.inputs):
        raise ConfigError(f"onnx.export: the names {found} for {count} outputs beside the inputs "
                          f"{[*recording.inputs]}. Give each one a name of its own.")
    return found


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """A module as in `.eval()`, while it lasts."""
    modes = [(module, module.training) for module in model.modules()] if isinstance(model, Module) else []
    for module, _ in modes:
        module.__dict__["training"] = False
    try:
        yield
    finally:
        for module, mode in modes:
            module.__dict__["training"] = mode


# --------------------------------------------------------------------------------------------------- checks
def _check(proto: Any) -> None:
    """The standard's own checks, shapes included."""
    onnx = library()
    if proto.ByteSize() > MOST:
        raise BackendError(f"onnx.export: the model has {proto.ByteSize()} bytes, and a file of ONNX at most {MOST}. "
                           "Cast it to float16, or export it in parts.")
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise BackendError(f"onnx.export: the graph breaks the rules of ONNX: {str(error).strip()}. This is a mistake "
                           "of lucid_nb; please report it.") from None


def _verify(proto: Any, inputs: Mapping[str, Tensor], recording: Recording) -> None:
    """Compare with onnxruntime: within 1e-4 of the largest element, of half floats 2e-2."""
    from onnxruntime import InferenceSession, SessionOptions
    options = SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    read = {each.name for each in session.get_inputs()}
    found = session.run(None, {name: np.asarray(x.to_host()) for name, x in inputs.items() if name in read})
    for name, theirs, ours in zip([each.name for each in proto.graph.output], found, recording.results):
        mine = np.asarray(ours.detach().to_host())
        near = 2e-2 if mine.dtype.itemsize == 2 and mine.dtype.kind == "f" else 1e-4
        size = float(np.abs(mine[np.isfinite(mine)]).max(initial=0)) if mine.dtype.kind == "f" else 0.0
        if theirs.shape != mine.shape or not np.allclose(theirs, mine, near, near * size, equal_nan=True):
            raise BackendError(f"onnx.export: in onnxruntime the output {name!r} has other values, of shape "
                               f"{theirs.shape}, here {mine.shape}. Nothing was written. Please report the model.")
