"""A sentence transformer's answers beside PyTorch's: all-MiniLM-L6-v2's sizes, random weights, 32 times 64 tokens.

    python bench/pretrained.py [--anyway]

Ours is the network of examples/sentences.py, theirs the same from torch.nn.functional, with its fused attention. Sides
take turns in one process, with a pause in which PyTorch's threads fall asleep. Writes bench/results/pretrained.md.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import quiet
import torch
from loading import INNER, LAYERS, PLACES, WIDTH, WORDS, weights
from torch.nn import functional as F

import lucid_nb as lnb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import sentences

RESULT = Path(__file__).with_name("results") / "pretrained.md"
BATCH, TOKENS, HEADS, EPS, ROUNDS, PAUSE, TARGET = 32, 64, 12, 1e-12, 15, 0.03, 0.9
CONFIG = {"hidden_size": WIDTH, "layer_norm_eps": EPS, "vocab_size": WORDS, "max_position_embeddings": PLACES,
          "type_vocab_size": 2, "num_attention_heads": HEADS, "intermediate_size": INNER, "num_hidden_layers": LAYERS}


def twin(w: dict[str, torch.Tensor], numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The network in PyTorch's own functions."""
    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], EPS)
    x = F.embedding(numbers, w["embeddings.word_embeddings.weight"])
    x = x + w["embeddings.position_embeddings.weight"][:TOKENS] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (linear(x, f"{at}attention.self.{name}").view(BATCH, TOKENS, HEADS, -1).transpose(1, 2)
                             for name in ("query", "key", "value"))
        seen = F.scaled_dot_product_attention(query, key, value, mask[:, None, None]).transpose(1, 2)
        x = norm(x + linear(seen.reshape(BATCH, TOKENS, WIDTH), f"{at}attention.output.dense"),
                 f"{at}attention.output.LayerNorm")
        x = norm(x + linear(F.gelu(linear(x, f"{at}intermediate.dense")), f"{at}output.dense"), f"{at}output.LayerNorm")
    there = mask[:, :, None].float()
    return F.normalize((x * there).sum(1) / there.sum(1), dim=1)


def sides() -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """Both networks on the same sentences."""
    draw = np.random.default_rng(1)
    numbers = draw.integers(WORDS, size=(BATCH, TOKENS))
    mask = np.arange(TOKENS) < draw.integers(TOKENS // 2, TOKENS + 1, size=(BATCH, 1))
    arrays = {name: value * np.float32(0.05) for name, value in weights().items()}
    model = sentences.Bert(CONFIG).eval()
    model.load_state_dict(arrays, strict=False)
    state = {name: torch.tensor(value) for name, value in arrays.items()}
    words, there = torch.tensor(numbers), torch.tensor(mask)

    def ours() -> np.ndarray:
        with lnb.no_grad():
            return model(numbers, mask).numpy()

    def theirs() -> np.ndarray:
        with torch.inference_mode():
            return twin(state, words, there).numpy()
    return ours, theirs


def seconds(call: Callable[[], np.ndarray]) -> float:
    """Of one call, when other threads sleep."""
    time.sleep(PAUSE)
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main() -> None:
    """Print the table, and save it."""
    may_keep = quiet.check()
    ours, theirs = sides()
    np.testing.assert_allclose(ours(), theirs(), rtol=0, atol=1e-5)
    lines = [f"# A sentence transformer's answers: {BATCH} sentences of {TOKENS} tokens, six layers of {WIDTH}", "",
             "`python bench/pretrained.py`", "",
             f"torch {version('torch')}, numpy {np.__version__}. Ratio: median of our time / PyTorch's, in turn in one",
             f"process; at most {TARGET} is asked for.", "",
             "| threads | ratio | ours, ms | theirs, ms |", "|---|---|---|---|"]
    for threads in (1, 2):
        lnb.set_num_threads(threads)
        torch.set_num_threads(threads)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS + 1)][1:]
        ratio = statistics.median(a / b for a, b in pairs)
        mine, peer = (statistics.median(column) * 1e3 for column in zip(*pairs))
        lines.append(f"| {threads} | {ratio:.2f} | {mine:.1f} | {peer:.1f} |")
    print("\n".join(lines))
    if may_keep:
        RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
