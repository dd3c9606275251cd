"""Models as files of ONNX: recorded while they run, and written op by op."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...array import Tensor
from ...errors import BackendError
from ...io.writing import write_whole
from ...nn.module import Module
from . import emitters
from .arguments import Dynamic, dynamic_sizes, evaluating, given_inputs, longer, members, names_of_outputs
from .checks import check, verify_values
from .graph import Emission, difference
from .recording import Recording, record
from .sizes import Comparison

__all__ = ["OPSET", "emitters", "export"]
OPSET = 20
Runs = list[tuple[dict[str, Tensor], Recording]]


def export(model: Callable[..., Any], inputs: Any, path: str | os.PathLike | None = None, *,
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
    given, call = given_inputs(model, inputs, input_names)
    symbols = dynamic_sizes(given, dynamic_axes or {})
    runs = _runs(model, call, given, symbols)
    proto = _emitted(model, runs, names_of_outputs(output_names, runs[0][1]), opset, symbols)
    check(proto)
    if verify or (verify is None and find_spec("onnxruntime") is not None):
        for tensors, recording in runs:
            verify_values(proto, tensors, recording)
    if path is not None:
        data = proto.SerializeToString(deterministic=True)
        write_whole(path, lambda beside: Path(beside).write_bytes(data))
    return proto


def _runs(model: Any, call: Callable[..., Any], given: dict[str, Tensor], symbols: Mapping[str, Any]) -> Runs:
    """What the model does with the inputs, and where sizes are dynamic, with longer ones."""
    named = dict(members(model))
    inputs = [given, {name: longer(name, x, symbols) for name, x in given.items()}] if symbols else [given]
    with evaluating(model):
        return [(tensors, record(call, tensors, named)) for tensors in inputs]


def _emitted(model: Any, runs: Runs, names: list[str], opset: int,
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
