"""Whole training steps, and the steps of optimizers alone, beside PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import peers
import torch
from harness import Group, compare

import lucid_nb as lnb

draw = np.random.default_rng(0)


class LastStep:
    """A recurrent layer whose last output a linear layer reads; for either library's nn."""

    def __init__(self, nn: Any) -> None:
        self.layer, self.head = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)
        self.parts = nn.Sequential(self.layer, self.head)

    def __call__(self, x: Any) -> Any:
        return self.head(self.layer(x)[0][:, -1])


class Transformer:
    """A transformer layer whose first position a linear layer reads; for either library's nn."""

    def __init__(self, nn: Any) -> None:
        self.layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
        self.head = nn.Linear(256, 10)
        self.parts = nn.Sequential(self.layer, self.head)

    def __call__(self, x: Any) -> Any:
        return self.head(self.layer(x)[:, 0])


def mlp(nn: Any) -> Any:
    """Three linear layers."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def resnet(nn: Any) -> Any:
    """ResNet-18 with the small stem."""
    return lnb.models.resnet_18(10, stem_type="small") if nn is lnb.nn else peers.ResNet18(10, True)


def lenet(nn: Any) -> Any:
    """LeNet-5."""
    return lnb.models.lenet_5() if nn is lnb.nn else peers.lenet_5()


MOMENTUM, ADAM = ("SGD", dict(lr=1e-3, momentum=0.9)), ("Adam", dict(lr=1e-4))
STEPS = [("MLP 784-512-512-10 batch 64", mlp, (64, 784), MOMENTUM), ("MLP batch 256", mlp, (256, 784), ADAM),
         ("LeNet-5 batch 64", lenet, (64, 1, 32, 32), MOMENTUM), ("ResNet-18 3x32x32 batch 8", resnet, (8, 3, 32, 32),
                                                                  MOMENTUM),
         ("transformer layer 256 T64 batch 8", Transformer, (8, 64, 256), ADAM),
         ("LSTM T50 I64 H128 batch 32", LastStep, (32, 50, 64), ADAM)]


def twins(make: Callable) -> tuple[Any, Any]:
    """A network of each library with the same weights."""
    ours, peer = make(lnb.nn), make(torch.nn)
    state = {key: value.numpy() for key, value in getattr(peer, "parts", peer).state_dict().items()}
    getattr(ours, "parts", ours).load_state_dict(state)
    return ours, peer


def training_step(model: Any, library: Any, loss_of: Callable, x: Any, target: Any, optimizer: Any) -> Callable:
    """A step; its loss."""
    kind, options = optimizer
    rule = getattr(library.optim, kind)(getattr(model, "parts", model).parameters(), **options)

    def run() -> Any:
        rule.zero_grad()
        loss = loss_of(model(x), target)
        loss.backward()
        rule.step()
        return loss
    return run


def steps() -> Group:
    """Gradients forgotten, forward, loss, backward, optimizer."""
    group = Group("whole training steps", "0.80 / 0.95")
    for label, make, shape, optimizer in STEPS:
        ours, peer = twins(make)
        x, target = draw.standard_normal(shape).astype(np.float32), draw.integers(0, 10, shape[0])
        compare(group, label,
                training_step(ours, lnb, lnb.nn.functional.cross_entropy, lnb.tensor(x), lnb.tensor(target), optimizer),
                training_step(peer, torch, torch.nn.functional.cross_entropy, torch.tensor(x), torch.tensor(target),
                              optimizer), rtol=1e-3, rounds=9, seconds=0.05)
    return group


SETS = {"MLP": [(512, 784), (512,), (512, 512), (512,), (10, 512), (10,)], "120 small": [(64, 64), (64,)] * 60,
        "1e7": [(512, 512, 3, 3)] * 4 + [(512,)] * 8}
# Rules, and how many arrays of the parameters' size a step reads and writes.
RULES = [("SGD", {}, 3), ("SGD", dict(momentum=0.9, nesterov=True, weight_decay=1e-4), 5), ("Adam", {}, 7),
         ("AdamW", dict(amsgrad=True), 9)]


def optimizers() -> Group:
    """Steps of optimizers as both libraries take them by default, and beside PyTorch's fused ones."""
    group = Group("optimizer steps (reported)", "none")
    for name, shapes in SETS.items():
        for kind, options, passes in RULES:
            arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
            slopes = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
            made = []
            for library, options_ in ((lnb, options), (torch, options), (torch, options | {"fused": True})):
                params = [library.tensor(array, requires_grad=True) for array in arrays]
                for param, slope in zip(params, slopes):
                    param.grad = library.tensor(slope)
                made.append((getattr(library.optim, kind)(params, lr=1e-3, **options_), params[0]))
            ours, peer, fused = [_stepper(*pair) for pair in made]
            compare(group, " ".join([kind, *options, name]), ours, peer, rtol=1e-4, rounds=9,
                    others={"torch fused": fused}, moved=4.0 * passes * sum(array.size for array in arrays))
    return group


def _stepper(optimizer: Any, param: Any) -> Callable:
    """A step; the first parameter."""
    def run() -> Any:
        optimizer.step()
        return param
    return run


def run() -> list[Group]:
    """All rows."""
    return [steps(), optimizers()]
