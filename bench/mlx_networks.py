"""Networks and training steps of mlx.nn and mlx.optimizers, and the same of ours on device="mlx", of equal weights."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as theirs
import mlx.optimizers
import numpy as np

import lucid_nb as lnb
from lucid_nb import nn

Pair = tuple[Any, Any]                      # a network of ours, and of MLX
Step = Callable[[], Any]


# ------------------------------------------------------------------------------------------------------- networks
class LeNet(theirs.Module):
    """LeNet-5 for images whose channels are last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = theirs.Conv2d(1, 6, 5), theirs.Conv2d(6, 16, 5)
        self.pool = theirs.AvgPool2d(2)
        self.layers = [theirs.Linear(400, 120), theirs.Linear(120, 84), theirs.Linear(84, 10)]

    def __call__(self, x: Any) -> Any:
        x = self.pool(mx.tanh(self.conv1(x)))
        x = self.pool(mx.tanh(self.conv2(x))).reshape(x.shape[0], -1)
        for layer in self.layers[:-1]:
            x = mx.tanh(layer(x))
        return self.layers[-1](x)


class Last(theirs.Module):
    """A layer of sequences, of which a linear layer reads one position."""

    def __init__(self, layer: Any, read: Callable[[Any], Any], size: int) -> None:
        super().__init__()
        self.layer, self.read, self.head = layer, read, theirs.Linear(size, 10)

    def __call__(self, x: Any) -> Any:
        return self.head(self.read(self.layer(x)))


class OurLast(nn.Module):
    """The same of ours."""

    def __init__(self, layer: nn.Module, read: Callable[[Any], Any], size: int) -> None:
        super().__init__()
        self.layer, self.read, self.head = layer, read, nn.Linear(size, 10)

    def forward(self, x: Any) -> Any:
        """The scores of the classes."""
        return self.head(self.read(self.layer(x)))


class Encoder(theirs.TransformerEncoderLayer):
    """MLX's layer with biases in its attention, as ours has them, and without a mask."""

    def __init__(self, dims: int, heads: int, hidden: int) -> None:
        super().__init__(dims, heads, hidden, norm_first=False)
        self.attention = theirs.MultiHeadAttention(dims, heads, bias=True)

    def __call__(self, x: Any) -> Any:
        return super().__call__(x, None)


# ------------------------------------------------------------------------------------------------- equal weights
def give(layer: Any, **arrays: np.ndarray) -> None:
    """Set weights of a layer of MLX."""
    for name, array in arrays.items():
        setattr(layer, name, mx.array(np.ascontiguousarray(array)))


def give_all(layer: Any, source: Any) -> None:
    """Set weight and bias of a layer of MLX by those of ours; the channels of a kernel go last."""
    weight = source.weight.numpy()
    give(layer, weight=np.moveaxis(weight, 1, -1) if weight.ndim > 2 else weight, bias=source.bias.numpy())


def mlp() -> Pair:
    """Three linear layers."""
    sizes = (784, 512, 512, 10)
    ours = nn.Sequential(nn.Linear(*sizes[:2]), nn.ReLU(), nn.Linear(*sizes[1:3]), nn.ReLU(), nn.Linear(*sizes[2:]))
    peer = theirs.Sequential(theirs.Linear(*sizes[:2]), theirs.ReLU(), theirs.Linear(*sizes[1:3]), theirs.ReLU(),
                             theirs.Linear(*sizes[2:]))
    for number in (0, 2, 4):
        give_all(peer.layers[number], ours[number])
    return ours, peer


def lenet() -> Pair:
    """LeNet-5."""
    ours, peer = lnb.models.lenet_5(), LeNet()
    for layer, source in zip((peer.conv1, peer.conv2, *peer.layers),
                             (ours.features[0], ours.features[3], *(ours.classifier[i] for i in (0, 2, 4)))):
        give_all(layer, source)
    # Both flatten what is left of an image: the first linear layer reads it in another order.
    weight = ours.classifier[0].weight.numpy().reshape(120, 16, 5, 5)
    give(peer.layers[0], weight=np.moveaxis(weight, 1, -1).reshape(120, 400))
    return ours, peer


