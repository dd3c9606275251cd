"""The standard's own cases, which come with the package onnx: models of one node, inputs, and what must come out."""

import glob
import os
import warnings
from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

from lucid_nb.onnx.reading import nodes_of
from lucid_nb.onnx.table import find

PLAIN = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL,
         TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8,
         TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.COMPLEX64, TensorProto.COMPLEX128}
# They draw random numbers, which no seed makes those of another library.
DRAWN = "bernoulli"


@cache
def every(kind):
    """The cases of a kind, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                # making them overflows, and divides by zero
        return {case.name: case for case in load_model_tests(kind=kind)}


def model_of(case):
    """The proto."""
    return case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))


def claimed(case):
    """Are all operators of a case in the table, on dtypes that tensors have?"""
    model = model_of(case)
    versions = {each.domain: each.version for each in model.opset_import}
    values = [value.type for value in (*model.graph.input, *model.graph.output)]
    kinds = {value.tensor_type.elem_type for value in values if value.HasField("tensor_type")}
    return (DRAWN not in case.name and kinds <= PLAIN
            and all(find(node.op_type, node.domain, versions.get(node.domain, 1)) for node in nodes_of(model.graph)))


def sets_of(case):
    """(inputs, outputs) of a case, as arrays, or lists of them."""
    if case.data_sets is not None:
        return [(list(map(_array, inputs)), list(map(_array, outputs))) for inputs, outputs in case.data_sets]
    found = []
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*"))):
        found.append(tuple([[numpy_helper.to_array(onnx.load_tensor(os.path.join(folder, f"{what}_{number}.pb")))
                             for number in range(len(glob.glob(os.path.join(folder, f"{what}_*.pb"))))]
                            for what in ("input", "output")]))
    return found


def _array(value):
    if isinstance(value, (list, tuple)):
        return list(map(_array, value))
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def check(found, wanted, case):
    """A value is as it should be, by the case's tolerances; those of half floats are theirs."""
    if isinstance(wanted, list) or wanted is None:
        assert (found is None) == (wanted is None) and len(found or ()) == len(wanted or ())
        for part, other in zip(found or (), wanted or ()):
            check(part, other, case)
        return
    mine, theirs = found.detach().numpy(), np.asarray(wanted)
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
    is_half = theirs.dtype.itemsize == 2 and theirs.dtype.kind not in "iu"
    kind = complex if theirs.dtype.kind == "c" else float
    size = np.abs(theirs[np.isfinite(theirs)].astype(kind)).max(initial=0) if theirs.dtype.kind not in "iub" else 0
    np.testing.assert_allclose(mine.astype(kind), theirs.astype(kind), max(case.rtol, 1e-2 * is_half),
                               max(case.atol, (2e-3 if is_half else 2e-6) * size))
