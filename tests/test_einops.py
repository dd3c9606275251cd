"""Axes by name: the package einops on tensors, against itself on NumPy's arrays."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import einops as own
from lucid_nb import nn
from lucid_nb.errors import BackendError, DTypeError, ShapeError
from lucid_nb.testing import check_grad

einops = pytest.importorskip("einops")

RNG = np.random.default_rng(5)
IMAGES = RNG.standard_normal((4, 3, 8, 6))
REARRANGED = [("b c h w -> b (c h w)", {}), ("b c h w -> w h c b", {}),
              ("b c (h p) (w q) -> b (h w) (p q c)", dict(p=2, q=3)),
              ("(b1 b2) c h w -> b2 (b1 h) c w", dict(b1=2)), ("b ... -> ... b", {}), ("b ... w -> b (...) w", {}),
              ("b c h w -> b 1 c h w 1", {}), ("b c h w -> b c h w", {}), ("(a b) c h w -> a b c h w", dict(b=4))]
REDUCED = [("b c h w -> b c", {}), ("b c h w ->", {}), ("b c (h 2) (w 2) -> b h w c", {}), ("... h w -> ... 1 1", {}),
           ("b c (h p) w -> p (b w)", dict(p=4)), ("b c h w -> w h c b", {})]
REPEATED = [("b c h w -> b (c k) h w", dict(k=2)), ("b c h w -> (b 2) c (h 3) w", {}),
            ("b c h w -> k b c w h", dict(k=3)), ("... -> ... k", dict(k=2)), ("b c h w -> b c h w 1", {})]


def case_name(value):
    """Of a pattern, for the test's name."""
    return value if isinstance(value, str) else ""


def same(found, expected, exact=True):
    """Equal values, shape and dtype."""
    assert isinstance(found, lnb.Tensor) and found.dtype == expected.dtype and found.shape == expected.shape
    (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(found.numpy(), expected)


# ------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("pattern, sizes", REARRANGED, ids=case_name)
def test_rearrange_gives_the_same_as_on_numpy(pattern, sizes):
    same(own.rearrange(IMAGES, pattern, **sizes), einops.rearrange(IMAGES, pattern, **sizes))


@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("pattern, sizes", REDUCED, ids=case_name)
def test_reduce_gives_the_same_as_on_numpy(pattern, sizes, reduction):
    expected = einops.reduce(IMAGES, pattern, reduction, **sizes)
    same(own.reduce(IMAGES, pattern, reduction, **sizes), np.asarray(expected), exact=reduction in ("max", "min"))


@pytest.mark.parametrize("reduction", ["any", "all"])
def test_reduce_of_truths_gives_the_same_as_on_numpy(reduction):
    truths = RNG.random((3, 4, 5)) < 0.7
    same(own.reduce(truths, "a b c -> b", reduction), einops.reduce(truths, "a b c -> b", reduction))


def test_reduce_takes_functions_and_sums_by_default():
    def spread(x, axes):
        return x.max(axis=axes) - x.min(axis=axes)
    same(own.reduce(IMAGES, "b c h w -> c b", spread), einops.reduce(IMAGES, "b c h w -> c b", spread))
    same(own.reduce(np.arange(6), "(a b) -> a", a=2), np.array([3, 12]))


@pytest.mark.parametrize("pattern, sizes", REPEATED, ids=case_name)
def test_repeat_gives_the_same_as_on_numpy(pattern, sizes):
    same(own.repeat(IMAGES, pattern, **sizes), einops.repeat(IMAGES, pattern, **sizes))


def test_lists_are_stacked_as_on_numpy():
    parts = [RNG.standard_normal((2, 3)) for _ in range(4)]
    expected = einops.rearrange(parts, "n a b -> a (n b)")
    same(own.rearrange(parts, "n a b -> a (n b)"), expected)
    same(own.rearrange([lnb.asarray(part) for part in parts], "n a b -> a (n b)"), expected)


def test_pack_and_unpack_give_the_same_as_on_numpy():
    parts = [RNG.standard_normal(shape) for shape in ((2, 5), (2, 3, 5), (2, 4, 2, 5))]
    packed, shapes = own.pack(parts, "b * c")
    expected, expected_shapes = einops.pack(parts, "b * c")
    same(packed, expected)
    assert shapes == [tuple(shape) for shape in expected_shapes]
    for found, part in zip(own.unpack(packed, shapes, "b * c"), parts, strict=True):
        same(found, part)
    first, rest = own.unpack(packed, [[2], [-1]], "b * c")
    assert (first.shape, rest.shape) == ((2, 2, 5), (2, 10, 5))


@pytest.mark.parametrize("pattern, shapes", [
    ("batch row inner, inner col -> batch col row", [(2, 3, 4), (4, 5)]), ("a b, a b ->", [(3, 4), (3, 4)]),
    ("one, two, three -> three one two", [(2,), (3,), (4,)]), ("... a, a b -> ... b", [(2, 3, 4), (4, 5)])])
def test_einsum_gives_the_same_as_on_numpy(pattern, shapes):
    operands = [RNG.standard_normal(shape) for shape in shapes]
    expected = np.asarray(einops.einsum(*operands, pattern))
    same(own.einsum(*operands, pattern), expected, exact=False)
    same(own.einsum(pattern, *operands), expected, exact=False)


def test_parse_shape_gives_the_same_as_on_numpy():
    for pattern in ("b c h w", "_ c _ w", "b ... w"):
        assert own.parse_shape(lnb.asarray(IMAGES), pattern) == einops.parse_shape(IMAGES, pattern)


@st.composite
def permutations(draw):
    """An array, and a pattern that splits its axes, reorders the parts and joins some of them."""
    parts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    names = [f"axis{i}" for i in range(len(parts))]

    def grouped(order):
        cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1)))) if len(order) > 1 else []
        return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)])]
    left, right = grouped(names), grouped(draw(st.permutations(names)))
    shape = [int(np.prod([parts[names.index(name)] for name in group])) for group in left]
    pattern = " -> ".join(" ".join(f"({' '.join(group)})" for group in side) for side in (left, right))
    return np.arange(float(np.prod(shape))).reshape(shape), pattern, dict(zip(names, parts))


