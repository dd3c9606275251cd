"""The devices on which an op is tested: MLX where it is installed, CUDA in the simulator's own process."""

import pytest

from lucid_nb import backend


@pytest.fixture(params=["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def device(request):
    """A device by name."""
    if request.param == "mlx" and not backend.is_usable("mlx"):
        pytest.skip("needs MLX, which exists for Apple silicon and for Linux")
    return request.param


@pytest.fixture
def has_float64(device):
    """Can the device hold float64? Apple's GPUs cannot."""
    return device != "mlx" or not backend.table("mlx").module.runtime.ON_GPU
