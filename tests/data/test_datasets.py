"""Published datasets. Files of their formats, tiny, come from a server on this machine that fails in all ways."""

import gzip
import hashlib
import http.server
import io
import pickle
import re
import struct
import tarfile
import threading

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import DataLoader, datasets, transforms
from lucid_nb.data.datasets import CIFAR10, CIFAR100, MNIST, FashionMNIST, download
from lucid_nb.data.datasets.mnist import IMAGES, read_idx

RNG = np.random.default_rng(2)


# ------------------------------------------------------------------------------------------------- a server
class Handler(http.server.BaseHTTPRequestHandler):
    """Files of a dict, by parts where that is asked for; `server.troubles` says what goes wrong, one after another."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range")))
        trouble = self.server.troubles.pop(0) if self.server.troubles else None
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None or isinstance(trouble, int):
            self.send_error(trouble or 404)
            return
        start = int(re.match(r"bytes=(\d+)-", self.headers.get("Range", "bytes=0-"))[1])
        if trouble == "whole":
            start = 0
        if start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            first = start + (trouble == "elsewhere")
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:start + (len(content) - start) // 2] if trouble == "drop" else content[start:])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    """A server in a thread of this process."""
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as found:
        found.files, found.troubles, found.asked = {}, [], []
        found.url = f"http://127.0.0.1:{found.server_port}/"
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def md5(content):
    return hashlib.md5(content).hexdigest()


CONTENT = RNG.integers(0, 256, 200_000, np.uint8).tobytes()


def fetch(server, tmp_path, **options):
    """The file, fetched from the server."""
    server.files["file.bin"] = CONTENT
    path = tmp_path / "below" / "file.bin"
    download.fetch([server.url + "file.bin"], path, options.pop("published", md5(CONTENT)), progress=False, **options)
    return path.read_bytes()


# ----------------------------------------------------------------------------------------------- downloads
def test_fetch_writes_the_file_and_nothing_else(server, tmp_path):
    assert fetch(server, tmp_path, published=hashlib.sha256(CONTENT).hexdigest()) == CONTENT
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["file.bin"]


def test_fetch_goes_on_where_a_transfer_broke_off(server, tmp_path):
    server.troubles = ["drop", 503, "drop"]
    assert fetch(server, tmp_path) == CONTENT
    ranges = [part for _, part in server.asked]
    assert ranges == [None, "bytes=100000-", "bytes=100000-", "bytes=150000-"]


@pytest.mark.parametrize(("trouble", "start"), [("whole", 50_000), ("elsewhere", 50_000), (None, 200_000),
                                                (None, 200_005)])
def test_fetch_goes_on_with_what_another_run_left(server, tmp_path, trouble, start):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file.bin.part").write_bytes((CONTENT + b"more!")[:start])
    server.troubles = [trouble] if trouble else []
    assert fetch(server, tmp_path) == CONTENT and server.asked[0][1] == f"bytes={start}-"


def test_fetch_refuses_another_file_and_forgets_it(server, tmp_path):
    with pytest.raises(lnb.errors.DownloadError, match=f"its md5 is {md5(CONTENT)}, published is {'0' * 32}"):
        fetch(server, tmp_path, published="0" * 32)
    assert list((tmp_path / "below").iterdir()) == []


def test_fetch_takes_the_next_address_and_tells_all_reasons(server, tmp_path):
    server.files["good/file.bin"], path = CONTENT, tmp_path / "file.bin"
    urls = [server.url + "bad/file.bin", server.url + "good/file.bin"]
    download.fetch(urls, path, md5(CONTENT), progress=False)
    assert path.read_bytes() == CONTENT
    with pytest.raises(lnb.errors.DownloadError, match=r"other: cannot be fetched \(http.*404; http.*refused\)"):
        download.fetch([urls[0], "http://127.0.0.1:9/file.bin"], tmp_path / "other", md5(CONTENT), progress=False)


def test_fetch_keeps_what_came_when_the_line_stays_down(server, tmp_path):
    server.troubles = ["drop", 500, 500, 500]
    with pytest.raises(lnb.errors.DownloadError, match="HTTP status 500"):
        fetch(server, tmp_path)
    assert (tmp_path / "below" / "file.bin.part").stat().st_size == 100_000
    assert fetch(server, tmp_path) == CONTENT


def test_fetch_shows_its_progress(server, tmp_path, capsys):
    server.files["file.bin"] = CONTENT
    download.fetch([server.url + "file.bin"], tmp_path / "file.bin", md5(CONTENT))
    assert "file.bin: " in capsys.readouterr().err


def test_fetch_is_for_the_web(tmp_path):
    with pytest.raises(lnb.ConfigError, match="Use http or https"):
        download.fetch(["file:///etc/passwd"], tmp_path / "file", "0" * 32, progress=False)


# --------------------------------------------------------------------------------------------------- MNIST
def idx(array):
    """An array as a file of MNIST's format. http://yann.lecun.com/exdb/mnist tells it."""
    return struct.pack(f">{1 + array.ndim}I", 0x800 | array.ndim, *array.shape) + array.tobytes()


