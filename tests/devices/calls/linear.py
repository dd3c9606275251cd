"""Linear algebra, Fourier transforms and polynomials."""

import lucid_nb as lnb

from . import call

S, V, M, ROWS = (3, 3), (6,), (3, 4), (2, 6)


def definite(a):
    """Symmetric, and positive."""
    return a @ a.mT + 3 * lnb.eye(3, dtype=a.dtype, device=a.device)


def even(a):
    """Symmetric."""
    return (a + a.mT) / 2


CALLS = {f"linalg.{name}": call(lambda a, name=name: getattr(lnb.linalg, name)(definite(a)), S)
         for name in "cholesky cond det eigvalsh expm inv matrix_rank pinv slogdet svdvals".split()}
CALLS |= {
    "linalg.eigh": call(lambda a: lnb.linalg.eigh(even(a))[0], S), "linalg.eig": call(
        lambda a: lnb.abs(lnb.linalg.eig(a.detach())[0]), S),
    "linalg.eigvals": call(lambda a: lnb.abs(lnb.linalg.eigvals(a.detach())), S),
    "linalg.lstsq": call(lambda a, b: lnb.linalg.lstsq(a, b, None)[0], (4, 3), (4,)),
    "linalg.lu": call(lambda a: lnb.linalg.lu(a), S), "linalg.qr": call(lambda a: tuple(lnb.linalg.qr(a)), (4, 3)),
    "linalg.solve": call(lambda a, b: lnb.linalg.solve(definite(a), b), S, (3,)),
    "linalg.solve_triangular": call(lambda a, b: lnb.linalg.solve_triangular(definite(a), b), S, (3,)),
    "linalg.svd": call(lambda a: lnb.linalg.svd(a)[1], M), "linalg.tensorinv": call(
        lambda a: lnb.linalg.tensorinv(definite(a), 1), S),
    "linalg.tensorsolve": call(lambda a, b: lnb.linalg.tensorsolve(definite(a), b), S, (3,)),
}


def sizes(z):
    """Real and imaginary parts, where there are any."""
    return (z.real, z.imag) if z.dtype.kind == "c" else z


CALLS |= {f"fft.{name}": call(lambda x, name=name: sizes(getattr(lnb.fft, name)(x)), ROWS)
          for name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()}
CALLS |= {f"fft.{name}": call(lambda x, name=name: getattr(lnb.fft, name)(x), V) for name in ("fftshift", "ifftshift")}
CALLS |= {f"fft.{name}": call(lambda x, name=name: getattr(lnb.fft, name)(5, 0.5, device=x.device), (1,))
          for name in ("fftfreq", "rfftfreq")}
CALLS |= {name: call(lambda p, q, name=name: getattr(lnb, name)(p, q), (4,), (3,)) for name in
          "polyadd polysub polymul polydiv polyval".split()}
CALLS |= {
    "poly": call(lambda z: lnb.poly(z), (3,)), "polyder": call(lambda p: lnb.polyder(p), (4,)),
    "polyint": call(lambda p: lnb.polyint(p), (4,)), "polyfit": call(lambda x, y: lnb.polyfit(x, y, 1), V, V),
    "roots": call(lambda p: lnb.abs(lnb.roots(p.detach())), (4,)), "require": call(lambda x: lnb.require(x) * 1, M),
}
