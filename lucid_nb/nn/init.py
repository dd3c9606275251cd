"""Initialisers: each fills a tensor in place and returns it. Names go with and without the underscore at the end.

Without `generator`, which may be a key of `lnb.random` too, they draw from `lnb.random`.

Xavier: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
Kaiming: K. He, X. Zhang, S. Ren, J. Sun, Delving deep into rectifiers, 2015.
"""

import math
from typing import Any

import numpy as np

from .. import random
from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, ShapeError
from ..ops.special import erfinv
from ..shapes import as_integer, as_number
from ..tape import grad_mode

Generator = np.random.Generator | np.random.RandomState | random.Generator | random.RandomState | random.Key
LINEAR = ("linear", *(f"conv{kind}{ndim}d" for kind in ("", "_transpose") for ndim in (1, 2, 3)), "sigmoid")
GAINS = {**dict.fromkeys(LINEAR, 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def fill(tensor: Tensor, values: Any) -> Tensor:
    """Write values into a tensor, also into one that requires grad."""
    with grad_mode(False):
        tensor[...] = values if isinstance(values, int | float) else asarray(values, device=tensor.device)
    return tensor


def drawn(kind: str, tensor: Tensor, first: float, second: float, generator: Generator | None) -> Any:
    """Numbers like a tensor, "uniform" from `first` to `second`, or "normal" with this mean and deviation."""
    if isinstance(generator, random.Key):
        dtype = tensor.dtype if tensor.dtype.name in ("float32", "float64") else "float32"
        return getattr(generator, kind)(tensor.shape, first, second, dtype=dtype).astype(tensor.dtype)
    return getattr(generator or random.host(), kind)(first, second, tensor.shape).astype(tensor.dtype)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the uniform distribution from a to b; ConfigError unless these are numbers in this order."""
    low, high = as_number("uniform_", "a", a), as_number("uniform_", "b", b)
    if not low <= high:
        raise ConfigError(f"uniform_: from {a} to {b}. Use a not above b.")
    return fill(tensor, drawn("uniform", tensor, a, b, generator))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution of this mean and standard deviation; ConfigError if that is negative."""
    as_number("normal_", "mean", mean)
    if not as_number("normal_", "std", std) >= 0:
        raise ConfigError(f"normal_: std is {std}. Use a number that is not negative.")
    return fill(tensor, drawn("normal", tensor, mean, std, generator))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution of this mean and standard deviation, as far as it lies from a to b.

    By its inverse distribution function. ConfigError unless a < b and std is positive.
    """
    low, high, size = (as_number("trunc_normal_", name, value) for name, value in (("a", a), ("b", b), ("std", std)))
    if not low < high or not size > 0:
        raise ConfigError(f"trunc_normal_: from {a} to {b}, std {std}. Use a below b, and a positive std.")
    first, last = (math.erf((end - mean) / size / math.sqrt(2)) for end in (low, high))
    values = np.empty(tensor.shape)
    uniform_(Tensor(values), first, last, generator)
    found = mean + size * math.sqrt(2) * erfinv(Tensor(values)).numpy()
    return fill(tensor, np.clip(found, low, high).astype(tensor.dtype))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return fill(tensor, 1)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with 1 on the diagonal and 0 elsewhere."""
    return fill(tensor, np.eye(*matrix_shape("eye_", tensor), dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a kernel of a convolution so that it copies as many channels as it can; in each of the groups.

    >>> lnb.nn.init.dirac_(lnb.tensor(np.ones((2, 1, 3))), groups=2).tolist()
    [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]
    """
    count = as_integer("dirac_", "groups", groups)
    if tensor.ndim not in (3, 4, 5) or count < 1 or tensor.shape[0] % count:
        raise ShapeError(f"dirac_: a tensor of shape {tensor.shape} in {count} groups. Give a kernel of a convolution, "
                         "and a divisor of its first size.")
    values = np.zeros(tensor.shape, tensor.dtype)
    rows = tensor.shape[0] // count
    middle = np.ravel_multi_index([size // 2 for size in tensor.shape[2:]], tensor.shape[2:])
    taps = values.reshape(count, rows, tensor.shape[1], -1)
    for row in range(min(rows, tensor.shape[1])):
        taps[:, row, row, middle] = 1
    return fill(tensor, values)


def matrix_shape(op: str, tensor: Tensor) -> tuple[int, int]:
    """The shape of a tensor that must be a matrix."""
    if tensor.ndim != 2:
        raise ShapeError(f"{op}: a tensor of shape {tensor.shape} is no matrix. Use one with two axes.")
    return tensor.shape[0], tensor.shape[1]


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Draw a matrix from the normal distribution of mean 0, the share `sparsity` of each column being 0 (rounded up).

    Source: J. Martens, Deep learning via Hessian-free optimization, 2010.
    """
    rows, cols = matrix_shape("sparse_", tensor)
    share = as_number("sparse_", "sparsity", sparsity)
    if not 0 <= share <= 1:
        raise ConfigError(f"sparse_: sparsity is {sparsity}. Use a share, 0 to 1.")
    order = np.empty((rows, cols))
    normal_(tensor, 0.0, std, generator)
    uniform_(Tensor(order), 0.0, 1.0, generator.split(1)[0] if isinstance(generator, random.Key) else generator)
    kept = np.argsort(np.argsort(order, 0), 0) >= math.ceil(share * rows)
    return fill(tensor, tensor.detach().to_host() * kept.astype(tensor.dtype))


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw rows, or columns where there are fewer, that are orthogonal and of length `gain`; axes after the first count
    as one.

    Source: A. Saxe, J. McClelland, S. Ganguli, Exact solutions to the nonlinear dynamics of learning, arXiv:1312.6120;
    evenly among all such matrices, as F. Mezzadri, How to generate random matrices, 2007.
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_: a tensor of shape {tensor.shape} has no rows. Use one with two or more axes.")
    rows, cols = tensor.shape[0], math.prod(tensor.shape[1:])
    values = np.empty((rows, cols))
    normal_(Tensor(values), 0.0, 1.0, generator)
    q, r = np.linalg.qr(values.T if rows < cols else values)
    q = q * np.where(np.diag(r) < 0, -1, 1)
    return fill(tensor, (gain * (q.T if rows < cols else q)).reshape(tensor.shape).astype(tensor.dtype))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a layer before this nonlinearity is scaled; `param` is leaky_relu's slope (0.01).

    >>> lnb.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ConfigError(f"calculate_gain: nonlinearity is {nonlinearity!r}. Use one of {', '.join(GAINS)}, "
                          "leaky_relu.")
    return GAINS[nonlinearity]


def fans(op: str, tensor: Tensor) -> tuple[int, int]:
    """The connections into and out of one unit: a weight is (out, in, ...), the rest being the kernel."""
    if tensor.ndim < 2:
        raise ShapeError(f"{op}: a tensor of shape {tensor.shape} has no fan in and fan out. Use one with two or more "
                         "axes.")
    taps = math.prod(tensor.shape[2:])
    return tensor.shape[1] * taps, tensor.shape[0] * taps


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw uniformly within gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6 / sum(fans("xavier_uniform_", tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans("xavier_normal_", tensor))), generator)


def kaiming_std(op: str, tensor: Tensor, a: float | str, mode: str, nonlinearity: str) -> float:
    """The standard deviation that keeps the variance of activations (fan_in) or of gradients (fan_out)."""
    if isinstance(a, str):                               # lucid's order of arguments has the mode first
        return kaiming_std(op, tensor, 0.0, a, nonlinearity)
    if mode not in ("fan_in", "fan_out"):
        raise ConfigError(f"{op}: mode is {mode!r}. Use 'fan_in' or 'fan_out'.")
    fan = fans(op, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(tensor: Tensor, a: float | str = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Draw uniformly within gain * sqrt(3 / fan); `a` is the slope of a leaky_relu."""
    bound = math.sqrt(3) * kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float | str = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution with standard deviation gain / sqrt(fan); `a` is the slope of a leaky_relu."""
    std = kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator)


uniform, normal, trunc_normal, constant = uniform_, normal_, trunc_normal_, constant_
zeros, ones, eye, dirac, sparse, orthogonal = zeros_, ones_, eye_, dirac_, sparse_, orthogonal_
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal = kaiming_uniform_, kaiming_normal_
