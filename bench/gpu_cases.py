"""What bench/gpu.py times: work for either library on its GPU, or small on the host for a dry run."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import lucid_nb as lnb

Make = Callable[[Any], Callable]
# What is asked of our time / PyTorch's, for each group. Groups that begin with the same word run in one process.
TARGETS = {"streams": "GB/s of the copy / 0.8", "small operations": "1500 us", "matrix products": "1.0",
           "convolution forward": "1.2 with cuDNN, 3 without", "convolution input gradient": "1.2, 3",
           "convolution weight gradient": "1.2, 3", "depthwise forward": "0.8", "depthwise input gradient": "0.8",
           "depthwise weight gradient": "0.8", "training steps": "1.1", "sorting": ""}


class Case(NamedTuple):
    """A row: `make` gives the work of a library (lnb or torch), which calls it `count` times."""

    group: str
    label: str
    make: Make
    rtol: float = 1e-4
    count: int = 1
    flops: float = 0.0
    moved: float = 0.0
    is_by_library: bool = False              # one of NVIDIA's may do it, and our own kernels are timed as well

    @property
    def chapter(self) -> str:
        """What its process is called."""
        return self.group.split()[0]

    @property
    def name(self) -> str:
        """What it is called among all."""
        return f"{self.group}, {self.label}"


class Where:
    """The device, and how large the work is."""

    device = "cuda"
    is_small = False


def size(large: int, small: int) -> int:
    """A number of the work."""
    return small if Where.is_small else large


def on_device(library: Any, array: np.ndarray, requires_grad: bool = False, dtype: str = "") -> Any:
    """An array as a tensor of a library."""
    found = library.tensor(array, device=Where.device, requires_grad=requires_grad)
    if not dtype:
        return found
    return found.astype(dtype) if library is lnb else found.to(getattr(library, dtype))


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers, the same for every library."""
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32")


def functional(library: Any) -> Any:
    """The module of functions of networks."""
    return library.nn.functional


# --------------------------------------------------------------------------------------------------------- memory
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


def unary(call: Callable, shape: tuple[int, ...], library: Any) -> Callable:
    """A call of one array."""
    return partial(call, library, on_device(library, normal(*shape)))


def streams() -> Iterator[Case]:
    """What reads and writes memory: at least 80% of the bandwidth of a copy is asked for."""
    shape = size(1 << 14, 8), size(1 << 12, 16)
    for label, (call, passes) in STREAMS.items():
        yield Case("streams", label, partial(unary, call, shape), 1e-3, moved=passes * 4 * shape[0] * shape[1])


def small() -> Iterator[Case]:
    """What a launch costs: a hundred additions of four numbers in a row, 15 us each are asked for."""
    count = size(100, 2)
    yield Case("small operations", f"{count} additions of 4 numbers", partial(unary, STREAMS["add of two"][0], (4,)),
               count=count)


# -------------------------------------------------------------------------------------------------------- products
def product(shape: tuple[int, ...], dtype: str, library: Any) -> Callable:
    """A product of two square matrices, or of batches of them."""
    return partial(library.matmul, *(on_device(library, normal(*shape, seed=seed), dtype=dtype) for seed in (0, 1)))


def layer(rows: int, width: int, dtype: str, library: Any) -> Callable:
    """A linear layer with a bias."""
    given = [on_device(library, normal(*shape, seed=seed), dtype=dtype)
             for seed, shape in enumerate([(rows, width), (width, width), (width,)])]
    return partial(functional(library).linear, *given)


def products() -> Iterator[Case]:
    """Square products, a batch of them, and a linear layer."""
    for large, dtype in ((1024, "float32"), (4096, "float32"), (8192, "float32"), (4096, "float64"),
                         (8192, "float16"), (8192, "bfloat16")):
        n = size(large, 8)
        label = f"square {large}" + ("" if dtype == "float32" else f" {dtype}")
        yield Case("matrix products", label, partial(product, (n, n), dtype), 1e-2 if "6" in dtype[-2:] else 1e-3,
                   flops=2.0 * n**3, is_by_library=True)
    batch, n = size(64, 2), size(512, 8)
    yield Case("matrix products", "64 of 512", partial(product, (batch, n, n), "float32"), 1e-3,
               flops=2.0 * batch * n**3, is_by_library=True)
    rows, n = size(8192, 8), size(4096, 8)
    yield Case("matrix products", "linear 8192 x 4096", partial(layer, rows, n, "float32"), 1e-3,
               flops=2.0 * rows * n * n, is_by_library=True)


