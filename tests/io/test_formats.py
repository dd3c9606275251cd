"""`save` and `load` choose by the types of their arguments and by the suffix."""

import io
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import backend, errors, nn, optim, testing
from lucid_nb.io import writing

X = np.arange(6, dtype="float32").reshape(2, 3)
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]


def same(found, wanted):
    """Bits, dtype and shape."""
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)


@pytest.mark.parametrize("suffix", [".npy", ".lct"])
@pytest.mark.parametrize("kind", [str, Path])
def test_the_object_comes_first_where_the_second_is_a_path(tmp_path, suffix, kind):
    path = tmp_path / f"x{suffix}"
    assert lnb.save(lnb.asarray(X), kind(path)) == path.resolve()
    same(lnb.load(kind(path)), X)
    lnb.save(X * 2, path)                                 # an array of NumPy is an object, too
    same(lnb.load(path), X * 2)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_file_comes_first_in_numpys_calls(tmp_path):
    held = io.BytesIO()
    assert lnb.save(held, lnb.asarray(X)) is None and lnb.save(tmp_path / "x", X) is None
    np.testing.assert_array_equal(np.load(io.BytesIO(held.getvalue())), np.load(tmp_path / "x.npy"), strict=True)
    with open(tmp_path / "y", "wb") as file:
        lnb.save(file, X)
    same(lnb.load(tmp_path / "y"), X)
    lnb.save(tmp_path / "list", [1, 2])
    assert lnb.load(tmp_path / "list.npy").tolist() == [1, 2]
    with pytest.raises(errors.DTypeError, match="save: "):
        lnb.save(tmp_path / "x", tmp_path / "y")          # two paths: a text is no array


@given(x=testing.arrays(st.sampled_from(DTYPES), testing.shapes()), name=st.text(st.characters(codec="utf-8")))
def test_any_array_comes_back_by_any_name(tmp_path_factory, x, name):
    folder = tmp_path_factory.getbasetemp()
    for suffix in (".npz", ".safetensors", ".lcd"):
        if (x.dtype == "complex128" and suffix == ".safetensors") or ("\0" in name and suffix == ".npz"):
            continue
        lnb.save({name: lnb.asarray(x), f"{name}2": x}, folder / f"any{suffix}")
        found = lnb.load(folder / f"any{suffix}")
        same(found[name], x)
        same(found[f"{name}2"], x)
    for suffix in (".npy", ".lct"):
        lnb.save(x, folder / f"any{suffix}")
        same(lnb.load(folder / f"any{suffix}"), x)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".lcd"])
@pytest.mark.parametrize("device", DEVICES)
def test_state_dicts_come_back(tmp_path, suffix, device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    path = tmp_path / f"model{suffix}"
    state = {"b": lnb.asarray(X, device=device), "a": X[0], "file": lnb.asarray(np.float32(3), device=device)}
    assert lnb.save(state, path) == path.resolve()
    found = lnb.load(path, device=device)
    assert set(found) == set(state)
    for name, wanted in (("b", X), ("a", X[0]), ("file", np.array(3, "float32"))):
        assert found[name].device == device
        same(found[name], wanted)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".lcd"])
def test_modules_are_saved_by_their_state(tmp_path, suffix):
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    lnb.save(first, tmp_path / f"m{suffix}")
    second.load_state_dict(lnb.load(tmp_path / f"m{suffix}"))
    same(second.weight.detach(), first.weight.numpy() if not first.weight.requires_grad else first.weight.to_host())


def test_optimizers_are_saved_by_their_state(tmp_path):
    layer = nn.Linear(2, 1)
    optimizer = optim.Adam(layer.parameters(), lr=0.25)
    lnb.save(optimizer, tmp_path / "o.lcd")
    found = lnb.load(tmp_path / "o.lcd")
    assert found["param_groups"][0]["lr"] == 0.25
    optim.Adam(layer.parameters()).load_state_dict(found)
    with pytest.raises(errors.DTypeError, match=r"save: '\w+' is a \w+, not a tensor"):
        lnb.save(optimizer, tmp_path / "o.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["o.lcd"]


def test_schedules_are_saved_by_their_state(tmp_path):
    """Of all, the one that remembers more than numbers: a Counter of milestones, one of them twice."""
    def schedule():
        optimizer = optim.SGD([lnb.zeros(1, requires_grad=True)], lr=1.0)
        return optimizer, optim.lr_scheduler.MultiStepLR(optimizer, [2, 5, 5])
    optimizer, first = schedule()
    again, second = schedule()
    optimizer.step()
    first.step()
    lnb.save(first, tmp_path / "s.lcd")
    lnb.save(optimizer, tmp_path / "o.lcd")
    again.load_state_dict(lnb.load(tmp_path / "o.lcd"))
    second.load_state_dict(lnb.load(tmp_path / "s.lcd"))
    for _ in range(6):
        for part in (optimizer, first, again, second):
            part.step()
        assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1e-3)


