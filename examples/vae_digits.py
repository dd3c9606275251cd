"""A variational autoencoder of handwritten digits: new digits out of eight numbers each, saved as a picture.

    python examples/vae_digits.py [picture.png] [epochs]            # needs matplotlib for the picture

The bound on the likelihood of unseen images is compared with pixels that know nothing of each other.
"""

import sys

import numpy as np
from matplotlib.image import imsave

import lucid_nb as lnb
from lucid_nb import nn

PICTURE = sys.argv[1] if len(sys.argv) > 1 else "vae_digits.png"
EPOCHS, LATENT, WIDTH, ROWS, COLS = int(sys.argv[2]) if len(sys.argv) > 2 else 40, 8, 256, 8, 16


def grid(images: np.ndarray) -> np.ndarray:
    """Images (ROWS * COLS, 64) side by side, enlarged, with a line between."""
    tiles = np.pad(images.reshape(ROWS, COLS, 8, 8), ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=1)
    return tiles.transpose(0, 2, 1, 3).reshape(ROWS * 9, COLS * 9).repeat(6, 0).repeat(6, 1)


lnb.random.seed(0)
train, test = (lnb.data.digits(split)[0].flatten(1) for split in ("train", "test"))
encoder = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2 * LATENT))
decoder = nn.Sequential(nn.Linear(LATENT, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 64), nn.Sigmoid())
model = lnb.models.VAE([encoder], [decoder], reconstruction_loss="bce")
optimizer = lnb.optim.AdamW(model.parameters(), lr=3e-3)


def bound(images: lnb.Tensor) -> float:
    """Nats that an image costs: what its pixels cost given the numbers, and what the numbers cost."""
    with lnb.no_grad():
        return model.get_loss(images, *model(images))[0].item()


for epoch in range(1, EPOCHS + 1):
    for images, in lnb.data.DataLoader(lnb.data.TensorDataset(train), batch_size=64, shuffle=True, seed=epoch):
        optimizer.zero_grad()
        loss, _, _ = model.get_loss(images, *model(images))
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch}: {bound(test):.2f} nats for an unseen image")

mean = np.clip(train.numpy().mean(0), 1e-3, 1 - 1e-3)
alone = -(test.numpy() * np.log(mean) + (1 - test.numpy()) * np.log(1 - mean)).sum(1).mean()
print(f"unseen images: {bound(test):.2f} nats, pixels alone {alone:.2f}")
with lnb.no_grad():
    drawn = model.decode([lnb.random.key(1).normal((ROWS * COLS, LATENT))]).numpy()
imsave(PICTURE, grid(1 - drawn), cmap="gray", vmin=0, vmax=1)
print(f"{ROWS * COLS} new digits: {PICTURE}")
