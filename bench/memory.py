"""Peak memory of ten training steps of ResNet-18 on 3x32x32 images, ours and PyTorch's, each in a process of its own.

    python bench/memory.py

Before each step the kernel's high-water mark of resident memory is set back; what the process held before it made the
network is taken off. Writes bench/results/memory.md. Linux only. Needs the extra `bench`.
"""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

STEPS, BATCHES = 10, (8, 64)
RESULT = Path(__file__).with_name("results") / "memory.md"


def resident(what: str) -> float:
    """MiB of this process's memory: VmRSS now, VmHWM at most since the mark was set back."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def peaks(make: Any, library: Any, tensor: Any, batch: int) -> list[float]:
    """MiB above what was held before, at most, in each step."""
    draw = np.random.default_rng(0)
    x, target = draw.standard_normal((batch, 3, 32, 32)).astype(np.float32), draw.integers(0, 10, batch)
    before = resident("VmRSS")
    model = make()
    rule = library.optim.SGD(getattr(model, "parts", model).parameters(), lr=0.01, momentum=0.9)
    found = []
    for _ in range(STEPS):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        rule.zero_grad()
        library.nn.functional.cross_entropy(model(tensor(x)), tensor(target)).backward()
        rule.step()
        found.append(resident("VmHWM") - before)
    return found


def measure(library: str, batch: int) -> list[float]:
    """The peaks of a library, in this process."""
    if library == "torch":
        import peers
        import torch
        torch.set_num_threads(1)
        torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3))
        return peaks(lambda: peers.ResNet18(10, True), torch, torch.tensor, batch)
    import lucid_nb as lnb
    lnb.set_num_threads(1)
    lnb.nn.functional.conv2d(lnb.ones((1, 1, 3, 3)), lnb.ones((1, 1, 3, 3)))
    return peaks(lambda: lnb.models.resnet_18(10, stem_type="small"), lnb, lnb.tensor, batch)


def child(library: str, batch: int) -> list[float]:
    """The peaks of a library, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, library, str(batch)], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print the table, and save it."""
    lines = ["# Peak memory of ten training steps of ResNet-18, 3x32x32, one thread", "",
             "`python bench/memory.py`", "",
             f"torch {version('torch')}, numpy {np.__version__}. MiB of resident memory above what the process held",
             "before it made the network; kernels are compiled already.", "",
             "| batch | library | sum of ten peaks | first | last |", "|---|---|---|---|---|"]
    for batch in BATCHES:
        for library in ("lucid_nb", "torch"):
            child(library, batch)                       # compiles what an empty cache lacks
            found = child(library, batch)
            lines.append(f"| {batch} | {library} | {sum(found):.0f} | {found[0]:.0f} | {found[-1]:.0f} |")
    print("\n".join(lines))
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*measure(sys.argv[1], int(sys.argv[2])))
    else:
        main()
