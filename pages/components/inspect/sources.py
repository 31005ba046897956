"""What can be inspected: Euclidean on every dataset at hand, the metrics that ship, and the visitor's finished runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arml_core.datasets import Dataset, DatasetInfo, list_datasets, load_dataset
from arml_core.jobs import Client, JobStatus, RunSpec, StoreError, UnknownJob
from arml_core.jobs.model import LearnedModel
from arml_core.learners.registry import LEARNERS, Gives
from arml_core.learners.storage import load_metric
from arml_core.metric import Metric
from arml_core.results import FOLDER

from ..address_keys import KEY_LENGTH
from ..job_words import dataset_label, run_title
from ..visitor import read_client
from .choices import InspectView
from .study import LARGE

EUCLIDEAN = "euclidean"
METRICS = FOLDER / "metrics"
LISTED = 500
GROUPS = ("bundled", "paper", "toy")


@dataclass(frozen=True, eq=False)
class Source:
    """A metric with its dataset, and how both are found.

    `data` and `metric` stand in the address. `name` is what `load_dataset` takes; where it is empty, or the metric is a
    run's, the store has the dataset under `fingerprint`. `path` is the file of a metric that ships.
    """

    data: str
    metric: str
    dataset_title: str
    title: str
    name: str = ""
    fingerprint: str = ""
    path: Path | None = None
    job: JobStatus | None = None
    large: bool = False

    @property
    def lane(self) -> str:
        """Which of the task pool's threads works on it."""
        return "large" if self.large else "small"

    @property
    def stored(self) -> bool:
        """Whether the job store has to be asked for it."""
        return self.job is not None or not self.name

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Equal for equal content under the same name.

        Nobody gets to somebody else's by guessing: run ids are checked before.
        """
        stored = self.fingerprint if self.stored else ""
        return (self.name, self.dataset_title, stored, self.metric if self.job is None else self.job.id)

    @property
    def gives(self) -> Gives:
        """Whether it is a metric, or references that are learned points or kept rows."""
        return self.job.spec.gives if self.job is not None and isinstance(self.job.spec, RunSpec) else "metric"

    @property
    def private(self) -> bool:
        return not self.name or (self.job is not None and self.job.private)


@dataclass(frozen=True, eq=False)
class SourceCatalogue:
    """Every source by dataset and metric, and what could not be read."""

    titles: Mapping[str, str]
    sources: Mapping[str, Mapping[str, Source]]
    unfinished: Mapping[str, JobStatus]
    absent: Mapping[str, DatasetInfo]
    problem: str = ""


def load_catalogue() -> SourceCatalogue:
    """What there is for this visitor now."""
    titles: dict[str, str] = {}
    sources: dict[str, dict[str, Source]] = {}
    about = {info.name: info for group in GROUPS for info in list_datasets() if info.group == group}

    def add(source: Source) -> None:
        titles.setdefault(source.data, source.dataset_title)
        sources.setdefault(source.data, {})[source.metric] = source

    for name, info in about.items():
        if info.available:
            add(Source(name, EUCLIDEAN, info.title, "Euclidean", name, info.fingerprint, large=is_large(info)))
    for path in sorted(METRICS.glob("*.npz")):
        name, _, learner = path.stem.partition("-")
        if name in sources:
            known = LEARNERS.get(learner)
            title = f"{known.title if known else learner}, as shipped"
            add(Source(name, learner, about[name].title, title, name, about[name].fingerprint, path))
    problem, unfinished = "", {}
    try:
        client = read_client()
        jobs = [job for job in client.list(limit=LISTED) if job.kind == "train"]
        unfinished = {job.id: job for job in jobs if job.state != "done"}
        for source in _of_store(client, [job for job in jobs if job.state == "done"], about):
            add(source)
    except StoreError as reason:
        problem = f"The job store cannot be read: {reason}"
    absent = {name: info for name, info in about.items() if not info.available}
    return SourceCatalogue(titles, sources, unfinished, absent, problem)


def is_large(info: DatasetInfo) -> bool:
    """Whether preparing the classifier takes longer than anybody waits without a word."""
    return float(info.n_train) * info.n_features**2 > LARGE


def _of_store(client: Client, jobs: list[JobStatus], about: Mapping[str, DatasetInfo]) -> list[Source]:
    found = []
    for upload in client.uploads():
        if upload.kind == "dataset":
            key = upload.digest[:KEY_LENGTH]
            found.append(Source(key, EUCLIDEAN, upload.title, "Euclidean", "", upload.digest))
    for job in jobs:
        try:
            name, title = dataset_label(client, job.dataset)
        except (UnknownJob, StoreError):
            continue
        info = about.get(name)
        if info is not None and not info.available:
            continue
        key = name or job.dataset[:KEY_LENGTH]
        large = info is not None and is_large(info)
        found.append(
            Source(key, job.id[:KEY_LENGTH], title, run_title(job, title), name, job.dataset, None, job, large)
        )
    return found


def resolve(view: InspectView, catalogue: SourceCatalogue) -> tuple[Source | None, list[str]]:
    """The source that is meant, or the nearest that is there, with a sentence on what is missing."""
    notices = []
    data = view.data
    if data not in catalogue.sources:
        notices.append(_missing_dataset(data, catalogue))
        data = next(iter(catalogue.sources), "")
        data = "digits" if "digits" in catalogue.sources else data
    offered = catalogue.sources.get(data, {})
    if not offered:
        return None, notices
    if view.metric in offered:
        return offered[view.metric], notices
    if data == view.data:
        notices.append(_missing_metric(view.metric, catalogue, data))
    return offered.get(EUCLIDEAN) or next(iter(offered.values())), notices


def _missing_dataset(data: str, catalogue: SourceCatalogue) -> str:
    absent = catalogue.absent.get(data)
    if absent is not None:
        return (
            f"{absent.title} is not on this machine. Training on it downloads it, or: "
            f"python -m arml_core datasets fetch {data}. Digits is shown instead."
        )
    return f"There is no dataset '{data}' here that you may see. Digits is shown instead."


def _missing_metric(metric: str, catalogue: SourceCatalogue, data: str) -> str:
    title = catalogue.titles[data]
    waiting = next((job for id, job in catalogue.unfinished.items() if id.startswith(metric)), None)
    if waiting is not None:
        return f"The run {metric} is {waiting.state}, so it has no metric yet. Euclidean is shown until it is done."
    elsewhere = next((key for key, offered in catalogue.sources.items() if metric in offered), None)
    if elsewhere is not None:
        return (
            f"The metric '{metric}' is for {catalogue.titles[elsewhere]}, not for {title}. Euclidean is shown instead."
        )
    return (
        f"There is no finished run or shipped metric '{metric}' for {title} that you may see: it may have been "
        "removed, or belong to somebody else. Euclidean is shown instead."
    )


def read_source(source: Source, client: Client | None) -> tuple[Dataset, Metric, LearnedModel | None]:
    """Load the dataset, the metric and the references if there are any; a ValueError says what does not fit.

    Only what is stored needs a client.
    """
    if source.stored:
        assert client is not None
        data = client.dataset(source.fingerprint)
        if source.job is not None:
            run = client.run(source.job.id)
            return data, run.metric, None if run.references_ is None else run
    else:
        data = load_dataset(source.name)
    if source.path is None:
        return data, Metric.identity(data.n_features), None
    saved = load_metric(source.path, data.n_features)
    if saved.info.get("fingerprint") not in (None, data.fingerprint):
        raise ValueError(
            f"{source.path.name} was learned on another version of {data.title} than the one on this machine"
        )
    return data, saved.metric, None
