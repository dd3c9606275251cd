"""One test for each report of users of other libraries that must not be reported here: number, what, right behaviour.

Reports that are about time are rows of bench/reports.py. Those about processes, caches and forks run in processes of
their own, with a cache of their own, one after another.
"""

import ast
import configparser
import gc
import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import backend, errors, op, program

from .data import cases

F = lnb.nn.functional
ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(lnb.__file__).parent
DEVICES = ["cpu", pytest.param("mlx", marks=pytest.mark.skipif(
    not backend.is_usable("mlx"), reason="needs MLX, which exists for Apple silicon and for Linux"))]
serial = pytest.mark.serial
SQUARE = """
import sys, numpy as np, lucid_nb as lnb
x = lnb.asarray(np.full(100, 9.0))
print(lnb.square(x)[3].item(), lnb.sqrt(x)[3].item(), "numba" in sys.modules)
"""


def run(text, cache, cwd=ROOT, **environment):
    """The output of a program in a process with this cache, or with that of the tests."""
    variables = os.environ | {"PYTHONPATH": str(cwd)} | ({"LUCID_NB_CACHE_DIR": str(cache)} if cache else {})
    variables = {name: value for name, value in (variables | environment).items() if value is not None}
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=300, cwd=cwd,
                          env=variables, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kernels_in(folder):
    """The files of a cache."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def leaf(values, device="cpu"):
    """A float32 leaf."""
    tensor = lnb.asarray(np.array(values, "float32"), device=device)
    tensor.requires_grad = True
    return tensor


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that a test may edit."""
    ignore = shutil.ignore_patterns("__pycache__", "cuda", "mlx", "data", "nn", "optim", "commands")
    shutil.copytree(PACKAGE, tmp_path / "lucid_nb", ignore=ignore)
    return tmp_path


def edit(path, before, after):
    """Replace a text that must be there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")


# --------------------------------------------------------------------------------------- A. kernels on the CPU
@serial
def test_report_a01_edited_formula_or_helper_is_seen_by_the_next_process(copied):
    cache = copied / "cache"
    assert run(SQUARE, cache, copied) == "81.0 3.0 True"
    edit(copied / "lucid_nb" / "ops" / "arithmetic.py", "    return x * x\n", "    return 2 * x * x\n")
    edit(copied / "lucid_nb" / "kernels" / "math" / "rounding.py", "def sqrt_float64(x): return square_root(x)",
         "def sqrt_float64(x): return 2.0 * square_root(x)")
    assert run(SQUARE, cache, copied) == "162.0 6.0 True"


@serial
def test_report_a02_second_process_hits_and_files_do_not_pile_up(tmp_path):
    assert run(SQUARE, tmp_path) == "81.0 3.0 True"
    before = kernels_in(tmp_path)
    assert before
    assert run(SQUARE, tmp_path) == "81.0 3.0 False"         # Numba was not even imported
    assert kernels_in(tmp_path) == before


@serial
@pytest.mark.parametrize("environment", [dict(LUCID_NB_CACHE_DIR="/dev/null/cache"),
                                         dict(LUCID_NB_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME="/dev/null")],
                         ids=["folder", "home"])
def test_report_a03_no_writable_folder_means_one_warning_and_right_results(environment, tmp_path):
    text = ("import warnings, numpy as np\nwith warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n    import lucid_nb as lnb\n"
            "    x = lnb.asarray(np.arange(3.0))\n    print((x + x).tolist(), (x * x).tolist(), len(seen))")
    assert run(text, tmp_path, **environment) == "[0.0, 2.0, 4.0] [0.0, 1.0, 4.0] 1"


@serial
@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.sweep)])
def test_report_a04_processes_fill_an_empty_cache_at_once(count, tmp_path):
    """Eight of them that want one kernel also in tests/kernels/test_store.py."""
    text = "import numpy as np, lucid_nb as lnb\nprint(lnb.square(lnb.asarray(np.full(9, 0.5)))[0].item())"
    environment = os.environ | {"LUCID_NB_CACHE_DIR": str(tmp_path)}
    started = [subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=ROOT, env=environment) for _ in range(count)]
    for process in started:
        output, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert output == "0.25\n"
    assert not [name for name in kernels_in(tmp_path) if "tmp" in name]


@serial
def test_report_a05_import_loads_no_kernel(tmp_path):
    text = ("import sys, lucid_nb\n"
            "print([name for name in ('numba', 'llvmlite', 'lucid_nb.kernels') if name in sys.modules])")
    assert run(text, tmp_path) == "[]"


@serial
def test_report_a06_import_compiles_nothing(tmp_path):
    cache = tmp_path / "cache"
    run("import lucid_nb, lucid_nb.nn, lucid_nb.optim, lucid_nb.data", cache)
    assert kernels_in(cache) == []


FORK = """
import os, sys, numpy as np, lucid_nb as lnb
lnb.set_num_threads(2)
x = lnb.asarray(np.random.default_rng(0).standard_normal(1_000_000).astype("float32"))
before = (lnb.exp(x).sum().item(), lnb.sum(x).item())
child = os.fork()
if child == 0:
    os._exit(0 if (lnb.exp(x).sum().item(), lnb.sum(x).item()) == before else 1)
