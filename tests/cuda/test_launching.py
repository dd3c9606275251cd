"""Launches without numba's dispatcher: the parameters of every kind of argument, and what the driver is asked for.

What the launches of the library hand over is compared with the PTX of each kernel in test_compile.py.
"""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from lucid_nb.cuda import launching, runtime
from lucid_nb.errors import DeviceError

from .conftest import SIMULATED, why_not_compiling
from .offline import HANDLE, STREAM, Dispatcher, by_numba, check_parameters, device_memory, driver, sent_by

pytestmark = pytest.mark.skipif(SIMULATED, reason="the simulator launches nothing")

X, Y = ((40, "float32", 0x7F0000001000), (3, "uint16", 0x7F0000002002))
NUMBERS = [kind(3) for kind in launching.LETTERS if kind is not launching.Memory]
EXTREMES = [-1, -2**63, 2**63 - 1, 1e300, -0.0, float("nan"), float("-inf"), True, False, 1 - 2j, np.complex64(2 + 3j),
            *[kind(value) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
              for value in (np.iinfo(kind).min, np.iinfo(kind).max)], np.float32(1e-45), np.float64(5e-324)]


@pytest.fixture
def gpu():
    """The driver's calls, noted."""
    with driver() as found:
        yield found


def launch(kernel, *arguments, blocks=5, threads=256, stream=launching.LEGACY_STREAM):
    launching.launch(kernel, blocks, threads, stream, arguments)


def compiled_for(*arguments, **kernel):
    """A kernel that numba has launched once."""
    found = Dispatcher(**kernel)
    launch(found, *arguments)
    return found


def mixed(numbers):
    """Memory and numbers, the short ones between longer ones and in tuples."""
    between = [one for number in numbers for one in (number, np.int8(7))]
    return [device_memory(*X), *between, (np.int32(1), 2, np.uint8(3)), device_memory(*Y), (1.5, np.float32(2))]


# ----------------------------------------------------------------------------------------------------- parameters
@pytest.mark.skipif(bool(why_not_compiling()), reason=why_not_compiling())
def test_every_kind_of_argument_lies_where_the_kernel_reads_it():
    from numba import cuda
    from numba.cuda.typing.typeof import typeof
    arguments = mixed(NUMBERS)
    names = ", ".join(f"a{number}" for number in range(len(arguments)))
    space = {}
    exec(f"def kernel({names}):\n    a0[0] = 1", space)
    types = tuple(typeof(getattr(given, "array", given)) for given in arguments)
    ptx, _ = cuda.compile(space["kernel"], types, device=False, abi="numba", output="ptx", cc=(8, 0))
    check_parameters(arguments, ptx)


@pytest.mark.parametrize("number", EXTREMES, ids=repr)
def test_numbers_are_packed_as_numba_packs_them(gpu, number):
    assert sent_by([number], gpu) == b"".join(by_numba([number]))


def test_views_of_memory_have_parameters_of_their_own(gpu):
    whole = device_memory(*X)
    assert whole.address == X[2]
    assert sent_by([whole.view(np.dtype("uint8"))], gpu) == b"".join(by_numba([device_memory(160, "uint8", X[2])]))


# ---------------------------------------------------------------------------------------------------- what is sent
def test_second_launch_goes_to_the_driver_with_its_geometry(gpu):
    kernel = compiled_for(device_memory(*X), 3)
    launch(kernel, device_memory(*X), 4)
    launch(kernel, device_memory(*X), 4, blocks=2**31 - 1, threads=(8, 32))
    assert kernel.configured == [(5, 256, 0)] and len(kernel.launches) == 1
    assert [call[:5] for call in gpu.sent] == [(HANDLE, (5, 1, 1), (256, 1, 1), 0, 0),
                                               (HANDLE, (2**31 - 1, 1, 1), (8, 32, 1), 0, 0)]


@pytest.mark.parametrize("other", [
    (3.0, device_memory), (np.int32(3), device_memory), (True, device_memory), (3, lambda *_: device_memory(*Y))])
def test_other_types_are_other_kernels(gpu, other):
    number, memory = other
    kernel = compiled_for(device_memory(*X), 3)
    launch(kernel, memory(*X), number)
    assert len(kernel.launches) == 2 and not gpu.sent


def test_tuples_of_other_lengths_are_other_kernels(gpu):
    kernel = compiled_for((1, 2), (3, 4, 5))
    launch(kernel, (1, 2, 3), (4, 5))
    assert len(kernel.launches) == 2 and not gpu.sent
    launch(kernel, (1, 2), (3, 4, 5))
    assert gpu.sent[0].parameters == np.arange(1, 6).tobytes()


