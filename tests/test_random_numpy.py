"""Random numbers by NumPy's names against NumPy's own, of the same seed; oracle: numpy.random."""

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import backend, errors, testing

COVARIANCE = [[2.0, 0.3], [0.3, 0.5]]
# Parameters of each distribution; an array among them is broadcast with `size`.
DRAWS = {
    "beta": (2.0, [0.5, 1, 3]), "binomial": (10, [0.1, 0.5, 0.9]), "chisquare": ([1, 2.5, 9],),
    "dirichlet": ([0.5, 1, 2],), "exponential": (2.0,), "f": (3, [2, 5, 7]), "gamma": ([0, 0.5, 4], 2.0),
    "geometric": ([0.1, 0.5, 1],), "gumbel": (1.0, 2.0), "hypergeometric": (10, [3, 8, 20], 5), "laplace": (0.5, 2.0),
    "logistic": (0.5, [1, 2, 0]), "lognormal": (0.5, 0.25), "logseries": ([0.2, 0.5, 0.9],),
    "multinomial": (20, [0.2, 0.3, 0.5]), "multivariate_normal": ([1, 2], COVARIANCE),
    "negative_binomial": (3, [0.2, 0.5, 0.9]), "noncentral_chisquare": (3, [0, 1, 5]), "noncentral_f": (3, 20, 3.0),
    "normal": ([0, 1, 2], 0.5), "pareto": (3.0,), "poisson": ([0, 1, 90],), "power": ([1, 3, 5],), "rayleigh": (2.0,),
    "standard_cauchy": (), "standard_exponential": (), "standard_gamma": ([0.5, 1, 3],), "standard_normal": (),
    "standard_t": (5,), "triangular": (-1, [0, 1, 2], 3), "uniform": ([0, 1, -2], 5.0), "vonmises": (0.5, [0, 1, 9]),
    "wald": (1.0, [1, 2, 3]), "weibull": ([0, 1, 3],), "zipf": ([1.5, 2, 4],)}
SINGLE = {"dirichlet", "multinomial", "multivariate_normal"}            # whose parameters have an axis of their own
OLD = {"randint": (3, 90), "random_sample": (), "random": (), "tomaxint": (), "random_integers": (3, 9)}
NEW = {"integers": (3, 90), "random": (), "multivariate_hypergeometric": ([3, 5, 7], 6)}
KINDS = {"library": (lnb.random, np.random), "old": (lnb.random.RandomState, np.random.RandomState),
         "new": (lnb.random.default_rng, np.random.default_rng)}


def pair(kind, seed=11):
    """Our generator and NumPy's, in the same state."""
    ours, theirs = KINDS[kind]
    if kind != "library":
        return ours(seed), theirs(seed)
    ours.seed(seed)
    theirs.seed(seed)
    return ours, theirs


def same(found, wanted):
    """Bits, dtype and shape."""
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_array_equal(found.to_host(), np.asarray(wanted), strict=True)


def cases():
    """(kind of generator, method, parameters)."""
    for kind in KINDS:
        rest = NEW if kind == "new" else OLD if kind == "old" else {k: v for k, v in OLD.items() if k != "tomaxint"}
        yield from ((kind, name, parameters) for name, parameters in (DRAWS | rest).items())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("kind", "name", "parameters"), list(cases()),
                         ids=[f"{kind}-{name}" for kind, name, _ in cases()])
def test_draws_are_numpys(kind, name, parameters):
    ours, theirs = pair(kind)
    for size in (None, 3, (2, 3), (0,) if name in SINGLE else (0, 3)):
        same(getattr(ours, name)(*parameters, size=size), getattr(theirs, name)(*parameters, size=size))
    given = [lnb.asarray(p) if isinstance(p, list) else p for p in parameters]
    same(getattr(ours, name)(*given), getattr(theirs, name)(*parameters))
    if kind != "new":                                  # and nothing else was drawn
        assert ours.get_state()[2] == theirs.get_state()[2]


def test_every_public_name_of_numpys_is_there():
    missing = [name for name in np.random.__all__ if not hasattr(lnb.random, name)]
    assert not missing
    for ours, theirs in ((lnb.random.Generator, np.random.Generator), (lnb.random.RandomState, np.random.RandomState)):
        assert not [name for name in dir(theirs) if name[0] != "_" and not hasattr(ours, name)]
    covered = {*DRAWS, *OLD, *NEW, "bytes", "choice", "permutation", "permuted", "shuffle", "rand", "randn", "seed",
               "get_state", "set_state", "ranf", "sample", "bit_generator", "spawn"}
    for theirs in (np.random.Generator, np.random.RandomState):
        assert {name for name in dir(theirs) if name[0] != "_"} <= covered


