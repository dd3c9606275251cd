"""Movement, joining, splitting, indexing, and writes."""

import lucid_nb as lnb

from . import call, whole

M, V, C = (3, 4), (6,), (2, 3, 4)


def written(x, change):
    """A copy after a write."""
    y = 1 * x
    change(y)
    return y


CALLS = {
    "reshape": call(lambda x: lnb.reshape(x, 4, 3), M),
    "reshape F": call(lambda x: lnb.reshape(x, (2, 6), order="F"), M),
    "permute_dims": call(lambda x: lnb.permute_dims(x, (2, 0, 1)), C), "astype": call(
        lambda x: lnb.astype(x, "float64") * 2, M),
    "astype integers": call(lambda x: (3 * x).astype("int32"), M), "copy": call(lambda x: lnb.copy(x), M),
    "Tensor.copy": call(lambda x: x.T.copy(), M),
    "broadcast_to": call(lambda x: lnb.broadcast_to(x, (2, 3, 4)), M),
    "swapaxes": call(lambda x: lnb.swapaxes(x, 0, 2), C), "moveaxis": call(lambda x: lnb.moveaxis(x, 0, -1), C),
    "rollaxis": call(lambda x: lnb.rollaxis(x, 2), C), "matrix_transpose": call(lambda x: lnb.matrix_transpose(x), C),
    "squeeze": call(lambda x: lnb.squeeze(x), (1, 3, 1)), "expand_dims": call(lambda x: lnb.expand_dims(x, 1), M),
    "unsqueeze": call(lambda x: lnb.unsqueeze(x, 0), M), "atleast_1d": call(lambda x: lnb.atleast_1d(x), ()),
    "atleast_2d": call(lambda x: lnb.atleast_2d(x), V), "atleast_3d": call(lambda x: lnb.atleast_3d(x), M),
    "ravel": call(lambda x: lnb.ravel(x.T), M), "flatten": call(lambda x: lnb.flatten(x, 1), C),
    "flip": call(lambda x: lnb.flip(x, 1), M), "fliplr": call(lambda x: lnb.fliplr(x), M),
    "flipud": call(lambda x: lnb.flipud(x), M), "rot90": call(lambda x: lnb.rot90(x), M),
    "roll": call(lambda x: lnb.roll(x, 1, 1), M), "roll all": call(lambda x: lnb.roll(x, 5), M),
    "tile": call(lambda x: lnb.tile(x, (2, 1)), M), "repeat": call(lambda x: lnb.repeat(x, 2, 1), M),
    "repeat each": call(lambda x, i: lnb.repeat(x, i, 0), M, whole(3, 3)),
    "resize": call(lambda x: lnb.resize(x, (5, 4)), M), "pad": call(lambda x: lnb.pad(x, 1), M),
    "pad constant": call(lambda x: lnb.pad(x, ((1, 0), (0, 2)), constant_values=2.0), M),
    "pad reflect": call(lambda x: lnb.pad(x, 1, "reflect"), M), "pad wrap": call(lambda x: lnb.pad(x, 2, "wrap"), M),
    "pad mean": call(lambda x: lnb.pad(x, 1, "mean"), M), "pad ramp": call(lambda x: lnb.pad(x, 1, "linear_ramp"), M),
    "diagonal": call(lambda x: lnb.diagonal(x), M), "diag": call(lambda x: lnb.diag(x, 1), V),
    "diagflat": call(lambda x: lnb.diagflat(x), (2, 2)), "diag_embed": call(lambda x: lnb.diag_embed(x), M),
    "trace": call(lambda x: lnb.trace(x), M), "tril": call(lambda x: lnb.tril(x), M),
    "triu": call(lambda x: lnb.triu(x, 1), M), "delete": call(lambda x: lnb.delete(x, 1, 0), M),
    "delete several": call(lambda x: lnb.delete(x, [0, 2], 1), M),
    "insert": call(lambda x: lnb.insert(x, 1, 2.0, 0), M),
    "insert several": call(lambda x, v: lnb.insert(x, [1, 3], v, 1), M, (3, 2)),
    "concat": call(lambda x, y: lnb.concat([x, y], 1), M, (3, 2)),
    "stack": call(lambda x, y: lnb.stack([x, y], 1), M, M),
    "hstack": call(lambda x, y: lnb.hstack([x, y]), M, M), "vstack": call(lambda x, y: lnb.vstack([x, y]), M, M),
    "dstack": call(lambda x, y: lnb.dstack([x, y]), M, M),
    "column_stack": call(lambda x, y: lnb.column_stack([x, y]), V, V),
    "append": call(lambda x, y: lnb.append(x, y, 0), M, M),
    "block": call(lambda x, y: lnb.block([[x, y], [y, x]]), M, M),
    "broadcast_arrays": call(lambda x, y: lnb.broadcast_arrays(x, y), M, (4,)),
    "meshgrid": call(lambda x, y: lnb.meshgrid(x, y), (3,), (2,)),
    "split": call(lambda x: lnb.split(x, 2, 1), M), "array_split": call(lambda x: lnb.array_split(x, 4), V),
    "hsplit": call(lambda x: lnb.hsplit(x, [1, 3]), M), "vsplit": call(lambda x: lnb.vsplit(x, 3), M),
    "dsplit": call(lambda x: lnb.dsplit(x, 2), C), "chunk": call(lambda x: lnb.chunk(x, 3, 1), M),
    "unstack": call(lambda x: lnb.unstack(x), M), "real": call(lambda x, y: lnb.real(x + 1j * y), V, V),
    "imag": call(lambda x, y: lnb.imag(x + 1j * y), V, V), "angle": call(lambda x, y: lnb.angle(x + 1j * y), V, V),

    "take": call(lambda x, i: lnb.take(x, i, 1), M, whole(4, 3)), "take flat": call(
        lambda x, i: lnb.take(x, i, mode="wrap"), M, whole(20, 3)),
    "index_select": call(lambda x, i: lnb.index_select(x, i, 1), M, whole(4, 3)),
    "take_along_axis": call(lambda x, i: lnb.take_along_axis(x, i, 1), M, whole(4, 3, 2)),
    "gather": call(lambda x, i: lnb.gather(x, i, 0), M, whole(3, 2, 4)),
    "scatter": call(lambda x, i, s: lnb.scatter(x, i, s, 0), M, whole(3, 2, 4), (2, 4)),
    "scatter_add": call(lambda x, i, s: lnb.scatter_add(x, i, s, 0), M, whole(3, 2, 4), (2, 4)),
    "scatter_reduce": call(lambda x, i, s: lnb.scatter_reduce(x, i, s, 0, reduce="amax"), M, whole(3, 2, 4), (2, 4)),
    "scatter_reduce prod": call(lambda x, i, s: lnb.scatter_reduce(x, i, s, 0, reduce="prod"), M, whole(3, 2, 4),
        (2, 4)),
    "scatter_reduce mean": call(lambda x, i, s: lnb.scatter_reduce(x, i, s, 0, reduce="mean"), M, whole(3, 2, 4),
        (2, 4)),
    "index_add": call(lambda x, i, s: lnb.index_add(x, i, s), M, whole(3, 2), (2, 4)),
    "index_put": call(lambda x, i, s: lnb.index_put(x, (i,), s), M, whole(3, 2), (2, 4)),
    "index_put added": call(lambda x, i, s: lnb.index_put(x, (i,), s, True), M, whole(3, 2), (2, 4)),
    "put": call(lambda x, i, v: written(x, lambda y: lnb.put(y, i, v)), M, whole(12, 3), (3,)),
    "put_along_axis": call(lambda x, i, v: written(x, lambda y: lnb.put_along_axis(y, i, v, 1)), M, whole(4, 3, 1),
        (3, 1)),
    "nonzero": call(lambda x: lnb.nonzero(x > 0), M), "argwhere": call(lambda x: lnb.argwhere(x > 0), M),
    "flatnonzero": call(lambda x: lnb.flatnonzero(x > 0), M),
    "compress": call(lambda x: lnb.compress(x[:, 0] > 0, x, 0), M), "extract": call(lambda x: lnb.extract(x > 0, x), M),
    "masked_select": call(lambda x: lnb.masked_select(x, x > 0), M),
    "masked_fill": call(lambda x: lnb.masked_fill(x, x > 0, 1.0), M),
    "place": call(lambda x, v: written(x, lambda y: lnb.place(y, x > 0, v)), M, (2,)),
    "putmask": call(lambda x, v: written(x, lambda y: lnb.putmask(y, x > 0, v)), M, (3, 4)),
    "copyto": call(lambda x, v: written(x, lambda y: lnb.copyto(y, v, where=x > 0)), M, (4,)),
    "fill_diagonal": call(lambda x: written(x, lambda y: lnb.fill_diagonal(y, 2.0)), M),
    "choose": call(lambda i, a, b: lnb.choose(i, [a, b]), whole(2, 6), V, V),
    "select": call(lambda x: lnb.select([x > 0.5, x < 0], [x, 2 * x], 1.0), M),
    "piecewise": call(lambda x: lnb.piecewise(x, [x > 0], [lambda y: 2 * y, lambda y: -y]), M),
    "where broadcast": call(lambda x, y: lnb.where(x > 0, x, y), M, (4,)),
    "where places": call(lambda x: lnb.where(x > 0), M), "one_hot": call(lambda i: lnb.one_hot(i, 4), whole(4, 3)),
    "one_hot counted": call(lambda i: lnb.one_hot(i), whole(4, 3)),
    "unravel_index": call(lambda i: lnb.unravel_index(i, (3, 4)), whole(12, 5)),
    "ravel_multi_index": call(lambda i, j: lnb.ravel_multi_index((i, j), (3, 4)), whole(3, 5), whole(4, 5)),
    "ix_": call(lambda i, j: lnb.ix_(i, j), whole(3, 2), whole(4, 3)), "ix_ mask": call(
        lambda x: lnb.ix_(x > 0), V),
    "unfold": call(lambda x: lnb.unfold(x, 2), (1, 2, 3, 3)), "fold": call(
        lambda x: lnb.fold(x, (3, 3), 2), (1, 8, 4)),
    "lib.stride_tricks.as_strided": call(lambda x: lnb.lib.stride_tricks.as_strided(x, (2, 3), (4, 4)), V),
    "lib.stride_tricks.sliding_window_view": call(lambda x: lnb.lib.stride_tricks.sliding_window_view(x, 2), V),

    "Tensor.__getitem__": call(lambda x: x[1:, ::-1], M), "Tensor.__getitem__ element": call(lambda x: x[1, 2], M),
    "Tensor.__getitem__ integers": call(lambda x, i: x[i], M, whole(3, 2)),
    "Tensor.__getitem__ two": call(lambda x, i, j: x[i, :, j], C, whole(2, 3), whole(4, 3)),
    "Tensor.__getitem__ mask": call(lambda x: x[x > 0], M),
    "Tensor.__getitem__ rows": call(lambda x: x[x[:, 0] > 0], M),
    "Tensor.__setitem__": call(lambda x, v: written(x, lambda y: y.__setitem__((slice(1, None), 2), v)), M, (2,)),
    "Tensor.__setitem__ number": call(lambda x: written(x, lambda y: y.__setitem__(0, 3.0)), M),
    "Tensor.__setitem__ integers": call(lambda x, i, v: written(x, lambda y: y.__setitem__(i, v)), M, whole(3, 2),
        (2, 4)),
    "Tensor.__setitem__ mask": call(lambda x: written(x, lambda y: y.__setitem__(x > 0, 0)), M),
    "Tensor.__setitem__ places of mask": call(lambda x: written(x, lambda y: y.__setitem__(x > 0, x[x > 0] * 2)), M),
    "Tensor.fill": call(lambda x: written(x, lambda y: y.fill(2)), M), "Tensor.__contains__": call(
        lambda x: lnb.asarray(3.0 in x), M),
    "Tensor.permute": call(lambda x: x.permute(1, 0), M), "Tensor.view": call(lambda x: x.view("int32"), M),
    "Tensor.T": call(lambda x: x.T, M), "Tensor.mT": call(lambda x: x.mT, C), "Tensor.detach": call(
        lambda x: x.detach(), M),
    "Tensor.flat": call(lambda x: x.flat[3], M), "Tensor.to": call(lambda x: x.to(x.device) * 1, M),
    "Tensor.to_device": call(lambda x: x.to_device(x.device) * 1, M), "Tensor.__iter__": call(lambda x: list(x), M),
    "Tensor.__round__": call(lambda x: round(x, 1), M), "Tensor.__matmul__": call(lambda x, y: x @ y, M, (4, 2)),
    "Tensor.__rmatmul__": call(lambda x: [[1.0, 2.0, 3.0]] @ x, M),
    "Tensor.__imatmul__": call(lambda x, y: written(x, lambda z: z.__imatmul__(y)), M, (4, 4)),
}
PAIRS = "add sub mul truediv floordiv mod pow"
CALLS |= {f"Tensor.__r{name}__": call(lambda x, name=name: getattr(x * x + 1, f"__r{name}__")(2.0), M)
          for name in PAIRS.split()}
CALLS |= {f"Tensor.__i{name}__": call(lambda x, y, name=name: written(x * x + 1, lambda z: getattr(
    z, f"__i{name}__")(y * y + 1)), M, M) for name in PAIRS.split()}
CALLS |= {f"Tensor.__{kind}{name}__": call(lambda i, j, kind=kind, name=name: written(i, lambda z: getattr(
    z, f"__{kind}{name}__")(j)), whole(8, 5), whole(4, 5))
    for name in "and or xor lshift rshift".split() for kind in "ri"}
CALLS["Tensor.__rdivmod__"] = call(lambda x: divmod(2.0, x), M)
