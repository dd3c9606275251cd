"""Published datasets, fetched to a folder: MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100; and the digits that are here.

>>> lnb.data.datasets.MNIST("nowhere")
Traceback (most recent call last):
lucid_nb.errors.ConfigError: MNIST: no file nowhere/MNIST/raw/train-images-idx3-ubyte.gz or ... Use download=True, ...
"""

from ..digits import digits
from .cifar import CIFAR10, CIFAR100
from .images import ImageDataset
from .mnist import MNIST, FashionMNIST

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageDataset", "digits"]
