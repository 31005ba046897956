"""Figures 2 to 4: robust-error curves that the paper shows without numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from arml_core.curves import robust_error
from arml_core.figures import (
    RobustLine,
    curves_alt,
    curves_spec,
    curves_table,
)
from arml_core.reproduce import published
from arml_core.reproduce.figure2 import NetworkRequest, curves
from arml_core.reproduce.paper_comparison import spread
from arml_core.reproduce.plan import SENSITIVITY_SETS, Effort, sensitivity
from arml_core.reproduce.published import POINTS, TITLES
from arml_core.reproduce.tables import Tables, column_of
from arml_core.results import Evaluation
from arml_core.vocabulary import BOUNDED_CLASSIFIERS

from ..chart import show_chart
from ..theme import current_style
from .choices import NETWORKS, SIZES, WIDGETS, PaperView, value_or_first
from .downloads import show_downloads
from .row_detail import results_in, show_provenance, show_row
from .row_recomputation import NetworkToRecompute, RowToRecompute

PAPER_SIZE = 10
NETWORK_SETS = ("mnist", "fashion_mnist")


def show_figure2(view: PaperView, tables: Tables) -> None:
    """ARML's 1-NN beside neural networks."""
    st.markdown(
        "The certified robust error of 1-NN with ARML beside neural networks: an ordinary ReLU network bounded with "
        "CROWN, and networks trained under Gaussian noise with randomized smoothing. The paper shows curves without "
        "numbers and does not describe its networks; ours are fully connected, two hidden layers of 256. A smoothed "
        "network's radius holds with probability 0.999, the other two are certain."
    )
    titles = {name: TITLES[name] for name in NETWORK_SETS}
    dataset = value_or_first(view.data, titles)
    if "data" not in view.hide:
        WIDGETS.segmented_control("Dataset", "data", dataset, titles)
    found = [e for e in results_in("figure2") if e.dataset == dataset]
    arml = tables.get(dataset, "arml", "exact")
    lines = [_line(e, place + 1, e.describe_method()) for place, e in enumerate(found)]
    if arml is not None:
        lines.insert(0, _line(arml, 5, "1-NN with ARML"))
    if not lines:
        st.info(f"Our results for {TITLES[dataset]} are not there yet: compute one below.", icon="ℹ️")
    else:
        if arml is None:
            st.info("The curve of ARML is not there yet.", icon="ℹ️")
        if not found:
            missing = "The curves of the networks are not there yet: compute one below, or all with the command."
            st.info(missing, icon="ℹ️")
        reading = (
            "Lower is safer. No attack is involved: ARML's curve and CROWN's are proved, those of the smoothed "
            "networks hold at each point with probability 0.999."
        )
        _curves(lines, published.radii(dataset), "paper_figure2", reading)
        show_provenance([*([arml] if arml is not None else []), *found], "figure2")
    if "detail" not in view.hide:
        _network_detail(view, dataset, found)
    show_downloads(
        view,
        lambda: curves_table(lines, float(published.radii(dataset)[-1])) if lines else pd.DataFrame(),
        f"paper-figure2-{dataset}",
        f"python -m arml_core reproduce figure2 --dataset {dataset}",
        "from arml_core import robust_error\nfrom arml_core.results import FOLDER, shipped\n\n"
        'for found in shipped(FOLDER / "figure2"):\n'
        "    print(found.dataset, found.describe_method(), robust_error(found.bound, [0, 0.5, 1, 1.5, 2, 2.5]))",
    )


def _network_detail(view: PaperView, dataset: str, found: list[Evaluation]) -> None:
    planned = dict(zip(NETWORKS, curves(), strict=True))
    network = planned[view.network].network
    same = [e for e in found if (e.spec.method, dict(e.spec.options)) == (network.method, network.options)]
    kept = same[0] if same else None
    curve = planned[view.network] if kept is None else NetworkRequest(network, len(kept))
    titles = {name: curve.title for name, curve in planned.items()}
    radii = published.radii(dataset)
    show_row("network", "Curve of a network", titles, view.network, NetworkToRecompute(curve, dataset, kept, radii))


