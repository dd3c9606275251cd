"""CIFAR-10 and CIFAR-100, from their published files, which are pickles: they are read as data, and run no code."""

import tarfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DownloadError
from ...io.builders import of_numpy, states
from ...io.opening import reading
from ...io.pickles import Machine
from ...io.writing import write_whole
from . import download
from .images import ImageDataset
from .mnist import damaged

SHAPE = (3, 32, 32)


class CIFAR10(ImageDataset):
    """Photographs of 10 classes, 50,000 to train with and 10,000 to test: uint8 (3, 32, 32) and 0 to 9.

    Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009. The files lie in
    root/cifar-10-batches-py, where torchvision has them too; the archive that holds them is fetched to root.
    """

    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    archive_md5 = "c58f30108f718f92721af3b95e74349a"
    folder = "cifar-10-batches-py"
    labels, names = "labels", "label_names"
    train_files = {"data_batch_1": "c99cafc152244af753f735de768cd75f",
                   "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
                   "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
                   "data_batch_4": "634d18415352ddfa80567beed471001a",
                   "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb"}
    test_files = {"test_batch": "40351d587109b95175f43aff81a1287e"}
    meta_files = {"batches.meta": "5ff9c542aee3614f3951f8cda6e48888"}

    def download(self) -> None:
        """Fetch the archive and take the files out of it, where they are not there."""
        files = {**self.train_files, **self.test_files, **self.meta_files}
        if all(self._path(name).exists() for name in files):
            return
        archive = self.root / self.url.rpartition("/")[2]
        if not archive.exists():
            download.fetch([self.url], archive, self.archive_md5)
        download.check(archive, self.archive_md5)
        self._unpack(archive, list(files))

    def _path(self, name: str) -> Path:
        return self.root / self.folder / name

    def _unpack(self, archive: Path, files: list[str]) -> None:
        """The files of these names, each written whole or not at all."""
        self._path("").mkdir(parents=True, exist_ok=True)
        try:
            with tarfile.open(archive) as packed:
                for name in files:
                    held = packed.extractfile(f"{self.folder}/{name}")
                    if held is None:
                        raise KeyError(name)
                    write_whole(self._path(name), partial(_write, held.read()))
        except (tarfile.TarError, EOFError, zlib.error, KeyError) as error:
            raise damaged(archive, str(error)) from None

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """All images, uint8 (count, 3, 32, 32), and their classes, int64."""
        (meta,) = [self._read(name, published) for name, published in self.meta_files.items()]
        self.classes = tuple(map(str, meta.get(self.names, ())))
        files = self.train_files if self.train else self.test_files
        parts = [self._images(name, self._read(name, published)) for name, published in files.items()]
        images, classes = zip(*parts)
        return np.concatenate(images), np.concatenate(classes)

    def _read(self, name: str, published: str) -> dict[str, Any]:
        """The dict of a file."""
        path = self._path(name)
        if not path.exists():
            raise self.missing([path])
        download.check(path, published)
        return read_pickle(path)

    def _images(self, name: str, content: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        images: Any = content.get("data")
        classes = content.get(self.labels)
        size = int(np.prod(SHAPE))
        if getattr(images, "dtype", None) != np.uint8 or images.shape[1:] != (size,) or not isinstance(classes, list):
            raise damaged(self._path(name), f"it holds no bytes (count, {size}) as data, or no list of {self.labels}")
        return images.numpy().reshape(-1, *SHAPE), np.asarray(classes, np.int64)


class CIFAR100(CIFAR10):
    """Photographs of 100 classes, 50,000 to train with and 10,000 to test: uint8 (3, 32, 32) and 0 to 99.

    Source as of `CIFAR10`. The files lie in root/cifar-100-python.
    """

    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    archive_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    folder = "cifar-100-python"
    labels, names = "fine_labels", "fine_label_names"
    train_files = {"train": "16019d7e3df5f24257cddd939b257f8d"}
    test_files = {"test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}
    meta_files = {"meta": "7973b15100ade9c7d40fb424638fde48"}


def _write(content: bytes, place: str) -> None:
    Path(place).write_bytes(content)


def read_pickle(path: Path) -> dict[str, Any]:
    """The dict of a pickle, of which nothing but arrays, numbers, texts and containers is made."""
    with open(path, "rb") as file, reading(path, "file of CIFAR"):
        machine = Machine("CIFAR", of_numpy("cpu"), states("cpu"), 4 * path.stat().st_size + (1 << 20))
        found = machine.read(file)
        machine.check(found)
    if not isinstance(found, dict):
        raise DownloadError(f"{path.name}: holds a {type(found).__name__}, not a dict. Fetch it anew.")
    return found
