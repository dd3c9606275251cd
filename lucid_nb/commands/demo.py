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
  lucid-nb demo --device mlx --epochs 5
  lucid-nb demo --seeds 5 --out digits.png"""
BATCH, RATE, NOISE = 32, 4e-3, 0.2      # chosen on folds of the training images; the test images had no say
FORMATS = (".png", ".jpg", ".jpeg", ".pdf", ".svg", ".webp")


class Run(NamedTuple):
    """One training: the loss and the test accuracy after each epoch, the final guesses, and how long it took."""

    losses: list[float]
    accuracies: list[float]
    guesses: np.ndarray
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--device", default="cpu",
                        help="cpu, cuda, mlx (or metal), or gpu: whichever of the two is here (default: cpu)")
    parser.add_argument("--epochs", type=int, default=20, help="passes over the training images (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and noise (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how often to train, counting seeds up (default: 1)")
    parser.add_argument("--out", default="demo.png", help="file of the plot, its ending the format (default: demo.png)")


def run(args: argparse.Namespace) -> None:
    """Train, print the accuracy, save the plot of the first run. What can be wrong is looked for before training."""
    check(args)
    device = backend.resolve(args.device)
    path = plot_path(args.out)
    compile_kernels(device)
    runs = [train(seed, device, args.epochs) for seed in range(args.seed, args.seed + args.seeds)]
    accuracies = [trained.accuracies[-1] for trained in runs]
    if args.seeds > 1:
        for seed, trained in enumerate(runs, args.seed):
            print(f"seed {seed}: {trained.accuracies[-1]:.4f} in {trained.seconds:.1f} s")
        print(f"mean of {args.seeds} seeds {np.mean(accuracies):.4f}, lowest {min(accuracies):.4f}")
    print(f"test accuracy: {np.mean(accuracies):.3f}")
    save_plot(runs[0], path)


def compile_kernels(device: str) -> None:
    """Train a throw-away network by a whole batch and the last, smaller one: what is timed later finds its kernels."""
    before, kept, start = store.size()[0], store.path(), time.perf_counter()
    if device == "cpu" and not before:
        print("compiling kernels, " + (f"this once; they are kept in {kept} ..." if kept else
              "each time: no folder to keep them in is usable; set LUCID_NB_CACHE_DIR ..."), flush=True)
    train(0, device, 1, BATCH + len(data.digits("train")[0]) % BATCH)
    if device == "cpu" and (not kept or store.size()[0] > before):
        print(f"compiled in {time.perf_counter() - start:.0f} s, apart from the time of training")


def check(args: argparse.Namespace) -> None:
    """Raise unless the numbers have a meaning."""
    if args.epochs < 1 or args.seeds < 1:
        raise ConfigError(f"demo: --epochs {args.epochs} --seeds {args.seeds}. Use 1 or more of each.")
    if not 0 <= args.seed <= random.LARGEST_SEED - (args.seeds - 1):
        raise ConfigError(f"demo: --seed {args.seed} --seeds {args.seeds}. Seeds are from 0 to 2**32 - 1.")


def plot_path(text: str) -> Path:
    """The file that the plot will be: it can be written. Without an ending it is given .png."""
    path = Path(text if Path(text).suffix else text.rstrip(".") + ".png")
    if not text or Path(text).is_dir():
        raise ConfigError(f"demo: --out {text!r} is {'a folder' if text else 'empty'}. Name a file, such as demo.png.")
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"demo: --out {text!r} has an unknown ending. Use one of {' '.join(FORMATS)}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"demo: --out {text!r} cannot be written ({error.strerror}). Name another file.") from None
    return path


def network() -> nn.Module:
    """A small convolutional network for images of 8 x 8."""
    return nn.Sequential(*block(1, 32), *block(32, 64), nn.MaxPool2d(2), *block(64, 64), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Dropout(0.3), nn.Linear(256, 10))


def block(inputs: int, outputs: int) -> list[nn.Module]:
    """A convolution, normalised."""
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]


def train(seed: int, device: str, epochs: int, count: int | None = None) -> Run:
    """Train from scratch; pixels get noise, the rate falls along a cosine. With a count by so few images, silently."""
    random.seed(seed)
    noise = np.random.default_rng(seed)
    (images, labels), (test_images, test_labels) = (data.digits(split) for split in ("train", "test"))
    loader = data.DataLoader(data.TensorDataset(images[:count].to(device), labels[:count].to(device)), BATCH,
                             shuffle=True, seed=seed)
    test_images, truth = test_images.to(device), test_labels.numpy()
    model, criterion = network().to(device), nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    losses, accuracies, start = [], [], time.perf_counter()
    with tqdm(total=epochs * len(loader), unit="batch", desc=f"seed {seed} on {device}",
              disable=count is not None) as bar:
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
    try:
        plot.save(trained, images.numpy()[:, 0], labels.numpy(), path)
    except OSError as error:
        raise ConfigError(f"demo: {path} cannot be written ({error.strerror}). Name another file by --out.") from None
    print(f"plot: {path}")