@given(permutations())
def test_drawn_patterns_give_the_same_as_on_numpy(case):
    array, pattern, sizes = case
    same(own.rearrange(array, pattern, **sizes), einops.rearrange(array, pattern, **sizes))


# ---------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("function", [
    lambda x: own.rearrange(x, "b (h p) c -> (b c) p h", p=2), lambda x: own.reduce(x, "b (h 2) c -> h b", "mean"),
    lambda x: own.reduce(x, "b h c -> c", "prod"), lambda x: own.reduce(x, "b h c -> b", "max"),
    lambda x: own.repeat(x, "b h c -> (b 2) c k h", k=2), lambda x: own.einsum(x, x, "b h c, b k c -> h k"),
    lambda x: own.unpack(own.pack([x, x * x], "b * c")[0], [(1,), (7,)], "b * c")[1]])
def test_gradients_to_second_order(function):
    check_grad(function, RNG.standard_normal((2, 4, 3)), order=2)


def test_the_packages_own_functions_take_tensors():
    x = lnb.tensor(IMAGES, requires_grad=True)
    own.library()
    y = einops.rearrange(x, "b c h w -> (b c) (h w)")
    same(y.detach(), IMAGES.reshape(12, 48))
    y.sum().backward()
    assert (x.grad == 1).all()
    assert einops.asnumpy(x.detach()).tolist() == IMAGES.tolist()


def test_rearrange_is_a_view_where_numpy_gives_one():
    x = lnb.tensor(IMAGES)
    own.rearrange(x, "b c h w -> c b w h")[0, 0, 0, 0] = 7.0
    assert x[0, 0, 0, 0] == 7.0
    repeated = own.repeat(x, "b c h w -> b c h w 2")
    repeated[0, 0, 0, 0, 0] = 1.0                    # memory of its own, as on NumPy
    assert repeated[0, 0, 0, 0, 1] == 7.0


def test_on_mlx():
    pytest.importorskip("mlx.core")
    array = IMAGES.astype(np.float32)
    x = lnb.tensor(array, device="mlx", requires_grad=True)
    y = own.reduce(own.repeat(own.rearrange(x, "b c (h p) w -> b h (p c) w", p=2), "b h c w -> b h c (w 2)"),
                   "b h c w -> b w", "mean")
    expected = einops.reduce(einops.repeat(einops.rearrange(array, "b c (h p) w -> b h (p c) w", p=2),
                                           "b h c w -> b h c (w 2)"), "b h c w -> b w", "mean")
    assert y.device == "mlx"
    np.testing.assert_allclose(y.detach().to("cpu").numpy(), expected, rtol=1e-5)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.to("cpu").numpy(), np.full(array.shape, 2 / 24), rtol=1e-6)


# ------------------------------------------------------------------------------------------------- layers
def test_layers_do_what_functions_do():
    x = lnb.tensor(IMAGES.astype(np.float32))
    net = nn.Sequential(nn.Rearrange("b c (h p) w -> b (p c) h w", p=2), nn.Reduce("b c h w -> b c", "max"),
                        nn.Linear(6, 2))
    found = net(x)
    expected = einops.reduce(einops.rearrange(IMAGES, "b c (h p) w -> b (p c) h w", p=2), "b c h w -> b c", "max")
    same(net[1](net[0](x)), expected.astype(np.float32))
    assert found.shape == (4, 2) and sorted(net.state_dict()) == ["2.bias", "2.weight"]
    assert repr(net[0]) == "Rearrange('b c (h p) w -> b (p c) h w', p=2)"
    for other in (copy.deepcopy(net[0]), pickle.loads(pickle.dumps(net[0]))):
        same(other(x), net[0](x).numpy())