IMAGES_OF = {kind: RNG.integers(0, 256, (count, 28, 28), np.uint8) for kind, count in (("train", 6), ("t10k", 3))}
LABELS_OF = {kind: RNG.integers(0, 10, len(images), np.uint8) for kind, images in IMAGES_OF.items()}


def mnist_files():
    """{name: content} of the four files, uncompressed."""
    return {f"{kind}-{what}": idx(array) for kind in ("train", "t10k")
            for what, array in (("images-idx3-ubyte", IMAGES_OF[kind]), ("labels-idx1-ubyte", LABELS_OF[kind]))}


def tiny_mnist(server, base=MNIST):
    """The class with files and checksums of a tiny dataset."""
    packed = {name: gzip.compress(content, mtime=0) for name, content in mnist_files().items()}
    server.files = {f"{name}.gz": content for name, content in packed.items()}
    return type(base.__name__, (base,), {"mirrors": (server.url,),
                                         "md5": {name: md5(content) for name, content in packed.items()}})


@pytest.mark.parametrize("base", [MNIST, FashionMNIST])
def test_mnist_is_fetched_once_and_read(server, tmp_path, base):
    kind = tiny_mnist(server, base)
    for train, name in ((True, "train"), (False, "t10k")):
        found = kind(tmp_path, train, download=True)
        assert len(found) == len(IMAGES_OF[name]) and len(found.classes) == 10
        for (image, label), pixels, expected in zip(found, IMAGES_OF[name], LABELS_OF[name]):
            assert image.dtype == np.uint8 and np.array_equal(image.numpy(), pixels[None]) and label == expected
    assert len(server.asked) == 4 and (tmp_path / base.folder / "raw" / "train-images-idx3-ubyte.gz").exists()


def test_mnist_batches_have_no_axis_too_many(server, tmp_path):
    """lucid's items have a leading axis of 1."""
    found = tiny_mnist(server)(tmp_path, download=True)
    images, labels = next(iter(DataLoader(found, 4)))
    assert images.shape == (4, 1, 28, 28) and np.array_equal(images.numpy()[:, 0], IMAGES_OF["train"][:4])
    assert labels.tolist() == LABELS_OF["train"][:4].tolist()
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
    scaled = tiny_mnist(server)(tmp_path, transform=transform, target_transform=float)
    images, labels = next(iter(DataLoader(scaled, 4)))
    np.testing.assert_allclose(images.numpy()[:, 0], IMAGES_OF["train"][:4] / 127.5 - 1, atol=1e-6)
    assert labels.dtype == np.float64
    found[0][0][...] = 0                                   # the caller's own
    assert np.array_equal(found.data[0, 0], IMAGES_OF["train"][0])
    with pytest.raises(lnb.IndexError, match="index 6 of 6 samples"):
        found[6]


