"""Threads, forks, and the bound on what is recorded."""

import io
import subprocess
import sys
import threading

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.expr import trace
from lucid_nb.program import type_program

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
mx, runtime = table.mx, table.runtime
ADD = table.map(type_program(trace(lambda m, x, y: x + y, 2), ["float32", "float32"], table.NATIVE()), "add")


def recorded(raw):
    """How many additions wait to be computed before this array is known."""
    text = io.StringIO()
    mx.export_to_dot(text, raw)
    return text.getvalue().count('"Add"')


def ones(count=3):
    return table.from_numpy(np.ones(count, "float32"))


def in_thread(function):
    """What a function gives in a thread of its own."""
    results = []
    worker = threading.Thread(target=lambda: results.append(function()))
    worker.start()
    worker.join()
    return results[0]


def test_recording_is_lazy_and_bounded():
    runtime.wait()
    x, one = ones(), ones()
    for _ in range(5):
        x = ADD(x, one)
    assert recorded(x) == 5
    for _ in range(20 * runtime.LIMIT):
        x = ADD(x, one)
    assert recorded(x) <= runtime.LIMIT
    assert table.to_numpy(x).tolist() == [6 + 20 * runtime.LIMIT] * 3


def test_chains_that_grow_in_turn_are_all_bounded():
    one = ones()
    chains = [ones() for _ in range(4)]
    for _ in range(3 * runtime.LIMIT):
        chains = [ADD(x, one) for x in chains]
    assert max(map(recorded, chains)) <= runtime.LIMIT


def test_synchronize_computes_everything_recorded():
    x, one = ones(), ones()
    kept = [ADD(x, one), ADD(one, one)]
    table.synchronize()
    assert [recorded(raw) for raw in kept] == [0, 0]


def test_dropped_results_are_not_kept_alive():
    runtime.wait()
    before = mx.get_active_memory()
    for _ in range(5):
        ADD(ones(1_000_000), ones(1))
    table.synchronize()
    assert mx.get_active_memory() - before < 4_000_000


@pytest.mark.serial
def test_array_recorded_in_one_thread_is_computed_in_another():
    one = ones()
    x = ADD(one, one)
    assert in_thread(lambda: table.to_numpy(ADD(x, one))).tolist() == [3, 3, 3]
    y = in_thread(lambda: ADD(x, x))
    assert table.to_numpy(y).tolist() == [4, 4, 4]


@pytest.mark.serial
def test_four_threads_compute_on_shared_arrays():
    shared = ADD(ones(1000), ones(1000))
    failures = []

    def work(number):
        x = table.full((1000,), number, np.dtype("float32"))
        for _ in range(200):
            x = ADD(x, shared)
            if not (table.to_numpy(ADD(x, x)) % 2 == 0).all():
                failures.append(number)
        if not (table.to_numpy(x) == number + 400).all():
            failures.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


FORKED = """
import os
import numpy as np
from lucid_nb import mlx
from lucid_nb.errors import BackendError
x = mlx.from_numpy(np.ones(3, "float32"))
mlx.to_numpy(mlx.copy(x))
child = os.fork()
if child == 0:
    try:
        mlx.to_numpy(mlx.copy(x))
    except BackendError as error:
        os._exit(7 if "spawn" in str(error) else 1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.serial
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_forked_process_is_refused_and_does_not_hang():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60,
                          check=True)
    assert done.stdout.strip() == "7"


def test_device_describes_itself():
    assert table.is_available()
    assert "MLX" in table.description()
    assert table.DEVICE == "mlx"
    assert not table.ALIASES
    assert "put_slice" in table.UNSUPPORTED["assign"]


def test_extents_above_those_of_mlx_are_refused_in_words():
    for make in (lambda: lnb.broadcast_to(lnb.ones(1, device="mlx"), (2 ** 31,)),
                 lambda: lnb.zeros((0, 2 ** 31), device="mlx"), lambda: lnb.full((2 ** 31, 0), 1, device="mlx"),
                 lambda: lnb.ones((0, 1), device="mlx").reshape(0, 2 ** 31)):
        with pytest.raises(lnb.ShapeError, match=r"^\w+: an extent is above MLX's limit of 2147483647. Use smaller"):
            make()
