"""PyTorch's files, written without it."""

import io
import pickle
import zipfile
from collections import OrderedDict

import numpy as np

BASE = np.arange(6, dtype="float32").reshape(2, 3)
KINDS = {"float32": "FloatStorage", "int64": "LongStorage"}


class Made:
    """A value that a pickle calls `module.name` to make."""

    def __init__(self, module, name, *arguments):
        self.module, self.name, self.arguments = module, name, arguments


class Pickler(pickle._Pickler):
    """Writes calls to functions that need not exist, and references to storages."""

    def persistent_id(self, value):
        """A tuple of this form is a reference."""
        return value if isinstance(value, tuple) and value[:1] == ("storage",) else None

    def save(self, value, save_persistent_id=True):
        """As always, but what is made is written as a call."""
        if isinstance(value, Made):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
            if value.arguments != (None,):
                self.save(value.arguments)
                self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


def storage(kind="FloatStorage", key="0", count=6):
    """A reference to a storage."""
    return ("storage", Made("torch", kind, None), key, "cpu", count)


def tensor(*where, held=None, name="_rebuild_tensor_v2"):
    """A tensor of the storage: offset, shape, strides."""
    return Made("torch._utils", name, held or storage(), *where, False, OrderedDict())


def archive(path, value, compression=zipfile.ZIP_STORED, **records):
    """A file in PyTorch's present format; records by name with _ for /."""
    file = io.BytesIO()
    Pickler(file, 2).dump(value)
    given = {"data/0": BASE.tobytes(), "byteorder": b"little", "version": b"3\n"}
    given |= {name.replace("_", "/"): content for name, content in records.items()}
    with zipfile.ZipFile(path, "w", compression) as opened:
        opened.writestr("archive/data.pkl", file.getvalue())
        for name, content in given.items():
            if content is not None:
                opened.writestr(f"archive/{name}", content)
    return path


def torch_file(path, value):
    """A file of nested dicts of arrays, float32 and int64, each in its own storage."""
    records = {}

    def told(part):
        if isinstance(part, dict):
            return {key: told(inner) for key, inner in part.items()}
        if not isinstance(part, np.ndarray):
            return part
        key = str(len(records))
        records[f"data_{key}"] = part.tobytes()
        strides = tuple(step // part.itemsize for step in part.copy().strides)
        return tensor(0, part.shape, strides, held=storage(KINDS[part.dtype.name], key, part.size))
    told_of = told(value)
    return archive(path, told_of, **records)