def test_mnist_reads_files_that_are_not_compressed(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in mnist_files().items():
        (raw / name).write_bytes(content)
    assert np.array_equal(MNIST(tmp_path).data[:, 0], IMAGES_OF["train"])


def test_mnist_that_is_not_there_or_was_changed_is_refused(server, tmp_path):
    kind = tiny_mnist(server)
    with pytest.raises(lnb.ConfigError, match=r"MNIST: no file .*images-idx3-ubyte\.gz .* Use download=True"):
        kind(tmp_path)
    with pytest.raises(lnb.ConfigError, match=r"MNIST: transform is True\. Pass a function"):
        kind(tmp_path, True, True)                         # as lucid's third argument
    kind(tmp_path, download=True)
    path = tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(lnb.errors.DownloadError, match=r"train-labels-idx1-ubyte\.gz: its md5 is .*Delete .* and use"):
        kind(tmp_path)


GOOD = mnist_files()["t10k-images-idx3-ubyte"]


@pytest.mark.parametrize(("content", "reason"), [
    (b"", "does not begin with 0x00000803"), (b"\0\0\x08\x01" + GOOD[4:], "does not begin with 0x00000803"),
    (GOOD[:9], "does not begin with"), (GOOD[:-1], "less than the 2352 bytes"),
    (GOOD + b"x", "more than the 2352 bytes")], ids=["empty", "labels", "head", "short", "long"])
def test_damaged_idx_files_are_refused(tmp_path, content, reason):
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content)))
    for name, opened in (("plain", io.BytesIO(content)), ("packed", packed)):
        with pytest.raises(lnb.errors.DownloadError, match=f"{name}: damaged, .*{reason}"):
            read_idx(tmp_path / name, opened, IMAGES)


@pytest.mark.parametrize("cut", [slice(0, 60), slice(3, None), slice(0, -2)], ids=["cut", "head", "tail"])
def test_damaged_gzip_files_are_refused(tmp_path, cut):
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(GOOD)[cut]))
    with pytest.raises(lnb.errors.DownloadError, match="packed: damaged, "):
        read_idx(tmp_path / "packed", packed, IMAGES)


