"""Models as they are read: protos from files, bytes or memory, checked before anything is made of them.

Nothing in a model is run as code. What it names besides itself, files of weights, must lie in its own folder.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BackendError, ConfigError, ShapeError, told
from ..shapes import product
from .library import dtype_of, library
from .table import STANDARD, find, named


def read_model(source: Any) -> tuple[Any, Path | None]:
    """The proto, and the folder of its file where there is one."""
    onnx = library()
    if isinstance(source, onnx.ModelProto):
        return source, None
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parsed(bytes(source), "the bytes"), None
    if not isinstance(source, (str, os.PathLike)):
        raise ConfigError(f"onnx.load: got a {type(source).__name__}. Give a path, bytes, or an onnx.ModelProto.")
    path = Path(os.fsdecode(source))
    if not path.is_file():
        raise ConfigError(f"onnx.load: there is no file {str(path)!r}. Give the path of a model.")
    return _parsed(path.read_bytes(), repr(str(path))), path.resolve().parent


def _parsed(data: bytes, what: str) -> Any:
    model = library().ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:              # protobuf's DecodeError, whose module differs from version to version
        raise ConfigError(f"onnx.load: {what} of {len(data)} bytes is no model of ONNX ({told(str(error))}). It may be "
                          "truncated.") from None
    if not model.graph.node and not model.graph.output:
        raise ConfigError(f"onnx.load: {what} of {len(data)} bytes has no graph. It is no model of ONNX, or empty.")
    return model


# -------------------------------------------------------------------------------------------------- checks
def opsets_of(model: Any) -> dict[str, int]:
    """{domain: version}; the standard's own domain is ""."""
    return {"" if each.domain in STANDARD else each.domain: each.version for each in model.opset_import}


def nodes_of(graph: Any) -> Iterator[Any]:
    """Every node of a graph, and of the graphs inside its nodes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                yield from nodes_of(inner)


def check_operators(model: Any) -> None:
    """BackendError that names all operators that are not supported."""
    own = {(function.domain, function.name) for function in model.functions}
    opsets = opsets_of(model)
    nodes = [(node, opsets) for node in nodes_of(model.graph)]
    for function in model.functions:
        nodes += [(node, opsets | opsets_of(function)) for node in nodes_of(function)]
    missing = sorted({named(node.op_type, node.domain, versions.get("" if node.domain in STANDARD else node.domain, 1))
                      for node, versions in nodes
                      if (node.domain, node.op_type) not in own and find(
                          node.op_type, node.domain, versions.get("" if node.domain in STANDARD else node.domain, 1))
                      is None})
    if missing:
        raise BackendError(f"onnx.load: the model has operators that are not supported: {', '.join(missing)}. "
                           "lucid_nb.onnx.operators() lists those that are.")


def _tensors_of(graph: Any) -> Iterator[Any]:
    """Every tensor of a graph, and of the graphs inside its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from [*attribute.tensors, *([attribute.t] if attribute.HasField("t") else [])]
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                yield from _tensors_of(inner)


def _without_files(model: Any) -> Any:
    """The model, in which tensors of other files are empty: the checker would look for them where the process runs."""
    external = library().TensorProto.EXTERNAL
    if all(tensor.data_location != external for tensor in _tensors_of(model.graph)):
        return model
    found = library().ModelProto()
    found.CopyFrom(model)
    for tensor in _tensors_of(found.graph):
        if tensor.data_location == external:
            for field in ("data_location", "external_data", "dims"):
                tensor.ClearField(field)
            tensor.dims.append(0)
    return found


def check_model(model: Any) -> None:
    """ConfigError where the model breaks the standard's rules."""
    onnx = library()
    try:
        onnx.checker.check_model(_without_files(model))
    except onnx.checker.ValidationError as error:
        raise ConfigError(f"onnx.load: the model breaks the rules of ONNX: {told(str(error).strip())}. Export it "
                          "again.") from None


# ------------------------------------------------------------------------------------------------- tensors
def array_of(proto: Any, folder: Path | None) -> np.ndarray:
    """A tensor's values; those of a file of its own must lie in the model's folder."""
    onnx = library()
    dtype, shape = dtype_of(proto.data_type), tuple(proto.dims)
    size = product(shape) * dtype.itemsize
    name = proto.name or "a constant"
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"onnx.load: the tensor {name!r} has shape {shape}. Sizes cannot be negative.")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        data = _external(proto, folder, size)
        return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    try:
        found = onnx.numpy_helper.to_array(proto)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"onnx.load: the tensor {name!r} of shape {shape} and {dtype} does not hold {size} bytes "
                         f"({told(str(error))}). The model is damaged.") from None
    return np.array(found, dtype)                          # memory of its own: a proto's is read-only


def _external(proto: Any, folder: Path | None, size: int) -> bytes:
    """The bytes of a tensor that lies in another file."""
    facts = {entry.key: entry.value for entry in proto.external_data}
    location, name = facts.get("location", ""), proto.name
    if folder is None:
        raise ConfigError(f"onnx.load: the tensor {name!r} lies in the file {told(location)}, and the model has no "
                          "folder. Load the model by its path.")
    path = (folder / location).resolve()
    if not location or os.path.isabs(location) or not path.is_relative_to(folder) or not path.is_file():
        raise ConfigError(f"onnx.load: the tensor {name!r} lies in {told(location)}, which is no file below "
                          f"{str(folder)!r}. Put the weights beside the model.")
    offset, length = (_count(facts.get(key, text), name) for key, text in (("offset", "0"), ("length", str(size))))
    there = path.stat().st_size
    if length != size or offset + length > there:
        raise ShapeError(f"onnx.load: the tensor {name!r} needs {size} bytes, and {told(location)} gives {length} from "
                         f"{offset} of {there}. The file is damaged, or belongs to another model.")
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(length)


def _count(text: str, name: str) -> int:
    if not text.isdecimal():
        raise ConfigError(f"onnx.load: the tensor {name!r} lies at {told(text)} of its file. It must be a number.")
    return int(text)
