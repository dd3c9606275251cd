"""`checkpoint`: the same gradients as without, for less memory, and errors where a second run is another one."""

import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.autograd import saved_tensors_hooks
from lucid_nb.errors import GradError
from lucid_nb.testing import check_grad

random = np.random.default_rng(5)
A, B = random.uniform(0.3, 1, (3, 3)), random.uniform(-1, 1, (3, 3))


def leaf(data):
    """A tensor that requires grad."""
    return lnb.tensor(data, dtype="float64", requires_grad=True)


def program(x, w):
    """Elementwise ops on short and long roads, a primitive, several results, a write in place, an index."""
    h = lnb.tanh(x @ w) * lnb.exp(x) + x ** 3
    h *= x
    fraction, whole = lnb.modf(h * 3.0)
    return lnb.logsumexp(fraction * w, axis=0) + whole[0] + h[[1, 1]].sum(axis=0) / x[0]


def twice(x, w):
    """Checkpoints within one."""
    inner = lnb.checkpoint(program, x, w)
    return lnb.checkpoint(lambda a: a * lnb.sin(a), inner) + lnb.checkpoint(program, lnb.cos(x), w)


def twice_plain(x, w):
    """The same without."""
    inner = program(x, w)
    return inner * lnb.sin(inner) + program(lnb.cos(x), w)


CASES = {"one": (lambda *a: lnb.checkpoint(program, *a), program),
         "wrapped": (lnb.checkpoint(program), program),
         "nested": (lambda *a: lnb.checkpoint(twice, *a), twice_plain),
         "deep": (lambda *a: lnb.checkpoint(lnb.checkpoint(lnb.checkpoint(program)), *a), program)}


@pytest.mark.parametrize("name", CASES)
def test_gradients_have_the_bits_of_those_without(name):
    found, expected = [lnb.value_and_grad(lambda *a, f=f: f(*a).sum(), (0, 1))(A, B) for f in CASES[name]]
    assert found[0] == expected[0]
    assert all((a == b).all() for a, b in zip(found[1], expected[1]))


@pytest.mark.parametrize("name", ["one", "nested"])
def test_gradients_of_every_order_and_mode_agree_with_differences(name):
    check_grad(CASES[name][0], A, B, order=2)


def test_third_derivative():
    third = lnb.grad(lnb.grad(lnb.grad(lambda x: lnb.checkpoint(lambda y: lnb.sin(y) * y, x))))
    assert np.allclose(third(0.7), -3 * np.sin(0.7) - 0.7 * np.cos(0.7))


def test_hessian_and_hvp():
    def f(x):
        return lnb.checkpoint(lambda y: (lnb.exp(y) * lnb.sin(y)).sum(), x)
    expected = np.diag(2 * np.exp(A[0]) * np.cos(A[0]))
    assert np.allclose(lnb.hessian(f)(lnb.asarray(A[0])), expected)
    assert np.allclose(lnb.hvp(f, lnb.asarray(A[0]), lnb.asarray(B[0])), expected @ B[0])


def test_trees_keywords_and_other_arguments():
    def f(parts, *, scale, power):
        return {"y": (parts["a"][0] * scale) ** power + parts["b"]}
    a, b, scale = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf(2.0)
    lnb.checkpoint(f, {"a": [a, None], "b": b}, scale=scale, power=3)["y"].sum().backward()
    assert a.grad.tolist() == [24, 96] and b.grad.tolist() == [1, 1] and float(scale.grad) == 12 * 9


def test_tensors_of_the_closure_get_gradients():
    layer = lnb.nn.Sequential(lnb.nn.Linear(3, 5), lnb.nn.Tanh(), lnb.nn.Linear(5, 2))
    x = lnb.asarray(A.astype("float32"))
    grads = []
    for call in (layer, lambda x: lnb.checkpoint(layer, x)):
        layer.zero_grad()
        (call(x) ** 2).sum().backward()
        grads.append([p.grad.numpy().copy() for p in layer.parameters()])
    assert all((a == b).all() for a, b in zip(*grads))


def test_one_argument_given_twice_is_one_again():
    layer = lnb.nn.MultiheadAttention(4, 2, dropout=0.3).double()         # which projects in one product then
    x, grads = leaf(random.standard_normal((3, 2, 4))), []
    for call in (layer, lnb.checkpoint(layer)):
        lnb.random.seed(1)
        layer.zero_grad()
        call(x, x, x)[0].sum().backward()
        grads.append([p.grad.numpy().copy() for p in layer.parameters()])
    assert all((a == b).all() for a, b in zip(*grads))


