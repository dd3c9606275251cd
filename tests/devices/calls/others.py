"""What NumPy has besides, and random numbers, which are drawn as on the CPU."""

import numpy as np

import lucid_nb as lnb

from . import call

M, V, FIELD = (3, 4), (6,), (1, 2, 6)
BITS, BYTES = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1], bool), np.array([[3, 200]], "uint8")
CALLS = {
    "apply_along_axis": call(lambda x: lnb.apply_along_axis(lnb.sum, 1, x), M),
    "apply_over_axes": call(lambda x: lnb.apply_over_axes(lnb.sum, x, [0]), M),
    "corrcoef": call(lambda x: lnb.corrcoef(x), M), "cov": call(lambda x: lnb.cov(x), M),
    "interp": call(lambda x, p, f: lnb.interp(x, lnb.sort(p), f), (4,), V, V),
    "packbits": call(lambda x: lnb.packbits(x), BITS), "unpackbits": call(lambda x: lnb.unpackbits(x, axis=1), BYTES),
    "real_if_close": call(lambda x: lnb.real_if_close(x + 0j), M), "sort_complex": call(
        lambda x, y: lnb.sort_complex(x + 1j * y), V, V),
    "unwrap": call(lambda x: lnb.unwrap(5 * x), V), "lerp": call(lambda x, y, w: lnb.lerp(x, y, w), V, V, V),
    "Tensor.lerp": call(lambda x, y, w: x.lerp(y, w), V, V, V), "Tensor.compress": call(
        lambda x: x.compress(x[:, 0] > 0, 0), M),
    "Tensor.real": call(lambda x: x.real, M), "Tensor.imag": call(lambda x, y: (x + 1j * y).imag, V, V),
    "Tensor.sort": call(lambda x: sorted_in_place(x), M), "Tensor.partition": call(lambda x: sorted_in_place(x, 2), M),
    "special.erfcinv": call(lambda x: lnb.special.erfcinv(lnb.sigmoid(x)), V),
    "special.erfcx": call(lambda x: lnb.special.erfcx(x), V), "special.i0e": call(lambda x: lnb.special.i0e(x), V),
    "special.i1e": call(lambda x: lnb.special.i1e(x), V),
    "special.log_ndtr": call(lambda x: lnb.special.log_ndtr(x), V),
    "conv_general": call(lambda x, w: lnb.conv_general(x, w, input_dilation=2, padding=1), FIELD, (3, 2, 2)),
    "conv_transpose1d": call(lambda x, w: lnb.conv_transpose1d(x, w, stride=2), FIELD, (2, 1, 2)),
    "conv_transpose2d": call(lambda x, w: lnb.conv_transpose2d(x, w), (1, 2, 3, 3), (2, 1, 2, 2)),
    "conv_transpose3d": call(lambda x, w: lnb.conv_transpose3d(x, w), (1, 2, 2, 2, 2), (2, 1, 2, 2, 2)),
}
CALLS |= {name: call(lambda x, name=name: getattr(lnb, name)(5, *[8.0][:name == "kaiser"]) * x, (5,))
          for name in "bartlett blackman hamming hanning kaiser".split()}


def sorted_in_place(x, kth=None):
    """A copy, brought into order."""
    y = 1 * x.detach()
    y.sort() if kth is None else y.partition(kth)
    return y if kth is None else y[..., kth]


# ------------------------------------------------------------------------------------------------- random numbers
DRAWN = dict(beta=(2, 3), binomial=(5, 0.4), chisquare=(2,), exponential=(), f=(3, 4), gamma=(2,), geometric=(0.4,),
             gumbel=(), hypergeometric=(5, 4, 3), laplace=(), logistic=(), lognormal=(), logseries=(0.5,),
             negative_binomial=(4, 0.5), noncentral_chisquare=(2, 1), noncentral_f=(3, 4, 1), normal=(), pareto=(2,),
             poisson=(3,), power=(2,), randint=(9,), random_integers=(9,), random=(), random_sample=(), ranf=(),
                 sample=(),
             rayleigh=(), standard_cauchy=(), standard_exponential=(), standard_gamma=(2,), standard_normal=(),
             standard_t=(3,), triangular=(0, 1, 2), uniform=(), vonmises=(0, 1), wald=(1, 1), weibull=(2,), zipf=(2,),
             choice=(7,), dirichlet=([1, 2],), multinomial=(5, [0.5, 0.5]),
                 multivariate_normal=([0, 1], [[1, 0], [0, 1]]))


def drawn(name, *arguments, **keywords):
    """A draw after the same seed, on the device of x."""
    def run(x):
        lnb.random.seed(4)
        with lnb.device(x.device):
            return getattr(lnb.random, name)(*arguments, **keywords)
    return call(run, (1,))


CALLS |= {f"random.{name}": drawn(name, *arguments, size=3) for name, arguments in DRAWN.items()}
CALLS |= {"random.rand": drawn("rand", 2, 3), "random.randn": drawn("randn", 2, 3), "random.permutation": drawn(
    "permutation", 5), "random.bernoulli": drawn("bernoulli", [0.2, 0.7])}
CALLS["random.shuffle"] = call(lambda x: lnb.random.seed(4) or lnb.random.shuffle(y := 1 * x.detach()) or y, V)
