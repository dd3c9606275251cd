"""Every layer and loss of PyTorch with its documented options: keys, outputs and all gradients, with equal weights.

The oracle is PyTorch. What draws random numbers is compared in evaluation here, its draws are held by their own tests.
"""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb

from .against_torch import share_weights

TOLERANCE = 2e-5


class Draw:
    """Arrays of one case: floats get gradients, integers and booleans none."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def real(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def share(self, *shape):
        return self.random.uniform(0.1, 0.9, shape).astype(np.float32)

    def integers(self, high, *shape):
        return self.random.integers(0, high, shape)

    def signs(self, *shape):
        return self.random.choice([-1, 1], shape)


def reals(*shapes):
    """Inputs of normal numbers."""
    return lambda draw: [draw.real(*shape) for shape in shapes]


SIGNAL, IMAGE, VOLUME = reals((2, 4, 9)), reals((2, 4, 6, 7)), reals((2, 4, 5, 4, 6))
ROWS, PAIR = reals((3, 8)), reals((3, 5), (3, 5))
SCORES = lambda draw: [draw.real(4, 5), draw.integers(5, 4)]
PIXELS = lambda draw: [draw.real(2, 5, 3, 2), draw.integers(5, 2, 3, 2)]
CHANCES = lambda draw: [draw.share(3, 4), draw.share(3, 4)]
SIGNED = lambda draw: [draw.real(3, 4), draw.signs(3, 4)]
WEIGHTS = np.float32([0.5, 1, 2, 0.25, 1.5])
SEQUENCE = reals((5, 2, 4))
ALL = ("mean", "sum", "none")


def case(inputs, *args, **kwargs):
    """A layer's arguments, and its inputs."""
    return args, kwargs, inputs


def reductions(inputs, *args, **kwargs):
    """A loss with every reduction."""
    return [case(inputs, *args, reduction=kind, **kwargs) for kind in ALL]


def each(inputs, *options):
    """A layer with several sets of keyword arguments."""
    return [case(inputs, **kwargs) for kwargs in options]


def convolutions(ndim, inputs):
    """Convolutions: every option."""
    return [case(inputs, 4, 6, 3), case(inputs, 4, 6, 3, stride=2, padding=1, bias=False),
            case(inputs, 4, 6, 2, padding="same", dilation=2), case(inputs, 4, 4, 3, groups=4, padding="valid"),
            *[case(inputs, 4, 2, 3, padding=1, padding_mode=mode) for mode in ("reflect", "replicate", "circular")],
            case(reals((4, 5, 6, 5)[:1 + ndim]), 4, 2, 3)]


def transposed(inputs):
    """Transposed convolutions: every option."""
    return [case(inputs, 4, 6, 3), case(inputs, 4, 6, 3, stride=2, padding=1, output_padding=1, bias=False),
            case(inputs, 4, 6, 2, groups=2, dilation=2)]


def norms(inputs, single=None):
    """Batch and instance norms: every option."""
    return [case(inputs, 4), case(inputs, 4, 1e-3, 0.3, False), case(inputs, 4, affine=True, track_running_stats=True),
            case(inputs, 4, track_running_stats=False), case(inputs, 4, momentum=None, track_running_stats=True),
            *([case(single, 4)] if single else [])]


def pads(ndim, inputs):
    """Padding layers."""
    return [case(inputs, 1), case(inputs, (1, 2, 0, 1, 2, 1)[:2 * ndim])]


def windows(inputs):
    """Maxima: every option."""
    return [case(inputs, 2), case(inputs, 3, 2, 1), case(inputs, 2, 1, dilation=2), case(inputs, 3, 2, ceil_mode=True)]


def averages(inputs, has_divisor=True):
    """Averages: every option."""
    return [case(inputs, 2), case(inputs, 3, 2, 1), case(inputs, 3, 2, 1, ceil_mode=True, count_include_pad=False),
            *([case(inputs, 2, divisor_override=3)] if has_divisor else [])]