@pytest.mark.parametrize("kind", ["library", "old"])
def test_shapes_by_arguments_are_numpys(kind):
    ours, theirs = pair(kind)
    for name in ("rand", "randn"):
        for sizes in ((), (3,), (2, 3), (2, 0, 1)):
            same(getattr(ours, name)(*sizes), getattr(theirs, name)(*sizes))
    for dtype in ("bool", "uint8", "int16", "uint32", "int64", "uint64"):
        same(ours.randint(2, size=5, dtype=dtype), theirs.randint(2, size=5, dtype=dtype))
    same(ours.randint([1, 5, 9]), theirs.randint([1, 5, 9]))
    assert ours.bytes(9) == theirs.bytes(9)


def test_draws_of_todays_generator_have_numpys_options():
    ours, theirs = pair("new")
    for name, parameters in (("random", ()), ("standard_normal", ()), ("standard_exponential", ()),
                             ("standard_gamma", (2.0,))):
        for dtype in ("float32", "float64", np.float32):
            same(getattr(ours, name)(*parameters, size=4, dtype=dtype),
                 getattr(theirs, name)(*parameters, size=4, dtype=dtype))
        out, wanted = lnb.zeros(4, dtype="float32"), np.zeros(4, "float32")
        assert getattr(ours, name)(*parameters, out=out, dtype="float32") is out
        getattr(theirs, name)(*parameters, out=wanted, dtype="float32")
        same(out, wanted)
        with pytest.raises(TypeError, match=f"{name}: out is of float32"):
            getattr(ours, name)(*parameters, out=out)
    same(ours.standard_exponential(3, method="inv"), theirs.standard_exponential(3, method="inv"))
    for dtype in ("bool", "int8", "uint16", "int64", "uint64"):
        same(ours.integers(0, 1, 20, dtype, True), theirs.integers(0, 1, 20, dtype, True))
    for method in ("svd", "eigh", "cholesky"):
        same(ours.multivariate_normal([0, 1], COVARIANCE, 3, method=method),
             theirs.multivariate_normal([0, 1], COVARIANCE, 3, method=method))
    same(ours.multivariate_hypergeometric([3, 4], 5, 2, "count"),
         theirs.multivariate_hypergeometric([3, 4], 5, 2, "count"))
    assert ours.bytes(5) == theirs.bytes(5)
    for our, their in zip(ours.spawn(2), theirs.spawn(2)):
        same(our.random(2), their.random(2))


# --------------------------------------------------------------------------------------------------- orders
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_orders_are_numpys(kind, data):
    dtype = data.draw(st.sampled_from(["bool", "int8", "int64", "float16", "float32", "float64", "complex128"]))
    x = np.array(data.draw(testing.arrays(dtype, testing.shapes(min_dims=1, max_side=7))))
    ours, theirs = pair(kind, data.draw(st.integers(0, 9)))
    axes = [{"axis": data.draw(st.integers(-x.ndim, x.ndim - 1))}] if kind == "new" else [{}]
    for how in axes:
        same(ours.permutation(lnb.asarray(x), **how), theirs.permutation(x, **how))
        on, wanted = lnb.array(x), x.copy()
        assert ours.shuffle(on, **how) is None
        theirs.shuffle(wanted, **how)
        same(on, wanted)
        if kind == "new":
            turned = np.swapaxes(x, 0, -1)
            for axis in (None, how["axis"]):
                same(ours.permuted(lnb.asarray(turned), axis), theirs.permuted(turned, axis=axis))
    for count in (0, 1, 8):
        same(ours.permutation(count), theirs.permutation(count))
    same(ours.permutation([3, 1, 2]), theirs.permutation([3, 1, 2]))


