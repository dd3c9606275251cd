"""Calls that are remembered: what may be reused, and what must not be."""

import threading
import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import remembered as module
from lucid_nb.apply import apply
from lucid_nb.errors import GradError
from lucid_nb.op import registry
from lucid_nb.remembered import remembered
from lucid_nb.testing import check_grad

F = lnb.nn.functional
draw = np.random.default_rng(11)


def normal(*shape, **options):
    """Normal numbers."""
    return lnb.tensor(draw.standard_normal(shape), **options)


def counted(decide):
    """A remembered function, and how often its own road was taken."""
    calls = []

    @remembered
    def function(*arguments, **options):
        calls.append(arguments)
        return decide(*arguments, **options)
    return function, calls


def softmax_of(x, axis=-1):
    """One primitive on the argument."""
    return apply(registry["softmax"], (x,), {"axis": int(axis) % x.ndim})


# ------------------------------------------------------------------------------------------ what is remembered
def test_own_road_is_taken_once_for_each_kind_of_call():
    function, calls = counted(softmax_of)
    x, y, wide = normal(2, 3), normal(2, 3), normal(2, 4)
    for given in (x, y, x.T.copy().T, normal(2, 3, requires_grad=True)):
        np.testing.assert_array_equal(function(given).detach().numpy(), lnb.softmax(given.detach()).numpy())
    assert len(calls) == 1
    function(wide), function(x.astype("float32")), function(x, 0), function(x, axis=0)
    assert len(calls) == 5
    function(wide), function(y.astype("float32")), function(y, 0), function(y, axis=0)
    assert len(calls) == 5


@pytest.mark.parametrize("device", ["cpu", pytest.param("mlx", marks=pytest.mark.skipif(
    "mlx" not in lnb.devices(), reason="MLX is not installed"))])
def test_devices_are_told_apart(device):
    function, calls = counted(softmax_of)
    function(lnb.zeros((2, 3)))
    assert function(lnb.zeros((2, 3), device=device)).device == device
    assert len(calls) == 1 + (device != "cpu")


@pytest.mark.parametrize("values", [(1, True), (1, 1.0), (0.0, -0.0), ((1, 1), (1, True)), (((1, 0),), ((1, False),)),
                                    ("1", 1), (None, "None"), (0.0, "0.0")], ids=str)
def test_plain_values_of_other_types_are_told_apart(values):
    function, calls = counted(lambda x, value: softmax_of(x))
    x = normal(2, 3)
    for value in values * 2:
        function(x, value)
    assert [arguments[1] for arguments in calls] == list(values)


def test_keywords_are_told_apart_by_name():
    function, _ = counted(lambda x, first=0, second=0: softmax_of(x, first))
    x = normal(2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(function(x, first=1, second=0).numpy(), lnb.softmax(x, 1).numpy())
        np.testing.assert_array_equal(function(x, second=1, first=0).numpy(), lnb.softmax(x, 0).numpy())
        np.testing.assert_array_equal(function(x, second=1).numpy(), lnb.softmax(x, 0).numpy())


def test_one_tensor_as_several_operands_says_nothing_of_the_next_call():
    x, q, k, v = (normal(1, 2, 3, 4) for _ in range(4))

    def expected(q, k, v):
        scores = q @ k.swapaxes(2, 3) / 2
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v
    for given in ((x, x, x), (q, k, v), (q, q, v), (q, k, k), (v, q, k)):
        np.testing.assert_allclose(F.scaled_dot_product_attention(*given).numpy(),
                                   expected(*[part.numpy() for part in given]), rtol=1e-12)
    weight, bias = normal(3), normal(3)
    rows = normal(2, 3)
    centre = rows.numpy() - rows.numpy().mean(1, keepdims=True)
    unit = centre / np.sqrt((centre ** 2).mean(1, keepdims=True) + 1e-5)
    for a, b in ((weight, weight), (weight, bias), (bias, weight)):
        np.testing.assert_allclose(F.layer_norm(rows, (3,), a, b).numpy(), unit * a.numpy() + b.numpy(), rtol=1e-12)


def test_remembered_kinds_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 4)
    function, calls = counted(softmax_of)
    for size in (*range(1, 10), *range(1, 10)):
        x = normal(size)
        np.testing.assert_array_equal(function(x).numpy(), lnb.softmax(x).numpy())
    assert len(calls) > 9