def test_a_missing_suffix_is_lucids(tmp_path):
    assert lnb.save(lnb.ones(2), tmp_path / "t").name == "t.lct"
    assert lnb.save({"a": lnb.ones(2)}, tmp_path / "d").name == "d.lcd"
    assert lnb.save({"a": lnb.ones(2)}, tmp_path / "d", safetensors=True).name == "d.safetensors"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["d.lcd", "d.safetensors", "t.lct"]


class Odd:
    """Of no kind that a file holds."""


@pytest.mark.parametrize(("obj", "name", "error", "text"), [
    (X, "x.safetensors", ValueError, r"save: \.safetensors files hold no tensor alone. Use .npy or .lct"),
    ({}, "x.npy", ValueError, r"save: \.npy files hold no dict. Use .npz or .safetensors or .lcd"),
    ({}, "x.pt", ValueError, r"save: \.pt files cannot be written"),
    (X, "x.png", ValueError, r"save: \.png files cannot be written"),
    ([X], "x.lcd", TypeError, "save: a list is no state dict"),
    (3, "x", TypeError, "save: a int is no state dict"),
    ({1: X}, "x.npz", ValueError, "save: 1 is no name"),
    ({"a": [X]}, "x.npz", TypeError, "save: 'a' is a list, not a tensor. Use .lcd"),
    ({"a": np.array(["b"])}, "x.safetensors", TypeError, "save: 'a' is <U1"),
    ({"a": X.astype("complex128")}, "x.safetensors", TypeError, "save: 'a' is complex128"),
    ({"a\0": X}, "x.npz", ValueError, "save: the name 'a.x00' would end at its zero"),
    ({"a": lnb.ones(1, dtype=lnb.bfloat16)}, "x.npz", TypeError, "save: .npy files know no bfloat16"),
    ({"__metadata__": X}, "x.safetensors", ValueError, "save: __metadata__ is no name"),
    ({"a": {"b": [1, Odd()]}}, "x.lcd", ValueError, r"save: the state holds a Odd at 'a.b\[1\]'"),
    ({"a": {Odd: 1}}, "x.lcd", ValueError, r"save: 'a' has the key"),
    ({"a": np.array([None])}, "x.lcd", TypeError, "save: 'a' is object"),
], ids=range(16))
def test_what_a_format_does_not_hold_is_refused(tmp_path, obj, name, error, text):
    with pytest.raises(error, match=text) as caught:
        lnb.save(obj, tmp_path / name)
    assert isinstance(caught.value, errors.LucidError) and not list(tmp_path.iterdir())


def test_options_are_refused_where_they_mean_nothing(tmp_path):
    with pytest.raises(errors.ConfigError, match=r"metadata has 'epoch': 3\. Give texts"):
        lnb.save({"a": X}, tmp_path / "x.safetensors", metadata={"epoch": 3})
    with pytest.raises(errors.ConfigError, match=r"\.npz files have no metadata"):
        lnb.save({"a": X}, tmp_path / "x.npz", metadata={})
    for options in ({"metadata": {}}, {"safetensors": True}):
        with pytest.raises(errors.ConfigError, match="belong to save"):
            lnb.save(tmp_path / "x.npy", X, **options)
    lnb.save({"a": X}, tmp_path / "x.safetensors")
    with pytest.raises(errors.ConfigError, match=r"mmap_mode='r' is for \.npy files"):
        lnb.load(tmp_path / "x.safetensors", mmap_mode="r")
    for name in ("none.safetensors", "none.lcd", "none.pt", "none.safetensors.index.json", "none.npz"):
        with pytest.raises(FileNotFoundError):
            lnb.load(tmp_path / name)


