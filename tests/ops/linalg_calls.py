"""Calls of linear algebra for tests: what is called, on what operands, and how it is differentiated.

A gradient of vectors exists for functions that see neither signs nor phases nor a choice among equals: `smooth` makes
such a one of the results where they are not determined.
"""

from typing import NamedTuple

import numpy as np

import lucid_nb as lnb

L = lnb.linalg
SQUARE, TALL, WIDE = (3, 3), (4, 3), (3, 4)


def hermitian(x):
    """Matrices equal to their conjugate transposes."""
    return x + x.swapaxes(-1, -2).conj()


def positive(x):
    """Hermitian matrices with positive eigenvalues."""
    return x @ x.swapaxes(-1, -2).conj() + np.eye(x.shape[-1], dtype=x.dtype)


class Call(NamedTuple):
    """`numpy(module, *operands)` is called with numpy.linalg, SciPy's or ours; `shapes` are those of the operands."""

    call: object
    shapes: tuple
    smooth: object = None       # of the call's results, where gradients are asked for
    made: object = None         # what operands are made of random numbers by


def sizes(*results):
    """Absolute values."""
    return tuple([abs(x) for x in results])


def projectors(u, s, vh):
    """Of an SVD with completed vectors, the projections on what is beyond the singular vectors, and their sizes."""
    rank = s.shape[-1]
    v = vh.mT.conj()
    spans = [x[..., rank:] @ x[..., rank:].mT.conj() for x in (u, v)]
    return (*spans, s, abs(u[..., :rank]), abs(v[..., :rank]))


def completed(q, r):
    """Of a complete QR, the projection on the added columns, and the rest."""
    rank = min(r.shape[-2:])
    return q[..., rank:] @ q[..., rank:].mT.conj(), q[..., :rank], r


def every(names, call, **options):
    """{"name of the shape": Call} for square, tall and wide matrices."""
    shapes = {"square": SQUARE, "tall": TALL, "wide": WIDE}
    return {f"{names} {kind}": Call(call, (shape,), **options) for kind, shape in shapes.items()}


