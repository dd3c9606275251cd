"""vmap of every elementwise record against a loop over the examples, with gradients, on the cpu and on mlx."""

import numpy as np
import pytest

from ..ops import oracles
from .cases import SIZE
from .loops import DEVICES, check

RECORDS = oracles.records()


def drawn(op, dtype):
    """Inputs of a record for all examples, within its samples."""
    rng = np.random.default_rng(len(op.name))
    found = []
    for number, (low, high) in enumerate(op.facts.samples):
        if number in op.rule.integers or not oracles.takes(op, dtype):
            found.append(rng.integers(1, 6, size=(SIZE, 4)).astype("int32"))
        else:
            found.append(rng.uniform(max(low, -1e3), min(high, 1e3), size=(SIZE, 4)).astype(dtype))
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_equals_the_loop(name, device):
    op = RECORDS[name]
    given = drawn(op, DEVICES[device])
    check(oracles.call(name), (0,) * op.arity, given, device)
    if op.arity > 1 and device == "cpu":
        check(oracles.call(name), (0, None, *(0,) * (op.arity - 2)), [given[0], given[1][0], *given[2:]], device)
