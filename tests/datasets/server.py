"""A local HTTP server whose files misbehave on request, and the public file formats, written."""

from __future__ import annotations

import bz2
import gzip
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

MISBEHAVIOURS = ("slow", "breaks off", "wrong bytes", "says 404", "hangs up", "stalls", "never ends")


class Server(ThreadingHTTPServer):
    """Serves `files` by name; `misbehave` is how (see MISBEHAVIOURS), `requests` counts."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.misbehave = ""
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.requests.append(name)
        how = self.server.misbehave
        if how == "hangs up":
            return
        if how == "says 404" or name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        if how == "wrong bytes":
            content = bytes([content[0] ^ 1]) + content[1:]
        self.send_response(200)
        self.send_header("Content-Length", str(10**12 if how == "never ends" else len(content)))
        self.end_headers()
        try:
            self._send(content, how)
        except OSError:
            self.close_connection = True

    def _send(self, content: bytes, how: str) -> None:
        if how == "breaks off":
            content = content[: len(content) // 2]
        if how == "stalls":
            self.wfile.write(content[: len(content) // 2])
            time.sleep(1.0)
            return
        while how == "never ends":
            self.wfile.write(b"0" * 2**16)
        if how != "slow":
            self.wfile.write(content)
            return
        for start in range(0, len(content), 1 + len(content) // 10):
            self.wfile.write(content[start : start + 1 + len(content) // 10])
            time.sleep(0.02)

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Server]:
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return gzip.compress(header + values.astype(np.uint8).tobytes(), compresslevel=1)


def libsvm(rows: np.ndarray, labels: np.ndarray) -> bytes:
    """One line a row, zeros left out, numbers as ``%g`` prints them: as LIBSVM's own files are."""
    lines = [
        f"{label} " + " ".join(f"{i}:{value:g}" for i, value in enumerate(row, 1) if value)
        for row, label in zip(rows, labels, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def satimage_source(scaled: np.ndarray, train: np.ndarray) -> np.ndarray:
    """LIBSVM's satimage.scale from the archive: every column is -1 + 2k/N for integers k, N of the training part."""
    raw = np.empty(scaled.shape)
    for column in range(scaled.shape[1]):
        part = train[:, column].astype(np.float64)
        steps = next(n for n in range(1, 256) if np.abs(part * n - np.round(part * n)).max() < 2e-4)
        exact = -1 + 2 * np.round(scaled[:, column].astype(np.float64) * steps) / steps
        raw[:, column] = [float(f"{value:g}") for value in exact]
    return raw


def bzipped(content: bytes) -> bytes:
    return bz2.compress(content)
