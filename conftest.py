"""The names that every docstring example may use, `np` and `lnb`; what cannot be imported on this system."""

import importlib
from importlib.util import find_spec

import numpy as np
import pytest

# The first two do not exist for every system: no numba-cuda for macOS, no MLX for Intel Macs and Windows.
FOLDERS = {"numba_cuda": ("lucid_nb/cuda/*", "tests/cuda/*"), "mlx": ("lucid_nb/mlx/*",),
           "onnx": ("lucid_nb/onnx/*", "tests/onnx/*", "docs/guide/onnx.md")}
MISSING = [package for package in FOLDERS if find_spec(package) is None]
collect_ignore_glob = [folder for package in MISSING for folder in FOLDERS[package]]


def pytest_report_header() -> list[str]:
    """Say what is left out."""
    return [f"{package} is not installed: {' and '.join(FOLDERS[package])} are left out" for package in MISSING]


@pytest.fixture(autouse=True, scope="session")
def names(doctest_namespace: dict[str, object]) -> None:
    """Give the examples their two names."""
    doctest_namespace.update(np=np, lnb=importlib.import_module("lucid_nb"))
