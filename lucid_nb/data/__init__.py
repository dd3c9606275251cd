"""Datasets, their batches, and the handwritten digits that come with the package."""

from .dataset import ConcatDataset, Dataset, Subset, TensorDataset, random_split
from .digits import digits
from .loader import DataLoader, default_collate
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "RandomSampler", "Sampler", "SequentialSampler",
           "Subset", "TensorDataset", "default_collate", "digits", "random_split"]
