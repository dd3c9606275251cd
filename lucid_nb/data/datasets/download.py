"""Published files fetched: what was there of one is kept, what does not have the published checksum is not."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ...errors import ConfigError, DownloadError, told

CHUNK = 1 << 16                        # bytes
TIMEOUT = 30.0                         # seconds without an answer
TRIES = 4                              # of each address; a transfer that broke off goes on where it was
ALGORITHMS = {32: "md5", 64: "sha256"}


class Broken(Exception):
    """A transfer that may be tried again, and why it ended."""


def digest(path: Path, like: str) -> str:
    """The checksum of a file, by the algorithm of one that was published."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, ALGORITHMS[len(like)]).hexdigest()


def check(path: Path, published: str) -> None:
    """Refuse a file that is not the published one."""
    found = digest(path, published)
    if found != published:
        raise DownloadError(f"{path.name}: its {ALGORITHMS[len(published)]} is {found}, published is {published}. "
                            f"Delete {path} and use download=True.")


def fetch(urls: Sequence[str], path: Path, published: str, *, progress: bool = True) -> None:
    """Fetch a file from the first address that gives it, checked and then put in its place.

    What arrives is written to a file beside it ending in ".part", which the next call goes on with. DownloadError,
    with what each address answered, where none gives the file whose MD5 or SHA-256 was published.
    """
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for url in urls:
        try:
            _fetch_from(url, part, published, progress)
        except Broken as error:
            reasons.append(f"{url}: {error}")
            continue
        os.replace(part, path)
        return
    raise DownloadError(f"{path.name}: cannot be fetched ({'; '.join(reasons)}). Try again later, or put the file at "
                        f"{path} by hand.")


def _fetch_from(url: str, part: Path, published: str, progress: bool) -> None:
    """The whole file in its part, or `Broken`."""
    for attempt in range(TRIES):
        try:
            _transfer(url, part, progress)
            break
        except Broken:
            if attempt == TRIES - 1:
                raise
    found = digest(part, published)
    if found != published:
        part.unlink()
        raise Broken(f"its {ALGORITHMS[len(published)]} is {found}, published is {published}")


def _transfer(url: str, part: Path, progress: bool) -> None:
    """What is missing of a file, at the end of what is there."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"download: the address {told(url)} is not of the web. Use http or https.")
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "lucid_nb",
                                                   **({"Range": f"bytes={start}-"} if start else {})})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            _write(answer, part, start if answer.status == 206 else 0, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and _total(error.headers) == start:      # nothing is missing
            return
        if error.code == 416:
            part.unlink()
        raise Broken(f"HTTP status {error.code}") from None
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
        raise Broken(told(str(getattr(error, "reason", error) or type(error).__name__)).strip("'\"")) from None


def _total(headers: Any) -> int | None:
    """The size of the whole file, where the answer tells it."""
    size = headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if size.isdecimal() else None


def _write(answer: Any, part: Path, start: int, progress: bool) -> None:
    """The answer at its place in the file; what was there from that place on goes."""
    told_start = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    if start and told_start != str(start):
        part.unlink()
        raise Broken("it answers with another part than was asked for")
    length = answer.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else None
    with open(part, "ab") as file, tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=part.stem,
                                        disable=not progress, leave=False) as bar:
        file.truncate(start)
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            bar.update(len(chunk))
        file.flush()
        os.fsync(file.fileno())
        end = file.tell()
    if total is not None and end < total:
        raise Broken(f"the connection ended after {end} of {total} bytes")
