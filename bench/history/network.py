"""A history of times over commits, for asv: `cd bench && asv run NEW && asv publish && asv preview`.

These rows are few and of our own times only; those beside other libraries are in the groups of bench/network.py.
"""

import numpy as np

import lucid_nb as lnb

F = lnb.nn.functional


class Kernels:
    """What networks spend their time in, one thread."""

    def setup(self) -> None:
        """Operands, and every kernel compiled."""
        lnb.set_num_threads(1)
        draw = np.random.default_rng(0)

        def normal(*shape: int) -> lnb.Tensor:
            return lnb.tensor(draw.standard_normal(shape).astype("float32"))
        self.square, self.tiny, self.flat = normal(512, 512), normal(16, 16), normal(1_000_000)
        self.images, self.weights = normal(8, 64, 28, 28), normal(64, 64, 3, 3)
        self.table = normal(1024, 1024)
        for name in dir(self):
            if name.startswith("time_"):
                getattr(self, name)()

    def time_tiny_add(self) -> None:
        """The cost of a call."""
        _ = self.tiny + self.tiny

    def time_exp(self) -> None:
        """An elementwise op on a million numbers."""
        lnb.exp(self.flat)

    def time_sum_of_rows(self) -> None:
        """A reduction."""
        self.table.sum(axis=1)

    def time_softmax(self) -> None:
        """Rows of 1024."""
        lnb.softmax(self.table, axis=1)

    def time_matmul(self) -> None:
        """512 x 512 x 512."""
        _ = self.square @ self.square

    def time_conv2d(self) -> None:
        """3 x 3, 64 channels, 28 x 28, batch 8."""
        F.conv2d(self.images, self.weights, padding=1)

    def time_sort(self) -> None:
        """A million numbers."""
        lnb.sort(self.flat)