CALLS = {
    "inv": Call(lambda m, a: m.inv(a), (SQUARE,)),
    "solve": Call(lambda m, a, b: m.solve(a, b), (SQUARE, (3, 2))),
    "solve vector": Call(lambda m, a, b: m.solve(a, b), (SQUARE, (3,))),
    "solve batch": Call(lambda m, a, b: m.solve(a, b), ((2, 1, 2, 2), (3, 2, 1))),
    "det": Call(lambda m, a: m.det(a), ((2, 3, 3),)),
    "det one": Call(lambda m, a: m.det(a), ((1, 1),)),
    "slogdet": Call(lambda m, a: tuple(m.slogdet(a)), ((2, 3, 3),)),
    "cholesky": Call(lambda m, a: m.cholesky(a), (SQUARE,), made=positive),
    "cholesky upper": Call(lambda m, a: m.cholesky(a, upper=True), ((2, 2, 2),), made=positive),
    **every("qr", lambda m, a: tuple(m.qr(a))),
    **every("qr r", lambda m, a: m.qr(a, mode="r")),
    **every("qr complete", lambda m, a: tuple(m.qr(a, "complete")), smooth=completed),
    **every("svd", lambda m, a: tuple(m.svd(a, full_matrices=False)), smooth=sizes),
    **every("svd full", lambda m, a: tuple(m.svd(a)), smooth=projectors),
    **every("svd values", lambda m, a: m.svd(a, compute_uv=False)),
    **every("svdvals", lambda m, a: m.svdvals(a)),
    "svd hermitian": Call(lambda m, a: tuple(m.svd(a, hermitian=True)), (SQUARE,), sizes, hermitian),
    "svd values hermitian": Call(lambda m, a: m.svd(a, compute_uv=False, hermitian=True), (SQUARE,), None, hermitian),
    "eig": Call(lambda m, a: tuple(m.eig(a)), (SQUARE,), sizes),
    "eigvals": Call(lambda m, a: m.eigvals(a), ((2, 3, 3),)),
    "eigh": Call(lambda m, a: tuple(m.eigh(a)), ((2, 3, 3),), sizes, hermitian),
    "eigh upper": Call(lambda m, a: tuple(m.eigh(a, "U")), (SQUARE,), sizes, hermitian),
    "eigvalsh": Call(lambda m, a: m.eigvalsh(a), ((2, 3, 3),), None, hermitian),
    "eigvalsh upper": Call(lambda m, a: m.eigvalsh(a, UPLO="u"), (SQUARE,), None, hermitian),
    **every("pinv", lambda m, a: m.pinv(a)),
    "pinv rtol": Call(lambda m, a: m.pinv(a, rtol=1e-6), (TALL,)),
    "pinv hermitian": Call(lambda m, a: m.pinv(a, hermitian=True), (SQUARE,), None, hermitian),
    **{f"lstsq {kind}": Call(lambda m, a, b: tuple(m.lstsq(a, b)), (shape, (shape[0], 2)))
       for kind, shape in (("square", SQUARE), ("tall", TALL), ("wide", WIDE))},
    "lstsq vector": Call(lambda m, a, b: tuple(m.lstsq(a, b, rcond=None)), (TALL, (4,))),
    **every("cond", lambda m, a: m.cond(a)),
    **{f"cond {p}": Call(lambda m, a, p=p: m.cond(a, p), (SQUARE,)) for p in (-2, 1, -1, np.inf, "fro", "nuc")},
    **{f"matrix_power {n}": Call(lambda m, a, n=n: m.matrix_power(a, n), ((2, 3, 3),)) for n in (0, 1, 3, -2)},
    **every("matrix_rank", lambda m, a: m.matrix_rank(a)),
    "tensorsolve": Call(lambda m, a, b: m.tensorsolve(a, b), ((2, 3, 6), (2, 3))),
    "tensorsolve axes": Call(lambda m, a, b: m.tensorsolve(a, b, axes=(0,)), ((6, 2, 3), (2, 3))),
    "tensorinv": Call(lambda m, a: m.tensorinv(a, ind=1), ((4, 2, 2),)),
}
# Of SciPy.
FURTHER = {
    "expm": Call(lambda m, a: m.expm(a), ((2, 2, 2),)),
    **every("lu", lambda m, a: tuple(m.lu(a))),
    **every("lu permuted", lambda m, a: tuple(m.lu(a, permute_l=True))),
    **every("lu rows", lambda m, a: tuple(m.lu(a, p_indices=True))),
    **{f"solve_triangular {trans} {'lower' if lower else 'upper'} {'unit' if unit else 'any'}": Call(
        lambda m, a, b, o=(trans, lower, unit): m.solve_triangular(a, b, *o), (SQUARE, (3, 2)), None,
        lambda x: x + 3 * np.eye(*x.shape[-2:], dtype=x.dtype)) for trans in (0, "T", "C") for lower in (False, True)
        for unit in (False, True)},
    "solve_triangular vector": Call(lambda m, a, b: m.solve_triangular(a, b, lower=True), (SQUARE, (3,))),
}
EVERY = CALLS | FURTHER


def numbers(shape, dtype, seed=0):
    """Random numbers; whole ones in integer dtypes."""
    rng = np.random.default_rng(seed)
    x = 2 * rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 2j * rng.standard_normal(shape)
    return (10 * x if np.dtype(dtype).kind == "i" else x).astype(dtype)


def operands(name, dtype, seed=0):
    """The operands of a call."""
    made = EVERY[name].made or (lambda x: x)
    given = [numbers(shape, dtype, seed + place) for place, shape in enumerate(EVERY[name].shapes)]
    return [made(given[0]), *given[1:]]


def differentiated(name):
    """The function of a call whose gradients exist: of Hermitian matrices, of any matrix by its Hermitian part."""
    call, _, smooth, made = EVERY[name]
    is_hermitian = made in (hermitian, positive)

    def function(a, *rest):
        a = (a + a.mT.conj()) / 2 if is_hermitian else a
        found = call(L, a, *rest)
        return smooth(*found) if smooth else found
    return function


# One of each kind, where all would be slow.
FEW = ("inv", "solve", "det", "slogdet", "cholesky", "qr tall", "svd wide", "svdvals tall", "eigh", "eigvalsh",
       "pinv tall", "lstsq tall", "lu wide", "solve_triangular C lower unit", "expm", "cond -2", "matrix_power -2")
