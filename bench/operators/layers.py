"""PyTorch's functions of layers and losses, and ours, which take PyTorch's arguments."""

import lucid_nb as lnb
import lucid_nb.nn.functional as F

NAMES = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
    binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss elu embedding_bag
    gaussian_nll_loss gelu glu grid_sample group_norm hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss
    huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear local_response_norm logsigmoid
    margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d
    max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle
    poisson_nll_loss prelu relu relu6 rms_norm rrelu scaled_dot_product_attention selu silu smooth_l1_loss
    soft_margin_loss softmin softplus softshrink softsign tanhshrink threshold triplet_margin_loss unfold""".split()


def embedding(weight: lnb.Tensor, input: lnb.Tensor, **keywords: object) -> lnb.Tensor:
    """The database gives the weight first."""
    return F.embedding(input, weight, **keywords)


def embedding_bag(weight: lnb.Tensor, input: lnb.Tensor, **keywords: object) -> lnb.Tensor:
    """The database gives the weight first."""
    return F.embedding_bag(input, weight, **keywords)


def with_distance(*arrays: lnb.Tensor, distance_function: object, **keywords: object) -> lnb.Tensor:
    """The database gives PyTorch's layer of distances; here it is ours."""
    return F.triplet_margin_with_distance_loss(*arrays, distance_function=F.pairwise_distance, **keywords)


TABLE = {f"nn.functional.{name}": getattr(F, name) for name in NAMES} | {
    "nn.functional.triplet_margin_with_distance_loss": with_distance, "nn.functional.embedding": embedding,
    "nn.functional.embedding_bag": embedding_bag, "softmax": F.softmax, "log_softmax": F.log_softmax,
    "constant_pad_nd": lambda x, pad, value=0: F.pad(x, pad, value=value),
    "nn.functional.upsample_nearest": lambda x, *size, **keywords: F.upsample(x, *size, mode="nearest", **keywords),
    "nn.functional.upsample_bilinear": lambda x, *size, **keywords: F.upsample(
        x, *size, mode="bilinear", align_corners=True, **keywords),
}
