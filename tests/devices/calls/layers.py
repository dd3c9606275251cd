"""Layers, with all their parameters."""

from functools import partial

import lucid_nb as lnb
from lucid_nb import nn

from . import Call, call, layer, whole

M, LINE, PLANE, VOLUME, SEQUENCE = (3, 4), (1, 2, 6), (2, 2, 4, 4), (1, 2, 3, 3, 3), (3, 2, 4)
SHAPES = dict(enumerate((LINE, PLANE, VOLUME), 1))


def first(found):
    """The first of several results, and those within it."""
    return found[0]


CALLS = {name: layer(getattr(nn, name), M) for name in
         "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 "
         "SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Dropout AlphaDropout "
         "DropPath Identity".split()}
CALLS |= {name: layer(getattr(nn, name), PLANE) for name in
          "Softmax2d Dropout2d FeatureAlphaDropout Flatten".split()}
CALLS |= {name: layer(lambda name=name: getattr(nn, name)(1), M) for name in "GLU LogSoftmax Softmax Softmin".split()}
LOSSES = dict(L1Loss=(M, M), MSELoss=(M, M), HuberLoss=(M, M), SmoothL1Loss=(M, M), CosineSimilarity=(M, M),
              PairwiseDistance=(M, M), PoissonNLLLoss=(M, M), KLDivLoss=(M, M), BCEWithLogitsLoss=(M, M),
              MultiLabelSoftMarginLoss=(M, M), SoftMarginLoss=(M, M), HingeEmbeddingLoss=(M, M),
              CrossEntropyLoss=(M, whole(4, 3)), NLLLoss=(M, whole(4, 3)), MultiMarginLoss=(M, whole(4, 3)),
              MultiLabelMarginLoss=(M, whole(4, 3, 4)), TripletMarginLoss=(M, M, M),
                  TripletMarginWithDistanceLoss=(M, M, M),
              MarginRankingLoss=(M, M, M), CosineEmbeddingLoss=(M, M, (3,)))
