"""lucid_nb on an NVIDIA GPU: its tests there, then its times beside PyTorch's on the same card.

    python bench/gpu.py               tests, times, bench/results/cuda.md and cuda.png; needs a GPU, about 8 minutes
    python bench/gpu.py --quick       tiny shapes, no tests, nothing written; in the simulator (NUMBA_ENABLE_CUDASIM=1)

Without PyTorch for CUDA our own times are taken alone. TF32 is off on both sides.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import harness
import numpy as np
import tables
from harness import Group
from tqdm import tqdm

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.backend import table

ROOT = Path(__file__).resolve().parents[1]
draw = np.random.default_rng(0)
torch: Any = None
if find_spec("torch"):
    import torch
    torch = torch if torch.cuda.is_available() else None
F = nn.functional


# ------------------------------------------------------------------------------------------------------ measuring
def host(found: Any) -> np.ndarray:
    """A result of either library as NumPy's."""
    found = found[0] if isinstance(found, tuple) else found
    return found.detach().to("cpu").astype("float32").numpy() if isinstance(found, lnb.Tensor) else \
        found.detach().float().cpu().numpy()


def burst(call: Callable, count: int, wait: Callable[[], Any]) -> Callable[[], None]:
    """So many calls, and the wait until the GPU has done them."""
    def run() -> None:
        for _ in range(count):
            call()
        wait()
    return run


def compare(group: Group, label: str, make: Callable[[Any], Callable], *, rtol: float = 1e-4, count: int = 1,
            flops: float = 0.0, moved: float = 0.0) -> None:
    """A row: `make` gives the work of a library (lnb or torch), on its GPU."""
    ours, peer = make(lnb), make(torch) if torch else None
    if peer is not None:
        harness.check_equal(label, host(ours()), host(peer()), rtol)
    harness.compare(group, label, burst(ours, count, table("cuda").synchronize),
                    burst(peer, count, torch.cuda.synchronize) if peer else None, rtol=None, rounds=9, seconds=0.02,
                    flops=flops * count, moved=moved * count)


