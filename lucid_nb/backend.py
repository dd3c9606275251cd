"""The table of primitives that a device implements, and the way from a device or an array to it.

A device is a folder of the package; its module-level functions are the entries of the table. What they take and give
is listed in ENTRIES. A folder is imported when its device is first used.
"""

import importlib
import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from .dtypes import BFLOAT16
from .errors import BackendError, DeviceError, LucidError

FOLDERS = {"cpu": "kernels", "cuda": "cuda", "mlx": "mlx"}
ENTRIES = """
dtype_of from_numpy to_numpy empty full iota cast copy assign map reduce arg_reduce logsumexp softmax log_softmax
softmax_grad log_softmax_grad cross_entropy cross_entropy_grad reshape permute broadcast_to slice as_strided
reinterpret concatenate pad repeat
gather take_along scatter scatter_add scatter_along compress expand nonzero
matmul linalg conv conv_input_grad conv_weight_grad synchronize
fourier scan extreme_scan recurrence sort argsort partition topk searchsorted unique isin describe over
""".split()


class Table:
    """The entries of one device. An entry that is missing says why, and what to do."""

    def __init__(self, name: str, module: Any) -> None:
        self.name, self.module, self.aliases = name, module, bool(module.ALIASES)
        self.device: str = module.DEVICE
        self.entries = getattr(module, "__dict__", {})       # of a folder; asking a module for what it lacks takes long

    def __getattr__(self, entry: str) -> Any:
        if entry.startswith("__"):                # Python asks for its own protocols this way
            raise AttributeError(entry)
        found = getattr(self.module, entry, None)
        if found is None:
            reason = self.module.UNSUPPORTED.get(entry, "Use .to('cpu').")
            raise DeviceError(f"{entry}: not available on {self.name}. {reason}")
        setattr(self, entry, found)
        return found

    def has(self, entry: str) -> bool:
        """Does the device implement this entry itself?"""
        return entry in self.entries if type(self.module) is ModuleType else hasattr(self.module, entry)


_tables: dict[str, Table] = {}
_by_type: dict[type, Table] = {}
when_loaded: list[Callable[[Table], None]] = []      # told of each device that is used for the first time
plain: set[type] = set()         # kinds of raw arrays that are a device's own, and not made by `admit`


def table(device: str) -> Table:
    """The table of a device, importing its folder on first use."""
    found = _tables.get(device)
    if found is None:
        try:
            module = importlib.import_module(f".{FOLDERS[device]}", __package__)
        except ImportError as missing:
            raise BackendError(f"{device}: {missing}. "
                               f"Install the extra, in a clone: pip install -e '.[{device}]'.") from None
        if not module.is_available():
            raise BackendError(f"{device}: {module.UNAVAILABLE}")
        found = _tables[device] = Table(device, module)
        plain.update(module.RAW_TYPES)
        _by_type.update(dict.fromkeys(module.RAW_TYPES, found))
        for tell in when_loaded:
            tell(found)
    return found


def tell_devices(entry: str, *arguments: Any) -> None:
    """Call an entry of every device in use that has it."""
    for found in list(_tables.values()):
        if found.has(entry):
            getattr(found, entry)(*arguments)


def of(raw: Any) -> Table:
    """The table of the device that a raw array lives on."""
    return _by_type.get(type(raw)) or _of_numpy()


def entry(table: Table, name: str) -> Callable:
    """An entry of the table, or the CPU's with its arrays copied to the host and its results back: where there is none,
    or where it gives NotImplemented."""
    return partial(_there_or_on_host, table, name)


def _there_or_on_host(device: Table, name: str, *arguments: Any) -> Any:
    found = getattr(device, name)(*arguments) if device.has(name) else NotImplemented
    return _on_host(device, name, *arguments) if found is NotImplemented else found


def _on_host(device: Table, name: str, *arguments: Any) -> Any:
    hosts = [device.to_numpy(given) if isinstance(given, device.module.RAW_TYPES) else given for given in arguments]
    found = getattr(table("cpu"), name)(*hosts)
    return tuple(map(device.from_numpy, found)) if isinstance(found, tuple) else device.from_numpy(found)


def admit(kind: type, name: str, module: Any) -> None:
    """Raw arrays of a class have a table of their own: that of `module`, which stands for a folder."""
    _by_type[kind] = Table(name, module)


class Unbatchable(LucidError):
    """Somebody asked on the host for a value that differs between the examples of a level of `vmap`.

    `vmap` answers it; users see it where they kept a tensor from inside.
    """

    def __init__(self, level: Any, place: Any = None) -> None:
        super().__init__("vmap: a value that differs between examples was read outside of the function. Let the "
                         "function return it.")
        self.level, self.place = level, place          # place: the line of an index, if that is what began it


class Batching:
    """What `vmap` puts here when it is first called, so that nothing else need know of it.

    `lift` brings tensors of different levels together, `fit` a value and what it is written into, `made` new memory;
    `instead` runs a function of positions that differ between examples on all examples at once.
    """

    lift: Callable[[list[Any]], list[Any]] | None = None
    fit: Callable[[str, Any, Any], Any] | None = None
    made: Callable[[Any], Any] | None = None
    instead: Callable[..., Any]


batching = Batching()


def _of_numpy() -> Table:
    found = table("cpu")
    scalars = {np.dtype(code).type for code in "?bBhHiIlLqQefdFD"} | {BFLOAT16.type}
    _by_type.update(dict.fromkeys(scalars, found))
    return found


# ---------------------------------------------------------------------------------------------- device names
class _Chosen(threading.local):
    """The device of new tensors, in this thread."""

    device = "cpu"


_chosen = _Chosen()


def is_usable(device: str) -> bool:
    """Can this machine compute on the device?"""
    try:
        table(device)
    except BackendError:
        return False
    return True


def devices() -> list[str]:
    """The devices that this machine can use.

    >>> import lucid_nb as lnb
    >>> "cpu" in lnb.devices()
    True
    """
    return [name for name in FOLDERS if is_usable(name)]


def resolve(device: Any) -> str:
    """The device that a user means; raises where it is unknown or not usable."""
    if device is None:
        return _chosen.device
    name = getattr(device, "name", device)
    if name == "gpu":
        usable = [found for found in ("cuda", "mlx") if is_usable(found)]
        if not usable:
            raise BackendError("gpu: neither cuda nor mlx is usable here. Use device='cpu'.")
        name = usable[0]
    name = "mlx" if name == "metal" else name
    if not isinstance(name, str) or name not in FOLDERS:
        raise DeviceError(f"device: {device!r} is unknown. Use one of {', '.join(FOLDERS)} (or gpu, metal).")
    table(name)
    return name


def default_device() -> str:
    """The device of new tensors in this thread."""
    return _chosen.device


def set_default_device(device: str) -> None:
    """Make new tensors of this thread live on `device`."""
    _chosen.device = resolve(device)


def synchronize(device: Any = None) -> None:
    """Wait until everything that was asked of a device, by default of all in use, is done: before times are taken.

    >>> import lucid_nb as lnb
    >>> lnb.synchronize()
    """
    if device is None:
        tell_devices("synchronize")
    else:
        table(resolve(device)).synchronize()


class device:
    """A block whose new tensors live on a device: `with lnb.device("mlx"):`."""

    def __init__(self, name: str) -> None:
        self.name = resolve(name)

    def __enter__(self) -> str:
        self.before, _chosen.device = _chosen.device, self.name
        return self.name

    def __exit__(self, *_: object) -> None:
        _chosen.device = self.before