def transformer() -> Pair:
    """A transformer layer whose first position is read."""
    ours = OurLast(nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True), lambda y: y[:, 0], 128)
    peer = Last(Encoder(128, 4, 512), lambda y: y[:, 0], 128)
    layer, source = peer.layer, ours.layer
    weights, biases = (np.split(x.numpy(), 3) for x in (source.self_attn.in_proj_weight, source.self_attn.in_proj_bias))
    attention = layer.attention
    for part, weight, bias in zip((attention.query_proj, attention.key_proj, attention.value_proj), weights, biases):
        give(part, weight=weight, bias=bias)
    for part, own in ((attention.out_proj, source.self_attn.out_proj), (layer.ln1, source.norm1),
                      (layer.ln2, source.norm2), (layer.linear1, source.linear1), (layer.linear2, source.linear2),
                      (peer.head, ours.head)):
        give_all(part, own)
    return ours, peer


def lstm() -> Pair:
    """A recurrent layer whose last output is read. Ours has a bias more."""
    ours = OurLast(nn.LSTM(64, 128, batch_first=True), lambda found: found[0][:, -1], 128)
    peer = Last(theirs.LSTM(64, 128), lambda found: found[0][:, -1], 128)
    source = ours.layer
    give(peer.layer, Wx=source.weight_ih_l0.numpy(), Wh=source.weight_hh_l0.numpy(),
         bias=source.bias_ih_l0.numpy() + source.bias_hh_l0.numpy())
    give_all(peer.head, ours.head)
    return ours, peer


# ---------------------------------------------------------------------------------------------------------- steps
def our_step(model: Any, x: np.ndarray, target: np.ndarray, rule: str, rate: float) -> Step:
    """A training step of ours on device="mlx"; its loss, computed by the optimizer's step."""
    model.to("mlx")
    data, classes = lnb.tensor(x, device="mlx"), lnb.tensor(target, device="mlx")
    optimizer, loss_of = getattr(lnb.optim, rule)(model.parameters(), lr=rate), nn.CrossEntropyLoss()

    def run() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(data), classes)
        loss.backward()
        optimizer.step()
        return loss
    return run


def their_step(model: Any, x: np.ndarray, target: np.ndarray, rule: str, rate: float) -> Step:
    """A training step of mlx.nn; its loss."""
    images = np.moveaxis(x, 1, -1) if x.ndim == 4 else x
    data, classes = mx.array(np.ascontiguousarray(images)), mx.array(target)
    options = {"bias_correction": True} if rule == "Adam" else {}
    optimizer = getattr(mlx.optimizers, rule)(learning_rate=rate, **options)

    def loss_of(images: Any, classes: Any) -> Any:
        return theirs.losses.cross_entropy(model(images), classes, reduction="mean")
    slopes = theirs.value_and_grad(model, loss_of)

    def run() -> Any:
        loss, gradients = slopes(data, classes)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, loss)
        return loss
    return run


NETWORKS: dict[str, tuple[Callable[[], Pair], tuple[int, ...], str]] = {
    "MLP 784-512-512-10 batch 64": (mlp, (64, 784), "SGD"),
    "LeNet-5 batch 64": (lenet, (64, 1, 32, 32), "Adam"),
    "transformer layer 128 T32 batch 8": (transformer, (8, 32, 128), "Adam"),
    "LSTM T20 I64 H128 batch 32": (lstm, (32, 20, 64), "Adam"),
}


def steps_of(label: str, batch: int | None = None) -> tuple[Step, Step]:
    """A training step of ours and of MLX from equal weights, on the same data; `batch` may be another than the label's.
    """
    make, (usual, *sizes), rule = NETWORKS[label]
    shape = (batch or usual, *sizes)
    draw = np.random.default_rng(0)
    x, target = draw.standard_normal(shape).astype(np.float32), draw.integers(0, 10, shape[0])
    lnb.random.seed(0)
    ours, peer = make()
    return our_step(ours, x, target, rule, 1e-3), their_step(peer, x, target, rule, 1e-3)
