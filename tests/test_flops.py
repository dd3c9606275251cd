"""Operations counted: against published figures of networks, PyTorch's counter, and loops that count."""

import itertools
import threading

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import flops, nn, register, tape
from lucid_nb.expr import vocabulary
from lucid_nb.nn import functional as F
from lucid_nb.op import Elementwise, Primitive, registry

# Primitives that compute nothing: they move data, or compare.
MOVES = set("""view embed index_put_view reshape permute broadcast_to cast real concatenate to_device copy
    copied_reshape roll_by conjugate_transpose gather scatter is_last compress expand along take_along routed set_along
    is_last_along parts zeros_like repeat_by embedding unfold pad_constant pad_by_itself rows_at
    start enter_vmap leave_vmap lift_vmap same_vmap collapse_vmap once_differentiable""".split())
COMPARES = set("""max min nanmax nanmin argmax argmin any all count_nonzero count_numbers extreme_along
    extreme_scan""".split())
# What lucid counts for an element (its operations' own figures).
LUCID = dict(exp=10, log=10, log2=7, sqrt=6, sin=6, cos=6, sinh=6, cosh=6, tan=8, tanh=8, arcsin=4, arccos=4, arctan=3,
             power=11, negative=1, absolute=1, sign=1, reciprocal=1, square=1, floor=1, ceil=1, add=1, subtract=1,
             multiply=1, divide=1, maximum=1, minimum=1, greater=0, equal=0)


def counted(function, *arguments):
    """{op: flops} of a call, what costs nothing left out."""
    with lnb.count_flops() as counter:
        function(*arguments)
    return {name: count.flops for name, count in counter.table().items() if count.flops}


# --------------------------------------------------------------------------------------------------- records
def test_every_primitive_has_a_rule_or_computes_nothing():
    ours = {name: op for name, op in registry.items() if isinstance(op, Primitive) and
            op.forward.__module__.startswith("lucid_nb.")}            # other tests register some of their own
    without = {name for name, op in ours.items() if op.facts.flops is None}
    assert without <= MOVES | COMPARES, "give it flops=, a rule of flops.py; or name it here if it computes nothing"
    assert not [name for name in MOVES | COMPARES if name in registry and name not in without]


def test_every_entry_of_the_vocabulary_costs_something_but_comparisons_and_choices():
    free = {name for name in vocabulary if flops.of_entry(name) == 0}
    assert free == set("""conjugate real imag complex where greater greater_equal less less_equal equal not_equal
        isfinite isinf bitwise_and bitwise_or bitwise_xor invert complex_maximum complex_minimum""".split())


@pytest.mark.parametrize("name", LUCID)
def test_elementwise_cost_is_lucids(name):
    op = registry[name]
    assert isinstance(op, Elementwise)
    assert flops.of_formula(op.outputs) == LUCID[name]


def test_formula_counts_what_occurs_twice_once():
    assert counted(nn.functional.silu, lnb.ones(5)) == {"silu": 5 * 18}     # x * (exp 10, + - / and two absolutes)
    assert counted(lnb.subtract, lnb.ones((4, 1)), lnb.ones(3)) == {"subtract": 12}


# ------------------------------------------------------------------------------------------- published figures
def lenet():
    """LeNet-5 as it is taught: 61,706 parameters (Y. LeCun et al., Proceedings of the IEEE 86, 1998)."""
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
                         nn.Linear(84, 10))


def test_lenet_5_has_its_416520_multiply_adds():
    found = counted(lenet(), lnb.ones((1, 1, 28, 28), dtype="float32"))
    biases = 120 + 84 + 10                                # those of convolutions are added by an op of their own
    assert found["conv"] == 28 * 28 * 6 * 25 + 10 * 10 * 16 * 150
    assert found["conv"] + found["linear"] - biases == 416_520


