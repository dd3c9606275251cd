"""Inference in a Bayesian network: probabilities are sums of products, and posterior marginals are gradients.

The network "Asia" (S. Lauritzen and D. Spiegelhalter, "Local computations with probabilities on graphical structures",
1988) tells what a visit to Asia and smoking have to do with a cough. Every table is multiplied by weights of the
variable's values, which are 1; einsum eliminates the variables one after the other. The gradient of the logarithm of
the sum by the weights holds the marginals of all variables at once (A. Darwiche, "A differential approach to inference
in Bayesian networks", 2003); its second derivatives hold the covariances. Both are checked against all 256 cases.
"""

import itertools

import numpy as np

import lucid_nb as lnb
from lucid_nb import Tensor

# P(yes) of each variable given its parents: {variable: (parents, table with an axis for each parent)}.
NETWORK = {
    "asia": ((), 0.01), "smoking": ((), 0.5),
    "tuberculosis": (("asia",), [0.01, 0.05]), "cancer": (("smoking",), [0.01, 0.1]),
    "bronchitis": (("smoking",), [0.3, 0.6]), "either": (("tuberculosis", "cancer"), [[0.0, 1.0], [1.0, 1.0]]),
    "xray": (("either",), [0.05, 0.98]), "dyspnoea": (("either", "bronchitis"), [[0.1, 0.8], [0.7, 0.9]])}
LETTERS = dict(zip(NETWORK, "abcdefgh"))


def table(variable: str) -> Tensor:
    """The probabilities of no and yes, on the last axis."""
    yes = lnb.asarray(NETWORK[variable][1])
    return lnb.stack([1 - yes, yes], axis=-1)


def log_probability(weights: dict) -> Tensor:
    """The logarithm of the sum over all cases of their probabilities, each times the weights of its values."""
    operands, names = [], []
    for variable, (parents, _) in NETWORK.items():
        operands += [table(variable), weights[variable]]
        names += ["".join(LETTERS[name] for name in (*parents, variable)), LETTERS[variable]]
    return lnb.log(lnb.einsum(f"{','.join(names)}->", *operands, optimize=True))


def marginals(evidence: dict) -> tuple[float, dict]:
    """P(yes) of each variable where some are known, and the probability of that."""
    weights = {name: lnb.asarray([1.0, 1.0] if name not in evidence else np.eye(2)[evidence[name]]) for name in NETWORK}
    logarithm, gradient = lnb.value_and_grad(log_probability)(weights)
    return lnb.exp(logarithm).item(), {name: (gradient[name] * weights[name])[1].item() for name in NETWORK}


def enumerated(evidence: dict) -> tuple[np.ndarray, np.ndarray]:
    """All cases that agree with the evidence, and their posterior probabilities, by NumPy."""
    cases, probabilities = [], []
    for values in itertools.product([0, 1], repeat=len(NETWORK)):
        case = dict(zip(NETWORK, values))
        if all(case[name] == value for name, value in evidence.items()):
            yes = [np.asarray(given)[tuple(case[parent] for parent in parents)] for parents, given in NETWORK.values()]
            cases.append(values)
            probabilities.append(np.prod([p if value else 1 - p for p, value in zip(yes, values)]))
    return np.array(cases), np.array(probabilities)


for evidence in ({}, {"dyspnoea": 1}, {"dyspnoea": 1, "xray": 1, "smoking": 0}):
    total, found = marginals(evidence)
    cases, probabilities = enumerated(evidence)
    expected = probabilities @ cases / probabilities.sum()
    error = max(abs(total - probabilities.sum()), *np.abs(np.array(list(found.values())) - expected))
    told = ", ".join(f"P({name}) {found[name]:.4f}" for name in ("cancer", "tuberculosis", "bronchitis"))
    print(f"given {evidence or 'nothing'}: {told}; error {error:.1e}")


# Second derivatives by the logarithms of the weights of "yes" are covariances.
def by_logarithms(logarithms: Tensor) -> Tensor:
    return log_probability({name: lnb.stack([lnb.ones(()), lnb.exp(logarithms[i])]) for i, name in enumerate(NETWORK)})


covariance = lnb.hessian(by_logarithms)(lnb.zeros(len(NETWORK))).numpy()
cases, probabilities = enumerated({})
print(f"covariances: error {np.abs(covariance - np.cov(cases.T, aweights=probabilities, ddof=0)).max():.1e}")
