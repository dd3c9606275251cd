"""What is checked before a graph is written: the standard's rules, and its values in another library."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...array import Tensor
from ...errors import BackendError
from ..library import library
from .recording import Recording

MOST = 2 ** 31 - 1                  # bytes of a proto


def check(proto: Any) -> None:
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


def verify_values(proto: Any, inputs: Mapping[str, Tensor], recording: Recording) -> None:
    """Compare with onnxruntime: within 1e-4 of the largest element, of half floats 2e-2."""
    found = _run(proto, {name: np.asarray(x.to_host()) for name, x in inputs.items()})
    for name, theirs, ours in zip([each.name for each in proto.graph.output], found, recording.results):
        mine = np.asarray(ours.detach().to_host())
        near = 2e-2 if mine.dtype.itemsize == 2 and mine.dtype.kind == "f" else 1e-4
        size = float(np.abs(mine[np.isfinite(mine)]).max(initial=0)) if mine.dtype.kind == "f" else 0.0
        if theirs.shape != mine.shape or not np.allclose(theirs, mine, near, near * size, equal_nan=True):
            raise BackendError(f"onnx.export: in onnxruntime the output {name!r} has other values, of shape "
                               f"{theirs.shape}, here {mine.shape}. Nothing was written. Please report the model.")


def _run(proto: Any, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The values of a graph in onnxruntime; in the standard's own evaluator where that has no kernel for a dtype."""
    from onnxruntime import InferenceSession, SessionOptions
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel
    options = SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session: Any = InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except NoKernel:
        session = library().reference.ReferenceEvaluator(proto)
    found: list[np.ndarray] = session.run(None, feed)
    return found
