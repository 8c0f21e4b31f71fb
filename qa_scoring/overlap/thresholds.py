"""No-answer thresholds, as the official SQuAD 2.0 script applies and searches them.

A *no-answer value* is any number that is higher the surer a system is that a question has no answer: a
probability, or a score such as a logit difference. Above the threshold a system counts as having said nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qa_scoring.overlap.scoring import FloatArray

BoolArray = NDArray[np.bool_]


def apply_threshold(scores: FloatArray, has_answer: BoolArray, no_answer: FloatArray, threshold: float) -> FloatArray:
    """Replace the scores of examples whose no-answer value is above the threshold.

    Args:
        scores: Shape (n,).
        has_answer: Shape (n,), whether the question has an answer.
        no_answer: Shape (n,), no-answer values.
        threshold: Values strictly above it count as "no answer".

    Returns:
        Shape (n,): 0 for answerable and 1 for unanswerable questions above the threshold, else the score.

    Example:
        >>> import numpy as np
        >>> apply_threshold(np.array([1.0, 0.0]), np.array([True, False]), np.array([0.9, 0.9]), 0.5).tolist()
        [0.0, 1.0]

    Source:
        Rajpurkar et al. 2018, SQuAD 2.0, evaluation script.
    """
    return np.where(no_answer > threshold, (~has_answer).astype(np.float64), scores)


def best_threshold(
    scores: FloatArray, has_answer: BoolArray, answered: BoolArray, no_answer: FloatArray
) -> tuple[float, float]:
    """Find the threshold with the highest sum of scores.

    Ties are swept one example at a time in the order given, as the official script does: among examples with
    the same no-answer value, the order can change the result.

    Args:
        scores: Shape (n,), n of at least 1.
        has_answer: Shape (n,), whether the question has an answer.
        answered: Shape (n,), whether the predicted string is not empty.
        no_answer: Shape (n,), no-answer values, in the order in which the system gave them.

    Returns:
        The highest sum of scores, in [0, n], and its threshold (0.0 when saying nothing at all is best).

    Example:
        >>> import numpy as np
        >>> best_threshold(np.array([1.0, 0.0]), np.array([True, False]), np.array([True, True]), np.array([0.1, 0.8]))
        (2.0, 0.1)

    Source:
        Rajpurkar et al. 2018, SQuAD 2.0, evaluation script.
    """
    order = np.argsort(no_answer, kind="stable")
    gains = np.where(has_answer, scores, -answered.astype(np.float64))[order]
    totals = np.cumsum(np.concatenate(([np.count_nonzero(~has_answer)], gains)))
    best = int(np.argmax(totals))  # the first of equal maxima
    threshold = 0.0 if best == 0 else float(no_answer[order[best - 1]])
    return float(totals[best]), threshold
