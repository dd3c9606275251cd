"""lucid's methods of tensors under their names. Oracle: what its reference says of them, and NumPy."""

import numpy as np
import pytest

import lucid_nb as lnb


def test_zero_fills_also_a_leaf_and_a_view():
    x = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.detach()[1:].zero()
    assert x.tolist() == [1, 0, 0]
    x.zero()
    assert x.tolist() == [0, 0, 0] and x.requires_grad


def test_cleared_node_is_a_leaf_of_its_own():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.clear_node()
    (y * y).sum().backward()
    assert y.is_leaf and y.grad.tolist() == [6, 12] and x.grad is None


def test_copies_share_no_memory():
    x, array = lnb.tensor([1.0, 2.0]), np.ones(2)
    for one, other in ((x, lnb.Tensor.copy_data(x)), (array, lnb.Tensor.copy_grad(array))):
        assert type(other) is type(one)
        one[...] = 5
        assert np.all(np.asarray(other) != 5)
    with pytest.raises(lnb.DTypeError, match="copy_data: a str is no array"):
        lnb.Tensor.copy_data("abc")


def test_devices_are_told():
    x = lnb.ones(2)
    assert x.is_cpu() and not x.is_gpu()


def test_unique_and_cube_are_methods_too():
    assert lnb.tensor([3, 1, 3]).unique().tolist() == [1, 3] and lnb.tensor([3, -2]).cube().tolist() == [27, -8]


def test_flops_are_counted_inside_the_block_only():
    assert not lnb.flops_enabled()
    with lnb.count_flops():
        assert lnb.flops_enabled()
    assert not lnb.flops_enabled()


def test_free_tensor_goes_where_the_others_are():
    if "mlx" not in lnb.devices():
        pytest.skip("mlx is not usable here")
    bound = lnb.tensor(np.float32([1, 2]), device="mlx")
    x = lnb.tensor(np.float32([3, 4]), requires_grad=True)
    assert not x.is_free
    with pytest.raises(lnb.DeviceError, match="multiply: operands live on cpu and mlx"):
        _ = x * bound
    assert x.free() is x and x.is_free and lnb.Tensor.is_all_free(x) and not lnb.Tensor.is_all_free(x, bound)
    for found in (x * bound, bound * x):
        assert found.device == "mlx" and found.tolist() == [3, 8]
    (bound * x).sum().backward()
    assert x.grad.device == x.device == "cpu" and x.grad.tolist() == [1, 2]
    other = lnb.tensor(np.float32([3, 4])).free()
    assert (x * other).device == "cpu" and (other * bound).device == "mlx"


# ------------------------------------------------------------------------------------------- lucid's defects
def test_numbers_keep_their_kind_beside_integers_and_masks():
    """lucid gives a number the dtype of the tensor: 1.5 becomes 1, and 1 - mask raises."""
    assert (lnb.tensor([1, 2]) * 1.5).tolist() == [1.5, 3.0]
    found = 1 - lnb.tensor([True, False])
    assert found.tolist() == [0, 1] and found.dtype == np.int64


def test_the_inverse_of_unique_values_puts_them_together_again():
    """lucid's unique(sorted=False) has first seen values and the inverse of sorted ones."""
    x = np.array([3, 1, 3, 2, 1])
    for how in (True, False):
        values, inverse = lnb.unique(x, return_inverse=True, sorted=how)
        assert values[inverse].tolist() == x.tolist()