# ------------------------------------------------------------------------------------- what must not be reused
@pytest.mark.parametrize("decide", [lambda x: softmax_of(x * 2), lambda x: softmax_of(softmax_of(x)), lambda x: x,
                                    lambda x: softmax_of(x)[0], lambda x: x.T, lambda x: softmax_of(x).numpy()],
                         ids=["of another", "twice", "itself", "a part", "a view", "an array"])
def test_what_is_more_than_one_call_takes_its_own_road_always(decide):
    function, calls = counted(decide)
    for number in range(1, 4):
        x = normal(2, 3)
        np.testing.assert_array_equal(np.asarray(function(x)), np.asarray(decide(x)))
        assert len(calls) == number


def test_a_copy_without_axes_may_be_written_however_often_it_is_made():
    for make in (lambda x: lnb.sum(x, axis=()), lambda x: lnb.max(x, axis=())):
        x, value = lnb.arange(3.0)[1, ...], lnb.arange(3.0)[1]
        assert [make(value).is_value for _ in range(3)] == [make(value).is_value] * 3
        for found in [make(x) for _ in range(3)]:
            found[...] = 5.0
            assert (found.item(), x.item(), found.is_value) == (5.0, 1.0, False)


def test_a_subclass_and_what_is_no_tensor_take_their_own_road():
    class Own(lnb.Tensor):
        pass
    function, calls = counted(lambda x: softmax_of(lnb.asarray(x)))
    for given in (Own(np.zeros(3)), np.zeros(3), [0.0, 0.0]):
        function(given), function(given)
    assert len(calls) == 6


def test_warnings_come_at_each_call_and_name_the_caller():
    for call in (lambda: lnb.mean(lnb.zeros((0, 3)), axis=0), lambda: lnb.var(lnb.ones((2, 3)), axis=0, ddof=2)):
        for _ in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call()
            assert (RuntimeWarning, __file__) in [(one.category, one.filename) for one in caught]


def test_attention_drops_other_weights_at_each_call():
    x = normal(1, 2, 8, 4)
    found = [F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).numpy() for _ in range(3)]
    assert not np.array_equal(found[0], found[1]) and not np.array_equal(found[1], found[2])


def test_running_statistics_move_at_each_call_of_batch_norm():
    x, mean, variance = normal(4, 3, 2), lnb.zeros((3,), dtype="float64"), lnb.ones((3,), dtype="float64")
    expected = np.zeros(3)
    for _ in range(3):
        F.batch_norm(x, mean, variance, training=True, momentum=0.5)
        expected = expected / 2 + x.numpy().mean((0, 2)) / 2
        np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-12)


def test_views_are_read_after_writes_through_their_base():
    base = normal(3, 2)
    view = base[1:]
    for value in (1.0, 2.0):
        F.softmax(view, -1)
        base[1, 0] = value
        np.testing.assert_array_equal(F.softmax(view, -1).numpy(), lnb.softmax(lnb.tensor(base.numpy()[1:])).numpy())


