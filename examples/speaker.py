"""Whose voice it is, by a published network: the speaker encoder of L. Wan et al. (2018) in Resemblyzer.

    python examples/speaker.py Resemblyzer-0.1.4-py3-none-any.whl
    python examples/speaker.py Resemblyzer-0.1.4-py3-none-any.whl anna.wav otto.wav who.wav     # one channel, 16 kHz

The wheel is that of the project Resemblyzer, version 0.1.4, on PyPI. The network hears a mel spectrogram of 1.6 seconds
and gives a vector of length one; of longer sounds the mean counts. Without recordings two voices are synthesised, which
differ in pitch and in the length of the throat.
"""

import sys
from pathlib import Path

import numpy as np
from published import RATE, files_of, recorded

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F

WINDOW, HOP, BANDS = 400, 160, 40                      # 25 ms each 10 ms
FRAMES, PER_SECOND, COVERED = 160, 1.3, 0.75           # of a part; parts in a second; what the last must have
LOUDNESS = -30                                         # dB of full scale
VOWELS = {"a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (270, 2290, 3010), "o": (570, 840, 2410),
          "u": (300, 870, 2240)}                       # formants in Hz: G. Peterson and H. Barney (1952)


class Encoder(nn.Module):
    """The network as its weights name its parts."""

    def __init__(self, bands: int, width: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(bands, width, layers, batch_first=True)
        self.linear = nn.Linear(width, width)

    def forward(self, mels: lnb.Tensor) -> lnb.Tensor:
        """Vectors of length one, of spectrograms (batch, frames, bands)."""
        _, (hidden, _) = self.lstm(mels)
        return F.normalize(F.relu(self.linear(hidden[-1])), dim=1)


def load(weights: Path) -> Encoder:
    """The published network, of whatever size."""
    state = {name: value for name, value in lnb.load(weights)["model_state"].items() if "similarity" not in name}
    width, bands = state["lstm.weight_ih_l0"].shape
    model = Encoder(bands, width // 4, sum(name.startswith("lstm.weight_ih") for name in state))
    model.load_state_dict(state)
    return model.eval()


# --------------------------------------------------------------------------------------------------- spectrogram
def mel(hertz: np.ndarray) -> np.ndarray:
    """M. Slaney's mel scale (Auditory Toolbox, 1998): straight below 1000 Hz, a logarithm above."""
    hertz = np.asarray(hertz, dtype=float)
    return np.where(hertz < 1000, hertz * 3 / 200, 15 + 27 * np.log(np.maximum(hertz, 1000) / 1000) / np.log(6.4))


def hertz(mels: np.ndarray) -> np.ndarray:
    """The way back."""
    return np.where(mels < 15, mels * 200 / 3, 1000 * 6.4 ** ((np.maximum(mels, 15) - 15) / 27))


def filters() -> np.ndarray:
    """Triangles over the spectrum, (bands, frequencies), of area one each."""
    edges = hertz(np.linspace(0, mel(RATE / 2), BANDS + 2))
    low, peak, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    at = np.fft.rfftfreq(WINDOW, 1 / RATE)
    return np.maximum(0, np.minimum((at - low) / (peak - low), (high - at) / (high - peak))) * 2 / (high - low)


def spectrogram(sound: np.ndarray) -> np.ndarray:
    """Power in each band, (frames, bands), of frames that are centred at multiples of the hop."""
    padded = np.pad(sound, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    return (np.abs(np.fft.rfft(frames * window)) ** 2 @ filters().T).astype(np.float32)


def parts(samples: int) -> list[int]:
    """At which frame each part of a sound begins."""
    count, step = -(-(samples + 1) // HOP), round(RATE / PER_SECOND / HOP)
    begins = list(range(0, max(1, count - FRAMES + step + 1), step))
    is_covered = (samples - begins[-1] * HOP) / (FRAMES * HOP) >= COVERED
    return begins if is_covered or len(begins) == 1 else begins[:-1]


def embed(model: Encoder, sound: np.ndarray) -> np.ndarray:
    """Whose voice a sound is, as a vector of length one."""
    power = 10 * np.log10(np.mean(sound ** 2))
    louder = sound * 10 ** (max(0, LOUDNESS - power) / 20)
    begins = parts(len(sound))
    mels = spectrogram(np.pad(louder, (0, max(0, (begins[-1] + FRAMES) * HOP - len(sound)))))
    with lnb.no_grad():
        found = model(lnb.asarray(np.stack([mels[begin:begin + FRAMES] for begin in begins]))).numpy().mean(axis=0)
    return found / np.linalg.norm(found)


# -------------------------------------------------------------------------------------------------------- sounds
def voice(text: str, pitch: float, throat: float, seconds: float = 0.25) -> np.ndarray:
    """Vowels, sung: overtones of a pitch, louder near the formants, which a longer throat lowers."""
    time = np.arange(int(RATE * seconds)) / RATE
    sung = []
    for letter in text:
        overtones = pitch * np.arange(1, int(RATE / 2 / pitch))
        loud = sum(1 / (1 + ((overtones - formant / throat) / 80) ** 2) for formant in VOWELS[letter])
        waves = np.sin(2 * np.pi * overtones[:, None] * time * (1 + 0.01 * np.sin(2 * np.pi * 5 * time)))
        sung.append(loud @ waves * np.hanning(len(time)))
    return np.concatenate(sung) * 0.1


if __name__ == "__main__":
    model = load(*files_of("speaker.py", "Resemblyzer", "0.1.4", "resemblyzer/pretrained.pt"))
    sounds = {path: recorded(path) for path in sys.argv[2:]} or {
        "low voice, aeiou": voice("aeiouaeiou", 95, 1.1), "low voice, oiaue": voice("oiaueoiaue", 100, 1.1),
        "high voice, aeiou": voice("aeiouaeiou", 210, 0.88), "high voice, oiaue": voice("oiaueoiaue", 220, 0.88)}
    vectors = np.stack([embed(model, sound) for sound in sounds.values()])
    print("likeness of each to each, one is the same:")
    for name, row in zip(sounds, vectors @ vectors.T):
        print(f"  {name:20}" + " ".join(f"{value:6.3f}" for value in row))
