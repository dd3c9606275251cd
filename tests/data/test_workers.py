"""DataLoader's workers. Oracles: the same loader without workers, and what the system says of processes and memory."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import DataLoader, TensorDataset, pool, sharing

from . import cases

pytestmark = pytest.mark.serial
ROOT = Path(__file__).resolve().parents[2]


def segments():
    """Names of the library's shared memory on this machine, where they are files."""
    return {path.name for path in Path("/dev/shm").glob("lnb_*")}


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = segments()
    yield
    gc.collect()
    assert multiprocessing.active_children() == [] and segments() <= before


def plain(batch):
    """A batch of `Rows` as plain lists."""
    return batch["row"].tolist(), batch["index"].tolist(), batch["name"]


def test_workers_give_the_batches_that_there_are_without_them():
    rows = cases.Rows(23)
    here, there = (DataLoader(rows, 4, shuffle=True, seed=3, drop_last=True, num_workers=count,
                              persistent_workers=count > 0) for count in (0, 2))
    expected = [list(map(plain, here)) for _ in range(2)]
    assert [list(map(plain, there)) for _ in range(2)] == expected and expected[0] != expected[1]


def test_workers_draw_by_seed_epoch_and_batch_and_never_alike():
    """Report 53. 2 epochs of 24 samples: no number twice, of four generators; the same in other workers."""
    def run(count, epochs):
        loader = DataLoader(cases.Draws(), 3, num_workers=count, seed=5, persistent_workers=True)
        return np.concatenate([batch.numpy() for _ in range(epochs) for batch in loader])
    alone, shared = run(1, 2), run(2, 1)
    assert np.array_equal(alone[:24, :4], shared[:, :4]) and set(shared[:, 4]) == {0, 1}
    assert np.unique(alone[:, :3]).size == 2 * 24 * 3 and np.unique(alone[:, 3]).size == 2 * 24


def test_worker_init_fn_answers_for_the_generators():
    loader = DataLoader(cases.Draws(4), batch_size=None, num_workers=1, worker_init_fn=cases.seed_by_id, seed=0)
    drawn = np.stack([sample.numpy() for sample in loader])
    assert np.array_equal(drawn[:, 0], np.random.RandomState(100).rand(4)) and np.unique(drawn[:, 1:4]).size == 12


def test_streams_are_dealt_to_workers_and_draw_apart():
    loader = DataLoader(cases.Counting(7), batch_size=2, num_workers=2, seed=1, persistent_workers=True)
    first, second = [[batch.numpy() for batch in loader] for _ in range(2)]
    assert [batch[:, 0].tolist() for batch in first] == [[0, 2], [1, 3], [4, 6], [5]]
    assert np.unique(np.concatenate(first + second)[:, 1]).size == 14
    loader.epoch = 0
    assert all(map(np.array_equal, first, [batch.numpy() for batch in loader]))


def test_persistent_workers_stay_until_the_loader_goes():
    loader = DataLoader(cases.Rows(6), num_workers=1, persistent_workers=True, seed=0, shuffle=True)
    next(iter(loader))                                     # an epoch that was left early
    worker, = multiprocessing.active_children()
    pairs = [(plain(a), plain(b)) for a, b in zip(loader, loader)]          # two epochs at once
    assert [sorted(index for _, (index,), _ in epoch) for epoch in zip(*pairs)] == [list(range(6))] * 2
    assert multiprocessing.active_children() == [worker] and len(list(loader)) == 6
    del loader


def test_workers_share_counters_load_little_and_change_what_is_their_own():
    counter = multiprocessing.get_context("spawn").Value("i", 0)
    dataset = cases.Witness(counter)
    for number, ((loaded, threads, blas, rows),) in enumerate(DataLoader(dataset, num_workers=1, collate_fn=list)):
        assert (loaded, threads, blas) == ([], 1, "1") and rows[0] == number + 1
    assert counter.value == 4 and not dataset.rows.any()


def test_tensors_come_with_dtype_and_memory_of_their_own():
    rows = TensorDataset(np.arange(6000.0).reshape(6, 1000), lnb.arange(6), lnb.ones((6, 2), dtype=lnb.bfloat16))
    there = []
    for batch, expected in zip(DataLoader(rows, 1, num_workers=1), DataLoader(rows, 1)):
        assert [part.dtype for part in batch] == [part.dtype for part in expected]
        assert [part.tolist() for part in batch] == [part.tolist() for part in expected]
        batch[0][0] = 5
        there.append(batch[0])
    assert all((part.numpy() == 5).all() for part in there)


def test_out_of_order_gives_every_batch_once():
    options = dict(in_order=False, prefetch_factor=3, collate_fn=cases.keep_list, persistent_workers=True)
    assert sorted(index for index, in DataLoader(range(9), num_workers=2, **options)) == list(range(9))