def test_runs_once_more_for_each_backward_and_not_at_all_unrecorded():
    calls = []

    def f(x):
        calls.append(lnb.is_grad_enabled())
        return lnb.exp(x).sum()
    x = leaf(A)
    with lnb.no_grad():
        lnb.checkpoint(f, x)
    y = lnb.checkpoint(f, x)
    assert calls == [False, True]
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert calls == [False, True, True, True, True] and np.allclose(x.grad, 3 * np.exp(A))
    with pytest.raises(GradError, match="freed by an earlier backward"):
        y.backward()


def test_reentrant_flag_of_torch_is_taken_and_ignored():
    x = leaf(A)
    lnb.checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
    assert (x.grad == 2 * x.detach()).all()


# ------------------------------------------------------------------------------------------------ memory
def layers(h, wrap):
    """A chain of 64 layers of four ops."""
    for _ in range(64):
        h = wrap(lambda h: lnb.sin(lnb.exp(lnb.tanh(h) * 0.5) * h), h)
    return h.sum()


def test_peak_of_memory_falls_for_a_chain_of_64_layers():
    size = 4000                                # small enough that NumPy, which is traced, owns the memory

    def peak(wrap):
        for _ in range(2):                     # the first time compiles
            x = leaf(np.linspace(-1, 1, size))
            tracemalloc.start()
            layers(x, wrap).backward()
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return found, x.grad.numpy()
    plain, expected = peak(lambda f, h: f(h))
    kept, gradient = peak(lnb.checkpoint)
    assert (gradient == expected).all()
    assert kept < (64 + 12) * 8 * size + 64 * 4000 < 0.5 * plain


def test_peak_of_memory_of_nested_checkpoints_is_lower_still():
    size, wrap = 4000, lnb.checkpoint

    def groups(h):
        for _ in range(8):
            h = wrap(lambda h: layers_of(h), h)
        return h.sum()

    def layers_of(h):
        for _ in range(8):
            h = wrap(lambda h: lnb.sin(lnb.exp(lnb.tanh(h) * 0.5) * h), h)
        return h

    def peak(f):
        for _ in range(2):
            x = leaf(np.linspace(-1, 1, size))
            tracemalloc.start()
            f(x).backward()
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return found, x.grad.numpy()
    flat, expected = peak(lambda x: layers(x, wrap))
    nested, gradient = peak(groups)
    assert (gradient == expected).all() and nested < 0.6 * flat


def test_arguments_are_freed_after_backward():

    x = leaf(A)
    h = x * 2
    seen = weakref.ref(h.raw.base if h.raw.base is not None else h.raw)
    y = lnb.checkpoint(lambda h: lnb.exp(h).sum(), h)
    del h
    assert seen() is not None
    y.backward()
    assert seen() is None


# ----------------------------------------------------------------------------------------- what must not change
def test_second_run_that_records_something_else_is_refused():
    toggle = [lnb.sin, lnb.exp]
    y = lnb.checkpoint(lambda x: toggle.pop()(x).sum(), leaf(A))
    with pytest.raises(GradError, match=r"checkpoint: <lambda>, run again for its gradient, saved sin of .* as set 0, "
                                        r"and exp of .* when it was called at test_recompute.py:\d+"):
        y.backward()


def test_second_run_ends_where_nothing_more_is_wanted():
    done, (x, w) = [], map(leaf, (A, B))

    def f(x, w):
        try:
            h = lnb.tanh(x @ w)
            done.append("tanh")
            y = h @ w                                # saves h and w, which are there before it runs
            done.append("product")
            return y.sum()
        except Exception:
            raise AssertionError("the end of the second run is no error") from None
        finally:
            done.append("end")
    lnb.checkpoint(f, x, w).backward()
    assert done == ["tanh", "product", "end", "tanh", "end"]
    wanted = lnb.grad(lambda x, w: (lnb.tanh(x @ w) @ w).sum(), (0, 1))(A, B)
    assert np.array_equal(x.grad, wanted[0]) and np.array_equal(w.grad, wanted[1])


def test_inner_regions_do_not_run_for_the_outer_one():
    runs = []

    def inner(x):
        runs.append("inner")
        return lnb.exp(lnb.sin(x))

    def outer(x):
        runs.append("outer")
        return lnb.checkpoint(inner, lnb.cos(x)).sum()
    x = leaf(A)
    lnb.checkpoint(outer, x).backward()
    assert runs == ["outer", "inner", "outer", "inner"]
    np.testing.assert_allclose(x.grad, -np.sin(A) * np.cos(np.cos(A)) * np.exp(np.sin(np.cos(A))), rtol=1e-14)


