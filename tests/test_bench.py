"""The measuring under bench/: what it says of numbers that are known, and that it refuses results that differ."""

import argparse
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import apart  # noqa: E402
import harness  # noqa: E402
import libraries  # noqa: E402
import network  # noqa: E402
import tables  # noqa: E402
from harness import Group, Row  # noqa: E402
from work import Work, function  # noqa: E402

import lucid_nb as lnb  # noqa: E402

sys.path.remove(str(BENCH))


def _cells(lines: list[str]) -> list[dict[str, str]]:
    """The rows of a table by the names of its columns."""
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.fixture
def quiet(monkeypatch):
    """Rows that are not printed, measured in a moment; the settings that a test may change."""
    settings = harness.Settings(show=lambda group, row: None, rounds=2)
    monkeypatch.setattr(harness, "settings", settings)
    return settings


@pytest.fixture
def groups():
    """Two tables of known numbers."""
    first = Group("products", "0.9 / 1.1", [
        Row("small", 0.5, 10.0, 20.0, flops=4e4, others={"NumPy": (40.0, 0.25), "JAX": "differs"}),
        Row("large", 2.0, 20_000.0, 10_000.0, flops=4e9, others={"NumPy": (20_000.0, 1.0)})])
    second = Group("norms", "none", [
        Row("rows", 1.0, 100.0, 100.0, moved=2e6, others={"torch channels_last": (50.0, 2.0)})])
    return [first, second]


def test_geometric_mean_leaves_out_what_is_no_number():
    assert harness.geometric_mean([0.5, 8.0, math.nan]) == pytest.approx(2.0)
    assert math.isnan(harness.geometric_mean([math.nan]))


def test_summary_has_means_of_each_library_over_its_own_rows(groups):
    products, norms = _cells(tables.summary(groups))
    assert products["geometric mean"] == "1.00" and products["worst"] == "2.00" and products["rows"] == "2"
    assert products["ours / NumPy"] == "0.50" and products["ours / JAX"] == ""
    assert norms["ours / torch channels_last"] == "2.00" and norms["ours / NumPy"] == ""
    assert "speed-up" not in products


def test_details_have_rates_and_times_of_all_and_say_who_differs(groups):
    small, large, rows = _cells(tables.details(groups, "torch"))
    assert list(small) == ["group", "work", "ratio", "ours (us)", "torch (us)", "GFLOP/s", "GB/s",
                           "torch channels_last (us)", "JAX (us)", "NumPy (us)"]
    assert small["GFLOP/s"] == "4.0" and small["JAX (us)"] == "differs" and small["NumPy (us)"] == "40.00"
    assert large["GFLOP/s"] == "200.0" and large["JAX (us)"] == "" and large["GB/s"] == ""
    assert rows["GB/s"] == "20.0" and rows["torch channels_last (us)"] == "50.00" and rows["GFLOP/s"] == ""


def test_rows_without_a_peer_have_empty_cells():
    lone = [Group("forward", "none", [Row("work", ours=10.0, others={"NumPy": (20.0, 0.5)})])]
    summary, = _cells(tables.summary(lone))
    assert summary["geometric mean"] == summary["worst"] == "" and summary["ours / NumPy"] == "0.50"
    row, = _cells(tables.details(lone, "torch"))
    assert row["ratio"] == row["torch (us)"] == "" and row["NumPy (us)"] == "20.00"


def test_line_of_a_row_has_what_was_measured(groups):
    small, _ = groups[0].rows
    assert harness.line(groups[0], small).split() == [
        "products", "small", "0.50", "10.00", "us", "20.00", "us", "4.0", "GFLOP/s", "NumPy", "0.25", "JAX", "differs"]
    assert "nan" not in harness.line(groups[0], Row("work", ours=10.0))


