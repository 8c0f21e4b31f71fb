"""P@1, MAP and MRR, by hand and as trec_eval has them; questions without a correct candidate; ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.statistics.ranking import QuestionRanking, RankingFigures, rank_question, ranking_figures

LABELS = [[0, 1, 0, 1], [1, 0], [0, 0, 0], [1, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0], [1]]
SCORES = [
    [0.3, 0.9, 0.4, 0.1],
    [0.2, 0.8],
    [0.1, 0.2, 0.3],
    [0.5, 0.1, 0.9, 0.3, 0.7],
    [0.9, 0.1, 0.8, 0.2, 0.3, 0.4],
    [0.0],
]
# P_1, map, recip_rank of trec_eval, through pytrec_eval-terrier 0.5.11, on the rankings above.
TREC_EVAL = [
    (1.0, 0.75, 1.0),
    (0.0, 0.5, 0.5),
    (0.0, 0.0, 0.0),
    (0.0, 0.5888888888888889, 0.5),
    (0.0, 0.25, 0.25),
    (1.0, 1.0, 1.0),
]


@pytest.mark.parametrize(("labels", "scores", "expected"), list(zip(LABELS, SCORES, TREC_EVAL, strict=True)))
def test_questions_are_ranked_as_trec_eval_ranks_them(
    labels: list[int], scores: list[float], expected: tuple[float, float, float]
) -> None:
    ranking = rank_question(labels, scores)
    assert ranking[:3] == pytest.approx(expected)
    assert ranking.correct == sum(labels)


def test_questions_without_a_correct_candidate_are_left_out_or_count_zero() -> None:
    left_out = ranking_figures(LABELS, SCORES)
    zero = ranking_figures(LABELS, SCORES, without_correct="zero")
    assert (left_out.questions, left_out.without_correct) == (5, 1)
    assert (zero.questions, zero.without_correct) == (6, 1)
    for name, column in zip(
        ("precision_at_1", "mean_average_precision", "mean_reciprocal_rank"), zip(*TREC_EVAL, strict=True), strict=True
    ):
        assert getattr(left_out, name) == pytest.approx(sum(column) / 5)
        assert getattr(zero, name) == pytest.approx(sum(column) / 6)


def test_of_equal_scores_the_earlier_candidate_is_first() -> None:
    assert rank_question([0, 1, 1], [0.5, 0.5, 0.5]) == QuestionRanking(0.0, pytest.approx((1 / 2 + 2 / 3) / 2), 0.5, 2)
    assert rank_question([1, 0, 1], [0.5, 0.5, 0.5]) == QuestionRanking(1.0, pytest.approx((1 + 2 / 3) / 2), 1.0, 2)


def test_nothing_to_count_gives_none() -> None:
    assert ranking_figures([[0, 0]], [[0.1, 0.2]]) == RankingFigures(None, None, None, 0, 1)
    assert ranking_figures([[0, 0]], [[0.1, 0.2]], without_correct="zero") == RankingFigures(0.0, 0.0, 0.0, 1, 1)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=12).filter(any), st.randoms(use_true_random=False))
def test_average_precision_is_that_of_scikit_learn(labels: list[int], random: object) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores = list(range(len(labels)))
    random.shuffle(scores)  # type: ignore[attr-defined]
    expected = metrics.average_precision_score(labels, scores)
    assert rank_question(labels, scores).average_precision == pytest.approx(expected)
    assert rank_question(labels, np.exp(np.array(scores))) == rank_question(labels, scores)


@pytest.mark.parametrize(
    ("labels", "scores", "options", "message"),
    [
        ([], [], {}, "labels and scores of the same questions, at least one; got 0 and 0"),
        ([[1]], [[0.5], [0.5]], {}, "labels and scores of the same questions, at least one; got 1 and 2"),
        ([[1], []], [[0.5], []], {}, r"Question 1: The argument 'labels' must be a column of 0 and 1 with at least"),
        ([[1], [0, 1]], [[0.5], [0.5]], {}, "Question 1: There are 2 labels and 1 scores"),
        ([[1], [3]], [[0.5], [0.5]], {}, r"Question 1: The argument 'labels\[0\]' must be 0 or 1; got 3.0."),
        ([[1]], [[float("nan")]], {}, r"Question 0: The argument 'scores\[0\]' must be a finite number; got nan."),
        ([[1]], [[0.5]], {"without_correct": "drop"}, "one of 'leave_out' or 'zero'; got 'drop'"),
    ],
)
def test_bad_input_is_refused(
    labels: list[list[int]], scores: list[list[float]], options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ranking_figures(labels, scores, **options)
