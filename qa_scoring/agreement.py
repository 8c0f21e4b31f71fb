"""Agreement with people: how well scores of answer pairs follow human labels.

The L3 module behind ``qa-scoring agreement``: score columns and labels → correlations over all rows, over the rows
whose two answers share no token, and over the others, as in table 2 of Risch et al. 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qa_scoring.encoders.scorers import Progress, no_progress
from qa_scoring.errors import InputError
from qa_scoring.multilingual_squad import score_multilingual_squad
from qa_scoring.overlap.scoring import FloatArray
from qa_scoring.sas import score_sas
from qa_scoring.statistics.correlation import Correlation, correlate

SUBSETS = ("all", "f1 = 0", "f1 ≠ 0")


@dataclass(frozen=True)
class Agreement:
    """Correlations of one score with the labels, over one subset of the rows.

    Args:
        score: Name of the score.
        subset: One of ``SUBSETS``.
        total: Rows in the subset.
        correlations: Coefficient → correlation.
    """

    score: str
    subset: str
    total: int
    correlations: dict[str, Correlation]


def overlap_scores(first: Sequence[str], second: Sequence[str], language: str) -> dict[str, FloatArray]:
    """Return exact match and token F1 of n pairs of answers.

    Args:
        first: n strings.
        second: n strings; a blank one is scored as an answer without words.
        language: Their language.

    Returns:
        ``exact`` and ``f1``, shape (n,), in [0, 1].

    Example:
        >>> overlap_scores(["the Seine"], ["Seine"], "en")["exact"].tolist()
        [1.0]
    """
    references = [[text] if text.strip() else [] for text in second]
    return score_multilingual_squad(list(first), references, language=language).rows.scores


def similarity_scores(
    first: Sequence[str], second: Sequence[str], *, language: str, progress: Progress = no_progress, **options: Any
) -> FloatArray:
    """Return the semantic similarity of n pairs of answers.

    Args:
        first: n strings.
        second: n strings; two blank ones have similarity 1, a blank and another one 0.
        language: Their language.
        progress: Wraps the batches, for a progress bar.
        **options: Of ``qa_scoring.sas.score_sas``: scorer, model, symmetric, ...

    Returns:
        Shape (n,), in [0, 1].
    """
    references = [[text] if text.strip() else [] for text in second]
    scored = score_sas(list(first), references, language=language, progress=progress, **options)
    return scored.rows.scores["sas"]


def measure_agreement(
    scores: Mapping[str, FloatArray],
    labels: FloatArray,
    token_f1: FloatArray,
    *,
    confidence_level: float | None = 0.95,
    n_resamples: int = 1000,
    seed: int = 42,
    progress: Callable[[Iterable[tuple[str, str]]], Iterable[tuple[str, str]]] = iter,
) -> list[Agreement]:
    """Correlate every score with the labels, over all rows and split by token F1.

    Args:
        scores: Name → shape (n,).
        labels: Shape (n,), higher is more similar.
        token_f1: Shape (n,), which splits the rows.
        confidence_level: None, or the coverage of bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.
        progress: Wraps the work, for a progress bar.

    Returns:
        One agreement per score and subset; subsets of fewer than two rows are left out.

    Raises:
        InputError: There are fewer than two rows.

    Example:
        >>> import numpy as np
        >>> agreement = measure_agreement(
        ...     {"f1": np.array([0.0, 0.5, 1.0])}, np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0]),
        ...     confidence_level=None)
        >>> round(agreement[0].correlations["pearson"].value, 6)
        1.0

    Source:
        Risch et al. 2021, Semantic Answer Similarity for Evaluating Question Answering Models, table 2.
    """
    if len(labels) < 2:
        raise InputError(f"Agreement needs at least two labelled rows; got {len(labels)}.")
    none_shared = token_f1 == 0.0
    members = dict(zip(SUBSETS, (np.ones_like(none_shared), none_shared, ~none_shared), strict=True))
    return [
        Agreement(
            score=name,
            subset=subset,
            total=int(np.count_nonzero(members[subset])),
            correlations=correlate(
                scores[name][members[subset]],
                labels[members[subset]],
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                seed=seed,
            ),
        )
        for name, subset in progress(
            [(name, subset) for name in scores for subset in SUBSETS if np.count_nonzero(members[subset]) > 1]
        )
    ]
