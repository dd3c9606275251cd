"""Without a GPU that works `devices()` lacks "cuda", and asking for it raises BackendError with the line that mends it.

Each case is a machine of its own: a process in which numba-cuda says what it says there.
"""

import os
import subprocess
import sys

import pytest

NO_CUDA = "import sys; sys.modules['numba_cuda'] = None"
DRIVER = """
import numba.cuda as cuda
def context():
    {context}
cuda.current_context, cuda.cudadrv.driver.get_version = context, lambda: {version}
cuda.is_available = lambda: {compiler}
"""
SAYS = "raise cuda.cudadrv.error.CudaSupportError({text!r})"
WRONG_WHEEL = """
import sys, types
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "numba_cuda":
            raise ImportError("libnvrtc.so.12: cannot open shared object file")
sys.meta_path.insert(0, Broken())
"""
MACHINES = {
    "no numba-cuda": (NO_CUDA, "pip install -e '.[cuda]'"),
    "no driver": (DRIVER.format(context=SAYS.format(text="\nCUDA driver library cannot be found.\nEnsure that ...\n"),
                                version=(0, 0), compiler=True), "Install NVIDIA's driver (580 or newer)"),
    "no GPU": (DRIVER.format(context=SAYS.format(text="Error at driver init: \nCall to cuInit results in "
                                                 "CUDA_ERROR_NO_DEVICE (100):"), version=(13, 0), compiler=True),
               "CUDA_VISIBLE_DEVICES"),
    "driver too old to begin": (DRIVER.format(context=SAYS.format(text="Call to cuInit results in CUDA_ERROR_"
                                              "INSUFFICIENT_DRIVER"), version=(11, 4), compiler=True),
                                "Update NVIDIA's driver to 580 or newer"),
    "driver too old to run programs": (DRIVER.format(context="return None", version=(12, 4), compiler=True),
                                       "knows CUDA 12.4, and programs are for 13.0. Update NVIDIA's driver"),
    "no compiler": (DRIVER.format(context="return None", version=(13, 0), compiler=False), "pip install -e '.[cuda]'"),
    "wrong wheel": (WRONG_WHEEL, "pip install -e '.[cuda]'"),
}
QUESTION = """
import lucid_nb as lnb
assert "cuda" not in lnb.devices(), lnb.devices()
for ask in (lambda: lnb.zeros(2, device="cuda"), lambda: lnb.ones(2).to("cuda"), lambda: lnb.device("cuda")):
    try:
        ask()
    except lnb.BackendError as error:
        print(error)
assert "cpu" in lnb.devices() and lnb.ones(2).sum().item() == 2
"""


@pytest.mark.parametrize("machine", MACHINES)
def test_without_cuda_devices_lack_it_and_asking_says_what_mends_it(machine):
    there, remedy = MACHINES[machine]
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run([sys.executable, "-c", there + QUESTION], capture_output=True, text=True, env=environment,
                          check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 3 and len({*said}) == 1
    assert said[0].startswith("cuda: ") and remedy in said[0] and said[0].endswith(".")
