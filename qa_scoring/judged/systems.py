"""System-wise evaluation: how good systems are by a judge and by people, and whether both rank them alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qa_scoring.errors import InputError
from qa_scoring.judged.evaluation import rows_by
from qa_scoring.judged.scorers import Answers, ModelOptions, score_answers
from qa_scoring.statistics.columns import BoolArray
from qa_scoring.statistics.ranking import RankingFigures, ranking_figures
from qa_scoring.statistics.systems import SystemsComparison, compare_systems

RANKING_FIGURES = ("precision_at_1", "mean_average_precision", "mean_reciprocal_rank")
FIGURES = ("accuracy", *RANKING_FIGURES)


@dataclass(frozen=True)
class SystemFigures:
    """How good one system is.

    Args:
        system: Its name.
        answers: Number of its answers.
        by_people: Figure → value in [0, 1]; None where an answer has no verdict of people.
        by_judge: The same, with the judge's verdicts in place of people's.
    """

    system: str
    answers: int
    by_people: dict[str, float] | None
    by_judge: dict[str, float]


@dataclass(frozen=True)
class SystemsTable:
    """Systems, and how near the judge's figures are to people's.

    Args:
        systems: Figures of every system: ``accuracy``, and those of rankings where the answers have scores.
        comparisons: Figure → comparison over the systems that people have judged.
    """

    systems: list[SystemFigures]
    comparisons: dict[str, SystemsComparison]


@dataclass(frozen=True)
class SystemsEvaluation:
    """Systems by one judge.

    Args:
        judge: The scorer.
        threshold: An answer with this score or more is taken as correct.
        overall: Over all answers.
        groups: Group → the same over its answers.
        signature: Everything that changes the scores.
    """

    judge: str
    threshold: float
    overall: SystemsTable
    groups: dict[str, SystemsTable]
    signature: str


def evaluate_systems(
    answers: Answers,
    name: str,
    *,
    by_group: bool = False,
    threshold: float | None = None,
    without_correct: str = "zero",
    options: ModelOptions | None = None,
) -> SystemsEvaluation:
    """Measure systems by a judge, and compare the figures with those that people's verdicts give.

    Accuracy is the share of answers that are correct. Where the answers have scores, those of a question are ranked by
    them, which gives P@1, MAP and MRR with the verdicts as labels.

    Args:
        answers: Answers of systems; those that have no verdict of people are judged all the same.
        name: A scorer, as ``score_answers`` takes it.
        by_group: Whether to give the same figures for every group.
        threshold: From 0 to 1; None is the judge's own.
        without_correct: As in ``ranking_figures``. ``"zero"`` counts the same questions by people and by the judge;
            ``"leave_out"`` leaves out those without an answer that is correct, by either.
        options: How models run; None for the defaults.

    Returns:
        The figures of every system, and RMSE ± standard deviation and Kendall's tau-b over systems.

    Raises:
        InputError: There are no answers, one has no system or group, some but not all of a system's answers have
            scores, or the name is no scorer's.

    Example:
        >>> from qa_scoring.judgements import SystemAnswer
        >>> answers = [SystemAnswer("Who?", ("Curie",), text, True, system=text) for text in ("Marie Curie", "Bohr")]
        >>> [system.by_judge["accuracy"] for system in evaluate_systems(answers, "substring").overall.systems]
        [1.0, 0.0]

    Source:
        Vu & Moschitti 2021, AVA: an Automatic eValuation Approach for Question Answering Systems,
        system-wise evaluation and table 5.
    """
    rows_by(answers, "system")  # refuses answers without one before a model is read
    groups = rows_by(answers, "group") if by_group else {}
    found = score_answers(answers, name, threshold=threshold, options=options)
    judged = found.scores >= found.threshold
    return SystemsEvaluation(
        name,
        found.threshold,
        systems_table(answers, judged, without_correct=without_correct),
        {
            group: systems_table([answers[row] for row in rows], judged[rows], without_correct=without_correct)
            for group, rows in groups.items()
        },
        str(found.signature),
    )


def systems_table(answers: Answers, judged: BoolArray, *, without_correct: str = "zero") -> SystemsTable:
    """Put the figures of systems together, by people and by a judge whose verdicts are known.

    Args:
        answers: n answers of systems.
        judged: Shape (n,), the judge's verdicts.
        without_correct: As in ``ranking_figures``.

    Returns:
        The figures, and their comparison over systems.

    Raises:
        InputError: As for ``evaluate_systems``.

    Example:
        >>> from qa_scoring.judgements import SystemAnswer
        >>> answers = [SystemAnswer("Who?", ("Curie",), "Bohr", False, system=system) for system in ("a", "b")]
        >>> systems_table(answers, np.array([True, False])).comparisons["accuracy"].rmse
        0.7071067811865476
    """
    systems = []
    for system, rows in rows_by(answers, "system").items():
        members = [answers[row] for row in rows]
        by_judge = _figures(members, judged[rows], without_correct)
        by_people = None
        if all(answer.correct is not None for answer in members):
            by_people = _figures(members, np.array([bool(answer.correct) for answer in members]), without_correct)
        systems.append(SystemFigures(system, len(rows), by_people, by_judge))
    comparisons = {}
    for figure in FIGURES:
        pairs = [
            (system.by_judge[figure], system.by_people[figure])
            for system in systems
            if system.by_people is not None and figure in system.by_people and figure in system.by_judge
        ]
        if pairs:
            comparisons[figure] = compare_systems(*zip(*pairs, strict=True))
    return SystemsTable(systems, comparisons)


def _figures(answers: Answers, verdicts: BoolArray, without_correct: str) -> dict[str, float]:
    figures = {"accuracy": float(verdicts.mean())}
    ranking = _ranking(answers, verdicts, without_correct)
    if ranking is not None:
        values = {name: getattr(ranking, name) for name in RANKING_FIGURES}
        figures |= {name: value for name, value in values.items() if value is not None}
    return figures


def _ranking(answers: Answers, verdicts: BoolArray, without_correct: str) -> RankingFigures | None:
    """Rank the answers of every question by their scores; None where there are no scores."""
    scores = [getattr(answer, "score", None) for answer in answers]
    known = sum(score is not None for score in scores)
    if not known:
        return None
    system = answers[0].system
    if known < len(answers):
        raise InputError(
            f"The system {system!r} has scores for {known} of {len(answers)} answers; give every one of its rows a "
            f"'score', or none."
        )
    questions: dict[str, list[int]] = {}
    for row, answer in enumerate(answers):
        if not answer.question.strip():
            raise InputError(
                f"The system {system!r} has a scored answer without a question; rankings are of the answers to one "
                f"question. Give every row the key 'question'."
            )
        questions.setdefault(answer.question, []).append(row)
    rows: Sequence[list[int]] = list(questions.values())
    columns = np.array(scores, dtype=np.float64)
    return ranking_figures(
        [verdicts[members] for members in rows],
        [columns[members] for members in rows],
        without_correct=without_correct,
    )
