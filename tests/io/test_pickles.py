"""Pickles are read as data. Oracle: Python's own unpickler, for what is harmless; what is not is refused by name."""

import collections
import io
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.io import builders, pickles

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys = st.text() | st.integers() | st.tuples(st.integers(), st.text())
nested = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner)
                      | st.sets(keys) | st.frozensets(keys)
                      | st.dictionaries(st.text(), inner).map(collections.OrderedDict)
                      | st.dictionaries(keys, st.integers()).map(collections.Counter), max_leaves=20)


def read(content, allowance=1 << 20):
    """The object of a pickle."""
    machine = pickles.Machine("load", builders.of_numpy("cpu"), builders.states("cpu"), allowance)
    found = machine.read(io.BytesIO(content))
    machine.check(found)
    return found


@given(value=nested, protocol=st.integers(0, 5))
def test_plain_values_are_those_of_pythons_unpickler(value, protocol):
    value = _without_frozensets(value) if protocol < 4 else value
    found = read(pickle.dumps(value, protocol))
    assert found == value and type(found) is type(value)


def _without_frozensets(value):
    """Before protocol 4 a frozenset is the class, called."""
    if isinstance(value, dict):
        return type(value)({key: _without_frozensets(part) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_frozensets, value))
    return set(value) if isinstance(value, frozenset) else value


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize("dtype", ["bool", "uint16", "int64", "float16", "bfloat16", "float32", ">f4", "complex128"])
def test_arrays_come_back(dtype, protocol):
    dtype = np.dtype(lnb.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.arange(6).reshape(2, 3).astype(dtype)
    for array in (x, x.T, x[:0], x[0, 1:2].reshape(()), x[:, ::2]):
        found = read(pickle.dumps([array, array], protocol))
        wanted = array.astype(dtype.newbyteorder("=")) if not dtype.isnative else array
        np.testing.assert_array_equal(found[0].to_host(), wanted, strict=True)
        assert found[0] is found[1]
    scalar = x[1, 1]
    if dtype.isnative:
        assert read(pickle.dumps(scalar, protocol)) == scalar and type(read(pickle.dumps(scalar))) is type(scalar)


def test_old_names_of_numpy_are_known():
    content = pickle.dumps(np.ones(2), 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert read(content).tolist() == [1, 1]


class Trap:
    """What a pickle of it calls when it is read."""

    def __init__(self, function, *arguments):
        self.does = function, arguments

    def __reduce__(self):
        return self.does


HOSTILE = {"os.mkdir": Trap(os.mkdir, "sprung"), "builtins.eval": Trap(eval, "1"), "builtins.getattr":
           Trap(getattr, "a", "b"), "numpy.load": Trap(np.load, "x"), "builtins.print": print,
           "numpy.memmap": np.memmap, "collections.deque": collections.deque()}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_what_would_run_is_refused_by_name(tmp_path, monkeypatch, name, protocol):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps({"weights": [HOSTILE[name]]}, protocol)
    shown = {"os.mkdir": os.mkdir.__module__ + ".mkdir"}.get(name, name)
    old = {"builtins": "__builtin__"} if protocol < 3 else {}
    module, _, last = shown.rpartition(".")
    with pytest.raises(errors.ConfigError, match=rf"load: the file asks for '{old.get(module, module)}\.{last}'"):
        read(content)
    for suffix in (".lct", ".lcd", ".pt", ".pth"):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(content)
        with pytest.raises(errors.ConfigError, match="asks for"):
            lnb.load(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("content", [
    b"cos\nsystem\n(S'true'\ntR.", b"(ios\nsystem\n.", b"(cos\nsystem\nS'true'\no.", b"\x80\x02\x82\x01.", b"Pabc\n.",
    b"cnumpy.dtype\nx\n.", b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93."],
    ids=["reduce", "inst", "obj", "extension", "persistent", "dotted", "stack"])
def test_no_opcode_reaches_code(content):
    with pytest.raises((errors.ConfigError, ValueError), match=r"asks for|opcode|outside"):
        read(content)


DAMAGED = {
    "nothing": b"", "no stop": b"K\x01", "empty stack": b".", "two values": b"K\x01K\x02.", "a mark": b"(.",
    "no mark": b"t.", "memo": b"h\x05.", "underflow": b"s.", "append to a number": b"K\x01K\x02a.",
    "items of a list": b"](K\x01K\x02u.", "state of a list": b"]K\x01b.", "a number called": b"K\x01)R.",
    "a list called": b"](R.", "odd items": b"}(K\x01u.", "a list as key": b"}]K\x01s.", "pop of a mark": b"(0(a.",
    "huge text": b"\x8d" + b"\xff" * 8 + b"a.", "huge bytes": b"\x8e" + b"\xff" * 7 + b"\x7fa.",
    "huge memo": b"K\x01r\xff\xff\xff\xffb.", "negative size": b"T\xff\xff\xff\xffa.", "a number of many digits":
    b"I" + b"9" * 10000 + b"\n.", "not utf-8": b"X\x01\x00\x00\x00\xff.", "deep": b"(" * 100000 + b".",
    "reference": b"K\x01Q.", "dtype itself": b"cnumpy\ndtype\n.",
    "a made dtype": b"cnumpy\ndtype\n(X\x02\x00\x00\x00f4tR.",
    "an array without content": b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR.",
    "objects": b"cnumpy\ndtype\n(X\x02\x00\x00\x00O8tR.",
    "bytes of a size": b"c__builtin__\nbytearray\n(J\xff\xff\xff\x7ftR."}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_pickles_are_refused(tmp_path, name):
    for suffix in (".lct", ".pt"):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(DAMAGED[name])
        with pytest.raises(errors.LucidError, match=r"load: .*\. \w"):
            lnb.load(path)


def test_nesting_without_end_is_no_recursion():
    deep = b"]" * 50000 + b"a" * 49999 + b"."
    assert isinstance(read(deep), list)
    with pytest.raises(ValueError, match="as a key"):     # the hash of a deep tuple recurses in C
        read(b"}" + b")" + b"\x85" * 100000 + b"K\x01s.")


def test_memory_that_builders_copy_is_bounded():
    """One text of 100 kB, encoded ten thousand times, would be a gigabyte."""
    text = b"X" + (100_000).to_bytes(4, "little") + b"a" * 100_000 + b"q\x000"
    encoded = b"c_codecs\nencode\n(h\x00X\x06\x00\x00\x00latin1tR"
    content = text + b"(" + encoded * 10_000 + b"t."
    with pytest.raises(errors.ConfigError, match="grows far beyond"):
        read(content, 16 * len(content))


def test_shared_lists_are_walked_once():
    """Forty lists, each twice in the next: a walk along all paths would take 2**40 steps."""
    lists = b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(40))
    assert len(read(b"(" + lists + b"l.")) == 41
