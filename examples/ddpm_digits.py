"""Denoising diffusion of handwritten digits: new digits out of noise, saved as a picture.

    python examples/ddpm_digits.py [picture.png] [epochs]            # needs matplotlib for the picture
"""

import sys

import numpy as np
from matplotlib.image import imsave

import lucid_nb as lnb

PICTURE = sys.argv[1] if len(sys.argv) > 1 else "ddpm_digits.png"
EPOCHS, TIMESTEPS, ROWS, COLS = int(sys.argv[2]) if len(sys.argv) > 2 else 30, 100, 4, 16


def grid(images: np.ndarray) -> np.ndarray:
    """Images (ROWS * COLS, 1, 8, 8) side by side, enlarged, with a line between."""
    tiles = np.pad(images.reshape(ROWS, COLS, 8, 8), ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=1)
    return tiles.transpose(0, 2, 1, 3).reshape(ROWS * 9, COLS * 9).repeat(6, 0).repeat(6, 1)


lnb.random.seed(0)
images = 2 * lnb.data.digits("train")[0] - 1
unet = lnb.models.UNet(1, 1, 32, (1, 2), 1, (4,), image_size=8, dropout=0.0)
model = lnb.models.DDPM(unet, 8, 1, diffuser=lnb.models.GaussianDiffuser(TIMESTEPS, 1e-3, 0.1))
average = lnb.optim.swa_utils.AveragedModel(model, multi_avg_fn=lnb.optim.swa_utils.get_ema_multi_avg_fn(0.99))
optimizer = lnb.optim.AdamW(model.parameters(), lr=2e-3)
print(f"{model.count_parameters()} parameters; kernels compile at their first use")
for epoch in range(1, EPOCHS + 1):
    losses = []
    for batch, in lnb.data.DataLoader(lnb.data.TensorDataset(images), batch_size=64, shuffle=True, seed=epoch):
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        losses.append(loss.item())
    print(f"epoch {epoch}: squared error of the noise {np.mean(losses):.3f} (1 is what knows nothing)")

found = average.module.eval().sample(ROWS * COLS, progress=True).numpy()
likeness = np.corrcoef(found.mean(0).ravel(), images.numpy().mean(0).ravel())[0, 1]
print(f"mean of the new digits beside the mean of the old: correlation {likeness:.3f}")
imsave(PICTURE, grid((1 - found) / 2), cmap="gray", vmin=0, vmax=1)
print(f"{ROWS * COLS} new digits: {PICTURE}")