@pytest.mark.parametrize("kind", KINDS)
def test_lists_and_arrays_are_shuffled_as_numpys(kind):
    ours, theirs = pair(kind)
    found, wanted = list("abcdef"), list("abcdef")
    ours.shuffle(found)
    theirs.shuffle(wanted)
    array, numpys = np.arange(12).reshape(6, 2), np.arange(12).reshape(6, 2)
    ours.shuffle(array)
    theirs.shuffle(numpys)
    assert found == wanted and array.tolist() == numpys.tolist()
    with pytest.raises(TypeError, match="shuffle: a tensor without axes"):
        ours.shuffle(lnb.tensor(1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_choices_are_numpys(kind):
    ours, theirs = pair(kind)
    weights = [0.1, 0.2, 0.7]
    for a in (3, [4, 5, 6], np.array([0.5, 1.5, 2.5], "float32")):
        for how in ({}, {"size": 5}, {"size": (2, 2)}, {"size": 2, "replace": False}, {"size": 3, "p": weights},
                    {"size": 2, "replace": False, "p": weights}, {"p": lnb.tensor(weights)}):
            wanted = theirs.choice(a, **{k: np.asarray(v) if k == "p" else v for k, v in how.items()})
            same(ours.choice(lnb.asarray(a) if isinstance(a, np.ndarray) else a, **how), wanted)
    assert ours.choice(["a", "b"], 4).tolist() == theirs.choice(["a", "b"], 4).tolist()
    for wrong in ({"size": 4, "replace": False}, {"p": [0.5, 0.2, 0.1]}, {"p": [0.5, 0.5]}):
        with pytest.raises(ValueError, match="choice: "):
            ours.choice(3, **wrong)
    with pytest.raises(ValueError, match="choice: there is nothing"):
        ours.choice([])


def test_choices_of_rows_are_numpys():
    ours, theirs = pair("new")
    x = np.arange(12).reshape(3, 4)
    for how in ({}, {"axis": 1}, {"axis": -1, "size": 3, "replace": False, "shuffle": False}):
        same(ours.choice(lnb.asarray(x), **how), theirs.choice(x, **how))
    with pytest.raises(ValueError, match=r"choice: a has shape \(3, 4\)"):
        lnb.random.choice(lnb.asarray(x))
    names = np.array([["a", "b"], ["c", "d"]])
    assert ours.choice(names, axis=1).tolist() == theirs.choice(names, axis=1).tolist()


def test_orders_and_choices_have_gradients():
    for f in (lambda x: lnb.random.default_rng(3).permutation(x) * x, lambda x: lnb.random.default_rng(3).permuted(x),
              lambda x: lnb.random.RandomState(3).choice(x[:, 0], 7) ** 2):
        testing.check_grad(f, np.random.default_rng(0).standard_normal((4, 3)))
    x = lnb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    lnb.random.default_rng(3).shuffle(y)
    (y * lnb.arange(4.0)).sum().backward()
    order = np.arange(4)
    np.random.default_rng(3).shuffle(order)
    assert x.grad.tolist() == np.argsort(order).tolist()


# ---------------------------------------------------------------------------------- dtypes, devices, states
def test_numbers_alone_are_values():
    found = lnb.random.default_rng(0).integers(5)
    assert found.shape == () and hash(found) == hash(int(found)) and found.is_value


def test_the_default_float_and_dtype_are_those_asked_for():
    wanted = np.random.RandomState(4).rand(3)
    lnb.set_default_dtype("float32")
    try:
        same(lnb.random.RandomState(4).rand(3), wanted.astype("float32"))
        same(lnb.random.RandomState(4).rand(3, dtype="float64"), wanted)
        assert lnb.random.default_rng(0).random(2).dtype == np.float32
    finally:
        lnb.set_default_dtype("float64")
    same(lnb.random.RandomState(4).normal(size=2, dtype="float16"),
         np.random.RandomState(4).normal(size=2).astype("float16"))


DEVICES = ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]


@pytest.mark.parametrize("device", DEVICES)
def test_each_device_gets_the_same_numbers(device):
    if not backend.is_usable(device):
        pytest.skip(f"needs {device}")
    float_dtype = "float32" if device == "mlx" else "float64"
    rng, numpys = lnb.random.default_rng(9), np.random.default_rng(9)
    found = rng.normal(size=(2, 2), device=device)
    assert found.device == device
    same(found, numpys.normal(size=(2, 2)).astype(float_dtype))
    with lnb.device(device):
        found = rng.integers(7, size=3)
        assert found.device == device
        same(found, numpys.integers(7, size=3))
        on = lnb.arange(5)
    rng.shuffle(on)
    assert on.device == device
    wanted = np.arange(5)
    numpys.shuffle(wanted)
    same(on, wanted)
    same(rng.poisson(on), numpys.poisson(wanted))
    assert rng.poisson(on).device == rng.permutation(on).device == rng.choice(on, 2).device == device


@pytest.mark.parametrize("kind", ["library", "old"])
def test_states_are_saved_and_restored(kind):
    ours, theirs = pair(kind)
    state = ours.get_state()
    first = ours.rand(3)
    ours.set_state(state)
    same(ours.rand(3), first.numpy())
    theirs.set_state(state)                        # NumPy's own takes it too
    same(first, theirs.rand(3))
    with pytest.raises(ValueError, match="set_state: "):
        ours.set_state(("other", 1))


def test_generators_are_copied_with_their_state():
    for ours in (lnb.random.default_rng(1), lnb.random.RandomState(1)):
        ours.normal(size=3)
        clones = [pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)]
        wanted = ours.normal(size=3)
        for clone in clones:
            same(clone.normal(size=3), wanted.numpy())
    ours = lnb.random.Generator(lnb.random.Philox(5))
    state = ours.bit_generator.state
    first = ours.random(2)
    ours.bit_generator.state = state
    same(ours.random(2), first.numpy())
    assert lnb.random.default_rng(ours) is ours
    shared = np.random.default_rng(2)
    assert lnb.random.default_rng(shared).bit_generator is shared.bit_generator


