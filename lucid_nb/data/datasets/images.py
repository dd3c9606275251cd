"""Datasets of small images with a class each, held in memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...array import Tensor
from ...errors import ConfigError, IndexError, told
from ..collate import default_collate
from ..dataset import Dataset


class ImageDataset(Dataset):
    """Samples (image, class): a uint8 tensor (channels, height, width), and an integer.

    `transform` and `target_transform` are applied to them. `data` holds all images, uint8 (count, channels, height,
    width), `targets` the classes, int64 (count,), and `classes` their names.

    Subclasses say where the published files are; `root` is the folder for them, and with `download` those that are not
    there are fetched, with their checksums. DownloadError where they cannot be had, or are damaged.
    """

    classes: tuple[str, ...]

    def __init__(self, root: Any, train: bool = True, transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None, download: bool = False) -> None:
        for name, function in (("transform", transform), ("target_transform", target_transform)):
            if function is not None and not callable(function):
                raise ConfigError(f"{type(self).__name__}: {name} is {told(function)}. Pass a function, and other "
                                  "arguments by name.")
        self.root, self.train = Path(root).expanduser(), bool(train)
        self.transform, self.target_transform = transform, target_transform
        if download:
            self.download()
        self.data, self.targets = self.load()
        if len(self.data) != len(self.targets) or not np.isin(self.targets, np.arange(len(self.classes))).all():
            raise ConfigError(f"{type(self).__name__}: the files hold {len(self.data)} images and {len(self.targets)} "
                              f"labels of {len(self.classes)} classes. Fetch them anew.")

    def download(self) -> None:
        """Fetch the files that are not there."""
        raise NotImplementedError(f"{type(self).__name__}: download is missing. Fetch the files.")

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """All images and their classes."""
        raise NotImplementedError(f"{type(self).__name__}: load is missing. Return images and classes.")

    def missing(self, paths: Sequence[Path]) -> ConfigError:
        """The error for files that are not there."""
        return ConfigError(f"{type(self).__name__}: no file {' or '.join(map(str, paths))}. Use download=True, or put "
                           "it there.")

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not -len(self.data) <= index < len(self.data):
            raise IndexError(f"{type(self).__name__}: index {index} of {len(self.data)} samples. Use 0 to "
                             f"{len(self.data) - 1}.")
        image: Any = Tensor(self.data[index].copy())
        target: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def batch(self, indices: Sequence[int]) -> Any:
        """The samples of these indices, as a batch; at once where nothing is transformed."""
        if self.transform is None and self.target_transform is None:
            rows = np.asarray(indices, np.int64)
            return Tensor(self.data[rows]), Tensor(self.targets[rows])
        return default_collate([self[index] for index in indices])
