"""Draw the graph that the guide shows: python docs/drawings.py writes docs/guide/block.svg."""

from pathlib import Path

import numpy as np

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F
from lucid_nb.visual import draw_graph


class Block(nn.Module):
    """A residual block: two convolutions, and a third one around them (K. He et al., 2016)."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.around = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: lnb.Tensor) -> lnb.Tensor:
        """The block of the image."""
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.around(x))


def block() -> tuple[lnb.Tensor, dict[str, lnb.Tensor]]:
    """The block's result, and the names of its leaves."""
    net = Block(64, 128, 2)
    x = lnb.tensor(np.zeros((4, 64, 16, 16), np.float32), requires_grad=True)
    return net(x), {"x": x, **dict(net.named_parameters())}


if __name__ == "__main__":
    result, names = block()
    draw_graph(result, Path(__file__).parent / "guide" / "block.svg", params=names, title="A residual block")
