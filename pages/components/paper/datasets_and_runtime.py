"""The two small tables: the datasets with the errors of the Euclidean metric, and how long a training takes."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from arml_core.jobs import JobStatus
from arml_core.jobs.states import DONE
from arml_core.reproduce import measurements, published
from arml_core.reproduce.paper_comparison import dataset_rows, runtime_rows
from arml_core.reproduce.run import find_jobs, seconds_of, submit
from arml_core.results import FOLDER

from ..on_demand import on_demand
from .choices import KS, WIDGETS, PaperView, value_or_first
from .differences import LEGEND, MISSING, with_difference
from .downloads import show_downloads
from .recomputation import Recomputation, download_words, show_recomputation
from .row_recomputation import computed_words, evaluation_of, label_of

NOT_YET = "not computed yet"


def show_datasets(view: PaperView) -> None:
    """Sizes and Euclidean errors."""
    st.markdown(
        "The paper's six datasets, scaled to [0, 1] by the training part. The errors are those of the Euclidean metric "
        "on **all** test points; the other tables take 1,000 of them."
    )
    found = dataset_rows(FOLDER)
    st.table(datasets_table(found), border="horizontal", hide_index=True, alt="Datasets, errors of paper and ours")
    words = LEGEND.split(" ✓")[0] + " The paper prints three digits, ours are exact shares of the test points."
    st.markdown(f":small[{words}]")
    _show_provenance(measurements.DATASETS_FILE, published.TITLES)
    if "detail" not in view.hide:
        _error_detail(view, found)
    show_downloads(
        view,
        lambda: found,
        "paper-datasets",
        "python -m arml_core reproduce datasets",
        "from arml_core.reproduce.paper_comparison import dataset_rows\nfrom arml_core.results import FOLDER\n\n"
        "print(dataset_rows(FOLDER).to_string())",
    )


def _error_detail(view: PaperView, found: pd.DataFrame) -> None:
    """One error computed again; the radii of all test points come with it."""
    with st.container(border=True):
        st.markdown("**One error of ours, computed again**")
        left, right = st.columns(2)
        with left:
            WIDGETS.selectbox("Dataset", "data", view.data, published.TITLES)
        with right:
            WIDGETS.selectbox("Neighbours", "k", view.k, {k: f"{k}-NN" for k in KS})
        row = found[(found["dataset"] == published.TITLES[view.data]) & (found["K"] == int(view.k))].iloc[0]
        step = measurements.error_step(view.data, int(view.k))
        known = not math.isnan(row["ours"])
        waiting = f"It certifies all {row['test']:,} test points, which takes longer than asking for their answers."
        show_recomputation(
            Recomputation(
                lambda client: submit(client, step),
                lambda client: find_jobs(client, step),
                label_of(known),
                f"{waiting} {download_words(view.data)}".strip(),
                lambda job: _show_error(job, float(row["paper"]), float(row["ours"])),
            )
        )


def _show_error(job: JobStatus, paper: float, shipped: float) -> None:
    fresh = evaluation_of(job)
    if fresh is None:
        return
    if job.state != DONE:
        st.caption(f"So far {len(fresh):,} of {fresh.planned:,} points.")
        return
    error = float(1 - fresh.radii.correct.mean())
    ours = "Nothing ships for it yet." if math.isnan(shipped) else f"The shipped error is {shipped:.4f}."
    when = computed_words(job, fresh.made.get("date", "this machine"))
    st.success(
        f"{when} {int((~fresh.radii.correct).sum()):,} of {len(fresh):,} test points are answered wrongly: an error of "
        f"{error:.4f}. {ours} The paper has {paper:.3f}."
    )


def datasets_table(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each dataset: sizes, then the paper's error and ours for both K."""
    shown: dict[str, list[str]] = {"Dataset": list(dict.fromkeys(found["dataset"]))}
    first = found[found["K"] == 1]
    for size in ("features", "classes", "train", "test"):
        shown[size.capitalize()] = [f"{value:,}" for value in first[size]]
    shown["Same sizes here"] = [NOT_YET if same is None else "✓" if same else "✗" for same in first["same sizes"]]
    for k in (1, published.K):
        own = found[found["K"] == k]
        shown[f"{k}-NN error, paper"] = [f"{value:.3f}" for value in own["paper"]]
        shown[f"{k}-NN error, ours"] = [
            NOT_YET if math.isnan(ours) else with_difference(ours, less)
            for ours, less in zip(own["ours"], own["difference"], strict=True)
        ]
    return pd.DataFrame(shown)