def test_threads_add_columns_and_name_slow_rows_that_compute(groups):
    assert tables.slow_rows(groups) == []
    for group in groups:
        for row in group.rows:
            row.single = 1.5 * row.ours
    groups[1].rows[0].ours, groups[1].rows[0].single = 20_000.0, 30_000.0        # slow, but it moves bytes
    assert [row["speed-up"] for row in _cells(tables.summary(groups))] == ["1.50", "1.50"]
    assert [row["1 thread (us)"] for row in _cells(tables.details(groups, "torch"))][1] == "30000.00"
    text = " ".join(tables.slow_rows(groups))
    assert "products, large (1.50)" in text and "small" not in text and "norms" not in text
    groups[0].rows[1].single = 1.7 * 20_000.0
    assert tables.slow_rows(groups)[1].endswith(": none.")


def test_text_names_the_command_and_the_machine_and_is_written_whole(groups, tmp_path):
    text = tables.text("Title", groups, {"torch": "2.13"}, ["A note."], "torch", "python bench/network.py")
    assert text.startswith("# Title\n\n`python bench/network.py`\n") and "torch 2.13." in text and "A note." in text
    assert tables.save(text, tmp_path / "new" / "table.md").read_text(encoding="utf-8") == text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["table.md"]


def test_plots_read_what_tables_write(groups, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is in the extras plot, test and bench")
    monkeypatch.syspath_prepend(str(BENCH))
    import plots
    path = tables.save(tables.text("Title", groups, {}, peer="torch"), tmp_path / "network_2_threads.md")
    found = plots.read(path)
    assert [group.title for group in found] == ["products", "norms"]
    assert [row.ratio for row in found[0].rows] == [0.5, 2.0]
    assert found[0].rows[0].flops == pytest.approx(4e4)
    assert plots.save(found, tmp_path / "plot.png", 2).stat().st_size > 10_000


def test_plots_are_below_the_peak_that_a_table_names_or_the_fastest_call(groups, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is in the extras plot, test and bench")
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(network.peak, "copy_gigabytes", lambda *_: 1.0)
    monkeypatch.setattr(network.peak, "gigaflops", lambda: 250.04)
    import plots
    table = tables.save(tables.text("Title", groups, {}, network.notes(1), "torch"), tmp_path / "network.md")
    assert plots.peak_of(table) == 250.0
    rows = groups[0].rows                                       # PyTorch's large call: 400 GFLOP/s
    assert plots.roof(rows, 2, 250.0) == (500.0, "measured peak of 2 cores, 500 GFLOP/s")
    assert plots.roof(rows, 1, 250.0) == (pytest.approx(400.0), "fastest call, 400 GFLOP/s")


@pytest.mark.parametrize("ratio,names", [(math.nan, ["network.md"]), (0.5, ["network.md", "network.png"])])
def test_only_ratios_are_plotted(ratio, names, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is in the extras plot, test and bench")
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(network, "notes", lambda threads: ["A note."])
    args = argparse.Namespace(threads=1, lucid_python=None)
    network.save([Group("forward", "none", [Row("work", ratio, 10.0, 20.0 * ratio)])], args, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_measure_tells_the_slower_of_two():
    ratio, ours, peer = harness.measure(lambda: sum(range(20_000)), lambda: sum(range(200)), rounds=5, seconds=0.001)
    assert ratio > 5 and ours > peer > 0


def test_compare_refuses_unequal_results(quiet):
    group = Group("group", "none")
    with pytest.raises(AssertionError, match="label"):
        harness.compare(group, "label", lambda: np.ones(3), lambda: np.array([1, 1, 1.1]))
    assert group.rows == []
    harness.compare(group, "label", lambda: np.ones(3), lambda: np.zeros(3), rtol=None, seconds=1e-4)
    assert group.rows[0].ratio > 0


def test_other_libraries_that_differ_or_fail_have_no_time(quiet, capsys):
    def fails():
        raise NotImplementedError("no such thing")
    group = Group("group", "none")
    others = {"equal": lambda: np.ones(3), "other": lambda: np.full(3, 1.1), "shape": lambda: np.ones(1), "none": fails}
    harness.compare(group, "label", lambda: np.ones(3), lambda: np.ones(3), seconds=1e-4, others=others)
    found = group.rows[0].others
    assert found["other"] == found["shape"] == "differs" and found["none"] == "none"
    assert "none, label: NotImplementedError: no such thing" in capsys.readouterr().err
    time, ratio = found["equal"]
    assert time > 0 and ratio > 0


def test_results_are_compared_before_steps_change_them(quiet):
    """The calls of a training step give another result each time; the first of each are compared."""
    counts = {name: iter(range(10 ** 6)) for name in ("ours", "peer", "other")}
    group = Group("group", "none")
    steps = {name: lambda numbers=numbers: np.array([next(numbers)]) for name, numbers in counts.items()}
    harness.compare(group, "label", steps["ours"], steps["peer"], seconds=1e-4, others={"other": steps["other"]})
    assert not isinstance(group.rows[0].others["other"], str)


def test_limit_keeps_the_first_rows(quiet):
    quiet.limit = 1
    group = Group("group", "none")
    for label in ("first", "second"):
        harness.compare(group, label, lambda: np.ones(3), None, seconds=1e-4)
    row, = group.rows
    assert row.label == "first" and row.ours > 0 and math.isnan(row.ratio) and math.isnan(row.peer)


def test_numpy_and_the_installed_libraries_give_what_numpy_gives():
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal((6, 5)).astype(np.float32) for _ in range(2))
    work = Work("matmul", [a, b], {"transposed": "b"})
    found = {side.name: side.results(side.call()) for side in libraries.sides(work)}
    assert "NumPy" in found
    for name, result in found.items():
        np.testing.assert_allclose(result, a @ b.T, rtol=1e-5, atol=1e-5, err_msg=name)


def test_function_puts_operands_where_pytorch_has_them():
    x, weight, bias = np.arange(12, dtype=np.float32).reshape(2, 6), np.full(6, 2, np.float32), np.ones(6, np.float32)
    call = function(lnb.nn.functional, Work("layer_norm", [], {"normalized_shape": (6,)}))
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * 2 + 1
    np.testing.assert_allclose(call(*map(lnb.tensor, (x, weight, bias))).numpy(), wanted, rtol=1e-5)


class _Side:
    """A worker that answers with known seconds."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.seconds = seconds

    def ask(self, threads: int) -> float:
        return self.seconds[threads]


def test_sides_that_take_turns_fill_in_the_row(monkeypatch):
    monkeypatch.setattr(apart, "BUDGET", 0)
    row: dict[str, object] = {"label": "row"}
    apart.take_turns(row, [_Side({1: 3e-3, 2: 2e-3}), _Side({2: 4e-3})], 2)
    assert row == {"label": "row", "ours": pytest.approx(2000), "single": pytest.approx(3000),
                   "peer": pytest.approx(4000), "ratio": pytest.approx(0.5)}
    assert Row(**row).speedup == pytest.approx(1.5)


def test_sides_at_different_rows_are_refused():
    apart.check_same({"group": "gemm"}, {"group": "gemm"})
    with pytest.raises(SystemExit, match=r"different rows: .*gemm.* and the end"):
        apart.check_same({"group": "gemm"}, {})


def test_environment_tells_libraries_their_threads(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    told = apart.environment(1)
    assert told["OPENBLAS_NUM_THREADS"] == told["NPROC"] == "1"
    assert told["XLA_FLAGS"] == "--xla_dump_to=x --xla_cpu_multi_thread_eigen=false"


@pytest.mark.parametrize("words,said", [(["--help"], "--lucid-python"), (["--only", "nothing"], "unknown: nothing"),
                                        (["gemm", "--threads", "0"], "--threads is 0. Use 1 or more."),
                                        (["forward", "--lucid-python", sys.executable], "has no lucid-dl"),
                                        (["forward", "--lucid-python", "no/such"], "no/such has no lucid-dl")])
def test_command_line_answers(words, said):
    done = subprocess.run([sys.executable, str(BENCH / "network.py"), *words], capture_output=True, text=True,
                          check=False)
    assert said in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert done.returncode == (0 if words == ["--help"] else 2)
