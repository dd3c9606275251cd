"""Operations of fused functions, beside those of their ops."""

import numpy as np
import pytest

import lucid_nb as lnb

from .test_fusion import KNOWN, arrays


def others(x, w, b):
    """Sums over several axes, formulas of rows and of columns, a product between fused parts, and what nobody uses."""
    unused = lnb.exp(x) * 2
    hidden = lnb.tanh(x * (w * w) + b.sum()).reshape(-1, x.shape[-1])
    scores = hidden @ hidden.T
    return (scores ** 3).sum((0, 1)) + lnb.clip(x, -1, 1).mean() + lnb.logsumexp(x * 2, 0).sum() + (unused * 0).sum()


@pytest.mark.parametrize("function", [*KNOWN, others], ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 8)], ids=str)
def test_a_fused_function_counts_what_its_ops_count(function, shape):
    totals, behind, backward = [], [], []
    fused = lnb.fuse(function)
    for call in (function, fused, fused):                # the second call of `fused` traces nothing
        leaves = [lnb.tensor(x, requires_grad=True) for x in arrays(shape)]
        with lnb.count_flops() as counter:
            result = call(*leaves)
        totals.append(counter.total)
        behind.append(result.flops)
        with lnb.count_flops() as counter:
            result.backward(lnb.ones_like(result))
        backward.append(counter.total)
    assert totals[0] == totals[1] == totals[2]
    assert behind[0] == behind[1] == behind[2] or function is others
    # The gradient is what its kernel computes: from inputs, so that of a softmax takes the exponentials again.
    assert 0.3 * backward[0] < backward[1] == backward[2] < 3 * backward[0]


def test_operations_of_a_gradient_by_hand():
    x, w = lnb.tensor(np.ones((3, 4)), requires_grad=True), lnb.tensor(np.ones(4))
    y = lnb.fuse(lambda x, w: (x * (w * w)).sum(-1))(x, w)
    assert y.flops == 4 + 12 + 9                         # the square, the product, the sums
    with lnb.count_flops() as counter:
        y.backward(lnb.ones(3))
    assert counter.table()["fused_gradient"].flops == 4 + 12
