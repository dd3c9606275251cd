"""Calls of SciPy and scikit-learn on tensors beside the same on arrays: run as a process of its own, because
SCIPY_ARRAY_API is read when SciPy is imported. Prints a JSON object: for each call what is wrong, or nothing.

    SCIPY_ARRAY_API=1 python -m tests.clients.dispatched
"""

import importlib
import json
import warnings

import numpy as np

import lucid_nb as lnb

RNG = np.random.default_rng(0)
GRID, ROW = RNG.normal(size=(40, 5)), RNG.normal(size=32)
DATA = {
    "x": GRID, "p": np.abs(GRID) + 0.1, "v": ROW, "w": ROW[:5].copy(), "f": ROW * ROW,
    "zero": np.asarray(0.0), "one": np.ones(1), "labels": (GRID[:, 0] > 0).astype(np.int64), "square": GRID[:5],
    "guesses": RNG.integers(0, 2, 40), "scores": RNG.random(40), "target": GRID @ np.arange(5.0) + RNG.normal(size=40),
}
# Results of these are arrays or numbers of NumPy whatever comes in (with array-api-strict, too).
HOSTED = {"stats.linregress(v, f).slope", "signal.decimate(v, 2)", "signal.welch(v)[1]", "integrate.simpson(v)"}
# It writes into a 0-d result, as it would not with NumPy's own; ours are values, too, which nobody may write.
REFUSED = {"stats.pearsonr(v, f).statistic": "a 0-d result is a value and cannot be written"}
SCIPY = """
stats.zscore(x); stats.skew(x); stats.kurtosis(x); stats.moment(x, 3); stats.describe(x).variance; stats.entropy(p)
stats.gmean(p); stats.hmean(p); stats.sem(x); stats.ttest_1samp(x, zero).pvalue; stats.ttest_ind(x, p).statistic
stats.pearsonr(v, f).statistic; stats.variation(p); stats.chisquare(p).statistic; stats.kstat(v); stats.tmean(v)
stats.jarque_bera(v).statistic; stats.bartlett(v, f).statistic; stats.circmean(v); stats.iqr(x, axis=0)
stats.linregress(v, f).slope; stats.trim_mean(x, 0.1); special.erf(x); special.expit(x); special.gammaln(p)
special.logsumexp(x, axis=0); special.softmax(x, axis=1); special.ndtr(x); special.xlogy(p, p); special.i0(x)
special.betainc(p, p, p / (1 + p)); special.rel_entr(p, p); special.chdtrc(p, p); signal.detrend(v)
signal.convolve(v, w); signal.fftconvolve(v, w); signal.lfilter(w, one, v); signal.hilbert(v); signal.resample(v, 16)
signal.savgol_filter(v, 5, 2); signal.correlate(v, w); signal.oaconvolve(v, w); signal.medfilt(v)
signal.decimate(v, 2); signal.welch(v)[1]; optimize.rosen(v); optimize.rosen_der(v); ndimage.gaussian_filter(x, 1.0)
ndimage.uniform_filter(x, 3); ndimage.sobel(x); ndimage.median_filter(x, 3); ndimage.rotate(x, 30.0)
ndimage.label(labels)[0]; ndimage.zoom(x, 2); ndimage.sum_labels(scores, labels, 1); ndimage.shift(x, 1); fft.fft(v)
fft.dct(v); fft.rfft(v); cluster.vq.whiten(x); cluster.vq.vq(x, square)[0]; cluster.hierarchy.linkage(x)
integrate.trapezoid(v); integrate.simpson(v); integrate.cumulative_simpson(v); spatial.distance.pdist(x)
differentiate.derivative(lambda z: z**2, v).df; spatial.transform.Rotation.from_quat(x[:, :4]).as_matrix()
""".strip().replace("\n", "; ").split("; ")
SKLEARN = """
decomposition.PCA(2, svd_solver="full").fit(x).transform(x)
decomposition.PCA(2, svd_solver="covariance_eigh").fit(x).transform(x)
decomposition.PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0).fit(x).transform(x)
linear_model.Ridge(solver="svd").fit(x, target).predict(x)
linear_model.RidgeCV().fit(x, target).predict(x)
linear_model.RidgeClassifier(solver="svd").fit(x, labels).predict(x)
linear_model.LogisticRegression(solver="lbfgs").fit(x, labels).predict_proba(x)
discriminant_analysis.LinearDiscriminantAnalysis().fit(x, labels).predict(x)
naive_bayes.GaussianNB().fit(x, labels).predict_proba(x)
mixture.GaussianMixture(2, init_params="random", random_state=0).fit(x).predict_proba(x)
kernel_approximation.Nystroem(kernel="rbf", n_components=5, random_state=0).fit(x).transform(x)
preprocessing.StandardScaler().fit(x).transform(x)
preprocessing.MinMaxScaler().fit(x).transform(x)
preprocessing.MaxAbsScaler().fit(x).transform(x)
preprocessing.Normalizer().fit(x).transform(x)
preprocessing.Binarizer().fit(x).transform(x)
preprocessing.PolynomialFeatures(2).fit(x).transform(x)
preprocessing.KernelCenterer().fit_transform(square @ square.T)
preprocessing.LabelEncoder().fit_transform(labels)
model_selection.train_test_split(x, labels, random_state=0)[0]
metrics.accuracy_score(labels, guesses)
metrics.f1_score(labels, guesses)
metrics.confusion_matrix(labels, guesses)
metrics.log_loss(labels, scores)
metrics.roc_auc_score(labels, scores)
metrics.r2_score(target, scores)
metrics.mean_squared_error(target, scores)
metrics.mean_absolute_error(target, scores)
metrics.mean_absolute_percentage_error(target, scores)
metrics.max_error(target, scores)
metrics.explained_variance_score(target, scores)
metrics.jaccard_score(labels, guesses)
metrics.balanced_accuracy_score(labels, guesses)
metrics.pairwise.rbf_kernel(x)
metrics.pairwise.cosine_similarity(x)
metrics.pairwise.euclidean_distances(x)
metrics.pairwise.chi2_kernel(p)
""".strip().splitlines()
SUBMODULES = {"spatial": ("spatial.distance", "spatial.transform"), "cluster": ("cluster.vq", "cluster.hierarchy"),
              "metrics": ("metrics.pairwise",)}


