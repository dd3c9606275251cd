"""safetensors: the bytes of the format's own library, read without copying; hostile headers are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64"]
X = np.arange(6, dtype="float32").reshape(2, 3)
named_arrays = st.dictionaries(st.text().filter(lambda name: name != "__metadata__" and name.isprintable()),
                               testing.arrays(st.sampled_from(DTYPES), testing.shapes()), max_size=4)


def same(found, wanted):
    """Bits, dtype and shape."""
    assert isinstance(found, lnb.Tensor) and (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()


def file_of(path, header, data=b"", length=None):
    """A file of this header, an object or bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(dtype, shape, begin, end):
    """What a header says of a tensor."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@given(arrays=named_arrays)
def test_files_are_the_librarys_bytes_and_come_back(tmp_path_factory, arrays):
    library = pytest.importorskip("safetensors.numpy", reason="compares with the format's own library")
    folder = tmp_path_factory.getbasetemp()
    lnb.save({name: lnb.asarray(x) for name, x in arrays.items()}, folder / "ours.safetensors")
    held = {name: np.ascontiguousarray(x).reshape(x.shape) for name, x in arrays.items()}
    assert (folder / "ours.safetensors").read_bytes() == library.save(held)
    (folder / "theirs.safetensors").write_bytes(library.save(held, {"format": "np"}))
    found = lnb.load(folder / "theirs.safetensors")
    assert list(found) == sorted(arrays) and found.metadata == {"format": "np"}
    for name, x in arrays.items():
        same(found[name], x)
        assert library.load_file(folder / "ours.safetensors")[name].tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(tmp_path, dtype):
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(lnb.bfloat16 if dtype == "bfloat16" else dtype)
    state = {"whole": x, "turned": x.T, "one": x[1, 1].reshape(()), "none": x[:0]}
    lnb.save(state, tmp_path / "x.safetensors", metadata={"b": "2", "a": "ä"})
    found = lnb.load(tmp_path / "x.safetensors")
    assert list(found) == sorted(state) and list(found.metadata.items()) == [("a", "ä"), ("b", "2")]
    for name, wanted in state.items():
        same(found[name], wanted)


def test_the_bytes_are_those_of_the_format(tmp_path):
    """Written out by hand after its description: wider dtypes first, then names; the header padded to 8 bytes."""
    lnb.save({"b": np.float32([1]), "a": np.float32([2]), "c": np.float64([3])}, tmp_path / "x.safetensors")
    header = (b'{"c":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":'
              b'[8,12]},"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}')
    header += b" " * (-len(header) % 8)
    data = np.float64(3).tobytes() + np.float32([2, 1]).tobytes()
    assert (tmp_path / "x.safetensors").read_bytes() == len(header).to_bytes(8, "little") + header + data


def test_tensors_lie_on_the_file_and_leave_it_alone(tmp_path):
    path = tmp_path / "x.safetensors"
    lnb.save({"a": X, "b": X + 1}, path)
    before = path.read_bytes()
    found = lnb.load(path)
    first, second = found["a"].numpy(), found["b"].numpy()
    gap = second.__array_interface__["data"][0] - first.__array_interface__["data"][0]
    assert gap == X.nbytes and not first.flags.owndata
    found["a"][...] = 9
    assert path.read_bytes() == before
    lnb.save({"a": X * 2}, path)                          # another file takes its place; this one lives on
    same(found["b"], X + 1)
    same(lnb.load(path)["a"], X * 2)


def test_data_that_are_not_aligned_are_copied(tmp_path):
    for pad in range(4):
        text = json.dumps({"a": entry("F32", [2, 3], 0, 24)}).encode() + b" " * pad
        found = lnb.load(file_of(tmp_path / f"{pad}.safetensors", text, X.tobytes()))["a"]
        same(found, X)
        assert found.numpy().flags.aligned


def test_an_empty_dict_comes_back(tmp_path):
    lnb.save({}, tmp_path / "x.safetensors")
    assert lnb.load(tmp_path / "x.safetensors") == {}


# ------------------------------------------------------------------------------------------------- several files
def write_index(folder, weight_map, **more):
    """An index of the files beside it."""
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map, **more}))
    return path


def test_models_in_several_files_are_one(tmp_path):
    lnb.save({"c": X, "a": X + 1}, tmp_path / "model-1.safetensors", metadata={"format": "pt"})
    lnb.save({"b": X + 2}, tmp_path / "model-2.safetensors")
    files = {"c": "model-1.safetensors", "a": "model-1.safetensors", "b": "model-2.safetensors"}
    found = lnb.load(write_index(tmp_path, files))
    assert list(found) == ["a", "b", "c"] and found.metadata == {"format": "pt"}
    for name, wanted in (("a", X + 1), ("b", X + 2), ("c", X)):
        same(found[name], wanted)


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/secret.safetensors", "sub/x.safetensors", "..", "",
                                  ".", "C:\\x.safetensors", "..\\x.safetensors", "x\0y", 3, None, ["x"]], ids=range(12))
def test_an_index_reaches_into_its_own_folder_only(tmp_path, name):
    folder = tmp_path / "model"
    folder.mkdir()
    lnb.save({"a": X}, tmp_path / "secret.safetensors")
    with pytest.raises(errors.ConfigError, match=r"not in its own folder|or damaged"):
        lnb.load(write_index(folder, {"a": name}))


def test_a_damaged_index_is_refused(tmp_path):
    lnb.save({"a": X}, tmp_path / "x.safetensors")
    with pytest.raises(errors.ConfigError, match=r"damaged: 'b' is not in 'x.safetensors'"):
        lnb.load(write_index(tmp_path, {"a": "x.safetensors", "b": "x.safetensors"}))
    with pytest.raises(FileNotFoundError, match=r"y\.safetensors"):
        lnb.load(write_index(tmp_path, {"a": "y.safetensors"}))
    for text in ("", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": "x.safetensors", "a": "x.safetensors"}}',
                 "[" * 100000):
        path = tmp_path / "x.safetensors.index.json"
        path.write_text(text)
        with pytest.raises(errors.ConfigError, match="no index of safetensors files, or damaged"):
            lnb.load(path)


# ------------------------------------------------------------------------------------------------- hostile headers
HUGE = 2**62
GOOD = json.dumps(entry("U8", [5], 0, 5)).encode()
OF_ONE = {                                                # what a header says of the only tensor, of five bytes
    "begins late": entry("U8", [4], 1, 5), "too short": entry("U8", [4], 0, 4), "too long": entry("U8", [6], 0, 6),
    "negative": entry("U8", [5], -5, 0), "negative size": entry("U8", [-5], 0, 5),
    "two negatives": entry("U8", [-1, -5], 0, 5), "backwards": entry("U8", [5], 5, 0),
    "other size": entry("F32", [5], 0, 5), "float size": entry("U8", [5.0], 0, 5),
    "truth as size": entry("U8", [5, True], 0, 5), "text as size": entry("U8", "5", 0, 5),
    "huge": entry("F64", [HUGE], 0, HUGE * 8), "no offsets": {"dtype": "U8", "shape": [5]},
    "three offsets": {"dtype": "U8", "shape": [5], "data_offsets": [0, 5, 5]}, "a list": [1],
    "truth values": entry("BOOL", [5], 0, 5)}
HOSTILE = {name: {"a": told} for name, told in OF_ONE.items()} | {
    "overlap": {"a": entry("U8", [3], 0, 3), "b": entry("U8", [3], 2, 5)},
    "same place": {"a": entry("U8", [5], 0, 5), "b": entry("U8", [5], 0, 5)},
    "gap": {"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 3, 5)},
    "huge product": {"a": entry("U8", [HUGE, HUGE, 0], 0, 0), "b": entry("U8", [5], 0, 5)},
    "no object": [1, 2], "a number": 3, "not utf-8": b'{"\xff": 3}', "cut": b'{"a": ', "deep": b"[" * 100000,
    "metadata of numbers": {"__metadata__": {"a": 1}, "a": entry("U8", [5], 0, 5)},
    "metadata a list": {"__metadata__": [], "a": entry("U8", [5], 0, 5)},
    "twice": b'{"a":' + GOOD + b',"a":' + GOOD + b"}", "many digits": b'{"a": ' + b"9" * 10000 + b"}"}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_refused(tmp_path, name):
    path = file_of(tmp_path / "x.safetensors", HOSTILE[name], b"\x02" * 5)
    with pytest.raises(errors.ConfigError, match=r"load: '.*x.safetensors' is .*damaged.* Save or fetch it anew\."):
        lnb.load(path)


def test_dtypes_without_arithmetic_are_named(tmp_path):
    for code in ("F8_E4M3", "F4", 3, None, ["F32"]):
        path = file_of(tmp_path / "x.safetensors", {"a": entry(code, [5], 0, 5)}, b"\0" * 5)
        with pytest.raises(errors.LucidError, match=r"F8_E4M3|F4|3|None|list"):
            lnb.load(path)


@pytest.mark.parametrize("content", [b"", b"\x01", b"\0" * 7, b"\0" * 8, b"\xff" * 8 + b"{}", b"\x03\0\0\0\0\0\0\0{}",
                                     b"PK\x03\x04" + b"\0" * 30], ids=range(7))
def test_files_that_are_too_short_are_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(errors.ConfigError, match=r"load: .*(empty|damaged)"):
        lnb.load(path)
    assert Path(path).read_bytes() == content