print(os.waitpid(child, 0)[1], (lnb.exp(x).sum().item(), lnb.sum(x).item()) == before)
"""


@serial
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_report_a07_forked_child_computes_the_same():
    assert run(FORK, None) == "0 True"


@serial
def test_report_a08_four_threads_call_at_once():
    before, wrong = lnb.get_num_threads(), []
    lnb.set_num_threads(2)
    arrays = [lnb.asarray(np.full(20_000, k, "float32")) for k in range(4)]
    large = [lnb.asarray(np.full(200_000, k, "float32")) for k in range(4)]

    def work(k):
        for turn in range(1500):
            x = large[k] if turn % 50 == 0 else arrays[k]
            if lnb.sum(x + x).item() != 2 * k * x.size:
                wrong.append((k, turn))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    finally:
        lnb.set_num_threads(before)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_report_a09_work_is_cut_finer_than_there_are_threads():
    """So that of uneven rows nobody is left with the long half: four pieces a thread, taken as they come free."""
    from lucid_nb.kernels import threads
    for number in (2, 8):
        pieces = -(-100_000 // threads._chunk(100_000, 100, number))
        assert pieces >= 3 * number


@serial
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [1000, 1_000_000])
def test_report_a11_nothing_is_lost_in_shared_cells_or_from_another_start(device, count):
    before, ones = lnb.get_num_threads(), lnb.ones(count, dtype="float32", device=device)
    cell, places = lnb.zeros(1, dtype="float32", device=device), lnb.zeros(count, dtype="int64", device=device)
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            assert lnb.scatter_add(cell, places, ones, axis=0).tolist() == [count]
            assert lnb.index_add(cell, places, ones).tolist() == [count]
            assert lnb.sum(ones, initial=5).item() == count + 5
    finally:
        lnb.set_num_threads(before)


@serial
def test_report_a12_sum_does_not_depend_on_the_number_of_threads():
    x = lnb.asarray(np.random.default_rng(0).standard_normal(1_000_003).astype("float32"))
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            lnb.set_num_threads(threads)
            found.append((lnb.sum(x).item(), lnb.mean(x * x).item()))
    finally:
        lnb.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [2, 70_000])
def test_report_a13_nan_is_seen(size, dtype, device):
    x = lnb.asarray(np.resize(np.array([np.nan, 1.0], "float32"), size), device=device).astype(dtype)
    is_nan = np.resize([True, False], size)
    for question, wanted in (("isnan", is_nan), ("isfinite", ~is_nan), ("isinf", is_nan & False)):
        np.testing.assert_array_equal(getattr(lnb, question)(x).to_host(), wanted)
    assert lnb.nanmax(x).item() == lnb.nanmin(x).item() == 1 and np.isnan([lnb.max(x).item(), lnb.min(x).item()]).all()
    assert np.isnan(lnb.maximum(x, 0).to_host()[0::2].astype(float)).all()
    assert lnb.fmax(x, 0).tolist() == np.where(is_nan, 0, 1).tolist() and (x != x).tolist() == is_nan.tolist()


def test_report_a13_nanmax_sees_nan():
    for values in ([np.nan, 1], [1, np.nan], [np.nan] + [1] * 200, [1] * 200 + [np.nan]):
        for dtype in ("float32", "float64"):
            x = lnb.asarray(np.array(values, dtype))
            assert lnb.nanmax(x).item() == 1 and lnb.nanmin(x).item() == 1
            assert np.isnan(lnb.max(x).item()) and np.isnan(lnb.min(x).item())
            assert lnb.nansum(x).item() == len(values) - 1


def test_report_a14_literals_and_integer_powers_take_the_dtype_of_the_tensor():
    x = lnb.asarray(np.array([1, 2, 3], "float32"))
    for result in (x * 0.5, 0.5 * x, x / 2, x ** 2, x ** 3, x ** 0.5, lnb.gelu(x), lnb.softplus(x), x + 1):
        assert result.dtype == np.float32
    for name in ("gelu", "tanh", "softplus", "sigmoid"):          # and nothing inside is wider
        typed = program.type_program(op.registry[name].outputs, ["float32"], frozenset())
        assert {step.dtype for step in typed.steps} <= {"float32", "bool"}


@pytest.mark.parametrize("call, text", [
    (lambda x: x + np.array(["a", "b"]), "add: <U1 data has no arithmetic here"),
    (lambda x: lnb.matmul(x, np.array(["a", "b"])), "matmul: <U1 data has no arithmetic here"),
    (lambda x: lnb.exp(np.array([object()])), "exp: object data has no arithmetic here"),
    (lambda x: -(x > 0), "negative: has no meaning for bool. Use .astype"),
    (lambda x: lnb.arctan2(x, 1j), "arctan2: has no meaning for complex")], ids=range(5))
def test_report_a15_rules_refuse_in_one_line_before_any_compiler(call, text):
    with pytest.raises(errors.DTypeError) as caught:
        call(lnb.ones(2))
    said = str(caught.value)
    assert said.startswith(text) and "\n" not in said and "numba" not in said.lower() and len(said) < 200


# --------------------------------------------------------------------------------------- B. gradients and numbers
@pytest.mark.parametrize("device", DEVICES)
def test_report_b20_branch_that_where_did_not_take_gives_zero(device):
    x = leaf([0, 2], device)
    with np.errstate(all="ignore"):
        lnb.where(x > 0, lnb.log(x), x).sum().backward()
    assert x.grad.tolist() == [1, 0.5]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("order", [1, 2, 3, np.inf])
def test_report_b21_norm_at_zero_has_gradient_zero(order, device):
    for function in (lambda n: n, lambda n: n ** 2):
        x = leaf([0, 0, 0], device)
        function(lnb.linalg.vector_norm(x, ord=order)).backward()
        assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("value", [1, 0.1])
def test_report_b22_std_of_equals_has_gradient_zero(value, device):
    x = leaf([value] * 3, device)
    found = lnb.std(x)
    found.backward()
    assert found.item() == 0 and x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("device", DEVICES)
def test_report_b23_powers_at_base_zero_have_gradient_zero(device):
    x = leaf([0], device)
    (x * x ** 0.5).sum().backward()
    assert x.grad.tolist() == [0]
    y = leaf([2.0, 0.5], device)
    (lnb.asarray(np.zeros(2, "float32"), device=device) ** y).sum().backward()
    assert y.grad.tolist() == [0, 0]


@pytest.mark.parametrize("device", DEVICES)
def test_report_b25_logsumexp_of_only_minus_infinity_has_gradient_zero(device):
    x = leaf([-np.inf, -np.inf], device)
    found = lnb.logsumexp(x)
    found.backward()
    assert found.item() == -np.inf and x.grad.tolist() == [0, 0]


@pytest.mark.parametrize("device", DEVICES)
def test_report_b27_loss_of_ignored_targets_is_zero_and_a_bad_class_is_named(device):
    for function in (lnb.cross_entropy, lnb.nn.functional.cross_entropy, lnb.nn.functional.nll_loss):
        x = leaf([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], device)
        found = function(x, lnb.asarray(np.array([-100, -100]), device=device))
        found.backward()
        assert found.item() == 0 and x.grad.tolist() == [[0] * 3] * 2
        with pytest.raises(errors.IndexError, match=r"target -4 at \(1,\) is no class\. Use 0 to 2"):
            function(x, lnb.asarray(np.array([0, -4]), device=device))


@pytest.mark.parametrize("device", DEVICES)
def test_report_b28_ties_split_evenly_in_every_function(device):
    for function in (lnb.max, lnb.amax, lnb.min, lnb.amin, lnb.nanmax, lnb.nanmin, lambda x: lnb.max(x, axis=0),
                     lambda x: lnb.linalg.vector_norm(x, ord=np.inf), lambda x: lnb.max(x.reshape(1, 2))):
        x = leaf([2, 2], device)
        function(x).sum().backward()
        assert x.grad.tolist() == [0.5, 0.5]
    for function in (lnb.maximum, lnb.minimum, lnb.fmax, lnb.fmin):
        x, y = leaf([2], device), leaf([2], device)
        function(x, y).sum().backward()
        assert x.grad.tolist() == y.grad.tolist() == [0.5]


def test_report_b30_writing_into_an_array_while_recording_is_differentiable():
    a, x = leaf(np.ones((2, 2))), lnb.zeros((4, 4), dtype="float32")
    x[:2, :2] = a
    x.sum().backward()
    assert a.grad.tolist() == np.ones((2, 2)).tolist()


def test_report_b31_overwritten_value_names_both_ops_and_both_lines():
    w = leaf([1, 2])
    y = lnb.exp(w)
    saved = sys._getframe().f_lineno + 1
    z = y * y
    y[0] = 0
    with pytest.raises(errors.GradError) as caught:
        z.sum().backward()
    said = str(caught.value)
    assert f"multiply: a value saved at test_reports.py:{saved}" in said
    assert f"overwritten by setitem at test_reports.py:{saved + 1}" in said


def test_report_b31_leaf_is_refused_before_it_is_written():
    w = leaf([1, 2])
    with pytest.raises(errors.GradError, match="setitem: the tensor is a leaf that requires grad"):
        w[0] = 5
    with pytest.raises(errors.GradError, match="in-place add: "):
        w += 1
    assert w.detach().tolist() == [1, 2]


def test_report_b32_deep_graphs_neither_recurse_backward_nor_on_release():
    x = leaf([1])
    y = x
    for _ in range(50_000):
        y = y + 1
    y.sum().backward()
    del y
    assert x.grad.tolist() == [1]
    z = x
    for _ in range(50_000):                      # released without a backward
        z = z + x
    del z


def test_report_b33_product_of_a_value_with_itself():
    x = leaf([3])
    h = 2 * x
    (h * h).sum().backward()
    assert x.grad.tolist() == [24]


@serial
def test_report_b34_forwards_without_backward_keep_nothing():
    x = leaf(np.ones(16))

    def forward():
        y = lnb.tanh(x * 2 + 1).sum()
        assert y.requires_grad
    gc.collect()
    gc.disable()
    try:
        forward()
        before = len(gc.get_objects())
        for _ in range(1000):
            forward()
        assert len(gc.get_objects()) - before < 50
        with lnb.no_grad():
            kept = lnb.exp(x)
        assert kept.node is None
    finally:
        gc.enable()


@pytest.mark.parametrize("device", [*DEVICES, pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
def test_report_b36_one_script_runs_on_every_device(device):
    """Oracle: the loss of a linear regression after gradient descent, in NumPy."""
    data = np.random.default_rng(0)
    x, y = data.standard_normal((16, 3)).astype("float32"), data.standard_normal(16).astype("float32")
    expected = np.zeros(3)
    for _ in range(5):
        expected -= 0.1 * 2 * x.T @ (x @ expected - y) / 16

    inputs, targets = lnb.asarray(x, device=device), lnb.asarray(y, device=device)
    weights = lnb.zeros(3, dtype="float32", device=device)
    error = lnb.fuse(lambda found, wanted: ((found - wanted) ** 2).mean())
    for _ in range(5):
        weights = weights - 0.1 * lnb.grad(lambda w: error(inputs @ w, targets))(weights)
    assert weights.device == device
    np.testing.assert_allclose(weights.to_host(), expected, rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["var", "std"])
def test_report_b37_spread_of_one_value(name, device):
    """Oracle: NumPy's value; its gradient has the shape of the value, and nothing crashes."""
    x = lnb.tensor([3.0], dtype="float32", device=device, requires_grad=True)
    found = getattr(lnb, name)(x)
    found.backward()
    assert found.item() == getattr(np, name)([3.0]) and x.grad.tolist() == [0]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        unbiased = getattr(lnb, name)(x, ddof=1)
        unbiased.backward()
    assert np.isnan(unbiased.item()) and unbiased.shape == () and x.grad.shape == (1,)