def show_runtime(view: PaperView) -> None:
    """Seconds for 100 iterations."""
    theirs = published.runtime_seconds()
    st.markdown(
        "Seconds for 100 iterations of training on USPS. The paper's ran on a Xeon E5-2620 v4, with metric-learn's "
        f"code for LMNN, ITML and NCA; ARML took {theirs['ARML_gpu']:g} s on a GPU. Ours run here with our own code. "
        "An iteration is not the same amount of work for each, and machines differ: look at the order of magnitude."
    )
    found = runtime_rows(FOLDER)
    st.table(runtime_table(found), border="horizontal", hide_index=True, alt="Seconds for 100 iterations")
    places = set(_places(found)) - {MISSING}
    once = f" Ours were measured on a {places.pop()}." if len(places) == 1 else ""
    st.markdown(
        f":small[:orange[▲] slower an iteration than the paper's, :blue[▼] faster. "
        f"A training that has converged earlier does fewer than 100.{once}]"
    )
    if found["our seconds"].isna().any():
        st.info("What is missing is not measured yet: time one below, or all with the command.", icon="ℹ️")
    _show_provenance(measurements.RUNTIME_FILE, published.METHODS)
    if "detail" not in view.hide:
        _runtime_detail(view, found)
    show_downloads(
        view,
        lambda: found,
        "paper-runtime",
        "python -m arml_core reproduce runtime",
        "from arml_core.reproduce.paper_comparison import runtime_rows\nfrom arml_core.results import FOLDER\n\n"
        "print(runtime_rows(FOLDER).to_string())",
    )


def _runtime_detail(view: PaperView, found: pd.DataFrame) -> None:
    """One training timed again."""
    titles = {name: published.METHODS[name] for name in measurements.RUNTIME_PARAMETERS}
    method = value_or_first(view.method, titles)
    row = found[found["metric"] == titles[method]].iloc[0]
    known = not math.isnan(row["our seconds"])
    with st.container(border=True):
        st.markdown("**One training of ours, timed again**")
        WIDGETS.selectbox("Metric", "method", method, titles)
        took = f"It took {row['our seconds']:g} s on a {row['machine']}." if known else "It takes minutes."
        show_recomputation(
            Recomputation(
                lambda client: measurements.submit_runtime(client, method),
                lambda client: measurements.find_runtime(client, method),
                label_of(known),
                f"{took} {download_words(measurements.RUNTIME_SET)}".strip(),
                lambda job: _show_seconds(job, float(row["paper seconds"])),
            )
        )


def _show_seconds(job: JobStatus, paper: float) -> None:
    if job.state == DONE:
        seconds = seconds_of(job)
        st.success(
            f"{job.total} iterations took {seconds:.1f} s here. The paper has {paper:g} s. A training that was "
            "computed before is not computed again: the time is that of its first run."
        )


def runtime_table(found: pd.DataFrame) -> pd.DataFrame:
    shown: dict[str, list[str]] = {"Metric": list(found["metric"])}
    shown["Paper"] = [f"{value:g}\N{NO-BREAK SPACE}s" for value in found["paper seconds"]]
    shown["Ours"] = [
        NOT_YET if math.isnan(value) else f"{value:g}\N{NO-BREAK SPACE}s" for value in found["our seconds"]
    ]
    shown["Ours / paper, an iteration"] = [_ratio(value) for value in found["ratio"]]
    shown["Iterations done"] = [MISSING if pd.isna(value) else f"{int(value)}" for value in found["iterations"]]
    if len(set(_places(found)) - {MISSING}) > 1:  # else it is said once
        shown["On"] = _places(found)
    return pd.DataFrame(shown)


def _places(found: pd.DataFrame) -> list[str]:
    """Where and when each row of ours was measured."""
    return [
        f"{machine}, {int(threads)} thread{'s' if threads > 1 else ''}, {date}" if machine else MISSING
        for machine, threads, date in zip(found["machine"], found["threads"], found["date"], strict=True)
    ]


def _ratio(value: float) -> str:
    if math.isnan(value):
        return MISSING
    if value > 1.005:
        return f":orange[▲ {value:.2f}]"
    return f":blue[▼ {value:.2f}]" if value < 0.995 else f":gray[= {value:.2f}]"


def _show_provenance(name: str, titles: dict[str, str]) -> None:
    found = measurements.read_measurements(FOLDER, name)
    if not found:
        return

    def show() -> None:
        frame = pd.DataFrame(
            [
                {
                    "": f"**{titles.get(key, key)}**",
                    "Computed": f"{about['date']} on a {about['machine']}",
                    "Settings": ", ".join(f"{n} {v}" for n, v in about.get("parameters", {}).items()) or MISSING,
                    "Versions": ", ".join(f"{package} {number}" for package, number in about["versions"].items()),
                }
                for key, about in found.items()
            ]
        )
        st.table(frame, border="horizontal", hide_index=True, alt="How these numbers came about")

    on_demand("How these numbers came about", f"paper_open_origin_{name}", show)
