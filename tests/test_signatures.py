"""Arguments go by NumPy's names and places: every function that NumPy has, too, is compared with its signature."""

import inspect
import types
from inspect import Parameter

import numpy as np
import pytest

import lucid_nb as lnb

PLACED = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
SIZES = "the shape may come as several sizes, as in PyTorch; test_shapes_come_in_both_ways holds it"
DIFFERENT = {
    **dict.fromkeys(("empty", "ones", "zeros", "reshape"), SIZES),
    **dict.fromkeys(("fix", "i0", "sinc", "iscomplex", "isreal", "isneginf", "isposinf"), "an elementwise record"),
    "array": "no ndmax", "clip": "NumPy's a_min and a_max have the array API's names, min and max, and go by name, too",
    "einsum_path": "NumPy's einsum_call is not meant for users",
    "where": "one or three arguments, by position as in NumPy",
}


def shared():
    """Names of functions in Python that both libraries have, with those of the subpackages."""
    for place, numpys in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        ours = getattr(lnb, place[:-1]) if place else lnb
        for name in sorted(set(dir(numpys)) & set(dir(ours))):
            one, other = getattr(ours, name), getattr(numpys, name)
            is_written_here = isinstance(one, types.FunctionType) and not isinstance(other, (np.ufunc, type))
            if is_written_here and callable(other) and not name.startswith("_") and place + name not in DIFFERENT:
                yield place + name


def find(library, name):
    """A function by its dotted name."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


@pytest.mark.parametrize("name", [*shared()])
def test_arguments_have_numpys_names_and_places(name):
    try:
        wanted = inspect.signature(find(np, name)).parameters
    except ValueError:
        pytest.skip("NumPy tells no signature")
    found = inspect.signature(find(lnb, name)).parameters
    hands_on = any(one.kind is Parameter.VAR_POSITIONAL for one in found.values())      # the rest to NumPy's own
    placed = [one for one in found.values() if one.kind in PLACED]
    for place, argument in enumerate([one for one in wanted.values() if one.kind in PLACED]):
        if place >= len(placed) and hands_on:
            break
        assert place < len(placed), f"{argument.name} cannot be given by position"
        if argument.kind is Parameter.POSITIONAL_OR_KEYWORD:
            assert placed[place].name == argument.name
            assert placed[place].kind is argument.kind
    has_options = any(one.kind is Parameter.VAR_KEYWORD for one in found.values())
    assert has_options or {name for name, one in wanted.items() if one.kind is Parameter.KEYWORD_ONLY} <= set(found)


@pytest.mark.parametrize("name", ["empty", "ones", "zeros"])
def test_shapes_come_in_both_ways(name):
    make = getattr(lnb, name)
    for made in (make((2, 3), np.int8, "F"), make(shape=(2, 3), dtype=np.int8, order="F"), make(2, 3, dtype=np.int8)):
        assert made.shape == (2, 3) and made.dtype == np.int8
    x = np.arange(6).reshape(2, 3)
    for call in (lambda n, a: n.reshape(a, (3, 2), "F"), lambda n, a: n.reshape(a, shape=(3, 2), order="F")):
        np.testing.assert_array_equal(call(lnb, lnb.tensor(x)).numpy(), call(np, x))
    assert lnb.reshape(lnb.tensor(x), 3, 2).shape == (3, 2)