def test_second_run_that_records_more_or_less_is_refused():
    for counts in ([1, 2], [2, 1]):
        left = counts.copy()

        def f(x, left=left, last=lnb.exp if counts == [2, 1] else lnb.sum):
            for _ in range(left.pop()):
                x = lnb.sin(x)
            return last(x).sum()
        y = lnb.checkpoint(f, leaf(A))
        with pytest.raises(GradError, match="nothing" if counts == [1, 2] else "saved sin of"):
            y.backward()


def test_other_shapes_in_the_second_run_are_refused():
    sizes = [2, 3]
    y = lnb.checkpoint(lambda x: lnb.exp(x[:sizes.pop()]).sum(), leaf([1.0, 2.0, 3.0]))
    with pytest.raises(GradError, match=r"saved exp of .*\(2,\)"):
        y.backward()


def test_write_into_an_argument_is_noticed():
    x = leaf(A)
    h = x * 1
    y = lnb.checkpoint(lambda h: lnb.exp(h).sum(), h)
    with lnb.no_grad():
        h += 1
    with pytest.raises(GradError, match=r"an argument of <lambda> .* was overwritten by in-place add at test_rec"):
        y.backward()


def test_write_into_what_the_function_found_elsewhere_is_noticed():
    x, w = leaf(A), leaf(B)
    y = lnb.checkpoint(lambda x: (x * w).sum(), x)
    with lnb.no_grad():
        w += 1
    with pytest.raises(GradError, match=r"multiply: a value saved at .* was overwritten by in-place add"):
        y.backward()


def test_write_inside_the_function_is_as_without():
    def f(x):
        h = x * 2
        h *= h
        h += x
        return (h * h).sum()
    check_grad(lambda x: lnb.checkpoint(f, x), A, order=2)

    def wrong(x):
        h = lnb.exp(x)
        h += 1
        return h.sum()
    with pytest.raises(GradError, match=r"exp: a value saved .* was overwritten"):
        lnb.checkpoint(wrong, leaf(A)).backward()


def test_error_of_the_second_run_leaves_the_thread_as_it_was():
    failing = [ValueError, None]

    def f(x):
        error = failing.pop()
        if error:
            raise error("second run")
        return lnb.exp(x).sum()
    y = lnb.checkpoint(f, leaf(A))
    with pytest.raises(ValueError, match="second run"):
        y.backward()
    x = leaf(A)
    lnb.sin(x).sum().backward()
    assert np.allclose(x.grad, np.cos(A)) and lnb.is_grad_enabled()


# ------------------------------------------------------------------------------------------ state and random
def test_dropout_draws_the_same_mask_again():
    drop, x = lnb.nn.Dropout(0.5), leaf(np.ones((20, 20)))
    lnb.random.seed(3)
    expected = drop(x).detach()
    after = lnb.random.next_key()
    lnb.random.seed(3)
    y = lnb.checkpoint(lambda x: lnb.checkpoint(drop, lnb.exp(x * 0)) ** 1.0, x)
    assert (y == expected).all()
    y.sum().backward(retain_graph=True)
    assert lnb.random.next_key() == after                # a second run takes no new keys
    x.grad = None
    lnb.checkpoint(lambda x: drop(x * x).sum() * 1.0, x).backward()
    assert set(x.grad.numpy().ravel()) == {0.0, 4.0}


def test_dropout_gradient_is_that_of_the_mask_of_the_first_run():
    drop, x = lnb.nn.Dropout(0.5), leaf(np.full((20, 20), 3.0))
    y = lnb.checkpoint(lambda x: drop(x * x), x)
    y.sum().backward()
    assert (x.grad == y.detach() / 9 * 6).all()


def test_numbers_of_the_host_are_drawn_again_and_the_state_goes_on():
    def f(x):
        return (x * x * lnb.asarray(lnb.random.host().standard_normal((3, 3)))).sum()
    lnb.random.seed(1)
    expected, following = lnb.random.host().standard_normal((3, 3)), lnb.random.host().standard_normal(4)
    lnb.random.seed(1)
    x = leaf(A)
    lnb.checkpoint(f, x).backward()
    assert np.allclose(x.grad, 2 * A * expected)
    assert (lnb.random.host().standard_normal(4) == following).all()


