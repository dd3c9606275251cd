"""The names that every docstring example may use: `np` and `lnb`."""

import importlib

import numpy as np
import pytest


@pytest.fixture(autouse=True, scope="session")
def names(doctest_namespace: dict[str, object]) -> None:
    """Give the examples their two names."""
    doctest_namespace.update(np=np, lnb=importlib.import_module("lucid_nb"))