def test_a_dict_that_holds_itself_is_refused(tmp_path):
    state = {}
    state["me"] = state
    with pytest.raises(errors.ConfigError, match="Does one hold itself"):
        lnb.save(state, tmp_path / "x.lcd")


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.safetensors", "x.lct", "x.lcd"])
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, name):
    obj = lnb.asarray(X) if name in ("x.npy", "x.lct") else {"a": lnb.asarray(X)}
    path = tmp_path / name
    lnb.save(obj, path)
    path.chmod(0o640)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        lnb.save(obj, path)
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == [name]
    monkeypatch.undo()
    lnb.save(obj, path)
    assert path.stat().st_mode & 0o777 == 0o640


# ------------------------------------------------------------------------------------------------ lucid's files
FILES = Path(__file__).parent / "files"


def test_lucids_files_are_read():
    same(lnb.load(FILES / "lucid.lct"), X)
    found = lnb.load(FILES / "lucid.lcd")
    assert list(found) == ["weight", "bias"]
    same(found["weight"], np.array([[1, 2]], "float32"))
    same(found["bias"], np.array([[3]], "float32"))


def test_lucids_files_are_written_as_lucid_reads_them(tmp_path):
    """By Python's own unpickler, as lucid 2.10 reads them."""
    lnb.save(lnb.asarray(X), tmp_path / "x.lct")
    lnb.save(OrderedDict(a=lnb.asarray(X)), tmp_path / "x.lcd")
    found = pickle.loads((tmp_path / "x.lct").read_bytes())
    np.testing.assert_array_equal(found.pop("content"), X, strict=True)
    assert found == {"type": "Tensor", "format_version": 1.1}
    found = pickle.loads((tmp_path / "x.lcd").read_bytes())
    assert found["type"] == "OrderedDict" and type(found["content"]) is OrderedDict
    np.testing.assert_array_equal(found["content"]["a"], X, strict=True)


def test_nested_states_come_back(tmp_path):
    state = {"model": {"w": lnb.asarray(X), "half": lnb.ones(2, dtype=lnb.bfloat16), "turned": lnb.asarray(X).T},
             "rng": np.random.PCG64(3).state, 0: [1, (2.5, None, True)], ("a", 1): b"bytes", "z": 3j, "set": {1, 2},
             "best": np.float64(0.5), "count": np.int32(4), "big": 2**200, "empty": [], "many": list(range(300))}
    lnb.save(state, tmp_path / "x.lcd")
    found = lnb.load(tmp_path / "x.lcd")
    assert list(found) == list(state)
    model = found.pop("model")
    same(model["w"], X)
    same(model["half"], np.ones(2, lnb.bfloat16))
    same(model["turned"], X.T)
    model["w"][0, 0] = 5                                  # what is read may be written
    assert found == {key: value for key, value in state.items() if key != "model"}
    assert type(found["best"]) is np.float64 and type(found["count"]) is np.int32


def test_foreign_versions_and_contents_are_refused(tmp_path):
    path = tmp_path / "x.lcd"
    for data, text in (({"type": "dict", "format_version": 1.0, "content": {}}, "has format version 1.0, not 1.1"),
                       ({"type": "Tensor", "format_version": 1.1, "content": {}}, "said to hold a 'Tensor'"),
                       ({"type": "Odd", "format_version": 1.1, "content": {}}, "damaged"),
                       ({"type": ["dict"], "format_version": 1.1, "content": {}}, "damaged"),
                       ({"a": 1}, "is a pickle, not a file of lucid"), ([1], "is a pickle, not a file of lucid")):
        path.write_bytes(pickle.dumps(data))
        with pytest.raises(errors.ConfigError, match=text):
            lnb.load(path)
    path.write_bytes(b"")
    with pytest.raises(errors.ConfigError, match="is empty"):
        lnb.load(path)
    with pytest.raises(IsADirectoryError if os.name == "posix" else PermissionError):
        (tmp_path / "folder.lcd").mkdir()
        lnb.load(tmp_path / "folder.lcd")


def test_suffixes_that_are_never_written_and_folders_that_are_missing_are_named(tmp_path):
    for suffix in (".pt", ".xyz"):
        with pytest.raises(errors.ConfigError, match=rf"save: \{suffix} files cannot be written\. Use"):
            lnb.save({"x": X}, tmp_path / f"a{suffix}")
    with pytest.raises(errors.ConfigError, match=r"save: \.lct files hold no dict"):
        lnb.save({"x": X}, tmp_path / "a.lct")
    with pytest.raises(FileNotFoundError, match=r"no such folder to write into: '.*nowhere'"):
        lnb.save({"x": X}, tmp_path / "nowhere" / "a.lcd")
    assert not list(tmp_path.iterdir())
