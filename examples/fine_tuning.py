"""Fine-tuning: a network that knows the digits 0 to 4 learns 5 to 9 from two images of each.

    python examples/fine_tuning.py

Its first layers are loaded from a file and kept, its last layer is new. The same network from nothing is the measure;
both are the mean of several choices of the images.
"""

import tempfile
from pathlib import Path

import numpy as np

import lucid_nb as lnb
from lucid_nb import nn

SHOTS, CLASSES, TRIES = 2, 5, 6


def network() -> nn.Sequential:
    """Convolutions that see, and a layer that tells five classes apart."""
    seeing = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                           nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten())
    return nn.Sequential({"seeing": seeing, "telling": nn.Linear(64 * 4 * 4, CLASSES)})


def fit(model: nn.Module, images: np.ndarray, labels: np.ndarray, epochs: int, batch: int) -> None:
    """Train what is not frozen."""
    free = [param for param in model.parameters() if param.requires_grad]
    optimizer = lnb.optim.AdamW(free, lr=2e-3, weight_decay=0.05)
    dataset = lnb.data.TensorDataset(images, labels)
    for epoch in range(epochs):
        for x, y in lnb.data.DataLoader(dataset, batch_size=batch, shuffle=True, seed=epoch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images that are told right."""
    with lnb.no_grad():
        return float((model.eval()(images).argmax(axis=1).numpy() == labels).mean())


def learned(model: nn.Module, shown: np.ndarray) -> float:
    """What a network tells right of 5 to 9 when it has been shown a few of them."""
    fit(model, x[shown], y[shown] - CLASSES, 60, len(shown))
    return accuracy(model, x_test[new_test], y_test[new_test] - CLASSES)


lnb.random.seed(0)
(x, y), (x_test, y_test) = ([part.numpy() for part in lnb.data.digits(split)] for split in ("train", "test"))
old, new_test = y < CLASSES, y_test >= CLASSES
with tempfile.TemporaryDirectory() as folder:
    teacher, weights = network(), Path(folder) / "zero_to_four.safetensors"
    fit(teacher, x[old], y[old], 10, 64)
    lnb.save(teacher.state_dict(), weights)
    seen = {name: value.copy() for name, value in lnb.load(weights).items() if name.startswith("seeing")}
print(f"knows 0 to 4: {accuracy(teacher, x_test[~new_test], y_test[~new_test]):.3f}")

results = []
for number in range(TRIES):
    rng = np.random.default_rng(number)
    few = np.concatenate([rng.choice(np.flatnonzero(y == digit), SHOTS, replace=False)
                          for digit in range(CLASSES, 2 * CLASSES)])
    pupil = network()
    report = pupil.load_state_dict(seen, strict=False)
    pupil.seeing.requires_grad_(False).eval()
    results.append((learned(pupil, few), learned(network(), few)))
print(f"new in the network: {', '.join(report.missing_keys)}")
for name, found in zip(("fine-tuned", "from nothing"), np.mean(results, axis=0)):
    print(f"{name}, {SHOTS} images of each: {found:.3f} of 5 to 9")
