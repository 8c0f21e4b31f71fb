"""Correlation of scores with human labels, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError

FloatArray = NDArray[np.float64]

COEFFICIENTS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Correlation:
    """One coefficient.

    Args:
        value: In [-1, 1]; None where scores or labels do not vary.
        low: Lower bound of the interval; None without one.
        high: Upper bound of the interval; None without one.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


def correlate(
    scores: FloatArray,
    labels: FloatArray,
    *,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    seed: int = 42,
) -> dict[str, Correlation]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of scores with labels.

    Args:
        scores: Shape (n,), n of at least 2.
        labels: Shape (n,).
        confidence_level: None, or the coverage of percentile-bootstrap intervals over the rows.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.

    Returns:
        One correlation per name of ``COEFFICIENTS``; resamples without variation are left out.

    Raises:
        InputError: The shapes differ, or there are fewer than two rows.

    Example:
        >>> import numpy as np
        >>> correlate(np.array([0.1, 0.2, 0.9]), np.array([0.0, 1.0, 2.0]))["spearman"].value
        1.0

    Source:
        Risch et al. 2021, Semantic Answer Similarity, table 2 (which coefficients are reported).
    """
    if scores.shape != labels.shape or scores.ndim != 1 or len(scores) < 2:
        raise InputError(
            f"Correlation needs two columns of the same length, of at least 2; got {scores.shape} and {labels.shape}."
        )
    values = {name: _value(name, scores, labels) for name in COEFFICIENTS}
    if confidence_level is None:
        return {name: Correlation(value) for name, value in values.items()}
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(scores), (n_resamples, len(scores)))
    tail = (1.0 - confidence_level) / 2.0
    correlations = {}
    for name, value in values.items():
        resampled = [_value(name, scores[rows], labels[rows]) for rows in drawn]
        known = [item for item in resampled if item is not None]
        if value is None or not known:
            correlations[name] = Correlation(value)
        else:
            low, high = np.quantile(known, (tail, 1.0 - tail))
            correlations[name] = Correlation(value, float(low), float(high))
    return correlations


def _value(name: str, scores: FloatArray, labels: FloatArray) -> float | None:
    from scipy import stats  # over a second to import

    if (scores == scores[0]).all() or (labels == labels[0]).all():
        return None
    functions: dict[str, Callable[[FloatArray, FloatArray], tuple[float, float]]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }
    return float(functions[name](scores, labels)[0])
