"""A small stand-in for Pendigits: its public files and the archive they must become."""

import numpy as np

from .server import libsvm

RNG = np.random.default_rng(0)
TRAIN, TEST = RNG.integers(0, 101, (300, 16)), RNG.integers(0, 101, (200, 16))
TRAIN[0], TRAIN[1] = 0, 100
FILES = {
    "pendigits": libsvm(TRAIN, np.arange(300) % 10),
    "pendigits.t": libsvm(TEST, np.arange(200) % 10),
}
ARCHIVE = {
    "X_train": TRAIN.astype(np.uint8),
    "y_train": np.arange(300) % 10,
    "X_test": TEST.astype(np.uint8),
    "y_test": np.arange(200) % 10,
    "x_offset": np.array(0.0),
    "x_scale": np.array(100.0),
}