def test_layers_refuse_a_wrong_pattern_when_made():
    with pytest.raises(einops.EinopsError):
        nn.Rearrange("b c -> b d")
    with pytest.raises(einops.EinopsError):
        nn.Reduce("b c -> b", "median")


def test_einmix_is_the_same_as_in_torch():
    torch = pytest.importorskip("torch")
    layers = pytest.importorskip("einops.layers.torch")
    arguments = ("b (head c) t -> b t (head d)", "head c d", "head d")
    sizes = dict(head=2, c=3, d=4)
    mine, theirs = nn.EinMix(*arguments, **sizes), layers.EinMix(*arguments, **sizes)
    theirs.load_state_dict({name: torch.from_numpy(value.numpy().copy()) for name, value in mine.state_dict().items()})
    x = RNG.standard_normal((5, 6, 7)).astype(np.float32)
    given, other = lnb.tensor(x, requires_grad=True), torch.from_numpy(x).requires_grad_(True)
    found, expected = mine(given), theirs(other)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-6)
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    np.testing.assert_allclose(given.grad.numpy(), other.grad.numpy(), atol=1e-5)
    for name, parameter in theirs.named_parameters():
        np.testing.assert_allclose(dict(mine.named_parameters())[name].grad.numpy(), parameter.grad.numpy(), atol=1e-4)


def test_einmix_draws_within_its_bounds():
    mix = nn.EinMix("b c -> b d", "c d", "d", c=300, d=40)
    for parameter, bound in ((mix.weight, (3 / 300) ** 0.5), (mix.bias, (1 / 300) ** 0.5)):
        assert 0.8 * bound < float(abs(parameter.detach()).max()) <= bound
    assert nn.EinMix("b c -> b d", "c d", c=3, d=4).bias is None


# ------------------------------------------------------------------------------------------------- errors
def test_pattern_first_is_refused():
    with pytest.raises(DTypeError, match=r"rearrange: got the pattern 'a b -> b a' first. Give the tensor"):
        own.rearrange("a b -> b a", IMAGES)


def test_mean_of_integers_is_refused_as_on_numpy():
    with pytest.raises(NotImplementedError):
        einops.reduce(np.arange(4), "a ->", "mean")
    with pytest.raises(DTypeError, match=r"reduce: the mean of int64 is no int64. Use .astype"):
        own.reduce(lnb.arange(4), "a ->", "mean")


@pytest.mark.parametrize("call, error, text", [
    (lambda: own.rearrange(IMAGES, "b c h w"), ShapeError, "rearrange: the pattern 'b c h w' has 0 arrows inst"),
    (lambda: own.reduce(IMAGES, "b c h w -> b -> c"), ShapeError, "reduce: the pattern .* has 2 arrows instead of 1"),
    (lambda: own.repeat(IMAGES, None), DTypeError, "repeat: the pattern is a NoneType. Give a string"),
    (lambda: own.pack([IMAGES], "* w -> w"), ShapeError, "pack: the pattern .* has 1 arrows instead of 0"),
    (lambda: own.pack([], "* w"), ShapeError, "pack: got no tensors"),
    (lambda: own.parse_shape(IMAGES, 3), DTypeError, "parse_shape: the pattern is a int"),
    (lambda: own.einsum(IMAGES), ShapeError, "einsum: got 1 operands. Give tensors, then the pattern"),
    (lambda: own.einsum(IMAGES, "b c h w"), ShapeError, "einsum: the pattern .* has 0 arrows")])
def test_what_is_no_pattern_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.serial
def test_missing_package_is_told():
    text = ("import sys; sys.modules['einops'] = None; import lucid_nb as lnb, lucid_nb.nn as nn\n"
            "for call in (lambda: lnb.einops.rearrange(lnb.ones(2), 'a -> a'), lambda: nn.Rearrange):\n"
            "    try: call()\n"
            "    except lnb.BackendError as error: print(error)\n"
            "assert 'Rearrange' in dir(nn) and not hasattr(nn, 'Rearranged')")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("Install it: pip install einops." in line for line in lines)
    assert issubclass(BackendError, RuntimeError)


@pytest.mark.serial
def test_importing_the_module_does_not_load_the_package():
    text = "import sys, lucid_nb as lnb; lnb.einops, lnb.nn; assert 'einops' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)