# ----------------------------------------------------------------------------------------------- gradients
CALLS = {
    "mean": (lambda x: lnb.mean(x, axis=1), (2, 3, 4)), "sum": (lambda x: lnb.sum(x, axis=(0, 2)), (2, 3, 4)),
    "var": (lambda x: lnb.var(x, axis=1, ddof=1), (2, 3)), "max": (lambda x: lnb.max(x, axis=0), (3, 2)),
    "log_softmax": (lambda x: F.log_softmax(x, 0), (3, 2)),
    "linear": (F.linear, (2, 3), (4, 3), (4,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), (2, 3), (3,), (3,)),
    "layer_norm of constants": (lambda x: F.layer_norm(x, (3,)), (2, 3)),
    "rms_norm": (lambda x, w: F.rms_norm(x, 3, w), (2, 3), (3,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 2), (4,), (4,)),
    "batch_norm": (lambda x, m, v, w, b: F.batch_norm(x, m, v * v + 0.5, w, b), (2, 3, 2), (3,), (3,), (3,), (3,)),
    "batch_norm of rows": (lambda x, m, v: F.batch_norm(x, m, v * v + 0.5), (4, 3), (3,), (3,)),
    "batch_norm in training": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (4, 3, 2), (3,), (3,)),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), (2, 2, 5), (3, 2, 3), (3,)),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=(1, 0)), (1, 2, 4, 3), (2, 2, 3, 2)),
    "attention": (F.scaled_dot_product_attention, (1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 2), (1, 2, 4, 4)), "max_pool": (lambda x: F.max_pool1d(x, 2), (1, 2, 6)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_right_whatever_the_first_call_of_a_kind_was(name):
    function, *shapes = CALLS[name]
    given = [normal(*shape) for shape in shapes]
    first = function(*given).numpy()
    with lnb.no_grad():
        leaves = [x.copy() for x in given]
        for x in leaves:
            x.requires_grad = True
        np.testing.assert_array_equal(function(*leaves).numpy(), first)
        assert not function(*leaves).requires_grad
    for order in (1, 2):                                  # recorded for the first time, and remembered
        check_grad(function, *[x.copy() for x in given], order=order)
    some = [given[0].copy(), *given[1:]]
    some[0].requires_grad = True
    found = function(*some)
    np.testing.assert_array_equal(found.detach().numpy(), first)
    found.sum().backward()
    assert some[0].grad is not None and not any(x.requires_grad for x in some[1:])


def test_a_saved_value_that_is_overwritten_is_refused_and_the_line_is_named():
    x = normal(2, 3, requires_grad=True)
    weight = normal(4, 3)
    for _ in range(3):
        found = F.linear(x, weight)
        weight[0, 0] = 1.0
        with pytest.raises(GradError, match=r"linear: a value saved at test_remembered\.py"):
            found.sum().backward()


def test_hooks_of_saved_values_are_called_at_each_call():
    x = normal(2, 3, requires_grad=True)
    packed = []

    def pack(saved):
        packed.append(saved)
        return saved
    for number in range(1, 4):
        with lnb.autograd.saved_tensors_hooks(pack, lambda saved: saved):
            F.softmax(x, -1)
        assert len(packed) == number


def test_counters_traces_and_vmap_see_what_is_remembered():
    x, w, b = normal(2, 3, 4), normal(5, 3, 2), normal(5)
    for _ in range(2):
        F.conv1d(x, w, b)
        with lnb.count_flops() as counter:
            F.conv1d(x, w, b)
        assert {name: count.flops for name, count in counter.table().items()} == {"conv": 180, "add": 30}
        np.testing.assert_allclose(lnb.fuse(lambda x: lnb.mean(x * 2, axis=-1))(x).numpy(),
                                   x.numpy().mean(-1) * 2, rtol=1e-12)
        np.testing.assert_allclose(lnb.vmap(lambda x: lnb.mean(x, axis=0))(x).numpy(), x.numpy().mean(1), rtol=1e-12)
    leaf = x.copy()
    leaf.requires_grad = True
    assert F.conv1d(leaf, w, b).flops == 210


def test_threads_learn_and_recall_at_once():
    function, _ = counted(softmax_of)
    wrong = []

    def work(seed):
        own = np.random.default_rng(seed)
        for _ in range(200):
            x = lnb.tensor(own.standard_normal((int(own.integers(1, 6)), 3)), requires_grad=bool(own.integers(2)))
            found = function(x)
            total = np.exp(x.detach().numpy())
            if found.requires_grad != x.requires_grad or not np.allclose(
                    found.detach().numpy(), total / total.sum(-1, keepdims=True)):
                wrong.append(x)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong
