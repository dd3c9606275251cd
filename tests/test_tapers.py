"""Window functions against NumPy's, and the gradient of the one with a parameter by finite differences."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import backend
from lucid_nb.testing import check_grad

CALLS = {"bartlett": (), "blackman": (), "hamming": (), "hanning": (), "kaiser": (8.6,)}
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_windows_are_numpys(name, device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    for count in (-1, 0, 1, 2, 7, 12):
        found, wanted = getattr(lnb, name)(count, *CALLS[name], device=device), getattr(np, name)(count, *CALLS[name])
        np.testing.assert_array_equal(found.to_host(), wanted.astype(found.dtype), strict=True)
        assert found.device == device and found.dtype == (np.float32 if device == "mlx" else np.float64)
    assert getattr(lnb, name)(3, *CALLS[name], dtype="float16").dtype == np.float16


def test_kaiser_has_a_gradient_by_its_parameter():
    check_grad(lambda beta: lnb.kaiser(7, beta), np.array(3.0))
    for count in (0, 1, 7):
        np.testing.assert_allclose(lnb.kaiser(count, lnb.tensor(3.0)).numpy(), np.kaiser(count, 3.0), rtol=1e-13)


def test_a_window_of_no_number_is_refused():
    with pytest.raises(ValueError, match="hanning: M"):
        lnb.hanning("a")