class Block(nn.Module):
    """Two convolutions and a way around them (K. He et al., 2016)."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.around = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)) \
            if stride > 1 or channels != out else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.around(x))


def resnet18():
    """ResNet-18 for 224 x 224."""
    blocks = [Block(channels, out, stride) for channels, out, stride in
              ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
               (512, 512, 1))]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def test_resnet_18_has_its_1_814_073_344_multiply_adds():
    net = resnet18().eval()
    assert sum(p.size for p in net.parameters()) == 11_689_512
    with lnb.no_grad():
        found = counted(net, lnb.ones((1, 3, 224, 224), dtype="float32"))
    assert found["conv"] + found["linear"] - 1000 == 1_814_073_344      # 1.81 G: the paper's 1.8 x 10**9
    assert sum(found.values()) < 1.03 * found["conv"]


# ------------------------------------------------------------------------------------------- PyTorch's counter
def torch_counts(function, *arrays):
    """{aten op: flops} of PyTorch, forward and backward."""
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode
    tensors = [torch.from_numpy(array).requires_grad_(True) for array in arrays]
    with FlopCounterMode(display=False) as mode:
        function(torch, *tensors).sum().backward()
    return {str(name).split(".")[-1]: count for name, count in mode.get_flop_counts()["Global"].items()}


def own_counts(function, *arrays):
    """Forward and backward, of ops that sum products."""
    tensors = [lnb.tensor(array, requires_grad=True) for array in arrays]
    found = counted(lambda: function(*tensors).sum().backward())
    return {name: count for name, count in found.items() if name in (
        "conv", "conv_input_grad", "conv_weight_grad", "matmul", "linear", "contract")}


@pytest.mark.parametrize("stride, padding, dilation, groups", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4)])
def test_convolutions_count_half_of_torchs_flops(stride, padding, dilation, groups):
    x, w = np.ones((2, 4, 9, 8), np.float32), np.ones((8, 4 // groups, 3, 2), np.float32)
    torch_found = torch_counts(lambda torch, x, w: torch.nn.functional.conv2d(
        x, w, None, stride, padding, dilation, groups), x, w)
    own = own_counts(lambda x, w: F.conv2d(x, w, None, stride, padding, dilation, groups), x, w)
    assert 2 * own["conv"] == torch_found["convolution"]
    assert own["conv_input_grad"] == own["conv_weight_grad"] == own["conv"]
    if groups == 1:                         # of groups PyTorch's rule for the weights takes no notice
        assert 4 * own["conv"] == torch_found["convolution_backward"]


def test_transposed_convolution_counts_half_of_torchs_flops():
    x, w = np.ones((2, 4, 5, 6), np.float32), np.ones((4, 3, 3, 2), np.float32)
    torch_found = torch_counts(lambda torch, x, w: torch.nn.functional.conv_transpose2d(x, w, None, 2), x, w)
    own = own_counts(lambda x, w: F.conv_transpose2d(x, w, None, 2), x, w)
    assert 2 * own["conv_input_grad"] == torch_found["convolution"]
    assert 2 * (own["conv"] + own["conv_weight_grad"]) == torch_found["convolution_backward"]


@pytest.mark.parametrize("left, right", [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((6, 3, 4), (6, 4, 5))])
def test_matrix_products_count_half_of_torchs_flops(left, right):
    a, b = np.ones(left, np.float32), np.ones(right, np.float32)
    torch_found = torch_counts(lambda torch, a, b: a @ b, a, b)
    assert 2 * sum(own_counts(lambda a, b: a @ b, a, b).values()) == sum(torch_found.values())


def test_einsum_counts_half_of_torchs_flops():
    a, b = np.ones((2, 5, 3, 4), np.float32), np.ones((2, 6, 3, 4), np.float32)
    torch_found = torch_counts(lambda torch, a, b: torch.einsum("bqhd,bkhd->bhqk", a, b), a, b)
    own = own_counts(lambda a, b: lnb.einsum("bqhd,bkhd->bhqk", a, b), a, b)
    assert 2 * sum(own.values()) == sum(torch_found.values())


def test_attention_counts_its_products_as_torch_does():
    q, k, v = np.ones((2, 3, 7, 8), np.float32), np.ones((2, 3, 5, 8), np.float32), np.ones((2, 3, 5, 8), np.float32)

    def by_hand(torch, q, k, v):
        return torch.softmax(q @ k.transpose(2, 3), -1) @ v
    torch_found = torch_counts(by_hand, q, k, v)
    tensors = [lnb.tensor(x, requires_grad=True) for x in (q, k, v)]
    found = counted(lambda: F.scaled_dot_product_attention(*tensors).sum().backward())
    pairs = 2 * 3 * 7 * 5
    assert 2 * (found["attention"] - 14 * pairs) == torch_found["bmm"] / 3       # forward; softmax and scale aside
    assert found["attention_gradient"] == 2.5 * found["attention"]     # five products: one more than composed


# --------------------------------------------------------------------------------------------- loops that count
def test_pools_count_their_taps():
    x = lnb.ones((2, 3, 7, 6))
    reads = sum(1 for _ in itertools.product(range(2 * 3), range(3), range(3), range(2), range(2)))
    assert counted(lambda: F.avg_pool2d(x, 2)) == {"avg_pool": reads}
    assert counted(lambda: F.max_pool2d(x, 2)) == {"max_pool": reads - 2 * 3 * 3 * 3}
    edges = [(i * 7 // 3, -(-(i + 1) * 7 // 3)) for i in range(3)]
    assert counted(lambda: F.adaptive_avg_pool2d(x, (3, 6))) == {"avg_pool": 6 * 6 * sum(b - a for a, b in edges)}


def test_reductions_count_the_additions_that_they_make():
    x = lnb.ones((4, 5))
    assert counted(x.sum) == {"sum": 19}
    assert counted(lambda: x.sum(axis=0)) == {"sum": 5 * 3}
    assert counted(lambda: x.max()) == {}
    assert counted(lambda: lnb.cumsum(x, axis=1)) == {"cumsum": 20}
    assert counted(lambda: lnb.sort(x, axis=1)) == {"sort": 20 * 3}
    assert counted(lambda: lnb.linalg.norm(x)) == {"euclidean_norm": 2 * 20 + 6}
    assert counted(lambda: lnb.searchsorted(lnb.arange(8), lnb.ones(3))) == {"searchsorted": 9}


def test_recurrent_layer_counts_its_products():
    layer, x = nn.LSTM(3, 5), lnb.ones((7, 2, 3), dtype="float32")
    products = 7 * 2 * (4 * 5 * 3 + 4 * 5 * 5 + 2 * 4 * 5)
    assert counted(layer, x) == {"recurrent_lstm": products + 7 * 2 * 5 * (3 * 14 + 2 * 8 + 4)}


# ------------------------------------------------------------------------------------------------ of a graph
def test_flops_of_a_tensor_count_each_call_once():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    assert (x.flops, y.flops, (y * y).flops, (y * y + y).flops) == (0, 2, 4, 6)
    assert lnb.tensor([1.0]).flops == 0


def test_flops_of_a_tensor_are_those_counted_in_the_forward():
    net = lenet()
    with lnb.count_flops() as counter:
        y = net(lnb.ones((2, 1, 28, 28), dtype="float32"))
        z = F.cross_entropy(y, lnb.tensor([1, 2]))
    assert z.flops == counter.total > 2 * 416_520
    parts = lnb.split(y[:, ::2] * 2, 5, axis=1)
    assert (parts[0] + parts[1]).flops == y.flops + 2 * 5 + 2


def test_flops_of_a_result_among_several():
    x = lnb.tensor(np.ones((4, 6)), requires_grad=True)
    fraction, _ = lnb.modf(x)
    assert fraction.flops == counted(lnb.modf, x)["modf"]
    pooled, _ = F.max_pool1d(x.reshape(1, 4, 6), 2, return_indices=True)
    assert pooled.flops == 12


# --------------------------------------------------------------------------------------------------- the block
def test_backward_is_counted_also_where_it_is_quick():
    def step(x):
        (lnb.exp(x * 2) + 1).sum().backward()
    x = lnb.tensor(np.ones(6), requires_grad=True)
    first = counted(step, x)
    for _ in range(3):
        step(x)
    assert counted(step, x) == first | {"add": first["add"] + 6}          # the gradient that is there already
    assert first["exp_gradient"] == first["multiply_gradient"] == 6


def test_create_graph_is_counted():
    def step():
        x = lnb.tensor(np.ones(6), requires_grad=True)
        (x * x * x).sum().backward(create_graph=True)
        x.grad.sum().backward()
    assert counted(step)["multiply"] == 12


def test_forward_mode_is_counted():
    x, a, b = lnb.ones(6), lnb.ones((2, 3)), lnb.ones((3, 4))
    assert counted(lambda: lnb.jvp(lnb.exp, (x,), (x,))) == {"exp": 60, "exp_push": 6}
    assert counted(lambda: lnb.jvp(lambda a, b: a @ b, (a, b), (a, b))) == {"matmul": 3 * 24, "add": 8}
    assert counted(lambda: lnb.hvp(lambda x: (x * x).sum(), x, x))["multiply_gradient_push"] > 0


def test_optimizer_steps_are_counted():
    w = nn.Parameter(np.ones(6, np.float32))
    optimizer = lnb.optim.SGD([w], lr=0.1)
    with lnb.count_flops() as counter:
        (w * w).sum().backward()
        optimizer.step()
    assert counter.table()["descend"] == (1, 6 * 5)        # p - rate * (sign * g + decay * p)


def test_parameters_and_scalars_are_counted():
    w = nn.Parameter(np.ones((3, 3), np.float32))
    assert counted(lambda: (w * 2, 2 - w, w + w, -w, lnb.where(w > 0, w, 1), w @ w)) == {
        "matmul": 27, "multiply": 9, "subtract": 9, "add": 9, "negative": 9}


@pytest.mark.serial
def test_only_this_thread_is_counted():
    x = lnb.ones(1000)
    with lnb.count_flops() as counter:
        worker = threading.Thread(target=lambda: [x * 2 for _ in range(10)])
        worker.start()
        worker.join()
        x + 1
    assert counter.table() == {"add": (1, 1000)}


def test_blocks_nest_and_close_after_an_error():
    x = lnb.ones(3)
    with lnb.count_flops() as outer:
        x * 2
        with pytest.raises(KeyError), lnb.count_flops() as inner:
            x + x
            raise KeyError
        with pytest.raises(lnb.GradError), outer:
            pass
        assert lnb.Tensor not in register.TENSORS
        x * 2
    x * 2
    assert {lnb.Tensor, nn.Parameter, nn.Buffer} <= register.TENSORS and not register.closed
    assert (inner.total, outer.total, outer.calls) == (3, 9, 3)


def test_values_and_gradients_are_the_same_inside():
    def step():
        x = lnb.tensor(np.linspace(-2, 2, 24).reshape(4, 6), requires_grad=True)
        y = lnb.softmax(lnb.tanh(x * 2 - 1) @ x.T, axis=0)
        (y * y).sum().backward()
        return y.tolist(), x.grad.tolist()
    plain = step()
    with lnb.count_flops():
        assert step() == plain


def test_table_as_text():
    with lnb.count_flops() as counter:
        lnb.ones(2000).reshape(2, 1000) * 2
    assert str(counter).splitlines() == ["op        calls  flops   share", "-" * 30, "multiply      1  2,000  100.0%",
                                         *["reshape       1      0    0.0%"] * (counter.calls == 2), "-" * 30,
                                         f"total         {counter.calls}  2,000  100.0%"]
    assert repr(counter) == f"<FlopCounter: {counter.calls} calls, 2,000 flops>"
    assert str(lnb.count_flops()).splitlines()[-1].split() == ["total", "0", "0"]


def test_the_device_does_not_matter():
    pytest.importorskip("mlx.core")

    def step(device):
        x = lnb.tensor(np.ones((2, 3, 8, 8), np.float32), device=device, requires_grad=True)
        w = lnb.tensor(np.ones((4, 3, 3, 3), np.float32), device=device)
        lnb.softmax(F.conv2d(x, w), axis=1).sum().backward()
    assert counted(step, "mlx") == counted(step, "cpu")


def test_ops_without_a_record_cost_what_they_call():
    class Own:
        """As a function with a derivative of its own is on the tape."""

        name = "own"

        def pullback(self, node, g, call):
            return (call.multiply(g, 2.0),)
    x = lnb.tensor(np.ones(3), requires_grad=True)
    y = lnb.asarray(np.ones(3))
    y.node = tape.Node(Own(), None, (x.node,), (((3,), y.dtype),) * 2)
    assert (y * 2).flops == 3
    assert ">own<" in lnb.visual.draw_graph(y * 2)
    assert counted(y.backward, np.ones(3)) == {"multiply": 3}
