"""Precision-recall curves over the no-answer threshold, as the official SQuAD 2.0 script draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qa_scoring.overlap.scoring import FloatArray
from qa_scoring.overlap.thresholds import BoolArray


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """One curve.

    Args:
        precision: Shape (k + 1,), from 1.0 on, one point per distinct no-answer value.
        recall: Shape (k + 1,), from 0.0 on.
        average_precision: Area under the steps, in [0, 1].
    """

    precision: FloatArray
    recall: FloatArray
    average_precision: float


def precision_recall_curve(scores: FloatArray, has_answer: BoolArray, no_answer: FloatArray) -> PrecisionRecallCurve:
    """Draw precision against recall as the threshold rises.

    Args:
        scores: Shape (n,): exact match, F1, or ``has_answer`` itself for the oracle curve.
        has_answer: Shape (n,), whether the question has an answer; at least one has.
        no_answer: Shape (n,), no-answer values, in the order in which the system gave them.

    Returns:
        The curve.

    Example:
        >>> import numpy as np
        >>> curve = precision_recall_curve(np.array([1.0, 0.0]), np.array([True, False]), np.array([0.1, 0.8]))
        >>> curve.average_precision
        1.0

    Source:
        Rajpurkar et al. 2018, SQuAD 2.0, evaluation script.
    """
    order = np.argsort(no_answer, kind="stable")
    values = no_answer[order]
    true_positives = np.cumsum(np.where(has_answer, scores, 0.0)[order])
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))  # thresholds fit only between ties
    precision = true_positives[ends] / (ends + 1)
    recall = true_positives[ends] / np.count_nonzero(has_answer)
    recall_with_start = np.concatenate(([0.0], recall))
    steps = precision * np.diff(recall_with_start)
    return PrecisionRecallCurve(np.concatenate(([1.0], precision)), recall_with_start, float(np.cumsum(steps)[-1]))
