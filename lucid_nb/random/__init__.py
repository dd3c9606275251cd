"""Random numbers: NumPy's, value for value, under NumPy's names; and keys.

`seed` sets the state from which the functions here, initialisers and unseeded shuffles draw, and from which the keys of
dropout follow. That state is NumPy's, kept on the host, so a seed gives the same numbers on every device, those that
NumPy's functions give. Each call is safe in threads; for streams of their own give them generators by `spawn`.

Keys are those of a generator that computes each number from its position: see `key`.

>>> lnb.random.seed(1)
>>> np.random.seed(1)
>>> lnb.random.rand(2).tolist() == np.random.rand(2).tolist()
True
"""

from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Philox, SeedSequence

from .generator import Generator, default_rng
from .keys import Key, key, split
from .legacy import RandomState, library
from .state import LARGEST_SEED, get_rng_state, get_seed, host, next_key, seed, set_rng_state

bernoulli, beta, binomial, bytes = library.bernoulli, library.beta, library.binomial, library.bytes
chisquare, choice, dirichlet, exponential = library.chisquare, library.choice, library.dirichlet, library.exponential
f, gamma, geometric, gumbel = library.f, library.gamma, library.geometric, library.gumbel
hypergeometric, laplace, logistic, lognormal = (library.hypergeometric, library.laplace, library.logistic,
                                                library.lognormal)
logseries, multinomial, multivariate_normal = library.logseries, library.multinomial, library.multivariate_normal
negative_binomial, noncentral_chisquare, noncentral_f = (library.negative_binomial, library.noncentral_chisquare,
                                                         library.noncentral_f)
normal, pareto, permutation, poisson, power = (library.normal, library.pareto, library.permutation, library.poisson,
                                               library.power)
rand, randint, randn, random_integers = library.rand, library.randint, library.randn, library.random_integers
random = random_sample = ranf = sample = library.random_sample
rayleigh, shuffle, standard_cauchy, standard_exponential = (library.rayleigh, library.shuffle, library.standard_cauchy,
                                                            library.standard_exponential)
standard_gamma, standard_normal, standard_t = library.standard_gamma, library.standard_normal, library.standard_t
triangular, uniform, vonmises, wald, weibull, zipf = (library.triangular, library.uniform, library.vonmises,
                                                      library.wald, library.weibull, library.zipf)
get_state, set_state = library.get_state, library.set_state

__all__ = [
    "LARGEST_SEED", "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Key", "Philox",
    "RandomState", "SeedSequence", "bernoulli", "beta", "binomial", "bytes", "chisquare", "choice", "default_rng",
    "dirichlet", "exponential", "f", "gamma", "geometric", "get_rng_state", "get_seed", "get_state", "gumbel",
    "host", "hypergeometric", "key", "laplace", "logistic", "lognormal", "logseries", "multinomial",
    "multivariate_normal", "negative_binomial", "next_key", "noncentral_chisquare", "noncentral_f", "normal",
    "pareto", "permutation", "poisson", "power", "rand", "randint", "randn", "random", "random_integers",
    "random_sample", "ranf", "rayleigh", "sample", "seed", "set_rng_state", "set_state", "shuffle", "split",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular",
    "uniform", "vonmises", "wald", "weibull", "zipf"]
