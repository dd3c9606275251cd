"""What JAX has of the works: functions of arrays, compiled as one by jax.jit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from work import Work, first, matmul


def conv(x: Any, weight: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    """A convolution in one to three directions."""
    import jax
    count = x.ndim - 2
    return jax.lax.conv_general_dilated(x, weight, [stride] * count, [(padding, padding)] * count,
                                        rhs_dilation=[dilation] * count, feature_group_count=groups)


def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """Heads come third in JAX's own function; the operands are laid out so beforehand."""
    import jax
    return jax.nn.dot_product_attention(query, key, value, is_causal=is_causal)


def normalised(x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    """Less the mean, over the standard deviation."""
    import jax
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(axes, keepdims=True) + eps)


def layer_norm(x: Any, weight: Any, bias: Any, normalized_shape: tuple[int, ...]) -> Any:
    """Over the last axes."""
    return normalised(x, tuple(range(x.ndim - len(normalized_shape), x.ndim))) * weight + bias


def batch_norm(x: Any, weight: Any, bias: Any, training: bool = True) -> Any:
    """Over all axes but that of channels, by the batch's own mean and variance."""
    each = (-1, *[1] * (x.ndim - 2))
    return normalised(x, (0, *range(2, x.ndim))) * weight.reshape(each) + bias.reshape(each)


def group_norm(x: Any, weight: Any, bias: Any, num_groups: int) -> Any:
    """Over groups of channels."""
    each = (-1, *[1] * (x.ndim - 2))
    grouped = normalised(x.reshape(x.shape[0], num_groups, -1), (2,)).reshape(x.shape)
    return grouped * weight.reshape(each) + bias.reshape(each)


def pool(x: Any, kernel_size: int, stride: int, padding: int, maximum: bool) -> Any:
    """Windows' maxima, or means that count the padding."""
    import jax
    count = x.ndim - 2
    window = (1, 1, *[kernel_size] * count), (1, 1, *[stride] * count), [(0, 0)] * 2 + [(padding, padding)] * count
    if maximum:
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, *window)
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, *window) / kernel_size ** count


def activation(name: str) -> Callable:
    """One of jax.nn's, with PyTorch's words."""
    def call(x: Any, dim: int = -1) -> Any:
        import jax
        return jax.nn.gelu(x, approximate=False) if name == "gelu" else getattr(jax.nn, name)(x, axis=dim)
    return call


FUNCTIONS: dict[str, Callable] = {
    "matmul": matmul, "scaled_dot_product_attention": attention, "layer_norm": layer_norm, "batch_norm": batch_norm,
    "group_norm": group_norm, **{name: activation(name) for name in ("softmax", "log_softmax", "gelu")},
    **{f"conv{count}d": conv for count in (1, 2, 3)},
    **{f"{kind}_pool{count}d": lambda x, maximum=kind == "max", **window: pool(x, maximum=maximum, **window)
       for kind in ("max", "avg") for count in (1, 2, 3)}}


def side(work: Work) -> tuple[Callable[[], Any], Callable[[Any], np.ndarray]]:
    """The call, and what brings its result into PyTorch's layout."""
    import jax
    turn = (lambda x: x.swapaxes(1, 2)) if work.op == "scaled_dot_product_attention" else (lambda x: x)
    operands = [jax.numpy.asarray(turn(x)) for x in work.arrays]

    def forward(*given: Any) -> Any:
        return FUNCTIONS[work.op](*given, **work.options)
    if work.seed is None:
        compiled = jax.jit(forward)
        return lambda: compiled(*operands).block_until_ready(), lambda found: turn(np.asarray(found))
    seed = jax.numpy.asarray(turn(work.seed))
    both = jax.jit(lambda seed, *given: jax.vjp(forward, *given)[1](seed))
    return lambda: jax.block_until_ready(both(seed, *operands)), lambda found: turn(np.asarray(first(found)))


def version() -> str:
    """JAX's."""
    import jax
    return jax.__version__