# --------------------------------------------------------------------------------------------- C. what networks use
@serial
def test_report_a10_products_of_a_batch_in_threads_do_not_nest_other_pools():
    a, b = (np.random.default_rng(seed).standard_normal((64, 256, 256), np.float32) for seed in (1, 2))
    results, before = [], lnb.get_num_threads()
    try:
        for count in (1, 2):
            lnb.set_num_threads(count)
            results.append(lnb.matmul(lnb.tensor(a), lnb.tensor(b)).numpy())
    finally:
        lnb.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.matmul(a, b, dtype=np.float64), atol=2e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_report_c38_same_padding_with_a_stride_gives_the_ceiling_and_pads_on_the_right(device):
    x = lnb.arange(1.0, 6.0, dtype="float32").reshape(1, 1, 5).to(device)
    w = lnb.ones((1, 1, 4), dtype="float32", device=device)
    result = F.conv1d(x, w, stride=2, padding="same").numpy()
    padded = np.pad(np.arange(1.0, 6.0), (1, 2))
    np.testing.assert_array_equal(result[0, 0], [padded[i:i + 4].sum() for i in (0, 2, 4)])


@pytest.mark.parametrize("device", DEVICES)
def test_report_c39_uneven_padding(device):
    x = np.arange(25, dtype="float32").reshape(1, 1, 5, 5)
    w = lnb.ones((1, 1, 3, 3), dtype="float32", device=device)
    result = F.conv2d(lnb.tensor(x, device=device), w, padding=((0, 1), (2, 0)))
    padded = np.pad(x[0, 0], ((0, 1), (2, 0)))
    expected = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).sum((2, 3))
    assert result.shape == (1, 1, 4, 5)
    np.testing.assert_array_equal(result.numpy()[0, 0], expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride, dilation, padding", [(1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 1, 2)])
def test_report_c41_gradients_of_grouped_strided_convolutions(groups, stride, dilation, padding, device):
    draw = np.random.default_rng(groups)
    x, w = draw.standard_normal((1, 4, 9)), draw.standard_normal((4, 4 // groups, 3))
    options = dict(stride=stride, dilation=dilation, padding=padding, groups=groups)
    a, b = (lnb.tensor(v.astype("float32"), device=device, requires_grad=True) for v in (x, w))
    F.conv1d(a, b, **options).square().sum().backward()

    def loss(x, w):
        return float(F.conv1d(lnb.tensor(x), lnb.tensor(w), **options).square().sum().item())
    for gradient, place, values in ((a.grad, 0, x), (b.grad, 1, w)):
        expected = np.empty_like(values)
        for index in np.ndindex(values.shape):
            step = np.zeros_like(values)
            step[index] = 1e-6
            both = [loss(*[v + sign * step if number == place else v for number, v in enumerate((x, w))])
                    for sign in (1, -1)]
            expected[index] = (both[0] - both[1]) / 2e-6
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_report_c42_the_overhang_of_ceil_mode_is_never_counted(device):
    found = F.avg_pool1d(lnb.ones((1, 1, 4), dtype="float32", device=device), 3, stride=2, padding=1, ceil_mode=True)
    np.testing.assert_allclose(found.numpy()[0, 0], [2 / 3, 1, 1 / 2], rtol=1e-6)


@serial
def test_report_c43_a_large_kernel_needs_no_unfolded_copy(tmp_path):
    program = """
import resource, numpy as np, lucid_nb as lnb
x = lnb.tensor(np.ones((1, 1, 1024, 1024), "float32"))
w = lnb.tensor(np.ones((1, 1, 65, 65), "float32"))
F = lnb.nn.functional
F.conv2d(x[:, :, :80, :80], w)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = F.conv2d(x, w, padding=32)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, result[0, 0, 500, 500].item())
"""
    done = run(program, tmp_path)
    peak, value = map(float, done.split())
    assert value == 65 * 65
    assert peak < 100


# -------------------------------------------------------------------------------------------- D. getting started
def settings():
    """setup.cfg."""
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def test_report_d46_installation_brings_no_other_framework():
    wanted = settings()["options"]["install_requires"].split()
    names = {"".join(c for c in line if c.isalnum() or c in "_-").lower() for line in wanted}
    assert not [name for name in names for big in ("torch", "jax", "tensorflow", "mlx", "cuda") if name.startswith(big)]


@serial
def test_report_d47_small_op_takes_the_short_road():
    """That a sum of 8 floats is quick is measured in bench/reports.py; here, that it calls no more than it must."""
    x, calls = leaf(np.ones(8)), []
    x + x
    sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        x + x
    finally:
        sys.setprofile(None)
    assert len(calls) <= 12, calls


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name, text", [
    ("matmul", "matmul: inner sizes differ, 3 and 2 (shapes (2, 3) and (2, 3)). Transpose one."),
    ("dot", "dot: axis 1 of shape (2, 3) has size 3, axis 0 of shape (2, 3) has 2. They must be equal.")])
def test_report_d55_shapes_that_do_not_fit_are_refused_in_one_text_on_every_device(name, text, device):
    x = leaf(np.ones((2, 3)), device)
    with pytest.raises(errors.ShapeError) as caught:
        getattr(lnb, name)(x, x)
    assert str(caught.value) == text


@pytest.mark.parametrize("device", DEVICES)
def test_report_d50_boolean_index_and_nonzero_exist_on_every_device(device):
    x = lnb.asarray(np.array([[0.5, 2.0], [3.0, -1.0]], "float32"), device=device)
    found = x[x > 1]
    assert found.tolist() == [2.0, 3.0] and found.device == device
    assert [part.tolist() for part in lnb.nonzero(x > 1)] == [[0, 1], [1, 0]]


def test_report_d51_memory_is_shared_both_ways_and_stays_read_only():
    x = lnb.arange(4.0)
    np.from_dlpack(x)[1] = 7
    assert x.tolist() == [0, 7, 2, 3]
    array = np.arange(3.0)
    for found in (lnb.from_dlpack(array), lnb.asarray(array)):
        found[0] += 5
    assert array[0] == 10
    array.flags.writeable = False
    for found in (lnb.from_dlpack(array), lnb.asarray(array)):
        assert (found * 2).tolist() == [20, 2, 4] and not np.from_dlpack(found).flags.writeable
        with pytest.raises(errors.LucidError, match="read-only"):
            found[0] = 1


def test_report_d53_workers_draw_different_numbers_and_the_same_ones_again():
    def run():
        loader = lnb.data.DataLoader(cases.Draws(8), 1, num_workers=4, seed=3)
        return np.concatenate([batch.numpy()[:, :3] for batch in loader])
    first = run()
    assert np.unique(first).size == 24 and np.array_equal(run(), first)


@serial
@pytest.mark.parametrize("device", DEVICES)
def test_report_d54_scatter_add_gives_the_same_bits_every_time(device):
    random, before = np.random.default_rng(0), lnb.get_num_threads()
    cells = lnb.asarray(random.integers(0, 10, 1_000_000), device=device)
    values = lnb.asarray(random.standard_normal(1_000_000).astype("float32"), device=device)
    zeros, found = lnb.zeros(10, dtype="float32", device=device), []
    try:
        for threads in (1, 1, 2, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.scatter_add(zeros, cells, values, axis=0).numpy().tobytes())
            found.append(lnb.index_add(zeros, cells, values).numpy().tobytes())
    finally:
        lnb.set_num_threads(before)
    assert len(set(found)) == 1


def test_report_d56_declared_python_versions_are_those_of_the_source():
    declared = settings()
    low, high = (tuple(map(int, part.strip("<>= ").split("."))) for part in
                 declared["options"]["python_requires"].split(","))
    classifiers = declared["metadata"]["classifiers"].splitlines()
    listed = [line.rsplit(" ", 1)[1] for line in classifiers if "Python :: 3." in line]
    assert listed == [f"3.{minor}" for minor in range(low[1], high[1])]
    assert low <= sys.version_info[:2] < high
    for path in sorted(PACKAGE.rglob("*.py")):                # no syntax that is younger than the oldest version
        ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=low)


def test_report_d56_nothing_is_bound_to_one_system():
    """No wheel of our own: the package is Python text and data."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in files if not any(part.endswith(("cache", "cache__")) for part in path.parts)}
    assert suffixes <= {".py", ".pyi", ".typed", ".npz", ".md", ""}