def on_gpu(library: Any, array: np.ndarray, requires_grad: bool = False) -> Any:
    """An array as a tensor of a library on the GPU."""
    return library.tensor(array, device="cuda", requires_grad=requires_grad)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Standard normal numbers."""
    return draw.standard_normal(shape, dtype="float32").astype(dtype)


# --------------------------------------------------------------------------------------------------------- groups
STREAMS: dict[str, tuple[Callable, int]] = {          # of rows x; how many arrays a call reads and writes
    "copy": (lambda library, x: x.copy() if library is lnb else x.clone(), 2),
    "add a number": (lambda library, x: x + 1.5, 2),
    "exp": (lambda library, x: library.exp(x), 2),
    "gelu": (lambda library, x: functional(library).gelu(x), 2),
    "add of two": (lambda library, x: x + x, 2),
    "sum": (lambda library, x: x.sum(), 1),
    "max of rows": (lambda library, x: x.max(axis=-1) if library is lnb else x.amax(-1), 1),
    "sum of columns": (lambda library, x: x.sum(axis=0), 1),
    "softmax of rows": (lambda library, x: functional(library).softmax(x, -1), 2),
    "layer norm of rows": (lambda library, x: functional(library).layer_norm(x, (x.shape[-1],)), 2),
}


def functional(library: Any) -> Any:
    """The module of functions of networks."""
    return library.nn.functional


def unary(call: Callable, x: np.ndarray, library: Any) -> Callable:
    """A call of one array."""
    return partial(call, library, on_gpu(library, x))


def product(a: np.ndarray, b: np.ndarray, library: Any) -> Callable:
    """A matrix product."""
    return partial(library.matmul, on_gpu(library, a), on_gpu(library, b))


def streams(is_quick: bool) -> Iterator[Group]:
    """What reads and writes memory: at least 80% of the bandwidth of a copy is asked for."""
    shape = (8, 16) if is_quick else (1 << 14, 1 << 12)
    group = Group("streams", "GB/s of the copy / 0.8")
    x = normal(*shape)
    for label, (call, passes) in STREAMS.items():
        compare(group, label, partial(unary, call, x), moved=passes * x.nbytes, rtol=1e-3)
    yield group


def small(is_quick: bool) -> Iterator[Group]:
    """What a launch costs: a hundred additions of four numbers in a row, 15 us each are asked for."""
    group, count = Group("small operations", "1500 us"), 2 if is_quick else 100
    compare(group, f"{count} additions of 4 numbers", partial(unary, STREAMS["add of two"][0], normal(4)), count=count)
    yield group


def products(is_quick: bool) -> Iterator[Group]:
    """Square products."""
    group = Group("matrix products", "1.0")
    sizes = [(8, "float32")] if is_quick else [(1024, "float32"), (4096, "float32"), (8192, "float32"),
                                               (4096, "float64")]
    for size, dtype in sizes:
        a, b = normal(size, size, dtype=dtype), normal(size, size, dtype=dtype)
        compare(group, f"square {size} {dtype}", partial(product, a, b), flops=2.0 * size**3, rtol=1e-2)
    yield group


# batch, channels, side, filters, taps, stride, groups
LAYERS = [(32, 64, 56, 64, 3, 1, 1), (32, 256, 56, 64, 1, 1, 1), (32, 128, 28, 128, 3, 1, 1),
          (32, 256, 14, 256, 3, 1, 1), (32, 512, 7, 512, 3, 1, 1), (32, 3, 224, 64, 7, 2, 1)]
DEPTHWISE = [(32, 144, 56, 144, 3, 1, 144), (32, 384, 14, 384, 3, 1, 384), (32, 96, 112, 96, 3, 2, 96)]


def convolutions(is_quick: bool) -> Iterator[Group]:
    """Layers of ResNet-50 and MobileNetV2, forward and both gradients."""
    tables_of = {"convolution": [(1, 3, 6, 4, 3, 1, 1)] if is_quick else LAYERS,
                 "depthwise": [(1, 3, 6, 3, 3, 1, 3)] if is_quick else DEPTHWISE}
    targets = {"convolution": "3 (1.2 with cuDNN)", "depthwise": "0.8"}
    for name, layers in tables_of.items():
        groups = [Group(f"{name} {part}", targets[name]) for part in ("forward", "input gradient", "weight gradient")]
        for layer in layers:
            for group, part in zip(groups, (None, 0, 1)):
                compare(group, "x".join(map(str, layer)), partial(convolved, layer, part),
                        flops=flops_of(layer), rtol=1e-2)
        yield from groups


def flops_of(layer: tuple[int, ...]) -> float:
    """Of a forward pass."""
    batch, channels, side, filters, taps, stride, groups = layer
    return 2.0 * batch * filters * (side // stride) ** 2 * channels // groups * taps**2


def convolved(layer: tuple[int, ...], wanted: int | None, library: Any) -> Callable:
    """The forward pass, or the gradient of an operand alone."""
    batch, channels, side, filters, taps, stride, groups = layer
    seeded = np.random.default_rng(1)
    operands = [on_gpu(library, seeded.standard_normal(shape, dtype="float32"), wanted == number) for number, shape in
                enumerate([(batch, channels, side, side), (filters, channels // groups, taps, taps)])]

    def forward() -> Any:
        return functional(library).conv2d(*operands, stride=stride, padding=taps // 2, groups=groups)
    if wanted is None:
        return forward
    result = forward()
    g = on_gpu(library, seeded.standard_normal(tuple(result.shape), dtype="float32"))
    return lambda: library.autograd.grad(result, operands[wanted], g, retain_graph=True)[0]


def training(is_quick: bool) -> Iterator[Group]:
    """Whole steps: gradients forgotten, forward, loss, backward, optimizer."""
    group = Group("training steps", "1.1")
    for label, make, shape in ((("MLP", mlp, (2, 6)),) if is_quick else (
            ("ResNet-18 3x32x32 batch 64", resnet, (64, 3, 32, 32)),
            ("transformer layer 256 T64 batch 32", transformer, (32, 64, 256)))):
        x, target = normal(*shape), draw.integers(0, 4, shape[0])
        compare(group, label, partial(step_of, make, x, target), rtol=1e-2)
    yield group


def mlp(library: Any) -> Any:
    """Two linear layers."""
    return library.nn.Sequential(library.nn.Linear(6, 4), library.nn.ReLU(), library.nn.Linear(4, 4))


def resnet(library: Any) -> Any:
    """ResNet-18 with the small stem."""
    if library is lnb:
        return lnb.models.resnet_18(10, stem_type="small")
    import peers
    return peers.ResNet18(10, True)


def transformer(library: Any) -> Any:
    """A transformer layer and a linear one over everything."""
    layer = library.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    return library.nn.Sequential(layer, library.nn.Flatten(), library.nn.Linear(64 * 256, 10))


def step_of(make: Callable, x: np.ndarray, target: np.ndarray, library: Any) -> Callable:
    """A step of gradient descent; both libraries start from the same weights."""
    model, seeded = make(library), np.random.default_rng(2)
    state = {name: 0.1 * seeded.standard_normal(tuple(value.shape)).astype("float32") for name, value in
             model.state_dict().items() if "running" not in name and "num" not in name}
    model.load_state_dict({name: library.tensor(value) for name, value in state.items()}, strict=False)
    model = model.to("cuda")
    rule = library.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    held, wanted = on_gpu(library, x), on_gpu(library, target)

    def run() -> Any:
        rule.zero_grad()
        loss = functional(library).cross_entropy(model(held), wanted)
        loss.backward()
        rule.step()
        return loss
    return run


GROUPS = (streams, small, products, convolutions, training)


# ------------------------------------------------------------------------------------------------------- the script
def tested() -> str:
    """The tests of kernels, ops, networks and optimizers on the GPU; what pytest says in the end."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "cuda_simulator and not sweep", "tests"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False,
                          env={key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"})
    print(done.stdout[-4000:])
    if done.returncode:
        sys.exit(f"bench/gpu.py: tests fail on the GPU (pytest's exit {done.returncode}). Mend them first.")
    return done.stdout.strip().splitlines()[-1].strip("= ")


def main() -> None:
    """Tests, times, table and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny shapes, no tests, nothing written")
    parser.add_argument("--skip-tests", action="store_true", help="times alone")
    given = parser.parse_args()
    if not lnb.backend.is_usable("cuda"):
        sys.exit(f"bench/gpu.py: {table_error()}")
    if torch:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    said = "" if given.quick or given.skip_tests else tested()
    done = [group for make in tqdm(GROUPS, disable=None) for group in make(given.quick)]
    print("\n".join(tables.summary(done)))
    if not given.quick:
        write(done, said)


def table_error() -> str:
    """Why there is no GPU."""
    try:
        table("cuda")
    except lnb.errors.BackendError as error:
        return str(error)
    return ""


def write(done: list[Group], said: str) -> None:
    """The table and the plot beside it."""
    import plots
    notes = [f"{table('cuda').description()}. Ratio: median of our time / PyTorch's on the same card, interleaved, "
             "with a wait for the GPU after each; below 1 is faster.", *[f"Tests on the GPU: {said}."] * bool(said)]
    versions = {"lucid_nb": lnb.__version__, "torch": torch.__version__ if torch else "none"}
    text = tables.text("On an NVIDIA GPU", done, versions, notes, "torch")
    print(tables.save(text, harness.RESULTS / "cuda.md"), plots.save(done, harness.RESULTS / "cuda.png"))


if __name__ == "__main__":
    main()
