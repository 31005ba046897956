"""What is known about the paper's six datasets: names, sizes, terms, public sources and checksums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["idx", "libsvm"]


@dataclass(frozen=True)
class SourceFile:
    """One public file; `sha256` is None where no checksum of the file itself is known for certain.

    The arrays made from the files are checked in any case (:attr:`PaperSet.content`).
    """

    name: str
    approximate_bytes: int
    sha256: str | None = None


@dataclass(frozen=True)
class PaperSet:
    """One of the six. `content` is the :func:`~arml_core.datasets.base.content_hash` of the six stored arrays.

    `fingerprint` is that of the loaded dataset: jobs name a set by it without loading or even having it.
    """

    name: str
    title: str
    description: str
    n_train: int
    n_test: int
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    content: str
    fingerprint: str
    source: str
    terms: str
    file_format: Format
    mirrors: tuple[str, ...]
    files: tuple[SourceFile, ...]  # idx: images and labels of train, then of test; libsvm: train, test
    stored_as: Literal["uint8", "float32"] = "uint8"
    image_shape: tuple[int, int] | None = None


_DIGITS = tuple("0123456789")


def _pixels(n: int) -> tuple[str, ...]:
    return tuple(f"pix_{i}" for i in range(n))


def _idx_set(*files: tuple[int, str], **facts: Any) -> PaperSet:
    """A set in the four files of MNIST, given by size and checksum."""
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    return PaperSet(
        n_train=60000,
        n_test=10000,
        feature_names=_pixels(784),
        file_format="idx",
        files=tuple(SourceFile(f"{name}.gz", *file) for name, file in zip(names, files, strict=True)),
        image_shape=(28, 28),
        **facts,
    )


def _libsvm_set(
    *files: SourceFile, folder: str = "multiclass", terms: str = "CC BY 4.0 (UCI)", **facts: Any
) -> PaperSet:
    """A set from the collection of LIBSVM, where few files have a published checksum."""
    mirror = f"https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/{folder}/"
    return PaperSet(terms=terms, file_format="libsvm", mirrors=(mirror,), files=files, **facts)


_MNIST = _idx_set(
    (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    name="mnist",
    title="MNIST",
    description="Handwritten digits, 28 × 28 pixels.",
    class_names=_DIGITS,
    content="9c60dc4ec61609617e90249badab6d34a047245b494bfcb0ebc40249421ad3fc",
    fingerprint="6f8a5f67e4d18d241a0941151f0a8ab928129e484bde9aa2e0be97d4560c5173",
    source="Y. LeCun, C. Cortes, C. J. C. Burges: the four idx files",
    terms="CC BY-SA 3.0 (Y. LeCun and C. Cortes)",
    mirrors=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
)
_FASHION_MNIST = _idx_set(
    (26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
    (29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
    (4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
    (5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    name="fashion_mnist",
    title="Fashion-MNIST",
    description="Pictures of clothes, 28 × 28 pixels.",
    class_names=(
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ),
    content="d61c85b7640434105f323dcbbc7ce7cecc855df8c4720eebe8e8be6fc08a5473",
    fingerprint="d7a43a5593caf7673b84e315ad9f1686278645389250915920d495f80cece71a",
    source="Zalando Research: the four idx files",
    terms="MIT (Zalando SE)",
    mirrors=(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
)
_SPLICE = _libsvm_set(
    SourceFile("splice", 295_000),
    SourceFile("splice.t", 642_000),
    folder="binary",
    name="splice",
    title="Splice",
    description="60 bases around a possible splice junction of DNA (A=1, G=2, C=3, T=4): is it one?",
    n_train=1000,
    n_test=2175,
    feature_names=tuple(f"base_{k:+d}" for k in range(-30, 31) if k != 0),
    class_names=("junction (EI or IE)", "neither"),
    content="42a0d676c5cf30af3c3d8097e5a66ab0f6e79d9c6a0a11917c2cf68b019059e0",
    fingerprint="a107fe46ca776064385872e921d148dfb5e221a986de45f1c615711709242849",
    source="LIBSVM splice, splice.t; UCI Splice-junction Gene Sequences",
)
_PENDIGITS = _libsvm_set(
    SourceFile("pendigits", 589_457),
    SourceFile("pendigits.t", 274_929),
    name="pendigits",
    title="Pendigits",
    description="Handwritten digits as eight pen positions.",
    n_train=7494,
    n_test=3498,
    feature_names=tuple(f"{axis}{k}" for k in range(1, 9) for axis in "xy"),
    class_names=_DIGITS,
    content="c61fe07cc244c0aa6aca26ace8f378d1b403c034141a54ef2c47156f69c7ebad",
    fingerprint="d58939a0b41f42f9599c238621024200682fb939b9e0bf2770fd41fdd4a6b50c",
    source="LIBSVM pendigits, pendigits.t; UCI Pen-Based Recognition of Handwritten Digits",
)
_SATIMAGE = _libsvm_set(
    SourceFile("satimage.scale", 1_880_204),
    SourceFile("satimage.scale.t", 847_958),
    name="satimage",
    title="Satimage",
    description="Landsat pictures: nine pixels in four bands; the kind of ground in the middle.",
    n_train=4435,
    n_test=2000,
    feature_names=tuple(f"pixel{p}_band{b}" for p in range(1, 10) for b in range(1, 5)),
    class_names=(
        "red soil",
        "cotton crop",
        "grey soil",
        "damp grey soil",
        "vegetation stubble",
        "very damp grey soil",
    ),
    content="50615d2129f842dd26d62b1ce3c13415262e88711cf84ef07c6bf000ade18160",
    fingerprint="9d88c0497184b612f005fe74db1742f57952b1d209b57d5e033f2e494c2b3f1e",
    source="LIBSVM satimage.scale, satimage.scale.t; UCI Statlog (Landsat Satellite)",
    stored_as="float32",
)
_USPS = _libsvm_set(
    SourceFile("usps.bz2", 6_579_383, "3771e9dd6ba685185f89867b6e249233dd74652389f263963b3b741e994b034f"),
    SourceFile("usps.t.bz2", 1_831_726, "a9c0164e797d60142a50604917f0baa604f326e9a689698763793fa5d12ffc4e"),
    name="usps",
    title="USPS",
    description="Handwritten digits from envelopes, 16 × 16 pixels, smoothed.",
    n_train=7291,
    n_test=2007,
    feature_names=_pixels(256),
    class_names=_DIGITS,
    content="de5e3e6c81d9cebe22cb19208e450d052646e8114ac2f10017b6ff0848e39827",
    fingerprint="deebb19c42d80982148d9b3fda8d3d1469ed0951390d816836cefdeb4f1d3e26",
    source="LIBSVM usps, usps.t; J. J. Hull 1994",
    terms="no licence stated; treat as research use",
    stored_as="float32",
    image_shape=(16, 16),
)

PAPER_SETS = {known.name: known for known in (_MNIST, _FASHION_MNIST, _SPLICE, _PENDIGITS, _SATIMAGE, _USPS)}