CALLS |= {name: layer(getattr(nn, name), *given) for name, given in LOSSES.items()}
CALLS |= {
    "BCELoss": call(lambda x, y: nn.BCELoss()(lnb.sigmoid(x), lnb.sigmoid(y)), M, M),
    "GaussianNLLLoss": call(lambda x, y, v: nn.GaussianNLLLoss()(x, y, v * v + 1), M, M, M),
    "CTCLoss": call(lambda x, t: nn.CTCLoss()(lnb.log_softmax(x, -1), t + 1, [4, 3], [2, 1]), (4, 2, 3),
        whole(2, 2, 2)),
    "Swish": layer(nn.Swish, M), "Threshold": layer(lambda: nn.Threshold(0.1, 2.0), M),
    "Linear": layer(lambda: nn.Linear(4, 2), M), "Bilinear": layer(lambda: nn.Bilinear(4, 2, 3), M, (3, 2)),
    "Sequential": layer(lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), M),
    "Embedding": layer(lambda: nn.Embedding(5, 2, 1), whole(5, 3)),
    "EmbeddingBag": layer(lambda: nn.EmbeddingBag(5, 2), whole(5, 2, 3)),
    "LayerNorm": layer(lambda: nn.LayerNorm(4), M), "RMSNorm": layer(lambda: nn.RMSNorm(4), M),
    "GroupNorm": layer(lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    "LocalResponseNorm": layer(lambda: nn.LocalResponseNorm(2), PLANE),
    "GlobalResponseNorm": layer(lambda: nn.GlobalResponseNorm(2), PLANE),
    "DropBlock": layer(lambda: nn.DropBlock(2), PLANE),
    "ChannelShuffle": layer(lambda: nn.ChannelShuffle(2), PLANE),
    "PixelShuffle": layer(lambda: nn.PixelShuffle(2), (1, 4, 2, 2)),
    "PixelUnshuffle": layer(lambda: nn.PixelUnshuffle(2), PLANE), "Unfold": layer(lambda: nn.Unfold(2), PLANE),
    "Fold": layer(lambda: nn.Fold((3, 3), 2), (1, 8, 4)), "Upsample": layer(lambda: nn.Upsample(scale_factor=2), LINE),
    "UpsamplingBilinear2d": layer(lambda: nn.UpsamplingBilinear2d(scale_factor=2), PLANE),
    "UpsamplingNearest2d": layer(lambda: nn.UpsamplingNearest2d(scale_factor=2), PLANE),
    "FractionalMaxPool2d": layer(lambda: nn.FractionalMaxPool2d(2, 2), PLANE),
    "FractionalMaxPool3d": layer(lambda: nn.FractionalMaxPool3d(2, 2), VOLUME),
    "RNN": layer(lambda: nn.RNN(4, 3), SEQUENCE, pick=first), "GRU": layer(
        lambda: nn.GRU(4, 3, 2, bidirectional=True), SEQUENCE, pick=first),
    "LSTM": layer(lambda: nn.LSTM(4, 3), SEQUENCE, pick=first), "LSTM projected": layer(
        lambda: nn.LSTM(4, 3, proj_size=2), SEQUENCE, pick=first),
    "RNNCell": layer(lambda: nn.RNNCell(4, 3), M), "GRUCell": layer(lambda: nn.GRUCell(4, 3), M),
    "LSTMCell": layer(lambda: nn.LSTMCell(4, 3), M),
    "MultiheadAttention": layer(lambda: nn.MultiheadAttention(4, 2), *[SEQUENCE] * 3),
    "ScaledDotProductAttention": layer(nn.ScaledDotProductAttention, *[(2, 3, 4)] * 3),
    "TransformerEncoderLayer": layer(lambda: nn.TransformerEncoderLayer(4, 2, 6), SEQUENCE),
    "TransformerDecoderLayer": layer(lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0), SEQUENCE, SEQUENCE),
    "TransformerEncoder": layer(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2), SEQUENCE),
    "TransformerDecoder": layer(lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0), 1), SEQUENCE,
                                SEQUENCE),
    "Transformer": layer(lambda: nn.Transformer(4, 2, 1, 1, 6, 0.0), SEQUENCE, SEQUENCE),
    "Parameter": call(lambda x: nn.Parameter(x.detach()) * x, M),
    "Buffer": call(lambda x: nn.Buffer(x.detach()) * x, M),
    "functional_call": Call(lambda made, x, w: nn.functional_call(made, {"weight": w}, x), (M, (2, 4)),
                            lambda: nn.Linear(4, 2)),
    "Rearrange": layer(lambda: nn.Rearrange("a (b c) -> b a c", b=2), M),
    "Reduce": layer(lambda: nn.Reduce("a b -> a", "max"), M),
    "EinMix": layer(lambda: nn.EinMix("a b -> a c", weight_shape="b c", b=4, c=2), M),
    "utils.rnn.pad_sequence": call(lambda x, y: nn.utils.rnn.pad_sequence([x, y]), (3, 2), (2, 2)),
    "utils.rnn.pack_padded_sequence": call(
        lambda x: nn.utils.rnn.pack_padded_sequence(x, [3, 2]).data, SEQUENCE),
    "utils.rnn.pack_sequence": call(lambda x, y: nn.utils.rnn.pack_sequence([x, y]).data, (3, 2), (2, 2)),
    "utils.rnn.pad_packed_sequence": call(lambda x, y: nn.utils.rnn.pad_packed_sequence(
        nn.utils.rnn.pack_sequence([x, y]))[0], (3, 2), (2, 2)),
    "utils.rnn.unpack_sequence": call(lambda x, y: nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([x, y])),
                                      (3, 2), (2, 2)),
    "utils.rnn.unpad_sequence": call(lambda x: nn.utils.rnn.unpad_sequence(x, [3, 2]), SEQUENCE),
}
MAKERS = {
    "Conv": lambda kind: kind(2, 3, 2), "ConvTranspose": lambda kind: kind(2, 3, 2), "BatchNorm": lambda kind: kind(2),
    "InstanceNorm": lambda kind: kind(2, affine=True), "MaxPool": lambda kind: kind(2), "AvgPool": lambda kind: kind(2),
    "LPPool": lambda kind: kind(2, 2), "AdaptiveAvgPool": lambda kind: kind(2), "AdaptiveMaxPool": lambda kind: kind(2),
    "ZeroPad": lambda kind: kind(1), "ConstantPad": lambda kind: kind(1, 2.0), "ReflectionPad": lambda kind: kind(1),
    "ReplicationPad": lambda kind: kind(1), "CircularPad": lambda kind: kind(1), "Dropout": lambda kind: kind(0.5)}
CALLS |= {f"{name}{ndim}d": layer(partial(make, getattr(nn, f"{name}{ndim}d")), shape)
          for name, make in MAKERS.items() for ndim, shape in SHAPES.items()}
CALLS |= {f"MaxUnpool{ndim}d": layer(lambda ndim=ndim: unpooled(ndim), shape) for ndim, shape in SHAPES.items()}


class unpooled(nn.Module):
    """Maxima put back where they were."""

    def __init__(self, ndim):
        super().__init__()
        self.pool = getattr(nn, f"MaxPool{ndim}d")(2, return_indices=True)
        self.back = getattr(nn, f"MaxUnpool{ndim}d")(2)

    def forward(self, x):
        return self.back(*self.pool(x))


CALLS = {f"nn.{name}": one for name, one in CALLS.items()}
