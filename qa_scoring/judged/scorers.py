"""What answers are scored with, by name: judges, and the baselines they are measured beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qa_scoring import __version__
from qa_scoring.ava import score_ava
from qa_scoring.encoders.scorers import Progress, no_progress
from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.judge.loading import EMBEDDED_NAME
from qa_scoring.judgements import JudgedAnswer, SystemAnswer
from qa_scoring.multilingual_squad import score_multilingual_squad
from qa_scoring.rows import Scored
from qa_scoring.sas import score_sas
from qa_scoring.signature import Signature
from qa_scoring.statistics.columns import FloatArray
from qa_scoring.text.normalize import squad_words

Answers = Sequence[JudgedAnswer | SystemAnswer]


class ScoredAnswers(NamedTuple):
    """Scores of n answers.

    Args:
        scores: Shape (n,), in [0, 1].
        threshold: An answer with this score or more is taken as correct.
        signature: Everything that changes the scores.
    """

    scores: FloatArray
    threshold: float
    signature: Signature


@dataclass(frozen=True)
class ModelOptions:
    """How models run; what a scorer does not have is not passed to it.

    Args:
        aggregate: Of judges: ``"mean"`` or ``"max"`` over several references.
        revision: Of judges on the Hub: branch, tag or commit.
        max_length: Of judges: longest input in tokens; None takes the judge's own.
        batch_size: Inputs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.
        cache_dir: Folder that keeps scores.
        progress: Wraps the batches, for a progress bar.
    """

    aggregate: str = "mean"
    revision: str | None = None
    max_length: int | None = None
    batch_size: int | None = None
    device: str | None = None
    dtype: str | None = None
    cache_dir: str | None = None
    progress: Progress = no_progress

    def of_any_model(self) -> dict[str, Any]:
        """Return the options that all models have."""
        names = ("batch_size", "device", "dtype", "cache_dir", "progress")
        return {name: getattr(self, name) for name in names}

    def of_judges(self) -> dict[str, Any]:
        """Return the options of ``score_ava``."""
        return {**vars(self)}


Texts = Sequence[str]
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Baseline:
    """A scorer that is no judge.

    Args:
        threshold: Where it takes an answer as correct, unless told otherwise.
        score: From n answers and their references, none of which is blank, to scores and signature.
    """

    threshold: float
    score: Callable[[Texts, References, ModelOptions], tuple[FloatArray, Signature]]


def _squad(name: str) -> Callable[[Texts, References, ModelOptions], tuple[FloatArray, Signature]]:
    def score(answers: Texts, references: References, options: ModelOptions) -> tuple[FloatArray, Signature]:
        scored = score_multilingual_squad(answers, references, scheme="squad")
        return scored.rows.scores[name], scored.signature

    return score


def _sas(answers: Texts, references: References, options: ModelOptions) -> tuple[FloatArray, Signature]:
    scored = score_sas(answers, references, **options.of_any_model())
    return scored.rows.scores["sas"], scored.signature


def _best_reference(
    name: str, compare: Callable[[list[str], list[str]], float]
) -> Callable[[Texts, References, ModelOptions], tuple[FloatArray, Signature]]:
    """Make a scorer that compares normalised words, and takes the best reference."""

    def score(answers: Texts, references: References, options: ModelOptions) -> tuple[FloatArray, Signature]:
        scores = np.zeros(len(answers))
        for row, (answer, several) in enumerate(zip(answers, references, strict=True)):
            words = squad_words(answer)
            scores[row] = max((compare(words, squad_words(reference)) for reference in several), default=0.0)
        return scores, Signature({"metric": name, "version": __version__, "normalization": "squad"})

    return score


def token_recall(answer: list[str], reference: list[str]) -> float:
    """Return the part of a reference's words that an answer has, repeats counted.

    Args:
        answer: Its normalised words.
        reference: Its normalised words.

    Returns:
        A number in [0, 1]; where the reference has no words, whether the answer has none.

    Example:
        >>> token_recall(["it", "was", "curie"], ["marie", "curie"])
        0.5
    """
    if not reference:
        return float(not answer)
    return sum((Counter(answer) & Counter(reference)).values()) / len(reference)


def contains(answer: list[str], reference: list[str]) -> float:
    """Return whether the words of a reference stand in an answer, one after the other.

    Args:
        answer: Its normalised words.
        reference: Its normalised words.

    Returns:
        1.0 or 0.0; where the reference has no words, whether the answer has none.

    Example:
        >>> contains(["it", "was", "marie", "curie"], ["marie", "curie"]), contains(["curie", "marie"], ["marie"])
        (1.0, 1.0)
        >>> contains(["curie", "marie"], ["marie", "curie"])
        0.0
    """
    if not reference:
        return float(not answer)
    return float(f" {' '.join(reference)} " in f" {' '.join(answer)} ")


BASELINES = {
    "exact": Baseline(0.5, _squad("exact")),
    "f1": Baseline(0.5, _squad("f1")),
    "recall": Baseline(1.0, _best_reference("recall", token_recall)),  # the answer has all words of a reference
    "substring": Baseline(0.5, _best_reference("substring", contains)),
    "sas": Baseline(0.5, _sas),
}
"""Exact match, token F1, token recall and substring match by SQuAD's normalisation, and the similarity ``sas`` of the
embedded model; of several references the best counts."""


def score_answers(
    answers: Answers, name: str, *, threshold: float | None = None, options: ModelOptions | None = None
) -> ScoredAnswers:
    """Score answers with a judge or a baseline.

    An empty answer is correct where there is no reference, and only there; any other answer to such a question is
    incorrect. Neither reaches the scorer.

    Args:
        answers: n answers.
        name: ``"embedded"``, a judge's folder or Hub id, or a name of ``BASELINES``.
        threshold: From 0 to 1; None is the judge's own, or the baseline's.
        options: How models run; None for the defaults.

    Returns:
        Scores of the n answers, threshold and signature.

    Raises:
        InputError: There are no answers, the name is no scorer's, or the judge cannot be loaded or reads something that
            is not there.

    Example:
        >>> answer = JudgedAnswer("Who found radium?", ("Marie Curie",), "It was Curie.", True)
        >>> score_answers([answer], "recall")[:2]
        (array([0.5]), 1.0)
    """
    options = options or ModelOptions()
    if not answers:
        raise InputError("There are no answers to score.")
    if threshold is not None and not _is_fraction(threshold):
        raise parameter_error("threshold", "None or a number from 0 to 1", threshold)
    if name in BASELINES:
        return _by_baseline(answers, BASELINES[name], threshold, options)
    _check_judge_name(name)
    scored: Scored = score_ava(
        [answer.answer for answer in answers],
        [list(answer.references) for answer in answers],
        questions=[answer.question for answer in answers],
        model=name,
        threshold=threshold,
        **options.of_judges(),
    )
    return ScoredAnswers(scored.rows.scores["ava_score"], scored.result["threshold"], scored.signature)


def _by_baseline(answers: Answers, baseline: Baseline, threshold: float | None, options: ModelOptions) -> ScoredAnswers:
    references = [[text for text in answer.references if text.strip()] for answer in answers]
    scores, signature = baseline.score([answer.answer for answer in answers], references, options)
    for row, (answer, several) in enumerate(zip(answers, references, strict=True)):
        if not several or not answer.answer.strip():
            scores[row] = float(not several and not answer.answer.strip())
    return ScoredAnswers(scores, baseline.threshold if threshold is None else float(threshold), signature)


def _is_fraction(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _check_judge_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise parameter_error("judge", f"'embedded', a folder, a Hub id, or one of {', '.join(BASELINES)}", name)
    if name != EMBEDDED_NAME and "/" not in name and not Path(name).is_dir():
        raise InputError(
            f"There is no judge {shorten(name)}; expected 'embedded', a judge's folder, a Hub id (OWNER/NAME), or one "
            f"of {', '.join(BASELINES)}."
        )
