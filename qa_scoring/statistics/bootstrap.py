"""Percentile bootstrap over examples: rows are drawn again, never scored again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def bootstrap_means(
    columns: Mapping[str, FloatArray], *, confidence_level: float, n_resamples: int, seed: int
) -> dict[str, tuple[float, float] | None]:
    """Return percentile intervals of the means of several columns, drawn together.

    Every resample draws n rows with replacement and takes the mean of each column over the rows where it is
    defined. With no undefined values the interval equals that of ``scipy.stats.bootstrap`` under the same seed.

    Args:
        columns: Name → shape (n,), n of at least 1; NaN where a column is undefined for a row.
        confidence_level: Coverage of the interval, between 0 and 1.
        n_resamples: How many resamples, at least 1.
        seed: Seed of numpy's default generator.

    Returns:
        Name → (low, high), or None for a column that is undefined everywhere.

    Example:
        >>> import numpy as np
        >>> bootstrap_means({"x": np.ones(5)}, confidence_level=0.95, n_resamples=100, seed=0)
        {'x': (1.0, 1.0)}

    Source:
        Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 13.
    """
    from scipy.stats import bootstrap  # over a second to import

    names = list(columns)
    values = np.array([columns[name] for name in names])  # (columns, n)
    defined = ~np.isnan(values)
    weighted = np.where(defined, values, 0.0)
    shared = bool(defined.all())
    count = values.shape[1]

    def means(rows: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:
        if shared:
            return np.array([column[rows].mean(axis=axis) for column in weighted])
        with np.errstate(invalid="ignore"):  # a resample may miss every defined row: NaN, left out below
            return np.array(
                [
                    column[rows].sum(axis=axis) / known[rows].sum(axis=axis)
                    for column, known in zip(weighted, defined, strict=True)
                ]
            )

    if count == 1:  # scipy refuses one observation; every resample is that row
        distribution = np.where(defined, values, np.nan)
    else:
        distribution = bootstrap(
            (np.arange(count),),
            means,
            method="percentile",
            n_resamples=n_resamples,
            batch=max(1, 4_000_000 // count),  # about 32 MB of row numbers at a time
            vectorized=True,
            rng=np.random.default_rng(seed),
        ).bootstrap_distribution
    tail = (1.0 - confidence_level) / 2.0
    intervals: dict[str, tuple[float, float] | None] = {}
    for name, means_of_column in zip(names, distribution, strict=True):
        known_means = means_of_column[~np.isnan(means_of_column)]
        if known_means.size:
            low, high = np.quantile(known_means, (tail, 1.0 - tail))
            intervals[name] = (float(low), float(high))
        else:
            intervals[name] = None
    return intervals
