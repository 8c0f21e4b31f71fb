"""Two systems on the same rows: how often chance alone makes a difference as large."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_SIGNS_AT_A_TIME = 4_000_000  # 32 MB
_TIE = 1e-9  # of the sum of all changes: sums that differ by rounding alone are equal


def randomization_p_values(
    differences: Mapping[str, FloatArray], *, n_resamples: int, seed: int
) -> dict[str, float | None]:
    """Return two-sided p-values of mean differences, by a paired randomisation test.

    If two systems were alike, either answer to a question could be either's: the sign of every row's difference is
    drawn anew, and p is the share of draws whose mean is at least as far from 0 as the one seen. All combinations of
    signs are taken where there are no more than ``n_resamples`` of them, and p is then exact; otherwise the one seen
    counts as a draw too, so p is never 0.

    Args:
        differences: Name → shape (n,), n of at least 1, one score minus the other; NaN for rows that do not count.
        n_resamples: How many draws, at least 1.
        seed: Seed of numpy's default generator.

    Returns:
        Name → p in (0, 1], or None for a column that is NaN everywhere.

    Example:
        >>> import numpy as np
        >>> randomization_p_values({"f1": np.array([1.0, 1.0, 1.0, 0.0])}, n_resamples=2000, seed=0)
        {'f1': 0.25}

    Source:
        Yeh 2000, More accurate tests for the statistical significance of result differences (approximate
        randomisation); Dror et al. 2018, The Hitchhiker's Guide to Testing Statistical Significance in Natural
        Language Processing, section 3.2; Phipson & Smyth 2010, for counting the one seen.
    """
    p_values: dict[str, float | None] = dict.fromkeys(differences)
    drawn = {}
    for name, column in differences.items():
        if not np.isnan(column).all():
            changes = np.nan_to_num(column, nan=0.0)
            moved = changes[changes != 0.0]
            if 2 ** len(moved) <= n_resamples:
                p_values[name] = _exact_p_value(moved)
            else:
                drawn[name] = changes
    if drawn:
        found = _drawn_p_values(np.array([*drawn.values()]), n_resamples=n_resamples, seed=seed)
        p_values |= dict(zip(drawn, found, strict=True))
    return p_values


def _exact_p_value(changes: FloatArray) -> float:
    signs = 1.0 - 2.0 * (np.arange(2 ** len(changes))[:, None] >> np.arange(len(changes)) & 1)  # (2^m, m)
    return float(np.mean(_as_far(signs @ changes, changes)))


def _drawn_p_values(changes: FloatArray, *, n_resamples: int, seed: int) -> list[float]:
    changes = changes[:, changes.any(axis=0)]  # (columns, rows): rows without a change have no sign
    generator = np.random.default_rng(seed)
    count = changes.shape[1]
    batch = max(1, _SIGNS_AT_A_TIME // count)
    as_far = np.ones(len(changes))  # the one seen
    for start in range(0, n_resamples, batch):
        kept = generator.integers(0, 2, (min(batch, n_resamples - start), count), dtype=np.int8)
        sums = (2.0 * kept - 1.0) @ changes.T
        as_far += [np.count_nonzero(_as_far(*pair)) for pair in zip(sums.T, changes, strict=True)]
    return [float(share) for share in as_far / (n_resamples + 1)]


def _as_far(sums: FloatArray, changes: FloatArray) -> NDArray[np.bool_]:
    least: float = abs(changes.sum()) - _TIE * np.abs(changes).sum()
    as_far: NDArray[np.bool_] = np.abs(sums) >= least
    return as_far
