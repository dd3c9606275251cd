"""A step as a graph: the same numbers as the step itself; what a graph cannot do is refused. The simulator has none."""

import gc
from contextlib import contextmanager
from itertools import count, cycle, repeat
from threading import Thread

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn, optim
from lucid_nb.cuda import driver, graphs, launching, memory, runtime
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


def ones():
    return lnb.ones(4, dtype="float32", device="cuda")


def alternating():
    turns, x = cycle([lnb.sin, lnb.cos]), ones()
    return lambda: next(turns)(x)


def alternating_memory():
    turns = cycle([ones(), ones()])
    return lambda: lnb.sin(next(turns))


def alternating_parts():
    turns, x = cycle([slice(0, 2), slice(2, 4)]), ones()
    return lambda: lnb.sin(x[next(turns)])


def rebound():
    state = [ones()]

    def step():
        state[0] = state[0] * 0.5
        return state[0]
    return step


@pytest.mark.parametrize("make, text", [
    (alternating, "launch 0 was another kernel"), (alternating_memory, "launch 0 .* other memory"),
    (alternating_parts, r"launch 0 was kernel with \("), (rebound, "launch 0 .* other memory")])
def test_steps_that_do_something_else_the_next_time_are_refused(make, text):
    step = lnb.cuda.graph(make())
    step()
    step()
    for _ in range(2):
        with pytest.raises(DeviceError, match=f"^graph: {text}"):
            step()
        step()
        step()


@pytest.mark.parametrize("read", [
    lambda x: x.sum().item(), lambda x: bool(x.sum() > 0), lambda x: x.to("cpu"), lambda x: x[x > 0],
    lambda x: str(x), lambda x: x[lnb.arange(2, device="cuda")]], ids=["item", "bool", "to", "mask", "str", "index"])
def test_steps_that_read_are_refused(read):
    x = ones()
    step = lnb.cuda.graph(lambda: read(x))
    step()
    step()
    with pytest.raises(DeviceError, match=r"^graph: the step reads what the device has computed .* after the step"):
        step()


@pytest.mark.parametrize("act, text", [
    (lambda x: lnb.synchronize("cuda"), "waits for the device"), (lambda x: x.__dlpack__(), "lends memory"),
    (lambda x: x.__cuda_array_interface__, "lends memory")], ids=["synchronize", "dlpack", "interface"])
def test_steps_that_wait_or_lend_are_refused(act, text):
    x = ones()
    step = lnb.cuda.graph(lambda: act(x + 1))
    step()
    step()
    with pytest.raises(DeviceError, match=f"^graph: the step {text}"):
        step()