def recurrences(**more):
    """Recurrent layers: every option."""
    return [case(SEQUENCE, 4, 3), case(SEQUENCE, 4, 3, 2, bias=False, bidirectional=True),
            case(SEQUENCE, 4, 3, batch_first=True), case(reals((5, 4)), 4, 3),
            *[case(SEQUENCE, 4, 3, **{name: value}) for name, value in more.items()]]


def cells(states, **more):
    """Cells: every option."""
    return [case(reals((2, 4)), 4, 3), case(reals((2, 4)), 4, 3, False), case(reals((4,)), 4, 3),
            *[case(reals((2, 4)), 4, 3, **{name: value}) for name, value in more.items()], *states]


FRACTIONS = np.linspace(0.1, 0.9, 16, dtype=np.float32).reshape(2, 4, 2)
TABLE = {
    "Identity": [case(ROWS)], "Flatten": [case(IMAGE), case(IMAGE, 2, 3)], "Unflatten": [case(ROWS, 1, (2, -1))],
    "Linear": [case(ROWS, 8, 3), case(reals((2, 3, 8)), 8, 3, bias=False)],
    "Bilinear": [case(reals((2, 3, 4), (2, 3, 5)), 4, 5, 3), case(reals((3, 4), (3, 5)), 4, 5, 3, bias=False)],
    **{f"Conv{n}d": convolutions(n, x) for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    **{f"ConvTranspose{n}d": transposed(x) for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    "Unfold": [case(IMAGE, 3), case(IMAGE, (2, 3), 2, 1, 2)],
    "Fold": [case(reals((1, 18, 4)), (4, 4), 3), case(reals((1, 8, 9)), (5, 5), 2, padding=1, stride=2, dilation=2)],
    "BatchNorm1d": [*norms(SIGNAL), case(reals((5, 4)), 4)], "BatchNorm2d": norms(IMAGE), "BatchNorm3d": norms(VOLUME),
    "InstanceNorm1d": norms(SIGNAL, reals((4, 9))), "InstanceNorm2d": norms(IMAGE, reals((4, 6, 7))),
    "InstanceNorm3d": norms(VOLUME, reals((4, 5, 4, 6))),
    "LayerNorm": [case(ROWS, 8), case(IMAGE, (6, 7), 1e-3), case(ROWS, 8, elementwise_affine=False),
                  case(ROWS, 8, bias=False)],
    "RMSNorm": [case(ROWS, 8), case(ROWS, 8, 1e-3), case(ROWS, (8,), elementwise_affine=False)],
    "GroupNorm": [case(IMAGE, 2, 4), case(SIGNAL, 4, 4, 1e-3), case(IMAGE, 2, 4, affine=False)],
    "LocalResponseNorm": [case(IMAGE, 2), case(IMAGE, 3, 0.5, 0.6, 2.0)],
    **{f"MaxPool{n}d": windows(x) for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    **{f"AvgPool{n}d": averages(x, n > 1) for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    "LPPool1d": [case(lambda d: [d.share(2, 3, 8)], 2, 3, 2), case(lambda d: [d.share(2, 3, 8)], 1, 3, ceil_mode=True)],
    "LPPool2d": [case(lambda d: [d.share(2, 3, 6, 8)], 2, 3, 2)],
    "LPPool3d": [case(lambda d: [d.share(2, 3, 6, 4, 4)], 3, 2)],
    **{f"Adaptive{kind}Pool1d": [case(SIGNAL, 5), case(SIGNAL, 1)] for kind in ("Avg", "Max")},
    **{f"Adaptive{kind}Pool2d": [case(IMAGE, (3, None)), case(IMAGE, 4)] for kind in ("Avg", "Max")},
    **{f"Adaptive{kind}Pool3d": [case(VOLUME, (3, 2, 5)), case(VOLUME, 1)] for kind in ("Avg", "Max")},
    "FractionalMaxPool2d": [case(IMAGE, 2, output_size=3, _random_samples=FRACTIONS)],
    "FractionalMaxPool3d": [case(reals((2, 4, 6, 6, 6)), 2, output_ratio=0.5, _random_samples=np.concatenate(
        [FRACTIONS, FRACTIONS[..., :1]], -1))],
    "PixelShuffle": [case(reals((2, 8, 3, 4)), 2)], "PixelUnshuffle": [case(reals((2, 3, 4, 6)), 2)],
    "ChannelShuffle": [case(IMAGE, 2)],
    **{f"{kind}{n}d": pads(n, x) for kind in ("ReflectionPad", "ReplicationPad", "CircularPad", "ZeroPad")
       for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    **{f"ConstantPad{n}d": [case(x, 1, 2.5)] for n, x in ((1, SIGNAL), (2, IMAGE), (3, VOLUME))},
    "Upsample": each(IMAGE, dict(size=(9, 5)), dict(scale_factor=2), dict(scale_factor=1.7, mode="bilinear"),
                     dict(size=(9, 5), mode="bicubic", align_corners=True),
                     dict(scale_factor=(1.5, 2.2), mode="bilinear", recompute_scale_factor=True)),
    "UpsamplingNearest2d": [case(IMAGE, scale_factor=2)], "UpsamplingBilinear2d": [case(IMAGE, (9, 8))],
    **{name: [case(ROWS)] for name in (
        "ReLU6 SELU SiLU Mish Hardsigmoid Hardswish Sigmoid LogSigmoid Tanh Tanhshrink Softsign ReLU").split()},
    "LeakyReLU": [case(ROWS), case(ROWS, 0.3)], "ELU": [case(ROWS), case(ROWS, 0.7)],
    "CELU": [case(ROWS), case(ROWS, 0.7)], "Hardtanh": [case(ROWS), case(ROWS, -0.5, 0.3)],
    "Hardshrink": [case(ROWS), case(ROWS, 0.2)], "Softshrink": [case(ROWS), case(ROWS, 0.2)],
    "Threshold": [case(ROWS, 0.1, 20.0)], "PReLU": [case(ROWS), case(IMAGE, 4, 0.1)],
    "GELU": [case(ROWS), case(ROWS, approximate="tanh")], "Softplus": [case(ROWS), case(ROWS, 2.0, 1.0)],
    "GLU": [case(ROWS), case(IMAGE, 1)], "Softmax2d": [case(IMAGE)],
    **{name: [case(ROWS, 1), case(IMAGE, -2)] for name in ("Softmax", "LogSoftmax", "Softmin")},
    "Embedding": [case(lambda d: [d.integers(6, 2, 3)], 6, 4), case(lambda d: [d.integers(6, 9)], 6, 4, padding_idx=-2),
                  case(lambda d: [d.integers(6, 9)], 6, 4, scale_grad_by_freq=True)],
    "EmbeddingBag": [*[case(lambda d: [d.integers(6, 2, 3)], 6, 4, mode=mode) for mode in ("sum", "mean", "max")],
                     case(lambda d: [d.integers(6, 7), np.array([0, 3, 7])], 6, 4, include_last_offset=True),
                     case(lambda d: [d.integers(6, 2, 3)], 6, 4, padding_idx=1)],
    "RNN": recurrences(nonlinearity="relu"), "GRU": recurrences(), "LSTM": recurrences(proj_size=2),
    "RNNCell": cells([case(reals((2, 4), (2, 3)), 4, 3)], nonlinearity="relu"),
    "GRUCell": cells([case(reals((2, 4), (2, 3)), 4, 3)]), "LSTMCell": cells([]),
    "MultiheadAttention": [
        case(lambda d: [d.real(3, 2, 4)] * 3, 4, 2), case(lambda d: [d.real(2, 3, 4)] * 3, 4, 2, batch_first=True),
        case(reals((3, 2, 4), (5, 2, 4), (5, 2, 4)), 4, 2, bias=False, add_bias_kv=True),
        case(reals((3, 2, 4), (5, 2, 3), (5, 2, 6)), 4, 1, add_zero_attn=True, kdim=3, vdim=6)],
    "TransformerEncoderLayer": [
        case(SEQUENCE, 4, 2, 6, dropout=0.0), case(SEQUENCE, 4, 2, 6, 0.0, "gelu", 1e-3, True, True),
        case(SEQUENCE, 4, 2, 6, dropout=0.0, bias=False)],
    "TransformerDecoderLayer": [case(reals((5, 2, 4), (3, 2, 4)), 4, 2, 6, dropout=0.0, norm_first=True)],
    "Transformer": [case(reals((5, 2, 4), (3, 2, 4)), 4, 2, 1, 1, 6, dropout=0.0)],
    "CosineSimilarity": [case(PAIR), case(PAIR, 0, 1e-3)],
    "PairwiseDistance": [case(PAIR), case(PAIR, 1.0, 1e-3, True)],
    "MSELoss": reductions(PAIR), "L1Loss": reductions(PAIR), "HuberLoss": reductions(PAIR, delta=0.4),
    "SmoothL1Loss": reductions(PAIR, beta=0.4), "BCELoss": reductions(CHANCES),
    "BCEWithLogitsLoss": reductions(lambda d: [d.real(3, 5), d.share(3, 5)], weight=WEIGHTS, pos_weight=WEIGHTS[::-1]),
    "SoftMarginLoss": reductions(SIGNED), "HingeEmbeddingLoss": reductions(SIGNED, margin=0.5),
    "KLDivLoss": [*reductions(CHANCES), case(CHANCES, reduction="batchmean", log_target=True)],
    "PoissonNLLLoss": [*reductions(CHANCES), case(CHANCES, log_input=False, full=True)],
    "GaussianNLLLoss": reductions(lambda d: [d.real(3, 4), d.real(3, 4), d.share(3, 4)], full=True),
    "CrossEntropyLoss": [*reductions(SCORES), *reductions(PIXELS, weight=WEIGHTS, ignore_index=2, label_smoothing=0.1),
                         case(lambda d: [d.real(4, 5), d.share(4, 5)], label_smoothing=0.2)],
    "NLLLoss": [*reductions(SCORES), case(PIXELS, weight=WEIGHTS, ignore_index=1)], "NLLLoss2d": [case(PIXELS)],
    "MultiMarginLoss": [*reductions(SCORES), case(SCORES, 2, 0.7, WEIGHTS)],
    "MultiLabelMarginLoss": reductions(lambda d: [d.real(2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 2]])]),
    "MultiLabelSoftMarginLoss": reductions(lambda d: [d.real(3, 5), d.share(3, 5)], weight=WEIGHTS),
    "MarginRankingLoss": reductions(lambda d: [d.real(4), d.real(4), d.signs(4)], margin=0.3),
    "CosineEmbeddingLoss": reductions(lambda d: [d.real(4, 3), d.real(4, 3), d.signs(4)], margin=0.2),
    "TripletMarginLoss": [*reductions(reals((4, 3), (4, 3), (4, 3)), margin=0.5, swap=True),
                          case(reals((4, 3), (4, 3), (4, 3)), p=1.0)],
    "TripletMarginWithDistanceLoss": reductions(reals((4, 3), (4, 3), (4, 3)), margin=0.5, swap=True),
    "AdaptiveLogSoftmaxWithLoss": [
        case(lambda d: [d.real(6, 8), d.integers(20, 6)], 8, 20, [4, 10], 2.0),
        case(lambda d: [d.real(6, 8), d.integers(20, 6)], 8, 20, [5], head_bias=True),
        case(lambda d: [d.real(8), np.array(7)], 8, 20, [4, 10])],
}
ELSEWHERE = {
    **dict.fromkeys("Module Sequential ModuleList ModuleDict ParameterList ParameterDict Container".split(),
                    "hold modules: test_container.py"),
    **dict.fromkeys("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout RReLU".split(),
                    "draw random numbers: test_dropout.py, test_activation.py"),
    **dict.fromkeys("MaxUnpool1d MaxUnpool2d MaxUnpool3d".split(), "take what a pool gives: test_pool.py"),
    **dict.fromkeys("RNNBase RNNCellBase".split(), "bases"),
    **dict.fromkeys("TransformerEncoder TransformerDecoder".split(), "take a layer: test_transformer.py"),
    **dict.fromkeys([f"Lazy{kind}" for kind in (
        "Linear", *[f"{k}{n}d" for k in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm") for n in (1, 2, 3)])],
        "learn a size: test_lazy.py"),
    "CTCLoss": "PyTorch's gradient is right for logarithms of probabilities only: test_ctc.py",
    "SyncBatchNorm": "PyTorch's needs a GPU: test_norm.py", "DataParallel": "issue of several devices",
    "CrossMapLRN2d": "LocalResponseNorm under a private name",
    **dict.fromkeys("LinearCrossEntropyLoss LinearCrossEntropyOptions".split(), "not in PyTorch's documentation"),
}


def leaves(library, arrays):
    """Tensors of one library; an array that is given twice is one tensor."""
    made = {}
    for x in arrays:
        if id(x) not in made:
            made[id(x)] = library.tensor(x)
            if x.dtype.kind == "f":
                made[id(x)].requires_grad = True
    return [made[id(x)] for x in arrays]


def plain(value):
    """The tensors of a result."""
    if isinstance(value, tuple | list):
        return [part for one in value for part in plain(one)]
    return [] if value is None else [value]


def made(library, name, args, kwargs):
    """A layer, arrays among its arguments as tensors."""
    def given(x):
        return library.tensor(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x
    return getattr(library.nn, name)(*map(given, args), **{key: given(x) for key, x in kwargs.items()})


@pytest.mark.parametrize("name, number", [(name, number) for name, cases in TABLE.items()
                                          for number in range(len(cases))])
def test_layer_does_what_torch_s_does(name, number):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    args, kwargs, inputs = TABLE[name][number]
    arrays = inputs(Draw(number))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                        # PyTorch's, of options that it advises against
        ours, theirs = (made(library, name, args, kwargs) for library in (lnb, torch))
        if [*theirs.parameters()]:
            share_weights(ours, theirs)
        given, wanted = leaves(lnb, arrays), leaves(torch, arrays)
        pairs = [*zip(plain(ours(*given)), plain(theirs(*wanted)), strict=True)]
    for a, b in pairs:
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=TOLERANCE, atol=TOLERANCE)
    sum([(a * a).sum() for a, _ in pairs]).backward()
    sum([(b * b).sum() for _, b in pairs]).backward()
    for a, b in [*zip(given, wanted), *zip(ours.parameters(), theirs.parameters(), strict=True)]:
        assert (a.grad is None) == (b.grad is None)
        if b.grad is not None:
            slope = b.grad.numpy()
            np.testing.assert_allclose(a.grad.numpy(), slope, rtol=TOLERANCE,
                                       atol=TOLERANCE * max(1, np.abs(slope).max()))
    for (key, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=TOLERANCE, atol=TOLERANCE, err_msg=key)


def test_every_layer_of_torch_is_in_the_table_or_elsewhere():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    layers = {name for name, kind in vars(torch.nn).items()
              if isinstance(kind, type) and issubclass(kind, torch.nn.Module)}
    assert layers - TABLE.keys() - ELSEWHERE.keys() == set()
    missing = {name for name in layers if not hasattr(lnb.nn, name)}
    assert missing <= {"Container", "CrossMapLRN2d", "DataParallel", "LinearCrossEntropyLoss"}
