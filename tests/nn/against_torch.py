"""A layer beside PyTorch's with the same weights: keys, outputs and all gradients."""

import numpy as np
import pytest

import lucid_nb as lnb


def share_weights(ours, theirs, seed=0):
    """Give both the same weights, biases and other vectors away from 0 and 1."""
    torch, random = pytest.importorskip("torch"), np.random.default_rng(seed)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    state = {key: value.detach().numpy().copy() for key, value in theirs.state_dict().items()}
    for value in state.values():
        if value.dtype.kind == "f":
            value += 0.1 * random.standard_normal(value.shape).astype(value.dtype)
    theirs.load_state_dict({key: torch.tensor(value) for key, value in state.items()})
    ours.load_state_dict(state)


def assert_layers_agree(ours, theirs, inputs, options, tolerance=5e-6):
    """Outputs, and gradients of float inputs and of parameters, of the sum of squares of all outputs.

    An array that stands twice in `inputs` is one tensor.
    """
    torch = pytest.importorskip("torch")
    share_weights(ours, theirs)
    given = {id(x): (lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)) for x in inputs}
    found = ours(*[given[id(x)][0] for x in inputs], **options)
    wanted = theirs(*[given[id(x)][1] for x in inputs],
                    **{name: torch.tensor(x) if isinstance(x, np.ndarray) else x for name, x in options.items()})
    pairs = [(a, b) for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, wanted)], strict=True)
             if not a is b is None]
    for a, b in pairs:
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)
    sum([(a * a).sum() for a, _ in pairs]).backward()
    sum([(b * b).sum() for _, b in pairs]).backward()
    for a, b in [*given.values(), *zip(ours.parameters(), theirs.parameters(), strict=True)]:
        slope = b.grad.numpy()
        np.testing.assert_allclose(a.grad.numpy(), slope, rtol=tolerance,
                                   atol=2 * tolerance * max(1, np.abs(slope).max()))