def test_labels_out_of_range_are_refused(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in mnist_files().items():
        (raw / name).write_bytes(content if "images" in name else content[:-1] + b"\x0a")
    with pytest.raises(lnb.ConfigError, match="6 images and 6 labels of 10 classes"):
        MNIST(tmp_path)


# --------------------------------------------------------------------------------------------------- CIFAR
def python2(value):
    """A pickle of protocol 2 as Python 2 wrote them: texts and bytes are one kind, and NumPy has its old name."""
    class Old(pickle._Pickler):                            # the one in Python, which can be told how
        dispatch = dict(pickle._Pickler.dispatch)

        def save_text(self, text):
            content = text.encode("latin1") if isinstance(text, str) else text
            self.write(b"T" + struct.pack("<I", len(content)) + content)
            self.memoize(text)
        dispatch[str] = dispatch[bytes] = save_text
    file = io.BytesIO()
    Old(file, 2).dump(value)
    return file.getvalue().replace(b"numpy._core", b"numpy.core")


def tiny_cifar(base, server, **changes):
    """The class with the files and checksums of a tiny dataset; and the images and labels."""
    count = 10 if base is CIFAR10 else 100
    names = [*base.train_files, *base.test_files]
    images = {name: RNG.integers(0, 256, (3, 3072), np.uint8) for name in names}
    labels = {name: RNG.integers(0, count, 3).tolist() for name in names}
    files = {name: python2({"data": images[name], base.labels: labels[name], "filenames": ["a.png"] * 3})
             for name in names}
    (meta,) = base.meta_files
    files[meta] = python2({base.names: [f"class {number}" for number in range(count)]})
    files.update(changes)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in [*files.items(), ("../escape", b"x")]:
            member = tarfile.TarInfo(f"{base.folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    name = base.url.rpartition("/")[2]
    server.files[name] = packed.getvalue()
    sums = {group: {name: md5(files[name]) for name in getattr(base, group)}
            for group in ("train_files", "test_files", "meta_files")}
    made = type(base.__name__, (base,), {"url": server.url + name, "archive_md5": md5(packed.getvalue()), **sums})
    return made, images, labels


@pytest.mark.parametrize("base", [CIFAR10, CIFAR100])
def test_cifar_is_fetched_once_and_read(server, tmp_path, base):
    kind, images, labels = tiny_cifar(base, server)
    for train, names in ((True, base.train_files), (False, base.test_files)):
        found = kind(tmp_path, train, download=True)
        assert np.array_equal(found.data.reshape(-1, 3072), np.concatenate([images[name] for name in names]))
        assert found.targets.tolist() == [label for name in names for label in labels[name]]
        image, label = found[1]
        assert image.shape == (3, 32, 32) and found.classes[label] == f"class {label}"
    assert len(server.asked) == 1
    assert {path.name for path in tmp_path.iterdir()} == {base.folder, base.url.rpartition("/")[2]}


class Evil:
    """What runs code when Python reads its pickle."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of the file ran')",)


@pytest.mark.parametrize(("content", "text"), [
    (pickle.dumps(Evil(), 2), r"the file asks for '?(__builtin__|builtins)\.exec"),
    (python2({"data": np.zeros((3, 3072), np.uint8)})[:-900], "no file of CIFAR, or damaged"),
    (python2({"data": np.zeros((3, 30), np.uint8), "labels": [1, 2, 3]}), "test_batch: damaged, it holds no bytes"),
    (python2({"labels": [1, 2, 3]}), "test_batch: damaged, it holds no bytes"), (python2([1]), "holds a list")],
    ids=["hostile", "cut", "shape", "none", "list"])
def test_cifar_files_that_are_hostile_or_damaged_are_refused(server, tmp_path, content, text):
    kind, _, _ = tiny_cifar(CIFAR10, server, test_batch=content)
    with pytest.raises(lnb.LucidError, match=text):
        kind(tmp_path, False, download=True)


def test_cifar_that_is_not_there_or_was_changed_is_refused(server, tmp_path):
    kind, _, _ = tiny_cifar(CIFAR10, server)
    with pytest.raises(lnb.ConfigError, match=r"CIFAR10: no file .*batches\.meta"):
        kind(tmp_path)
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"something else")
    with pytest.raises(lnb.errors.DownloadError, match=r"cifar-10-python\.tar\.gz: its md5 is"):
        kind(tmp_path, download=True)
    assert server.asked == []


def test_the_digits_are_among_the_datasets():
    assert datasets.digits is lnb.data.digits
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        lnb.data.nothing  # noqa: B018
    assert {"datasets", "transforms", "DataLoader"} <= set(dir(lnb.data))


def test_checksums_and_addresses_are_those_of_torchvision():
    reference = pytest.importorskip("torchvision.datasets", reason="torchvision publishes them too")
    for ours, theirs in ((MNIST, reference.MNIST), (FashionMNIST, reference.FashionMNIST)):
        assert {f"{name}.gz": value for name, value in ours.md5.items()} == dict(theirs.resources)
        assert list(ours.mirrors) == theirs.mirrors and list(ours.classes) == theirs.classes
    for ours, theirs in ((CIFAR10, reference.CIFAR10), (CIFAR100, reference.CIFAR100)):
        assert (ours.url, ours.archive_md5, ours.folder) == (theirs.url, theirs.tgz_md5, theirs.base_folder)
        assert list(map(list, ours.train_files.items())) == theirs.train_list
        assert list(map(list, ours.test_files.items())) == theirs.test_list
        assert ours.meta_files == {theirs.meta["filename"]: theirs.meta["md5"]} and ours.names == theirs.meta["key"]
