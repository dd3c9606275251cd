"""Files with bytes flipped, cut and put in: each loads, or is refused in one sentence; nothing else happens."""

import random
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors

FILES = Path(__file__).parent / "files"
STATE = {"weight": np.arange(6, dtype="float32").reshape(2, 3), "half": np.ones(2, "float16"),
         "flag": np.array([True])}
NAMES = ["x.npy", "x.npz", "packed.npz", "x.safetensors", "x.lct", "x.lcd", "x.pt", "legacy.pt",
         "x.safetensors.index.json"]


def write(path):
    """A sound file of the kind that its name says."""
    if path.name in ("x.pt", "legacy.pt"):
        path.write_bytes((FILES / {"x.pt": "torch.pt", "legacy.pt": "torch_legacy.pt"}[path.name]).read_bytes())
    elif path.name == "packed.npz":
        lnb.savez_compressed(path, **STATE)
    elif path.name == "x.safetensors.index.json":
        lnb.save(STATE, path.parent / "part.safetensors")
        path.write_text('{"metadata": {}, "weight_map": {"weight": "part.safetensors", "half": "part.safetensors"}}')
    else:
        lnb.save(STATE["weight"] if path.suffix in (".npy", ".lct") else STATE, path)
    return path.read_bytes()


def damaged(content, draw):
    """The bytes with one to three accidents."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(content) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            del content[place:]
        elif kind == 1:
            del content[place:place + draw.randint(1, 8)]
        elif kind == 2:
            content[place:place] = draw.randbytes(draw.randint(1, 8))
        elif kind == 3 and place < len(content):
            content[place] ^= 1 << draw.randrange(8)
        else:
            content[place:place + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"])[:len(content) - place]
    return bytes(content)


def touch(found):
    """Read every number, so that nothing lies outside of the memory."""
    if isinstance(found, lnb.Tensor):
        if found.size < 1 << 20:
            found.to_host().tobytes()
    elif hasattr(found, "values"):
        for name in found:
            with suppress(KeyError):          # an entry of a .npz whose name was damaged in one of its places
                touch(found[name])


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_load_or_are_refused(tmp_path, name, count=100):
    sound = write(tmp_path / name)
    draw = random.Random(name)
    refused = 0
    for _ in range(count):
        (tmp_path / name).write_bytes(damaged(sound, draw))
        try:
            touch(lnb.load(tmp_path / name))
        except errors.LucidError as error:
            assert re.fullmatch(r"load: .*\. [A-Z].*\.", str(error)), str(error)
            refused += 1
        except FileNotFoundError:
            assert name.endswith(".json")                 # it names another file
    assert refused > count / 4


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_files_load_or_are_refused(tmp_path, name):
    test_damaged_files_load_or_are_refused(tmp_path, name, 20000)
