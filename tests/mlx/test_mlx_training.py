"""Training on mlx: the CPU's curve of losses, and loops that never read anything, which neither grow nor slow."""

import io
import statistics
import time

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn, optim
from lucid_nb.commands import demo

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")


class Last(nn.Module):
    """A layer of sequences, of which a linear layer reads the last position."""

    def __init__(self, layer, size):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(size, 5)

    def forward(self, x):
        found = self.layer(x)
        return self.head((found[0] if isinstance(found, tuple) else found)[:, -1])


MODELS = {
    "LeNet-5": (lnb.models.lenet_5, (4, 1, 32, 32), "SGD", dict(lr=0.05, momentum=0.9)),
    "transformer": (lambda: Last(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 16), (6, 7, 16),
                    "Adam", dict(lr=1e-3)),
    "LSTM": (lambda: Last(nn.LSTM(8, 12, num_layers=2, batch_first=True), 12), (6, 9, 8), "AdamW", dict(lr=3e-2)),
    "demo": (demo.network, (8, 1, 8, 8), "Adam", dict(lr=demo.RATE)),
}


def losses(name, device, steps=8):
    """The curve of a training whose weights, data and draws are the same on each device."""
    make, shape, rule, options = MODELS[name]
    lnb.random.seed(0)
    model = make().to(device)
    optimizer = getattr(optim, rule)(model.parameters(), **options)
    draw = np.random.default_rng(1)
    x, target = (lnb.tensor(part, device=device) for part in (draw.standard_normal(shape).astype("float32"),
                                                              draw.integers(0, 5, shape[0])))
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        found.append(loss)
    return [float(loss) for loss in found]


@pytest.mark.parametrize("name", MODELS)
def test_curve_of_losses_is_that_of_the_cpu(name):
    mine, theirs = losses(name, "mlx"), losses(name, "cpu")
    assert theirs[-1] < 0.9 * theirs[0]
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


# ------------------------------------------------------------------------------------- loops that read nothing
def recorded(raw):
    """How many calls of MLX wait to be computed before this array is known."""
    text = io.StringIO()
    table.mx.export_to_dot(text, raw)
    return text.getvalue().count("shape=rectangle")


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def training():
    """A step of training."""
    model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)).to("mlx")
    optimizer = optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, target = lnb.ones((8, 16), device="mlx"), lnb.zeros(8, dtype="int64", device="mlx")

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()
        return model[0].weight
    return step


def inference():
    """A step of a loop under no_grad, each of whose results is made of the one before."""
    layer = nn.Linear(64, 64).to("mlx")
    state = lnb.ones((16, 64), device="mlx")

    def step():
        nonlocal state
        with lnb.no_grad():
            state = lnb.tanh(layer(state))
        return state
    return step


def writing():
    """A step that writes into a part of a tensor."""
    x = lnb.zeros((64, 64), device="mlx")

    def step():
        x[3, 2:7] += 1
        return x
    return step


@pytest.mark.serial
@pytest.mark.parametrize("make", [training, inference, writing], ids=["training", "inference", "writing"])
def test_a_thousand_steps_without_a_read_neither_grow_nor_slow(make):
    step, graphs, memory, seconds = make(), [], [], []
    for number in range(1000):
        start = time.thread_time()
        last = step()
        seconds.append(time.thread_time() - start)
        if number % 100 == 99:
            graphs.append(recorded(last.raw))
            memory.append((table.mx.get_active_memory(), resident()))
    assert max(graphs) <= 8 * table.runtime.LIMIT                 # an entry is up to eight calls
    active, process = ([sizes[k] for sizes in memory[1:]] for k in (0, 1))
    assert max(active) - min(active) < 2 ** 22                    # what is under way differs from moment to moment
    assert process[-1] - process[0] < 2 ** 23
    assert statistics.median(seconds[-300:]) < 2 * statistics.median(seconds[100:400])
    assert np.isfinite(last.numpy()).all()


def test_an_optimizers_step_leaves_nothing_recorded_that_is_not_under_way():
    step = training()
    weight = step()
    table.synchronize()
    assert recorded(weight.raw) == 0


# ------------------------------------------------------------------------------------------------- updates
def stepped(device, dtype="float32"):
    """Parameters of two groups after three steps."""
    draw = np.random.default_rng(3)
    params = [lnb.tensor(draw.standard_normal(shape), device=device, dtype=dtype, requires_grad=True)
              for shape in ((3, 4), (5,), (), (0, 2), (2, 2))]
    optimizer = optim.Adam([dict(params=params[:3]), dict(params=params[3:], lr=0.1)], lr=0.02)
    for _ in range(3):
        optimizer.zero_grad()
        sum((p ** 3).sum() for p in params).backward()
        optimizer.step()
    return [p.detach().to_host().astype("float64") for p in params]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_update_is_one_compiled_program_for_each_group(dtype, monkeypatch):
    wanted, calls = stepped("cpu", dtype), []
    from lucid_nb.optim import adam

    def compiled(function):
        def call(*raws):
            calls.append(len(raws))
            return function(*raws)
        return call
    monkeypatch.setattr(table.mx, "compile", compiled)
    monkeypatch.setattr(table.runtime, "ON_GPU", True)
    monkeypatch.setattr(adam.adapt, "programs", {})
    found = stepped("mlx", dtype)
    numbers = adam.adapt.arity - adam.adapt.width
    assert calls == [numbers + 4 * 3, numbers + 4 * 2] * 3
    for got, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-5 if dtype == "float32" else 2e-2, atol=1e-6)
