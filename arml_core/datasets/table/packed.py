"""A gzip archive: one member, unpacked by pieces up to a limit."""

from __future__ import annotations

import zlib

from . import problems
from .limits import MAX_UNPACKED
from .table import ReadFailed

PIECE = 2**20
_MAGIC = b"\x1f\x8b"
_WITH_GZIP_HEADER = 16 + zlib.MAX_WBITS


def is_gzip(content: bytes) -> bool:
    return content.startswith(_MAGIC)


def unpacked(content: bytes, limit: int | None = None) -> bytes:
    """What a gzip archive holds; a ReadFailed for one that is damaged, too large, or more than one."""
    limit = MAX_UNPACKED if limit is None else limit
    stream, pieces, size = zlib.decompressobj(_WITH_GZIP_HEADER), [], 0
    rest = content
    try:
        while not stream.eof:
            piece = stream.decompress(rest, PIECE)
            rest = stream.unconsumed_tail
            if not piece and not rest and not stream.eof:
                raise ReadFailed(problems.damaged("gzip archive", "it is cut short"))
            size += len(piece)
            if size > limit:
                raise ReadFailed(problems.unpacks_to_too_much(None, limit))
            pieces.append(piece)
    except zlib.error as error:
        raise ReadFailed(problems.damaged("gzip archive", str(error))) from error
    if stream.unused_data.strip(b"\x00"):
        raise ReadFailed(problems.several_members())
    return b"".join(pieces)
