"""Classification figures are scikit-learn's, and their intervals those of resampling rows one set after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.statistics.bootstrap import bootstrap_means, percentile_interval, resampled_rows
from qa_scoring.statistics.classification import FIGURES, classification_figures
from qa_scoring.statistics.columns import FloatArray


def rows(seed: int, count: int, decimals: int) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    labels = (generator.random(count) < 0.7).astype(np.float64)
    return labels, np.round(generator.normal(0.3 + 0.3 * labels, 0.3), decimals)


def by_scikit_learn(labels: FloatArray, scores: FloatArray, threshold: float) -> dict[str, float]:
    metrics = pytest.importorskip("sklearn.metrics")
    judged = scores >= threshold
    figures = {
        "accuracy": metrics.accuracy_score(labels, judged),
        "precision": metrics.precision_score(labels, judged, zero_division=np.nan),
        "recall": metrics.recall_score(labels, judged, zero_division=np.nan),
        "f1": metrics.f1_score(labels, judged, zero_division=np.nan),
    }
    one_class = len(set(labels)) == 1
    figures["auroc"] = np.nan if one_class else metrics.roc_auc_score(labels, scores)
    figures["average_precision"] = np.nan if one_class else metrics.average_precision_score(labels, scores)
    return figures


@pytest.mark.parametrize("decimals", [0, 1, 12], ids=["three levels", "many ties", "no ties"])
@pytest.mark.parametrize("threshold", [0.5, -9.0, 9.0])
def test_figures_are_those_of_scikit_learn(decimals: int, threshold: float) -> None:
    labels, scores = rows(1, 300, decimals)
    figures = classification_figures(labels, scores, threshold)
    for name, expected in by_scikit_learn(labels, scores, threshold).items():
        value = getattr(figures, name)
        assert (np.nan if value is None else value) == pytest.approx(expected, abs=1e-12, nan_ok=True), name
    assert (figures.total, figures.positives, figures.threshold) == (300, labels.sum(), threshold)
    assert figures.confidence_intervals is None


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("threshold", [0.0, 2.0])
def test_one_class_leaves_the_ranking_figures_undefined(label: int, threshold: float) -> None:
    figures = classification_figures([label] * 3, [0.1, 0.5, 0.9], threshold, confidence_level=0.9, n_resamples=20)
    assert figures.auroc is None
    assert figures.average_precision is None
    assert figures.confidence_intervals is not None
    for name, expected in by_scikit_learn(np.full(3, float(label)), np.array([0.1, 0.5, 0.9]), threshold).items():
        assert (getattr(figures, name) is None) == bool(np.isnan(expected)), name
        assert (figures.confidence_intervals[name] is None) == bool(np.isnan(expected)), name


@pytest.mark.parametrize("count", [6, 60], ids=["some resamples of one class", "none"])
def test_intervals_are_those_of_scoring_every_resample(count: int) -> None:
    labels, scores = rows(3, count, 1)
    figures = classification_figures(labels, scores, 0.5, confidence_level=0.9, n_resamples=200, seed=7)
    assert figures.confidence_intervals is not None
    (drawn,) = resampled_rows(count, n_resamples=200, seed=7)
    resampled = [by_scikit_learn(labels[chosen], scores[chosen], 0.5) for chosen in drawn]
    for name in FIGURES:
        expected = percentile_interval(np.array([figure[name] for figure in resampled]), 0.9)
        assert figures.confidence_intervals[name] == pytest.approx(expected, abs=1e-12), name


def test_the_interval_of_accuracy_is_that_of_every_other_metric() -> None:
    labels, scores = rows(4, 2500, 3)  # several batches of resamples
    figures = classification_figures(labels, scores, 0.5, confidence_level=0.95, n_resamples=2000, seed=42)
    right = {"accuracy": ((scores >= 0.5) == labels).astype(np.float64)}
    expected = bootstrap_means(right, confidence_level=0.95, n_resamples=2000, seed=42)["accuracy"]
    assert figures.confidence_intervals is not None
    assert figures.confidence_intervals["accuracy"] == pytest.approx(expected, abs=1e-12)
    assert type(figures.accuracy) is float
    assert type(figures.positives) is int


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-50, 50)), min_size=1, max_size=30))
def test_ranking_figures_do_not_change_under_monotone_transforms(pairs: list[tuple[int, int]]) -> None:
    labels, scores = np.array(pairs, dtype=np.float64).T
    plain, moved = (classification_figures(labels, column, 0.0) for column in (scores, np.exp(scores / 20.0) - 1.0))
    assert plain == moved
    flipped = classification_figures(labels, -scores, 0.0)
    if plain.auroc is not None:
        assert plain.auroc + flipped.auroc == pytest.approx(1.0)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("labels", "scores", "threshold", "message"),
    [
        ([], [], 0.5, "'labels' must be a column of 0 and 1 with at least one row; got"),
        ([1, 0], [0.5], 0.5, "There are 2 labels and 1 scores; give one of each per row."),
        ([1, 2], [0.5, 0.5], 0.5, r"'labels\[1\]' must be 0 or 1; got 2.0."),
        ([1, None], [0.5, 0.5], 0.5, r"'labels\[1\]' must be 0 or 1; got nan."),
        (["yes", "no"], [0.5, 0.5], 0.5, "'labels' must be a column of 0 and 1; got"),
        ([1, 0], [0.5, float("nan")], 0.5, r"'scores\[1\]' must be a finite number; got nan."),
        ([1, 0], [0.5, float("inf")], 0.5, r"'scores\[1\]' must be a finite number; got inf."),
        ([1, 0], [0.5, "high"], 0.5, "'scores' must be a column of numbers; got"),
        ([1, 0], [[0.5], [0.1]], 0.5, "'scores' must be one column of numbers"),
        ([[1], [0]], [0.5, 0.1], 0.5, "'labels' must be a column of 0 and 1"),
        ([1, 0], [0.5, 0.1], float("nan"), "'threshold' must be a finite number; got nan."),
        ([1, 0], [0.5, 0.1], None, "'threshold' must be a finite number; got None."),
    ],
)
def test_bad_input_is_refused(labels: list[object], scores: list[object], threshold: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        classification_figures(labels, scores, threshold)  # type: ignore[arg-type]
