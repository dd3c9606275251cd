"""The table: what a device promises, and what it says of an entry that it lacks."""

from types import SimpleNamespace

import pytest

import lucid_nb as lnb
from lucid_nb import backend
from lucid_nb.errors import DeviceError


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_each_entry_is_there_or_has_a_reason(device):
    if not backend.is_usable(device):
        pytest.skip(f"{device} is not usable here")
    table = backend.table(device)
    missing = [entry for entry in backend.ENTRIES if not hasattr(table.module, entry)]
    assert set(missing) == set(table.module.UNSUPPORTED)


@pytest.mark.cuda_simulator
def test_each_entry_is_there_or_has_a_reason_on_cuda():
    table = backend.table("cuda")
    missing = [entry for entry in backend.ENTRIES if not hasattr(table.module, entry)]
    assert set(missing) == set(table.module.UNSUPPORTED)


def test_missing_entry_says_why_and_what_to_do():
    module = SimpleNamespace(ALIASES=False, DEVICE="probe", UNSUPPORTED={"assign": "Use put_slice."})
    with pytest.raises(DeviceError, match=r"^assign: not available on probe\. Use put_slice\.$"):
        backend.Table("probe", module).assign  # noqa: B018
    with pytest.raises(DeviceError, match=r"^conv: not available on probe\. Use \.to\('cpu'\)\.$"):
        backend.Table("probe", module).conv  # noqa: B018


@pytest.mark.parametrize("device", [None, "cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_synchronize_waits_for_what_was_launched(device):
    if device == "mlx" and not backend.is_usable("mlx"):
        pytest.skip("needs MLX, which exists for Apple silicon and for Linux")
    x = lnb.ones(3, device=device) + 1
    lnb.synchronize(device)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(lnb.errors.DeviceError, match="'tpu' is unknown"):
        lnb.synchronize("tpu")
