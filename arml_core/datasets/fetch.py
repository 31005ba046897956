"""Downloads of the paper's datasets: checked, atomic, with progress, and with plain words when they fail.

Files are fetched into a temporary folder beside the cache, checked, converted, and only the finished archive
is moved into place in one step. Whatever goes wrong before that leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch  # type: ignore[import-untyped]
import requests
from urllib3.exceptions import MaxRetryError, ReadTimeoutError

from ..progress import Callback, report
from .formats import Archive, archive_hash, build_archive
from .paper_sets import PaperSet, SourceFile

CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 30.0
STALE_SECONDS = 24 * 3600.0
CHUNK = 8 * 1024  # small, so that a slow line still reports and can be cancelled


class DownloadError(OSError):
    """A set could not be fetched; the message says why and what to do instead."""


class _Offline(Exception):
    """No server could be reached."""


class _Failed(Exception):
    """A server was reached and this is what went wrong."""


def fetch(known: PaperSet, cache: Path, place: Path | None = None, callback: Callback | None = None) -> Path:
    """Download a set into ``cache/NAME.npz`` and return that path.

    `place` is the folder that messages tell the user to put a file into (default `cache`).
    `callback(bytes done, bytes in all, info)` reports; raise :class:`arml_core.Cancelled` in it to stop.
    """
    remedy = f"Put {known.name}.npz into {place or cache}"
    cache.mkdir(parents=True, exist_ok=True)
    _remove_stale(known, cache)
    with tempfile.TemporaryDirectory(prefix=f".{known.name}-", dir=cache) as scratch:
        try:
            archive = _download(known, Path(scratch), callback)
        except _Offline:
            raise DownloadError(f"{known.title} is not on this machine and there is no network. {remedy}.") from None
        except _Failed as error:
            raise DownloadError(
                f"{known.title} could not be downloaded: {error}. Nothing was kept. Try again later, or: {remedy}."
            ) from error
        finished = Path(scratch) / f"{known.name}.npz"
        np.savez_compressed(finished, allow_pickle=False, **archive)
        target = cache / finished.name
        os.replace(finished, target)
    return target


def _remove_stale(known: PaperSet, cache: Path) -> None:
    """Remove what a killed process left behind; a download of today may still be under way."""
    for scratch in cache.glob(f".{known.name}-*"):
        if time.time() - scratch.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(scratch, ignore_errors=True)


def _download(known: PaperSet, scratch: Path, callback: Callback | None) -> Archive:
    progress = _Progress(callback, known)
    paths = [_first_mirror(known, file, scratch, progress) for file in known.files]
    try:
        archive = build_archive(known, paths)
    except (ValueError, OSError, EOFError) as error:
        raise _Failed(f"the files at {known.mirrors[0]} are damaged ({error})") from error
    if archive_hash(archive) != known.content:
        raise _Failed(f"the files at {known.mirrors[0]} are not the data that was published (their content differs)")
    return archive


def _first_mirror(known: PaperSet, file: SourceFile, scratch: Path, progress: _Progress) -> Path:
    problem: Exception = _Offline()
    for mirror in known.mirrors:
        try:
            return _retrieve(mirror + file.name, file, scratch, progress)
        except _Offline:
            continue
        except _Failed as error:
            problem = error
    raise problem


def _retrieve(url: str, file: SourceFile, scratch: Path, progress: _Progress) -> Path:
    downloader = pooch.HTTPDownloader(
        progressbar=progress,
        chunk_size=CHUNK,
        timeout=(CONNECT_TIMEOUT, READ_TIMEOUT),
        headers={"Accept-Encoding": "identity"},
    )
    known_hash = None if file.sha256 is None else f"sha256:{file.sha256}"
    with progress.of(file), _readable_errors(url):
        path = pooch.retrieve(url, known_hash=known_hash, fname=file.name, path=scratch, downloader=downloader)
    return Path(path)


@contextmanager
def _readable_errors(url: str) -> Iterator[None]:
    try:
        yield
    except requests.HTTPError as error:
        raise _Failed(
            f"{url} answered {error.response.status_code if error.response is not None else error}"
        ) from error
    except requests.ReadTimeout as error:
        raise _Failed(f"{url} stopped answering for {READ_TIMEOUT:g} seconds") from error
    except requests.exceptions.SSLError as error:
        raise _Failed(f"{url} has no certificate this machine trusts") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise _Failed(f"{url} broke off in the middle") from error
    except requests.ConnectionError as error:
        raise _connection_problem(url, error) from error
    except requests.RequestException as error:
        raise _Failed(f"{url}: {error}") from error
    except ValueError as error:  # pooch's word for a checksum that differs
        raise _Failed(f"{url} is not the file that was published (its sha256 differs)") from error


def _connection_problem(url: str, error: requests.ConnectionError) -> Exception:
    """Requests uses one class for no network, for a timeout inside a body and for a server that hangs up."""
    cause = error.args[0] if error.args else None
    if isinstance(cause, MaxRetryError) or isinstance(error, requests.ConnectTimeout):
        return _Offline()
    if isinstance(cause, ReadTimeoutError):
        return _Failed(f"{url} stopped answering for {READ_TIMEOUT:g} seconds")
    return _Failed(f"{url} broke off")


@dataclass
class _Progress:
    """The progress bar protocol of pooch, summed over the files of one set."""

    callback: Callback | None
    known: PaperSet
    total: int = 0  # pooch writes the size of the current file here
    _before: int = 0
    _current: int = 0
    _file: SourceFile | None = None

    @contextmanager
    def of(self, file: SourceFile) -> Iterator[None]:
        self._file, self._current = file, 0
        yield
        self._before += file.approximate_bytes

    def update(self, n: int) -> None:
        assert self._file is not None
        self._current += n
        if self._current > 2 * self._file.approximate_bytes + 2**20:
            raise _Failed(f"{self._file.name} is far larger than the published file; stopped")
        in_all = sum(file.approximate_bytes for file in self.known.files)
        done = self._before + min(self._current, self._file.approximate_bytes)
        report(self.callback, done, in_all, file=self._file.name)

    def reset(self) -> None:
        self._current = 0

    def close(self) -> None:
        pass
