"""Models as files: what is written computes the same in onnxruntime, or in the standard's own evaluator."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.apply import apply
from lucid_nb.errors import BackendError, ConfigError
from lucid_nb.op import Elementwise, registry

RNG = np.random.default_rng(11)


def floats(*shape):
    """Normally drawn numbers."""
    return RNG.normal(size=shape).astype(np.float32)


def values(proto, *inputs):
    """What a model computes in onnxruntime, where it is installed, or in the standard's evaluator."""
    feed = {value.name: x for value, x in zip(proto.graph.input, inputs)}
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        return ReferenceEvaluator(proto).run(None, feed)
    return InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def scaled_std(x):
    """Reductions."""
    return lnb.stack([x.var(axis=-1), x.std(axis=-1, ddof=1), x.max(axis=-1), x.mean(axis=-1)])


MODELS = {
    "linear": (lambda: nn.Linear(3, 4), (2, 5, 3)),
    "conv1d": (lambda: nn.Conv1d(2, 3, 3, padding=1), (2, 2, 7)),
    "conv2d": (lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), (2, 2, 6, 5)),
    "conv3d": (lambda: nn.Conv3d(1, 2, 2), (2, 1, 3, 3, 3)),
    "transposed": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1), (2, 2, 3, 3)),
    "norms": (lambda: nn.Sequential(nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True),
                                    nn.LayerNorm((3, 3)), nn.RMSNorm(3)), (2, 4, 3, 3)),
    "pools": (lambda: nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(3, 1, 1),
                                    nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 2, 8, 8)),
    "activations": (lambda: nn.Sequential(nn.GELU(), nn.SiLU(), nn.ELU(0.5), nn.LeakyReLU(0.2), nn.Hardswish(),
                                          nn.Softplus(), nn.LogSoftmax(-1)), (2, 5)),
    "lstm": (lambda: nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), (2, 4, 3)),
    "gru": (lambda: nn.GRU(3, 2, batch_first=True), (2, 4, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (2, 3, 4)),
    "upsampled": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 1, 3, 3)),
    "reductions": (lambda: scaled_std, (2, 3, 4)),
    "views": (lambda: lambda x: x[:, None, 1, ::2, -1:] + x.mean(axis=1)[:, None, :1, :1] + x.mT[:, :1, :1, :1],
              (2, 3, 5, 4)),
    "joined": (lambda: lambda x: lnb.concat([x, lnb.einsum("bij,bkj->bik", x, x)], axis=2).reshape(x.shape[0], -1),
               (2, 3, 4)),
    "lenet": (lnb.models.lenet_5, (2, 1, 32, 32))}


@pytest.mark.parametrize("name", MODELS)
def test_layers_compute_the_same_for_any_batch(name):
    make, shape = MODELS[name]
    model = make()
    if isinstance(model, nn.Module):
        model.eval()
    proto = lnb.onnx.export(model, floats(*shape), input_names=["x"], dynamic_axes={"x": {0: "batch"}}, verify=False)
    x = floats(1, *shape[1:])
    wanted = model(lnb.asarray(x))
    for mine, theirs in zip(wanted if isinstance(wanted, tuple) else (wanted,), values(proto, x)):
        part = mine[0] if isinstance(mine, tuple) else mine               # of a pair of states the first
        np.testing.assert_allclose(theirs, part.detach().numpy(), 1e-4, 1e-5)
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


@pytest.mark.sweep
def test_residual_network_is_the_usual_graph():
    model = lnb.models.resnet_18().eval()
    x = floats(1, 3, 64, 64)
    proto = lnb.onnx.export(model, x)
    found = {node.op_type for node in proto.graph.node}
    assert found == {"Conv", "BatchNormalization", "Relu", "MaxPool", "Add", "GlobalAveragePool", "Reshape", "Gemm"}
    assert {tensor.name for tensor in proto.graph.initializer} >= {name for name, _ in model.named_parameters()}
    np.testing.assert_allclose(values(proto, x)[0], model(x).detach().numpy(), 1e-3, 1e-4)


def test_embedding_and_places_are_gathers():
    table = nn.Embedding(7, 3)
    words = RNG.integers(0, 7, (2, 4))
    proto = lnb.onnx.export(table, words, dynamic_axes={"input": {0: "batch", 1: "words"}})
    assert [node.op_type for node in proto.graph.node] == ["Gather"]
    more = RNG.integers(0, 7, (3, 5))
    np.testing.assert_array_equal(values(proto, more)[0], table(more).detach().numpy())
    x, places = floats(5, 3), np.array([4, 0])
    proto = lnb.onnx.export(lambda x, places: x[1:][places - 1], [x, places])
    np.testing.assert_array_equal(values(proto, x, np.array([1, 3]))[0], x[[1, 3]])


