"""Files of arrays: what is written here NumPy reads, and the other way round; oracle: NumPy's own functions."""

import gzip
import io
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import backend, errors, testing
from lucid_nb.io import writing

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
DEVICES = ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
X = np.arange(6.0).reshape(2, 3)


class Trap:
    """What a pickle of it does when it is read."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


def same(found, wanted):
    """Bits, dtype and shape."""
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)


@given(x=testing.arrays(st.sampled_from(DTYPES), testing.shapes()))
def test_arrays_are_numpys_bytes_and_come_back(x):
    ours, theirs = io.BytesIO(), io.BytesIO()
    lnb.save(ours, lnb.asarray(x))
    np.save(theirs, x)
    assert ours.getvalue() == theirs.getvalue()
    ours.seek(0)
    found = lnb.load(ours)
    same(found, x)
    assert found.numpy().flags.f_contiguous == np.load(io.BytesIO(theirs.getvalue())).flags.f_contiguous
    for name in ("savez", "savez_compressed"):
        file = io.BytesIO()
        getattr(lnb, name)(file, lnb.asarray(x), x.tolist() if x.size else x, named=x)
        file.seek(0)
        with np.load(file) as wanted:
            assert wanted.files == ["named", "arr_0", "arr_1"]
            file.seek(0)
            archive = lnb.load(file)
            assert list(archive) == archive.files == wanted.files and len(archive) == 3 and "named" in archive
            for key in wanted.files:
                same(archive[key], wanted[key])
            same(archive.f.named, x)


@pytest.mark.parametrize("device", DEVICES)
def test_files_by_name(tmp_path, device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    x = lnb.asarray(X.astype("float32"), device=device)
    lnb.save(tmp_path / "one", x.requires_grad_() if hasattr(x, "requires_grad_") else x)
    lnb.savez(str(tmp_path / "two.npz"), weight=x)
    same(lnb.asarray(np.load(tmp_path / "one.npy")), X.astype("float32"))
    found = lnb.load(tmp_path / "one.npy", device=device)
    assert found.device == device
    same(found, X.astype("float32"))
    with lnb.load(tmp_path / "two.npz", device=device) as archive:
        assert archive["weight"].device == device
        same(archive["weight"], X.astype("float32"))
    with pytest.raises(Exception, match=r"closed|NoneType"):
        archive["weight"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npy", "two.npz"]


def test_a_file_may_be_mapped(tmp_path):
    np.save(tmp_path / "x.npy", X)
    same(lnb.load(tmp_path / "x.npy", mmap_mode="r"), X)
    found = lnb.load(tmp_path / "x.npy", mmap_mode="r+")
    found[0, 0] = 9
    del found
    assert np.load(tmp_path / "x.npy")[0, 0] == 9
    with pytest.raises(ValueError, match="read-only"):
        lnb.load(tmp_path / "x.npy", mmap_mode="r")[0, 0] = 1


def test_bytes_in_the_other_order_are_read():
    file = io.BytesIO()
    np.save(file, X.astype(">f8"))
    file.seek(0)
    same(lnb.load(file), X)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_reading_runs_no_code(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    trap = np.array([Trap(), 1], dtype=object)
    np.save("trap.npy", trap, allow_pickle=True)
    np.savez("trap.npz", trap)
    with pytest.raises(ValueError, match=r"load: .*Object arrays"), lnb.load(f"trap{suffix}") as found:
        found["arr_0"]
    with open("raw.pkl", "wb") as file:
        pickle.dump(Trap(), file)
    with pytest.raises(ValueError, match="load: "):
        lnb.load("raw.pkl")
    assert not os.path.exists("sprung")


def test_what_no_tensor_holds_is_refused(tmp_path):
    file = tmp_path / "x.npy"
    for data in (np.array(["a", "b"]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "i4")]), np.zeros(2, "longdouble")):
        np.save(file, data)
        with pytest.raises(errors.DTypeError, match=r"load: .* has no arithmetic here"):
            lnb.load(file)
    with pytest.raises(errors.DTypeError, match=r"save: .*bfloat16"):
        lnb.save(file, lnb.ones(2, dtype=lnb.bfloat16))
    with pytest.raises(errors.DTypeError, match="save: "):
        lnb.save(file, ["a"])
    with pytest.raises(ValueError, match="savez: 'arr_0' names"):
        lnb.savez(file, X, arr_0=X)
    with pytest.raises(FileNotFoundError):
        lnb.load(tmp_path / "none.npy")
    for content in (b"", b"text", b"PK\x03\x04 broken", b"\x93NUMPY\x01\x00"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="load: "):
            lnb.load(file)


def test_absurd_sizes_are_refused(tmp_path):
    """A header that promises more than any memory has, or than the file: alone, in an archive, and packed."""
    for shape, text in (((10**15,), "memory"), ((2**62, 2**62), "damaged"), ((-4,), "damaged"), ((7,), "damaged")):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        (tmp_path / "x.npy").write_bytes(file.getvalue() + b"\0" * 48)
        with pytest.raises(errors.LucidError, match=rf"load: .*(damaged|{text})"):
            lnb.load(tmp_path / "x.npy")
        for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(tmp_path / "x.npz", "w", how) as archive:
                archive.writestr("../../a.npy", file.getvalue() + b"\0" * 48)
            found = lnb.load(tmp_path / "x.npz")
            assert list(found) == ["../../a"]             # a name only: nothing is unpacked by it
            with pytest.raises(errors.LucidError, match=rf"load: .*(damaged|{text})"):
                found["../../a"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "x.npz"]


# ------------------------------------------------------------------------------------------ whole or not at all
@pytest.mark.parametrize(("name", "write"), [
    ("x.npy", lambda path, x: lnb.save(path, x)), ("x.npz", lambda path, x: lnb.savez(path, x)),
    ("x.txt", lambda path, x: lnb.savetxt(path, x)), ("x.txt.gz", lambda path, x: lnb.savetxt(path, x))],
    ids=["save", "savez", "savetxt", "savetxt-gz"])
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, name, write):
    path = tmp_path / name
    write(path, X)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, X + 1)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == [name]
    monkeypatch.undo()
    path.chmod(0o640)
    write(path, X + 1)
    assert path.read_bytes() != before and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link.npy").symlink_to(tmp_path / "far" / "x.npy")
    lnb.save(tmp_path / "link.npy", X)
    assert (tmp_path / "link.npy").is_symlink()
    same(lnb.load(tmp_path / "far" / "x.npy"), X)


def test_a_compressed_file_is_smaller(tmp_path):
    lnb.savez(tmp_path / "a", lnb.zeros(10000))
    lnb.savez_compressed(tmp_path / "b", lnb.zeros(10000))
    assert (tmp_path / "b.npz").stat().st_size < (tmp_path / "a.npz").stat().st_size / 10
    assert zipfile.is_zipfile(tmp_path / "b.npz")


# ----------------------------------------------------------------------------------------------------- texts
@pytest.mark.parametrize("how", [{}, {"delimiter": ","}, {"fmt": "%.3f", "header": "a b", "footer": "end"},
                                 {"newline": "\r\n", "comments": "% ", "header": "h"}], ids=range(4))
def test_texts_are_numpys(tmp_path, how):
    for x in (X, X[0], X + 1j):
        options = {key: value for key, value in how.items() if key != "fmt" or x.dtype.kind != "c"}
        ours, theirs = io.StringIO(), io.StringIO()
        lnb.savetxt(ours, lnb.asarray(x), **options)
        np.savetxt(theirs, x, **options)
        assert ours.getvalue() == theirs.getvalue()
    path = tmp_path / "x.txt.gz"
    lnb.savetxt(path, lnb.asarray(X), **how)
    np.savetxt(tmp_path / "numpys.txt.gz", X, **how)
    with gzip.open(path) as found, gzip.open(tmp_path / "numpys.txt.gz") as wanted:
        assert found.read() == wanted.read()
    reading = {key: value for key, value in how.items() if key in ("delimiter", "comments")}
    reading["comments"] = reading.get("comments", "#").strip()
    for name in ("loadtxt", "genfromtxt"):
        same(getattr(lnb, name)(path, **reading), getattr(np, name)(path, **reading))


def test_texts_are_read_as_numpys():
    text = "1 2 3\n4 5 6\n"
    for how in ({"dtype": int}, {"skiprows": 1}, {"usecols": (0, 2)}, {"unpack": True}, {"ndmin": 2}, {"max_rows": 1},
                {"dtype": "float32", "converters": {0: lambda s: float(s) * 2}}):
        found, wanted = lnb.loadtxt(io.StringIO(text), **how), np.loadtxt(io.StringIO(text), **how)
        same(found, wanted)
    gaps = "1,,3\n4,5,x\n"
    for how in ({}, {"filling_values": -1}, {"usecols": (0, 1)}, {"skip_header": 1}, {"dtype": int}):
        same(lnb.genfromtxt(io.StringIO(gaps), delimiter=",", **how),
             np.genfromtxt(io.StringIO(gaps), delimiter=",", **how))
    with pytest.raises(errors.DTypeError, match=r"genfromtxt: .* has no arithmetic"):
        lnb.genfromtxt(io.StringIO("1 a\n2 b"), dtype=None, encoding="utf-8")
    with pytest.raises(ValueError, match="loadtxt: "):
        lnb.loadtxt(io.StringIO("1 a"))
    with pytest.raises(FileNotFoundError):
        lnb.loadtxt("there is no such file")
    columns = lnb.loadtxt(io.StringIO(text), dtype=[("a", "i4"), ("b", "f8"), ("c", "f4")], unpack=True)
    for found, wanted in zip(columns, np.loadtxt(io.StringIO(text), dtype=[("a", "i4"), ("b", "f8"), ("c", "f4")],
                                                 unpack=True)):
        same(found, wanted)


def test_texts_are_the_default_float_on_the_device_asked_for():
    lnb.set_default_dtype("float32")
    try:
        assert lnb.loadtxt(io.StringIO("1.5 2")).dtype == np.float32
        assert lnb.loadtxt(io.StringIO("1.5 2"), dtype="float64").dtype == np.float64
    finally:
        lnb.set_default_dtype("float64")
    if backend.is_usable("mlx"):
        found = lnb.loadtxt(io.StringIO("1.5 2"), device="mlx")
        assert found.device == "mlx" and found.dtype == np.float32


def test_raw_files_and_expressions_are_numpys(tmp_path):
    path = tmp_path / "raw"
    X.tofile(path)
    for how in ({}, {"count": 2}, {"offset": 8, "count": 3}, {"dtype": "int32"}):
        same(lnb.fromfile(path, **how), np.fromfile(path, **how))
    path.write_text("1;2;3")
    same(lnb.fromfile(path, int, sep=";"), np.fromfile(path, int, sep=";"))
    path.write_text("a=1 b=22\n")
    same(lnb.fromregex(path, r"=(\d+)", [("n", "i8")]), np.fromregex(path, r"=(\d+)", [("n", "i8")])["n"])
    with pytest.raises(errors.DTypeError, match="fromregex: "):
        lnb.fromregex(path, r"(\w)=(\d+)", [("k", "S1"), ("n", "i8")])


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_write_themselves_as_arrays(tmp_path, device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    x = X.astype("float32")
    on = lnb.asarray(x, device=device)
    for order in ("C", "F"):
        assert on.tobytes(order) == x.tobytes(order) and on.T.tobytes(order) == x.T.tobytes(order)
    for how in ({}, {"sep": ";"}, {"sep": " ", "format": "%.2f"}):
        on.tofile(tmp_path / "ours", **how)
        x.tofile(tmp_path / "numpys", **how)
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "numpys").read_bytes()
    with open(tmp_path / "open", "wb") as file:
        on.tofile(file)
    assert (tmp_path / "open").read_bytes() == x.tobytes()
    on.dump(tmp_path / "pickle")
    held = io.BytesIO()
    on.dump(held)
    for content in (on.dumps(), held.getvalue(), (tmp_path / "pickle").read_bytes()):
        found = pickle.loads(content)
        assert found.device == device
        same(found, x)
