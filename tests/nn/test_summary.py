"""The table of a network. Oracle: parameters and costs counted by hand, and published counts of parameters."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn


def test_rows_have_shapes_parameters_operations_and_bytes():
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 6 * 6, 2))
    found = nn.summary(net, np.zeros((2, 3, 6, 6), np.float32))
    rows = [(row.depth, row.name, row.kind, row.input, row.output, row.parameters, row.nbytes) for row in found.rows]
    assert rows == [(0, "", "Sequential", "2x3x6x6", "2x2", 4 * 27 + 4 + 2 * 145, 16),
                    (1, "0", "Conv2d", "2x3x6x6", "2x4x6x6", 112, 1152),
                    (1, "1", "Flatten", "2x4x6x6", "2x144", 0, 1152),
                    (1, "2", "Linear", "2x144", "2x2", 290, 16)]
    conv, linear = found.rows[1].flops, found.rows[3].flops
    assert 2 * 4 * 36 * 27 <= conv <= 2 * 4 * 36 * 28 and linear == 2 * 2 * 145 and found.flops == conv + linear
    assert (found.parameters, found.trainable, found.parameter_bytes) == (402, 402, 1608)
    assert found.output_bytes == 1152 + 1152 + 16 and found.buffer_bytes == 0


def test_model_is_as_before():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)).train()
    net[0].eval()
    net[0].weight.requires_grad = False
    state = {key: value.numpy().copy() for key, value in net.state_dict().items()}
    found = nn.summary(net, (4, 3))
    assert found.trainable == found.parameters - 6 and found.buffer_bytes == 2 * 4 * 2 + 8
    assert all(np.array_equal(value.numpy(), state[key]) for key, value in net.state_dict().items())
    assert [module.training for module in net.modules()] == [True, False, True, True]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


def test_model_is_as_before_after_an_error():
    net = nn.Sequential(nn.Linear(3, 2))
    with pytest.raises(lnb.ShapeError):
        nn.summary(net, (4, 5))
    assert net.training and not net[0]._forward_hooks and not lnb.flops_enabled()


def test_shared_module_counts_once():
    layer = nn.Linear(3, 3)
    found = nn.summary(nn.Sequential(layer, nn.Sequential(nn.ReLU(), layer)), (1, 3))
    assert found.parameters == 12 and [row.parameters for row in found.rows] == [12, 12, None, 0, None]
    assert "shared" in str(found)


def test_depth_bounds_the_rows_that_are_shown():
    net = nn.Sequential(nn.Sequential(nn.ReLU()))
    assert "ReLU" in str(nn.summary(net, (1,))) and "ReLU" not in str(nn.summary(net, (1,), depth=1))
    with pytest.raises(lnb.ConfigError, match="summary: depth is -1"):
        nn.summary(net, (1,), depth=-1)


def test_several_inputs_outputs_and_keywords():
    x = np.zeros((5, 2, 4), np.float32)
    found = nn.summary(nn.MultiheadAttention(4, 2), x, x, x, need_weights=False)
    assert found.rows[0].input == "5x2x4, 5x2x4, 5x2x4" and found.rows[0].output == "5x2x4"
    assert nn.summary(nn.LSTM(4, 3), x).rows[0].output == "5x2x3, 1x2x3, 1x2x3"


def test_lazy_layers_get_their_shapes():
    net = nn.Sequential(nn.LazyLinear(2))
    assert nn.summary(net, (1, 3)).parameters == 8 and type(net[0]) is nn.Linear


def test_lenet_5_has_the_published_number_of_parameters():
    found = nn.summary(lnb.models.lenet_5(), (1, 1, 32, 32))
    assert found.parameters == 61_706 and "parameters: 61,706, 61,706 of them trained" in str(found)


def test_what_is_no_module_is_refused():
    with pytest.raises(lnb.DTypeError, match="summary: the model is a int"):
        nn.summary(3, (1,))
