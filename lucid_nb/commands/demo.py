"""Train a classifier of handwritten digits: the shortest way to see the library at work."""

import argparse
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from .. import backend, data, nn, optim, random
from ..array import Tensor
from ..creation import asarray
from ..errors import BackendError, ConfigError
from ..kernels import store
from ..tape import grad_mode

HELP = """train a classifier of handwritten digits, print its accuracy and save a plot

examples:
  lucid-nb demo
  lucid-nb demo --device mlx --epochs 20
  lucid-nb demo --seeds 5 --out digits.png"""
BATCH, RATE, NOISE = 32, 4e-3, 0.3      # chosen on folds of the training images; the test images had no say


class Run(NamedTuple):
    """One training: the loss and the test accuracy after each epoch, the final guesses, and how long it took."""

    losses: list[float]
    accuracies: list[float]
    guesses: np.ndarray
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--device", default="cpu", help="cpu, mlx or cuda (default: cpu)")
    parser.add_argument("--epochs", type=int, default=40, help="passes over the training images (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and noise (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how often to train, counting seeds up (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="file of the plot (default: demo.png)")


def run(args: argparse.Namespace) -> None:
    """Train, save the plot of the first run, print the accuracy."""
    if args.epochs < 1 or args.seeds < 1:
        raise ConfigError(f"demo: --epochs {args.epochs} --seeds {args.seeds}. Use 1 or more of each.")
    device = backend.resolve(args.device)
    if device == "cpu" and not store.size()[0]:
        print(f"compiling kernels as they are needed, this once; they are kept in {store.path()}")
    runs = [train(seed, device, args.epochs) for seed in range(args.seed, args.seed + args.seeds)]
    accuracies = [trained.accuracies[-1] for trained in runs]
    save_plot(runs[0], args.out)
    if args.seeds > 1:
        for seed, trained in enumerate(runs, args.seed):
            print(f"seed {seed}: {trained.accuracies[-1]:.4f} in {trained.seconds:.1f} s")
        print(f"mean of {args.seeds} seeds, lowest {min(accuracies):.4f}")
    print(f"test accuracy: {np.mean(accuracies):.3f}")


def network() -> nn.Module:
    """A multilayer perceptron on the 64 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def train(seed: int, device: str, epochs: int) -> Run:
    """Train from scratch; pixels get noise, the rate falls along a cosine."""
    random.seed(seed)
    noise = np.random.default_rng(seed)
    (images, labels), (test_images, test_labels) = (data.digits(split) for split in ("train", "test"))
    loader = data.DataLoader(data.TensorDataset(images.to(device), labels.to(device)), BATCH, shuffle=True, seed=seed)
    test_images, truth = test_images.to(device), test_labels.numpy()
    model, criterion = network().to(device), nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    losses, accuracies, start = [], [], time.perf_counter()
    with tqdm(total=epochs * len(loader), unit="batch", desc=f"seed {seed} on {device}") as bar:
        for epoch in range(epochs):
            losses.append(train_epoch(model, criterion, optimizer, loader, noise, epoch / epochs, bar))
            guesses = predict(model, test_images)
            accuracies.append(float((guesses == truth).mean()))
            bar.set_postfix(loss=f"{losses[-1]:.3f}", test_accuracy=f"{accuracies[-1]:.3f}", refresh=False)
    return Run(losses, accuracies, guesses, time.perf_counter() - start)


def train_epoch(model: nn.Module, criterion: nn.Module, optimizer: optim.Optimizer, loader: data.DataLoader,
                noise: np.random.Generator, progress: float, bar: tqdm) -> float:
    """One pass over the training images; the mean loss."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = RATE * (1 + math.cos(math.pi * progress)) / 2
    total = []
    for images, labels in loader:
        grain = noise.standard_normal(images.shape, np.float32) * np.float32(NOISE)
        loss = criterion(model(images + asarray(grain).to(images.device)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total.append(loss.detach())
        bar.update()
    return float(np.mean([loss.item() for loss in total]))      # read at the end: a lazy device need not wait


def predict(model: nn.Module, images: Tensor) -> np.ndarray:
    """The likeliest class of each image."""
    model.eval()
    with grad_mode(False):
        return model(images).argmax(axis=1).numpy()


def save_plot(trained: Run, path: Path) -> None:
    """Save the plot, or say how to get what it needs."""
    try:
        from . import plot
    except BackendError as missing:
        print(missing)
        return
    images, labels = data.digits("test")
    plot.save(trained, images.numpy()[:, 0], labels.numpy(), path)
    print(f"plot: {path}")
