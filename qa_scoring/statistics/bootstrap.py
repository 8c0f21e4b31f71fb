"""Percentile bootstrap over examples: rows are drawn again, never scored again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROW_NUMBERS_AT_A_TIME = 4_000_000  # 32 MB


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
    names = list(columns)
    values = np.array([columns[name] for name in names])  # (columns, n)
    defined = ~np.isnan(values)
    weighted = np.where(defined, values, 0.0)
    count = values.shape[1]
    generator = np.random.default_rng(seed)
    batch = max(1, _ROW_NUMBERS_AT_A_TIME // count)
    means = np.empty((len(names), n_resamples))
    for start in range(0, n_resamples, batch):
        stop = min(start + batch, n_resamples)
        drawn = generator.integers(0, count, (stop - start, count))
        for index, (column, known) in enumerate(zip(weighted, defined, strict=True)):
            if known.all():
                means[index, start:stop] = column[drawn].mean(axis=1)
            else:
                rows = known[drawn].sum(axis=1)
                sums = column[drawn].sum(axis=1)
                # a resample may miss every row where the column is defined: NaN, left out below
                means[index, start:stop] = np.divide(sums, rows, out=np.full(len(rows), np.nan), where=rows > 0)
    tail = (1.0 - confidence_level) / 2.0
    intervals: dict[str, tuple[float, float] | None] = {}
    for name, means_of_column in zip(names, means, strict=True):
        known_means = means_of_column[~np.isnan(means_of_column)]
        if known_means.size:
            low, high = np.quantile(known_means, (tail, 1.0 - tail))
            intervals[name] = (float(low), float(high))
        else:
            intervals[name] = None
    return intervals
