"""The command line. Oracle: what a user is told to expect in the README."""

import re
import subprocess
import sys

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import commands
from lucid_nb.__main__ import main
from lucid_nb.kernels import store


def test_info_names_versions_devices_threads_and_cache(capsys):
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for line in (f"numpy .*{re.escape(np.__version__)}", "numba ", "device cpu", "device cuda", "device mlx",
                 "threads ", "cache path"):
        assert re.search(f"^{line}", printed, re.MULTILINE), line


def test_cache_shows_and_clears_the_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(lnb.config, "cache_dir", tmp_path / "kernels")
    assert main(["cache"]) == 0
    assert f"{tmp_path / 'kernels'}" in capsys.readouterr().out
    (store.path() / "aa.kernel").write_bytes(b"x" * 1000)
    (store.path() / "notes.txt").write_text("of the user")
    assert store.size() == (1, 1000)
    assert main(["cache", "--clear"]) == 0
    assert "removed 1 kernel " in capsys.readouterr().out
    assert [file.name for file in store.path().iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("command", ["info", "demo", "cache"])
def test_help_answers_with_examples(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0 and f"lucid-nb {command}" in capsys.readouterr().out.split("examples:")[1]


@pytest.mark.parametrize(("arguments", "text"), [
    (["demo", "--device", "tpu"], "lucid-nb demo: device: 'tpu' is unknown"),
    (["demo", "--epochs", "0"], "lucid-nb demo: demo: --epochs 0"),
])
def test_errors_are_one_line_without_traceback(arguments, text, capsys):
    assert main(arguments) == 1
    printed = capsys.readouterr().err
    assert text in printed and "Traceback" not in printed and printed.count("\n") == 1


def test_demo_trains_and_saves_a_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    plot = tmp_path / "below" / "demo.png"
    assert main(["demo", "--epochs", "2", "--out", str(plot)]) == 0
    accuracy = re.search(r"^test accuracy: (0\.\d{3})$", capsys.readouterr().out, re.MULTILINE)
    assert float(accuracy[1]) > 0.85
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_demo_repeats_with_its_seed_and_sums_up_several(tmp_path, capsys):
    outputs = []
    for _ in range(2):
        assert main(["demo", "--epochs", "1", "--seeds", "2", "--out", str(tmp_path / "demo.png")]) == 0
        outputs.append(re.findall(r"(?:seed \d|accuracy): ([\d.]+)", capsys.readouterr().out))
    assert outputs[0] == outputs[1] and len(outputs[0]) == 3


@pytest.mark.parametrize("device", ["mlx"])
def test_demo_trains_on_other_devices(device, tmp_path, capsys):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    assert main(["demo", "--epochs", "2", "--device", device, "--out", str(tmp_path / "demo.png")]) == 0
    assert float(re.search(r"test accuracy: ([\d.]+)", capsys.readouterr().out)[1]) > 0.85


def test_demo_without_matplotlib_trains_and_says_how_to_get_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "lucid_nb.commands.plot", raising=False)
    monkeypatch.delattr(commands, "plot", raising=False)
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path / "demo.png")]) == 0
    printed = capsys.readouterr().out
    assert "pip install 'lucid_nb[plot]'" in printed and "test accuracy: 0." in printed


def test_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "lucid_nb"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "info | demo | cache" in done.stderr


def test_reader_that_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m lucid_nb info | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and len(done.stdout) == 1