def test_a_number_in_a_tensor_is_a_number():
    one = lnb.tensor(3)
    same(lnb.random.default_rng(one).integers(one, size=one), np.random.default_rng(3).integers(3, size=3))
    same(lnb.random.RandomState(one).randint(9, size=(one, 2)), np.random.RandomState(3).randint(9, size=(3, 2)))
    same(lnb.random.default_rng(0).permutation(one), np.random.default_rng(0).permutation(3))
    same(lnb.random.default_rng(0).choice(one, one), np.random.default_rng(0).choice(3, 3))
    lnb.random.seed(one)
    assert lnb.random.get_seed() == 3


def test_seeds_are_numpys_or_refused():
    for seed in (0, 5, 2**32 - 1, [1, 2, 3]):
        ours, theirs = pair("library", seed)
        same(ours.rand(2), theirs.rand(2))
        assert lnb.random.get_seed() == seed
    lnb.random.seed()
    state = lnb.random.get_state()[1].copy()
    lnb.random.seed(lnb.random.get_seed())
    assert (lnb.random.get_state()[1] == state).all()
    for wrong in (-1, 2**32, "a", 1.5):
        with pytest.raises(errors.ConfigError, match="seed: the seed is"):
            lnb.random.seed(wrong)
    with pytest.raises(errors.DTypeError, match="default_rng: "):
        lnb.random.default_rng("a")


def test_wrong_parameters_raise_numpys_kinds():
    for kind in KINDS:
        ours, theirs = pair(kind)
        for name, arguments in (("normal", (0, -1)), ("beta", (0, 1)), ("binomial", (3, 2)), ("poisson", (-1,)),
                                ("uniform", (0, float("inf"))), ("normal", ([1, 2], 1, 3)), ("normal", (0, 1, -2))):
            with pytest.raises((ValueError, OverflowError)) as wanted:
                getattr(theirs, name)(*arguments)
            with pytest.raises(wanted.type if wanted.type is OverflowError else ValueError):
                getattr(ours, name)(*arguments)
    with pytest.raises(errors.GradError, match="normal: a parameter requires grad"):
        lnb.random.normal(lnb.tensor(1.0, requires_grad=True))


def test_lucids_names_have_its_arguments():
    lnb.random.seed(3)
    np.random.seed(3)
    leaf = lnb.random.rand(2, 3, requires_grad=True, keep_grad=True, device="cpu")
    assert leaf.requires_grad and leaf.is_leaf
    same(leaf.detach(), np.random.rand(2, 3))
    for name, arguments in (("randn", (2,)), ("uniform", (0.0, 2.0, 3))):
        found = getattr(lnb.random, name)(*arguments, requires_grad=True)
        assert found.requires_grad
        same(found.detach(), getattr(np.random, name)(*arguments))
    same(lnb.random.bernoulli(lnb.tensor([0.2, 0.5, 0.9])), (np.random.rand(3) < [0.2, 0.5, 0.9]).astype(float))
    same(lnb.random.permutation(4, dtype="int32"), np.random.permutation(4).astype("int32"))
    for wrong in ([1.5], [-0.1], [float("nan")]):
        with pytest.raises(errors.ConfigError, match="bernoulli: a probability"):
            lnb.random.bernoulli(wrong)
    with pytest.raises(TypeError):
        lnb.random.randint(0, 3, 2, requires_grad=True)        # integers have no gradient


def test_threads_draw_each_number_once():
    rng, parts = lnb.random.default_rng(0), []
    threads = [threading.Thread(target=lambda: parts.extend(rng.integers(2**60, size=50).tolist() for _ in range(20)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = sorted(number for part in parts for number in part)
    assert drawn == sorted(np.random.default_rng(0).integers(2**60, size=4000).tolist())


def test_initialisers_take_either_librarys_generator():
    for ours, theirs in ((lnb.random.default_rng(4), np.random.default_rng(4)),
                         (lnb.random.RandomState(4), np.random.RandomState(4))):
        for name in ("uniform_", "normal_"):
            fill = getattr(lnb.nn.init, name)
            same(fill(lnb.zeros((2, 3)), generator=ours), fill(lnb.zeros((2, 3)), generator=theirs).numpy())
