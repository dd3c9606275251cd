"""A step as a graph: the same numbers as the step itself; what a graph cannot do is refused. The simulator has none."""

from itertools import count, repeat

import pytest

import lucid_nb as lnb
from lucid_nb import nn, optim
from lucid_nb.cuda import graphs, memory, runtime
from lucid_nb.errors import DeviceError

pytestmark = pytest.mark.cuda_simulator


def training(device, rates):
    """A step of gradient descent whose rate the host draws from an iterator."""
    lnb.random.seed(0)
    model = nn.Linear(3, 2).to(device)
    x, y = lnb.ones((4, 3), dtype="float32", device=device), lnb.zeros((4, 2), dtype="float32", device=device)

    def step():
        model.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        with lnb.no_grad():
            rate = next(rates)
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
        return loss
    return step


def test_graph_trains_as_the_step_does():
    plain, replayed = training("cpu", repeat(0.1)), lnb.cuda.graph(training("cuda", repeat(0.1)))
    for _ in range(5):
        assert float(replayed()) == pytest.approx(float(plain()), rel=1e-5)


def test_numbers_that_the_host_counts_are_refused():
    step = lnb.cuda.graph(training("cuda", count(0.1, 0.1)))
    step()
    step()
    with pytest.raises(DeviceError, match="graph: the step sends data of the host"):
        step()


def test_random_numbers_are_refused():
    x = lnb.ones(4, dtype="float32", device="cuda")
    step = lnb.cuda.graph(lambda: nn.functional.dropout(x, 0.5))
    step()
    step()
    with pytest.raises(DeviceError, match="graph: launch"):
        step()


def test_other_shapes_are_refused():
    x, sizes = lnb.ones(400, device="cuda"), iter([4, 4, 4, 300])
    step = lnb.cuda.graph(lambda: x[:next(sizes)] + 1)
    assert [step().shape for _ in range(3)] == [(4,)] * 3
    with pytest.raises(DeviceError, match="graph: launch 0"):
        step()


def test_other_kernels_are_refused():
    x, turns = lnb.ones(4, device="cuda"), iter([1, 1, 2])
    step = lnb.cuda.graph(lambda: [x + 1 for _ in range(next(turns))])
    step()
    step()
    with pytest.raises(DeviceError, match="launched 2 kernels, 1 the time before"):
        step()


def fitted(device, rule):
    lnb.random.seed(0)
    model = nn.Linear(3, 2).to(device)
    x, y = lnb.ones((4, 3), dtype="float32", device=device), lnb.zeros((4, 2), dtype="float32", device=device)
    optimizer = rule(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    return step


def test_optimizers_whose_numbers_stay_the_same_are_captured():
    def rule(parameters):
        return optim.SGD(parameters, lr=0.1, momentum=0.9)
    plain, replayed = fitted("cpu", rule), lnb.cuda.graph(fitted("cuda", rule))
    for _ in range(5):
        assert float(replayed()) == pytest.approx(float(plain()), rel=1e-5)


def test_optimizers_that_count_steps_are_refused():
    step = lnb.cuda.graph(fitted("cuda", optim.Adam))
    step()
    step()
    with pytest.raises(DeviceError, match=r"graph: launch \d+ was update with .* the time before .*Adam"):
        step()


def test_data_of_the_host_are_refused():
    step = lnb.cuda.graph(lambda: lnb.tensor([1.0, 2.0], device="cuda") + 1)
    step()
    step()
    with pytest.raises(DeviceError, match="sends data of the host"):
        step()


class Builder:
    """Stands for cuda.core's: notes what it is asked for."""

    def __init__(self, seen):
        self.seen = seen

    def create_graph_builder(self):
        return self

    def begin_building(self, mode):
        self.seen.append(mode)

    def end_building(self):
        self.seen.append("end")

    def complete(self):
        return self

    def launch(self, stream):
        self.seen.append("launch")


@pytest.mark.simulated
def test_fourth_call_is_captured_and_later_ones_are_replayed(monkeypatch):
    seen, runs = [], []
    monkeypatch.setattr(graphs, "SIMULATED", False)
    monkeypatch.setattr(runtime, "core_stream", lambda stream: Builder(seen))
    monkeypatch.setattr(graphs.cuda, "default_stream", object)
    x = lnb.ones(4, device="cuda")

    def body():
        runs.append(runtime.is_building())
        return x + 1
    step = lnb.cuda.graph(body)
    results = [step() for _ in range(6)]
    assert seen == ["relaxed", "end", "launch", "launch", "launch"] and runs == [False, False, False, True]
    assert results[3] is results[5] and results[2] is not results[3]
    assert results[3].raw.memory.block.pool is step.pool is not memory.pool and not runtime.is_building()