# ------------------------------------------------------------------------------------------------- troubles
def test_exception_of_a_worker_comes_with_its_traceback():
    dataset = cases.Troubles(_1=cases.raise_key, _3=cases.raise_two_part, _5=cases.raise_stop)
    batches = iter(DataLoader(dataset, batch_size=None, num_workers=1))
    for number, kind, text in ((0, KeyError, "lost"), (2, lnb.errors.WorkerError, "TwoPartError: 3 and more"),
                               (4, lnb.errors.WorkerError, "StopIteration: 5")):
        assert next(batches) == number
        with pytest.raises(kind, match=text) as found:
            next(batches)
        note, = found.value.__notes__
        assert note.startswith("In worker 0 of DataLoader:\nTraceback") and "in raise_" in note
    assert list(batches) == [6, 7]                         # the others are still there


@pytest.mark.parametrize(("trouble", "text"), [(cases.kill_self, "worker 0 was killed by SIGKILL"),
                                               (cases.leave, "worker 0 ended with exit code 3")])
def test_dead_worker_is_reported(trouble, text):
    batches = iter(DataLoader(cases.Troubles(_1=trouble), num_workers=1))
    with pytest.raises(lnb.errors.WorkerError, match=f"^DataLoader: {text}"):
        list(batches)
    with pytest.raises(StopIteration):
        next(batches)


def test_worker_that_hangs_is_reported_and_ended():
    batches = iter(DataLoader(cases.Troubles(_0=cases.sleep), num_workers=1, timeout=0.25))
    with pytest.raises(lnb.errors.WorkerError, match=r"worker 0 gave no batch within 0\.25 s"):
        next(batches)


def test_what_cannot_be_sent_is_named():
    with pytest.raises(lnb.ConfigError, match=r"DataLoader: the collate_fn cannot be sent to a worker"):
        iter(DataLoader(range(3), num_workers=1, collate_fn=lambda samples: samples))


def test_fork_is_refused():
    with pytest.raises(lnb.ConfigError, match="multiprocessing_context is 'fork'"):
        DataLoader(range(3), num_workers=1, multiprocessing_context="fork")


def test_full_shared_memory_sends_batches_along(monkeypatch):
    def full(size):
        raise OSError(28, "No space left on device")
    letter = sharing.Sender(1).send(np.arange(5000.0))
    monkeypatch.setattr(sharing, "make_segment", full)
    for sent in (letter, sharing.Sender(1).send(np.arange(5000.0))):
        assert np.array_equal(sharing.Receiver().take(sent), np.arange(5000.0))
    assert letter.along == [] and sent.slot is None


# ------------------------------------------------------------------------------------------- whole programs
HEAD = """
import os, signal, sys, time
from lucid_nb.data import DataLoader
from tests.data import cases
"""


def program(text, *arguments, **options):
    """A program of its own, in a process group of its own."""
    return subprocess.Popen([sys.executable, *arguments, *(["-c", HEAD + text] if text else [])], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT)}, **options)


def alive(group):
    """Is a process of the group left?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_end(group, seconds=20):
    until = time.monotonic() + seconds
    while alive(group) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(group)


def test_command_line_may_start_workers_and_is_told_where_to_define_a_dataset():
    process = program("print(sum(batch.item() for batch in DataLoader(range(5), num_workers=1)))\n"
                      "class Here(cases.Rows): pass\nlist(DataLoader(Here(4), num_workers=1))")
    output, errors = process.communicate(timeout=60)
    assert output.strip() == "10" and "Define it in a file that it can import" in errors, errors


def test_script_without_guard_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(HEAD + "print(list(DataLoader(range(5), num_workers=1)))\n")
    output, errors = program("", str(script)).communicate(timeout=60)
    assert output == "" and "`if __name__ == \"__main__\":`" in errors.splitlines()[-1]


@pytest.mark.parametrize("kind", ["SIGINT", "SIGKILL"])
def test_end_of_a_program_leaves_no_process_and_no_memory(kind):
    """Ctrl-C goes to all processes of a terminal, SIGKILL to the program alone."""
    before = segments()
    process = program("for batch in DataLoader(cases.Rows(10000), 10, num_workers=1):\n"
                      "    print('batch', flush=True); time.sleep(0.05)")
    assert process.stdout.readline() == "batch\n"
    (os.killpg if kind == "SIGINT" else os.kill)(process.pid, getattr(signal, kind))
    errors = process.communicate(timeout=60)[1]
    assert wait_for_end(process.pid) and segments() <= before
    assert ("KeyboardInterrupt" in errors and errors.count("Traceback") == 1) if kind == "SIGINT" else not errors


def test_ctrl_c_waits_until_a_worker_has_started():
    outside = dict(os.environ)
    with pytest.raises(KeyboardInterrupt), pool.starting():
        signal.raise_signal(signal.SIGINT)
        inside = dict(os.environ)
    assert inside == outside | dict.fromkeys(pool.ONE_THREAD, "1") and dict(os.environ) == outside
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_closing_is_done_once_and_only_by_the_owner():
    batches = iter(DataLoader(range(4), num_workers=1))
    batches.pool.owner = 0                                 # as in a forked child
    batches.pool.close()
    assert not batches.pool.is_closed
    batches.pool.owner = os.getpid()
    pool._close_all()
    assert batches.pool.is_closed and list(batches) == []
