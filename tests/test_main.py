"""The command line. Oracle: what a user is told to expect in the README."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import commands
from lucid_nb.__main__ import main
from lucid_nb.commands import bench, demo
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


@pytest.mark.parametrize("command", ["info", "demo", "bench", "warmup", "cache"])
def test_help_answers_with_examples(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0 and f"lucid-nb {command}" in capsys.readouterr().out.split("examples:")[1]


@pytest.mark.parametrize(("arguments", "text"), [
    (["demo", "--device", "tpu"], "lucid-nb demo: device: 'tpu' is unknown"),
    (["demo", "--epochs", "0"], "lucid-nb demo: --epochs 0"),
    (["demo", "--seed", "-1"], "lucid-nb demo: --seed -1"),
    (["demo", "--seed", "4294967295", "--seeds", "2"], "Seeds are from 0 to 2**32 - 1"),
    (["demo", "--out", ""], "lucid-nb demo: --out '' is empty"),
    (["demo", "--out", "."], "lucid-nb demo: --out '.' is a folder"),
    (["demo", "--out", "digits.xyz"], "lucid-nb demo: --out 'digits.xyz' has an unknown ending"),
    (["demo", "--out", f"{os.devnull}/demo.png"], "cannot be written"),
    (["warmup", "nowhere.py"], "lucid-nb warmup: 'nowhere.py' is no file"),
    (["warmup", "--model", "lenet_6"], "no model is called 'lenet_6'"),
    (["warmup", "--model", "lenet_5", "--shape", "1x28"], "lucid-nb warmup: --shape '1x28' is no row of sizes"),
    (["warmup", "--model", "lenet_5", "train.py"], "lucid-nb warmup: both a program ('train.py') and a model"),
])
def test_errors_are_one_line_without_traceback_before_training(arguments, text, capsys, monkeypatch):
    monkeypatch.setattr(demo, "train", lambda *_: pytest.fail("trained first"))
    assert main(arguments) == 1
    printed = capsys.readouterr().err
    assert text in printed and "Traceback" not in printed and printed.count("\n") == 1


def test_demo_trains_and_saves_a_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    plot = tmp_path / "below" / "demo.png"
    assert main(["demo", "--epochs", "2", "--out", str(plot.with_suffix(""))]) == 0
    accuracy = re.search(r"^test accuracy: (0\.\d{3})\nplot: (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert float(accuracy[1]) > 0.85 and accuracy[2] == str(plot)
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_demo_repeats_with_its_seed_and_sums_up_several(tmp_path, capsys):
    outputs = []
    for _ in range(2):
        assert main(["demo", "--epochs", "1", "--seeds", "2", "--out", str(tmp_path / "demo.png")]) == 0
        outputs.append(re.findall(r"(?:seed \d:|accuracy:|2 seeds) ([\d.]+)", capsys.readouterr().out))
    first, second, mean, rounded = map(float, outputs[0])
    assert outputs[0] == outputs[1] and mean == pytest.approx((first + second) / 2, abs=1e-4)
    assert rounded == pytest.approx(mean, abs=6e-4)


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
    assert "pip install -e '.[plot]'" in printed and "test accuracy: 0." in printed


def test_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "lucid_nb"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "info | demo | bench | warmup | cache" in done.stdout and not done.stderr


def test_demo_compiles_before_it_trains(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lnb.config, "cache_dir", tmp_path / "kernels")
    monkeypatch.setattr(demo, "train", lambda *_: (store.path() / "aa.kernel").write_bytes(b"x"))
    demo.compile_kernels("cpu")
    assert re.fullmatch(r"compiling kernels, this once; .* \.\.\.\ncompiled in \d+ s, .*\n", capsys.readouterr().out)
    demo.compile_kernels("cpu")
    assert capsys.readouterr().out == ""


def test_warmup_compiles_what_a_program_needs_and_finds_it_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys, lucid_nb as lnb\nprint(lnb.cbrt(lnb.ones(1000)).sum().item(), sys.argv[1:])\n")
    environment = {**os.environ, "LUCID_NB_CACHE_DIR": str(tmp_path / "kernels")}
    for found in (r"1000\.0 \['--epochs', '1'\]\n\d+ kernels? compiled in \S+ s; they are kept in .*kernels\n",
                  r"1000\.0 \['--epochs', '1'\]\nall kernels were there already, in .*kernels\n"):
        done = subprocess.run([sys.executable, "-m", "lucid_nb", "warmup", program, "--epochs", "1"], text=True,
                              capture_output=True, check=False, env=environment)
        assert re.fullmatch(found, done.stdout), (done.stdout, done.stderr)


def test_warmup_of_a_network_trains_it_once(capsys):
    assert main(["warmup", "--model", "lenet_1", "--shape", "2,1,28,28", "--train"]) == 0
    assert re.search(r"kernels? compiled in|all kernels were there already", capsys.readouterr().out)


def test_demo_trains_to_the_same_numbers_after_compiling():
    plain = demo.train(0, "cpu", 1)
    demo.compile_kernels("cpu")
    assert demo.train(0, "cpu", 1).losses == plain.losses


def test_plot_of_the_demo_has_whole_epochs_and_plain_losses():
    figure = pytest.importorskip("matplotlib.figure", reason="the plot extra is not installed").Figure()
    from lucid_nb.commands import plot
    plot.draw_curves(figure, demo.Run([0.9, 0.3, 0.05], [0.5, 0.9, 0.95], np.zeros(1, int), 1.0))
    figure.canvas.draw()
    upper, lower = figure.axes
    assert [text.get_text() for text in lower.get_xticklabels() if 1 <= text.get_position()[0] <= 3] == ["1", "2", "3"]
    assert {"0.1", "0.2", "0.5"} <= {text.get_text() for text in upper.get_yticklabels()}


def test_reader_that_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m lucid_nb info | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and len(done.stdout) == 1


def test_help_names_every_device_and_version_is_told(capsys):
    for arguments, words in ((["demo", "--help"], ("cpu", "cuda", "gpu", "mlx", "metal")),
                             (["--version"], (lnb.__version__,))):
        with pytest.raises(SystemExit):
            main(arguments)
        printed = capsys.readouterr().out
        assert all(word in printed for word in words)


def test_interrupt_ends_in_one_line(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(demo, "train", interrupt)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "lucid-nb demo: stopped by the keyboard\n"


def test_demo_without_a_cache_folder_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(lnb.config, "cache_dir", tmp_path / "file")
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(demo, "train", lambda *_: demo.Run([1.0], [0.5], np.zeros(355, int), 1.0))
    assert main(["demo", "--out", str(tmp_path / "demo.png")]) == 0
    printed = capsys.readouterr().out
    assert "no folder to keep them in is usable" in printed and "None" not in printed


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, which is Linux's")
@pytest.mark.parametrize(("output", "status", "lines"), [(">&-", 0, 0), ("> /dev/full", 1, 1)])
def test_output_that_takes_nothing_is_no_traceback(output, status, lines):
    command = f"{sys.executable} -m lucid_nb info {output}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status and done.stderr.count("\n") == lines and "Traceback" not in done.stderr


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "one"])
def test_seed_out_of_range_is_refused(seed):
    with pytest.raises(lnb.ConfigError, match=r"seed: the seed is .* Use an integer from 0"):
        lnb.random.seed(seed)


def test_setting_that_is_wrong_is_one_line():
    done = subprocess.run([sys.executable, "-m", "lucid_nb", "info"], capture_output=True, text=True, check=False,
                          env=os.environ | {"LUCID_NB_NUM_THREADS": "abc"})
    assert done.returncode == 1
    assert re.fullmatch(r"lucid-nb: config: LUCID_NB_NUM_THREADS is 'abc'\. .*\n", done.stderr)


def test_bench_outside_a_clone_says_where_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "SCRIPT", tmp_path / "network.py")
    assert main(["bench"]) == 1
    assert "come with a clone" in capsys.readouterr().err


def test_bench_passes_on_what_it_was_asked(capfd, tmp_path, monkeypatch):
    script = tmp_path / "network.py"
    script.write_text("import sys; print(sys.argv[1:]); sys.exit('gemm' not in sys.argv)")
    monkeypatch.setattr(bench, "SCRIPT", script)
    assert main(["bench", "gemm", "--threads", "2"]) == 0
    assert "['gemm', '--threads', '2', '--out', '.']" in capfd.readouterr().out
    assert main(["bench"]) == 1
    assert "ended with status 1" in capfd.readouterr().err
