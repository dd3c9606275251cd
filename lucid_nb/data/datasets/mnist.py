"""MNIST and Fashion-MNIST, from their published files."""

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DownloadError
from . import download
from .images import ImageDataset

LABELS, IMAGES = 0x801, 0x803              # the first word: unsigned bytes, of 1 axis or 3


class MNIST(ImageDataset):
    """Handwritten digits, 60,000 to train with and 10,000 to test: uint8 (1, 28, 28) and 0 to 9.

    Source: Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits. The files lie in
    root/MNIST/raw, compressed or not, where torchvision has them too.
    """

    folder = "MNIST"
    mirrors: tuple[str, ...] = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
    classes = ("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
               "8 - eight", "9 - nine")
    md5 = {"train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
           "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
           "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
           "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c"}

    def _paths(self, name: str) -> tuple[Path, Path]:
        """A file, and the same compressed."""
        plain = self.root / self.folder / "raw" / name
        return plain, plain.with_name(name + ".gz")

    def download(self) -> None:
        """Fetch the files that are not there."""
        for name, published in self.md5.items():
            plain, packed = self._paths(name)
            if not plain.exists() and not packed.exists():
                download.fetch([mirror + packed.name for mirror in self.mirrors], packed, published)

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """All images, uint8 (count, 1, 28, 28), and their classes, int64."""
        prefix = "train" if self.train else "t10k"
        images = self._read(f"{prefix}-images-idx3-ubyte", IMAGES)
        return images[:, None], self._read(f"{prefix}-labels-idx1-ubyte", LABELS).astype(np.int64)

    def _read(self, name: str, kind: int) -> np.ndarray:
        plain, packed = self._paths(name)
        if plain.exists():
            return read_idx(plain, plain.open("rb"), kind)
        if not packed.exists():
            raise self.missing([packed, plain])
        download.check(packed, self.md5[name])
        return read_idx(packed, gzip.open(packed), kind)


class FashionMNIST(MNIST):
    """Articles of clothing, 60,000 to train with and 10,000 to test: uint8 (1, 28, 28) and 0 to 9.

    Source: H. Xiao, K. Rasul and R. Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms, 2017, licence MIT. The files lie in root/FashionMNIST/raw.
    """

    folder = "FashionMNIST"
    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    classes = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
               "Ankle boot")
    md5 = {"train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
           "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
           "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
           "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310"}


def read_idx(path: Path, file: Any, kind: int) -> np.ndarray:
    """The bytes of a file of MNIST's format (IDX): a word that says what it is, the size of each axis, the content."""
    with file:
        try:
            axes = kind & 0xFF
            head = file.read(4 * (1 + axes))
            words = np.frombuffer(head, ">u4", len(head) // 4).tolist()
            if len(words) < 1 + axes or words[0] != kind:
                raise damaged(path, f"it does not begin with {kind:#010x}")
            count = math.prod(words[1:])
            content = file.read(count + 1)
        except (EOFError, OSError, zlib.error, ValueError) as error:
            if isinstance(error, DownloadError):
                raise
            raise damaged(path, str(error)) from None
    if len(content) != count:
        raise damaged(path, f"it holds {'more' if len(content) > count else 'less'} than the {count} bytes it tells of")
    return np.frombuffer(content, np.uint8).reshape(words[1:])


def damaged(path: Path, reason: str) -> DownloadError:
    """The error for a file that is not what it should be."""
    return DownloadError(f"{path.name}: damaged, {reason.rstrip('.')}. Delete {path} and use download=True.")
