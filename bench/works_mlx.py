"""What MLX has of the works, on its CPU device: mlx.core, mlx.core.fast and mlx.nn; each call is evaluated at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from work import Work, first, matmul


def conv(x: Any, weight: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    """A convolution in one to three directions."""
    import mlx.core as mx
    return mx.conv_general(x, weight, stride, padding, dilation, groups=groups)


def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    """MLX's fast one."""
    import mlx.core as mx
    return mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** -0.5,
                                                mask="causal" if is_causal else None)


def layer_norm(x: Any, weight: Any, bias: Any, normalized_shape: tuple[int, ...]) -> Any:
    """MLX's fast one, over the last axis."""
    import mlx.core as mx
    return mx.fast.layer_norm(x, weight, bias, 1e-5)


def batch_norm(x: Any, weight: Any, bias: Any, training: bool = True) -> Any:
    """Channels are last; as mlx.nn.BatchNorm does it in training, which is a class with a state."""
    import mlx.core as mx
    axes = tuple(range(x.ndim - 1))
    mean, variance = mx.mean(x, axes), mx.var(x, axes)
    return (x - mean) * mx.rsqrt(variance + 1e-5) * weight + bias


def pool(name: str) -> Callable:
    """mlx.nn's pool of that name."""
    def call(x: Any, **window: int) -> Any:
        import mlx.nn
        return getattr(mlx.nn, name)(**window)(x)
    return call


def softmax(x: Any, dim: int = -1) -> Any:
    """Over one axis."""
    import mlx.core as mx
    return mx.softmax(x, axis=dim)


def activation(name: str) -> Callable:
    """One of mlx.nn's, with PyTorch's words."""
    def call(x: Any, dim: int = -1) -> Any:
        import mlx.nn
        return mlx.nn.gelu(x) if name == "gelu" else getattr(mlx.nn, name)(x, axis=dim)
    return call


FUNCTIONS: dict[str, Callable] = {
    "matmul": matmul, "scaled_dot_product_attention": attention, "layer_norm": layer_norm, "batch_norm": batch_norm,
    "softmax": softmax, "log_softmax": activation("log_softmax"), "gelu": activation("gelu"),
    **{f"conv{count}d": conv for count in (1, 2, 3)},
    **{f"{kind}_pool{count}d": pool(f"{kind.title()}Pool{count}d") for kind in ("max", "avg") for count in (1, 2, 3)}}


def side(work: Work) -> tuple[Callable[[], Any], Callable[[Any], np.ndarray]]:
    """The call, and what brings its result into PyTorch's layout."""
    import mlx.core as mx
    mx.set_default_device(mx.cpu)
    is_image = work.op.startswith(("conv", "max_pool", "avg_pool", "batch_norm"))

    def turn(x: np.ndarray, start: int = 1, stop: int = -1) -> np.ndarray:
        return np.moveaxis(x, start, stop) if is_image and x.ndim > 2 else x
    operands = [mx.array(np.ascontiguousarray(turn(x))) for x in work.arrays]

    def forward(*given: Any) -> Any:
        return FUNCTIONS[work.op](*given, **work.options)

    def run() -> Any:
        if work.seed is None:
            found = forward(*operands)
        else:
            found = mx.vjp(forward, operands, [seed])[1]
        mx.eval(found)
        return found
    seed = None if work.seed is None else mx.array(np.ascontiguousarray(turn(work.seed)))
    return run, lambda found: turn(np.asarray(first(found)), -1, 1)


def version() -> str:
    """MLX's."""
    from importlib.metadata import version
    return version("mlx")
