"""Training curves and spectra: what is drawn is what was reported."""

from __future__ import annotations

import numpy as np
import pytest

from arml_core.figures import (
    eigenvalues_of,
    history_table,
    progress_alt,
    progress_figure,
    smoothed,
    spectrum_alt,
    spectrum_figure,
    style_for,
)
from arml_core.figures.training import MOST_DRAWN, thinned

LIGHT = style_for(dark=False)


def traces(figure) -> dict:
    return {trace.name: trace for trace in figure.data}


def test_a_live_curve_shows_every_report_and_the_smoothed_ones() -> None:
    steps, loss = np.array([1, 5, 9]), np.array([3.0, 1.0, 2.0])
    found = traces(progress_figure(steps, loss, LIGHT, y_title="loss", x_title="iteration"))
    np.testing.assert_array_equal(found["each iteration"].x, steps)
    np.testing.assert_array_equal(found["each iteration"].y, loss)
    np.testing.assert_array_equal(found["smoothed"].y, smoothed(loss))


def test_a_single_report_is_visible_as_a_mark() -> None:
    figure = progress_figure(np.array([1]), np.array([3.0]), LIGHT, y_title="loss")
    assert all("markers" in trace.mode for trace in figure.data)


def test_a_long_training_is_thinned_and_keeps_its_ends() -> None:
    steps = np.arange(1, 100_001)
    at, values = thinned(steps, np.sqrt(steps))
    assert len(at) == MOST_DRAWN
    assert (at[0], at[-1]) == (1, 100_000)
    np.testing.assert_array_equal(values, np.sqrt(at))


def test_eigenvalues_are_those_of_the_matrix_zeros_included() -> None:
    g = np.random.default_rng(0).standard_normal((2, 4))
    np.testing.assert_allclose(eigenvalues_of(g), np.sort(np.linalg.eigvalsh(g.T @ g))[::-1], atol=1e-12)


def test_a_spectrum_leaves_out_zeros_and_shows_an_earlier_one() -> None:
    figure = spectrum_figure(np.array([4.0, 1.0, 0.0]), LIGHT, ("after epoch 1", np.ones(3)))
    found = traces(figure)
    assert list(found["now"].x) == [1, 2]
    assert list(found["now"].y) == [4.0, 1.0]
    assert list(found["after epoch 1"].y) == [1.0, 1.0, 1.0]
    assert figure.layout.yaxis.type == "log"


def test_marks_within_few_decades_are_written_out() -> None:
    axis = spectrum_figure(np.array([3.0, 0.4]), LIGHT).layout.yaxis
    written = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert {0.2: "0.2", 0.5: "0.5", 1.0: "1", 2.0: "2", 5.0: "5"}.items() <= written.items()
    assert axis.tickmode == "array"


def test_marks_over_many_decades_are_at_powers_of_ten_of_all_that_is_drawn() -> None:
    assert spectrum_figure(np.array([1e4, 1e-4]), LIGHT).layout.yaxis.dtick == 2
    assert spectrum_figure(np.ones(2), LIGHT, ("after epoch 1", np.array([1e4, 1e-4]))).layout.yaxis.dtick == 2
    assert spectrum_figure(np.zeros(2), LIGHT).layout.yaxis.tickmode == "array"


def test_the_table_has_a_row_per_step_and_a_column_per_quantity() -> None:
    steps = {"loss": np.array([1, 2, 3]), "eigenvalues": np.array([2])}
    table = history_table(steps, {"loss": np.array([3.0, 2.0, 1.0]), "eigenvalues": np.array([[5.0, 1.0]])})
    assert list(table.columns) == ["step", "loss", "eigenvalue_1", "eigenvalue_2"]
    assert list(table["step"]) == [1, 2, 3]
    assert table.loc[1].tolist() == [2, 2.0, 5.0, 1.0]
    assert table["eigenvalue_1"].isna().tolist() == [True, False, True]
    assert len(history_table({}, {})) == 0


def test_alternative_texts_give_the_numbers() -> None:
    assert progress_alt("Loss", np.array([7]), np.array([2.5])).endswith(
        "epoch 7, raw and smoothed: smoothed from 2.50 to 2.50."
    )
    assert "from 4.00 to 1.00; 1 are zero" in spectrum_alt(np.array([4.0, 1.0, 0.0]))
    assert "nothing was reported" in progress_alt("Loss", np.array([], dtype=int), np.array([]))


@pytest.mark.parametrize(("low", "high"), [(0.82, 1.1), (0.999, 1.001), (1.0, 3.0), (2e-7, 2.5e-7), (40.0, 41.0)])
def test_eigenvalues_within_half_a_decade_can_be_read_off_the_axis(low, high):
    axis = spectrum_figure(np.array([high, (low + high) / 2, low]), LIGHT).layout.yaxis
    assert 3 <= len(axis.tickvals) <= 9
    assert axis.tickvals[0] <= low * (1 + 1e-9)
    assert axis.tickvals[-1] >= high * (1 - 1e-9)
    assert [float(text) for text in axis.ticktext] == list(axis.tickvals)
