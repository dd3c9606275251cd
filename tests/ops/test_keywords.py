"""Arguments after the first go by NumPy's names, too."""

import numpy as np
import pytest

import lucid_nb as lnb

X = np.arange(6.0).reshape(2, 3)
CALLS = {
    "append": {"values": [7.0], "axis": None}, "array_split": {"indices_or_sections": 2, "axis": 1},
    "split": {"indices_or_sections": [1], "axis": 1}, "hsplit": {"indices_or_sections": 3},
    "vsplit": {"indices_or_sections": 2}, "broadcast_to": {"shape": (2, 2, 3), "subok": True},
    "cross": {"b": X[::-1], "axis": -1}, "delete": {"obj": 1, "axis": 0}, "dot": {"b": X.T},
    "insert": {"obj": 1, "values": 5.0, "axis": 1}, "kron": {"b": X}, "moveaxis": {"source": 0, "destination": 1},
    "outer": {"b": X}, "repeat": {"repeats": 2, "axis": 0}, "resize": {"new_shape": (4, 2)}, "rollaxis": {"axis": 1},
    "roll": {"shift": 1, "axis": 0}, "swapaxes": {"axis1": 0, "axis2": 1}, "take": {"indices": [1, 0], "axis": 1},
    "take_along_axis": {"indices": np.array([[1], [0]]), "axis": 1}, "tensordot": {"b": X, "axes": 2},
    "tile": {"reps": (1, 2)}, "pad": {"pad_width": 1, "mode": "edge"}, "expand_dims": {"axis": 0},
    "rot90": {"k": 1, "axes": (0, 1)}, "reshape": {"shape": (3, 2)}, "permute_dims": {"axes": (1, 0)},
}
WRITES = {
    "copyto": {"src": 5, "casting": "same_kind"}, "fill_diagonal": {"val": 5, "wrap": False},
    "put": {"ind": [0, 4], "v": 7}, "place": {"mask": X > 2, "vals": [1, 2]},
    "put_along_axis": {"indices": np.array([[1], [0]]), "values": 5, "axis": 1},
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_go_by_numpys_names(name):
    wanted, found = [getattr(library, name)(x, **CALLS[name]) for library, x in ((np, X), (lnb, lnb.tensor(X)))]
    for ours, theirs in zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]:
        np.testing.assert_array_equal(ours.to_host(), theirs)


@pytest.mark.parametrize("name", WRITES)
def test_arguments_of_writes_go_by_numpys_names(name):
    x, array = lnb.tensor(X), X.copy()
    getattr(lnb, name)(x, **WRITES[name])
    getattr(np, name)(array, **WRITES[name])
    np.testing.assert_array_equal(x.numpy(), array)


def test_all_arguments_of_some_go_by_numpys_names():
    for call in (lambda n, x: n.select(condlist=[x > 2], choicelist=[x], default=1),
                 lambda n, x: n.stack(arrays=[x, x]), lambda n, x: n.block(arrays=[[x, x]]),
                 lambda n, x: n.tensordot(a=x, b=x, axes=2),
                 lambda n, x: n.choose(np.array([0, 1, 0]), choices=[x[0], x[1]])):
        np.testing.assert_array_equal(call(lnb, lnb.tensor(X)).numpy(), call(np, X), strict=True)
