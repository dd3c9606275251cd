"""Models as modules: parameters, inputs, subgraphs, training, and files that are not what they should be."""

import copy
import pickle

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import lucid_nb as lnb
from lucid_nb.errors import BackendError, ConfigError, DTypeError, ShapeError

RNG = np.random.default_rng(5)


def tensor(name, shape, kind=TensorProto.FLOAT):
    """An input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, arrays=None, opset=20, **options):
    """A model of these nodes."""
    graph = helper.make_graph(nodes, "small", inputs, outputs,
                              [numpy_helper.from_array(array, name) for name, array in (arrays or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, **options)


def classifier():
    """Conv, batch norm, a dense layer; names with dots."""
    rng = np.random.default_rng(1)
    arrays = {"features.0.weight": rng.normal(size=(2, 1, 3, 3)), "bn.weight": rng.uniform(0.5, 1, 2),
              "bn.bias": rng.normal(size=2), "bn.running_mean": rng.normal(size=2),
              "bn.running_var": rng.uniform(0.5, 1, 2), "head.weight": rng.normal(size=(3, 18))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()} | {"shape": np.int64([0, -1])}
    nodes = [helper.make_node("Conv", ["image", "features.0.weight"], ["a"]),
             helper.make_node("BatchNormalization", ["a", "bn.weight", "bn.bias", "bn.running_mean",
                                                     "bn.running_var"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Reshape", ["c", "shape"], ["d"]),
             helper.make_node("Gemm", ["d", "head.weight"], ["scores"], transB=1)]
    return model(nodes, [tensor("image", ["n", 1, 5, 5])], [tensor("scores", ["n", 3])], arrays)


def test_parameters_and_buffers_have_the_names_of_initializers():
    found = lnb.onnx.load(classifier().SerializeToString())
    names = [name for name, _ in found.named_parameters()]
    assert names == ["features.0.weight", "bn.weight", "bn.bias", "head.weight"]
    assert {name for name, _ in found.named_buffers()} == {"bn.running_mean", "bn.running_var", "shape"}
    assert found.inputs == {"image": ("float32", ("n", 1, 5, 5))} and found.opsets == {"": 20}
    x = RNG.normal(size=(4, 1, 5, 5)).astype(np.float32)
    wanted, = ReferenceEvaluator(classifier()).run(None, {"image": x})
    np.testing.assert_allclose(found(x).detach().numpy(), wanted, 1e-4, 1e-5)
    np.testing.assert_array_equal(found(image=x).detach().numpy(), found(x).detach().numpy())
    state = found.state_dict()
    found.load_state_dict({name: np.asarray(value.numpy()) * 0 for name, value in state.items() if name != "shape"},
                          strict=False)
    assert found(x).detach().numpy().max() == 0


def test_models_are_copied_and_pickled():
    found = lnb.onnx.load(classifier())
    x = RNG.normal(size=(2, 1, 5, 5)).astype(np.float32)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(other(x).detach().numpy(), found(x).detach().numpy())
        other.get_submodule("head").weight.detach()[...] = 0
        assert other(x).detach().numpy().any() == 0 != found(x).detach().numpy().any()


def test_a_model_learns():
    found = lnb.onnx.load(classifier())
    x, target = RNG.normal(size=(8, 1, 5, 5)).astype(np.float32), lnb.tensor(RNG.integers(0, 3, 8))
    optimizer, losses = lnb.optim.SGD(found.parameters(), lr=0.05), []
    for _ in range(8):
        loss = lnb.nn.functional.cross_entropy(found(x), target)
        found.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None for parameter in found.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_a_model_goes_to_another_device():
    pytest.importorskip("mlx.core", reason="mlx is not for this system")
    x = RNG.normal(size=(2, 1, 5, 5)).astype(np.float32)
    wanted = lnb.onnx.load(classifier())(x).detach().numpy()
    found = lnb.onnx.load(classifier()).to("mlx")
    for given in (x, lnb.asarray(x, device="mlx")):                # arrays go where the weights are
        scores = found(given)
        assert scores.device == "mlx"
        np.testing.assert_allclose(scores.detach().to("cpu").numpy(), wanted, 1e-4, 1e-5)


def test_control_flow_reads_values_around_it():
    body = helper.make_graph(
        [helper.make_node("Add", ["sum_in", "step"], ["sum_out"]), helper.make_node("Identity", ["sum_out"], ["row"]),
         helper.make_node("Identity", ["going"], ["go"])], "body",
        [tensor("i", [], TensorProto.INT64), tensor("going", [], TensorProto.BOOL), tensor("sum_in", [2])],
        [tensor("go", [], TensorProto.BOOL), tensor("sum_out", [2]), tensor("row", [2])])
    branches = [helper.make_graph([helper.make_node(op, ["step"], ["x"])], op, [], [tensor("x", [2])])
                for op in ("Neg", "Identity")]
    nodes = [helper.make_node("If", ["flag"], ["start"], then_branch=branches[0], else_branch=branches[1]),
             helper.make_node("Loop", ["count", "", "start"], ["total", "rows"], body=body)]
    proto = model(nodes, [tensor("flag", [], TensorProto.BOOL), tensor("step", [2])],
                  [tensor("total", [2]), tensor("rows", ["n", 2])], {"count": np.int64(3)})
    step = lnb.tensor(np.float32([1, 2]), requires_grad=True)
    total, rows = lnb.onnx.load(proto)(np.array(True), step)
    assert total.tolist() == [2, 4] and rows.tolist() == [[0, 0], [1, 2], [2, 4]]
    rows.sum().backward()
    assert step.grad.tolist() == [3, 3]


def test_functions_of_a_model_are_inlined():
    function = helper.make_function("own", "Twice", ["x"], ["y"], [helper.make_node("Add", ["x", "x"], ["y"])],
                                    [helper.make_opsetid("", 20)])
    proto = model([helper.make_node("Twice", ["x"], ["y"], domain="own")], [tensor("x", [2])], [tensor("y", [2])],
                  functions=[function])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    assert lnb.onnx.load(proto)(np.float32([1, 3])).tolist() == [2, 6]


# ------------------------------------------------------------------------------------------------ bad input
def test_inputs_are_checked_before_anything_is_computed():
    found = lnb.onnx.load(classifier())
    with pytest.raises(ShapeError, match=r"'image' has shape \(4, 3, 5, 5\). The model takes \('n', 1, 5, 5\)"):
        found(np.zeros((4, 3, 5, 5), np.float32))
    with pytest.raises(DTypeError, match="'image' is int64"):
        found(np.zeros((4, 1, 5, 5), np.int64))
    with pytest.raises(ConfigError, match="got 0 inputs and those named"):
        found(picture=np.zeros((4, 1, 5, 5), np.float32))


def test_unknown_operators_are_named_all_at_once():
    nodes = [helper.make_node("Alpha", ["x"], ["a"], domain="com.example"),
             helper.make_node("StringConcat", ["a", "a"], ["y"])]
    proto = model(nodes, [tensor("x", [2])], [tensor("y", [2])])
    with pytest.raises(BackendError, match=r"ai\.onnx\.StringConcat \(opset 20\), com\.example\.Alpha \(opset 1\)"):
        lnb.onnx.load(proto)


def test_files_that_are_no_models_are_refused(tmp_path):
    data = classifier().SerializeToString()
    path = tmp_path / "model.onnx"
    for content in (b"", b"\x89PNG\r\n\x1a\n" + bytes(64), data[:len(data) // 2]):
        path.write_bytes(content)
        with pytest.raises((ConfigError, ShapeError), match=r"onnx\.load"):
            lnb.onnx.load(path)
    with pytest.raises(ConfigError, match="got a int"):
        lnb.onnx.load(3)
    broken = classifier()
    broken.graph.node[0].input[0] = "nowhere"
    with pytest.raises(ConfigError, match="breaks the rules of ONNX"):
        lnb.onnx.load(broken)
    short = classifier()
    short.graph.initializer[0].raw_data = b"\0" * 8
    with pytest.raises((ConfigError, ShapeError), match=r"onnx\.load"):
        lnb.onnx.load(short)


def beside(folder, **facts):
    """A model of which one weight lies in a file of its own."""
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], [tensor("y", [4])],
                  {"w": np.zeros(4, np.float32)})
    weight = proto.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in facts.items():
        weight.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    return folder / "model.onnx"


def test_weights_in_files_of_their_own_lie_in_the_folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    (folder / "weights").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    found = lnb.onnx.load(beside(folder, location="weights", offset="16", length="16"))
    assert found(np.zeros(4, np.float32)).tolist() == [4, 5, 6, 7]
    (folder / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", str(tmp_path / "secret"), "link", "", "missing"):
        with pytest.raises(ConfigError, match=r"onnx\.load"):
            lnb.onnx.load(beside(folder, location=location))
    for facts in (dict(offset="24"), dict(length="8"), dict(offset="99999999999")):
        with pytest.raises(ShapeError, match="damaged"):
            lnb.onnx.load(beside(folder, location="weights", **facts))
    with pytest.raises(ConfigError, match="must be a number"):
        lnb.onnx.load(beside(folder, location="weights", offset="-4"))
    with pytest.raises(ConfigError, match="has no folder"):
        lnb.onnx.load(beside(folder, location="weights").read_bytes())


def test_dtypes_that_no_tensor_has_are_named():
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [], [tensor("y", [2], TensorProto.FLOAT8E5M2)])
    proto.graph.initializer.append(onnx.helper.make_tensor("w", TensorProto.FLOAT8E5M2, [2], [1.0, 2.0]))
    with pytest.raises(DTypeError, match="FLOAT8E5M2 is no dtype of tensors here"):
        lnb.onnx.load(proto)
