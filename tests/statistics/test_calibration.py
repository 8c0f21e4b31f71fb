"""Temperature, reliability bins and expected calibration error, against scikit-learn, scipy and torchmetrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from qa_scoring import InputError
from qa_scoring.report.plots import reliability_figure, save_reliability_diagram
from qa_scoring.statistics.calibration import (
    HIGHEST_TEMPERATURE,
    LOWEST_TEMPERATURE,
    expected_calibration_error,
    fit_temperature,
    reliability_bins,
    scaled_probabilities,
)
from qa_scoring.statistics.classification import classification_figures
from qa_scoring.statistics.columns import FloatArray

NUMBERS = np.arange(200)
LABELS = ((NUMBERS * NUMBERS * 7 + 3 * NUMBERS) % 97 < 70).astype(np.float64)
PROBABILITIES = np.round(0.4 * (0.15 + 0.7 * LABELS) + 0.6 * ((NUMBERS * NUMBERS * 13 + 5 * NUMBERS) % 89 / 89), 3)
LOGITS = np.log(PROBABILITIES / (1 - PROBABILITIES))


def log_loss(labels: FloatArray, probabilities: FloatArray) -> float:
    return float(-np.mean(np.log(np.where(labels == 1.0, probabilities, 1.0 - probabilities))))


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
def test_the_temperature_is_the_minimum_of_the_log_loss(sharpness: float) -> None:
    fit = fit_temperature(LABELS, LOGITS * sharpness)
    found = minimize_scalar(
        lambda temperature: log_loss(LABELS, scaled_probabilities(LOGITS * sharpness, temperature)),
        bounds=(LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE),
        method="bounded",
        options={"xatol": 1e-8},
    )
    assert fit.temperature == pytest.approx(found.x, rel=1e-4)
    assert fit.log_loss == pytest.approx(found.fun, rel=1e-9)
    assert fit.log_loss_before == pytest.approx(log_loss(LABELS, scaled_probabilities(LOGITS * sharpness, 1.0)))
    assert not fit.at_bound
    assert fit.temperature == pytest.approx(sharpness * fit_temperature(LABELS, LOGITS).temperature)


def test_a_temperature_out_of_range_is_the_bound() -> None:
    assert fit_temperature([1, 0], [3.0, -3.0])[::3] == (LOWEST_TEMPERATURE, True)  # all on the right side
    assert fit_temperature([1, 0], [-3.0, 3.0])[::3] == (HIGHEST_TEMPERATURE, True)  # all on the wrong side
    assert fit_temperature([1, 0], [0.0, 0.0])[::3] == (1.0, False)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-60, 60)), min_size=2, max_size=40).filter(
        lambda rows: len({label for label, _ in rows}) == 2
    )
)
def test_a_temperature_lowers_the_loss_and_keeps_the_order(rows: list[tuple[int, int]]) -> None:
    labels, logits = np.array(rows, dtype=np.float64).T / [[1.0], [10.0]]
    fit = fit_temperature(labels, logits)
    assert LOWEST_TEMPERATURE <= fit.temperature <= HIGHEST_TEMPERATURE
    assert fit.log_loss <= fit.log_loss_before + 1e-12
    if fit.temperature > 0.5:  # below, sigmoids reach 1 and become equal
        scaled = scaled_probabilities(logits, fit.temperature)
        assert classification_figures(labels, scaled, 0.5) == classification_figures(
            labels, scaled_probabilities(logits, 1.0), 0.5
        )


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15])
def test_bins_are_those_of_scikit_learn(bins: int) -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    shares, means = calibration.calibration_curve(LABELS, PROBABILITIES, n_bins=bins)
    parts = reliability_bins(LABELS, PROBABILITIES, bins)
    filled = [part for part in parts if part.total]
    assert [part.share_correct for part in filled] == pytest.approx(shares)
    assert [part.mean_probability for part in filled] == pytest.approx(means)
    assert sum(part.total for part in parts) == len(LABELS)
    assert len(parts) == bins
    assert (parts[0].low, parts[-1].high) == (0.0, 1.0)


# binary_calibration_error(norm="l1") of torchmetrics 1.9.0 on the rows above.
@pytest.mark.parametrize(("bins", "expected"), [(5, 0.15619), (10, 0.18812), (15, 0.20193)])
def test_expected_calibration_error_is_that_of_torchmetrics(bins: int, expected: float) -> None:
    assert expected_calibration_error(reliability_bins(LABELS, PROBABILITIES, bins)) == pytest.approx(expected)


def test_edges_belong_to_the_bin_below() -> None:
    parts = reliability_bins([0, 1, 1, 0], [0.0, 0.5, 0.50001, 1.0], 2)
    assert [(part.total, part.share_correct) for part in parts] == [(2, 0.5), (2, 0.5)]
    assert reliability_bins([1], [0.3], 10)[2].total == 1  # 3/10 as the edge is written, not as 0.1 adds up


def test_the_diagram_shows_every_bin_with_its_rows(tmp_path: Path) -> None:
    parts = reliability_bins(LABELS, PROBABILITIES)
    figure = reliability_figure(parts, "A judge")
    diagram, histogram = figure.axes
    assert diagram.get_title() == "A judge\n200 rows, expected calibration error 20.19 %"
    line = next(line for line in diagram.lines if line.get_label() == "share correct")
    assert list(line.get_ydata()) == [part.share_correct for part in parts if part.total]
    assert [text.get_text() for text in histogram.texts] == [str(part.total) for part in parts]
    path = save_reliability_diagram(parts, tmp_path / "new" / "reliability.png", "A judge")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"The plots cannot be written to .*'xyz' is not supported"):
        save_reliability_diagram(parts, tmp_path / "reliability.xyz", "A judge")
    with pytest.raises(InputError, match="no rows in the bins"):
        reliability_figure([], "A judge")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_temperature([1, 1], [0.5, 0.1]), "A temperature needs rows of both classes; all 2 labels are 1."),
        (lambda: fit_temperature([1, 0], [0.5]), "There are 2 labels and 1 logits"),
        (lambda: fit_temperature([1, 0], [0.5, np.inf]), r"'logits\[1\]' must be a finite number; got inf."),
        (lambda: fit_temperature([], []), "at least one row"),
        (lambda: scaled_probabilities([0.5], 0.0), "'temperature' must be a number above 0; got 0.0."),
        (lambda: scaled_probabilities([0.5], float("nan")), "'temperature' must be a number above 0; got nan."),
        (lambda: reliability_bins([1, 0], [0.5, 1.5]), r"'probabilities\[1\]' must be between 0 and 1; got 1.5."),
        (lambda: reliability_bins([1, 0], [0.5, np.nan]), r"'probabilities\[1\]' must be a finite number; got nan."),
        (lambda: reliability_bins([1, 0], [0.5]), "There are 2 labels and 1 probabilities"),
        (lambda: reliability_bins([], []), "at least one row"),
        (lambda: reliability_bins([1], [0.5], 0), "'bins' must be an integer of at least 1; got 0."),
        (lambda: reliability_bins([1], [0.5], 2.5), "'bins' must be an integer of at least 1; got 2.5."),
        (lambda: expected_calibration_error([]), "There are no rows in the bins"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]