def show_sensitivity(view: PaperView) -> None:
    """Neighbourhoods of several sizes for ARML's triplets."""
    st.markdown(
        "ARML draws its training triplets from a neighbourhood of each point. The paper takes 10 points and shows, as "
        "curves without numbers, that ARML “is not very sensitive” to this size. Its empirical curve is the boundary "
        "attack's; ours is the white-box attack's."
    )
    titles = {name: TITLES[name] for name in SENSITIVITY_SETS}
    dataset, column = value_or_first(view.data, titles), value_or_first(view.column, BOUNDED_CLASSIFIERS)
    if "data" not in view.hide:
        with st.container(horizontal=True):
            WIDGETS.segmented_control("Dataset", "data", dataset, titles)
            WIDGETS.segmented_control("Classifier and bound", "column", column, BOUNDED_CLASSIFIERS)
    found = {
        str(e.run.parameters["n_neighbors"]): e
        for e in results_in("sensitivity")
        if e.dataset == dataset and column_of(e) == column
    }
    sizes, at = [size for size in SIZES if size in found], published.radii(dataset)
    if not sizes:
        st.info(f"Our results for {TITLES[dataset]} are not there yet. The command below computes them.", icon="ℹ️")
    else:
        missing = [size for size in SIZES if size not in found]
        if missing:
            st.info(f"Not computed yet: size {', '.join(missing)}.", icon="ℹ️")
        errors = np.array([robust_error(found[size].bound, at) for size in sizes])
        lines = [_line(found[size], SIZES.index(size), f"size {size}") for size in sizes]
        points = f", {len(found[sizes[0]])} points" if len(found[sizes[0]]) < POINTS else ""
        st.markdown(f"**{TITLES[dataset]}, {BOUNDED_CLASSIFIERS[column]}{points}.** {_spread_words(found, sizes, at)}")
        _curves(lines, at, "paper_sensitivity", "Look which curves lie on each other, and which do not.")
        frame = pd.DataFrame({f"ε = {r:g}": [f"{v:.3f}" for v in errors[:, i]] for i, r in enumerate(at)})
        frame.insert(0, "Size", sizes)
        st.table(frame, border="horizontal", hide_index=True, alt="Robust errors for each size of the neighbourhood")
    if "detail" not in view.hide:
        kept = found.get(view.size)
        effort = Effort() if kept is None else Effort(points=len(kept))
        (step,) = [
            step
            for step in sensitivity([dataset], effort)
            if step.column == column and str(step.parameters["n_neighbors"]) == view.size
        ]
        offered = {size: size for size in SIZES}
        show_row("size", "Size of the neighbourhood", offered, view.size, RowToRecompute(step, kept, at))
    show_downloads(
        view,
        lambda: pd.DataFrame(
            [
                {"dataset": TITLES[dataset], "column": column, "size": int(size), "radius": r, "error": float(error)}
                for size in sizes
                for r, error in zip(
                    published.radii(dataset), robust_error(found[size].bound, published.radii(dataset)), strict=True
                )
            ],
            columns=["dataset", "column", "size", "radius", "error"],
        ),
        f"paper-sensitivity-{dataset}-{column}",
        f"python -m arml_core reproduce sensitivity --dataset {dataset}",
        "from arml_core import robust_error\nfrom arml_core.results import FOLDER, shipped\n\n"
        'for found in shipped(FOLDER / "sensitivity"):\n'
        '    size = found.run.parameters["n_neighbors"]\n'
        "    print(found.dataset, found.describe_method(), size, robust_error(found.bound, [0, 0.1, 0.2, 0.3]))",
    )


def _spread_words(found: dict[str, Evaluation], sizes: list[str], at: np.ndarray) -> str:
    """How far apart the sizes lie: all of them, and those from the paper's 10 on."""
    text = (
        f"At the radii of the table the errors of two sizes differ by up to **{spread(list(found.values()), at):.3f}**"
    )
    large = [found[size] for size in sizes if int(size) >= PAPER_SIZE]
    return text + (f", from size {PAPER_SIZE} on by up to **{spread(large, at):.3f}**." if len(large) > 1 else ".")


def _line(evaluation: Evaluation, place: int, label: str) -> RobustLine:
    attack = evaluation.spec.kind == "attack"
    points = f", {len(evaluation)} points" if len(evaluation) < POINTS else ""
    return RobustLine(
        f"{label}{points}" if not attack else label,
        certified=None if attack else evaluation.radii.lower,
        empirical=evaluation.radii.upper if attack else None,
        exact=bool(evaluation.radii.exact.all()),
        certificate="" if attack else evaluation.describe_method(),
        attack=evaluation.describe_method() if attack else "",
        place=place,
        wrong=~evaluation.radii.correct,
    )


def _curves(lines: list[RobustLine], radii: np.ndarray, key: str, caption: str) -> None:
    upto = float(radii[-1])
    show_chart(
        curves_spec(lines, current_style(), upto=upto),
        key=key,
        alt=curves_alt(lines, float(radii[len(radii) // 2])),
    )
    st.caption(caption)