# ---------------------------------------------------------------------------------------------------- convolutions
# batch, channels, side, filters, taps, stride, groups: layers of ResNet-50 and of MobileNetV2
LAYERS = [(32, 64, 56, 64, 3, 1, 1), (32, 256, 56, 64, 1, 1, 1), (32, 128, 28, 128, 3, 1, 1),
          (32, 256, 14, 256, 3, 1, 1), (32, 512, 7, 512, 3, 1, 1), (32, 3, 224, 64, 7, 2, 1)]
DEPTHWISE = [(32, 144, 56, 144, 3, 1, 144), (32, 384, 14, 384, 3, 1, 384), (32, 96, 112, 96, 3, 2, 96)]


def convolutions() -> Iterator[Case]:
    """The forward pass and both gradients."""
    for name, layers in (("convolution", LAYERS), ("depthwise", DEPTHWISE)):
        for part, wanted in (("forward", None), ("input gradient", 0), ("weight gradient", 1)):
            for given in layers:
                batch, channels, side, filters, taps, stride, groups = given
                if Where.is_small:
                    batch, side, groups = 1, 8, min(groups, 4)
                    channels, filters = min(channels, 4), min(filters, 4)
                cut = batch, channels, side, filters, taps, stride, groups
                flops = 2.0 * batch * filters * (side // stride) ** 2 * channels // groups * taps**2
                yield Case(f"{name} {part}", "x".join(map(str, given)), partial(convolved, cut, wanted), 1e-3,
                           flops=flops, is_by_library=name == "convolution")


def convolved(layer: tuple[int, ...], wanted: int | None, library: Any) -> Callable:
    """The forward pass, or the gradient of an operand alone."""
    batch, channels, side, filters, taps, stride, groups = layer
    operands = [on_device(library, normal(*shape, seed=number), wanted == number) for number, shape in
                enumerate([(batch, channels, side, side), (filters, channels // groups, taps, taps)])]

    def forward() -> Any:
        return functional(library).conv2d(*operands, stride=stride, padding=taps // 2, groups=groups)
    if wanted is None:
        return forward
    result = forward()
    g = on_device(library, normal(*result.shape, seed=2))
    return lambda: library.autograd.grad(result, operands[wanted], g, retain_graph=True)[0]


# -------------------------------------------------------------------------------------------------------- training
def training() -> Iterator[Case]:
    """Whole steps: gradients forgotten, forward, loss, backward, optimizer."""
    shape = (64, 3, 32, 32) if not Where.is_small else (2, 3, 32, 32)
    yield Case("training steps", "ResNet-18 3x32x32 batch 64", partial(step_of, resnet, shape), 1e-2,
               is_by_library=True)
    shape = (32, 64, 256) if not Where.is_small else (2, 64, 256)
    yield Case("training steps", "transformer layer 256 T64 batch 32", partial(step_of, transformer, shape), 1e-2,
               is_by_library=True)


def resnet(library: Any) -> Any:
    """ResNet-18 with the small stem."""
    if library is lnb:
        return lnb.models.resnet_18(10, stem_type="small")
    import peers
    return peers.ResNet18(10, True)


def transformer(library: Any) -> Any:
    """A transformer layer and a linear one over everything."""
    block = library.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    return library.nn.Sequential(block, library.nn.Flatten(), library.nn.Linear(64 * 256, 10))


def step_of(make: Callable, shape: tuple[int, ...], library: Any) -> Callable:
    """A step of gradient descent; both libraries start from the same weights."""
    model, seeded = make(library), np.random.default_rng(2)
    state = {name: 0.1 * seeded.standard_normal(tuple(value.shape)).astype("float32") for name, value in
             model.state_dict().items() if "running" not in name and "num" not in name}
    model.load_state_dict({name: library.tensor(value) for name, value in state.items()}, strict=False)
    model = model.to(Where.device)
    rule = library.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    held = on_device(library, normal(*shape))
    wanted = on_device(library, np.random.default_rng(3).integers(0, 4, shape[0]))

    def run() -> Any:
        rule.zero_grad()
        loss = functional(library).cross_entropy(model(held), wanted)
        loss.backward()
        rule.step()
        return loss
    return run


def sorting() -> Iterator[Case]:
    """One long row, and many short ones."""
    for label, shape in (("a row of 2**24", (size(1 << 24, 64),)), ("2**14 rows of 1024", (size(1 << 14, 2), 1024))):
        yield Case("sorting", label, partial(unary, lambda library, x: in_order(library, x), shape),
                   is_by_library=len(shape) == 1)


def in_order(library: Any, x: Any) -> Any:
    """The elements of the last axis in order."""
    return library.sort(x) if library is lnb else library.sort(x)[0]


def cases() -> list[Case]:
    """All rows, in the order of the table."""
    return [case for group in (streams, small, products, convolutions, training, sorting) for case in group()]
