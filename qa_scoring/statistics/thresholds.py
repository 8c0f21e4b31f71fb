"""Thresholds on probabilities, exact: every way the rows can be cut in two is looked at.

A row is taken as correct if its probability is the threshold or more. Only the distinct probabilities matter: all
thresholds above one of them and up to the next give the same verdicts. Of such a range the middle is returned, so that
rows that score a little differently fall on the same side. Where several ranges are equally good, it is the widest;
of equally wide ones, the lowest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.statistics.columns import FloatArray, label_column, probability_column, require_both_classes

RULES = ("f1", "accuracy")

_EQUAL = 1e-12  # errors nearer than this are equal up to rounding


class Threshold(NamedTuple):
    """A threshold and what it reaches on the rows it was chosen on.

    Args:
        threshold: In [0, 1]; a row with this probability or more is taken as correct.
        value: F1, accuracy, or RMSE, by the rule.
    """

    threshold: float
    value: float


def best_threshold(labels: ArrayLike, probabilities: ArrayLike, rule: str = "f1") -> Threshold:
    """Return the threshold with the highest F1 of the correct rows, or the highest accuracy.

    Args:
        labels: Shape (n,): 1 for correct, else 0; both must occur.
        probabilities: Shape (n,), in [0, 1], of correct.
        rule: "f1" or "accuracy".

    Returns:
        The middle of the best range of thresholds, and its F1 or accuracy.

    Raises:
        InputError: The lengths differ, there are no rows, a label is neither 0 nor 1, all labels are equal, a
            probability is outside 0–1, or the rule is another.

    Example:
        >>> best_threshold([0, 0, 1, 1], [0.1, 0.5, 0.75, 0.9])
        Threshold(threshold=0.625, value=1.0)

    Source:
        Vu & Moschitti 2021, AVA, point-wise evaluation (a threshold chosen on development data).
    """
    if rule not in RULES:
        raise parameter_error("rule", "one of 'f1' or 'accuracy'", rule)
    correct = label_column("labels", labels)
    column = probability_column("probabilities", probabilities, like=("labels", len(correct)))
    require_both_classes(correct, "A threshold")
    cuts = _cuts(column)
    judged = len(column) - np.searchsorted(np.sort(column), cuts.starts, side="left")
    right = correct.sum() - np.searchsorted(np.sort(column[correct]), cuts.starts, side="left")
    if rule == "f1":
        values = 2.0 * right / (judged + correct.sum())
    else:
        values = (right + (~correct).sum() - (judged - right)) / len(column)
    best = _widest(cuts, values == values.max())
    return Threshold(best, float(values.max()))


def rmse_threshold(labels: ArrayLike, probabilities: ArrayLike, systems: Sequence[Hashable]) -> Threshold:
    """Return the threshold whose estimates of the systems' accuracies are nearest to the true ones.

    A system's estimated accuracy is the share of its answers with the threshold's probability or more, its true
    accuracy the share of its answers labelled 1. All systems weigh alike.

    Args:
        labels: Shape (n,), n of at least 1: 1 for correct, else 0.
        probabilities: Shape (n,), in [0, 1], of correct.
        systems: Shape (n,): which system gave the answer.

    Returns:
        The middle of the best range of thresholds, and its root mean square error over the systems.

    Raises:
        InputError: The lengths differ, there are no rows, a label is neither 0 nor 1, or a probability is outside 0–1.

    Example:
        >>> rmse_threshold([1, 0, 1, 1], [0.9, 0.3, 0.8, 0.5], ["a", "a", "b", "b"])
        Threshold(threshold=0.4, value=0.0)

    Source:
        Vu & Moschitti 2021, AVA, system-wise evaluation (the threshold that minimises the RMSE to the true accuracy).
    """
    correct = label_column("labels", labels)
    column = probability_column("probabilities", probabilities, like=("labels", len(correct)))
    if len(systems) != len(correct):
        raise InputError(f"There are {len(correct)} labels and {len(systems)} systems; give one of each per row.")
    members: dict[Hashable, list[int]] = {}
    for row, system in enumerate(systems):
        members.setdefault(system, []).append(row)
    cuts = _cuts(column)
    squares = np.zeros(len(cuts.starts))
    for rows in members.values():
        below = np.searchsorted(np.sort(column[rows]), cuts.starts, side="left")
        squares += ((len(rows) - below - correct[rows].sum()) / len(rows)) ** 2
    errors = np.sqrt(squares / len(members))
    best = _widest(cuts, errors <= errors.min() + _EQUAL)
    return Threshold(best, float(errors.min()))


class _Cuts(NamedTuple):
    starts: FloatArray  # the lowest probability taken as correct; above 1 where none is
    middles: FloatArray
    widths: FloatArray


def _cuts(probabilities: FloatArray) -> _Cuts:
    """Return the ranges of thresholds in [0, 1] within which no verdict changes, from low to high."""
    levels = np.unique(probabilities)
    below = np.concatenate([[0.0], levels])
    above = np.concatenate([levels, [1.0]])
    starts = np.concatenate([levels, [np.inf]])
    middles = below + (above - below) / 2.0
    # A threshold equal to a probability takes that row in; between neighbouring floats only the upper one is left.
    middles = np.where((middles > below) | (np.arange(len(middles)) == 0), middles, above)
    reachable = np.concatenate([np.ones(len(levels), dtype=np.bool_), [levels[-1] < 1.0]])
    return _Cuts(starts[reachable], middles[reachable], (above - below)[reachable])


def _widest(cuts: _Cuts, best: NDArray[np.bool_]) -> float:
    return float(cuts.middles[np.argmax(np.where(best, cuts.widths, -1.0))])
