"""Convolutions by cuDNN: what it is given, how it is asked, and what happens when it refuses.

A fake computes on the host what the documentation says of the calls; the frontend itself looks at the graphs where it
is installed, which takes no GPU. Nothing here has met cuDNN on one.
"""

import inspect
import json
import sys

import ml_dtypes
import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb import config
from lucid_nb.cuda import cudnn, direct, plans, runtime, unfold
from lucid_nb.cuda.array import row_major
from lucid_nb.cuda.cudnn import Rules, Tensor
from lucid_nb.errors import DeviceError
from lucid_nb.shapes import Window

from .conftest import simulated
from .fake_cudnn import STEPS, FakeCudnn
from .test_conv import CASES, check, drawn

conv = sys.modules["lucid_nb.cuda.conv"]
FLOAT = np.dtype(np.float32)
STRICT = Rules(False, False)
SAME = Window((1, 1), (1, 1), (1, 1), (1, 1))


# ------------------------------------------------------------------------------------------------ the decision
def key(x=(32, 64, 56, 56), w=(64, 64, 3, 3), window=SAME, dtype=FLOAT, entry="conv", strides=None, aligned=True):
    y = (x[0], w[0], *window.output_sizes(x[2:], w[2:]))
    shapes = {"conv": (x, w, y), "conv_input_grad": (y, w, x), "conv_weight_grad": (x, y, w)}[entry]
    return plans.Key(entry, 0, dtype, shapes, strides or tuple(map(row_major, shapes[:2])), window, (), False, aligned,
                     STRICT)


@pytest.mark.parametrize("entry", cudnn.NODES)
def test_a_problem_has_shapes_and_strides_of_operands_and_result(entry):
    given = key(entry=entry, window=Window((2, 1), (1, 0), (2, 3), (1, 2)))
    found = cudnn.problem_of(given)
    assert (found.a.shape, found.b.shape, found.result.shape) == given.shapes
    assert (found.a.strides, found.b.strides, found.result.strides) == tuple(map(row_major, given.shapes))
    assert (found.low, found.high, found.stride, found.dilation) == ((1, 0), (2, 3), (2, 1), (1, 2))


def test_one_axis_becomes_two_and_single_cells_lie_side_by_side():
    found = cudnn.problem_of(key((64, 64, 99), (64, 64, 3), Window((2,), (1,), (0,), (1,)),
                                 strides=((1 << 20, 99, 1), (192, 3, 1))))
    assert found.a == Tensor((64, 64, 1, 99), (1 << 20, 99, 99, 1))
    assert found.b == Tensor((64, 64, 1, 3), (192, 3, 3, 1))
    assert (found.low, found.high, found.stride, found.dilation) == ((0, 1), (0, 0), (1, 2), (1, 1))
    found = cudnn.problem_of(key((1, 64, 56, 56), strides=((0, 3136, 56, 1), row_major((64, 64, 3, 3)))))
    assert found.a.strides == (64 * 3136, 3136, 56, 1)


def test_channels_last_stay_as_they_are():
    strides = ((56 * 56 * 64, 1, 56 * 64, 64), row_major((64, 64, 3, 3)))
    assert cudnn.problem_of(key(strides=strides)).a.strides == strides[0]


@pytest.mark.parametrize("given", [
    {"x": (1, 8, 8, 8), "w": (8, 8, 3, 3)},
    {"w": (64, 1, 3, 3), "window": Window((1, 1), (1, 1), (1, 1), (1, 1), 64)},
    {"dtype": np.dtype("complex64")}, {"dtype": np.dtype("int32")}, {"aligned": False},
    {"strides": ((0, 3136, 56, 1), row_major((64, 64, 3, 3)))},
    {"strides": ((200704, 3136, -56, 1), row_major((64, 64, 3, 3)))},
    {"window": Window((1, 1), (-1, 1), (1, 1), (1, 1))},
    {"x": (700, 64, 250, 250)},
], ids=["small", "depthwise", "complex", "integers", "unaligned", "stretched", "reversed", "cropped", "too large"])
@pytest.mark.parametrize("entry", ["conv", "conv_weight_grad"])
def test_our_own_kernels_keep(given, entry):
    assert cudnn.problem_of(key(**given, entry=entry)) is None


def test_few_channels_of_an_undivided_layer_are_for_the_library():
    assert cudnn.problem_of(key((32, 3, 224, 224), (64, 3, 7, 7)))


