"""Arguments of movement, indexing and contraction that mean nothing: one error of ours, and nothing is written."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import LucidError

HUGE = 10 ** 30
ARRAY = np.array([1, 2])                        # compares with each word, one truth value an element
RECORDS = np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")])

CALLS = {
    "a mode that is an array": lambda x: lnb.take(x, [0], mode=ARRAY),
    "a mode of put that is an array": lambda x: lnb.put(x, [0], 1, ARRAY),
    "a mode of choose that is an array": lambda x: lnb.choose([0], [x], mode=ARRAY),
    "an order that is an array": lambda x: x.copy(ARRAY),
    "an order of astype that is an array": lambda x: x.astype("float32", ARRAY),
    "an order of unravel_index that is an array": lambda x: lnb.unravel_index([0], (2, 3), ARRAY),
    "a casting that is an array": lambda x: lnb.copyto(x, x, casting=ARRAY),
    "a reduction that is an array": lambda x: lnb.scatter_reduce(x, [[0]], x, reduce=ARRAY),
    "a mode of pad that is a slice": lambda x: lnb.pad(x, 1, slice(None)),
    "an axis of flatten that is an array": lambda x: lnb.flatten(x, ARRAY),
    "a start of rollaxis that is a tuple": lambda x: lnb.rollaxis(x, 1, (0, 0)),
    "axes of rot90 that are a number": lambda x: lnb.rot90(x, 1, 3),
    "conditions of select that are a slice": lambda x: lnb.select(slice(1), [x]),
    "choices of select that are a number": lambda x: lnb.select([x > 1], 3),
    "records in select": lambda x: lnb.select([True], [RECORDS]),
    "records as a mask": lambda x: lnb.compress(RECORDS, x),
    "conditions of piecewise that are a number": lambda x: lnb.piecewise(x, 3, [1]),
    "no conditions of piecewise": lambda x: lnb.piecewise(x, [], [1]),
    "conditions of another shape": lambda x: lnb.piecewise(x, [[True, False]], [1]),
    "functions of piecewise that are a number": lambda x: lnb.piecewise(x, [x > 1], 3),
    "coordinates that are a slice": lambda x: lnb.ravel_multi_index(slice(None), (2, 3)),
    "an out that is a tuple": lambda x: lnb.concat([x, x], out=(1,)),
    "an out that is a class": lambda x: lnb.stack([x, x], out=np.float32),
    "an index beyond all integers": lambda x: x[HUGE, 0],
    "an index of a row beyond all integers": lambda x: x[HUGE],
    "sections beyond all integers": lambda x: lnb.array_split(x, HUGE),
    "classes beyond all integers": lambda x: lnb.one_hot([1], HUGE),
    "a negative width for a 0-d array": lambda x: lnb.pad(lnb.tensor(1), -1),
    "subscripts without operands": lambda x: lnb.einsum(()),
    "a value with axes that do not fit": lambda x: x.__setitem__((slice(None), [0, 1]), np.ones((3, 1, 2, 2))),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_before_anything_is_written(name):
    x = lnb.arange(6.0).reshape(2, 3)
    with pytest.raises(LucidError, match=r"^[a-z_0-9]+: .*\.$"):
        CALLS[name](x)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_value_that_does_not_fit_is_refused_in_the_words_of_the_write():
    x = lnb.zeros((2, 3, 2))
    with pytest.raises(lnb.ShapeError, match=r"^setitem: a value of shape \(3, 1, 2, 2\) does not fit \(2, 2, 2\)"):
        x[:, [0, 1]] = np.ones((3, 1, 2, 2))
    with pytest.raises(lnb.ShapeError, match=r"^index_add: a value of shape \(3, 2, 2, 2\) does not fit \(2, 2, 2\)"):
        lnb.index_add(x, [0, 1], np.ones((3, 2, 2, 2)), axis=1)


@pytest.mark.parametrize("k", [HUGE, -HUGE])
def test_triangles_of_diagonals_beyond_all_integers_are_whole_or_empty(k):
    x = np.arange(1.0, 7).reshape(2, 3)
    assert lnb.tril(x, k).tolist() == np.tril(x, 9 if k > 0 else -9).tolist()
    assert lnb.triu(x, k).tolist() == np.triu(x, 9 if k > 0 else -9).tolist()
