"""Every setting: its environment variable, its default, what it allows. Nothing else reads the environment.

The variable of `num_threads` is LUCID_NB_NUM_THREADS, and so on; an empty variable counts as unset. A bad value raises
ConfigError when lucid_nb is imported. Settings are attributes of this module, checked when they are assigned:

>>> from lucid_nb import config
>>> config.winograd
False
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .errors import ConfigError

PREFIX = "LUCID_NB_"
MIB = 1 << 20
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class UnknownSettingError(ConfigError, AttributeError):
    """There is no such setting, or it is fixed before import."""


class Setting(NamedTuple):
    """One setting: how its text is read, what values it takes, in words and as a test."""

    parse: Callable[[Any], Any]
    default: Callable[[], Any]
    allowed: str


# ---------------------------------------------------------------------------------------------------------- the machine
def physical_memory() -> int | None:
    """Bytes of memory of this machine, None when unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def cgroup_cpus(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> float | None:
    """The CPU quota of this process in CPUs (cgroup v1 or v2, the tightest on the way up), None without one."""
    try:
        rows = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    quotas = []
    for _, controllers, place in (row for row in rows if len(row) == 3):
        if controllers == "":
            top, read = root, _quota_v2
        elif "cpu" in controllers.split(","):
            top, read = root / "cpu", _quota_v1
        else:
            continue
        # Inside a container the path may be the host's, which does not exist here; the root of the mount always counts.
        group = top / place.strip("/")
        quotas += [read(folder) for folder in (group, *group.parents) if folder == top or top in folder.parents]
    known = [quota for quota in quotas if quota is not None]
    return min(known) if known else None


def _quota_v2(folder: Path) -> float | None:
    """cpu.max: "<microseconds or max> <period>"."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _quota_v1(folder: Path) -> float | None:
    """cpu.cfs_quota_us, -1 without a limit, over cpu.cfs_period_us."""
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        return quota / int((folder / "cpu.cfs_period_us").read_text()) if quota > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def usable_cpus() -> int:
    """CPUs that this process may use: its affinity mask and its cgroup quota, not what the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = cgroup_cpus()
    return cpus if quota is None else max(1, min(cpus, int(quota)))


def cache_home() -> Path | None:
    """The user's folder for caches of this library, None when the user has no home."""
    variable, below = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}.get(
        sys.platform, ("XDG_CACHE_HOME", ".cache"))
    named = os.environ.get(variable, "")
    try:
        return (Path(named) if os.path.isabs(named) else Path.home() / below) / "lucid_nb"
    except RuntimeError:
        return None


def conv_view_limit_default() -> int:
    """1.5% of physical memory in MiB, rounded to 64, between 64 and 1024; 256 when memory is unknown."""
    memory = physical_memory()
    return 256 if memory is None else min(max(round(memory * 0.015 / (64 * MIB)) * 64, 64), 1024)


