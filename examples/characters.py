"""A recurrent network that reads Python's own documentation, character by character, and writes on.

    python examples/characters.py            # or: python examples/characters.py 2000    (steps)

What it has learned is measured on text that it has not seen, in bits per character: 0 is certainty. For comparison:
what the frequencies of letters give, and what pairs of letters give.
"""

import sys
from pydoc_data.topics import topics

import numpy as np

import lucid_nb as lnb
from lucid_nb import nn

STEPS, BATCH, LENGTH, WIDTH = int(sys.argv[1]) if len(sys.argv) > 1 else 400, 32, 64, 128

text = "".join(topics[name] for name in sorted(topics))[:400_000]
letters, codes = np.unique(list(text), return_inverse=True)
train, test = codes[:360_000], codes[360_000:]


class Reader(nn.Module):
    """The scores of the next character at every place."""

    def __init__(self, characters: int, width: int) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(characters, width // 2), nn.LSTM(width // 2, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, seen: lnb.Tensor, state: tuple[lnb.Tensor, lnb.Tensor] | None = None) -> tuple:
        """Scores, and the state to go on from."""
        found, state = self.lstm(self.embedding(seen), state)
        return self.head(found), state


def bits(counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Bits per character of a table of counts (with one added to each), on pairs of neighbours."""
    shares = (counts + 1) / (counts + 1).sum(axis=-1, keepdims=True)
    return float(-np.log2(shares[first, second]).mean())


def pieces(rng: np.random.Generator) -> np.ndarray:
    """Pieces of the text from random places, one character longer than what is read."""
    return train[rng.integers(0, len(train) - LENGTH - 1, BATCH)[:, None] + np.arange(LENGTH + 1)]


lnb.random.seed(0)
rng, count = np.random.default_rng(0), len(letters)
pairs = np.zeros((count, count))
np.add.at(pairs, (train[:-1], train[1:]), 1)
alone = np.broadcast_to(pairs.sum(0), pairs.shape)
print(f"{len(text)} characters of {count} kinds; bits per character of unseen text: {np.log2(count):.2f} knowing "
      f"nothing, {bits(alone, test[:-1], test[1:]):.2f} by letters, {bits(pairs, test[:-1], test[1:]):.2f} by pairs")

model = Reader(count, WIDTH)
optimizer = lnb.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(1, STEPS + 1):
    batch = pieces(rng)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch[:, :-1])[0].reshape(-1, count), batch[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: {loss.item() / np.log(2):.2f} bits per character")

model.eval()
with lnb.no_grad():
    rows = test[:len(test) // 40 * 40].reshape(40, -1)
    scores, _ = model(rows[:, :-1])
    unseen = nn.functional.cross_entropy(scores.reshape(-1, count), rows[:, 1:].reshape(-1)).item() / np.log(2)
    print(f"unseen text: {unseen:.2f} bits per character")
    place, state, written = np.searchsorted(letters, "T"), None, "T"
    for _ in range(240):
        scores, state = model(np.array([[place]]), state)
        place = rng.choice(count, p=nn.functional.softmax(scores[0, 0].astype("float64") / 0.7, -1).numpy())
        written += letters[place]
print("it writes:\n" + written)
