"""Forward passes of what every library has; these rows need no PyTorch."""

from importlib.util import find_spec

import numpy as np
from harness import Group, compare
from work import Work, like_torch

import lucid_nb as lnb

draw = np.random.default_rng(0)
POOL = {"kernel_size": 3, "stride": 2, "padding": 1}


def numbers(*shape: int) -> np.ndarray:
    """Normal float32."""
    return draw.standard_normal(shape).astype(np.float32)


def works() -> list[Work]:
    """One of each kind, of middling size."""
    images = numbers(8, 64, 56, 56)
    attention = [numbers(4, 8, 256, 64) for _ in range(3)]
    return [Work("matmul", [numbers(512, 512), numbers(512, 512)]),
            Work("matmul", [numbers(16, 197, 64), numbers(16, 64, 197)]),
            Work("conv2d", [numbers(8, 64, 28, 28), numbers(64, 64, 3, 3) * np.float32(0.05)], {"padding": 1}),
            Work("conv2d", [images, numbers(64, 1, 3, 3)], {"padding": 1, "groups": 64}),
            Work("max_pool2d", [images], POOL), Work("avg_pool2d", [images], POOL),
            Work("layer_norm", [numbers(4096, 256), numbers(256), numbers(256)], {"normalized_shape": (256,)}),
            Work("group_norm", [images, numbers(64), numbers(64)], {"num_groups": 32}),
            Work("batch_norm", [images, numbers(64), numbers(64)], {"training": True}),
            Work("scaled_dot_product_attention", attention), Work("scaled_dot_product_attention", attention,
                                                                  {"is_causal": True}),
            *[Work(name, [numbers(1024, 1024)], {"dim": -1}) for name in ("softmax", "log_softmax")],
            Work("gelu", [numbers(1024, 1024)])]


def run() -> list[Group]:
    """A row for each work."""
    group = Group("forward passes (reported)", "none")
    has_torch = find_spec("torch") is not None
    for work in works():
        shape = " ".join("x".join(map(str, array.shape)) for array in work.arrays if array.ndim > 1)
        peer = None
        if has_torch:
            import torch
            peer = like_torch(torch, work)
        options = " causal" if work.options.get("is_causal") else ""
        compare(group, f"{work.op} {shape}{options}", like_torch(lnb, work), peer, rtol=1e-4, rounds=9, work=work)
    return [group]
