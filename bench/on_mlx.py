"""device="mlx" beside MLX itself, in one process: what a call costs to record, training steps, memory over 1,000 steps.

    python bench/on_mlx.py [calls steps memory]       about 2 minutes; writes bench/results/mlx.md when all are run

A call is only recorded, by us as by mlx.core: times are of the calling thread, in bursts of as many results as wait
before any is computed. Steps of training are timed whole, computed, turn by turn.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import mlx_networks as networks
import numpy as np
import tables
from harness import RESULTS
from memory import resident

import lucid_nb as lnb
from lucid_nb.backend import table

Call = Callable[[], Any]
F = lnb.nn.functional
BURST, ROUNDS = 32, 41            # calls, fewer than are recorded before computing starts; rounds of both sides
SECONDS, FEWEST = 8.0, 9          # of a pair of training steps, and rounds at least
LIMITS = {"calls": 8.0, "steps": 1.1}
draw = np.random.default_rng(0)


def normal(*shape: int) -> lnb.Tensor:
    """Normal numbers on mlx, computed."""
    return lnb.tensor(draw.standard_normal(shape).astype(np.float32), device="mlx")


def turned(x: lnb.Tensor) -> Any:
    """The array of MLX with its channels last."""
    return mx.contiguous(mx.moveaxis(x.mlx(), 1, -1))


# ---------------------------------------------------------------------------------------------------------- calls
def calls() -> dict[str, tuple[Call, Call]]:
    """A call of ours, and what a user of mlx.core writes for it."""
    x, y, row = normal(8, 8), normal(8, 8), normal(8)
    leaf = lnb.ones((8, 8), device="mlx", requires_grad=True)
    a, b, c = x.mlx(), y.mlx(), row.mlx()
    image, kernel = normal(1, 4, 8, 8), normal(4, 4, 3, 3)
    images, kernels = turned(image), turned(kernel)
    heads = normal(1, 2, 8, 4)
    h = heads.mlx()
    return {
        "x + y": (lambda: x + y, lambda: a + b), "x * 2.0": (lambda: x * 2.0, lambda: a * 2.0),
        "exp": (lambda: lnb.exp(x), lambda: mx.exp(a)), "tanh": (lambda: lnb.tanh(x), lambda: mx.tanh(a)),
        "sigmoid": (lambda: lnb.sigmoid(x), lambda: mx.sigmoid(a)),
        "relu": (lambda: F.relu(x), lambda: mx.maximum(a, 0.0)),
        "where(x > y, x, y)": (lambda: lnb.where(x > y, x, y), lambda: mx.where(a > b, a, b)),
        "x + y, recorded for a gradient": (lambda: leaf + y, lambda: a + b),
        "sum": (lambda: x.sum(), lambda: a.sum()), "sum(axis=0)": (lambda: x.sum(axis=0), lambda: a.sum(axis=0)),
        "max(axis=0)": (lambda: x.max(axis=0), lambda: a.max(axis=0)), "mean": (lambda: x.mean(), lambda: a.mean()),
        "x @ y": (lambda: x @ y, lambda: a @ b),
        "linear": (lambda: F.linear(x, y, row), lambda: mx.addmm(c, a, b.T)),
        "softmax": (lambda: F.softmax(x, -1), lambda: mx.softmax(a, -1)),
        "layer_norm": (lambda: F.layer_norm(x, (8,), row, row), lambda: mx.fast.layer_norm(a, c, c, 1e-5)),
        "attention": (lambda: F.scaled_dot_product_attention(heads, heads, heads),
                      lambda: mx.fast.scaled_dot_product_attention(h, h, h, scale=0.5)),
        "conv2d": (lambda: F.conv2d(image, kernel, padding=1), lambda: mx.conv_general(images, kernels, padding=1)),
        "reshape": (lambda: x.reshape(4, 16), lambda: a.reshape(4, 16)), "x.T": (lambda: x.T, lambda: a.T),
        "x[1:3]": (lambda: x[1:3], lambda: a[1:3]),
        "concatenate": (lambda: lnb.concatenate([x, y]), lambda: mx.concatenate([a, b])),
        "astype": (lambda: x.astype(np.float16), lambda: a.astype(mx.float16)),
        "zeros": (lambda: lnb.zeros((8, 8), device="mlx"), lambda: mx.zeros((8, 8))),
    }


def burst(call: Call) -> float:
    """Microseconds of this thread for a call."""
    table("mlx").synchronize()
    start = time.thread_time()
    for _ in range(BURST):
        call()
    return (time.thread_time() - start) / BURST * 1e6


def alternating(pair: Iterable[Call], measure: Callable[[Call], float], rounds: int, seconds: float,
                fewest: int = 3) -> list[list[float]]:
    """Times of two sides that take turns: as many rounds, or as long as is given."""
    first, second = pair
    found: list[list[float]] = [[], []]
    start = time.perf_counter()
    while len(found[0]) < rounds and (len(found[0]) < fewest or time.perf_counter() - start < seconds):
        order = (0, 1) if len(found[0]) % 2 == 0 else (1, 0)
        for side in order:
            found[side].append(measure((first, second)[side]))
    return found


def call_rows() -> list[str]:
    """A line for each call."""
    rows = []
    for label, pair in calls().items():
        ours, theirs = map(statistics.median, alternating(pair, burst, ROUNDS, SECONDS))
        rows.append([label, f"{ours:.2f}", f"{theirs:.2f}", f"{ours - theirs:.2f}"])
        print(*rows[-1], flush=True)
    over = [float(row[-1]) for row in rows]
    slow = ", ".join(row[0] for row in rows if float(row[-1]) > LIMITS["calls"])
    return ["", "## A call", "", f"Microseconds to record; asked for: at most {LIMITS['calls']:g} over mlx.core. "
            f"Median {statistics.median(over):.2f}; above the limit: {slow or 'none'}.",
            *tables.markdown(["call", "ours", "mlx.core", "over"], rows)]


# ---------------------------------------------------------------------------------------------------------- steps
def whole(step: Call) -> float:
    """Milliseconds of a step and of what it put off, on the wall."""
    start = time.perf_counter()
    mx.eval(getattr(step(), "raw", []))
    table("mlx").synchronize()
    return (time.perf_counter() - start) * 1e3


def step_rows() -> list[str]:
    """A line for each network; both sides compute the same loss in their first steps."""
    rows = []
    for label in networks.NETWORKS:
        pair = networks.steps_of(label)
        first, second = (float(step().item()) for step in pair)
        np.testing.assert_allclose(first, second, rtol=1e-4, err_msg=label)
        times = alternating(pair, whole, 1000, SECONDS, FEWEST)
        ours, theirs = map(statistics.median, times)
        ratio = statistics.median(a / b for a, b in zip(*times))
        rows.append([label, f"{ours:.2f}", f"{theirs:.2f}", f"{ratio:.2f}", str(len(times[0]))])
        print(*rows[-1], flush=True)
    return ["", "## A training step", "", "Milliseconds with everything computed; asked for: at most "
            f"{LIMITS['steps']:g} of mlx.nn with mlx.optimizers. Ratio: median of neighbours.",
            *tables.markdown(["network", "ours", "mlx.nn", "ratio", "rounds"], rows)]


# --------------------------------------------------------------------------------------------------------- memory
def thousand(step: Call) -> list[list[str]]:
    """Memory and time while a step is done a thousand times, and nothing is read or evaluated by hand."""
    rows, start = [], time.perf_counter()
    for number in range(1, 1001):
        step()
        if number in (100, 400, 700, 1000):
            table("mlx").synchronize()
            now = time.perf_counter()
            rows.append([str(number), f"{mx.get_active_memory() / 2**20:.2f}", f"{resident('VmRSS'):.1f}",
                         f"{(now - start) * 1e3 / (100 if number == 100 else 300):.2f}"])
            start = now
    return rows


def memory_rows() -> list[str]:
    """A loop of training, and one under no_grad whose state is its own past."""
    step, layer = networks.steps_of("LeNet-5 batch 64", 1)[0], lnb.nn.Linear(256, 256).to("mlx")
    state = normal(16, 256)

    def infer() -> None:
        nonlocal state
        with lnb.no_grad():
            state = lnb.tanh(layer(state))
    lines = ["", "## A thousand steps", "", "Without a read and without eval. MiB that MLX holds, MiB of the process, "
             "and milliseconds of a step since the line before."]
    for title, loop in (("training LeNet-5, batch 1", step), ("inference under no_grad", infer)):
        rows = [[title, *row] for row in thousand(loop)]
        print(*rows, sep="\n", flush=True)
        lines += tables.markdown(["loop", "steps", "MLX (MiB)", "process (MiB)", "a step (ms)"], rows)
    return lines


PARTS = {"calls": call_rows, "steps": step_rows, "memory": memory_rows}


def main() -> None:
    """Run the parts that are named, or all, and then write the table."""
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        raise SystemExit(f"on_mlx: unknown {' '.join(sorted(unknown))}. Use some of {' '.join(PARTS)}.")
    lines = [line for name in sys.argv[1:] or PARTS for line in PARTS[name]()]
    head = tables.text("device=\"mlx\" beside MLX", [], {"lucid_nb": lnb.__version__, "mlx": version("mlx")},
                       [f"MLX on: {table('mlx').description()}."], "mlx", "python bench/on_mlx.py")
    text = "\n".join([head.split("\n\n|")[0].rstrip(), *lines, ""])
    print(text)
    if not sys.argv[1:]:
        print(tables.save(text, RESULTS / "mlx.md"))


if __name__ == "__main__":
    main()
