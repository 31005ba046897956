"""The public file formats of the paper's six datasets, turned into the arrays an archive holds."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MinMaxScaler

from .base import content_hash
from .paper_sets import PaperSet

Archive = dict[str, NDArray[np.generic]]
ARRAYS = ("X_train", "y_train", "X_test", "y_test", "x_offset", "x_scale")

LARGEST_FILE = 256 * 2**20
"""No public file is larger once unpacked; more is a damaged or hostile archive."""
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open}
_IDX_UBYTE = 0x08


def archive_hash(archive: Archive) -> str:
    """The content hash of the six arrays an archive holds."""
    return content_hash(archive[key] for key in ARRAYS)


def build_archive(known: PaperSet, paths: Sequence[Path]) -> Archive:
    """The six arrays of an archive from the downloaded files, in the order of ``known.files``.

    Damaged files are a ValueError, or whatever the unpacker raises (OSError, EOFError).
    """
    contents = [_unpack(path) for path in paths]
    if known.file_format == "idx":
        return _from_idx(known, contents)
    return _from_libsvm(known, contents)


def _from_idx(known: PaperSet, contents: Sequence[bytes]) -> Archive:
    arrays = [parse_idx(content) for content in contents]
    images = [array.reshape(len(array), -1) for array in arrays[0::2]]
    labels = [array.astype(np.int64) for array in arrays[1::2]]
    return _archive(known, images, labels, 0.0, 255.0)


def _from_libsvm(known: PaperSet, contents: Sequence[bytes]) -> Archive:
    n_features = len(known.feature_names)
    parts = [load_svmlight_file(io.BytesIO(c), n_features=n_features, zero_based=False) for c in contents]
    raw = [part[0].toarray() for part in parts]
    classes = np.unique(parts[0][1])
    labels = [np.searchsorted(classes, part[1]).astype(np.int64) for part in parts]
    if known.stored_as == "float32":
        # float64 min-max as in the paper's loader, then rounded once: archives keep these two sets as float32
        scaler = MinMaxScaler().fit(raw[0])
        return _archive(known, [scaler.transform(part).astype(np.float32) for part in raw], labels, 0.0, 1.0)
    low, high = raw[0].min(), raw[0].max()
    return _archive(known, [part.astype(np.uint8) for part in raw], labels, low, high - low)


def _archive(
    known: PaperSet,
    rows: Sequence[NDArray[np.generic]],
    labels: Sequence[NDArray[np.int64]],
    offset: float,
    scale: float,
) -> Archive:
    expected = [(known.n_train, len(known.feature_names)), (known.n_test, len(known.feature_names))]
    if [part.shape for part in rows] != expected or [len(part) for part in labels] != [n for n, _ in expected]:
        raise ValueError(f"expected {known.title} of shapes {expected}; got {[part.shape for part in rows]}")
    return {
        "X_train": rows[0],
        "y_train": labels[0],
        "X_test": rows[1],
        "y_test": labels[1],
        "x_offset": np.array(offset, dtype=np.float64),
        "x_scale": np.array(scale, dtype=np.float64),
    }


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """The array of an idx file of unsigned bytes (two zero bytes, type, rank, sizes, values)."""
    if len(content) < 4 or content[:3] != bytes([0, 0, _IDX_UBYTE]):
        raise ValueError("this is not an idx file of unsigned bytes")
    rank = content[3]
    if len(content) < 4 + 4 * rank:
        raise ValueError("the idx file ends inside its header")
    shape = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank)
    return values.reshape(shape)


def _unpack(path: Path) -> bytes:
    file: IO[bytes]
    with _OPENERS.get(path.suffix, open)(path, "rb") as file:  # type: ignore[operator]
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"{path.name} unpacks to more than {LARGEST_FILE // 2**20} MB")
    return content