@pytest.mark.parametrize("dtype, allowed, lets_in", [
    ("float32", Rules(False, False), set()), ("float32", Rules(True, False), {"TENSOR_CORE", "DOWN_CONVERT_INPUTS"}),
    ("float16", Rules(False, False), {"TENSOR_CORE", "DOWN_CONVERT_INPUTS"}),
    ("float64", Rules(False, False), {"TENSOR_CORE", "DOWN_CONVERT_INPUTS"}),
    ("float32", Rules(False, True), {"FFT", *(name for name in vars(FakeCudnn.numerical_note) if "WINOGRAD" in name)}),
], ids=["plain", "tf32", "half", "double", "winograd"])
def test_algorithms_are_let_in_as_settings_allow(dtype, allowed, lets_in):
    refused = set(cudnn.refused_notes(np.dtype(dtype), allowed))
    assert refused == set(vars(FakeCudnn.numerical_note)) - lets_in
    assert {"NONDETERMINISTIC", "REDUCED_PRECISION_REDUCTION"} <= refused


def test_rules_follow_the_settings(monkeypatch):
    monkeypatch.setattr(cudnn, "module", FakeCudnn)
    monkeypatch.setattr(config, "tf32", True)
    assert cudnn.rules() == Rules(True, False)
    monkeypatch.setattr(config, "cuda_libraries", False)
    assert cudnn.rules() is None
    monkeypatch.setattr(config, "cuda_libraries", True)
    monkeypatch.setattr(cudnn, "module", lambda: None)
    assert cudnn.rules() is None


# ------------------------------------------------------------------------------------------- values, on a fake
@pytest.fixture
def fake(monkeypatch):
    """A frontend that computes on the memory of the simulator; every problem is for it."""
    def use(**keywords):
        made = FakeCudnn(**keywords)
        monkeypatch.setattr(cudnn, "module", lambda: made)
        return made
    monkeypatch.setattr(plans, "PLANS", plans.Plans())
    monkeypatch.setattr(cudnn, "_handles", cudnn._Handles())
    monkeypatch.setattr(cudnn, "LEAST", 0)
    monkeypatch.setattr(cudnn, "FEW", 0)
    monkeypatch.setattr(runtime, "address", lambda flat: flat.array._ary.ctypes.data)
    return use


@simulated
@pytest.mark.parametrize("workspace", [0, 512])
@pytest.mark.parametrize("case", CASES)
def test_result_and_gradients_follow_the_definition(fake, case, workspace):
    made = fake(workspace=workspace)
    x_shape, w_shape, window = CASES[case]
    check(*drawn(x_shape, w_shape, window), window)
    assert made.executed == 3


@simulated
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_short_floats_are_added_in_float32(fake, dtype):
    made = fake()
    case = CASES["2-D, grouped and dilated"]
    check(*(array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype) for array in drawn(*case)), case[2])
    assert [graph.compute for graph in made.graphs] == ["FLOAT"] * 3 and made.executed == 3


@simulated
def test_operands_are_read_where_they_lie(fake):
    made = fake()
    x_shape, w_shape, window = CASES["2-D, grouped and dilated"]
    x, w, g = drawn(x_shape, w_shape, window)
    last = table.permute(table.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 3, 1))), (0, 3, 1, 2))
    around = table.from_numpy(np.pad(w, [(0, 0), (0, 0), (1, 1), (2, 1)]))
    inner = table.slice(around, (..., slice(1, -1), slice(2, -1)))
    check(x, w, g, window, (last, inner, table.from_numpy(g)))
    assert made.executed == 3 and made.graphs[0].operands[0].known["stride"] == [120, 1, 24, 4]


# ------------------------------------------------------------------------------------------------------ requests
def convolved():
    x, w, _ = drawn(*CASES["2-D"], "float32")
    return table.to_numpy(table.conv(table.from_numpy(x), table.from_numpy(w), CASES["2-D"][2]))


@simulated
def test_a_geometry_is_built_once_by_the_documented_steps(fake, monkeypatch):
    made = fake()
    for _ in range(3):
        convolved()
    graph, = made.graphs
    assert made.executed == 3 and [name for name, *_ in graph.steps] == STEPS
    given = dict(zip(STEPS, graph.steps))
    assert given["create_execution_plans"][1] == ["A", "FALLBACK"]
    assert given["deselect_numeric_notes"][1] == cudnn.refused_notes(FLOAT, STRICT)
    assert given["deselect_workspace_greater_than"][1] == config.conv_view_limit_mb << 20


@simulated
def test_settings_have_plans_of_their_own(fake, monkeypatch):
    made = fake()
    for tf32 in (False, True, False):
        monkeypatch.setattr(config, "tf32", tf32)
        convolved()
    assert len(made.graphs) == 2 and made.executed == 3
    monkeypatch.setattr(config, "cuda_libraries", False)
    convolved()
    assert made.executed == 3