def test_norms_keep_their_statistics_where_they_are():
    models = [nn.BatchNorm1d(3).to(device) for device in ("cpu", "cuda")]
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    inputs = [lnb.tensor(x, device=device) for device in ("cpu", "cuda")]
    replayed = lnb.cuda.graph(lambda: models[1](inputs[1]))
    for _ in range(5):
        np.testing.assert_allclose(replayed().to_host(), models[0](inputs[0]).to_host(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(models[1].running_var.to_host(), models[0].running_var.to_host(), rtol=1e-5)


# ------------------------------------------------------------------------------------------------------- captured
class Builder:
    """Stands for cuda.core's: notes what it is asked for; `broken`: the driver has broken the capture off."""

    def __init__(self):
        self.seen, self.broken = [], False

    def create_graph_builder(self):
        return self

    def begin_building(self, mode):
        self.seen.append(mode)

    def end_building(self):
        self.seen.append("end")
        if self.broken:
            raise RuntimeError("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
        return self

    def complete(self):
        return self

    def launch(self, stream):
        self.seen.append("launch")


@pytest.fixture
def builder(monkeypatch):
    """What a graph is built by."""
    found = Builder()

    @contextmanager
    def side_stream():
        yield found
    monkeypatch.setattr(graphs, "SIMULATED", False)
    monkeypatch.setattr(launching, "side_stream", side_stream)
    monkeypatch.setattr(launching, "core_stream", lambda stream: stream)
    monkeypatch.setattr(graphs.cuda, "default_stream", object)
    return found


@pytest.mark.simulated
def test_fourth_call_is_captured_and_later_ones_are_replayed(builder):
    runs, x = [], ones()

    def body():
        runs.append(runtime.is_building())
        return x + 1
    step = lnb.cuda.graph(body)
    results = [step() for _ in range(6)]
    assert builder.seen == ["relaxed", "end", "launch", "launch", "launch"] and runs == [False, False, False, True]
    assert results[3] is results[5] and results[2] is not results[3]
    assert results[3].raw.memory.block.pool is step.pool is not memory.pool and not runtime.is_building()


@pytest.mark.simulated
def test_memory_of_a_graph_stays_and_is_nobody_elses(builder, monkeypatch):
    reads, others = [ones()], []
    root = reads[0].raw.memory

    def body():
        if runtime.is_building():
            other = Thread(target=lambda: others.append(ones()))
            other.start()
            other.join()
        return reads[0] + 1 + 1
    step = lnb.cuda.graph(body)
    for _ in range(4):
        step()
    waiting = step.pool.waiting()
    monkeypatch.setattr(runtime.config, "memory_pool_mb", 0)
    step.pool.release()
    reads.clear()
    gc.collect()
    assert step.pool.waiting() == waiting > 0 and root in step.launches.kept.values()
    assert others[0].raw.memory.block.pool is memory.pool


@pytest.mark.simulated
@pytest.mark.parametrize("broken", [False, True])
def test_errors_of_the_step_are_those_that_are_raised(builder, broken):
    x, builder.broken = ones(), broken

    def body():
        if runtime.is_building():
            x.sum().item()
        return x + 1
    step = lnb.cuda.graph(body)
    for _ in range(3):
        step()
    with pytest.raises(DeviceError, match=r"^graph: the step reads"):
        step()
    assert builder.seen == ["relaxed", "end"] and step().tolist() == [2, 2, 2, 2]


@pytest.mark.simulated
def test_what_the_driver_does_not_capture_is_said(builder):
    x, builder.broken = ones(), True
    step = lnb.cuda.graph(lambda: x + 1)
    for _ in range(3):
        step()
    with pytest.raises(DeviceError, match=r"^graph: the driver did not capture the step \(CUDA_ERROR_STREAM_CAPTURE"):
        step()
    assert step().tolist() == [2, 2, 2, 2] and "launch" not in builder.seen


def captured(body):
    step = lnb.cuda.graph(body)
    for _ in range(4):
        step()
    return step


@pytest.mark.simulated
def test_replays_need_the_process_that_captured(builder, monkeypatch):
    x = ones()
    step = captured(lambda: x + 1)
    monkeypatch.setattr(driver._State, "process", 1)
    with pytest.raises(DeviceError, match=r"^graph: this process was forked"):
        step()


@pytest.mark.simulated
def test_steps_run_as_usual_where_kernels_are_waited_for(builder, monkeypatch):
    x, waits = ones(), []
    step = captured(lambda: x + 1)
    monkeypatch.setattr(graphs.cuda, "synchronize", lambda: waits.append(1))
    with lnb.autograd.detect_anomaly():
        assert step().tolist() == [2, 2, 2, 2]
    assert len(waits) == 1 and builder.seen.count("launch") == 1
    step()
    assert builder.seen.count("launch") == 2


# --------------------------------------------------------------------------------------------------- what is saved
@pytest.mark.simulated
def test_replays_overwrite_what_gradients_have_saved(builder):
    """What was computed from memory that a replay writes cannot be differentiated afterwards; without one it can."""
    x, weight = ones(), lnb.ones(4, dtype="float32", device="cuda", requires_grad=True)

    def body():
        with lnb.no_grad():
            x[...] = x * 0.5
            return x + 1
    step = captured(body)
    is_saved = x.share().version.is_saved()
    assert not is_saved
    for find in (lambda: x, step, lambda: step()[1:]):
        (weight[:find().size] * find()[:3].sum()).sum().backward()
        loss = (weight[:1] * find()[:1]).sum()
        step()
        with pytest.raises(lnb.GradError, match=r"multiply: a value saved at .* was overwritten by graph at .*\.py"):
            loss.backward()


@pytest.mark.simulated
def test_replays_leave_other_memory_as_saved(builder):
    x, other = ones(), ones()
    other += 1
    step = captured(lambda: x + 1)
    weight = lnb.ones(4, dtype="float32", device="cuda", requires_grad=True)
    losses = [(weight * tensor).sum() for tensor in (x, other)]
    step()
    for loss in losses:
        loss.backward()
    assert weight.grad.tolist() == [3, 3, 3, 3]
