"""Einstein sums against NumPy's: drawn subscripts, sizes and dtypes; gradients against finite differences."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import arrays, assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(18)
DTYPES = ("float16", "float32", "float64", "complex128", "int8", "int32", "bool")
CHAIN = ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2))
# subscripts and the shapes of the operands
TABLE = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ij,kj", (2, 3), (4, 3)), ("ij->ji", (2, 3)),
    ("ba", (2, 3)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("iij->ji", (2, 2, 3)), ("ijij->", (2, 3, 2, 3)),
    ("i,i", (4,), (4,)), ("i,j->ij", (2,), (3,)), ("i,j->ji", (2,), (3,)), ("ij,ij->", (2, 3), (2, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bjk->ibk", (2, 3, 4), (2, 4, 5)), ("bi,bi->b", (40, 3), (40, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...ij,...jk", (2, 3, 4), (4, 2)), ("i...->...", (2, 3, 4)), ("...i->i...", (2, 3)), ("...,...", (2, 3), (3,)),
    ("ij,j->i", (1, 3), (3,)), ("ij,jk->ik", (2, 1), (3, 4)), ("ij,ij->ij", (2, 1), (1, 3)),
    ("i,ij,j->", (2,), (2, 3), (3,)),
    CHAIN, ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 5)), ("ab,bc,cd,da", (2, 3), (3, 4), (4, 2), (2, 2)),
    ("i,j,k->kji", (2,), (3,), (4,)), ("ijk,jl,kl->il", (2, 3, 4), (3, 5), (4, 5)),
    ("abc,abc,abc->ac", *[(2, 3, 4)] * 3),
    ("ij,kl->jl", (2, 3), (4, 5)), ("ij->", (0, 3)), ("ij,jk->ik", (2, 0), (0, 3)), ("", ()),
    (",", (), ()), ("i,->i", (3,), ()),
    (" ij , jk -> ik ", (2, 3), (3, 4)), ("Ab,bA->A", (2, 3), (3, 2)), ("bA", (2, 3)), ("bA...", (2, 3, 4)),
]


def check(text, operands, device="cpu", **options):
    """A call against NumPy's on the same numbers, of floats in more digits."""
    found = lnb.einsum(text, *[lnb.asarray(x, device=device) for x in operands], **options)
    dtype = operands[0].dtype
    assert found.dtype == dtype and found.device == device
    if dtype.kind in "biu":
        np.testing.assert_array_equal(found.to_host(), np.einsum(text, *operands))
        return
    wide = [x.astype("clongdouble" if dtype.kind == "c" else "longdouble") for x in operands]
    size = max([1.0, *[float(np.abs(x).max(initial=0)) for x in wide]]) ** max(2, len(operands))
    epsilon = float(np.finfo(dtype).eps)
    assert_close(found, np.einsum(text, *wide), rtol=4 * epsilon, atol=200 * epsilon * size)


@pytest.mark.parametrize("optimize", [True, False, "optimal"])
@pytest.mark.parametrize("case", TABLE, ids=lambda case: case[0])
def test_values_equal_numpy(case, optimize):
    text, *shapes = case
    check(text, [RNG.standard_normal(shape) for shape in shapes], optimize=optimize)


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case[0])
def test_values_on_a_device_equal_numpy(case, device):
    text, *shapes = case
    for dtype in ("float32", "int32"):
        check(text, [(3 * RNG.uniform(-1, 1, shape)).astype(dtype) for shape in shapes], device)


@st.composite
def calls(draw):
    """Subscripts with repeated labels, ellipses and sizes of 1, and operands that fit."""
    sizes = dict(zip("abcd", draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))))
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    dtype = draw(st.sampled_from(DTYPES))
    terms, operands = [], []
    for _ in range(draw(st.integers(1, 3))):
        letters = draw(st.lists(st.sampled_from("abcd"), max_size=3))
        shape = [1 if letters.count(x) == 1 and draw(st.integers(0, 5)) == 0 else sizes[x] for x in letters]
        if draw(st.booleans()) and hidden:
            place = draw(st.integers(0, len(letters)))
            shown = [draw(st.sampled_from([1, size])) for size in hidden[draw(st.integers(0, len(hidden))):]]
            letters.insert(place, "...")
            shape[place:place] = shown
        terms.append("".join(letters))
        operands.append(draw(arrays(dtype, tuple(shape), awkward=False)))
    text = ",".join(terms)
    if draw(st.booleans()):
        used = sorted({x for x in text if x in "abcd"})
        result = list(draw(st.permutations(used)))[:draw(st.integers(0, len(used)))]
        if "..." in text:
            result.insert(draw(st.integers(0, len(result))), "...")
        text += "->" + "".join(result)
    return text, operands


@given(calls(), st.sampled_from([True, False]))
def test_drawn_calls_equal_numpy(call, optimize):
    check(*call, optimize=optimize)


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("case", TABLE, ids=lambda case: case[0])
def test_gradient_follows_finite_differences(case):
    text, *shapes = case
    check_grad(lambda *xs: lnb.einsum(text, *xs), *[RNG.standard_normal(shape) for shape in shapes])