@simulated
@pytest.mark.parametrize("refuses", ["validate", "create_execution_plans", "check_support", "build_plans", "execute"])
def test_what_cudnn_refuses_our_kernels_do_from_then_on(fake, refuses):
    expected = convolved()
    plans.PLANS.kept.clear()
    made = fake(refuses=refuses)
    for _ in range(3):
        np.testing.assert_array_equal(convolved(), expected)
    plan, = plans.PLANS.kept.values()
    assert isinstance(plan, direct.Direct) and len(made.graphs) == 1 and not made.executed


@simulated
def test_without_memory_one_plan_gives_way_to_the_next(fake, monkeypatch):
    """First cuDNN's, for want of a workspace, then the one of products."""
    fake(workspace=512)
    monkeypatch.setattr(conv, "SMALL", 0)
    monkeypatch.setattr(conv, "FEW", 0)

    def unfolded(self, *operands):
        raise DeviceError("empty: no memory.")
    monkeypatch.setattr(unfold.Unfold, "__call__", unfolded)
    allocate = runtime.allocate
    monkeypatch.setattr(runtime, "allocate", lambda count, dtype: unfolded(None) if (count, dtype) == (512, np.uint8)
                        else allocate(count, dtype))
    convolved()
    plan, = plans.PLANS.kept.values()
    assert isinstance(plan, direct.Direct)


# --------------------------------------------------------------------- the frontend itself, without a handle
@pytest.fixture
def frontend():
    found = cudnn.module()
    if found is None:
        pytest.skip("nvidia-cudnn-frontend and nvidia-cudnn-cu13 are not installed (the extra cudnn brings them)")
    return found


@pytest.mark.parametrize("dtype", cudnn.TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("entry", cudnn.NODES)
@pytest.mark.parametrize("window", [
    Window((2,), (1,), (0,), (1,)), Window((2, 1), (1, 0), (2, 3), (1, 2), 2), Window((1, 2, 1), *((1, 1, 1),) * 3)],
    ids=["1-D", "2-D", "3-D"])
def test_the_frontend_takes_the_graph_and_keeps_what_it_says(frontend, entry, window, dtype):
    ndim = window.ndim
    sizes = (200, 31, 11)[:ndim]
    problem = cudnn.problem_of(key((8, 64, *sizes), (96, 64 // window.groups, *(3,) * ndim), window, dtype, entry))
    graph = cudnn.described(frontend, problem, frontend.Handle(0, 0, 0))
    graph.validate()
    said = json.loads(str(graph))
    node, = said["nodes"]
    assert node["tag"] == cudnn.NODES[entry][0].upper() and node["math_mode"] == "CROSS_CORRELATION"
    assert [node[name] for name in ("pre_padding", "post_padding", "stride", "dilation")] == [
        list(values) for values in (problem.low, problem.high, problem.stride, problem.dilation)]
    wide = "DOUBLE" if dtype == np.float64 else "FLOAT"
    assert node["compute_data_type"] == said["context"]["compute_data_type"] == wide
    places = {"conv": "X W Y", "conv_input_grad": "DY W DX", "conv_weight_grad": "X DY DW"}[entry].split()
    numbers = node["inputs"] | node["outputs"]
    assert [numbers[name] for name in places] == [cudnn.A, cudnn.B, cudnn.Y]
    tensors = {tensor["uid"]: tensor for tensor in said["tensors"]}
    for number, wanted in zip((cudnn.A, cudnn.B, cudnn.Y), (problem.a, problem.b, problem.result)):
        assert (tuple(tensors[number]["dim"]), tuple(tensors[number]["stride"])) == wanted
        assert tensors[number]["data_type"] == cudnn.TYPES[dtype] and not tensors[number]["is_virtual"]


def test_the_frontend_has_all_that_is_called(frontend):
    for name in STEPS:
        assert callable(getattr(frontend.pygraph, name))
    assert list(inspect.signature(frontend.set_stream).parameters) == ["handle", "stream"]
    assert list(inspect.signature(frontend.pygraph.execute).parameters)[1:4] == ["tensor_dict", "workspace", "handle"]
    for name in cudnn.refused_notes(FLOAT, STRICT):
        assert hasattr(frontend.numerical_note, name)
    assert frontend.heur_mode.A != frontend.heur_mode.FALLBACK


def test_the_fake_has_the_notes_of_the_frontend(frontend):
    known = {name for name in dir(frontend.numerical_note) if name.isupper() or "WINOGRAD" in name}
    assert known == {*vars(FakeCudnn.numerical_note), "STRICT_NAN_PROP"}
