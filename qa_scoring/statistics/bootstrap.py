"""Percentile bootstrap over examples: rows are drawn again, never scored again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    means: list[list[FloatArray]] = [[] for _ in names]
    for drawn in resampled_rows(values.shape[1], n_resamples=n_resamples, seed=seed):
        for index, (column, known) in enumerate(zip(weighted, defined, strict=True)):
            if known.all():
                means[index].append(column[drawn].mean(axis=1))
            else:
                rows = known[drawn].sum(axis=1)
                sums = column[drawn].sum(axis=1)
                # a resample may miss every row where the column is defined
                means[index].append(np.divide(sums, rows, out=np.full(len(rows), np.nan), where=rows > 0))
    return {
        name: percentile_interval(np.concatenate(parts), confidence_level)
        for name, parts in zip(names, means, strict=True)
    }


def resampled_rows(count: int, *, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of every resample, as many resamples at a time as fit in 32 MB.

    Args:
        count: How many rows there are, at least 1.
        n_resamples: How many resamples, at least 1.
        seed: Seed of numpy's default generator.

    Yields:
        Row numbers, shape (resamples, count).

    Example:
        >>> [rows.shape for rows in resampled_rows(5, n_resamples=3, seed=0)]
        [(3, 5)]
    """
    generator = np.random.default_rng(seed)
    batch = max(1, _ROW_NUMBERS_AT_A_TIME // count)
    for start in range(0, n_resamples, batch):
        yield generator.integers(0, count, (min(batch, n_resamples - start), count))


def percentile_interval(values: FloatArray, confidence_level: float) -> tuple[float, float] | None:
    """Return the percentile interval of a figure's resampled values.

    Args:
        values: Shape (resamples,); NaN where a resample leaves the figure undefined.
        confidence_level: Coverage of the interval, between 0 and 1.

    Returns:
        (low, high), or None where no resample defines the figure.

    Example:
        >>> percentile_interval(np.array([1.0, 2.0, 3.0, np.nan]), 0.5)
        (1.5, 2.5)
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    tail = (1.0 - confidence_level) / 2.0
    low, high = np.quantile(known, (tail, 1.0 - tail))
    return float(low), float(high)
