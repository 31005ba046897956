"""From a file to bytes that are text: size limit, files that are no text at all, and encodings."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from typing import IO, TypeAlias

import charset_normalizer

from ...untrusted import check_regular_file
from . import problems
from .limits import MAX_BYTES
from .problems import Problem, quoted

Source: TypeAlias = "bytes | bytearray | memoryview | str | os.PathLike[str] | IO[bytes]"

SAMPLE_BYTES = 64 * 1024
PREVIEW_LEAD = 24  # signs of a preview before the first one that tells encodings apart, at most
MAX_OFFERS = 3
_FOREIGN_RUN = re.compile(rb"[\x80-\xff]+")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file (.xls) or one with a password"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b", "another gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"(\xb5/\xfd", "a Zstandard archive"),
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy file"),
)
_NOTATIONS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""Codecs of Python that write text in other text; some take the square of the time."""
_MARKUP = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<table", "an HTML page"),
    (b"<?xml", "an XML file"),
    (b"{\\rtf", "an RTF document"),
    (b'{"', "a JSON file"),
    (b"[{", "a JSON file"),
)


def read_bytes(source: Source, limit: int = MAX_BYTES) -> bytes | Problem:
    """The content of bytes, a path or an open binary file; refused by its size before it is read.

    Only a `str` or a path object is ever opened: the name an upload carries is not looked at.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        size = memoryview(source).nbytes
        return problems.too_large(size, limit) if size > limit else bytes(source)
    if isinstance(source, (str, os.PathLike)):
        check_regular_file(source)
        with open(source, "rb") as file:
            return _read_file(file, limit)
    return _read_file(source, limit)


def _read_file(file: IO[bytes], limit: int) -> bytes | Problem:
    size = None
    if file.seekable():
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size > limit:
            return problems.too_large(size, limit)
    content = file.read(limit + 1)
    if not isinstance(content, bytes):
        raise TypeError("the file must be opened in binary mode ('rb')")
    return problems.too_large(size, limit) if len(content) > limit else content


def foreign_format(content: bytes) -> str | None:
    """What the content is if it is no text table ("an Excel file"), else None."""
    if content.startswith(b"PK\x03\x04"):
        return _zip_kind(content)
    for magic, name in _MAGIC:
        if content.startswith(magic):
            return name
    start = content[:1024].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for opening, name in _MARKUP:
        if start.startswith(opening):
            return name
    if b"\x00" in content and not content.startswith(tuple(bom for bom, _ in _BOMS[1:])):
        return "a binary file"
    return None


def _zip_kind(content: bytes) -> str:
    start = content[:4096]
    if b"xl/" in start or b"[Content_Types].xml" in start or b"xl/workbook" in content[-65536:]:
        return "an Excel file"
    if b"opendocument.spreadsheet" in start:
        return "an OpenDocument spreadsheet"
    return "a ZIP archive"


def find_encoding(content: bytes) -> tuple[str, Problem | None] | Problem:
    """The encoding to read with, and the question to ask when it is not UTF-8."""
    if undecodable_line(content, "utf-8") is None:
        return "utf-8-sig", None
    offers = [(name, _preview(content, name)) for name in _candidates(content)]
    if not offers:
        return problems.not_csv("a binary file")
    return offers[0][0], problems.not_utf8(offers)


def text_encoding(name: str) -> str:
    """The codec's own name for a text encoding; a ValueError for what is none ('zip', 'idna', a slip of the pen)."""
    try:
        found = codecs.lookup(name).name
        "".encode(found)  # refuses codecs from bytes to bytes
    except (LookupError, ValueError) as error:
        raise ValueError(f"there is no text encoding {name[:40]!r}") from error
    if found in _NOTATIONS:
        raise ValueError(f"there is no text encoding {name[:40]!r}")
    return found


def undecodable_line(content: bytes, encoding: str) -> int | None:
    """The first line that cannot be decoded, or None if all can. Decodes by pieces."""
    decoder = codecs.getincrementaldecoder(text_encoding(encoding))("strict")
    for start in range(0, len(content), SAMPLE_BYTES):
        piece = content[start : start + SAMPLE_BYTES]
        try:
            decoder.decode(piece, start + SAMPLE_BYTES >= len(content))
        except UnicodeError as error:
            at = start + (error.start if isinstance(error, UnicodeDecodeError) else 0)
            return content.count(b"\n", 0, max(at, 0)) + 1
    return None


def _candidates(content: bytes) -> Sequence[str]:
    for bom, name in _BOMS:
        if content.startswith(bom):
            return [name] if undecodable_line(content, name) is None else []
    sample = _non_ascii_part(content)
    guessed = charset_normalizer.from_bytes(sample)
    names = [codecs.lookup(match.encoding).name for match in guessed][: 2 * MAX_OFFERS]
    if len(max(_FOREIGN_RUN.findall(sample), default=b"", key=len)) <= 3:
        names = ["cp1252", *names]  # single accents among plain letters: Western, and nothing else is as common
    names = [*names, "cp1252", "latin-1"]
    readable = [name for name in dict.fromkeys(names) if undecodable_line(content, name) is None]
    return readable[:MAX_OFFERS]


def _non_ascii_part(content: bytes) -> bytes:
    """A sample around the first byte that is not ASCII: the rest of a file says nothing about its encoding."""
    first = next((i for i in range(0, len(content), 4096) if not content[i : i + 4096].isascii()), 0)
    start = content.rfind(b"\n", 0, first) + 1
    return content[start : start + SAMPLE_BYTES // 4]


def _preview(content: bytes, encoding: str) -> str:
    text = _non_ascii_part(content).decode(encoding, "replace") if "16" not in encoding and "32" not in encoding else ""
    if not text:
        text = content[:4096].decode(encoding, "replace")
    lines = text.splitlines() or [""]
    telling = next((line for line in lines if not line.isascii()), lines[0]).strip()
    first = next((i for i, sign in enumerate(telling) if not sign.isascii()), 0)
    return quoted(telling if first < PREVIEW_LEAD else f"…{telling[first - PREVIEW_LEAD // 2 :]}")
