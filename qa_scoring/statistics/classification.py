"""How well scores tell two classes apart, with bootstrap intervals.

Everything is counted on the distinct scores: how many rows of either class have each. A resample only changes these
counts, so the rows are sorted once, and ties are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.statistics.bootstrap import percentile_interval, resampled_rows
from qa_scoring.statistics.columns import FloatArray, label_column, number_column

IntArray = NDArray[np.int64]

FIGURES = ("accuracy", "precision", "recall", "f1", "auroc", "average_precision")


@dataclass(frozen=True)
class ClassificationFigures:
    """Figures of one set of rows; precision, recall and F1 are those of the positive class.

    Args:
        accuracy: Share of rows on the right side of the threshold.
        precision: None where no score reaches the threshold.
        recall: None without positive rows.
        f1: None where there are no positive rows and no score reaches the threshold.
        auroc: Chance that a positive row scores above a negative one, ties as one half; None for one class only.
        average_precision: Mean precision at the steps of recall; None for one class only.
        threshold: The threshold.
        total: Number of rows.
        positives: Number of positive rows.
        confidence_intervals: Name of the figure → (low, high), None where it is undefined; None if not asked for.
    """

    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    auroc: float | None
    average_precision: float | None
    threshold: float
    total: int
    positives: int
    confidence_intervals: dict[str, tuple[float, float] | None] | None = None


def classification_figures(
    labels: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    *,
    confidence_level: float | None = None,
    n_resamples: int = 2000,
    seed: int = 42,
) -> ClassificationFigures:
    """Return accuracy, precision, recall, F1, AUROC and average precision of scores against labels.

    Args:
        labels: Shape (n,), n of at least 1: 1 for the positive class, else 0.
        scores: Shape (n,): higher is more likely positive.
        threshold: Rows with this score or more are taken as positive.
        confidence_level: None, or the coverage of percentile-bootstrap intervals over the rows, between 0 and 1.
        n_resamples: Resamples of the bootstrap, at least 1; those that leave a figure undefined are left out of it.
        seed: Seed of the bootstrap.

    Returns:
        The figures, each equal to scikit-learn's.

    Raises:
        InputError: The lengths differ, there are no rows, a label is neither 0 nor 1, or a score or the threshold is
            not a finite number.

    Example:
        >>> figures = classification_figures([1, 0, 1, 0], [0.9, 0.6, 0.6, 0.1], 0.5)
        >>> figures.accuracy, figures.recall, figures.auroc
        (0.75, 1.0, 0.875)

    Source:
        Fawcett 2006, An introduction to ROC analysis, section 7 (AUROC); Efron & Tibshirani 1993,
        An Introduction to the Bootstrap, chapter 13.
    """
    positive = label_column("labels", labels)
    column = number_column("scores", scores, like=("labels", len(positive)))
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
        raise parameter_error("threshold", "a finite number", threshold)
    levels, level_of_row = np.unique(column, return_inverse=True)
    reached = int(np.searchsorted(levels, threshold))
    cells = 2 * level_of_row + positive  # level by level: negative rows, positive rows
    rows = np.arange(len(cells))[None, :]
    values = {
        name: None if np.isnan(value[0]) else float(value[0])
        for name, value in _figures_of_counts(_counts(cells, rows, len(levels)), reached).items()
    }
    intervals = None
    if confidence_level is not None:
        parts = [
            _figures_of_counts(_counts(cells, drawn, len(levels)), reached)
            for drawn in resampled_rows(len(cells), n_resamples=n_resamples, seed=seed)
        ]
        intervals = {
            name: None
            if values[name] is None
            else percentile_interval(np.concatenate([part[name] for part in parts]), confidence_level)
            for name in FIGURES
        }
    accuracy = values.pop("accuracy")
    if accuracy is None:
        raise InputError("There are no rows.")
    return ClassificationFigures(
        accuracy=accuracy,
        **values,
        threshold=float(threshold),
        total=len(cells),
        positives=int(positive.sum()),
        confidence_intervals=intervals,
    )


def _counts(cells: IntArray, rows: IntArray, levels: int) -> IntArray:
    """Return how many of the rows are in each cell, shape (resamples, levels, 2: negative or positive)."""
    resamples = len(rows)
    offsets = 2 * levels * np.arange(resamples)[:, None]
    counts = np.bincount((cells[rows] + offsets).ravel(), minlength=2 * levels * resamples)
    return counts.reshape(resamples, levels, 2)


def _figures_of_counts(counts: IntArray, reached: int) -> dict[str, FloatArray]:
    """Return name → shape (resamples,), NaN where undefined; levels from ``reached`` on are taken as positive."""
    negative, positive = counts[..., 0], counts[..., 1]
    negatives, positives = negative.sum(axis=1), positive.sum(axis=1)
    true_positives = positive[:, reached:].sum(axis=1)
    false_positives = negative[:, reached:].sum(axis=1)
    false_negatives = positives - true_positives
    # AUROC: pairs of a positive row with a negative row below it, and half of those at the same level
    won = positive * (2 * np.cumsum(negative, axis=1) - negative)
    # average precision: from the highest level down
    positives_so_far = np.cumsum(positive[:, ::-1], axis=1)
    rows_so_far = positives_so_far + np.cumsum(negative[:, ::-1], axis=1)
    precisions = _ratio(positives_so_far, rows_so_far)
    gained = np.where(positive[:, ::-1] > 0, precisions * positive[:, ::-1], 0.0).sum(axis=1)
    return {
        "accuracy": _ratio(true_positives + negatives - false_positives, negatives + positives),
        "precision": _ratio(true_positives, true_positives + false_positives),
        "recall": _ratio(true_positives, positives),
        "f1": _ratio(2 * true_positives, 2 * true_positives + false_positives + false_negatives),
        "auroc": _ratio(won.sum(axis=1), 2 * positives * negatives),
        "average_precision": _ratio(gained, np.where(negatives > 0, positives, 0)),
    }


def _ratio(part: NDArray[np.generic], whole: IntArray) -> FloatArray:
    ratio: FloatArray = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return ratio
