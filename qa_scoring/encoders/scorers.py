"""Texts that are scored together, and what scorers make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError
from qa_scoring.signature import Value

Texts = tuple[str, ...]
"""Texts that are scored together, such as an answer and its reference."""
Pair = tuple[str, str]
Nearest = Mapping[str, Sequence[str]]
"""Text → others that mean nearly the same, nearest first."""
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Scores:
    """Scores of n items.

    Args:
        scores: Shape (n,), in [0, 1].
        truncated: Shape (n,), whether a text was cut to fit the model.
    """

    scores: NDArray[np.float64]
    truncated: NDArray[np.bool_]


Keep = Callable[[Sequence[int], Scores], None]
"""Takes rows and their scores as soon as they are known, so that work that is interrupted is not lost."""


_Item = TypeVar("_Item", bound=Texts, contravariant=True)
_Distinct = TypeVar("_Distinct", bound=Texts)


class Scorer(Protocol[_Item]):
    """A model that scores texts that belong together; a score never depends on the others of the call."""

    facts: Mapping[str, Value]
    """What changes a score, for signatures."""

    def score(self, items: Sequence[_Item], /, progress: Progress, keep: Keep = ...) -> Scores:
        """Score distinct items; ``keep`` is told of every row once, while the work goes on."""
        ...


def keep_nothing(rows: Sequence[int], scores: Scores) -> None:
    """Keep no scores.

    Args:
        rows: Places among the items.
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


def score_distinct(scorer: Scorer[_Distinct], items: Sequence[_Distinct], progress: Progress = no_progress) -> Scores:
    """Score texts that belong together, each distinct item once.

    Args:
        scorer: The model.
        items: n items; repeats are scored once.
        progress: Wraps the batches, for a progress bar.

    Returns:
        Scores in the order of the items.

    Raises:
        InputError: The model gave something that is no number.
    """
    position: dict[_Distinct, int] = {}
    rows = np.array([position.setdefault(item, len(position)) for item in items], dtype=np.int64)
    if not position:
        return Scores(np.empty(0), np.empty(0, dtype=np.bool_))
    distinct = scorer.score(list(position), progress)
    if not np.isfinite(distinct.scores).all():
        raise InputError(
            "The model gave a score that is not a number: its weights are broken, or too large for dtype='float16' "
            "('bfloat16' and 'float32' have the range)."
        )
    return Scores(distinct.scores[rows], distinct.truncated[rows])
