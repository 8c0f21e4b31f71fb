"""How well scores rank each question's candidates: P@1, MAP and MRR over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.statistics.columns import label_column, number_column

WITHOUT_CORRECT = ("leave_out", "zero")


class QuestionRanking(NamedTuple):
    """One question's ranking; all figures are 0 where no candidate is correct.

    Args:
        precision_at_1: 1.0 if the first candidate is correct, else 0.0.
        average_precision: Mean, over the correct candidates, of the precision at their ranks.
        reciprocal_rank: One over the rank of the first correct candidate.
        correct: Number of correct candidates.
    """

    precision_at_1: float
    average_precision: float
    reciprocal_rank: float
    correct: int


@dataclass(frozen=True)
class RankingFigures:
    """Means over questions; None where no question counts.

    Args:
        precision_at_1: P@1, in [0, 1].
        mean_average_precision: MAP, in [0, 1].
        mean_reciprocal_rank: MRR, in [0, 1].
        questions: Number of questions the means are taken over.
        without_correct: Number of questions without a correct candidate, counted or not.
    """

    precision_at_1: float | None
    mean_average_precision: float | None
    mean_reciprocal_rank: float | None
    questions: int
    without_correct: int


def rank_question(labels: ArrayLike, scores: ArrayLike) -> QuestionRanking:
    """Return the figures of one question's candidates, ranked by falling score.

    Args:
        labels: Shape (n,), n of at least 1: 1 for a correct candidate, else 0.
        scores: Shape (n,): higher is better. Of equal scores the earlier candidate ranks first (trec_eval takes the
            later document name instead).

    Returns:
        The figures.

    Raises:
        InputError: The lengths differ, there are no candidates, a label is neither 0 nor 1, or a score is not finite.

    Example:
        >>> rank_question([0, 1, 1], [0.9, 0.5, 0.1])
        QuestionRanking(precision_at_1=0.0, average_precision=0.5833333333333333, reciprocal_rank=0.5, correct=2)

    Source:
        Voorhees & Harman 2005, TREC, chapter 3 (average precision); Voorhees 1999, The TREC-8 Question Answering Track
        Report (reciprocal rank).
    """
    correct = label_column("labels", labels)
    column = number_column("scores", scores, like=("labels", len(correct)))
    ranks = np.flatnonzero(correct[np.argsort(-column, kind="stable")]) + 1
    if not len(ranks):
        return QuestionRanking(0.0, 0.0, 0.0, 0)
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return QuestionRanking(float(ranks[0] == 1), float(precisions.mean()), float(1.0 / ranks[0]), len(ranks))


def ranking_figures(
    labels_by_question: Sequence[ArrayLike],
    scores_by_question: Sequence[ArrayLike],
    *,
    without_correct: str = "leave_out",
) -> RankingFigures:
    """Return P@1, MAP and MRR over questions.

    Args:
        labels_by_question: Per question the labels of its candidates, as in ``rank_question``.
        scores_by_question: Per question the scores of its candidates.
        without_correct: What becomes of questions without a correct candidate: "leave_out", as is usual in answer
            sentence selection, or "zero", where each counts as 0, as trec_eval does with a judged question.

    Returns:
        The figures.

    Raises:
        InputError: The numbers of questions differ, there are none, or a question's candidates are not valid.

    Example:
        >>> figures = ranking_figures([[0, 1], [1, 0], [0, 0]], [[0.9, 0.5], [0.9, 0.5], [0.9, 0.5]])
        >>> figures.precision_at_1, figures.mean_reciprocal_rank, figures.questions, figures.without_correct
        (0.5, 0.75, 2, 1)

    Source:
        As for ``rank_question``.
    """
    if without_correct not in WITHOUT_CORRECT:
        raise parameter_error("without_correct", "one of 'leave_out' or 'zero'", without_correct)
    if len(labels_by_question) != len(scores_by_question) or not len(labels_by_question):
        raise InputError(
            "Ranking needs labels and scores of the same questions, at least one; "
            f"got {len(labels_by_question)} and {len(scores_by_question)}."
        )
    rankings = []
    for number, (labels, scores) in enumerate(zip(labels_by_question, scores_by_question, strict=True)):
        try:
            rankings.append(rank_question(labels, scores))
        except InputError as error:
            raise InputError(f"Question {number}: {error}") from None
    counted = [ranking for ranking in rankings if ranking.correct or without_correct == "zero"]
    means: list[float | None] = [None] * 3
    if counted:
        means = np.array([ranking[:3] for ranking in counted]).mean(axis=0).tolist()
    precision, average_precision, reciprocal_rank = means
    return RankingFigures(
        precision_at_1=precision,
        mean_average_precision=average_precision,
        mean_reciprocal_rank=reciprocal_rank,
        questions=len(counted),
        without_correct=sum(not ranking.correct for ranking in rankings),
    )
