"""Pairs of answers and what scorers make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError
from qa_scoring.signature import Value

Pair = tuple[str, str]
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class PairScores:
    """Scores of n pairs.

    Args:
        scores: Shape (n,), in [0, 1].
        truncated: Shape (n,), whether a side was cut to fit the model.
    """

    scores: NDArray[np.float64]
    truncated: NDArray[np.bool_]


Keep = Callable[[Sequence[int], PairScores], None]
"""Takes rows and their scores as soon as they are known, so that work that is interrupted is not lost."""


class PairScorer(Protocol):
    """A model that scores pairs; a score never depends on the other pairs of the call."""

    facts: Mapping[str, Value]
    """What changes a score, for signatures."""

    def score(self, pairs: Sequence[Pair], progress: Progress, keep: Keep = ...) -> PairScores:
        """Score distinct pairs; ``keep`` is told of every row once, while the work goes on."""
        ...


def keep_nothing(rows: Sequence[int], scores: PairScores) -> None:
    """Keep no scores.

    Args:
        rows: Places among the pairs.
        scores: Theirs.
    """


def no_progress(batches: Iterable[Any]) -> Iterable[Any]:
    """Show nothing.

    Args:
        batches: The work.

    Returns:
        The same.

    Example:
        >>> list(no_progress([1, 2]))
        [1, 2]
    """
    return batches


def score_pairs(scorer: PairScorer, pairs: Sequence[Pair], progress: Progress = no_progress) -> PairScores:
    """Score pairs, each distinct pair once.

    Args:
        scorer: The model.
        pairs: n pairs; repeats are scored once.
        progress: Wraps the batches, for a progress bar.

    Returns:
        Scores in the order of the pairs.

    Raises:
        InputError: The model gave something that is no number.
    """
    position: dict[Pair, int] = {}
    rows = np.array([position.setdefault(pair, len(position)) for pair in pairs], dtype=np.int64)
    if not position:
        return PairScores(np.empty(0), np.empty(0, dtype=np.bool_))
    distinct = scorer.score(list(position), progress)
    if not np.isfinite(distinct.scores).all():
        raise InputError(
            "The model gave a score that is not a number: its weights are broken, or too large for dtype='float16' "
            "('bfloat16' and 'float32' have the range)."
        )
    return PairScores(distinct.scores[rows], distinct.truncated[rows])