def modules(package, calls):
    """The modules that calls name."""
    names = {call.split(".")[0] for call in calls}
    for submodule in sorted({sub for name in names for sub in SUBMODULES.get(name, ())}):
        importlib.import_module(f"{package}.{submodule}")
    return {name: importlib.import_module(f"{package}.{name}") for name in names}


def fault(call, space):
    """What differs between a call on tensors and on arrays, or nothing."""
    wanted = eval(call, space | DATA)
    try:
        found = eval(call, space | {name: lnb.tensor(value) for name, value in DATA.items()})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(wanted, np.ndarray) and wanted.ndim and call not in HOSTED and not isinstance(found, lnb.Tensor):
        return f"the result is a {type(found).__name__}"
    if np.shape(found) != np.shape(wanted):
        return f"shape {np.shape(found)} for {np.shape(wanted)}"
    return "" if np.allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-10) else f"{found!r} for {wanted!r}"


def main():
    """All calls of the libraries that are installed."""
    warnings.simplefilter("ignore")
    space = modules("scipy", SCIPY)
    faults = {call: fault(call, space) for call in SCIPY}
    try:
        import sklearn
    except ImportError:
        return faults
    space = modules("sklearn", SKLEARN)
    with sklearn.config_context(array_api_dispatch=True):
        return faults | {call: fault(call, space) for call in SKLEARN}


if __name__ == "__main__":
    print(json.dumps(main()))
