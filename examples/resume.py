"""Training that can be stopped at any time: a checkpoint after each epoch, early stopping, and resuming bit for bit.

    python examples/resume.py checkpoint.lcd        # stop it with Ctrl-C, start it again, as often as you like
    python examples/resume.py checkpoint.lcd 3      # stop by itself after epoch 3

The checkpoint holds all that the next epoch depends on: weights and statistics of the model, the optimizer's moments,
the schedule, the random state, and how training went so far. It is written whole or not at all.
"""

import hashlib
import math
import sys
from pathlib import Path

import lucid_nb as lnb
from lucid_nb import nn

EPOCHS, PATIENCE, BATCH = 30, 3, 64


class Training:
    """A network that reads digits, and everything that its training changes."""

    def __init__(self) -> None:
        lnb.random.seed(0)
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))
        self.optimizer = lnb.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.schedule = lnb.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9)
        self.epoch, self.waited, self.best, self.best_weights = 0, 0, math.inf, self.model.state_dict()

    def save(self, path: Path) -> None:
        """Write the checkpoint."""
        lnb.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                  "schedule": self.schedule.state_dict(), "random": lnb.random.get_rng_state(), "epoch": self.epoch,
                  "waited": self.waited, "best": self.best, "best_weights": self.best_weights}, path)

    def load(self, path: Path) -> None:
        """Go on where the checkpoint was written."""
        found = lnb.load(path)
        self.model.load_state_dict(found["model"])
        self.optimizer.load_state_dict(found["optimizer"])
        self.schedule.load_state_dict(found["schedule"])
        lnb.random.set_rng_state(found["random"])
        for name in ("epoch", "waited", "best", "best_weights"):
            setattr(self, name, found[name])

    def run_epoch(self, train: lnb.data.TensorDataset, unseen: tuple[lnb.Tensor, lnb.Tensor]) -> None:
        """One pass over the data; the weights that do best on unseen images are kept."""
        self.model.train()
        for images, labels in lnb.data.DataLoader(train, batch_size=BATCH, shuffle=True, drop_last=True):
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(images), labels).backward()
            self.optimizer.step()
        self.schedule.step()
        self.epoch += 1
        loss, accuracy = self.judge(*unseen)
        self.waited += 1
        if loss < self.best:
            weights = {name: value.copy() for name, value in self.model.state_dict().items()}
            self.best, self.best_weights, self.waited = loss, weights, 0
        print(f"epoch {self.epoch}: loss {loss:.6f} on unseen images, accuracy {accuracy:.3f}", flush=True)

    def judge(self, images: lnb.Tensor, labels: lnb.Tensor) -> tuple[float, float]:
        """Loss and accuracy."""
        self.model.eval()
        with lnb.no_grad():
            scores = self.model(images)
            right = (scores.argmax(axis=1) == labels).astype("float32").mean()
            return nn.functional.cross_entropy(scores, labels).item(), right.item()

    def digest(self) -> str:
        """A text that differs where a bit of the weights does."""
        return hashlib.sha256(b"".join(value.tobytes() for value in self.model.state_dict().values())).hexdigest()[:16]


path, stop = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else EPOCHS
training = Training()
if path.exists():
    training.load(path)
    print(f"resumed after epoch {training.epoch}")
train, unseen = lnb.data.TensorDataset(*lnb.data.digits("train")), lnb.data.digits("test")
while training.epoch < stop and training.waited < PATIENCE:
    training.run_epoch(train, unseen)
    training.save(path)
print(f"weights after epoch {training.epoch}: {training.digest()}")
training.model.load_state_dict(training.best_weights)
print(f"best: loss {training.judge(*unseen)[0]:.6f}" + ", stopped early" * (training.waited >= PATIENCE))
