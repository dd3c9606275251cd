"""Networks on MLX and CUDA. Oracle: the CPU."""

import numpy as np
import pytest

import lucid_nb as lnb

from .drawn import drawn_state, images
from .test_zoo import SMALL


def step(name, device, shape):
    """Scores of a network with drawn weights, and the gradients of its parameters."""
    model = (lnb.models.LeNet([2, 3], [4], 3) if name == "lenet" else SMALL[name]()).eval()
    model.load_state_dict(drawn_state({key: value.numpy() for key, value in model.state_dict().items()}))
    found = model.to(device)(lnb.asarray(images(*shape).astype(np.float32), device=device))
    (found * found).sum().backward()
    return found.detach().to("cpu").numpy(), {key: param.grad.to("cpu").numpy()
                                              for key, param in model.named_parameters()}


def compare(name, device, shape, rtol):
    found, gradients = step(name, device, shape)
    expected, wanted = step(name, "cpu", shape)
    assert np.allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    for key, gradient in gradients.items():
        assert np.allclose(gradient, wanted[key], rtol=rtol, atol=rtol * np.abs(wanted[key]).max()), key


@pytest.mark.parametrize("name", sorted(SMALL))
def test_networks_on_mlx_equal_the_cpu(name):
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    compare(name, "mlx", (2, 3, 32, 32), 2e-4)


@pytest.mark.cuda_simulator
def test_a_network_on_cuda_equals_the_cpu():
    compare("lenet", "cuda", (1, 1, 16, 16), 1e-4)
