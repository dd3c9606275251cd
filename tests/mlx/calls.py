"""One tiny call of every public function, for the tests of a device: text over the operands of `operands`.

A list of calls is one test, whose results are compared one by one. Elementwise records are not here:
tests/ops/test_records.py calls each on every device.
"""

CREATION = """
[lnb.zeros((2, 3)), lnb.ones(3, dtype="int8"), lnb.full((2,), 7), lnb.empty((0, 3)), lnb.eye(3, 4, 1), lnb.identity(2)]
[lnb.zeros_like(x), lnb.ones_like(i), lnb.full_like(x, 2.5), lnb.empty_like(x[:0])]
[lnb.arange(5), lnb.arange(0, 1, 0.3), lnb.linspace(0, 1, 5), lnb.logspace(0, 2, 3), lnb.geomspace(1, 8, 4)]
[lnb.array([1, 2]), lnb.asarray([1.5, 2]), lnb.asanyarray(x), lnb.tensor([[1.0]]), lnb.to_tensor([1, 2])]
[lnb.as_tensor(x), lnb.ascontiguousarray(x.T), lnb.asfortranarray(x), lnb.asarray_chkfinite(x), lnb.copy(x)]
[lnb.tri(3), lnb.tril(q), lnb.triu(q, 1), lnb.vander(v, 3), lnb.diag(v, 1), lnb.diag(q), lnb.diagflat(v[:2])]
[lnb.fromfunction(lambda a, b: a + b, (2, 3)), lnb.fromiter(range(3), int), lnb.fromstring("1 2", sep=" ")]
[lnb.frombuffer(b"abcd", dtype="uint8"), lnb.from_dlpack(np.ones(2, "float32")).dtype]
[lnb.indices((2, 3)), lnb.ix_([0, 1], [1, 3]), lnb.meshgrid(v, w[:2]), lnb.diag_indices(3), lnb.tril_indices(3)]
[lnb.triu_indices(3), lnb.tril_indices_from(q), lnb.triu_indices_from(q), lnb.diag_indices_from(q)]
[lnb.mask_indices(3, lnb.triu), lnb.unravel_index(k, (3, 2)), lnb.ravel_multi_index((k % 3, k % 2), (3, 2))]
[lnb.one_hot(k, 5), lnb.random.key(3).uniform((4,)), lnb.random.key(3).normal((4,)), lnb.random.key(3).bits(4)]
[lnb.r_[v, 1.0], lnb.c_[v, w], lnb.mgrid[0:2, 0:3], lnb.ogrid[0:2, 0:3]]
"""
FACTS = """
[lnb.can_cast("int8", "int16"), lnb.common_type(x), lnb.finfo(x.dtype).eps, lnb.iinfo("int8").max, lnb.isfortran(x)]
[lnb.iscomplexobj(x), lnb.isrealobj(c), lnb.isscalar(s), lnb.isdtype(x.dtype, "real floating"),
 lnb.issubdtype("f4", "f")]
[lnb.min_scalar_type(3), lnb.promote_types("int8", "float16"), lnb.result_type(x, i), lnb.ndim(x), lnb.shape(x)]
[lnb.size(x), lnb.broadcast_shapes((3, 1), (4,)), lnb.einsum_path("ij,jk", x, m)[0], x.nbytes, x.itemsize]
[x.tolist(), s.item(), x.dtype, x.requires_grad, x.is_leaf, x.shape, x.strides, len(x)]
[x.to_host(), float(s), bool(b[0, 0]), int(i[0, 0]), complex(s)]
"""
REDUCTION = """
[lnb.sum(x, 0), lnb.sum(i), lnb.sum(b, 1), lnb.sum(i.astype("int8")), lnb.sum(i.astype("uint8"), 1), lnb.sum(c)]
[lnb.prod(x, 1), lnb.prod(i), lnb.prod(i.astype("uint16")), lnb.mean(x, 0), lnb.mean(i), lnb.mean(c),
 lnb.average(x, 0, p[:, 0])]
[lnb.var(x, 0), lnb.var(x, (0, 1), ddof=1), lnb.var(c), lnb.std(x, 1), lnb.std(i), lnb.var(x, where=b),
 lnb.std(x, keepdims=True),
 lnb.std(x, where=b)]
[lnb.max(x, 0), lnb.min(x), lnb.amax(i, 1), lnb.amin(b), lnb.max(ties, 1), lnb.min(ties), lnb.ptp(x, 0), lnb.max(n, 0)]
[lnb.argmax(x, 1), lnb.argmin(x), lnb.argmax(ties, 1), lnb.argmin(n, 0), lnb.argmax(b)]
[lnb.any(b, 0), lnb.all(b), lnb.any(x), lnb.all(c), lnb.count_nonzero(i, 0), lnb.count_nonzero(n), lnb.logsumexp(x, 1)]
[lnb.nansum(n, 0), lnb.nanprod(n), lnb.nanmax(n, 1), lnb.nanmin(n), lnb.nanmean(n, 0), lnb.nanvar(n), lnb.nanstd(n, 0)]
[lnb.nanargmax(n, 1), lnb.nanargmin(n), lnb.nanmedian(n, 0), lnb.nanquantile(n, 0.3), lnb.nanpercentile(n, 30, 0)]
[lnb.median(x, 0), lnb.median(x), lnb.quantile(x, [0.1, 0.5], axis=1), lnb.percentile(x, 25),
 lnb.quantile(x, 0.4, method="nearest")]
[lnb.trace(x), lnb.trapezoid(v), lnb.diff(x), lnb.diff(i, axis=0), lnb.ediff1d(v), lnb.gradient(v),
 lnb.cross(x[:, :3], y[:, :3])]
[lnb.cumsum(x, 0), lnb.cumsum(i), lnb.cumprod(x, 1), lnb.cumulative_sum(v, include_initial=True),
 lnb.cumulative_prod(v)]
[lnb.cummax(x, 0), lnb.cummin(ties, 1), lnb.logcumsumexp(x, 1), lnb.nancumsum(n, 0), lnb.nancumprod(n),
 lnb.cummax(n, 1)]
[lnb.softmax(x), lnb.log_softmax(x, 0), lnb.special.softmax(x, 1), lnb.special.log_softmax(x, 0),
 lnb.special.logsumexp(x)]
[lnb.isclose(x, y), lnb.isclose(x, x), lnb.allclose(x, y), lnb.array_equal(x, y), lnb.array_equiv(x, x)]
"""
MOVEMENT = """
[lnb.reshape(x, (4, 3)), lnb.ravel(x), lnb.flatten(t, 1), lnb.squeeze(x[None]), lnb.expand_dims(x, 1),
 lnb.unsqueeze(x, 0)]
[lnb.transpose(x), lnb.permute_dims(t, (2, 0, 1)), lnb.swapaxes(t, 0, 2), lnb.moveaxis(t, 0, 2), lnb.rollaxis(t, 2),
 lnb.matrix_transpose(t)]
[lnb.broadcast_to(v, (2, 5)), lnb.broadcast_arrays(x, x[0]), lnb.atleast_1d(s), lnb.atleast_2d(v), lnb.atleast_3d(x)]
[lnb.concat([x, y]), lnb.concatenate([x, y], 1), lnb.stack([x, y], 2), lnb.vstack([x, y]), lnb.hstack([x, y]),
 lnb.dstack([x, y])]
[lnb.column_stack([v, w]), lnb.row_stack([v, w]), lnb.append(v, w), lnb.block([[x, y], [y, x]]), lnb.concat([x, i])]
[lnb.split(x, 2, 1), lnb.array_split(v, 2), lnb.hsplit(x, 2), lnb.vsplit(x, 3), lnb.dsplit(t, 2), lnb.chunk(v, 2),
 lnb.unstack(x), lnb.unbind(x, 1)]
[lnb.tile(x, (2, 1)), lnb.repeat(x, 2, 0), lnb.repeat(v, [1, 0, 2, 1, 0]), lnb.resize(v, (2, 4)), lnb.roll(x, 1, 0),
 lnb.rot90(x)]
[lnb.flip(x), lnb.fliplr(x), lnb.flipud(x), lnb.diagonal(x, 1), lnb.diag_embed(v),
 lnb.trim_zeros(lnb.concat([0 * v, v]))]
[lnb.pad(x, 1), lnb.pad(x, 1, "reflect"), lnb.pad(x, 2, "wrap"), lnb.pad(x, 1, "edge"),
 lnb.pad(i, 1, constant_values=5)]
[lnb.astype(x, "int32"), lnb.astype(i, "float16"), x.astype("bool"), lnb.real(c), lnb.imag(c), lnb.real(x),
 x.view("int32"), c.view("float32")]
[lnb.lib.stride_tricks.sliding_window_view(x, 2, 1), lnb.lib.stride_tricks.as_strided(v, (2, 2), (8, 4)),
 lnb.unfold(image, 2)]
[lnb.fold(lnb.unfold(image, 2, stride=2), (6, 6), 2, stride=2), lnb.lerp(x, y, 0.3), lnb.angle(x), lnb.angle(c),
 lnb.nan_to_num(n), lnb.round(x, 1), lnb.around(x)]
[x[1:, ::-1], x[1, 2], x[..., None, 0], x[[0, 2]], x[b], x[:, [1, 3]], x[[0, 1], [2, 3]], x[k[:2] % 3], x[x > 0],
 x[-1, -2:], x[None]]
"""
INDEXING = """
[lnb.take(x, k % 4, 1), lnb.take(x, [2, 0], 1), lnb.take(x, 13, mode="wrap"), lnb.take(x, [9, -9], 0, mode="clip"),
 lnb.take_along_axis(x, i[:, :2], 1)]
[lnb.index_select(x, k[:2] % 3, 0), lnb.gather(x, i, 0), lnb.choose(i % 2, [x, y]),
 lnb.compress(b[:, 0], x, 0)]
[lnb.extract(b, x), lnb.masked_select(x, b), lnb.masked_fill(x, b, 1.5), lnb.where(b, x, y), lnb.where(b),
 lnb.nonzero(i)]
[lnb.argwhere(i), lnb.flatnonzero(i), lnb.select([b, ~b], [x, y]), lnb.piecewise(x, [b], [lambda a: 2 * a, 0.5])]
[lnb.scatter(x, i, y, 0), lnb.scatter_add(x, i, y, 0), lnb.scatter_reduce(x, i, p, 0, reduce="amax"),
 lnb.scatter_reduce(x, i, p, 0, reduce="prod")]
[lnb.index_add(x, [1, 1], y[:2]), lnb.index_put(x, ([0, 2],), y[:2]), lnb.put_along_axis(1 * x, i[:1], 0.0, 0)]
[after(lambda a: lnb.put(a, [0, 5, 0], [9.0, 8.0, 7.0]), x), after(lambda a: lnb.place(a, b, [1.0, 2.0]), x)]
[after(lambda a: lnb.putmask(a, b, y), x), after(lambda a: lnb.copyto(a, y, where=b), x),
 after(lambda a: lnb.fill_diagonal(a, 3), q)]
[after(lambda a: a.fill(2), x), after(lambda a: a.put(k, 3), x), after(lambda a: a.fill_diagonal(2), q),
 after(lambda a: a.__setitem__(b, 0), x)]
[after(lambda a: a.__setitem__((slice(None), 1), y[:, 0]), x), after(lambda a: a.__setitem__([0, 0], y[:2]), x),
 after(lambda a: a.__iadd__(y), x)]
[after(lambda a: a.T.__setitem__(1, y[:, 2]), x), after(lambda a: a[1:].__imul__(2), x),
 after(lambda a: a.reshape(-1)[::2].fill(0), x)]
[lnb.insert(v, 2, 9.0), lnb.delete(v, [1, 3]), lnb.sort(x), lnb.sort(n, 0), lnb.argsort(ties, 1),
 lnb.argsort(x, descending=True)]
[lnb.partition(x, 1)[:, 1], lnb.argpartition(v, 2)[2], lnb.topk(x, 2), lnb.topk(ties, 2, largest=False),
 lnb.lexsort([v, k])]
[lnb.searchsorted(u, v), lnb.searchsorted(u, u, "right"), lnb.digitize(v, u), lnb.isin(i, [1, 2]), lnb.unique(i),
 lnb.unique(n)]
[lnb.unique_all(k), lnb.unique_counts(k), lnb.unique_inverse(k), lnb.unique_values(k),
 lnb.unique(i, return_counts=True, axis=0)]
[lnb.union1d(k, i), lnb.intersect1d(k, i), lnb.setdiff1d(k, i), lnb.setxor1d(k, i), lnb.bincount(k),
 lnb.bincount(k, w, 7)]
[lnb.histogram(v, 3), lnb.histogram(v, u), lnb.histogram(v, 3, weights=w), lnb.histogram2d(v, w, 2),
 lnb.histogramdd(x, 2)]
[lnb.histogram_bin_edges(v, 3), lnb.convolve(v, w[:3]), lnb.correlate(v, w), lnb.polygamma(1, p),
 lnb.special.zeta(p + 2, 1.5)]
"""
PRODUCTS = """
[lnb.matmul(x, m), x @ m, i @ i.T, b @ b.T, c @ c.T, lnb.dot(v, w), lnb.vdot(v, w), lnb.inner(x, y), lnb.outer(v, w),
 lnb.kron(v, w[:2])]
[lnb.tensordot(x, m, 1), lnb.vecdot(x, y), lnb.matvec(x, v[:4]), lnb.vecmat(v[:3], x), lnb.einsum("ij,kj->ki", x, y),
 lnb.einsum("ii", q)]
[L.norm(x), L.norm(x, 1), L.matrix_norm(x), L.vector_norm(x, ord=3, axis=0), L.matrix_power(q, 3),
 L.multi_dot([x, m, m.T]), L.cross(x[:, :3], y[:, :3])]
[L.inv(q @ q.T + 3), L.det(q), L.solve(q, x), L.lstsq(m, v[:4])[0], L.pinv(x), L.svdvals(x),
 L.matrix_rank(x), L.cond(q)]
[L.inv(q), L.slogdet(q), L.cholesky(L.expm(q + q.T)), L.eigvalsh(q), abs(L.eigh(q)[1]), abs(L.svd(x, False)[0])]
[L.qr(x), L.lu(x), L.solve_triangular(L.expm(q + q.T), x), L.tensorinv(q, 1), L.tensorsolve(q, q[0])]
[abs(L.eigvals(q)), abs(L.eig(q)[0])]
[L.diagonal(q), L.matmul(x, m), L.matrix_transpose(x), L.outer(v, w), L.tensordot(x, m, 1), L.trace(q), L.vecdot(v, w)]
[lnb.conv1d(signal, kernel1), lnb.conv2d(image, kernel2, padding=1), lnb.conv3d(volume, kernel3),
 lnb.conv_general(image, kernel2)]
[lnb.conv_transpose1d(signal, kernel1.swapaxes(0, 1)), lnb.conv_transpose2d(image, kernel2.swapaxes(0, 1), stride=2),
 lnb.conv_transpose3d(volume, kernel3.swapaxes(0, 1))]
[E.rearrange(t, "a b c -> (b a) c"), E.reduce(t, "a b c -> a c", "max"), E.repeat(v, "a -> a b", b=2),
 E.einsum(x, m, "i j, j k -> i k")]
[E.unpack(x, [[1], [2]], "* c"), E.pack([x, y], "* c"), E.parse_shape(t, "a b c"), E.asarray([v, w])]
"""
TRANSFORMS = """
[lnb.autograd.grad((x * x).sum(), [x])]
[lnb.grad(lambda a: (a * a).sum())(x), lnb.value_and_grad(lambda a: lnb.sin(a).sum())(x),
 lnb.grad_and_aux(lambda a: ((a * a).sum(), a))(x)]
[lnb.vjp(lambda a: lnb.sin(a), x)[1](y), lnb.jvp(lambda a: lnb.sin(a), (x,), (y,)),
 lnb.linearize(lambda a: a * a, x)[1](y)]
[lnb.jacobian(lambda a: a * a)(v), lnb.hessian(lambda a: (a ** 3).sum())(v),
 lnb.hvp(lambda a: (a ** 3).sum(), (v,), (w,)), lnb.deriv(lnb.sin)(s)]
[lnb.elementwise_grad(lnb.sin)(v), lnb.vmap(lambda a: a.sum() * a)(x), lnb.checkpoint(lambda a: lnb.sin(a) * a)(x),
 lnb.stop_gradient(x)]
[lnb.fuse(lambda a, b: lnb.tanh(a) * b + 1)(x, y), lnb.fuse(lambda a: lnb.softmax(a * 2))(x),
 lnb.holomorphic_grad(lambda a: a * a)(c[0, 0])]
[lnb.hessian_tensor_product(lambda a: (a ** 3).sum())(v, w),
 lnb.hessian_vector_product(lambda a: (a ** 3).sum())(v, w)]
[lnb.tensor_jacobian_product(lambda a: a * a)(v, w), lnb.vector_jacobian_product(lambda a: a * a)(v, w),
 lnb.make_vjp(lambda a: a * a)(v)[0](w)]
[lnb.make_jvp(lambda a: a * a)(v)(w), lnb.make_hvp(lambda a: (a ** 3).sum())(v)[0](w),
 lnb.make_ggnvp(lambda a: a * a)(v)(w)]
"""
FUNCTIONS = {"creation": CREATION, "facts": FACTS, "reduction": REDUCTION, "movement": MOVEMENT, "indexing": INDEXING,
             "products": PRODUCTS, "transforms": TRANSFORMS}