def memory_pool_default() -> int:
    """A sixteenth of physical memory in MiB, between 64 and 1024; 256 when memory is unknown."""
    memory = physical_memory()
    return 256 if memory is None else min(max(memory // (16 * MIB), 64), 1024)


# ----------------------------------------------------------------------------------------------------------- the values
def _flag(value: Any) -> bool:
    """True or False, or their words."""
    text = str(value).strip().lower()
    if text not in TRUE + FALSE:
        raise ValueError(value)
    return text in TRUE


def _whole(low: float, high: float) -> Callable[[Any], int]:
    """A parser of integers from low to high."""
    def parse(value: Any) -> int:
        if isinstance(value, bool):
            raise ValueError(value)
        number = int(value.strip()) if isinstance(value, str) else value.__index__()
        if not low <= number <= high:
            raise ValueError(value)
        return number
    return parse


def _folder(value: Any) -> Path:
    """An absolute path: a later change of the working directory must not move the cache."""
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(value)
    return Path(os.path.abspath(os.path.expanduser(text)))


def _width(value: Any) -> int | str:
    """Bits of a vector register, or "auto"."""
    text = str(value).strip().lower()
    if text not in ("auto", "128", "256", "512"):
        raise ValueError(value)
    return text if text == "auto" else int(text)


def _fusion(value: Any) -> bool | str:
    """On or off, or "auto"."""
    return "auto" if str(value).strip().lower() == "auto" else _flag(value)


def _switch(default: bool) -> Setting:
    """A setting that is on or off."""
    return Setting(_flag, lambda: default, "one of " + ", ".join(TRUE + FALSE))


SETTINGS: dict[str, Setting] = {
    "num_threads": Setting(_whole(1, 1024), usable_cpus, "an integer from 1 to 1024"),
    "cache_dir": Setting(_folder, cache_home, "the path of a folder"),
    "deterministic": _switch(False),
    "check_nan": _switch(False),
    # In backward, of chains of unary ops: "auto" is on for the cpu. From so many elements on it pays, as measured.
    "fusion": Setting(_fusion, lambda: "auto", "auto, or one of " + ", ".join(TRUE + FALSE)),
    "fusion_threshold": Setting(_whole(0, 1 << 40), lambda: 1 << 16, "an integer of elements, at least 0"),
    "conv_view_limit_mb": Setting(_whole(-(1 << 40), 1 << 40), conv_view_limit_default,
                                  "an integer of MiB (0: as few images at a time as can be, negative: no limit)"),
    "tf32": _switch(False),
    "cuda_libraries": _switch(True),
    "cuda_conv_cache_size": Setting(_whole(0, 1 << 40), lambda: 128, "an integer of at least 0"),
    "memory_pool_mb": Setting(_whole(0, 1 << 40), memory_pool_default, "an integer of MiB, at least 0"),
    "winograd": _switch(False),
    "vector_width": Setting(_width, lambda: "auto", "one of auto, 128, 256, 512"),
}
FIXED = ("conv_view_limit_mb",)          # kernels and plans are sized by it when they are made


def checked(name: str, value: Any, source: str) -> Any:
    """The value of a setting, or ConfigError naming `source`, the value and what is allowed."""
    setting = SETTINGS[name]
    try:
        return setting.parse(value)
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(f"config: {source} is {value!r}. It must be {setting.allowed}.") from None


def from_environment(name: str) -> Any:
    """The value that a setting starts with."""
    variable = PREFIX + name.upper()
    text = os.environ.get(variable, "")
    return checked(name, text, variable) if text.strip() else SETTINGS[name].default()


class Config(ModuleType):
    """The class of this module: assignment checks, reading is a plain attribute."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        if name in FIXED:
            raise UnknownSettingError(f"config: {name} is read-only here. Set {PREFIX}{name.upper()} before import.")
        if name not in SETTINGS:
            raise UnknownSettingError(f"config: there is no setting {name!r}. There are {', '.join(SETTINGS)}.")
        super().__setattr__(name, checked(name, value, f"lucid_nb.config.{name}"))

    def __delattr__(self, name: str) -> None:
        if name in SETTINGS:
            raise UnknownSettingError(f"config: {name} cannot be deleted. Assign a value to it.")
        super().__delattr__(name)

    def __getattr__(self, name: str) -> Any:
        raise UnknownSettingError(f"config: there is no setting {name!r}. There are {', '.join(SETTINGS)}.")

    def __dir__(self) -> list[str]:
        return sorted(SETTINGS)


num_threads: int
cache_dir: Path | None
deterministic: bool
check_nan: bool
fusion: bool | str
fusion_threshold: int
conv_view_limit_mb: int
tf32: bool
cuda_libraries: bool
cuda_conv_cache_size: int
memory_pool_mb: int
winograd: bool
vector_width: int | str
globals().update({name: from_environment(name) for name in SETTINGS})
sys.modules[__name__].__class__ = Config