def test_more_keys_in_the_second_run_are_refused():
    counts = [2, 1]

    def f(x):
        for _ in range(counts.pop()):
            lnb.random.next_key()
        return lnb.exp(x).sum()
    with pytest.raises(GradError, match="draws more random numbers"):
        lnb.checkpoint(f, leaf(A)).backward()


def test_running_statistics_move_once():
    layer, other = lnb.nn.BatchNorm1d(3), lnb.nn.BatchNorm1d(3)
    x = lnb.tensor(A.astype("float32"), requires_grad=True)
    (other(x) ** 2).sum().backward()
    expected, x.grad = x.grad, None
    (lnb.checkpoint(layer, x) ** 2).sum().backward()
    assert (x.grad == expected).all() and int(layer.num_batches_tracked) == 1
    assert (layer.running_mean == other.running_mean).all() and (layer.running_var == other.running_var).all()


# ----------------------------------------------------------------------------------------------- transforms
def test_gradient_taken_inside():
    def f(x):
        return lnb.grad(lambda z: (lnb.sin(z) ** 3).sum())(x) * x
    check_grad(lambda x: lnb.checkpoint(f, x), A[0], order=2)


def test_within_vmap_and_around_it():
    def f(x):
        return lnb.checkpoint(lambda y: (lnb.exp(y) * lnb.sin(y * B[0])).sum(), x)
    plain = lnb.stack([lnb.grad(f)(lnb.asarray(row)) for row in A])
    assert np.allclose(lnb.vmap(lnb.grad(f))(A), plain)
    assert np.allclose(lnb.grad(lambda x: lnb.vmap(f)(x).sum())(lnb.asarray(A)), plain)
    assert np.allclose(lnb.grad(lambda x: lnb.checkpoint(lnb.vmap(f), x).sum())(lnb.asarray(A)), plain)


def test_jacobian_forward_and_reverse():
    expected = lnb.jacobian(program)(lnb.asarray(A), lnb.asarray(B))
    for mode in ("forward", "reverse"):
        assert np.allclose(lnb.jacobian(CASES["one"][0], mode=mode)(lnb.asarray(A), lnb.asarray(B)), expected)


def test_hooks_around_pack_the_arguments_alone():
    seen = []
    x = leaf(A)
    with saved_tensors_hooks(lambda t: seen.append(t.shape) or t.numpy().copy(), lnb.asarray):
        y = lnb.checkpoint(lambda x: lnb.tanh(lnb.exp(x)).sum(), x)
    assert seen == [(3, 3)]
    y.backward()
    assert np.allclose(x.grad, np.exp(A) / np.cosh(np.exp(A)) ** 2)


def test_two_threads_may_go_back_through_one_region():
    x = leaf(A)
    y = lnb.checkpoint(lambda x: lnb.exp(lnb.sin(x)).sum(), x)
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.allclose(x.grad, 4 * np.exp(np.sin(A)) * np.cos(A))


def test_on_mlx():
    def f(x):
        return lnb.checkpoint(lambda y: (lnb.exp(y) @ lnb.sin(y)).sum(), x)
    host, device = [lnb.grad(f)(lnb.asarray(A.astype("float32")).to(name)) for name in ("cpu", "mlx")]
    assert device.device == "mlx" and np.allclose(host, device.to("cpu"), rtol=1e-5)


def test_what_is_no_function_is_refused():
    with pytest.raises(GradError, match="checkpoint: 3 is not a function"):
        lnb.checkpoint(3, 4)


def test_long_chains_that_backward_fuses_elsewhere():
    x = np.linspace(-1, 1, 1 << 16)

    def f(x):
        return lnb.tanh(lnb.exp(lnb.sin(lnb.tanh(x) * 0.5))).sum()
    plain, found = [lnb.grad(g)(lnb.asarray(x)) for g in (f, lnb.checkpoint(f))]
    assert np.allclose(found, plain, rtol=1e-12)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lnb.asarray):
        assert np.allclose(lnb.grad(f)(lnb.asarray(x)), plain, rtol=1e-12)


def test_write_into_an_operand_within_a_gradient_inside():
    def inner(x):
        h = lnb.sin(x)
        h *= x
        h *= h + 1
        return lnb.exp(h).sum()
    found = lnb.checkpoint(lnb.grad(inner), lnb.asarray(A))
    s, c = np.sin(A) * A, np.cos(A) * A + np.sin(A)
    assert np.allclose(found, np.exp(s * (s + 1)) * (2 * s + 1) * c)
