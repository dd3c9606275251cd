"""Writes the files beside it, by the programs whose formats they are: `python make.py torch`, `python make.py lucid`.

Needs PyTorch 2, or lucid-dl 2.10. The tests hold what is read from the files to what is written here.
"""

import sys
from collections import OrderedDict
from pathlib import Path

HERE = Path(__file__).parent


def by_torch():
    """One object in both of PyTorch's formats, and as a big-endian machine would write it."""
    import torch
    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    state = OrderedDict(weight=torch.nn.Parameter(base), part=base[:, 1:], turned=base.T,
                        half=torch.tensor([1.5, -2], dtype=torch.bfloat16), count=torch.tensor(7),
                        flags=torch.tensor([True, False]), none=torch.zeros(0, 2), spread=torch.ones(1).expand(3),
                        unsigned=torch.tensor([65535], dtype=torch.uint16))
    state._metadata = {"version": 1}
    found = {"model": state, "epoch": 3, "rates": [0.5, (1, None, "x")], "size": torch.Size([2, 3]),
             "dtype": torch.float16}
    torch.save(found, HERE / "torch.pt")
    del state["unsigned"]                                  # the old format keeps no bytes of it
    torch.save(found, HERE / "torch_legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(1, 1), HERE / "torch_module.pt")


def by_lucid():
    """A tensor and the state dict of a layer."""
    import lucid
    import numpy as np
    lucid.save(lucid.Tensor(np.arange(6, dtype="float32").reshape(2, 3)), HERE / "lucid.lct")
    layer = lucid.nn.Linear(2, 1)
    layer.load_state_dict({"weight": np.array([[1, 2]], "float32"), "bias": np.array([[3]], "float32")})
    lucid.save(layer, HERE / "lucid.lcd")


if __name__ == "__main__":
    {"torch": by_torch, "lucid": by_lucid}[sys.argv[1]]()
