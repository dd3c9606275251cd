"""What no layer can take is refused with one sentence, before anything of the layer changes. Oracle: the contract."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

from .test_layers_beside_torch import TABLE, Draw, made

NAMES = [name for name in TABLE if name != "Identity"]
ENDS = ("near", "Norm1d", "Norm2d", "Norm3d", "LayerNorm", "RMSNorm", "GroupNorm", "RNN", "GRU", "LSTM", "Cell",
        "Attention")
WEIGHTED = [name for name in NAMES if "Conv" in name or name.endswith(ENDS)]


def refused(layer, inputs):
    """The text of the refusal, after which the layer is as it was."""
    state = {key: value.numpy().copy() for key, value in layer.state_dict().items()}
    with pytest.raises(lnb.LucidError) as caught:
        layer(*inputs)
    assert all(np.array_equal(value.numpy(), state[key]) for key, value in layer.state_dict().items())
    text = str(caught.value)
    assert ": " in text and "\n" not in text and text[-1] in ".)" and len(text) < 400
    return text


@pytest.mark.parametrize("wrong", [None, np.array(["a", "b"]), object()], ids=["None", "text", "object"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_array_is_refused(name, wrong):
    args, kwargs, inputs = TABLE[name][0]
    given = inputs(Draw(0))
    for place in range(len(given)):
        refused(made(lnb, name, args, kwargs), [wrong if place == other else x for other, x in enumerate(given)])


def channels_of(name, x):
    """The axis that a layer's weights fix."""
    return 1 if x.ndim > 2 and ("Conv" in name or "Norm1d" in name or "Norm2d" in name or "Norm3d" in name or
                                name == "GroupNorm") else -1


@pytest.mark.parametrize("name", WEIGHTED)
def test_wrong_channels_and_dtypes_are_refused(name):
    args, kwargs, inputs = TABLE[name][0]
    x, *others = inputs(Draw(0))
    more = np.concatenate([x, x.take([0], channels_of(name, x))], channels_of(name, x))
    text = refused(made(lnb, name, args, kwargs), [more, *others])
    assert str(more.shape[channels_of(name, x)]) in text
    if "Instance" not in name:                                                  # which has no weights unless asked
        text = refused(made(lnb, name, args, kwargs), [x.astype(np.float64), *others])
        assert "float64" in text and "float32" in text


SCORES = np.zeros((2, 3), np.float32)
CLASSES = {
    "class": (nn.CrossEntropyLoss(), (SCORES, [0, 3]), lnb.errors.IndexError, "3"),
    "negative class": (nn.NLLLoss(), (SCORES, [0, -1]), lnb.errors.IndexError, "-1"),
    "dtype": (nn.NLLLoss(), (SCORES, [0.0, 1.0]), lnb.DTypeError, "float"),
    "shape": (nn.CrossEntropyLoss(), (SCORES, [0]), lnb.ShapeError, r"\(1,\)"),
    "alike": (nn.BCEWithLogitsLoss(), (SCORES, np.zeros(2, np.float32)), lnb.ShapeError, r"\(2,\)"),
    "too many": (nn.MSELoss(), (1.0, 2.0, 3.0), lnb.DTypeError, r"3 inputs and \[\] are given\. Give input, target"),
    "too few": (nn.TripletMarginLoss(), (1.0,), lnb.DTypeError, "Give anchor, positive, negative, in this order"),
}


@pytest.mark.parametrize("name", CLASSES)
def test_wrong_targets_are_named(name):
    loss, inputs, error, text = CLASSES[name]
    with pytest.raises(error, match=text):
        loss(*inputs)


def test_inputs_of_losses_go_by_name():
    x, y = np.float32([1, 2]), np.float32([3, 2])
    assert nn.MSELoss()(target=y, input=x).item() == nn.MSELoss()(x, target=y).item() == 2
    with pytest.raises(lnb.DTypeError, match=r"MSELoss: 1 inputs and \['goal'\] are given"):
        nn.MSELoss()(x, goal=y)
    with pytest.raises(lnb.DTypeError, match=r"MSELoss: 2 inputs and \['target'\] are given"):
        nn.MSELoss()(x, y, target=y)
