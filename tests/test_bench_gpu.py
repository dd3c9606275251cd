"""The script that times a GPU: what it makes of processes that fail, and that each row can be made. No GPU is used."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.append(str(BENCH))
import gpu  # noqa: E402
import gpu_cases  # noqa: E402

import lucid_nb as lnb  # noqa: E402
from lucid_nb import config  # noqa: E402

# A process as the script starts them: it does its rows one after the other, and what each does is its name.
STAND_IN = '''
import json, os, sys, time
done = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--done"]
print("noise"); print(json.dumps({"torch": "none"}))
for word in WORDS:
    name = "streams, " + word
    if name in done:
        continue
    print(json.dumps({"begun": name}), flush=True)
    if word.startswith("good"):
        print(json.dumps({"row": {"label": word, "ours": 1.0, "others": {"own kernels": [2.0, 0.5]}},
                          "group": "streams"}), flush=True)
    elif word == "bad":
        print(json.dumps({"failed": name, "reason": "AssertionError: we differ"}), flush=True)
    elif word == "fatal":
        print(json.dumps({"failed": name, "reason": "DeviceError: it stopped"}), flush=True)
        os._exit(3)
    elif word == "slow":
        time.sleep(60)
    else:
        os._exit(139)
'''


def filled(tmp_path, monkeypatch, words, seconds=30.0):
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN.replace("WORDS", repr(words)))
    monkeypatch.setattr(gpu, "SCRIPT", script)
    report = gpu.Report(time.monotonic() + seconds, [])
    report.fill("streams")
    return report


def labels(report):
    return [row.label for row in report.groups["streams"].rows]


def test_rows_that_fail_are_reported_and_the_others_measured(tmp_path, monkeypatch):
    report = filled(tmp_path, monkeypatch, ["good 1", "bad", "good 2"])
    assert labels(report) == ["good 1", "good 2"]
    assert report.troubles == ["streams, bad: AssertionError: we differ"]
    assert report.groups["streams"].rows[0].others == {"own kernels": (2.0, 0.5)}


def test_what_stops_the_gpu_or_the_process_costs_one_row(tmp_path, monkeypatch):
    report = filled(tmp_path, monkeypatch, ["good 1", "fatal", "good 2", "crash", "good 3"])
    assert labels(report) == ["good 1", "good 2", "good 3"]
    assert report.troubles == ["streams, fatal: DeviceError: it stopped", "streams, crash: the process ended with 139"]


def test_a_process_that_never_begins_is_not_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "SCRIPT", tmp_path / "missing.py")
    report = gpu.Report(time.monotonic() + 30, [])
    report.fill("streams")
    assert report.troubles == ["streams: the process ended with 2"]


def test_rows_behind_the_deadline_are_reported(tmp_path, monkeypatch):
    report = filled(tmp_path, monkeypatch, ["good 1", "slow", "good 2"], 1.0)
    assert labels(report) in ([], ["good 1"])
    assert len(report.troubles) == 1 and "was stopped when the time was over" in report.troubles[0]


def test_a_table_says_what_failed_and_what_was_refused(tmp_path, monkeypatch):
    report = filled(tmp_path, monkeypatch, ["good 1", "bad"])
    report.take({"refused": "cuDNN has no plan for this"})
    monkeypatch.setattr(gpu.Where, "device", "cpu")
    gpu.write(report, "12 passed in 3 s; failed tests/test_x.py", tmp_path)
    text = (tmp_path / "cuda.md").read_text()
    for wanted in ("- streams, bad: AssertionError", "cuDNN has no plan for this", "failed tests/test_x.py",
                   "| streams | good 1 |"):
        assert wanted in text


def test_own_kernels_are_timed_without_libraries_and_the_setting_comes_back():
    seen = []

    def call():
        seen.append(config.cuda_libraries)
        if len(seen) == 2:
            raise ValueError
    run = gpu.with_own_kernels(call)
    run()
    with pytest.raises(ValueError):
        run()
    assert seen == [False, False] and config.cuda_libraries


@pytest.fixture
def small_rows(monkeypatch):
    monkeypatch.setattr(gpu_cases.Where, "device", "cpu")
    monkeypatch.setattr(gpu_cases.Where, "is_small", True)
    return gpu_cases.cases()


def test_rows_have_names_of_their_own_and_a_group(small_rows):
    names = [case.name for case in small_rows]
    assert len(set(names)) == len(names) > 40
    assert {case.group for case in small_rows} == set(gpu_cases.TARGETS)


@pytest.mark.parametrize("chapter", ["streams", "small", "matrix", "convolution", "depthwise", "sorting"])
def test_every_row_can_be_made_and_gives_numbers(small_rows, chapter):
    """The whole rows, beside PyTorch, are run by `bench/gpu.py --dry-run`."""
    rows = [case for case in small_rows if case.chapter == chapter]
    for case in rows:
        assert np.isfinite(gpu.host(case.make(lnb)())).all()
    assert rows


def test_full_rows_have_the_names_of_small_ones(small_rows, monkeypatch):
    monkeypatch.setattr(gpu_cases.Where, "is_small", False)
    large = gpu_cases.cases()
    assert [case.name for case in large if "additions" not in case.label] == \
        [case.name for case in small_rows if "additions" not in case.label]
    assert all(case.flops == 0 or case.flops > 1e6 for case in large)
