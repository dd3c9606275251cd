"""Calls of functions on one example, for the tests of vmap: what is called, on what shapes, and where examples lie."""

from typing import NamedTuple

import numpy as np

import lucid_nb as lnb

F = lnb.nn.functional
SIZE = 3                                   # examples


class Case(NamedTuple):
    """`shapes`: of one example's arguments; an integer array is given by (high, *shape) in a list. `axes`: in_axes."""

    call: object
    shapes: tuple
    axes: tuple


def case(call, *shapes, shared=()):
    """A case whose arguments have their examples first, but for the shared ones."""
    return Case(call, shapes, tuple(None if number in shared else 0 for number in range(len(shapes))))


def classes(high, *shape):
    """Integers below `high`."""
    return [high, *shape]


def arrays(found, dtype, seed=0):
    """The arguments with all examples."""
    rng = np.random.default_rng(seed)
    for shape, axis in zip(found.shapes, found.axes):
        lead = () if axis is None else (SIZE,)
        if isinstance(shape, list):
            yield rng.integers(0, shape[0], size=(*lead, *shape[1:]))
        else:
            yield rng.normal(size=(*lead, *shape)).astype(dtype)


def written(x, y):
    """Writes into a tensor made inside, of every kind."""
    z = lnb.zeros_like(x)
    z[1] = y
    z[2:] += 2 * x[:-2]
    z.reshape(-1)[0] = 3.0
    z *= x
    z[[0, 1]] = z[[1, 0]]
    return z


def written_outside_dtype(x):
    """A value that is converted when it is written."""
    z = lnb.ones(3, dtype=lnb.float32, device=x.device)
    z[0] = x[1]
    return z


def written_where(x, y):
    """Writes where masks hold, into every kind of place."""
    z = 1 * x
    z[x > 1] = 0
    z[x[:, 0] > 0] = y
    z[x[:, 1] < 0, 1] = 5.0
    z[..., x[0] > 0.5] = y[:1]
    z[:, x[1] > 0.5] = x.sum(1, keepdims=True)
    z[None, x > 0.2] = y[2]
    z[x[2, 3] > 0] = z * 2
    return z


def changed_where(x, y, s):
    """Arithmetic with what a mask chooses, written back where it came from."""
    z = 1 * x
    z[x > 0] += s
    z[x[:, 0] > 0, 1:] *= 3
    z[x[:, 0] < 0] -= y
    mask = x < 0
    z[mask] = 2 / (z[mask] - 1) + x[mask] * z[mask]
    z[..., x[0] > 0.5] **= 2
    return z


def put_where(x, y):
    """putmask, whose values repeat."""
    z = 1 * x
    lnb.putmask(z, x > 0, y)
    lnb.putmask(z, x < -1, 0.5)
    return z


def written_integers_where(i):
    """Floats and integers of other dtypes, written into integers."""
    z = 1 * i
    z[i > 3] = lnb.tensor(2.5, device=i.device)
    z[i < 2] = i.max().astype("int8")
    return z


def written_for_each_place(x):
    """A write whose value has an element for each place."""
    z = 1 * x
    z[x > -9] = x * 2
    return z


def written_by_another(x):
    """What one mask chooses, written where another holds."""
    z = 1 * x
    z[x > -9] = x[x < 9] * 2
    return z


