"""Convolutions: the layers of ResNet-50 forward and backward, and what other networks use, beside PyTorch's."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from harness import Group, compare
from peers import CHANNELS_LAST, channels_last
from work import Work

import lucid_nb as lnb
from lucid_nb import backend
from lucid_nb.shapes import Window

F = lnb.nn.functional
draw = np.random.default_rng(0)


class Layer(NamedTuple):
    """Channels in and out, spatial sizes, kernel, stride, padding, dilation, groups."""

    inputs: int
    outputs: int
    sizes: tuple[int, ...]
    taps: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def label(self) -> str:
        """What the table calls it."""
        rest = [f"{key}{value}" for key, value, usual in
                (("s", self.stride, 1), ("d", self.dilation, 1), ("g", self.groups, 1)) if value != usual]
        taps, sizes = "x".join([str(self.taps)] * len(self.sizes)), "x".join(map(str, self.sizes))
        return " ".join([f"{taps} {self.inputs}-{self.outputs} {sizes}", *rest])


RESNET_50 = [Layer(3, 64, (224, 224), 7, 2, 3), Layer(64, 64, (56, 56), 1), Layer(64, 64, (56, 56), 3, 1, 1),
             Layer(64, 256, (56, 56), 1), Layer(256, 64, (56, 56), 1), Layer(256, 128, (56, 56), 1),
             Layer(128, 128, (56, 56), 3, 2, 1), Layer(256, 512, (56, 56), 1, 2), Layer(128, 512, (28, 28), 1),
             Layer(512, 128, (28, 28), 1), Layer(128, 128, (28, 28), 3, 1, 1), Layer(256, 256, (28, 28), 3, 2, 1),
             Layer(256, 1024, (14, 14), 1), Layer(1024, 256, (14, 14), 1), Layer(256, 256, (14, 14), 3, 1, 1),
             Layer(512, 512, (14, 14), 3, 2, 1), Layer(512, 2048, (7, 7), 1), Layer(2048, 512, (7, 7), 1),
             Layer(512, 512, (7, 7), 3, 1, 1)]
OTHERS = [(32, Layer(1, 6, (28, 28), 5, 1, 2)), (32, Layer(6, 16, (14, 14), 5)), (32, Layer(3, 32, (32, 32), 3, 1, 1)),
          (32, Layer(32, 64, (16, 16), 3, 1, 1)), (4, Layer(64, 128, (4000,), 9, 1, 4)),
          (4, Layer(1, 64, (16000,), 80, 4, 38)), (2, Layer(16, 32, (16, 32, 32), 3, 1, 1)),
          (8, Layer(128, 128, (28, 28), 3, 1, 1, groups=32)), (8, Layer(64, 64, (28, 28), 3, 1, 1, groups=4)),
          (4, Layer(64, 64, (56, 56), 3, 1, 2, 2)), (4, Layer(64, 64, (32, 32), 3, 1, 4, 4))]
TRANSPOSED = [(4, 64, 32, (28, 28), 4, 2, 1), (8, 128, 64, (14, 14), 2, 2, 0), (2, 32, 16, (8, 16, 16), 4, 2, 1)]


def operands(batch: int, layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """An input and weights."""
    x = draw.standard_normal((batch, layer.inputs, *layer.sizes)).astype(np.float32)
    shape = (layer.outputs, layer.inputs // layer.groups, *[layer.taps] * len(layer.sizes))
    return x, draw.standard_normal(shape).astype(np.float32) * np.float32(0.05)


def forward(group: Group, batch: int, layer: Layer, has_others: bool = True) -> None:
    """A row of the convolution itself."""
    x, w = operands(batch, layer)
    ours, theirs = (lnb.tensor(x), lnb.tensor(w)), (torch.from_numpy(x), torch.from_numpy(w))
    name, options = f"conv{len(layer.sizes)}d", tuple(layer[4:])
    result, call = getattr(F, name)(*ours, None, *options), getattr(torch.nn.functional, name)
    turned = channels_last(theirs)
    others = {CHANNELS_LAST: lambda: call(*turned, None, *options)} if turned and has_others else {}
    work = Work(name, [x, w], dict(zip(("stride", "padding", "dilation", "groups"), options)))
    with torch.no_grad():
        compare(group, f"{layer.label} batch {batch}", lambda: getattr(F, name)(*ours, None, *options),
                lambda: call(*theirs, None, *options), rtol=1e-3, rounds=9, flops=2.0 * result.size * w[0].size,
                others=others, work=work if has_others else None)


def gradient(group: Group, batch: int, layer: Layer, of_weights: bool) -> None:
    """A row of one gradient, without the forward pass."""
    x, w = operands(batch, layer)
    count = len(layer.sizes)
    stride, padding, dilation = ([value] * count for value in layer[4:7])
    window = Window(tuple(stride), tuple(padding), tuple(padding), tuple(dilation), layer.groups)
    g = draw.standard_normal((batch, layer.outputs, *window.output_sizes(layer.sizes, w.shape[2:]))).astype(np.float32)
    table = backend.table("cpu")
    tensors = [torch.from_numpy(array) for array in (g, x, w)]
    turned = channels_last(tensors)

    def theirs(operands: Sequence[torch.Tensor] = tensors) -> torch.Tensor:
        wanted = [not of_weights, of_weights, False]
        found = torch.ops.aten.convolution_backward(*operands, None, stride, padding, dilation, False, [0] * count,
                                                    layer.groups, wanted)
        return found[int(of_weights)]
    ours = (lambda: table.conv_weight_grad(x, g, window, w.shape)) if of_weights else \
        (lambda: table.conv_input_grad(g, w, window, x.shape))
    compare(group, f"{layer.label} batch {batch}{' dw' if of_weights else ' dx'}", ours, theirs, rtol=2e-2, rounds=9,
            flops=2.0 * g.size * w[0].size, others={CHANNELS_LAST: lambda: theirs(turned)} if turned else {})


def transposed(group: Group, batch: int, inputs: int, outputs: int, sizes: tuple[int, ...], taps: int, stride: int,
               padding: int) -> None:
    """A row of a transposed convolution."""
    x = draw.standard_normal((batch, inputs, *sizes)).astype(np.float32)
    w = draw.standard_normal((inputs, outputs, *[taps] * len(sizes))).astype(np.float32) * np.float32(0.05)
    ours, theirs = (lnb.tensor(x), lnb.tensor(w)), (torch.from_numpy(x), torch.from_numpy(w))
    name = f"conv_transpose{len(sizes)}d"
    with torch.no_grad():
        compare(group, f"transposed {taps} {inputs}-{outputs} {'x'.join(map(str, sizes))} s{stride} batch {batch}",
                lambda: getattr(F, name)(*ours, None, stride, padding),
                lambda: getattr(torch.nn.functional, name)(*theirs, None, stride, padding), rtol=1e-3, rounds=9,
                flops=2.0 * x.size * w[0].size)


def run() -> list[Group]:
    """All groups of convolutions but depthwise ones."""
    return list(groups())


def groups() -> Iterator[Group]:
    """The groups as the issue judges them."""
    group = Group("conv forward, ResNet-50", "0.85 / 1.10")
    for batch in (1, 8):
        for layer in RESNET_50:
            forward(group, batch, layer)
    yield group
    for title, of_weights, target in (("conv input gradient", False, "0.90 / 1.15"),
                                      ("conv weight gradient", True, "0.80 / 1.15")):
        group = Group(title, target)
        for batch in (1, 8):
            for layer in RESNET_50[1 - of_weights:]:
                gradient(group, batch, layer, of_weights)
        yield group
    group = Group("LeNet, CIFAR, audio, 3-D, grouped ...", "0.90 / 1.20")
    for batch, layer in OTHERS:
        forward(group, batch, layer)
    for case in TRANSPOSED:
        transposed(group, *case)
    yield group
