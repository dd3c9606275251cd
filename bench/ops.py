"""Every op beside PyTorch, or NumPy where PyTorch has none, on the CPU, one thread each, in one process.

    python bench/ops.py [elementwise reductions scans sorting indexing]

Needs the extra `bench`. Writes bench/results/ops.md when all groups run. A peer named `np.` is NumPy's.
"""

from collections.abc import Callable
from functools import partial

import harness
import numpy as np
import tables
import torch
from harness import Group, compare

import lucid_nb as lnb

torch.set_num_threads(1)
lnb.set_num_threads(1)
F = torch.nn.functional
MILLION = 10 ** 6
draw = np.random.default_rng(0)
# name: the interval of each operand, then the peer where its name is another. One operand unless there are more.
ANY, POSITIVE, UNIT = (-3, 3), (0.1, 9), (-0.99, 0.99)
FLOATING: dict[str, tuple] = dict(
    add=(ANY, ANY), subtract=(ANY, ANY), multiply=(ANY, ANY), divide=(ANY, POSITIVE), negative=(ANY,), absolute=(ANY,),
    square=(ANY,), reciprocal=(POSITIVE,), sqrt=(POSITIVE,), cbrt=(POSITIVE, "np.cbrt"), sign=(ANY,),
    maximum=(ANY, ANY), minimum=(ANY, ANY), fmax=(ANY, ANY), fmin=(ANY, ANY), power=(POSITIVE, ANY, "pow"),
    floor=(ANY,), ceil=(ANY,), trunc=(ANY,), rint=(ANY, "round"), fmod=(ANY, POSITIVE), remainder=(ANY, POSITIVE),
    floor_divide=(ANY, POSITIVE), copysign=(ANY, ANY), nextafter=(ANY, ANY), signbit=(ANY,), isnan=(ANY,),
    isinf=(ANY,), isfinite=(ANY,), heaviside=(ANY, ANY), hypot=(ANY, ANY), nan_to_num=(ANY,), greater=(ANY, ANY),
    equal=(ANY, ANY, "eq"), logical_and=(ANY, ANY), logical_not=(ANY,), spacing=(ANY, "np.spacing"),
    exp=(ANY,), exp2=(ANY,), expm1=(ANY,), log=(POSITIVE,), log2=(POSITIVE,), log10=(POSITIVE,), log1p=(POSITIVE,),
    logaddexp=(ANY, ANY), logaddexp2=(ANY, ANY), sin=(ANY,), cos=(ANY,), tan=(ANY,), arcsin=(UNIT,), arccos=(UNIT,),
    arctan=(ANY,), arctan2=(ANY, ANY), sinh=(ANY,), cosh=(ANY,), tanh=(ANY,), arcsinh=(ANY,), arccosh=((1, 9),),
    arctanh=(UNIT,), degrees=(ANY, "rad2deg"), radians=(ANY, "deg2rad"), sinc=(ANY,),
    erf=(ANY,), erfc=(ANY,), erfinv=(UNIT,), lgamma=(POSITIVE,), digamma=(POSITIVE,), logit=((0.01, 0.99),),
    xlogy=(POSITIVE, POSITIVE), i0=(ANY,))
INTEGER: dict[str, tuple] = dict(
    add=((0, 99), (0, 99)), multiply=((0, 99), (0, 99)), floor_divide=((0, 9999), (1, 99)),
    remainder=((0, 9999), (1, 99)), bitwise_and=((0, 9999), (0, 9999)), bitwise_xor=((0, 9999), (0, 9999)),
    left_shift=((0, 99), (0, 9), "bitwise_left_shift"), maximum=((0, 9999), (0, 9999)), gcd=((1, 9999), (1, 9999)),
    absolute=((-99, 99),), greater=((0, 9999), (0, 9999)), bitwise_count=((0, 9999), "np.bitwise_count"))
ACTIVATIONS = ("relu relu6 leaky_relu elu celu selu gelu silu mish softsign hardtanh hardsigmoid hardswish hardshrink "
               "softshrink tanhshrink logsigmoid softplus sigmoid").split()
SHAPES = ((1024, 1024), (4096, 256), (128, 8192))


def pair(shape, low=-1.0, high=1.0, dtype="float32"):
    """The same numbers as a tensor of each library."""
    data = draw.integers(low, high, shape) if np.dtype(dtype).kind in "iu" else draw.uniform(low, high, shape)
    return lnb.tensor(data.astype(dtype)), torch.tensor(data.astype(dtype))


def peer_of(name: str, given: str) -> Callable:
    """The peer's function: PyTorch's of the same or the given name, or NumPy's."""
    if given.startswith("np."):
        return lambda *xs: getattr(np, given[3:])(*[x.numpy() for x in xs])
    name = given or name
    return getattr(torch, name, None) or getattr(torch.special, name, None) or getattr(F, name)