M, V, PLANES = (3, 4), (5,), (2, 4, 6, 6)
CASES = dict(
    sum=case(lambda x: lnb.sum(x, 0), M), sum_of_all=case(lambda x: x.sum(), M), mean=case(lambda x: x.mean(-1), M),
    var=case(lambda x: x.var(0), M), std=case(lambda x: x.std(), M), prod=case(lambda x: x.prod(0), M),
    max=case(lambda x: x.max(1), M), min=case(lambda x: x.min(), M), argmax=case(lambda x: x.argmax(1), M),
    argmin=case(lambda x: x.argmin(), M), logsumexp=case(lambda x: lnb.logsumexp(x, 1), M),
    any=case(lambda x: (x > 0).any(0), M), all=case(lambda x: (x > 0).all(), M), ptp=case(lambda x: lnb.ptp(x, 0), V),
    count_nonzero=case(lambda x: lnb.count_nonzero(x > 0, 0), M), nansum=case(lambda x: lnb.nansum(x, 0), M),
    cumsum=case(lambda x: lnb.cumsum(x, 0), M), cumprod=case(lambda x: lnb.cumprod(x, 1), M),
    cummax=case(lambda x: lnb.cummax(x, 0), M), logcumsumexp=case(lambda x: lnb.logcumsumexp(x, 0), M),
    sort=case(lambda x: lnb.sort(x, 0), M), argsort=case(lambda x: lnb.argsort(x), M),
    topk=case(lambda x: lnb.topk(x, 2), M), partition=case(lambda x: lnb.partition(x, 1, 0), M),
    median=case(lambda x: lnb.median(x, 0), M), quantile=case(lambda x: lnb.quantile(x, 0.3, axis=0), M),
    softmax=case(lambda x: lnb.softmax(x, 0), M), log_softmax=case(lambda x: lnb.log_softmax(x, 1), M),
    diff=case(lambda x: lnb.diff(x, axis=0), V), trapezoid=case(lambda x: lnb.trapezoid(x), V),
    gradient=case(lambda x: lnb.gradient(x), V), convolve=case(lambda x, y: lnb.convolve(x, y), V, (3,)),

    reshape=case(lambda x: x.reshape(4, 3), M), transpose=case(lambda x: x.T, M), flip=case(lambda x: lnb.flip(x), M),
    roll=case(lambda x: lnb.roll(x, 1, 0), M), broadcast=case(lambda x: lnb.broadcast_to(x, (2, 5)), V),
    slice=case(lambda x: x[1:, ::-1], M), element=case(lambda x: x[1, 2], M), ellipsis=case(
        lambda x: x[..., None, 0], M),
    concat=case(lambda x, y: lnb.concat([x, y], 0), M, (2, 4), shared=(1,)),
    stack=case(lambda x, y: lnb.stack([x, y], 1), V, V), split=case(lambda x: lnb.split(x, 2, 1), M),
    pad=case(lambda x: lnb.pad(x, 1), M), pad_reflect=case(lambda x: lnb.pad(x, 1, "reflect"), M),
    pad_wrap=case(lambda x: lnb.pad(x, 2, "wrap"), M), tile=case(lambda x: lnb.tile(x, (2, 1)), M),
    repeat=case(lambda x: lnb.repeat(x, 2, 0), M), diagonal=case(lambda x: lnb.diagonal(x), M),
    diag=case(lambda x: lnb.diag(x), V), diag_embed=case(lambda x: lnb.diag_embed(x, 1), V),
    tril=case(lambda x: lnb.tril(x), M), trace=case(lambda x: lnb.trace(x), M), rot90=case(lambda x: lnb.rot90(x), M),
    meshgrid=case(lambda x: lnb.meshgrid(x, x), V), cast=case(lambda x: x.astype("float32") * 2, M),
    bits=case(lambda x: x.astype("float32").view("int32"), M), windows=case(
        lambda x: lnb.lib.stride_tricks.sliding_window_view(x, 2), V),
    complex=case(lambda x, y: lnb.abs(x + 1j * y), V, V), scalar=case(lambda x: 2.0 * x, ()),

    take=case(lambda x, i: lnb.take(x, i, 1), M, classes(4, 2)),
    take_shared=case(lambda x, i: lnb.take(x, i, 1), M, classes(4, 2), shared=(0,)),
    take_same=case(lambda x, i: lnb.take(x, i, 1), M, classes(4, 2), shared=(1,)),
    take_wrap=case(lambda x, i: lnb.take(x, i, 1, mode="wrap"), M, classes(9, 2)),
    take_clip=case(lambda x, i: lnb.take(x, i, 0, mode="clip"), M, classes(9, 2), shared=(0,)),
    take_flat=case(lambda x, i: lnb.take(x, i), M, classes(12, 2)),
    take_along_axis=case(lambda x, i: lnb.take_along_axis(x, i, 1), M, classes(4, 3, 2)),
    take_along_flat=case(lambda x, i: lnb.take_along_axis(x, i, None), M, classes(12, 5)),
    gather=case(lambda x, i: lnb.gather(x, i, 0), M, classes(3, 2, 4)),
    index=case(lambda x, i: x[i], M, classes(3)), index_rows=case(lambda x, i: x[i], M, classes(3, 2, 2)),
    index_shared=case(lambda x, i: x[i], M, classes(3, 2, 2), shared=(0,)),
    index_behind=case(lambda x, i: x[:, i], M, classes(4, 2)), index_two=case(
        lambda x, i, j: x[i, :, j], (3, 4, 5), classes(3, 2), classes(5, 2)),
    index_mixed=case(lambda x, i: x[..., i, 1], (3, 4, 5), classes(4, 2)), index_broadcast=case(
        lambda x, i, j: x[i[:, None], j], M, classes(3, 2), classes(4, 3)),
    index_list=case(lambda x: x[[0, 2]], M), index_mask=case(lambda x: x[np.array([True, False, True])], M),
    index_new_axis=case(lambda x, i: x[None, :, i], M, classes(4, 2)),
    scatter=case(lambda x, s: lnb.scatter(x, np.array([[0, 2], [1, 3], [2, 0]]), s, 1), M, (3, 2)),
    scatter_add=case(lambda x, i, s: lnb.scatter_add(x, i, s, 0), M, classes(3, 2, 4), (2, 4)),
    scatter_add_same=case(lambda x, i, s: lnb.scatter_add(x, i, s, 0), M, classes(3, 2, 4), (2, 4), shared=(1,)),
    scatter_max=case(lambda x, i, s: lnb.scatter_reduce(x, i, s, 0, reduce="amax"), M, classes(3, 2, 4), (2, 4)),
    index_add=case(lambda x, s: lnb.index_add(x, [1, 1], s), M, (2, 4)),
    index_put=case(lambda x, s: lnb.index_put(x, ([0, 2],), s), M, (2, 4)),
    index_put_apart=case(lambda x, i, s: lnb.index_put(x, (i,), s), M, classes(3), (4,)),
    index_put_behind=case(lambda x, i, s: lnb.index_put(x, (slice(None), i), s), M, classes(4, 1), (3, 1)),
    index_put_one=case(lambda x, i, s: lnb.index_put(x, (slice(None), i), s), M, classes(4, 1), ()),
    where=case(lambda x, y: lnb.where(x > 0, x, y), V, V, shared=(1,)), clip=case(lambda x: lnb.clip(x, -0.5, 0.5), V),
    searchsorted=case(lambda a, v: lnb.searchsorted(lnb.sort(a), v), V, (3,)), searchsorted_shared=case(
        lambda a, v: lnb.searchsorted(lnb.sort(a), v), V, (3,), shared=(0,)), isin=case(
        lambda a, b: lnb.isin(a, b), classes(3, 4), classes(3, 2)),
    masked_fill=case(lambda x: lnb.masked_fill(x, x > 0, 1.0), V), one_hot=case(
        lambda i: lnb.one_hot(i, 5), classes(5, 3)), written=case(written, V, ()), converted=case(
        written_outside_dtype, V),

    matmul=case(lambda a, b: a @ b, M, (4, 2)), matmul_right=case(lambda a, b: a @ b, M, (4, 2), shared=(1,)),
    matmul_left=case(lambda a, b: a @ b, M, (4, 2), shared=(0,)), matvec=case(
        lambda a, b: a @ b, M, (4,), shared=(0,)), vecmat=case(lambda a, b: a @ b, (3,), M, shared=(1,)),
    inner=case(lambda a, b: a @ b, V, V), batches=case(lambda a, b: a @ b, (2, 3, 4), (4, 2)), batches_left=case(
        lambda a, b: a @ b, (2, 3, 4), (4, 2), shared=(0,)), batches_right=case(
        lambda a, b: a @ b, (3, 4), (2, 4, 2), shared=(0,)), column_row=case(lambda a, b: a @ b, (3, 1), (1, 2)),
    einsum=case(lambda a, b: lnb.einsum("ij,kj->ki", a, b), M, (2, 4)), einsum_shared=case(
        lambda a, b: lnb.einsum("ij,j->i", a, b), M, (4,), shared=(0,)), tensordot=case(
        lambda a, b: lnb.tensordot(a, b, 1), M, (4, 2)), outer=case(lambda a, b: lnb.outer(a, b), V, (2,)),
    kron=case(lambda a, b: lnb.kron(a, b), V, (2,)), norm=case(lambda a: lnb.linalg.norm(a), M), cross=case(
        lambda a, b: lnb.cross(a, b), (3,), (3,)), matrix_power=case(lambda a: lnb.linalg.matrix_power(a, 3), (3, 3)),

    conv1d=case(lambda x, w: F.conv1d(x, w), (2, 3, 8), (4, 3, 3), shared=(1,)), conv2d=case(
        lambda x, w, b: F.conv2d(x, w, b, padding=1, stride=2), PLANES, (3, 4, 3, 3), (3,), shared=(1, 2)),
    conv2d_apart=case(lambda x, w: F.conv2d(x, w), PLANES, (3, 4, 3, 3)), conv2d_filters=case(
        lambda x, w: F.conv2d(x, w), PLANES, (3, 4, 3, 3), shared=(0,)), conv2d_groups=case(
        lambda x, w: F.conv2d(x, w, groups=2), PLANES, (4, 2, 3, 3)), conv2d_groups_filters=case(
        lambda x, w: F.conv2d(x, w, groups=2), PLANES, (4, 2, 3, 3), shared=(0,)), conv3d=case(
        lambda x, w: F.conv3d(x, w), (1, 2, 4, 4, 4), (2, 2, 2, 2, 2)), conv_transpose=case(
        lambda x, w: F.conv_transpose2d(x, w, stride=2), (2, 3, 4, 4), (3, 2, 3, 3), shared=(1,)),
    conv_transpose_apart=case(lambda x, w: F.conv_transpose2d(x, w), (2, 3, 4, 4), (3, 2, 3, 3)),
    max_pool=case(lambda x: F.max_pool2d(x, 2), PLANES), avg_pool=case(lambda x: F.avg_pool2d(x, 3, 2, 1), PLANES),
    adaptive=case(lambda x: F.adaptive_avg_pool2d(x, 2), PLANES), unfold=case(lambda x: F.unfold(x, 2), PLANES),
    fold=case(lambda x: F.fold(x, (3, 3), 2), (1, 8, 4)), interpolate=case(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), PLANES),
    layer_norm=case(lambda x, w: F.layer_norm(x, 4, w), M, (4,), shared=(1,)), layer_norm_apart=case(
        lambda x, w: F.layer_norm(x, 4, w), M, (4,)), rms_norm=case(lambda x: F.rms_norm(x, 4), M), group_norm=case(
        lambda x: F.group_norm(x, 2), PLANES), batch_norm=case(
        lambda x: F.batch_norm(x, None, None, training=True), (6, 4)), instance_norm=case(
        lambda x: F.instance_norm(x), PLANES), batch_norm_running=case(
        lambda x, m, v: F.batch_norm(x, m, v * v + 1), (6, 4), (4,), (4,), shared=(1, 2)),
    linear=case(lambda x, w, b: F.linear(x, w, b), (5, 3), (4, 3), (4,), shared=(1, 2)), linear_one=case(
        lambda x, w, b: F.linear(x, w, b), (3,), (4, 3), (4,), shared=(1, 2)), linear_apart=case(
        lambda x, w, b: F.linear(x, w, b), (5, 3), (4, 3), (4,)), attention=case(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (2, 5, 4), (2, 5, 4), (2, 5, 4)),
    attention_shared=case(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (2, 5, 4), (2, 5, 4), (2, 5, 4),
                          shared=(1, 2)), embedding=case(
        lambda i, w: F.embedding(i, w), classes(5, 3), (5, 2), shared=(1,)), embedding_apart=case(
        lambda i, w: F.embedding(i, w), classes(5, 3), (5, 2)), embedding_padded=case(
        lambda i, w: F.embedding(i, w, padding_idx=1), classes(5, 3), (5, 2), shared=(1,)),
    grid_sample=case(lambda x, g: F.grid_sample(x, 0.5 * g, align_corners=True), PLANES, (2, 3, 3, 2)),
    gelu=case(lambda x: F.gelu(x), V), glu=case(lambda x: F.glu(x), (4,)), prelu=case(
        lambda x, w: F.prelu(x, w), (2, 3), (3,), shared=(1,)),
    cross_entropy=case(lambda x, t: lnb.cross_entropy(x, t), (5, 4), classes(4, 5)), cross_entropy_one=case(
        lambda x, t: lnb.cross_entropy(x, t), (4,), classes(4)), cross_entropy_sum=case(
        lambda x, t: lnb.cross_entropy(x, t, reduction="sum"), (5, 4, 2), classes(4, 5, 2)), cross_entropy_none=case(
        lambda x, t: lnb.cross_entropy(x, t, reduction="none"), (5, 4), classes(4, 5)), cross_entropy_ignored=case(
        lambda x, t: lnb.cross_entropy(x, t, ignore_index=2), (5, 4), classes(4, 5)), cross_entropy_same=case(
        lambda x, t: lnb.cross_entropy(x, t), (5, 4), classes(4, 5), shared=(1,)), nll_loss=case(
        lambda x, t: F.nll_loss(F.log_softmax(x, 1), t), (5, 4), classes(4, 5)),
    mse_loss=case(lambda x, y: F.mse_loss(x, y), V, V), huber_loss=case(lambda x, y: F.huber_loss(x, y), V, V),
    binary=case(lambda x, y: F.binary_cross_entropy_with_logits(x, lnb.sigmoid(y)), V, V), kl_div=case(
        lambda x, y: F.kl_div(x, lnb.softmax(y, 0)), V, V), cosine=case(
        lambda x, y: F.cosine_similarity(x, y, 0), V, V), triplet=case(
        lambda x, y, z: F.triplet_margin_loss(x, y, z), (2, 3), (2, 3), (2, 3)),

    written_where=case(written_where, M, (4,)), changed_where=case(changed_where, M, (4,), ()),
    changed_where_shared=case(changed_where, M, (4,), (), shared=(1, 2)), put_where=case(put_where, M, (5,)),
    put_where_shared=case(put_where, M, (5,), shared=(1,)),
    written_where_whole=case(written_integers_where, classes(9, 5)),
    sum_where=case(lambda x: lnb.sum(x, 0, where=x > 0), M), mean_where=case(
        lambda x: lnb.mean(x, where=x > -1), M), var_where=case(lambda x: lnb.var(x, where=x > -1), M),
    nanmax=case(lambda x: lnb.nanmax(x, 0), M), nanargmin=case(lambda x: lnb.nanargmin(x, 0), M), weighted=case(
        lambda x, w: lnb.average(x, weights=w * w), V, V), weighted_axis=case(
        lambda x, w: lnb.average(x, 0, w * w, returned=True), M, (3,), shared=(1,)),
    bincount=case(lambda i: lnb.bincount(i, minlength=5), classes(5, 6)), bincount_weights=case(
        lambda i, w: lnb.bincount(i, w, 7), classes(5, 6), (6,)), bincount_shared=case(
        lambda i, w: lnb.bincount(i, w, minlength=5), classes(5, 6), (6,), shared=(0,)), bincount_same=case(
        lambda i, w: lnb.bincount(i, weights=w, minlength=5), classes(5, 6), (6,), shared=(1,)),
    bincount_even=case(lambda i: lnb.bincount(lnb.concat([i, 0 * i[:1] + 4])), classes(5, 6)),
    histogram=case(lambda x: lnb.histogram(x, bins=4, range=(-2, 2)), V), histogram_weights=case(
        lambda x, w: lnb.histogram(x, 3, weights=w)[0], V, V), histogram2d=case(
        lambda x, y: lnb.histogram2d(x, y, bins=2), V, V), digitize=case(
        lambda x: lnb.digitize(x, [-1.0, 0.0, 1.0]), V), digitize_apart=case(
        lambda x, b: lnb.digitize(x, lnb.sort(b)), V, (3,)),
    quantile_apart=case(lambda x, q: lnb.quantile(x, lnb.sigmoid(q), axis=0), M, (2,)), nanmedian=case(
        lambda x: lnb.nanmedian(x, 0), M), choose=case(lambda i, a, b: lnb.choose(i, [a, b]), classes(2, 5), V, V),
    lexsort=case(lambda i, x: lnb.lexsort([x, i]), classes(2, 5), V), roll_apart=case(
        lambda x, i: lnb.roll(x, i), V, classes(5)), power_of_integers=case(
        lambda i, j: i ** j, classes(5, 3), classes(3, 3)),
    weighted_classes=case(lambda x, t, w: F.cross_entropy(x, t, w * w), (5, 4), classes(4, 5), (4,), shared=(2,)),
    smoothed_classes=case(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), (5, 4), classes(4, 5)),
    nll_weighted=case(lambda x, t, w: F.nll_loss(x, t, w * w), (5, 4), classes(4, 5), (4,)), multi_margin=case(
        lambda x, t: F.multi_margin_loss(x, t), (5, 4), classes(4, 5)), gaussian=case(
        lambda x, y, v: F.gaussian_nll_loss(x, y, v * v), V, V, V))

# What reads values on the host: it runs example by example, with a warning.
READING = dict(
    chosen_summed=case(lambda x: x[x > -9].sum(), V), chosen_by_another=case(
        lambda x: written_by_another(x), V),
    branch=case(lambda x: x if x.sum() > 0 else -2 * x, V), item=case(lambda x: x * float(x[0]), V),
    mask=case(lambda x: lnb.where(x > 0, x, 0)[x > -9], V), chosen=case(written_for_each_place, V))
