"""The arrays of a ``.npz`` that may come from anywhere: numbers and text, in bounded memory, nothing unpickled.

``np.load`` trusts what a file says about itself: it makes room for any shape a header declares and hands out members
that are no arrays. Here a header is believed only as far as its member has bytes.
"""

from __future__ import annotations

import lzma
import math
import os
import sys
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .untrusted import check_regular_file, shortened

PIECE = 2**20
MOST_AXES = 32
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,  # a way of packing that zipfile does not know
    RuntimeError,  # encrypted
)


class TooLarge(ValueError):
    """The archive would unpack to more bytes than are allowed: `size`."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"it unpacks to {size / 2**20:.0f} MB; at most {limit / 2**20:.0f} MB are read")
        self.size = size


def read_npz(source: str | os.PathLike[str] | IO[bytes], limit: int) -> dict[str, NDArray[Any]]:
    """Every array of the archive by its name, if all of them together have at most `limit` bytes.

    Raises ValueError, in words that continue "the file cannot be read:", for whatever is not a whole archive of plain
    arrays. A file that is not there is a FileNotFoundError.
    """
    if isinstance(source, (str, os.PathLike)):
        check_regular_file(source)
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > limit:
                raise TooLarge(size, limit)
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(f"it is not a .npz file, or it is damaged ({shortened(error)})") from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    name = repr(member.filename[:80])
    with archive.open(member) as stream:
        shape, fortran_order, dtype = _header(stream, name)
        if dtype.hasobject:
            raise ValueError("it holds Python objects, which are never read; save plain numbers")
        size, most = math.prod(shape) * dtype.itemsize, member.file_size
        if dtype.itemsize == 0 or min(shape, default=0) < 0 or max(shape, default=0) > sys.maxsize or size > most:
            raise ValueError(f"it is damaged ({name} declares the shape {shortened(shape)} and does not hold it)")
        content = bytearray(size)
        for start in range(0, size, PIECE):
            piece = stream.read(min(PIECE, size - start))
            if len(piece) < min(PIECE, size - start):
                raise EOFError(f"{name} is cut short")
            content[start : start + len(piece)] = piece
        if stream.read(1):  # at the end of the member its checksum is compared, too
            raise ValueError(f"it is damaged ({name} goes on after its array)")
    array: NDArray[Any] = np.frombuffer(content, dtype=dtype)
    return array.reshape(shape[::-1]).T if fortran_order else array.reshape(shape)


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"its version {version} is for structured arrays")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran_order, dtype = read(stream)
        if len(shape) > MOST_AXES or any(type(length) is not int for length in shape):  # True passes as an int
            raise ValueError(f"shape is not valid: {shape}")
        return shape, fortran_order, dtype
    except _DAMAGED:
        raise
    except Exception as error:  # a header is Python text that numpy evaluates: hostile text ends in errors of any kind
        raise ValueError(f"it is damaged ({name} is no array: {shortened(error)})") from error
