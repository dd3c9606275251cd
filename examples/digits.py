"""Classify handwritten digits with a small convolutional network: model, data, loss and training loop in full.

    python examples/digits.py            # or: python examples/digits.py mlx
"""

import sys

import lucid_nb as lnb
from lucid_nb import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 8

lnb.random.seed(0)
train, test = (lnb.data.TensorDataset(*lnb.data.digits(split)).to(device) for split in ("train", "test"))
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Flatten(), nn.Linear(32 * 4 * 4, 10),
).to(device)
optimizer = lnb.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
print("kernels compile at their first use: the first epoch of the first run takes longer")

for epoch in range(epochs):
    for images, labels in lnb.data.DataLoader(train, batch_size=64, shuffle=True, seed=epoch):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    with lnb.no_grad():
        images, labels = test.tensors
        accuracy = (model(images).argmax(axis=1) == labels).astype("float32").mean().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}, test accuracy {accuracy:.3f}")
