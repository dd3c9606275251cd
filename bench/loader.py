"""Batches of 64 images of 28x28 from a DataLoader, ours beside PyTorch's, each in a process of its own.

    python bench/loader.py

A sample is a uint8 array (28, 28), made float32 (1, 28, 28), divided by 255 and normalised: ours by its transforms,
PyTorch's by the same calls on tensors, which are faster than torchvision's. Persistent workers; the sides take turns,
and the fastest epoch counts. The processor time is that of the loop and all workers together. Linux only. Writes
bench/results/loader.md. Needs the extra `bench`.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

COUNT, BATCH, ROUNDS, EPOCHS = 20_000, 64, 4, 3
RESULT = Path(__file__).with_name("results") / "loader.md"
MEAN, STD = 0.1307, 0.3081


class Images:
    """Samples (image, class); `scale` makes the image a tensor."""

    def __init__(self, scale: Any) -> None:
        draw = np.random.default_rng(0)
        self.images = draw.integers(0, 256, (COUNT, 28, 28), np.uint8)
        self.classes = draw.integers(0, 10, COUNT).tolist()
        self.scale = scale

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.scale(self.images[index]), self.classes[index]


class ByTorch:
    """The transform as PyTorch's users write it."""

    def __call__(self, image: np.ndarray) -> Any:
        import torch
        return torch.from_numpy(image).unsqueeze(0).to(torch.float32).div_(255).sub_(MEAN).div_(STD)


def loader_of(library: str, workers: int) -> Any:
    """The loader of a library."""
    options: dict[str, Any] = dict(batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    if library == "torch":
        import torch
        torch.set_num_threads(1)
        how = "spawn" if workers else None
        return torch.utils.data.DataLoader(Images(ByTorch()), multiprocessing_context=how, **options)
    from lucid_nb import data
    from lucid_nb.data import transforms
    scale = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    return data.DataLoader(Images(scale), **options)


def processor_seconds() -> float:
    """Of this process and its workers."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = time.process_time()
    for child in multiprocessing.active_children():
        words = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        total += (int(words[11]) + int(words[12])) / ticks
    return total


def measure(library: str, workers: int) -> tuple[float, float, float]:
    """Seconds of the fastest epoch, its processor seconds, and the seconds to the first batch of all."""
    start = time.perf_counter()
    loader = loader_of(library, workers)
    next(iter(loader))
    first = time.perf_counter() - start
    found = []
    for _ in range(EPOCHS):
        used, start = processor_seconds(), time.perf_counter()
        count = sum(len(classes) for _, classes in loader)
        found.append((time.perf_counter() - start, processor_seconds() - used))
        assert count == COUNT
    return *min(found), first


def child(library: str, workers: int) -> tuple[float, ...]:
    """The figures of a library, from a process of its own."""
    done = subprocess.run([sys.executable, __file__, library, str(workers)], capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def main() -> None:
    """Print the table, and save it."""
    lines = ["# DataLoader: batches of 64 images of 28x28, scaled and normalised", "", "`python bench/loader.py`", "",
             f"torch {version('torch')}, numpy {np.__version__}. {COUNT:,} images an epoch, shuffled; the fastest of",
             f"{ROUNDS * EPOCHS} epochs. Workers by spawn, persistent; each sample's arithmetic is the same.", "",
             "| workers | library | images a second | ratio of time | processor s an epoch | first batch, s |",
             "|---|---|---|---|---|---|"]
    for workers in (0, 1, 2):
        rounds = [[child(library, workers) for library in ("lucid_nb", "torch")] for _ in range(ROUNDS)]
        ours, theirs = ([min(figures) for figures in zip(*side)] for side in zip(*rounds))
        for name, side in (("lucid_nb", ours), ("torch", theirs)):
            lines.append(f"| {workers} | {name} | {COUNT / side[0]:,.0f} | {side[0] / theirs[0]:.2f} | {side[1]:.2f} | "
                         f"{side[2]:.2f} |")
    print("\n".join(lines))
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(*measure(sys.argv[1], int(sys.argv[2])))
    else:
        main()
