"""The two small tables: the datasets with the errors of the Euclidean metric, and how long a training takes."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from arml_core.reproduce import facts, published
from arml_core.reproduce.beside import dataset_rows, runtime_rows
from arml_core.results import FOLDER

from ..on_demand import on_demand
from .choices import View
from .marks import LEGEND, MISSING, beside
from .take_away import show_take_away

NOT_YET = "not computed yet"


def show_datasets(view: View) -> None:
    """Sizes and Euclidean errors."""
    st.markdown(
        "The paper's six datasets, scaled to [0, 1] by the training part. The errors are those of the Euclidean metric "
        "on **all** test points; the other tables take 1,000 of them."
    )
    found = dataset_rows(FOLDER)
    st.table(datasets_table(found), border="horizontal", hide_index=True, alt="Datasets, errors of paper and ours")
    words = LEGEND.split(" ✓")[0] + " The paper prints three digits, ours are exact shares of the test points."
    st.markdown(f":small[{words}]")
    _origin(facts.DATASETS_FILE, published.TITLES)
    show_take_away(
        view,
        lambda: found,
        "paper-datasets",
        "python -m arml_core reproduce datasets",
        "from arml_core.reproduce.beside import dataset_rows\nfrom arml_core.results import FOLDER\n\n"
        "print(dataset_rows(FOLDER).to_string())",
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
            NOT_YET if math.isnan(ours) else beside(ours, less)
            for ours, less in zip(own["ours"], own["difference"], strict=True)
        ]
    return pd.DataFrame(shown)


def show_runtime(view: View) -> None:
    """Seconds for 100 iterations."""
    theirs = published.runtime_seconds()
    st.markdown(
        "Seconds for 100 iterations of training on USPS. The paper's ran on a Xeon E5-2620 v4, with metric-learn's "
        f"code for LMNN, ITML and NCA; ARML took {theirs['ARML_gpu']:g} s on a GPU. Ours run here with our own code. "
        "An iteration is not the same amount of work for each, and machines differ: look at the order of magnitude."
    )
    found = runtime_rows(FOLDER)
    st.table(runtime_table(found), border="horizontal", hide_index=True, alt="Seconds for 100 iterations")
    st.markdown(":small[:orange[▲] slower than the paper's, :blue[▼] faster.]")
    if found["our seconds"].isna().any():
        st.info("What is missing is not measured yet; the command below measures it.", icon="ℹ️")
    _origin(facts.RUNTIME_FILE, published.METHODS)
    show_take_away(
        view,
        lambda: found,
        "paper-runtime",
        "python -m arml_core reproduce runtime",
        "from arml_core.reproduce.beside import runtime_rows\nfrom arml_core.results import FOLDER\n\n"
        "print(runtime_rows(FOLDER).to_string())",
    )


def runtime_table(found: pd.DataFrame) -> pd.DataFrame:
    shown: dict[str, list[str]] = {"Metric": list(found["metric"])}
    shown["Paper"] = [f"{value:g} s" for value in found["paper seconds"]]
    shown["Ours"] = [NOT_YET if math.isnan(value) else f"{value:g} s" for value in found["our seconds"]]
    shown["Ours / paper"] = [_ratio(value) for value in found["ratio"]]
    shown["Iterations done"] = [MISSING if pd.isna(value) else f"{int(value)}" for value in found["iterations"]]
    shown["On"] = [
        f"{machine}, {int(threads)} thread{'s' if threads > 1 else ''}, {date}" if machine else MISSING
        for machine, threads, date in zip(found["machine"], found["threads"], found["date"], strict=True)
    ]
    return pd.DataFrame(shown)


def _ratio(value: float) -> str:
    if math.isnan(value):
        return MISSING
    if value > 1.005:
        return f":orange[▲ {value:.2f}]"
    return f":blue[▼ {value:.2f}]" if value < 0.995 else f":gray[= {value:.2f}]"


def _origin(name: str, titles: dict[str, str]) -> None:
    found = facts.read(FOLDER, name)
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
