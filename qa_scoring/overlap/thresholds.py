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


def sums_by_threshold(
    given: FloatArray, silent: FloatArray, no_answer: FloatArray
) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
    """Add up scores at every threshold there is: one per distinct no-answer value, and one below them all.

    Args:
        given: Shape (m, n), m scores of each example as it was answered.
        silent: Shape (m, n), its scores where the answer counts as empty.
        no_answer: Shape (n,), no-answer values; -inf, of examples without a prediction, is above no threshold.

    Returns:
        Shape (k,), the distinct values, rising; shape (k,), how many examples have each; and shape (m, k + 1), the
        sums: first where all values are above the threshold, then with it at each distinct value, up to the next.

    Example:
        >>> import numpy as np
        >>> given, silent = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 1.0]])
        >>> [part.tolist() for part in sums_by_threshold(given, silent, np.array([0.1, 0.8, 0.8]))]
        [[0.1, 0.8], [1, 2], [[2.0, 3.0, 1.0]]]
    """
    known = no_answer != -np.inf
    order = np.flatnonzero(known)[np.argsort(no_answer[known], kind="stable")]
    thresholds, counts = np.unique(no_answer[order], return_counts=True)
    everything = np.where(known, silent, given).sum(axis=1, keepdims=True)
    gains = np.cumsum((given - silent)[:, order], axis=1)[:, np.cumsum(counts) - 1]
    return thresholds, counts, np.hstack([everything, everything + gains])


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
    totals, thresholds = best_thresholds(scores, has_answer, answered, no_answer, np.ones((1, len(scores))))
    return float(totals[0]), float(thresholds[0])


def best_thresholds(
    scores: FloatArray, has_answer: BoolArray, answered: BoolArray, no_answer: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Find the thresholds with the highest sum of scores, for several weightings of the examples.

    Args:
        scores: Shape (n,), n of at least 1.
        has_answer: As in ``best_threshold``.
        answered: As in ``best_threshold``.
        no_answer: As in ``best_threshold``.
        weights: Shape (r, n), how often each example counts; one that counts 0 times sets no threshold.

    Returns:
        Shape (r,), the highest sums of scores; and shape (r,), their thresholds.

    Example:
        >>> import numpy as np
        >>> yes = np.array([True, True])
        >>> weights = np.array([[1.0, 1.0], [2.0, 0.0]])
        >>> sums, thresholds = best_thresholds(np.array([1.0, 1.0]), yes, yes, np.array([0.1, 0.8]), weights)
        >>> sums.tolist(), thresholds.tolist()
        ([2.0, 2.0], [0.8, 0.1])
    """
    order = np.argsort(no_answer, kind="stable")
    gains = np.where(has_answer, scores, -answered.astype(np.float64))[order]
    nothing = weights @ (~has_answer).astype(np.float64)  # the sums of saying nothing at all
    totals = weights[:, order] * gains
    totals[:, 0] += nothing
    np.cumsum(totals, axis=1, out=totals)
    best = totals.argmax(axis=1)  # the first of equal maxima: never a row that counts 0 times
    sums = totals[np.arange(len(best)), best]
    silent = sums <= nothing
    return np.where(silent, nothing, sums), np.where(silent, 0.0, no_answer[order][best])