def test_graphs_are_built_of_launches_on_their_stream(gpu, monkeypatch):
    builder = SimpleNamespace()
    monkeypatch.setattr(launching, "core_stream", lambda stream: SimpleNamespace(handle=STREAM * (stream is builder)))
    monkeypatch.setattr(runtime, "require", lambda op: None)
    kernel = compiled_for(3)
    with runtime.kept_launches(builder) as launches:
        runtime.launch(kernel, 2, 32, 4)
    runtime.launch(kernel, 2, 32, 5)
    assert [call.stream for call in gpu.sent] == [STREAM, 0]
    assert [one[:3] for one in launches] == [("kernel", 2, ("4",))]


# -------------------------------------------------------------------------------------------------- left to numba
@pytest.mark.parametrize("kernel", [{"cooperative": True}, {"debug": True}, {"extensions": [object()]},
                                    {"launch_config_sensitive": True}], ids=lambda needs: next(iter(needs)))
def test_kernels_that_need_more_stay_with_numba(gpu, kernel):
    launch(found := compiled_for(3, **kernel), 3)
    assert len(found.launches) == 2 and not gpu.sent


@pytest.mark.parametrize("arguments", [(np.float16(1),), ((1, (2, 3)),), (np.datetime64(3, "s"),), ((1,) * 513,)],
                         ids=lambda arguments: str(arguments)[:30])
def test_arguments_that_are_not_packed_stay_with_numba(gpu, arguments):
    launch(found := compiled_for(*arguments), *arguments)
    assert len(found.launches) == 2 and not gpu.sent


def test_numbers_that_do_not_fit_stay_with_numba(gpu):
    kernel = compiled_for(3)
    launch(kernel, 2**63)
    launch(kernel, 4)
    assert kernel.launches[1:] == [(2**63,)] and len(gpu.sent) == 1


# ------------------------------------------------------------------------------------------------ errors, lifetimes
@pytest.mark.parametrize("error, remedy", [
    ("OUT_OF_MEMORY", "smaller batches"), ("ILLEGAL_ADDRESS", "launched before has stopped.*detect_anomaly"),
    ("INVALID_VALUE", "nvidia-smi")])
def test_errors_of_the_driver_name_the_kernel_and_the_remedy(gpu, error, remedy):
    kernel = compiled_for(3)
    gpu.status = SimpleNamespace(name=f"CUDA_ERROR_{error}")
    with pytest.raises(DeviceError, match=rf"^kernel: the driver did not launch this kernel \({error}\)\. .*{remedy}"):
        launch(kernel, 3)
    gpu.status = 0
    launch(kernel, 4)
    assert gpu.sent[-1].parameters == np.int64(4).tobytes()


@pytest.mark.parametrize("given, error, text", [
    (RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: no memory"), DeviceError, r"^kernel: .* \(OUT_OF_MEMORY\)\. Use smaller"),
    (TypeError("no such type"), TypeError, "no such type")])
def test_errors_of_the_first_launch_are_those_of_later_ones(gpu, given, error, text):
    kernel = Dispatcher()

    def refuse(*_):
        raise given
    kernel.launch = refuse
    with pytest.raises(error, match=text):
        launch(kernel, 3)


def test_launches_while_the_driver_reads_leave_the_parameters_alone(gpu):
    """By another thread, which has a context and buffers of its own, or by a finaliser in the same one."""
    kernel = compiled_for(3)
    contexts = launching.cuda.current_context

    def meanwhile():
        gpu.during = lambda: None
        launch(kernel, 5)
        thread = threading.Thread(target=launch, args=(kernel, 6))
        thread.start()
        thread.join()
    launch(kernel, 3)
    gpu.during = meanwhile
    launch(kernel, 4)
    assert [call.parameters for call in gpu.sent] == [np.int64(number).tobytes() for number in (3, 5, 6, 4)]
    assert contexts.call_count == 2
    gpu.during = lambda: gpu.sent.append(len(launching._thread.spare))
    launch(kernel, 7)
    assert gpu.sent[-2] == 1                          # of the two buffers of this thread one is in use


def test_memory_lives_until_the_driver_has_it(gpu):
    kernel, returned = compiled_for(device_memory(*X)), []
    memory = device_memory(*X)
    pool = SimpleNamespace(give_back=lambda *_: returned.append(len(gpu.sent)))
    memory.block = SimpleNamespace(pool=pool, size=512)
    gpu.during = lambda: returned.append("reads")
    arguments = [memory]
    del memory
    launching.launch(kernel, 1, 1, 0, (arguments.pop(),))
    assert returned == ["reads", 1]