@pytest.mark.parametrize("case", [TABLE[0], TABLE[14], CHAIN, TABLE[7], TABLE[15]], ids=lambda case: case[0])
def test_complex_gradient_follows_finite_differences(case):
    text, *shapes = case
    check_grad(lambda *xs: lnb.einsum(text, *xs),
               *[RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape) for shape in shapes])


@pytest.mark.parametrize("case", [TABLE[1], TABLE[14], TABLE[16], TABLE[17], CHAIN], ids=lambda case: case[0])
def test_gradient_follows_the_cpu(case, device):
    text, *shapes = case
    check_against_cpu(lambda *xs: lnb.einsum(text, *xs), *[RNG.standard_normal(shape) for shape in shapes],
                      device=device)


# ----------------------------------------------------------------------------------------- other forms
def test_lists_of_labels_are_subscripts():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 4))
    for call in [(a, [0, 1], b, [1, 2]), (a, [0, 1], b, [1, 2], [2, 0]), (a, [30, 1], b, [1, 2]), (a, [1, 0]),
                 (a, [..., 1], b, [1, 51], [..., 51]), (a, [0, 1], [])]:
        found = lnb.einsum(*[lnb.asarray(x) if isinstance(x, np.ndarray) else x for x in call])
        assert_close(found, np.einsum(*call), rtol=1e-13, atol=1e-13)


def test_paths_are_found_taken_and_refused():
    text, *shapes = CHAIN
    operands = [RNG.standard_normal(shape) for shape in shapes]
    wanted = np.einsum(text, *operands)
    path, report = lnb.einsum_path(text, *operands, optimize="optimal")
    assert path[0] == "einsum_path" and "Complete contraction" in report
    assert path == np.einsum_path(text, *operands, optimize="optimal")[0]
    for optimize in (path, path[1:], [(0, 1, 2)], ["einsum_path", (0, 2), (0, 1)], "auto", ("greedy", 100)):
        assert_close(lnb.einsum(text, *operands, optimize=optimize), wanted, rtol=1e-13)
    for optimize in ([(0, 1)], [(0, 3), (0, 1)], [(0, 0), (0, 1)], "best", 1.5, []):
        with pytest.raises(errors.ShapeError, match=r"^einsum: "):
            lnb.einsum(text, *operands, optimize=optimize)


def test_result_without_sums_is_a_view():
    x = lnb.zeros((3, 3))
    lnb.einsum("ii->i", x)[...] = 1
    np.testing.assert_array_equal(x.to_host(), np.eye(3))


def test_out_dtype_casting_and_order():
    a, b = RNG.standard_normal((2, 3)).astype("float32"), RNG.standard_normal((3, 4)).astype("float32")
    out = lnb.zeros((2, 4))
    assert lnb.einsum("ij,jk", a, b, out=out) is out
    assert_close(out, a.astype("float64") @ b, rtol=1e-6, atol=1e-6)
    assert lnb.einsum("ij,jk", a, b, dtype="float64").dtype == np.float64
    assert lnb.einsum("ij,jk", a.astype("float64"), b, dtype="float32", casting="same_kind").dtype == np.float32
    with pytest.raises(errors.DTypeError, match="does not go into float32 by casting 'safe'"):
        lnb.einsum("ij,jk", a.astype("float64"), b, dtype="float32")
    assert lnb.einsum("ij->ji", a, order="C").numpy().flags.c_contiguous
    assert lnb.einsum("ij,jk", a, b, order="F").numpy().flags.f_contiguous


@pytest.mark.parametrize("call, text", [
    (("i->ii", np.ones(3)), "names 'i' twice"), (("i->j", np.ones(3)), "names 'j' that no operand has"),
    (("ij", np.ones(3)), "operand 0 has 1 axes, and 2 subscripts 'ij'. Leave some out"),
    (("i", np.ones((3, 2))), "Name every axis, or add '...'"),
    (("i,j", np.ones(3)), "name 2 operands, and 1 are given"),
    (("i", np.ones(3), 2.0), "name 1 operands, and 2 are given"),
    (("i$", np.ones(3)), r"'\$' in 'i\$' is no subscript"),
    (("i.j", np.ones((3, 2))), "has a '.' outside of an ellipsis"),
    (("...i...", np.ones((3, 2))), "outside of an ellipsis"),
    (("i->j->k", np.ones(3)), "is no subscript"), (("...i->i", np.ones((2, 3))), "does not name the 1 axes of '...'"),
    (("ij,kj", np.ones((2, 3)), np.ones((2, 4))), "axis 'j' has sizes 3 and 4"), ((), "no subscripts"),
    (("ii", np.ones((2, 3))), "'i' takes the diagonal of axes of sizes 2 and 3 in operand 0"),
    ((np.ones(3), [60]), "subscript 60 is out of range. Use 0 to 51"),
    ((np.ones(3), ["a"]), "subscript 'a' is not an integer"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_bad_subscripts_are_refused(call, text):
    with pytest.raises(errors.ShapeError, match=f"^einsum: .*{text}"):
        lnb.einsum(*call)


@pytest.mark.serial
def test_opt_einsum_loads_with_the_first_three_operands():
    text = ("import sys, lucid_nb as l; x = l.ones((2, 2)); l.einsum('ij,jk', x, x); "
            "print('opt_einsum' in sys.modules); l.einsum('ij,jk,kl', x, x, x); print('opt_einsum' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "True"]
