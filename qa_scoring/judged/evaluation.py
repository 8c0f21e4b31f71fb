"""Point-wise evaluation: how often judges and baselines agree with people about single answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.judged.scorers import Answers, ModelOptions, ScoredAnswers, score_answers
from qa_scoring.judgements import JudgedAnswer, SystemAnswer, read_judged_answers
from qa_scoring.rows import DEFAULT_SEED, check_statistics
from qa_scoring.statistics.classification import ClassificationFigures, classification_figures
from qa_scoring.statistics.columns import BoolArray
from qa_scoring.statistics.thresholds import best_threshold

PARTS = ("system", "group")


@dataclass(frozen=True)
class JudgeEvaluation:
    """How often one scorer agrees with people.

    Args:
        name: The scorer.
        figures: Over all answers.
        parts: ``"system"`` or ``"group"`` → its name → the figures of its answers.
        shuffled: Share of the answers judged correct by the references of another question, among those that have
            references; None if not asked for, or where there is one question only.
        signature: Everything that changes the scores.
    """

    name: str
    figures: ClassificationFigures
    parts: dict[str, dict[str, ClassificationFigures]]
    shuffled: float | None
    signature: str


def evaluate_judges(
    answers: Answers,
    names: Sequence[str],
    *,
    by: Sequence[str] = (),
    thresholds: Mapping[str, float] | None = None,
    shuffle: bool = True,
    confidence_level: float | None = 0.95,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
    options: ModelOptions | None = None,
) -> list[JudgeEvaluation]:
    """Compare the verdicts of judges and baselines with those of people, answer by answer.

    Args:
        answers: n answers with a verdict each.
        names: Scorers, as ``score_answers`` takes them, each once.
        by: Adds the same figures for the answers of every ``"system"``, of every ``"group"``, or both.
        thresholds: Name → threshold, from 0 to 1; for other names a judge's own, or the baseline's.
        shuffle: Whether to judge all answers by the references of another question as well.
        confidence_level: None, or the coverage of bootstrap intervals over answers.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap and of the shuffling.
        options: How models run; None for the defaults.

    Returns:
        One evaluation per name.

    Raises:
        InputError: There are no answers, an answer has no verdict, a name is twice or no scorer's, or there is nothing
            to part the answers by.

    Example:
        >>> answers = [JudgedAnswer("Who?", ("Curie",), text, text != "Bohr") for text in ("Marie Curie", "Bohr")]
        >>> [found] = evaluate_judges(answers, ["substring"], confidence_level=None)
        >>> found.figures.accuracy
        1.0

    Source:
        Vu & Moschitti 2021, AVA: an Automatic eValuation Approach for Question Answering Systems,
        point-wise evaluation.
    """
    check_statistics(confidence_level, n_resamples, seed)
    _check_names(names, thresholds or {})
    labels = verdicts_of(answers)
    members = {part: rows_by(answers, part) for part in by}
    moved = shuffled_references(answers, seed) if shuffle else []

    def figures_of(found: ScoredAnswers, rows: Sequence[int]) -> ClassificationFigures:
        return classification_figures(
            labels[rows],
            found.scores[rows],
            found.threshold,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
        )

    evaluations = []
    for name in names:
        found = score_answers([*answers, *moved], name, threshold=(thresholds or {}).get(name), options=options)
        evaluations.append(
            JudgeEvaluation(
                name,
                figures_of(found, range(len(answers))),
                {
                    part: {label: figures_of(found, rows) for label, rows in labelled.items()}
                    for part, labelled in members.items()
                },
                float((found.scores[len(answers) :] >= found.threshold).mean()) if moved else None,
                str(found.signature),
            )
        )
    return evaluations


def shuffled_references(answers: Answers, seed: int = DEFAULT_SEED) -> list[JudgedAnswer | SystemAnswer]:
    """Give every answer the references of another question; no question keeps its own.

    Args:
        answers: Answers; those without references are left out.
        seed: Of the order of the questions: each takes the references of the next, the last those of the first.

    Returns:
        The answers with other references; none where there are fewer than two questions.

    Example:
        >>> answers = [JudgedAnswer("Who?", ("Curie",), "Curie", True), JudgedAnswer("Where?", ("Rome",), "Rome", True)]
        >>> [answer.references for answer in shuffled_references(answers)]
        [('Rome',), ('Curie',)]
    """
    references: dict[str, tuple[str, ...]] = {}
    for answer in answers:
        if answer.references:
            references.setdefault(_question(answer), answer.references)
    if len(references) < 2:
        return []
    questions = list(references)
    order = [questions[place] for place in np.random.default_rng(seed).permutation(len(questions))]
    following = dict(zip(order, [*order[1:], order[0]], strict=True))
    return [
        answer._replace(references=references[following[_question(answer)]]) for answer in answers if answer.references
    ]


def best_thresholds(
    answers: Answers, names: Iterable[str], *, rule: str = "accuracy", options: ModelOptions | None = None
) -> dict[str, float]:
    """Choose the threshold of every scorer on judged answers other than those it is measured on.

    Args:
        answers: n answers with a verdict each, correct and incorrect ones.
        names: Scorers, as ``score_answers`` takes them.
        rule: ``"accuracy"`` or ``"f1"``: what is highest at the threshold.
        options: How models run; None for the defaults.

    Returns:
        Name → threshold.

    Raises:
        InputError: As for ``evaluate_judges``, or all verdicts are the same.

    Example:
        >>> answers = [JudgedAnswer("Who?", ("Marie Curie",), text, text != "Bohr") for text in ("Curie", "Bohr")]
        >>> best_thresholds(answers, ["recall"])
        {'recall': 0.25}
    """
    labels = verdicts_of(answers)
    return {
        name: best_threshold(labels, score_answers(answers, name, options=options).scores, rule).threshold
        for name in names
    }


def contrast_answers() -> list[JudgedAnswer]:
    """Return the answers of the contrast set, which no judge is trained, chosen or calibrated on.

    Returns:
        The answers; their groups are the 15 kinds.

    Example:
        >>> len({answer.group for answer in contrast_answers()})
        15
    """
    return list(read_judged_answers(Path(str(resources.files("qa_scoring") / "data" / "judge_contrast.jsonl"))))


def groups_won(evaluations: Sequence[JudgeEvaluation], name: str, others: Sequence[str]) -> list[str]:
    """Return the groups in which one scorer's accuracy is above that of all others.

    Args:
        evaluations: Of ``evaluate_judges`` with ``by=["group"]``.
        name: The scorer.
        others: Those it is compared with.

    Returns:
        Names of the groups.

    Raises:
        InputError: There is no such evaluation, by group.

    Example:
        >>> groups_won(evaluate_judges(contrast_answers(), ["f1", "exact"], by=["group"]), "f1", ["f1", "exact"])
        []
    """
    parts = {evaluation.name: evaluation.parts.get("group") for evaluation in evaluations}
    compared: list[dict[str, ClassificationFigures]] = []
    for wanted in (name, *others):
        figures = parts.get(wanted)
        if figures is None:
            raise InputError(f"There is no evaluation of {wanted!r} by group; evaluate it with by=['group'].")
        compared.append(figures)
    own, *rest = compared
    return [group for group in own if all(own[group].accuracy > figures[group].accuracy for figures in rest)]


def verdicts_of(answers: Answers) -> BoolArray:
    """Return what people said of answers that are all judged.

    Args:
        answers: n answers, at least one.

    Returns:
        Shape (n,), True for correct.

    Raises:
        InputError: There are no answers, or one has no verdict.

    Example:
        >>> verdicts_of([JudgedAnswer("Who?", ("Curie",), "Curie", True)]).tolist()
        [True]
    """
    if not answers:
        raise InputError("There are no answers to judge.")
    for row, answer in enumerate(answers):
        if answer.correct is None:
            raise InputError(f"Answer {row} has no verdict of people (correct); leave such answers out here.")
    return np.array([answer.correct for answer in answers], dtype=np.bool_)


def rows_by(answers: Answers, part: str) -> dict[str, list[int]]:
    """Return which answers are of which system, or of which group.

    Args:
        answers: n answers.
        part: ``"system"`` or ``"group"``.

    Returns:
        Name → places among the answers, in order of appearance.

    Raises:
        InputError: The part is another, or an answer does not say.

    Example:
        >>> rows_by([JudgedAnswer("Who?", ("Curie",), "Curie", True, system="a")], "system")
        {'a': [0]}
    """
    if part not in PARTS:
        raise parameter_error("by", " or ".join(map(repr, PARTS)), part)
    rows: dict[str, list[int]] = {}
    for row, answer in enumerate(answers):
        label = answer.system if part == "system" else answer.group
        if not label:
            key = "'system'" if part == "system" else "'kind' or 'source'"
            raise InputError(f"Answer {row} has no {part}; give every row of the file the key {key}.")
        rows.setdefault(label, []).append(row)
    return rows


def _question(answer: JudgedAnswer | SystemAnswer) -> str:
    return answer.question.strip() or "\n".join(answer.references)


def _check_names(names: Sequence[str], thresholds: Mapping[str, float]) -> None:
    if not names or isinstance(names, str):
        raise parameter_error("names", "a list of scorers, at least one", names)
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise InputError(f"The scorer {repeated[0]!r} is named twice.")
    unknown = [name for name in thresholds if name not in names]
    if unknown:
        raise InputError(f"There is a threshold for {unknown[0]!r}, which is not among the scorers.")
