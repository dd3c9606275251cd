"""What tests of kernels share."""

import numpy as np
import pytest

from lucid_nb import config
from lucid_nb.errors import ConfigError
from lucid_nb.kernels import compiler, threads


@pytest.fixture(params=[128, 256, 512], scope="module")
def width(request):
    """Bits of the vectors that kernels are compiled for, where this CPU has them."""
    before = config.vector_width
    try:
        config.vector_width = request.param
        if compiler.vector_width() != request.param:
            pytest.skip(f"this CPU has no vectors of {request.param} bits")
        yield request.param
    except ConfigError as error:
        pytest.skip(str(error))
    finally:
        config.vector_width = before


@pytest.fixture
def draw():
    """The same numbers for every test."""
    return np.random.default_rng(0)


@pytest.fixture(params=[1, 2])
def count(request):
    """How many threads there are."""
    before = threads.num_threads()
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(before)
