"""PyTorch's files, read without it: files that it made (files/make.py), and PyTorch itself where it is installed."""

import pickle
import shutil
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import backend, errors

from .making import BASE, Made, archive, storage, tensor, torch_file

FILES = Path(__file__).parent / "files"
STATE = {"weight": BASE, "part": BASE[:, 1:], "turned": BASE.T, "half": np.array([1.5, -2], lnb.bfloat16),
         "count": np.array(7), "flags": np.array([True, False]), "none": np.zeros((0, 2), "float32"),
         "spread": np.ones(3, "float32"), "unsigned": np.array([65535], "uint16")}
BOTH = ["torch.pt", "torch_legacy.pt"]


def same(found, wanted):
    """Bits, dtype and shape."""
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)


@pytest.mark.parametrize("device", ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
@pytest.mark.parametrize("name", BOTH)
def test_both_formats_are_read(name, device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    found = lnb.load(FILES / name, device=device)
    wanted = STATE if name == "torch.pt" else {key: x for key, x in STATE.items() if key != "unsigned"}
    assert type(found["model"]) is OrderedDict and list(found["model"]) == list(wanted)
    for key, x in wanted.items():
        assert found["model"][key].device == device and not found["model"][key].requires_grad
        same(found["model"][key], x)
    assert {key: found[key] for key in found if key != "model"} == {
        "epoch": 3, "rates": [0.5, (1, None, "x")], "size": (2, 3), "dtype": np.dtype("float16")}


@pytest.mark.parametrize("name", BOTH)
def test_tensors_of_one_storage_share_it_and_leave_the_file_alone(tmp_path, name):
    path = tmp_path / "x.pth"
    shutil.copy(FILES / name, path)
    before = path.read_bytes()
    model = lnb.load(path)["model"]
    model["weight"][0, 1] = 9
    assert model["part"][0, 0] == 9 and model["turned"][1, 0] == 9 and path.read_bytes() == before
    assert np.shares_memory(model["weight"].numpy(), model["turned"].numpy())


def test_a_module_is_refused_by_name():
    with pytest.raises(errors.ConfigError, match=r"asks for 'torch\.nn\.modules\.linear\.Linear'"):
        lnb.load(FILES / "torch_module.pt")


# --------------------------------------------------------------------------------------------- files made by hand
def test_a_file_made_by_hand_is_read(tmp_path):
    value = {"x": tensor(1, (2, 2), (3, 1)), "old": Made("torch._utils", "_rebuild_tensor", storage(), 0, (6,), (1,)),
             "p": Made("torch._utils", "_rebuild_parameter", tensor(0, (2, 3), (3, 1)), True, OrderedDict()),
             "other": Made("torch._utils", "_rebuild_tensor_v3", storage("UntypedStorage", "1", 24), 1, (2,), (1,),
                           False, OrderedDict(), Made("torch", "int16", None)),
             "typed": Made("torch._tensor", "_rebuild_from_type_v2", Made("torch._utils", "_rebuild_tensor_v2", None),
                           Made("torch.nn.parameter", "Parameter", None),
                           (storage(), 0, (3, 2), (1, 3), True, OrderedDict()), {"tag": 1}),
             "where": Made("torch", "device", "cuda", 1)}
    found = lnb.load(archive(tmp_path / "x.pt", value, data_1=BASE.tobytes()))
    assert found["x"].tolist() == [[1, 2], [4, 5]] and found["old"].tolist() == BASE.ravel().tolist()
    same(found["p"], BASE)
    same(found["other"], BASE.view("int16").ravel()[1:3])
    same(found["typed"], BASE.T)
    assert found["where"] == "cuda:1"


def first(**how):
    """The first element of this storage."""
    return tensor(0, (1,), (1,), held=storage(**how))


MAKER = Made("torch._utils", "_rebuild_tensor_v2", None)
OUTSIDE = {
    "past the end": tensor(0, (7,), (1,)), "by the offset": tensor(6, (1,), (1,)),
    "by strides": tensor(0, (2, 3), (4, 1)), "negative offset": tensor(-1, (2,), (1,)),
    "negative size": tensor(0, (-2,), (1,)), "negative stride": tensor(5, (6,), (-1,)),
    "huge": tensor(0, (2**62,), (1,)), "huge offset": tensor(2**62, (1,), (1,)),
    "huge stride": tensor(0, (2, 2), (2**62, 1)), "overflow": tensor(0, (2**33, 2**33), (0, 0)),
    "empty far away": tensor(2**62, (0,), (1,)), "lengths differ": tensor(0, (2, 3), (1,)),
    "shape of floats": tensor(0, (2.0,), (1,)), "more than there is": first(count=7),
    "absurd count": first(count=2**62), "negative count": first(count=-1), "missing": first(key="1"),
    "two sizes": [first(), first(count=5)],
    "not a storage": tensor(0, (1,), (1,), held=("storage", 3, "0", "cpu", 6)),
    "a number as storage": Made("torch._utils", "_rebuild_tensor_v2", 3, 0, (1,), (1,)),
    "truth values": tensor(0, (6,), (1,), held=storage("BoolStorage", "0", 24)),
    "a storage itself": {"a": storage()}, "a builder itself": [MAKER], "dtype called": Made("torch", "float32", 3),
    "a class of its own": Made("torch._tensor", "_rebuild_from_type_v2", MAKER, Made("torch", "Size", None),
                               (storage(), 0, (1,), (1,)), {})}


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_of_a_storage_is_reached(tmp_path, name):
    path = archive(tmp_path / "x.pt", OUTSIDE[name])
    with pytest.raises(errors.ConfigError, match=r"load: .*\. Save "):
        lnb.load(path)


def test_foreign_archives_are_refused(tmp_path):
    good = {"x": tensor(0, (6,), (1,))}
    for records, how, text in (
            ({"byteorder": b"big"}, 0, "big-endian"), ({"constants.pkl": b""}, 0, "TorchScript"),
            ({}, zipfile.ZIP_DEFLATED, "compressed, which PyTorch never writes"), ({"data_0": None}, 0, "is missing"),
            ({"data_0": b"short"}, 0, "has 5 bytes for 6 elements of float32")):
        with pytest.raises(errors.ConfigError, match=text):
            lnb.load(archive(tmp_path / "x.pt", good, how, **records))
    np.savez(tmp_path / "x.npz", BASE)
    shutil.copy(tmp_path / "x.npz", tmp_path / "n.pt")
    with pytest.raises(errors.ConfigError, match=r"without PyTorch's data\.pkl"):
        lnb.load(tmp_path / "n.pt")
    for content, text in ((b"", "is empty"), (b"text", "or damaged"), (b"PK\x03\x04", "or damaged"),
                          (pickle.dumps({"a": 1}), "is a pickle, not a file of PyTorch")):
        (tmp_path / "x.pt").write_bytes(content)
        with pytest.raises(errors.ConfigError, match=text):
            lnb.load(tmp_path / "x.pt")


def test_old_files_of_big_machines_are_refused(tmp_path):
    content = (FILES / "torch_legacy.pt").read_bytes()
    head = b"".join(pickle.dumps(part, 2) for part in (0x1950a86a20f9469cfc6c, 1001))
    assert content.startswith(head)
    (tmp_path / "x.pt").write_bytes(content.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89"))
    with pytest.raises(errors.ConfigError, match="big-endian"):
        lnb.load(tmp_path / "x.pt")


def test_dicts_of_arrays_are_read(tmp_path):
    """As tests of published networks write small ones."""
    value = {"model": {"w": BASE, "n": np.array(3)}, "epoch": 2}
    found = lnb.load(torch_file(tmp_path / "x.pth", value))
    same(found["model"]["w"], BASE)
    same(found["model"]["n"], np.array(3))
    assert found["epoch"] == 2


# ------------------------------------------------------------------------------------------------- beside PyTorch
def test_what_torch_saves_is_what_torch_loads(tmp_path):
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    layer = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3))
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.5)
    layer(torch.ones(1, 2, 4, 4)).sum().backward()
    optimizer.step()
    tied = torch.ones(2, 3)
    dtypes = {name: torch.tensor([0, 1, 2]).to(getattr(torch, name)) for name in
              ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "complex64",
               "complex128")}
    saved = {"model": layer.state_dict(), "optimizer": optimizer.state_dict(), "tied": [tied, tied], "dtypes": dtypes,
             "numpy": np.arange(3), "best": np.float64(0.5), "layout": torch.arange(24).reshape(2, 3, 4)[:, ::2, 1:],
             "channels_last": torch.arange(24.).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)}
    for modern in (True, False):
        torch.save(saved, tmp_path / "x.pt", _use_new_zipfile_serialization=modern)
        check_alike(lnb.load(tmp_path / "x.pt"), torch.load(tmp_path / "x.pt", weights_only=False))


def check_alike(found, wanted):
    """The same containers and values, whatever library holds the numbers."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key in wanted:
            check_alike(found[key], wanted[key])
    elif isinstance(wanted, (list, tuple)):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            check_alike(one, other)
    elif hasattr(wanted, "detach"):
        is_half = str(wanted.dtype) == "torch.bfloat16"
        host = wanted.detach().float().numpy().astype(lnb.bfloat16) if is_half else wanted.detach().numpy()
        same(found, host)
        assert found.size == 0 or found.strides == tuple(step * found.itemsize for step in wanted.stride())
    elif isinstance(wanted, np.ndarray):
        same(found, wanted)
    else:
        assert found == wanted and type(found) is type(wanted)
