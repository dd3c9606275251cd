"""The programs in examples/ run, and print what they promise."""

import re
import subprocess
import sys
from pathlib import Path

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


def test_every_example_is_tested():
    assert {file.name for file in EXAMPLES.glob("*.py")} == {"derivatives.py", "digits.py"}
