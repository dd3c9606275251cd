"""Reports A 17, 18 and 19 of users of GPUs; no GPU is needed to see them fail."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DeviceError

from .everything import watched


class Warning17:
    """A kernel that warns of low occupancy when it is given few blocks, as numba's do."""

    def __getitem__(self, geometry):
        if geometry[0] < 128:
            warnings.warn("Grid size 1 will likely result in GPU under-utilization due to low occupancy.", stacklevel=2)
        return lambda *_: None


@pytest.mark.cuda_simulator
def test_report_a17_small_arrays_are_no_reason_to_warn():
    from lucid_nb.cuda import launching
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launching._by_numba(Warning17(), 1, 32, 0, ())
        x = lnb.ones(4, dtype="float32", device="cuda")
        assert (x + x).tolist() == [2] * 4 and x.sum().item() == 4 and lnb.sort(x).tolist() == [1] * 4


MIXED = {
    "add": lambda x, y: x + y, "add_number_of_numpy": lambda x, y: lnb.add(x, y), "matmul": lambda x, y: x @ y,
    "where": lambda x, y: lnb.where(x == x, x, y), "concat": lambda x, y: lnb.concat([x, y]),
    "fused": lnb.fuse(lambda x, y: lnb.tanh(x) * y), "in_place": lambda x, y: x.__iadd__(y),
    "setitem": lambda x, y: x.__setitem__(slice(None), y), "linear": lambda x, y: lnb.nn.functional.linear(x, y),
    "loss": lambda x, y: lnb.nn.functional.mse_loss(x, y)}


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("is_numpys", [False, True])
@pytest.mark.parametrize("name", MIXED)
def test_report_a18_memory_of_the_host_is_never_copied_unasked(name, is_numpys):
    x, y = lnb.ones((2, 2), dtype="float32", device="cuda"), np.ones((2, 2), "float32")
    y = y if is_numpys else lnb.asarray(y, device="cpu")
    with watched({}, ()) as passage, pytest.raises(DeviceError) as caught:
        MIXED[name](x, y)
    assert "cuda" in str(caught.value) and "cpu" in str(caught.value) and ".to(" in str(caught.value)
    assert not passage.crossed


FORK = """
import os
import lucid_nb as lnb
x = lnb.ones(2, device="cuda")
assert (x + x).tolist() == [2, 2]
if os.fork():
    os.wait()
else:
    for use in (lambda: x + x, lambda: x.tolist(), lambda: lnb.zeros(2, device="cuda")):
        try:
            use()
        except lnb.DeviceError as error:
            print(error, flush=True)
    os._exit(0)
assert (x + x).tolist() == [2, 2]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_report_a19_a_forked_process_is_told_of_fork_and_spawn():
    pytest.importorskip("numba_cuda")
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, env=environment, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert all("forked" in line and "multiprocessing.get_context('spawn')" in line for line in said)
