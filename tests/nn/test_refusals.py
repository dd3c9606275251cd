"""What layers refuse before any work: sizes that no memory holds, settings that are no numbers. Oracle: the contract,
one LucidError of one sentence that names the value."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

IMAGE = np.zeros((1, 1, 4, 4), np.float32)
SIGNAL = np.zeros((1, 4, 9), np.float32)

HUGE = {
    "transposed_stride": lambda: nn.ConvTranspose2d(1, 1, 3, stride=10**10)(IMAGE),
    "transposed_output_padding": lambda: nn.ConvTranspose2d(1, 1, 3, stride=2**62, output_padding=2**61)(IMAGE),
    "transposed_dilation": lambda: nn.ConvTranspose2d(1, 1, 3, dilation=2**62)(IMAGE),
    "convolution_padding": lambda: nn.Conv2d(1, 1, 3, padding=10**9)(IMAGE),
    "convolution_dilation": lambda: nn.Conv2d(1, 1, 3, padding=2**62, dilation=2**62)(IMAGE),
    "convolution_stride": lambda: nn.Conv2d(1, 1, 3, stride=2**64)(IMAGE),
    "max_kernel": lambda: nn.MaxPool2d(2**63, padding=2**62)(IMAGE),
    "max_dilation": lambda: nn.MaxPool2d(1, dilation=2**64)(IMAGE),
    "average_kernel": lambda: nn.AvgPool2d(2**63, padding=2**62)(IMAGE),
    "average_stride": lambda: nn.AvgPool2d(2, 2**64)(IMAGE),
    "adaptive": lambda: nn.AdaptiveAvgPool2d(10**9)(IMAGE),
    "adaptive_max": lambda: nn.AdaptiveMaxPool1d(10**18)(SIGNAL),
    "upsample": lambda: nn.Upsample(10**18)(SIGNAL),
    "fold": lambda: nn.Fold((10**5, 10**5), 2, padding=10**9, stride=10**9)(SIGNAL),
    "unfold": lambda: nn.Unfold(2, padding=10**9)(IMAGE),
    "unpool": lambda: nn.MaxUnpool1d(10**18)(SIGNAL, np.zeros((1, 4, 9), np.int64)),
    "causal_mask": lambda: nn.Transformer.generate_square_subsequent_mask(10**10),
}
STRANGE = {
    "power": lambda: nn.LPPool2d("a", 2)(IMAGE),
    "no_power": lambda: nn.LPPool2d(None, 2)(IMAGE),
    "recurrent_dropout": lambda: nn.LSTM(2, 2, 2, dropout="a"),
    "attention_dropout": lambda: nn.MultiheadAttention(4, 2, dropout="a"),
    "attention_probability": lambda: nn.MultiheadAttention(4, 2, dropout=2.0),
    "dropout": lambda: nn.Dropout("a"),
    "eps": lambda: nn.LayerNorm(4, eps="a"),
    "momentum": lambda: nn.BatchNorm2d(1, momentum="a"),
    "max_norm": lambda: nn.Embedding(5, 2, max_norm="a")([1]),
    "negative_max_norm": lambda: nn.Embedding(5, 2, max_norm=-1)([1]),
    "bag_mode": lambda: nn.EmbeddingBag(5, 2, mode="median"),
    "scale": lambda: nn.Upsample(scale_factor="a"),
    "interpolation_mode": lambda: nn.functional.interpolate(IMAGE, 2, mode=["nearest"]),
    "layers": lambda: nn.TransformerEncoder(nn.Identity(), "a"),
    "negative_layers": lambda: nn.TransformerDecoder(nn.Identity(), -1),
    "mask": lambda: nn.Transformer.generate_square_subsequent_mask("a"),
    "negative_mask": lambda: nn.Transformer.generate_square_subsequent_mask(-1),
    "cell_state": lambda: nn.LSTMCell(3, 4)(np.zeros((2, 3), np.float32), 1),
    "state_dtype": lambda: nn.GRU(3, 4)(np.zeros((5, 2, 3), np.float32), np.zeros((1, 2, 4))),
    "cell_state_dtype": lambda: nn.GRUCell(3, 4)(np.zeros((2, 3), np.float32), np.zeros((2, 4))),
}


@pytest.mark.parametrize("call", [*HUGE.values(), *STRANGE.values()], ids=[*HUGE, *STRANGE])
def test_layers_refuse_with_one_sentence(call):
    with pytest.raises(lnb.errors.LucidError) as caught:
        call()
    text = str(caught.value)
    assert ": " in text and "\n" not in text and len(text) < 400
