"""Bad input gets a LucidError in the one form, before anything is done, in the same words on every device."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.errors import (
    AxisError,
    DeviceError,
    DTypeError,
    GradError,
    IndexError,
    LucidError,
    OverflowError,
    ShapeError,
)

FORM = re.compile(r"^[a-z_0-9 -]+: [^\n]+\. [A-Z(][^\n]+[.)]$")
TEXT_DATA = "<U1 data has no arithmetic here. Use bool, integer, float or complex data, converted with NumPy's astype."
NOT_EQUAL = "Make them equal, or one of them 1."
IMAGE, KERNEL = (1, 2, 3, 3), (2, 2, 3, 3)

# Each: what is done with x, float32 zeros of shape (3, 4), and `new`, which makes ones on x's device; what is raised.
CASES: dict[str, tuple[Callable[[Any, Callable], Any], type, str]] = {
    # shapes
    "add": (lambda x, new: x + new(3), ShapeError,
            f"add: shapes (3, 4) and (3,) do not broadcast, sizes 4 and 3 on axis 1. {NOT_EQUAL}"),
    "in place": (lambda x, new: x.__iadd__(new(2, 3, 4)), ShapeError,
                 "in-place add: a value of shape (2, 3, 4) does not fit (3, 4). Reshape it."),
    "where": (lambda x, new: lnb.where(x > 0, x, new(7)), ShapeError,
              f"where: shapes (3, 4), (3, 4), (7,) do not broadcast, sizes 4 and 7 on axis 1. {NOT_EQUAL}"),
    "matmul": (lambda x, new: x @ x, ShapeError,
               "matmul: inner sizes differ, 4 and 3 (shapes (3, 4) and (3, 4)). Transpose one."),
    "matmul batch": (lambda x, new: new(2, 3, 4) @ new(3, 4, 5), ShapeError,
                     f"matmul: shapes (2,) and (3,) do not broadcast, sizes 2 and 3 on axis 0. {NOT_EQUAL}"),
    "matmul 0-d": (lambda x, new: x @ x.sum(), ShapeError,
                   "matmul: a 0-d operand (shapes (3, 4) and ()). Use multiply."),
    "matmul scalar": (lambda x, new: x @ 2, ShapeError,
                      "matmul: a 0-d operand (shapes (3, 4) and ()). Use multiply."),
    "reshape": (lambda x, new: x.reshape(5), ShapeError,
                "reshape: 12 elements of shape (3, 4) do not fit (5,), which has 5. The products must be equal."),
    "reshape -1": (lambda x, new: x.reshape(-1, 5), ShapeError, "reshape: 12 elements of shape (3, 4) do not fill "
                   "(-1, 5). Choose sizes whose product divides them."),
    "reshape twice -1": (lambda x, new: x.reshape(-1, -1), ShapeError,
                         "reshape: shape (-1, -1) is not possible. At most one size may be -1, none less."),
    "reshape text": (lambda x, new: x.reshape("a"), ShapeError, "reshape: 'a' is not a shape. Use integers."),
    "reshape float": (lambda x, new: x.reshape(1.5, 8), ShapeError, "reshape: (1.5, 8) is not a shape. Use integers."),
    "broadcast_to": (lambda x, new: x.broadcast_to((2, 4)), ShapeError,
                     f"broadcast_to: shapes (3, 4) and (2, 4) do not broadcast, sizes 3 and 2 on axis 0. {NOT_EQUAL}"),
    "concat": (lambda x, new: lnb.concat([x, x.T]), ShapeError,
               "concat: shapes (3, 4) and (4, 3) differ outside axis 0. Make them equal there."),
    "concat nothing": (lambda x, new: lnb.concat([]), ShapeError, "concat: no arrays. Give at least one."),
    "concat 0-d": (lambda x, new: lnb.concat([x.sum(), x.sum()]), ShapeError,
                   "concat: 0-d arrays have no axis to join. Reshape them to (1,)."),
    "permute": (lambda x, new: lnb.permute_dims(x, (1,)), ShapeError,
                "permute_dims: 1 axes (1,) for shape (3, 4). Name each of the 2 once."),
    "empty max": (lambda x, new: x[:0].max(), ShapeError,
                  "max: no elements along axis None of shape (0, 4). Give at least one, or initial."),
    "empty argmax": (lambda x, new: x[:, :0].argmax(1), ShapeError,
                     "argmax: no elements, shape (3, 0). Give at least one."),
    "bool": (lambda x, new: bool(x), ShapeError,
             "bool: the truth value of 12 elements, shape (3, 4). Use .any() or .all()."),
    "item": (lambda x, new: x.item(), ShapeError,
             "item: the tensor has 12 elements, shape (3, 4). Index one first."),
    "negative size": (lambda x, new: lnb.zeros((2, -1), device=x.device), ShapeError,
                      "zeros: negative size in shape (2, -1). Sizes are 0 or more."),
    "size text": (lambda x, new: lnb.ones("a", device=x.device), ShapeError, "ones: 'a' is not a shape. Use integers."),
    "ragged": (lambda x, new: lnb.tensor([[1], [1, 2]], device=x.device), ShapeError,
               "tensor: the nested sequence is ragged. Give rows of equal length."),
    "ragged operand": (lambda x, new: x * [[1], [1, 2]], ShapeError,
                       "multiply: the nested sequence is ragged. Give rows of equal length."),
    "conv axes": (lambda x, new: lnb.conv2d(x, x), ShapeError,
                  "conv2d: input (3, 4) and weight (3, 4) need 4 axes each. Add axes of size 1."),
    "conv channels": (lambda x, new: lnb.conv2d(new(*IMAGE), new(2, 1, 3, 3)), ShapeError,
                      "conv2d: 2 input and 2 output channels in 1 groups do not fit a weight for 1 channels a group. "
                      "Channels must divide by groups."),
    "conv kernel": (lambda x, new: lnb.conv2d(new(*IMAGE), new(2, 2, 5, 5), padding=((0, 1), (0, 0))), ShapeError,
                    "conv2d: kernel (5, 5) with dilation (1, 1) is larger than the input (3, 3) padded by "
                    "[(0, 1), (0, 0)]. Pad more, or use a smaller kernel."),
    "conv stride": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), stride=0), ShapeError,
                    "conv2d: stride 0 for 2 spatial axes. Use positive integers, one or 2."),
    "conv stride text": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), stride="a"), ShapeError,
                         "conv2d: stride 'a' is not an integer. Use integers."),
    "conv dilation": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), dilation=(1, 2, 3)), ShapeError,
                      "conv2d: dilation (1, 2, 3) for 2 spatial axes. Use positive integers, one or 2."),
    "conv padding": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), padding=-1), ShapeError,
                     "conv2d: padding -1 for 2 spatial axes. Use an int, 2 ints, or 2 pairs, none negative."),
    "conv padding word": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), padding="full"), ShapeError,
                          "conv2d: padding 'full' is unknown. Use numbers, 'same' or 'valid'."),
    "conv groups": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), groups=1.5), ShapeError,
                    "conv2d: groups 1.5 is not an integer. Use integers."),
    "conv bias": (lambda x, new: lnb.conv2d(new(*IMAGE), new(*KERNEL), new(3)), ShapeError,
                  "conv2d: bias (3,) for 2 output channels. It must have shape (2,)."),
    # axes
    "axis": (lambda x, new: x.sum(2), AxisError, "sum: axis 2 is out of range for 2 dimensions. Use -2 to 1."),
    "axis text": (lambda x, new: x.sum("a"), DTypeError, "sum: axis 'a' is not an integer. Use integers."),
    "axis float": (lambda x, new: x.mean(1.5), DTypeError, "mean: axis 1.5 is not an integer. Use integers."),
    "axis twice": (lambda x, new: x.max((0, -2)), AxisError,
                   "max: axis (0, -2) names an axis twice. Name each once."),
    "axis of softmax": (lambda x, new: lnb.log_softmax(x, axis=-3), AxisError,
                        "log_softmax: axis -3 is out of range for 2 dimensions. Use -2 to 1."),
    "axis of concat": (lambda x, new: lnb.concat([x, x], axis=2), AxisError,
                       "concat: axis 2 is out of range for 2 dimensions. Use -2 to 1."),
    "axis of take": (lambda x, new: lnb.take(x, [0], axis=2), AxisError,
                     "take: axis 2 is out of range for 2 dimensions. Use -2 to 1."),
    "transpose": (lambda x, new: x.transpose(0, 0), AxisError,
                  "permute_dims: axis (0, 0) names an axis twice. Name each once."),
    # indices
    "index": (lambda x, new: x[3], IndexError, "index: 3 is out of range for axis 0 of size 3. Use -3 to 2."),
    "index text": (lambda x, new: x["a"], IndexError,
                   "index: <U1 is no index. Use integers, bools, slices, None or an ellipsis."),
    "take": (lambda x, new: lnb.take(x, [4], axis=1), IndexError,
             "index: 4 is out of range for axis 1 of size 4. Use -4 to 3."),
    "target": (lambda x, new: lnb.cross_entropy(x, [0, 4, 1]), IndexError,
               "cross_entropy: target 4 at (1,) is no class. Use 0 to 3, or ignore_index=-100."),
    "target shape": (lambda x, new: lnb.cross_entropy(x, [0, 1]), ShapeError,
                     "cross_entropy: logits (3, 4) and target (2,) do not fit. Target must have shape (3,)."),
    "target dtype": (lambda x, new: lnb.cross_entropy(x, new(3)), DTypeError,
                     "cross_entropy: target is float32. Use integer classes."),
    "reduction": (lambda x, new: lnb.cross_entropy(x, [0, 1, 2], reduction="all"), ShapeError,
                  "cross_entropy: reduction 'all' is unknown. Use one of mean, sum, none."),
    # dtypes and values
    "text": (lambda x, new: x + "a", DTypeError, f"add: {TEXT_DATA}"),
    "text first": (lambda x, new: "a" * x, DTypeError, f"multiply: {TEXT_DATA}"),
    "text data": (lambda x, new: lnb.tensor(["a"], device=x.device), DTypeError, f"tensor: {TEXT_DATA}"),
    "text written": (lambda x, new: x.__setitem__(0, "a"), DTypeError, f"setitem: {TEXT_DATA}"),
    "none": (lambda x, new: lnb.exp(None), DTypeError, "exp: object data has no arithmetic here. Give numbers, "
             "or arrays and lists of numbers."),
    "nan as an integer": (lambda x, new: lnb.tensor([float("nan")], dtype="int8"), lnb.OverflowError,
                          "tensor: nan does not fit int8 (-128 to 127). Use a float dtype."),
    "none in a list": (lambda x, new: lnb.tensor([1, None]), DTypeError,
                       "tensor: the sequence has elements that are not numbers. Use numbers of one kind."),
    "dtype": (lambda x, new: x.astype("nope"), DTypeError,
              "astype: 'nope' is not a dtype. Use one such as lnb.float32."),
    "dtype of zeros": (lambda x, new: lnb.zeros(1, dtype="U3", device=x.device), DTypeError, "zeros: <U3 data has no "
                       "arithmetic here. Use bool, integer, float or complex data, converted with NumPy's astype."),
    "complex floor": (lambda x, new: lnb.floor(x + 1j), DTypeError,
                      "floor: has no meaning for complex64. Take .real or .imag, or abs(x)."),
    "complex angle": (lambda x, new: lnb.arctan2(x, 1j), DTypeError,
                      "arctan2: has no meaning for complex64. Take .real or .imag, or abs(x)."),
    "complex softmax": (lambda x, new: lnb.softmax(x + 1j), DTypeError,
                        "softmax: has no meaning for complex64. Take .real or .imag, or abs(x)."),
    "complex cast": (lambda x, new: (x + 1j).astype("float32"), DTypeError,
                     "astype: complex64 to float32 loses the imaginary part. Take .real, or abs(x)."),
    "complex data": (lambda x, new: lnb.tensor([1j], dtype="float32", device=x.device), DTypeError,
                     "tensor: complex numbers do not go into float32. Give their real parts."),
    "complex written": (lambda x, new: x.__setitem__(0, 1j), DTypeError,
                        "setitem: 1j cannot go into float32. Take its real part."),
    "complex tensor written": (lambda x, new: x.__setitem__(0, x[0] + 1j), DTypeError,
                               "setitem: complex64 cannot go into float32. Use .astype."),
    "negative bool": (lambda x, new: -(x > 0), DTypeError,
                      "negative: has no meaning for bool. Use .astype('int8'), or logical functions."),
    "fraction": (lambda x, new: new(2).astype("int32") ** -1, DTypeError,
                 "power: integers to the power -1 are fractions. Use .astype('float64')."),
    "overflow": (lambda x, new: new(2).astype("int8") + 300, OverflowError,
                 "add: 300 does not fit int8 (-128 to 127). Use a wider dtype."),
    "unsigned": (lambda x, new: new(2).astype("uint8") * -1, OverflowError,
                 "multiply: -1 does not fit uint8 (0 to 255). Use a wider dtype."),
    "overflow of data": (lambda x, new: lnb.tensor([1, 300], dtype="int8", device=x.device), OverflowError,
                         "tensor: 300 does not fit int8 (-128 to 127). Use a wider dtype."),
    "overflow written": (lambda x, new: new(2).astype("int8").__setitem__(0, -129), OverflowError,
                         "setitem: -129 does not fit int8 (-128 to 127). Use a wider dtype."),
    "overflow of int64": (lambda x, new: lnb.tensor(2 ** 64, device=x.device), OverflowError,
                          "tensor: 18446744073709551616 does not fit int64. Use floats."),
    "overflow of floats": (lambda x, new: x * 10 ** 400, OverflowError,
                           "multiply: an integer of 1329 bits does not fit float32. Use a smaller number."),
    "integer leaf": (lambda x, new: lnb.tensor([1], device=x.device, requires_grad=True), DTypeError,
                     "requires_grad: int64 has no gradient. Use .astype('float32')."),
    # devices and gradients
    "device": (lambda x, new: x.to("tpu"), DeviceError,
               "device: 'tpu' is unknown. Use one of cpu, cuda, mlx (or gpu, metal)."),
    "device of zeros": (lambda x, new: lnb.zeros(1, device=["cpu"]), DeviceError,
                        "device: ['cpu'] is unknown. Use one of cpu, cuda, mlx (or gpu, metal)."),
    "no gradient": (lambda x, new: x.backward(), GradError,
                    "backward: the tensor does not depend on anything that requires grad. Set requires_grad."),
}


def raised(function: Callable, device: str) -> tuple[Exception, lnb.Tensor]:
    """What the function raises, and what it was given."""
    x = lnb.zeros((3, 4), dtype="float32", device=device)
    with pytest.raises(LucidError) as caught:
        function(x, lambda *shape: lnb.ones(shape, dtype="float32", device=device))
    return caught.value, x


@pytest.mark.parametrize("device", ["cpu", "mlx"])
@pytest.mark.parametrize("name", CASES)
def test_bad_input_says_what_is_wrong(name: str, device: str) -> None:
    function, kind, text = CASES[name]
    error, x = raised(function, device)
    assert str(error) == text and type(error) is kind
    assert x.tolist() == [[0.0] * 4] * 3                        # nothing was written
    assert error.__suppress_context__ or error.__context__ is None or isinstance(error.__context__, LucidError)


@pytest.mark.parametrize("name", CASES)
def test_text_has_the_one_form(name: str) -> None:
    assert FORM.match(CASES[name][2]), CASES[name][2]


MIXED = {
    "add": lambda x, y: x + y, "where": lambda x, y: lnb.where(x > 0, x, y), "matmul": lambda x, y: x @ y.T,
    "concat": lambda x, y: lnb.concat([x, y]), "conv2d": lambda x, y: lnb.conv2d(x[None], y[None]),
    "multiply": lambda x, y: x.__imul__(y), "cross_entropy": lambda x, y: lnb.cross_entropy(x, y[:, 0].astype("int64")),
    "maximum": lambda x, y: lnb.maximum(x, y)}


@pytest.mark.parametrize("first, second", [("cpu", "mlx"), ("mlx", "cpu")])
@pytest.mark.parametrize("name", MIXED)
def test_mixed_devices_are_named(name: str, first: str, second: str) -> None:
    x, y = (lnb.ones((3, 4), dtype="float32", device=device) for device in (first, second))
    with pytest.raises(DeviceError) as caught:
        MIXED[name](x, y)
    assert str(caught.value) == f"{name}: operands live on {first} and {second}. Use .to({first!r}) on one of them."


@pytest.mark.parametrize("first, second", [("cpu", "mlx"), ("mlx", "cpu")])
def test_value_of_another_device_is_not_written(first: str, second: str) -> None:
    x, y = lnb.zeros(3, device=first), lnb.ones(3, device=second)
    with pytest.raises(DeviceError) as caught:
        x[:] = y
    assert str(caught.value) == (f"setitem: the value lives on {second}, the tensor on {first}. "
                                 f"Use .to({first!r}).")
    assert x.tolist() == [0, 0, 0]


def test_kinds_are_also_pythons_and_numpys() -> None:
    for kind, others in ((errors.ShapeError, (ValueError,)), (errors.DTypeError, (TypeError,)),
                         (errors.AxisError, (np.exceptions.AxisError, ValueError)),
                         (errors.DeviceError, (RuntimeError,)), (errors.BackendError, (RuntimeError,)),
                         (errors.GradError, (RuntimeError,)), (errors.ConfigError, (ValueError,)),
                         (errors.MemoryError, (MemoryError,)), (errors.LinAlgError, (np.linalg.LinAlgError,))):
        error = kind("op: it is wrong. Do this.")
        assert isinstance(error, (LucidError, *others)) and all(isinstance(error, other) for other in others)
        assert str(error) == "op: it is wrong. Do this."
    assert issubclass(errors.IndexError, LookupError) and issubclass(errors.OverflowError, ArithmeticError)