def ours_of(name: str) -> Callable:
    """Our function of this name."""
    return getattr(lnb, name, None) or getattr(lnb.nn.functional, name)


def rows(group: Group, table: dict[str, tuple], dtype: str) -> None:
    """A row for each function of the table."""
    for name, facts in table.items():
        spans, given = [f for f in facts if not isinstance(f, str)], next((f for f in facts if isinstance(f, str)), "")
        ours, theirs = zip(*[pair(MILLION, *span, dtype=dtype) for span in spans])
        compare(group, name, partial(ours_of(name), *ours), partial(peer_of(name, given), *theirs), seconds=0.02,
                rtol=1e-4, rounds=9)


def elementwise():
    """Single ops at a million elements."""
    groups = []
    for dtype in ("float32", "float64"):
        group = Group(f"1e6 {dtype}", "mean 0.95, worst 1.2")
        rows(group, FLOATING, dtype)
        groups.append(group)
        group = Group(f"activations, 1e6 {dtype}", "mean 0.95, worst 1.2")
        for name in ACTIVATIONS:
            x, tx = pair(MILLION, *ANY, dtype=dtype)
            compare(group, name, partial(ours_of(name), x), partial(getattr(F, name), tx), seconds=0.02, rtol=1e-4,
                    rounds=9)
        groups.append(group)
    for dtype in ("int32", "int64"):
        group = Group(f"1e6 {dtype}", "mean 0.95, worst 1.2")
        rows(group, INTEGER, dtype)
        groups.append(group)
    return groups


REDUCTIONS: dict[str, Callable] = dict(
    sum=torch.sum, mean=torch.mean, prod=torch.prod, max=torch.amax, min=torch.amin, argmax=torch.argmax,
    argmin=torch.argmin, var=partial(torch.var, correction=0), std=partial(torch.std, correction=0), any=torch.any,
    all=torch.all, count_nonzero=torch.count_nonzero, logsumexp=torch.logsumexp, nansum=torch.nansum,
    nanmean=torch.nanmean)


def reductions():
    """Reductions over the last and the first axis."""
    groups = []
    for dtype in ("float32", "float64"):
        group = Group(f"reductions {dtype}", "mean 0.7, worst 1.0")
        for shape in SHAPES:
            x, tx = pair(shape, 0.9, 1.1, dtype)
            for name, peer in REDUCTIONS.items():
                for axis in (1, 0):
                    compare(group, f"{name} {shape} axis {axis}", partial(getattr(lnb, name), x, axis=axis),
                            partial(peer, tx, dim=axis), seconds=0.01, rtol=1e-3, rounds=9)
            for axis in (1, 0):
                compare(group, f"norm {shape} axis {axis}", partial(lnb.linalg.vector_norm, x, axis=axis),
                        partial(torch.linalg.vector_norm, tx, dim=axis), seconds=0.01, rtol=1e-3, rounds=9)
        groups.append(group)
    return groups


SCANS: dict[str, Callable] = dict(cumsum=torch.cumsum, cumprod=torch.cumprod, logcumsumexp=torch.logcumsumexp,
                                  cummax=lambda x, dim: torch.cummax(x, dim)[0],
                                  cummin=lambda x, dim: torch.cummin(x, dim)[0])


def first(found):
    """The values, of a function that also gives indices."""
    return found[0] if isinstance(found, tuple) else found


def scans():
    """Scans along both axes."""
    group = Group("scans float32", "mean 0.8")
    for shape in ((1024, 1024), (MILLION,)):
        x, tx = pair(shape, 0.99, 1.01)
        for name, peer in SCANS.items():
            for axis in range(len(shape) - 1, -1, -1):
                compare(group, f"{name} {shape} axis {axis}",
                        lambda name=name, x=x, a=axis: first(getattr(lnb, name)(x, axis=a)),
                        partial(peer, tx, dim=axis), seconds=0.01, rtol=1e-3, rounds=9)
        compare(group, f"diff {shape}", partial(lnb.diff, x), partial(torch.diff, tx), seconds=0.01, rounds=9)
    return [group]


def better(label: str, group: Group, ours: Callable, *peers: Callable) -> None:
    """A row against the quicker of several peers."""
    times = [harness.measure(peer, peer, 3, 0.02)[1] for peer in peers]
    compare(group, label, ours, peers[times.index(min(times))], seconds=0.02, rounds=9)


