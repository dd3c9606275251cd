"""Loading and saving weights beside safetensors.torch and torch.load: 90 MB of a sentence transformer's shapes.

    python bench/loading.py [--anyway]

Loading maps the file in either library, so that it is timed twice: alone, and with every byte read once. The sides take
turns in one process, one thread. Writes bench/results/loading.md. Needs the extra `bench`, and safetensors.
"""

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import harness
import numpy as np
import quiet
import safetensors.torch
import torch

import lucid_nb as lnb

RESULT = Path(__file__).with_name("results") / "loading.md"
WIDTH, INNER, WORDS, PLACES, LAYERS = 384, 1536, 30522, 512, 6
TARGET = 1.0


def weights() -> dict[str, np.ndarray]:
    """Random float32 arrays with the names and shapes of all-MiniLM-L6-v2: 101 of them, 90.8 MB."""
    shapes = {"embeddings.word_embeddings.weight": (WORDS, WIDTH), "embeddings.LayerNorm.weight": (WIDTH,),
              "embeddings.position_embeddings.weight": (PLACES, WIDTH), "embeddings.LayerNorm.bias": (WIDTH,),
              "embeddings.token_type_embeddings.weight": (2, WIDTH), "pooler.dense.weight": (WIDTH, WIDTH),
              "pooler.dense.bias": (WIDTH,)}
    parts = {"attention.self.query": (WIDTH, WIDTH), "attention.self.key": (WIDTH, WIDTH),
             "attention.self.value": (WIDTH, WIDTH), "attention.output.dense": (WIDTH, WIDTH),
             "intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER),
             "attention.output.LayerNorm": (WIDTH,), "output.LayerNorm": (WIDTH,)}
    for layer in range(LAYERS):
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    draw = np.random.default_rng(0)
    return {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def touched(load: Callable[[], dict[str, Any]]) -> Callable[[], int]:
    """A call that loads and reads every byte once, in NumPy for both sides."""
    def call() -> int:
        return sum(int(np.bitwise_xor.reduce(value.numpy().view(np.uint32), axis=None)) for value in load().values())
    return call


def rows(folder: Path) -> list[harness.Row]:
    """Measure each pair of calls."""
    arrays = weights()
    ours = {name: lnb.tensor(value) for name, value in arrays.items()}
    theirs = {name: torch.tensor(value) for name, value in arrays.items()}
    st, pt, new = (str(folder / name) for name in ("a.safetensors", "a.pt", "new.safetensors"))
    safetensors.torch.save_file(theirs, st)
    torch.save(theirs, pt)
    found = lnb.load(st)
    assert all(np.array_equal(found[name].numpy(), value) for name, value in arrays.items())

    def ours_st() -> dict[str, Any]: return lnb.load(st)
    def theirs_st() -> dict[str, Any]: return safetensors.torch.load_file(st)
    def ours_pt() -> dict[str, Any]: return lnb.load(pt)
    def theirs_pt() -> dict[str, Any]: return torch.load(pt)
    def theirs_map() -> dict[str, Any]: return torch.load(pt, mmap=True)
    pairs = [("load .safetensors", ours_st, theirs_st), ("load .safetensors, read all", touched(ours_st),
             touched(theirs_st)), ("load .pt, torch.load(mmap=True)", ours_pt, theirs_map),
             ("load .pt, torch.load, read all", touched(ours_pt), touched(theirs_pt)),
             ("save .safetensors, flushed to disk by ours alone", lambda: lnb.save(ours, new),
              lambda: safetensors.torch.save_file(theirs, new))]
    assert touched(ours_st)() == touched(theirs_st)() == touched(ours_pt)()
    group = harness.Group("loading", "")
    for label, mine, peer in pairs:
        harness.compare(group, label, mine, peer, rtol=None)
    return group.rows


def main() -> None:
    """Print the table, and save it."""
    may_keep = quiet.check()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        measured = rows(Path(folder))
    lines = ["# Weights from files and to files: 101 float32 tensors, 90.8 MB, one thread", "",
             "`python bench/loading.py`", "",
             f"torch {version('torch')}, safetensors {version('safetensors')}, numpy {np.__version__}. Ratio: median",
             f"of our time / theirs, in turn; at most {TARGET} is asked for of loading .safetensors. The files are in",
             "the page cache. We save whole or not at all, and wait until the disk has the file; they do not.", "",
             "| work | ratio | ours, ms | theirs, ms |", "|---|---|---|---|"]
    lines += [f"| {row.label} | {row.ratio:.2f} | {row.ours / 1e3:.2f} | {row.peer / 1e3:.2f} |" for row in measured]
    print("\n".join(lines))
    if may_keep:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
