"""Layers and losses as functions."""

import numpy as np

import lucid_nb as lnb

from . import call, whole

F = lnb.nn.functional
M, V, LINE, PLANE, VOLUME = (3, 4), (6,), (1, 2, 6), (1, 2, 4, 4), (1, 2, 3, 3, 3)
SIGNS = np.array([1, -1, 1], "float32")
NUMBERED = dict(enumerate((LINE, PLANE, VOLUME), 1))


def one(name, *arguments, **keywords):
    """A function of one tensor and options."""
    return lambda x: getattr(F, name)(x, *arguments, **keywords)


CALLS = {name: call(one(name), M) for name in
         "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu sigmoid "
         "silu softplus softshrink softsign tanh tanhshrink".split()}
CALLS |= {
    "softmax": call(one("softmax", 1), M), "log_softmax": call(one("log_softmax", 1), M),
    "softmin": call(one("softmin", 1), M), "glu": call(one("glu", 1), M),
    "threshold": call(one("threshold", 0.1, 2.0), M),
    "prelu": call(lambda x, w: F.prelu(x, w), M, (4,)), "rrelu": call(one("rrelu"), M),
    "rrelu training": call(one("rrelu", training=True), M), "normalize": call(one("normalize", dim=1), M),
    "flatten": call(one("flatten", 1), PLANE), "one_hot": call(lambda i: F.one_hot(i, 4), whole(4, 3)),
    "pad": call(one("pad", (1, 2)), M), "pad reflect": call(one("pad", (1, 1), "reflect"), LINE),
    "pad replicate": call(one("pad", (1, 1), "replicate"), LINE), "pad circular": call(one("pad", (1, 1),
    "circular"), LINE),
    "linear": call(lambda x, w, b: F.linear(x, w, b), M, (2, 4), (2,)),
    "bilinear": call(lambda x, y, w, b: F.bilinear(x, y, w, b), M, (3, 2), (5, 4, 2), (5,)),
    "dropout": call(one("dropout"), M), "dropout1d": call(one("dropout1d"), LINE),
    "dropout2d": call(one("dropout2d"), PLANE), "dropout3d": call(one("dropout3d"), VOLUME),
    "alpha_dropout": call(one("alpha_dropout", training=True), M),
    "feature_alpha_dropout": call(one("feature_alpha_dropout", training=True), PLANE),
    "drop_block": call(one("drop_block", 2, 0.3), PLANE), "drop_path": call(one("drop_path", 0.5), M),
    "embedding": call(lambda i, w: F.embedding(i, w, 1), whole(5, 3), (5, 2)),
    "embedding renormed": call(lambda i, w: F.embedding(i, 1 * w, max_norm=1.0), whole(5, 3), (5, 2)),
    "embedding by frequency": call(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), whole(5, 3), (5, 2)),
    "embedding_bag": call(lambda i, w: F.embedding_bag(i, w, lnb.tensor([0, 2], device=w.device)), whole(5, 4), (5, 2)),
    "embedding_bag max": call(lambda i, w: F.embedding_bag(i, w, mode="max"), whole(5, 2, 3), (5, 2)),
    "embedding_bag weights": call(lambda i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s),
                                  whole(5, 2, 3), (5, 2), (2, 3)),
    "interpolate": call(one("interpolate", scale_factor=2), PLANE), "upsample": call(one("upsample", size=3), LINE),
    "interpolate bilinear": call(one("interpolate", size=(3, 5), mode="bilinear"), PLANE),
    "interpolate bicubic": call(one("interpolate", size=(3, 5), mode="bicubic", align_corners=True), PLANE),
    "interpolate area": call(one("interpolate", size=(2, 3), mode="area"), PLANE),
    "interpolate antialias": call(one("interpolate", size=(2, 3), mode="bilinear", antialias=True), PLANE),
    "affine_grid": call(one("affine_grid", (1, 2, 3, 3), align_corners=False), (1, 2, 3)),
    "grid_sample": call(lambda x, g: F.grid_sample(x, 0.5 * g, align_corners=True), PLANE, (1, 2, 2, 2)),
    "grid_sample nearest": call(lambda x, g: F.grid_sample(x, 0.5 * g, "nearest", align_corners=True),
        PLANE, (1, 2, 2, 2)),
    "rotate": call(one("rotate", 30.0), PLANE), "channel_shuffle": call(one("channel_shuffle", 2), (1, 4, 2, 2)),
    "pixel_shuffle": call(one("pixel_shuffle", 2), (1, 4, 2, 2)),
    "pixel_unshuffle": call(one("pixel_unshuffle", 2), PLANE),
    "unfold": call(one("unfold", 2), PLANE), "fold": call(one("fold", (3, 3), 2), (1, 8, 4)),

    "layer_norm": call(lambda x, w, b: F.layer_norm(x, 4, w, b), M, (4,), (4,)),
    "rms_norm": call(lambda x, w: F.rms_norm(x, 4, w), M, (4,)),
    "group_norm": call(lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,)),
    "instance_norm": call(lambda x, w, b: F.instance_norm(x, None, None, w, b), PLANE, (2,), (2,)),
    "batch_norm": call(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (3, 2, 2), (2,), (2,)),
    "batch_norm evaluating": call(lambda x, m, v: F.batch_norm(x, m, v * v + 1), (3, 2, 2), (2,), (2,)),
    "local_response_norm": call(one("local_response_norm", 2), PLANE),
    "global_response_norm": call(lambda x, w, b: F.global_response_norm(x, w, b), PLANE, (2,), (2,)),
    "scaled_dot_product_attention": call(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), *[(2, 3, 4)] * 3),
    "scaled_dot_product_attention causal": call(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[(2, 3, 4)] * 3),
    "scaled_dot_product_attention masked": call(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0), *[(2, 3, 4)] * 3, (3, 3)),
    "scaled_dot_product_attention dropped": call(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, 0.5), *[(2, 3, 4)] * 3),
    "multi_head_attention_forward": call(lambda q, w, b, o: F.multi_head_attention_forward(
        q, q, q, 4, 2, w, b, None, None, False, 0.0, o, None)[0], (3, 2, 4), (12, 4), (12,), (4, 4)),

    "mse_loss": call(lambda x, y: F.mse_loss(x, y), M, M), "l1_loss": call(lambda x, y: F.l1_loss(x, y), M, M),
    "huber_loss": call(lambda x, y: F.huber_loss(x, y), M, M),
    "smooth_l1_loss": call(lambda x, y: F.smooth_l1_loss(x, y), M, M),
    "binary_cross_entropy": call(lambda x, y: F.binary_cross_entropy(lnb.sigmoid(x), lnb.sigmoid(y)), M, M),
    "binary_cross_entropy_with_logits": call(
        lambda x, y: F.binary_cross_entropy_with_logits(x, lnb.sigmoid(y)), M, M),
    "kl_div": call(lambda x, y: F.kl_div(x, lnb.softmax(y), "batchmean"), M, M),
    "cosine_similarity": call(lambda x, y: F.cosine_similarity(x, y, 1), M, M),
    "cosine_embedding_loss": call(lambda x, y, t: F.cosine_embedding_loss(x, y, t.detach()), M, M, SIGNS),
    "hinge_embedding_loss": call(lambda x, t: F.hinge_embedding_loss(x, t.detach()), (3,), SIGNS),
    "margin_ranking_loss": call(lambda x, y, t: F.margin_ranking_loss(x, y, t.detach()), (3,), (3,), SIGNS),
    "soft_margin_loss": call(lambda x, t: F.soft_margin_loss(x, t.detach()), (3,), SIGNS),
    "gaussian_nll_loss": call(lambda x, y, v: F.gaussian_nll_loss(x, y, v * v + 1), M, M, M),
    "poisson_nll_loss": call(lambda x, y: F.poisson_nll_loss(x, y * y, full=True), M, M),
    "cross_entropy": call(lambda x, t: F.cross_entropy(x, t), (5, 4), whole(4, 5)),
    "cross_entropy weighted": call(lambda x, t, w: F.cross_entropy(x, t, w * w), (5, 4), whole(4, 5), (4,)),
    "cross_entropy smoothed": call(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), (5, 4), whole(4, 5)),
    "cross_entropy shares": call(lambda x, y: F.cross_entropy(x, lnb.softmax(y)), M, M),
    "nll_loss": call(lambda x, t: F.nll_loss(x, t), (5, 4), whole(4, 5)),
    "nll_loss weighted": call(lambda x, t, w: F.nll_loss(x, t, w * w), (5, 4), whole(4, 5), (4,)),
    "multi_margin_loss": call(lambda x, t: F.multi_margin_loss(x, t), (5, 4), whole(4, 5)),
    "multilabel_margin_loss": call(lambda x: F.multilabel_margin_loss(
        x, lnb.tensor([[1, 3, -1, 0]] * 3, device=x.device)), M),
    "multilabel_soft_margin_loss": call(lambda x, y: F.multilabel_soft_margin_loss(x, lnb.sigmoid(y)), M, M),
    "triplet_margin_loss": call(lambda x, y, z: F.triplet_margin_loss(x, y, z), M, M, M),
    "triplet_margin_with_distance_loss": call(lambda x, y, z: F.triplet_margin_with_distance_loss(x, y, z), M, M, M),
    "pairwise_distance": call(lambda x, y: F.pairwise_distance(x, y), M, M), "pdist": call(one("pdist"), M),
    "ctc_loss": call(lambda x, t: F.ctc_loss(lnb.log_softmax(x, -1), t + 1, lnb.tensor([4, 3], device=x.device),
        lnb.tensor(
        [2, 1], device=x.device)), (4, 2, 3), whole(2, 2, 2)),
    "fractional_max_pool2d": call(one("fractional_max_pool2d", 2, 2), PLANE),
    "fractional_max_pool3d": call(one("fractional_max_pool3d", 2, 2), VOLUME),
    "conv_general": call(lambda x, w: F.conv_general(x, w, input_dilation=2, padding=1, flip=True), LINE, (3, 2, 2)),
    "conv2d groups": call(lambda x, w: F.conv2d(x, w, None, 2, 1, groups=2), PLANE, (4, 1, 3, 3)),
    "conv2d dilated": call(lambda x, w: F.conv2d(x, w, dilation=2, padding="same"), PLANE, (1, 2, 2, 2)),
}
for ndim, shape in NUMBERED.items():
    taps = (2,) * ndim
    CALLS |= {
        f"conv{ndim}d": call(lambda x, w, b, ndim=ndim: getattr(F, f"conv{ndim}d")(x, w, b, padding=1),
            shape, (3, 2, *taps),
                             (3,)),
        f"conv_transpose{ndim}d": call(lambda x, w, ndim=ndim: getattr(F, f"conv_transpose{ndim}d")(x, w, stride=2),
            shape,
                                       (2, 1, *taps)),
        f"max_pool{ndim}d": call(one(f"max_pool{ndim}d", 2, 1), shape),
        f"max_pool{ndim}d indices": call(one(f"max_pool{ndim}d", 2, return_indices=True), shape),
        f"avg_pool{ndim}d": call(one(f"avg_pool{ndim}d", 2, 1, 1), shape),
        f"lp_pool{ndim}d": call(one(f"lp_pool{ndim}d", 2, 2), shape),
        f"adaptive_avg_pool{ndim}d": call(one(f"adaptive_avg_pool{ndim}d", 2), shape),
        f"adaptive_max_pool{ndim}d": call(one(f"adaptive_max_pool{ndim}d", 2), shape),
        f"max_unpool{ndim}d": call(lambda x, ndim=ndim: getattr(F, f"max_unpool{ndim}d")(
            *getattr(F, f"max_pool{ndim}d")(x, 2, return_indices=True), 2), shape),
    }
CALLS = {f"nn.functional.{name}": one for name, one in CALLS.items()}
CALLS |= {f"conv{ndim}d": CALLS[f"nn.functional.conv{ndim}d"] for ndim in NUMBERED}
