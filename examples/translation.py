"""A transformer that translates English words of numbers into digits: "three thousand and seven" into 3007.

    python examples/translation.py            # or: python examples/translation.py 1500    (steps)

It learns from 3,000 of the numbers below 10,000 and is asked for others.
"""

import sys

import numpy as np

import lucid_nb as lnb
from lucid_nb import nn

STEPS, BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 500, 64
ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen").split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
PAD, START, END = "<pad>", "<start>", "<end>"
WORDS = [PAD, *ONES, *TENS, "hundred", "thousand", "and"]
DIGITS = [PAD, START, END, *"0123456789"]


def words(number: int) -> list[str]:
    """A number below 10,000 as it is said in Britain."""
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            link = ["and"] if 0 < rest < 100 else []
            return [*words(number // size), name, *link, *(words(rest) if rest else [])]
    if number < 20:
        return [ONES[number]]
    return [TENS[number // 10 - 2], *([ONES[number % 10]] if number % 10 else [])]


def filled(rows: list[list[int]]) -> np.ndarray:
    """Rows of one length, filled up with 0."""
    length = max(map(len, rows))
    return np.array([[*row, *[0] * (length - len(row))] for row in rows])


def encoded(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words and the digits of numbers, as codes."""
    said = [[WORDS.index(word) for word in words(int(number))] for number in numbers]
    written = [[DIGITS.index(sign) for sign in (START, *str(number), END)] for number in numbers]
    return filled(said), filled(written)


def translate(model: nn.Module, said: np.ndarray) -> list[str]:
    """The most likely digits, one after the other."""
    found = np.full((len(said), 1), DIGITS.index(START))
    for _ in range(5):
        scores = model(said, found, src_key_padding_mask=said == 0, mem_key_padding_mask=said == 0)
        found = np.concatenate((found, scores[:, -1:].argmax(axis=2).numpy()), axis=1)
    return ["".join(DIGITS[code] for code in row[1:]).split(END)[0] for row in found]


lnb.random.seed(0)
order = np.random.default_rng(0).permutation(10_000)
train, test = order[:3000], order[3000:3300]
said, written = encoded(train)
model = lnb.models.Transformer(len(WORDS), len(DIGITS), 64, 4, 2, 2, 128, dropout=0.0, max_len=16)
optimizer = lnb.optim.AdamW(model.parameters(), lr=2e-3)
print(f"{model.count_parameters()} parameters; kernels compile at their first use")
for step in range(1, STEPS + 1):
    chosen = np.random.default_rng(step).integers(0, len(train), BATCH)
    source, target = said[chosen], written[chosen]
    optimizer.zero_grad()
    scores = model(source, target[:, :-1], src_key_padding_mask=source == 0, mem_key_padding_mask=source == 0)
    loss = nn.functional.cross_entropy(scores.reshape(-1, len(DIGITS)), target[:, 1:].reshape(-1), ignore_index=0)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

model.eval()
with lnb.no_grad():
    found = translate(model, encoded(test)[0])
for number, digits in list(zip(test, found))[:5]:
    print(f"  {' '.join(words(int(number)))}: {digits}")
print(f"right of {len(test)} new numbers: {np.mean([str(a) == b for a, b in zip(test, found)]):.3f}")
