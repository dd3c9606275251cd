"""The distributions, which all of NumPy's generators have."""

from typing import Any

from ..array import Tensor
from .drawing import Drawing, called, delivered

Size = Any


class Distributions(Drawing):
    """Draws by NumPy's names. `size` is the shape of the result: by default that of the parameters, broadcast.

    ConfigError, a ValueError, for parameters that a distribution does not have.
    """

    def beta(self, a: Any, b: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Beta distribution on 0 to 1, its exponents a - 1 and b - 1; a, b > 0."""
        return self.draw("beta", (a, b), size, dtype, device)

    def binomial(self, n: Any, p: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """How many of n trials succeed, each with probability p; int64."""
        return self.draw("binomial", (n, p), size, dtype, device)

    def chisquare(self, df: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Chi-square distribution of df > 0 degrees of freedom."""
        return self.draw("chisquare", (df,), size, dtype, device)

    def dirichlet(self, alpha: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Dirichlet distribution: rows of numbers that sum to 1; alpha > 0, of one axis."""
        return self.draw("dirichlet", (alpha,), size, dtype, device)

    def exponential(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Exponential distribution of mean scale >= 0."""
        return self.draw("exponential", (scale,), size, dtype, device)

    def f(self, dfnum: Any, dfden: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """F distribution of dfnum > 0 and dfden > 0 degrees of freedom."""
        return self.draw("f", (dfnum, dfden), size, dtype, device)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None,
              *, dtype: Any = None, device: Any = None) -> Tensor:
        """Gamma distribution of this shape and scale, both >= 0."""
        return self.draw("gamma", (shape, scale), size, dtype, device)

    def geometric(self, p: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """The trial that succeeds first, 1 or more, each with probability p; int64."""
        return self.draw("geometric", (p,), size, dtype, device)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None,
               *, dtype: Any = None, device: Any = None) -> Tensor:
        """Gumbel distribution, of extremes, around loc; scale >= 0."""
        return self.draw("gumbel", (loc, scale), size, dtype, device)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None,
                       *, dtype: Any = None, device: Any = None) -> Tensor:
        """How many of nsample drawn from ngood and nbad are good; int64."""
        return self.draw("hypergeometric", (ngood, nbad, nsample), size, dtype, device)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None,
                *, dtype: Any = None, device: Any = None) -> Tensor:
        """Laplace distribution around loc, exponential on both sides; scale >= 0."""
        return self.draw("laplace", (loc, scale), size, dtype, device)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None,
                 *, dtype: Any = None, device: Any = None) -> Tensor:
        """Logistic distribution around loc; scale >= 0."""
        return self.draw("logistic", (loc, scale), size, dtype, device)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None,
                  *, dtype: Any = None, device: Any = None) -> Tensor:
        """Numbers whose logarithm is normal, of this mean and standard deviation sigma >= 0."""
        return self.draw("lognormal", (mean, sigma), size, dtype, device)

    def logseries(self, p: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Logarithmic series distribution, 0 <= p < 1; int64."""
        return self.draw("logseries", (p,), size, dtype, device)

    def multinomial(self, n: Any, pvals: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """How often each of several outcomes of probability pvals occurs in n trials; int64."""
        return self.draw("multinomial", (n, pvals), size, dtype, device)

    def negative_binomial(self, n: Any, p: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Failures before n > 0 successes, each of probability p; int64."""
        return self.draw("negative_binomial", (n, p), size, dtype, device)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None,
                             *, dtype: Any = None, device: Any = None) -> Tensor:
        """Chi-square distribution whose normal numbers lie off 0, by nonc >= 0 in all."""
        return self.draw("noncentral_chisquare", (df, nonc), size, dtype, device)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None,
                     *, dtype: Any = None, device: Any = None) -> Tensor:
        """F distribution whose numerator is a noncentral chi-square."""
        return self.draw("noncentral_f", (dfnum, dfden, nonc), size, dtype, device)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None,
               *, dtype: Any = None, device: Any = None) -> Tensor:
        """Normal distribution of mean loc and standard deviation scale >= 0."""
        return self.draw("normal", (loc, scale), size, dtype, device)

    def pareto(self, a: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Pareto distribution of the second kind (Lomax) with exponent a > 0."""
        return self.draw("pareto", (a,), size, dtype, device)

    def poisson(self, lam: Any = 1.0, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Poisson distribution of mean lam >= 0; int64."""
        return self.draw("poisson", (lam,), size, dtype, device)

    def power(self, a: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Distribution on 0 to 1 of density a x**(a - 1); a > 0."""
        return self.draw("power", (a,), size, dtype, device)

    def rayleigh(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Rayleigh distribution; scale >= 0."""
        return self.draw("rayleigh", (scale,), size, dtype, device)

    def standard_cauchy(self, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Cauchy distribution around 0, of scale 1."""
        return self.draw("standard_cauchy", (), size, dtype, device)

    def standard_t(self, df: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Student's t distribution of df > 0 degrees of freedom."""
        return self.draw("standard_t", (df,), size, dtype, device)

    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None,
                   *, dtype: Any = None, device: Any = None) -> Tensor:
        """Triangular distribution from left to right, its peak at mode."""
        return self.draw("triangular", (left, mode, right), size, dtype, device)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None,
                *, dtype: Any = None, device: Any = None) -> Tensor:
        """Numbers from low (included) to high (excluded), evenly."""
        return self.draw("uniform", (low, high), size, dtype, device)

    def vonmises(self, mu: Any, kappa: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Von Mises distribution on the circle, -pi to pi, around mu; kappa >= 0."""
        return self.draw("vonmises", (mu, kappa), size, dtype, device)

    def wald(self, mean: Any, scale: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Wald (inverse Gaussian) distribution of this mean and scale, both > 0."""
        return self.draw("wald", (mean, scale), size, dtype, device)

    def weibull(self, a: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Weibull distribution of shape a >= 0 and scale 1."""
        return self.draw("weibull", (a,), size, dtype, device)

    def zipf(self, a: Any, size: Size = None, *, dtype: Any = None, device: Any = None) -> Tensor:
        """Zipf distribution of exponent a > 1; int64."""
        return self.draw("zipf", (a,), size, dtype, device)

    def multivariate_normal(self, mean: Any, cov: Any, size: Size = None, check_valid: str = "warn", tol: float = 1e-8,
                            *, dtype: Any = None, device: Any = None, **how: Any) -> Tensor:
        """Normal distribution of several numbers, of these means and covariances; they stand along the last axis.

        `check_valid`: what becomes of a `cov` that is none, to `tol`: "warn" (RuntimeWarning), "raise" or "ignore".
        """
        found = called("multivariate_normal", self.host.multivariate_normal, mean, cov, size, check_valid, tol, **how)
        return delivered("multivariate_normal", found, dtype, device, (mean, cov))
