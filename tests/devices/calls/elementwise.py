"""Every elementwise record, by what it says of itself; functions over records; constructors; random numbers."""

import numpy as np

import lucid_nb as lnb

from ...ops import oracles
from . import call, whole

M, V = (3, 4), (6,)


def of_record(name):
    """A call of a record within its samples."""
    op = oracles.records()[name]
    return call(lambda *tensors: oracles.call(name)(*tensors), *oracles.drawn(op, oracles.plain(op), 6))


CALLS = {name: of_record(name) for name in oracles.records()}
CALLS |= {f"{name} number": call(lambda x, name=name: getattr(lnb, name)(x, 0.0), M)
          for name in ("add", "multiply", "maximum", "greater", "equal", "divmod", "copysign")}
CALLS |= {
    "gelu": call(lambda x: lnb.gelu(x), M), "gelu tanh": call(lambda x: lnb.gelu(x, "tanh"), M),
    "power positive": call(lambda x, y: lnb.power(x * x + 1, y), M, M), "power number": call(lambda x: x ** 2, M),
    "polygamma": call(lambda x: lnb.polygamma(1, x * x + 1), M),
    "leaky_relu": call(lambda x: lnb.leaky_relu(x, 0.1), M),
    "elu": call(lambda x: lnb.elu(x), M), "celu": call(lambda x: lnb.celu(x, 2.0), M),
    "hardtanh": call(lambda x: lnb.hardtanh(x), M), "hardshrink": call(lambda x: lnb.hardshrink(x), M),
    "softshrink": call(lambda x: lnb.softshrink(x), M), "threshold": call(lambda x: lnb.threshold(x, 0.1, -1.0), M),
    "round": call(lambda x: lnb.round(x, 1), M), "clip": call(lambda x: lnb.clip(x, -0.5, 0.5), M),
    "clip tensors": call(lambda x, y: lnb.clip(x, -abs(y), abs(y)), M, (4,)),
    "nan_to_num": call(lambda x: lnb.nan_to_num(x, nan=2.0), np.array([1, np.nan, np.inf], "float32")),
    "softmax": call(lambda x: lnb.softmax(x), M), "log_softmax": call(lambda x: lnb.log_softmax(x, 0), M),
    "cross_entropy": call(lambda x, t: lnb.cross_entropy(x, t), (5, 4), whole(4, 5)),
    "cross_entropy none": call(lambda x, t: lnb.cross_entropy(x, t, reduction="none"), (2, 4, 3), whole(4, 2, 3)),

    "matmul": call(lambda a, b: lnb.matmul(a, b), M, (4, 2)), "matmul stack": call(
        lambda a, b: lnb.matmul(a, b), (2, 3, 4), (2, 4, 2)),
    "matmul integers": call(lambda a, b: lnb.matmul(a, b), whole(5, 3, 4), whole(5, 4, 2)),
    "matmul complex": call(lambda a, b: lnb.matmul(a + 1j * a, b), M, (4, 2)),
    "dot": call(lambda a, b: lnb.dot(a, b), M, (4,)), "inner": call(lambda a, b: lnb.inner(a, b), V, V),
    "tensordot": call(lambda a, b: lnb.tensordot(a, b, 1), M, (4, 2)),
    "outer": call(lambda a, b: lnb.outer(a, b), V, (2,)),
    "vdot": call(lambda a, b: lnb.vdot(a, b), V, V), "vecdot": call(lambda a, b: lnb.vecdot(a, b), M, M),
    "matvec": call(lambda a, b: lnb.matvec(a, b), M, (4,)), "vecmat": call(lambda a, b: lnb.vecmat(a, b), (3,), M),
    "einsum": call(lambda a, b: lnb.einsum("ij,kj->ki", a, b), M, (2, 4)),
    "einsum diagonal": call(lambda a: lnb.einsum("ii->i", a), (3, 3)),
    "kron": call(lambda a, b: lnb.kron(a, b), (2, 2), (2,)), "cross": call(lambda a, b: lnb.cross(a, b), (2, 3), (3,)),
    "convolve": call(lambda a, b: lnb.convolve(a, b), V, (3,)),
    "correlate": call(lambda a, b: lnb.correlate(a, b, "same"), V, (3,)),
    "linalg.cross": call(lambda a, b: lnb.linalg.cross(a, b), (2, 3), (2, 3)),
    "linalg.diagonal": call(lambda a: lnb.linalg.diagonal(a), (2, 3, 3)),
    "linalg.trace": call(lambda a: lnb.linalg.trace(a), (2, 3, 3)), "linalg.outer": call(
        lambda a, b: lnb.linalg.outer(a, b), V, (2,)),
    "linalg.norm": call(lambda a: lnb.linalg.norm(a), M), "linalg.norm nuclear": call(
        lambda a: lnb.linalg.norm(a, "nuc"), (3, 3)),
    "linalg.matrix_norm": call(lambda a: lnb.linalg.matrix_norm(a), (2, 3, 3)),
    "linalg.matrix_norm largest": call(lambda a: lnb.linalg.matrix_norm(a, ord=2), (2, 3, 3)),
    "linalg.vector_norm": call(lambda a: lnb.linalg.vector_norm(a, axis=1, ord=3), M),
    "linalg.matrix_power": call(lambda a: lnb.linalg.matrix_power(a, 3), (3, 3)),
    "linalg.matrix_power none": call(lambda a: lnb.linalg.matrix_power(a, 0), (3, 3)),
    "linalg.multi_dot": call(lambda a, b, c: lnb.linalg.multi_dot([a, b, c]), M, (4, 2), (2, 3)),
    "einops.rearrange": call(lambda x: lnb.einops.rearrange(x, "a (b c) -> (b a) c", b=2), M),
    "einops.reduce": call(lambda x: lnb.einops.reduce(x, "a b -> a", "mean"), M),
    "einops.repeat": call(lambda x: lnb.einops.repeat(x, "a b -> a (b c)", c=2), M),
    "einops.einsum": call(lambda x, y: lnb.einops.einsum(x, y, "a b, b c -> a c"), M, (4, 2)),
    "einops.pack": call(lambda x, y: lnb.einops.pack([x, y], "a *")[0], M, (3, 2, 2)),
    "einops.unpack": call(lambda x: lnb.einops.unpack(x, [(1,), (3,)], "a *"), M),

    "tensor": call(lambda x: lnb.tensor(x) * x, M), "tensor numbers": call(
        lambda x: x * lnb.tensor([1.0, 2.0, 3.0, 4.0], dtype="float32", device=x.device), M),
    "tensor of tensors": call(lambda x: lnb.tensor([x.detach()[0], x.detach()[1]], device=x.device), M),
    "asarray": call(lambda x: lnb.asarray(x) * 2, M), "array": call(lambda x: lnb.array(x, ndmin=3) * 1, M),
    "ascontiguousarray": call(lambda x: lnb.ascontiguousarray(x.T), M),
    "asfortranarray": call(lambda x: lnb.asfortranarray(x) * 1, M),
    "asarray_chkfinite": call(lambda x: lnb.asarray_chkfinite(x) * 1, M),
    "from_dlpack": call(lambda x: lnb.from_dlpack(x.detach()) * 1, M),
    "vander": call(lambda x: lnb.vander(x, 3), V), "tril_indices_from": call(lambda x: lnb.tril_indices_from(x), M),
    "triu_indices_from": call(lambda x: lnb.triu_indices_from(x), M),
    "diag_indices_from": call(lambda x: lnb.diag_indices_from(x), (3, 3)),
    "linspace": call(lambda x: lnb.linspace(x[0], x[1], 4), M), "geomspace": call(
        lambda x: lnb.geomspace(x[0] ** 2 + 1, x[1] ** 2 + 1, 4), M),
    "logspace": call(lambda x: lnb.logspace(x[0], x[1], 4), M),
    "special.betaln": call(lambda x, y: lnb.special.betaln(x * x + 1, y * y + 1), V, V),
    "special.zeta": call(lambda x, y: lnb.special.zeta(x * x + 2, y * y + 1), V, V),
}
# What is made out of nothing; x names the device.
MADE = {
    "zeros": lambda place: lnb.zeros((2, 3), device=place), "ones": lambda place: lnb.ones(2, 3, device=place),
    "empty": lambda place: lnb.empty(4, device=place) * 0 if place == "cpu" else lnb.zeros(4, device=place),
    "full": lambda place: lnb.full((2, 3), 4.0, device=place), "eye": lambda place: lnb.eye(3, 4, k=1, device=place),
    "identity": lambda place: lnb.identity(3, device=place), "tri": lambda place: lnb.tri(3, 4, device=place),
    "arange": lambda place: lnb.arange(1.0, 7.0, 2.0, device=place),
    "linspace numbers": lambda place: lnb.linspace(0, 1, 5, device=place),
    "logspace numbers": lambda place: lnb.logspace(0, 1, 5, device=place),
    "geomspace numbers": lambda place: lnb.geomspace(1, 8, 4, device=place),
    "indices": lambda place: lnb.indices((2, 3), device=place),
    "tril_indices": lambda place: lnb.tril_indices(3, device=place),
    "triu_indices": lambda place: lnb.triu_indices(3, device=place),
    "diag_indices": lambda place: lnb.diag_indices(3, device=place),
    "mask_indices": lambda place: lnb.mask_indices(3, lnb.triu, device=place),
    "frombuffer": lambda place: lnb.frombuffer(b"\1\2\3", "uint8", device=place),
    "fromstring": lambda place: lnb.fromstring("1 2 3", sep=" ", device=place),
    "fromiter": lambda place: lnb.fromiter(range(4), "float32", device=place),
    "fromfunction": lambda place: lnb.fromfunction(lambda i, j: i + 2 * j, (2, 3), device=place),
}
CALLS |= {name: call(lambda x, make=make: make(x.device), (1,)) for name, make in MADE.items()}
CALLS |= {f"{kind}_like": call(lambda x, kind=kind: getattr(lnb, f"{kind}_like")(x, *[2.0][:kind == "full"]), M)
          for kind in ("zeros", "ones", "full")}
CALLS["empty_like"] = call(lambda x: lnb.empty_like(x).shape and 0 * x, M)
