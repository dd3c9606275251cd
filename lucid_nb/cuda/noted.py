"""What a thread launches, noted so that runs of a step can be compared: kernels, numbers, and memory by its role."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .memory import Memory

UPLOAD, DOWNLOAD, WAIT, LOAN, CUPY = "upload", "download", "wait", "loan", "cupy"
# What the host has a part in, so that a graph cannot hold it: what happens, and what to do instead.
CROSSINGS = {
    UPLOAD: "sends data of the host to the device, which a graph would not do again. Make the tensor before the step, "
            "and write new data into it.",
    DOWNLOAD: "reads what the device has computed (item, bool, numpy, positions and masks that are looked at), which a "
              "graph would not do again. Give the tensor back, and read it after the step.",
    WAIT: "waits for the device, which does not work while a graph is captured. Call synchronize after the step.",
    LOAN: "lends memory to another library, whose work a graph would not hold. Do that before or after the step.",
    CUPY: "calls CuPy, which may wait for the device. Set config.cuda_libraries = False, or leave this outside."}


class Launched(NamedTuple):
    """A launch: two are equal if they do the same to the same memory."""

    name: str
    blocks: int
    numbers: tuple[str, ...]         # as texts, which tell 1 from True, 0.0 from -0.0, and not NaN from NaN
    kernel: Any                      # and what else chooses the code
    memory: tuple[Any, ...]          # memory made since the notes began by its number, other memory by its place


class Launches(list[Launched]):
    """The launches of a thread, in order, and what the host does between them: `crossings`."""

    def __init__(self) -> None:
        super().__init__()
        self.crossings: list[str] = []
        self.made: dict[int, int] = {}               # memory of the step by its id: the latest of that id counts
        self.kept: dict[int, Memory] = {}            # older memory, which has to stay where it is
        self.total = 0

    def make(self, memory: Memory) -> None:
        """Number new memory."""
        self.made[id(memory)] = self.total
        self.total += 1

    def launch(self, name: str, kernel: Any, blocks: int, arguments: Sequence[Any]) -> None:
        """Note a kernel, or a call of a library."""
        numbers, memory = [], []
        for given in _flattened(arguments):
            if type(given) is Memory:
                memory.append(self._role(given))
            else:
                numbers.append(repr(given))
        self.append(Launched(name, blocks, tuple(numbers), kernel, tuple(memory)))

    def _role(self, memory: Memory) -> tuple[Any, ...]:
        root = memory.root or memory
        number = self.made.get(id(root))
        if number is not None:
            return "made", number, memory.place - root.place, memory.array.dtype
        self.kept[id(root)] = root
        return "kept", memory.place, memory.size, memory.array.dtype


def _flattened(arguments: Sequence[Any]) -> Iterator[Any]:
    for given in arguments:
        if type(given) is tuple:
            yield from given
        else:
            yield given
