"""The testing helpers: they must catch what is wrong, say what it is, and draw what they promise."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import LAYOUTS, assert_close, check_grad, laid_out


def test_check_grad_accepts_right_gradients_of_several_inputs_and_results():
    check_grad(lambda x, y: (lnb.exp(x) * y, lnb.sin(y)), np.ones((2, 3)), np.full(3, 0.5))
    check_grad(lambda x: x * 3, 2.0)                                          # linear: no second derivative
    check_grad(lambda x, n: x ** n, np.array([1.5, 2.0]), np.array([2, 3]))   # integers are passed on
    check_grad(lnb.tanh, np.array([0.3, -0.2], "float32"), order=3)
    check_grad(lambda z: z * z, np.array([1 + 2j]))


def test_check_grad_names_the_input_whose_gradient_is_wrong():
    text = (r"check_grad: order 1, input 1 of shape \(2,\), direction 0 \(.*\): finite differences give .*, "
            r"backward gives .*, off by .* \(allowed .*\)\.")
    with pytest.raises(AssertionError, match=text):
        check_grad(lambda x, y: x * y * y.detach(), np.ones(2), np.full(2, 2.0))


def test_check_grad_catches_a_gradient_that_is_wrong_only_in_its_own_derivative():
    def f(x):                                 # value x**2, slope 2x, but the slope's slope is lost
        return x * x.detach() * 2 - (x * x).detach()
    check_grad(f, np.array([1.0, -2.0]), order=1)
    with pytest.raises(AssertionError, match="check_grad: order 2, input 0"):
        check_grad(f, np.array([1.0, -2.0]))


def test_check_grad_catches_one_wrong_element_of_many():
    wrong = np.zeros(200)
    wrong[77] = 0.001

    def f(x):
        return x * x + wrong * (x - x.detach())
    check_grad(lambda x: x * x, np.linspace(1, 2, 200))
    with pytest.raises(AssertionError, match="order 1"):
        check_grad(f, np.linspace(1, 2, 200))


@pytest.mark.parametrize("place, shape", [((77,), (200,)), ((1, 2), (3, 4)), ((0, 0, 5), (1, 2, 6))])
def test_check_grad_cuts_the_direction_down_to_the_wrong_element(place, shape):
    wrong = np.zeros(shape)
    wrong[place] = 0.25
    x = np.linspace(1, 2, wrong.size).reshape(shape)
    right = 2 * x[place]
    with pytest.raises(AssertionError) as raised:
        check_grad(lambda x: x * x + wrong * (x - x.detach()), x, order=1)
    told = str(raised.value)
    assert f"; already along element {place} alone (" in told
    found, given = map(float, re.search(r"alone \((\S+) and (\S+)\)", told).groups())
    assert given / found == pytest.approx((right + 0.25) / right, rel=1e-3)


def test_check_grad_takes_trees_and_names_their_leaves():
    tree = {"w": np.ones((2, 3)), "b": [np.full(2, 0.5), 3.0]}
    check_grad(lambda p: {"out": p["w"] @ lnb.ones(3) * p["b"][0], "more": [p["b"][1] ** 2]}, tree)
    with pytest.raises(AssertionError, match=r"order 1, input 0\['b'\]\[0\] of shape \(2,\), direction 0"):
        check_grad(lambda p: p["b"][0] * p["b"][0].detach() * p["b"][1], tree)
    with pytest.raises(AssertionError, match="order 2, the gradient of result 0 of shape"):
        check_grad(Halved.apply, np.ones(2))
    with pytest.raises(errors.DTypeError, match="check_grad: an input is 'text', of str"):
        check_grad(lnb.sin, "text")


class Halved(lnb.autograd.Function):
    """A gradient that is right, and does not tell that it depends on what arrives."""

    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, g):
        return g.detach() * 0.5

    @staticmethod
    def jvp(ctx, t):
        return t * 0.5


NUMBERS = np.random.default_rng(0)


@pytest.mark.parametrize("function, x, text", [
    (lambda x: lnb.sqrt(x), -1.0, "The function is not finite here. Check it elsewhere."),
    (lambda x: lnb.sin(x.astype("float32")), 0.7, "gives less than float64"),
    (lambda x: x * float(NUMBERS.random()), 1.0, "gives other values each time"),
    (lambda x: lnb.abs(x), 1e-6, "The gradient is wrong, or the function has a kink here.")])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_check_grad_tells_why_it_may_disagree(function, x, text):
    with pytest.raises(AssertionError, match=text):
        check_grad(function, x)


def test_check_grad_knows_the_rounding_of_its_own_steps():
    check_grad(lambda x: x ** 2, np.full(2, 1e-20))        # of what is moved by a step, not of the value here


def test_check_grad_refuses_what_has_no_gradient():
    with pytest.raises(errors.DTypeError, match=r"check_grad: no input is float or complex, they are \['int64'\]"):
        check_grad(lambda x: x, np.array([1]))
    with pytest.raises(errors.GradError, match="check_grad: the function gives no float tensor"):
        check_grad(lambda x: x > 0, 1.0)
    with pytest.raises(errors.GradError, match="check_grad: order 0"):
        check_grad(lambda x: x, 1.0, order=0)


def test_check_grad_leaves_its_inputs_alone():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    check_grad(lambda x: x * x, x)
    assert x.grad is None and x.tolist() == [1, 2]


# ---------------------------------------------------------------------------------------------- comparison
def test_assert_close_counts_units_in_the_last_place_of_the_actual_dtype():
    for dtype, bits in (("float64", 52), ("float32", 23), ("float16", 10), ("bfloat16", 7)):
        unit = 2.0 ** -bits
        one = np.ones(1).astype(lnb.dtypes.as_dtype("test", dtype))
        assert_close(one, np.longdouble(1) + np.longdouble([2.4 * unit]), ulp=2.5)
        with pytest.raises(AssertionError, match=r"1 of 1 elements differ. Worst at \(0,\): .* = 2.6 ulp"):
            assert_close(one, np.longdouble(1) + np.longdouble([2.6 * unit]), ulp=2.5)


def test_assert_close_measures_subnormals_in_their_own_unit():
    assert_close(np.float32([1.4e-45]), np.float32([2.8e-45]), ulp=1)
    with pytest.raises(AssertionError, match="= 3 ulp"):
        assert_close(np.float32([0]), np.float32([4.2e-45]), ulp=2)


def test_assert_close_treats_nan_infinity_and_signed_zero():
    assert_close([np.nan, np.inf, -np.inf], [np.nan, np.inf, -np.inf], ulp=0)
    assert_close([0.0], [-0.0], ulp=1)
    for actual, expected, options in [([0.0], [-0.0], dict(ulp=0)), ([np.inf], [-np.inf], dict(atol=9.0)),
                                      ([np.nan], [1.0], dict(rtol=1.0)), ([1e308], [np.inf], dict(rtol=1.0))]:
        with pytest.raises(AssertionError, match="1 of 1 elements differ"):
            assert_close(actual, expected, **options)


def test_assert_close_compares_shapes_and_integers():
    with pytest.raises(AssertionError, match=r"shape \(2,\) instead of \(1, 2\)"):
        assert_close([1, 2], [[1, 2]])
    with pytest.raises(AssertionError, match=r"Worst at \(1,\): 2 instead of 3, off by 1\."):
        assert_close(lnb.tensor([1, 2]), [1, 3])
    with pytest.raises(AssertionError, match=r"Worst at \(0,\): True instead of False\."):
        assert_close(np.array([True]), np.array([False]))
    assert_close(lnb.tensor([1, 2]), [1, 2])


def test_assert_close_without_tolerance_asks_for_half_the_digits():
    assert_close(np.float32([1.0003]), [1.0])
    with pytest.raises(AssertionError):
        assert_close(np.float32([1.0004]), [1.0])
    with pytest.raises(AssertionError):
        assert_close([1.0 + 2e-8], [1.0])


# ---------------------------------------------------------------------------------------------- strategies
@given(testing.broadcastable_shapes(3))
def test_broadcastable_shapes_broadcast(shapes):
    assert len(shapes) == 3
    np.broadcast_shapes(*shapes)


@given(st.data())
def test_arrays_have_the_dtype_and_shape_that_was_asked_for(data):
    dtype = data.draw(st.sampled_from(["bool", "int8", "uint64", "float16", "bfloat16", "float64", "complex64"]))
    shape = data.draw(testing.shapes())
    array = data.draw(testing.arrays(dtype, shape))
    assert array.shape == shape and array.dtype == lnb.dtypes.as_dtype("test", dtype)
    assert_close(lnb.asarray(array), array, ulp=0)


@pytest.mark.parametrize("condition", [
    lambda a: a.ndim > 1 and not a.flags.c_contiguous and a.flags.f_contiguous,
    lambda a: a.size > 1 and min(a.strides) < 0, lambda a: a.size > 1 and 0 in a.strides,
    lambda a: a.size > 1 and a.strides[-1] > 8,
    lambda a: a.size == 0, lambda a: a.ndim == 0, lambda a: np.isnan(a).any(), lambda a: np.isinf(a).any(),
    lambda a: bool((np.signbit(a) & (a == 0)).any())], ids=range(9))
def test_arrays_reach_every_layout_and_awkward_value(condition):
    find(testing.arrays(), condition)


def test_arrays_without_awkward_values_stay_in_bounds():
    found = find(testing.arrays(shape=(3,), awkward=False, low=1, high=2), lambda a: True)
    assert ((found >= 1) & (found <= 2)).all()


@given(testing.arrays(shape=(3,), awkward=False, low=0.3, high=0.7))
def test_arrays_take_bounds_that_float32_does_not_hold(array):
    assert ((array >= 0.3) & (array <= 0.7)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_the_content(layout):
    array = np.arange(12).reshape(3, 4)
    found = laid_out(array, layout)
    assert np.array_equal(found, np.broadcast_to(array[:1], (3, 4)) if layout == "broadcast" else array)
    assert found.flags.c_contiguous == (layout == "C")


def test_hypothesis_is_loaded_when_asked_for_and_missed_clearly():
    text = ("import sys; sys.modules['hypothesis'] = None\nfrom lucid_nb import testing, errors\n"
            "try: testing.shapes()\nexcept errors.BackendError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "testing: hypothesis is not installed. Install it: pip install hypothesis."


@given(st.data())
def test_axes_are_taken_by_numpy(data):
    shape = data.draw(testing.shapes(min_side=1))
    axis = data.draw(testing.axes(len(shape)))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    assert_close(lnb.sum(x, axis=axis), x.sum(axis=axis), rtol=1e-14)


def test_axes_reach_every_kind():
    for wanted in (None, -3, (), (2, 0), (-1, -2, -3)):
        find(testing.axes(3), lambda axis, wanted=wanted: axis == wanted)
    assert find(testing.axes(2, none=False, several=False), lambda a: True) in range(-2, 2)
    assert find(testing.axes(0), lambda a: True) is None


@given(st.data())
def test_indices_select_what_numpy_selects(data):
    shape = data.draw(testing.shapes())
    index = data.draw(testing.indices(shape))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    assert_close(lnb.asarray(x)[index], x[index], ulp=0)


@pytest.mark.parametrize("condition", [
    lambda i: isinstance(i, int) and i < 0, lambda i: isinstance(i, tuple) and any(part is Ellipsis for part in i),
    lambda i: isinstance(i, tuple) and any(part is None for part in i),
    lambda i: isinstance(i, np.ndarray) and i.dtype == bool, lambda i: isinstance(i, slice) and (i.step or 1) < 0,
    lambda i: isinstance(i, tuple) and sum(isinstance(part, np.ndarray) for part in i) == 2], ids=range(6))
def test_indices_reach_every_kind(condition):
    find(testing.indices((3, 4)), condition)


@given(testing.conv_geometry())
def test_convolutions_have_the_geometry_that_was_drawn(geometry):
    functions = [lnb.nn.functional.conv1d, lnb.nn.functional.conv2d, lnb.nn.functional.conv3d]
    function = functions[len(geometry.out) - 3]
    x, weight = lnb.ones(geometry.x, dtype="float32"), lnb.ones(geometry.weight, dtype="float32")
    assert function(x, weight, **geometry.keywords).shape == geometry.out and min(geometry.out[1:]) > 0


def test_conv_geometry_reaches_groups_dilation_and_empty_batches():
    for condition in (lambda g: g.groups == 3 and max(g.dilation) == 3, lambda g: g.x[0] == 0, lambda g: len(g.x) == 5):
        find(testing.conv_geometry(), condition)
    assert len(find(testing.conv_geometry(2), lambda g: True).x) == 4