def sorting():
    """Sorting, searching and counting, against the better of NumPy and PyTorch."""
    group = Group("sorting, searching, counting", "each at most 1.0")
    for shape in ((MILLION,), (1000, 1000)):
        for dtype in ("float32", "float64", "int64"):
            x, tx = pair(shape, 0, MILLION, dtype)
            a = tx.numpy()
            at = f"{dtype} {shape}"
            better(f"sort {at}", group, lambda x=x: lnb.sort(x), lambda a=a: np.sort(a), lambda t=tx: t.sort()[0])
            better(f"argsort {at}", group, lambda x=x, a=x: lnb.take_along_axis(a, lnb.argsort(x), -1),
                   lambda a=a: np.take_along_axis(a, np.argsort(a), -1),
                   lambda t=tx: t.take_along_dim(t.argsort(), -1))
            better(f"topk 10 {at}", group, lambda x=x: lnb.topk(x, 10)[0], lambda t=tx: t.topk(10)[0])
            better(f"median {at}", group, lambda x=x: lnb.median(x, axis=-1), lambda a=a: np.median(a, axis=-1))
    for dtype in ("float32", "int64"):
        x, tx = pair(MILLION, 0, 5000, dtype)
        a, edges = tx.numpy(), np.sort(draw.uniform(0, 5000, 1000)).astype(dtype)
        ours, theirs = lnb.tensor(edges), torch.tensor(edges)
        better(f"unique {dtype}", group, lambda x=x: lnb.unique(x), lambda a=a: np.unique(a), lambda t=tx: t.unique())
        better(f"searchsorted {dtype}", group, partial(lnb.searchsorted, ours, x), partial(np.searchsorted, edges, a),
               partial(torch.searchsorted, theirs, tx))
        better(f"histogram {dtype}", group, lambda x=x: lnb.histogram(x, 100)[0], lambda a=a: np.histogram(a, 100)[0])
        better(f"isin {dtype}", group, partial(lnb.isin, x, ours), partial(np.isin, a, edges))
    x, tx = pair(MILLION, 0, 1000, "int64")
    better("bincount", group, lambda: lnb.bincount(x), lambda: np.bincount(tx.numpy()), lambda: torch.bincount(tx))
    return [group]


def indexing():
    """Gathers, scatters and masks."""
    group = Group("gather, scatter, take, masks", "each at most 0.9")
    for columns in (1, 16, 256):
        count = MILLION // columns
        x, tx = pair((count, columns), 0.5, 1.5)
        index, tindex = pair(count, 0, count, "int64")
        mask, tmask = lnb.tensor(tindex.numpy() % 2 == 0), tindex % 2 == 0
        at = f"{count} rows of {columns}"
        compare(group, f"take {at}", lambda x=x, i=index: lnb.take(x, i, axis=0), lambda t=tx, i=tindex: t[i], rounds=9)
        compare(group, f"x[index] {at}", lambda x=x, i=index: x[i], lambda t=tx, i=tindex: t[i], rounds=9)
        compare(group, f"x[mask] {at}", lambda x=x, m=mask: x[m], lambda t=tx, m=tmask: t[m], rounds=9)
        wide, twide = index.reshape(-1, 1).broadcast_to(x.shape).copy(), tindex.reshape(-1, 1).expand(*tx.shape).clone()
        compare(group, f"gather {at}", lambda x=x, i=wide: lnb.gather(x, i, axis=0),
                lambda t=tx, i=twide: torch.gather(t, 0, i), rounds=9)
        compare(group, f"scatter_add {at}", lambda x=x, i=wide: lnb.scatter_add(x, i, x, axis=0),
                lambda t=tx, i=twide: torch.scatter_add(t, 0, i, t), rounds=9, rtol=1e-3)
        compare(group, f"index_add {at}", lambda x=x, i=index: lnb.index_add(x, i, x, axis=0),
                lambda t=tx, i=tindex: torch.index_add(t, 0, i, t), rounds=9, rtol=1e-3)
        compare(group, f"masked_fill {at}", lambda x=x, m=mask: lnb.masked_fill(x, m.reshape(-1, 1), 0.0),
                lambda t=tx, m=tmask: t.masked_fill(m.reshape(-1, 1), 0.0), rounds=9)
        compare(group, f"nonzero {at}", lambda m=mask: lnb.nonzero(m)[0], lambda m=tmask: torch.nonzero(m)[:, 0],
                rounds=9)
    return [group]


GROUPS = dict(elementwise=elementwise, reductions=reductions, scans=scans, sorting=sorting, indexing=indexing)


if __name__ == "__main__":
    tables.main("ops", "Ops beside PyTorch and NumPy on the CPU, one thread", GROUPS,
                dict(torch=torch.__version__, numpy=np.__version__, lucid_nb=lnb.__version__))
