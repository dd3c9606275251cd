"""The operators, by the cases of the standard: each is one node with inputs and outputs."""

import numpy as np
import onnx
import pytest

import lucid_nb as lnb
from lucid_nb.errors import BackendError, ConfigError, ShapeError
from lucid_nb.onnx.table import entries
from lucid_nb.register import functions
from lucid_nb.testing import check_grad

from . import cases

USUAL = {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}

def run(case):
    """The model of a case gives what it should."""
    model = lnb.onnx.load(cases.model_of(case))
    with lnb.no_grad(), np.errstate(all="ignore"):
        for inputs, outputs in cases.sets_of(case):
            found = model(*inputs)
            for mine, theirs in zip(found if isinstance(found, tuple) else (found,), outputs):
                cases.check(mine, theirs, case)


def names(kind):
    """The claimed cases of a kind."""
    return [name for name, case in cases.every(kind).items() if cases.claimed(case)]


def first_of_each(chosen):
    """A case of one node of each operator, in float32 where there is one; not of what is a function of ours by name."""
    found = {}
    for name in chosen:
        graph = cases.model_of(cases.every("node")[name]).graph
        word = graph.node[0].op_type
        if len(graph.node) == 1 and word.lower() not in functions:
            kinds = {value.type.tensor_type.elem_type for value in graph.input}
            found.setdefault((word, not kinds <= USUAL), name)
    return [name for (word, is_rare), name in sorted(found.items()) if not is_rare or (word, False) not in found]


def check_all(kind, chosen):
    """All of these cases hold; the names of those that do not are told at once."""
    wrong = {}
    for name in chosen:
        try:
            run(cases.every(kind)[name])
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {str(error).strip()[:200]}"
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_first_case_of_each_operator_holds():
    """The others are in the sweep: making all kernels for all dtypes takes a minute."""
    chosen = first_of_each(names("node"))
    assert len(chosen) > 90
    check_all("node", chosen)


@pytest.mark.sweep
def test_every_case_of_the_standard_holds():
    chosen = names("node")
    assert len(chosen) > 1500
    check_all("node", chosen)


@pytest.mark.sweep
def test_every_converted_model_holds():
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        check_all(kind, names(kind))


def test_every_operator_has_a_case():
    """What has none says why."""
    alone = {"RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Bernoulli",     # draw numbers
             "Constant", "SequenceErase", "SequenceLength", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
             "ConcatFromSequence", "GlobalLpPool", "Optional", "Upsample", "Scatter", "Range"}
    tried = {node.op_type for case in cases.every("node").values() if cases.claimed(case)
             for node in cases.nodes_of(cases.model_of(case).graph)}
    assert {entry.name for entry in entries()} - tried <= alone


# --------------------------------------------------------------------------------------------- by themselves
def test_old_opsets_keep_their_meaning():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    soft, = lnb.onnx.run_node("Softmax", [x], {"axis": 1}, opset=11)
    flat = np.exp(x.reshape(2, 12) - x.reshape(2, 12).max(1, keepdims=True))
    np.testing.assert_allclose(soft.numpy(), (flat / flat.sum(1, keepdims=True)).reshape(2, 3, 4), 1e-6)
    total, = lnb.onnx.run_node("ReduceSum", [x], {"axes": [0, 2], "keepdims": 0}, opset=11)
    np.testing.assert_array_equal(total.numpy(), x.sum((0, 2)))
    moved, = lnb.onnx.run_node("Add", [x, np.float32([1, 2, 3])], {"broadcast": 1, "axis": 1}, opset=6)
    np.testing.assert_array_equal(moved.numpy(), x + np.float32([1, 2, 3])[:, None])
    clipped, = lnb.onnx.run_node("Clip", [x], {"min": 3.0, "max": 9.0}, opset=6)
    np.testing.assert_array_equal(clipped.numpy(), x.clip(3, 9))


GRADIENTS = {
    "ConvTranspose": ({"strides": [2, 2], "output_padding": [1, 0], "pads": [1, 0, 0, 1]},
                      [(1, 2, 3, 3), (2, 2, 2, 2)]),
    "AveragePool": ({"kernel_shape": [2, 2], "dilations": [2, 1], "pads": [1, 0, 0, 1]}, [(1, 2, 5, 4)]),
    "Resize": ({"mode": "cubic"}, [(1, 1, 3, 4)]),
    "DeformConv": ({"kernel_shape": [1, 2]}, [(1, 1, 3, 3), (1, 1, 1, 2), (1, 4, 3, 2)]),
    "LinearAttention": ({"q_num_heads": 2, "kv_num_heads": 1, "update_rule": "delta"},
                        [(1, 3, 4), (1, 3, 2), (1, 3, 2), None, None, (1, 3, 1)])}


@pytest.mark.parametrize("name", GRADIENTS)
def test_operators_have_gradients(name):
    (attributes, shapes), rng = GRADIENTS[name], np.random.default_rng(3)
    inputs = [None if shape is None else rng.normal(size=shape) * 0.4 + 0.1 for shape in shapes]
    places = [number for number, x in enumerate(inputs) if x is not None]
    scales = [None, np.float32([1, 1, 1.5, 2])] if name == "Resize" else []

    def call(*given):
        filled = dict(zip(places, given))
        return lnb.onnx.run_node(name, [filled.get(number) for number in range(len(inputs))] + scales, attributes)[0]
    check_grad(call, *[inputs[number] for number in places], order=1)


def test_unknown_operators_and_attributes_are_named():
    with pytest.raises(BackendError, match=r"ai\.onnx\.Nonsense \(opset 28\)"):
        lnb.onnx.run_node("Nonsense", [])
    with pytest.raises(ConfigError, match=r"LeakyRelu of opset 28 has the attributes \['beta'\]"):
        lnb.onnx.run_node("LeakyRelu", [np.zeros(2)], {"beta": 1.0})
    with pytest.raises(ShapeError, match=r"Add has 1 inputs\. It needs y, too"):
        lnb.onnx.run_node("Add", [np.zeros(2)])
    with pytest.raises(ConfigError, match="MaxPool of opset 28 lacks"):
        lnb.onnx.run_node("MaxPool", [np.zeros((1, 1, 4, 4))])


def test_dropout_draws_what_numpy_draws():
    x = np.ones((4, 5), np.float32)
    found, kept = lnb.onnx.run_node("Dropout", [x, np.float32(0.25), np.array(True)], {"seed": 7}, n_out=2)
    mask = np.random.RandomState(7).uniform(0, 1, x.shape) >= 0.25
    np.testing.assert_array_equal(kept.numpy(), mask)
    np.testing.assert_allclose(found.numpy(), mask / np.float32(0.75), 1e-6)
