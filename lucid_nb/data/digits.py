"""The handwritten digits that come with the package. Source and licence: DIGITS.md beside this file."""

from pathlib import Path

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError

FILE = Path(__file__).with_name("digits.npz")
SPLITS = (None, "train", "test")
TEST_EVERY = 5


def digits(split: str | None = None) -> tuple[Tensor, Tensor]:
    """Images of handwritten digits, float32 (count, 1, 8, 8) in 0 to 1, and their labels, int64 (count,) in 0 to 9.

    All 1,797 in the order of the source, or one side of a fixed split: every fifth image of each class is for "test"
    (355 images), the others are for "train" (1,442).

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
    doi 10.24432/C50P49, licence CC BY 4.0.

    >>> images, labels = lnb.data.digits("test")
    >>> images.shape, labels.shape
    ((355, 1, 8, 8), (355,))
    """
    if split not in SPLITS:
        raise ConfigError(f"digits: split is {split!r}. Use None, 'train' or 'test'.")
    with np.load(FILE) as stored:
        images, labels = stored["images"], stored["labels"].astype(np.int64)
    chosen = slice(None) if split is None else is_test(labels) == (split == "test")
    return asarray(images[chosen, None].astype(np.float32) / 16), asarray(labels[chosen])


def is_test(labels: np.ndarray) -> np.ndarray:
    """A mask of the images for testing: every fifth of each class, so that both sides hold the classes alike."""
    mask = np.zeros(labels.shape, bool)
    for label in np.unique(labels):
        mask[np.flatnonzero(labels == label)[TEST_EVERY - 1::TEST_EVERY]] = True
    return mask
