"""float32 results and gradients of what networks compute: their errors against float64 are at most twice PyTorch's.

The same numbers go to both; the float64 results are PyTorch's own in float64.
"""

import numpy as np
import pytest

import lucid_nb as lnb

LEAST = 0.25                         # errors below so many epsilons of the largest result are as good as none
DRAWS = 3                            # whose errors are taken together: a maximum of few is luck


def conv(ndim, **options):
    return lambda F, x, w: getattr(F, f"conv{ndim}d")(x, w, **options)


# Name: (function of nn.functional and its operands, shapes of operands)
CASES = {
    "conv 3x3": (conv(2, padding=1), (2, 64, 14, 14), (32, 64, 3, 3)),
    "conv 1x1": (conv(2), (2, 256, 14, 14), (64, 256, 1, 1)),
    "conv 7x7 stride 2": (conv(2, stride=2, padding=3), (2, 3, 56, 56), (16, 3, 7, 7)),
    "conv dilated": (conv(2, dilation=2, padding=2), (2, 21, 15, 15), (33, 21, 3, 3)),
    "conv grouped": (conv(2, groups=3, padding=1), (2, 33, 15, 15), (21, 11, 3, 3)),
    "conv depthwise": (conv(2, groups=33, padding=1), (2, 33, 20, 20), (33, 1, 3, 3)),
    "conv of signals": (conv(1, padding=4), (2, 21, 300), (33, 21, 9)),
    "conv of volumes": (conv(3, padding=1), (1, 16, 8, 9, 10), (21, 16, 3, 3, 3)),
    "conv transposed": (lambda F, x, w: F.conv_transpose2d(x, w, stride=2, padding=1), (2, 32, 9, 9), (32, 16, 4, 4)),
    "matrix product": (lambda F, x, y: x @ y, (64, 300), (300, 64)),
    "linear": (lambda F, x, w, b: F.linear(x, w, b), (40, 300), (50, 300), (50,)),
    "bilinear": (lambda F, x, y, w: F.bilinear(x, y, w), (20, 30), (20, 40), (10, 30, 40)),
    "averages": (lambda F, x: F.avg_pool2d(x, 3, 2, 1), (2, 21, 33, 33)),
    "averages of all": (lambda F, x: F.adaptive_avg_pool2d(x, 1), (2, 33, 30, 30)),
    "averages, adaptive": (lambda F, x: F.adaptive_avg_pool2d(x, 5), (2, 21, 33, 33)),
    "norms of windows": (lambda F, x: F.lp_pool2d(abs(x) + 0.1, 3, 3, 2), (2, 21, 33, 33)),
    "batch norm": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (8, 21, 15, 15), (21,), (21,)),
    "batch norm of vectors": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (128, 33), (33,), (33,)),
    "layer norm": (lambda F, x, w, b: F.layer_norm(x, (300,), w, b), (40, 300), (300,), (300,)),
    "rms norm": (lambda F, x, w: F.rms_norm(x, (300,), w), (40, 300), (300,)),
    "group norm": (lambda F, x, w, b: F.group_norm(x, 3, w, b), (4, 33, 12, 12), (33,), (33,)),
    "instance norm": (lambda F, x: F.instance_norm(x), (4, 21, 15, 15)),
    "local response": (lambda F, x: F.local_response_norm(x, 5, alpha=0.5), (2, 33, 9, 9)),
    "softmax": (lambda F, x: F.softmax(3 * x, -1), (40, 300)),
    "log softmax": (lambda F, x: F.log_softmax(3 * x, -1), (40, 300)),
    "normalize": (lambda F, x: F.normalize(x, dim=1), (40, 300)),
    "cosine similarity": (lambda F, x, y: F.cosine_similarity(x, y, 1), (40, 300), (40, 300)),
    "bilinear interpolation": (lambda F, x: F.interpolate(x, (31, 45), mode="bilinear", align_corners=False),
                               (2, 3, 20, 20)),
    "bicubic interpolation": (lambda F, x: F.interpolate(x, (31, 45), mode="bicubic", align_corners=True),
                              (2, 3, 20, 20)),
    "attention": (lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), *[(2, 3, 70, 32)] * 3),
}


def step(library, call, arrays, weights, dtype):
    """The result and the gradients of all operands, as float64 arrays."""
    leaves = [library.tensor(x.astype(dtype), requires_grad=True) for x in arrays]
    out = call(library.nn.functional, *leaves)
    out.backward(library.tensor(weights(tuple(out.shape)).astype(dtype)))
    return [x.detach().numpy().astype(np.float64) for x in (out, *[leaf.grad for leaf in leaves])]


def errors(torch, case, seed):
    """Of each array ours and PyTorch's errors, and its largest number."""
    call, *shapes = case
    random = np.random.default_rng(seed)
    arrays = [(random.standard_normal(shape) + 0.3).astype(np.float32) for shape in shapes]

    def weights(shape):
        return np.random.default_rng(seed + 100).standard_normal(shape).astype(np.float32)
    exact = step(torch, call, arrays, weights, np.float64)
    ours, theirs = (step(library, call, arrays, weights, np.float32) for library in (lnb, torch))
    return [(one - right, two - right, np.abs(right).max()) for one, two, right in zip(ours, theirs, exact)]


@pytest.mark.parametrize("name", CASES)
def test_errors_are_at_most_twice_those_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    draws = [errors(torch, CASES[name], seed) for seed in range(DRAWS)]
    for number, each in enumerate(zip(*draws)):
        ours, theirs = (np.concatenate([draw[which].ravel() for draw in each]) for which in range(2))
        floor = LEAST * np.finfo(np.float32).eps * max(draw[2] for draw in each)
        for size in (lambda x: np.sqrt((x * x).mean()), lambda x: np.abs(x).max()):
            assert size(ours) <= max(2 * size(theirs), floor), f"array {number}"
