"""The table: what a device promises, and what it says of an entry that it lacks."""

from types import SimpleNamespace

import pytest

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
