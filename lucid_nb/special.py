"""Special functions by SciPy's names: the ops of the same meaning, with gradients, on every device."""

from .ops.activation import logsigmoid as log_expit
from .ops.activation import sigmoid as expit
from .ops.activation import softplus
from .ops.bessel import i0, i0e, i1, i1e
from .ops.gamma import beta, betaln, gamma, lgamma
from .ops.norm import log_softmax, softmax
from .ops.polygamma import digamma, polygamma, zeta
from .ops.reduction import logsumexp
from .ops.special import (
    entr,
    erfc,
    erfcinv,
    erfcx,
    erfinv,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    sinc,
    xlog1py,
    xlogy,
)
from .ops.transcendental import cbrt, erf, exp2, expm1, log1p

gammaln, psi = lgamma, digamma

__all__ = ["beta", "betaln", "cbrt", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp2", "expit",
           "expm1", "gamma", "gammaln", "i0", "i0e", "i1", "i1e", "lgamma", "log1p", "log_expit", "log_ndtr",
           "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "psi", "sinc", "softmax", "softplus",
           "xlog1py", "xlogy", "zeta"]