# Without an operator: bits of floats.
NONE = {"nextafter", "spacing", "frexp"}


@pytest.mark.sweep
def test_every_elementwise_op_is_exported_by_its_formula():
    wrong = {}
    for name, op in registry.items():
        if isinstance(op, Elementwise) and name not in NONE and op.facts.oracle:
            inputs = [RNG.uniform(low, high, (3, 4)).astype(np.float32) for low, high in op.facts.samples]
            try:
                with np.errstate(all="ignore"):
                    apply(op, [lnb.asarray(x) for x in inputs])
            except lnb.errors.LucidError:
                continue                                       # takes integers
            try:
                lnb.onnx.export(lambda *xs, op=op: apply(op, xs), inputs,
                                input_names=[f"x{number}" for number in range(len(inputs))], verify=True)
            except Exception as error:
                wrong[name] = str(error)[:200]
    assert not wrong


def test_some_elementwise_ops_are_exported_by_their_formula():
    for name in ("expm1", "log1p", "arctan2", "remainder", "tanhshrink"):
        op = registry[name]
        inputs = [RNG.uniform(low, high, (3, 4)).astype(np.float32) for low, high in op.facts.samples]
        proto = lnb.onnx.export(lambda *xs, op=op: apply(op, xs), inputs,
                                input_names=[f"x{number}" for number in range(len(inputs))], verify=False)
        wanted = apply(op, [lnb.asarray(x) for x in inputs]).numpy()
        np.testing.assert_allclose(values(proto, *inputs)[0], wanted, 2e-5, 1e-6)


def test_order_and_conditions_are_exported():
    def model(x):
        return lnb.sort(x, axis=0, descending=True), lnb.argsort(x, axis=1), (x > 0).any(axis=0), (x > -9).all()
    proto = lnb.onnx.export(model, floats(3, 4), dynamic_axes={"x": {0: "rows"}})
    x = floats(5, 4)
    wanted = np.sort(x, 0)[::-1], np.argsort(x, 1), (x > 0).any(0), np.array(True)
    for mine, theirs in zip(values(proto, x), wanted):
        np.testing.assert_array_equal(mine, theirs)


def test_what_is_exported_can_be_loaded_and_trained():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = floats(5, 3)
    found = lnb.onnx.load(lnb.onnx.export(model, x))
    assert set(found.state_dict()) == set(model.state_dict())
    found(x).sum().backward()
    model(x).sum().backward()
    np.testing.assert_allclose(found.get_submodule("0").weight.grad.numpy(), model[0].weight.grad.numpy(), 1e-5, 1e-6)


# ------------------------------------------------------------------------------------------------ bad input
class Branching(nn.Module):
    """Decides by a value."""

    def forward(self, x):
        """What it computes."""
        return x * 2 if x.sum() > 0 else x


def test_what_no_graph_can_hold_writes_nothing(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    x = floats(2, 3)

    def writing(x):
        y = x * 2
        y[0] = 1
        return y
    refused = {
        "it reads a value": Branching(), "it writes in place": writing,
        "it draws random numbers": lambda x: lnb.nn.functional.dropout(x, 0.5, training=True),
        "ONNX has no operator here for cumprod": lambda x: lnb.cumprod(x, axis=1) * 1,
        "nextafter of float32": lambda x: lnb.nextafter(x, x + 1),
        "returns 'str'|returns ..str": lambda x: (x, "words"),
        "LayerNormalization is an operator from opset 17": nn.LayerNorm(3)}
    for text, model in refused.items():
        with pytest.raises(BackendError, match=text):
            lnb.onnx.export(model, x, path, opset=15 if isinstance(model, nn.LayerNorm) else 20)
    with pytest.raises(ConfigError, match="dynamic_axes names axis 5"):
        lnb.onnx.export(nn.Linear(3, 2), x, path, dynamic_axes={"input": {5: "batch"}})
    with pytest.raises(BackendError, match="not one number throughout"):
        lnb.onnx.export(lambda x: x + lnb.arange(x.shape[0])[:, None].astype("float32"), x, path,
                        dynamic_axes={"x": {0: "batch"}})
    assert path.read_bytes() == b"before" and [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "model.onnx"
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout())
    proto = lnb.onnx.export(model, floats(2, 3), path, output_names=["scores"], opset=17)
    assert onnx.load(path) == proto and model.training and model[1].training
    assert [value.name for value in proto.graph.output] == ["scores"] and proto.opset_import[0].version == 17
    onnx.checker.check_model(str(path), full_check=True)
