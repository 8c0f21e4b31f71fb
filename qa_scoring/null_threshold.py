"""When to say nothing: the null odds above which a system's answer is withheld, chosen on one file, used on another.

The L3 module of ``qa-scoring tune-threshold``: it puts prediction files, overlap and the policy of SQuAD together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from qa_scoring.errors import InputError, first_few, parameter_error
from qa_scoring.extractive.prediction_files import read_predictions_folder
from qa_scoring.files import read_reference_file
from qa_scoring.multilingual_squad import score_multilingual_squad, summarize
from qa_scoring.overlap.thresholds import best_threshold
from qa_scoring.records import read_references
from qa_scoring.rows import Figures, Rows

METRICS = ("f1", "exact")


def score_best_spans(
    data: str,
    folder: str,
    *,
    language: str | None = None,
    progress: Callable[[Iterable[str]], Iterable[str]] | None = None,
) -> Rows:
    """Score the best span of every question, as if the system always answered.

    Args:
        data: A file with the references, as ``qa_scoring.files`` reads it, with ids.
        folder: The files of ``qa_scoring.extractive.prediction_files``, of the same questions.
        language: Code or name, for the scoring of ``m2qa_squad_v2``; None scores as the SQuAD 2.0 script does.
        progress: Wraps the answers while they are scored, for a progress bar.

    Returns:
        Rows with the null odds as no-answer values.

    Raises:
        InputError: A file cannot be read, or the two are not of the same questions.
        MissingPackageError: The language's tokenizer is not installed.
    """
    references = read_reference_file(data)
    files = read_predictions_folder(folder)
    expected = read_references(references).ids
    if expected is None:
        raise InputError(f"{data} has no ids, by which predictions are found. Give every question the id of its own.")
    asked = set(expected)
    unanswered = [key for key in expected if key not in files.best_spans]
    unasked = [key for key in files.best_spans if key not in asked]
    for keys, place, other in ((unanswered, data, folder), (unasked, folder, data)):
        if keys:
            raise InputError(
                f"{len(keys)} ids of {place} are not in {other} ({first_few(keys, len(keys))}). Pass the folder that "
                f"was written for these questions."
            )
    records = [
        {"id": key, "prediction_text": text, "no_answer_probability": files.null_odds[key]}
        for key, text in files.best_spans.items()
    ]
    return score_multilingual_squad(
        records, references, language=language, scheme="squad" if language is None else None, progress=progress
    ).rows


def choose_threshold(rows: Rows, metric: str = "f1") -> float:
    """Choose the threshold with the highest mean score when it is applied.

    Args:
        rows: At least one, with no-answer values.
        metric: ``"f1"`` or ``"exact"``.

    Returns:
        A no-answer value of the rows, or the number just below all of them if saying nothing at all is best; of equal
        ones the lowest. Without ties among the values, the threshold that the SQuAD 2.0 script finds, but for two
        cases: that script gives 0.0 for saying nothing, and counts an answer without words (``"the"``) as wrong where
        there is no answer.

    Raises:
        InputError: The metric is another, or the rows have no such values.

    Example:
        >>> rows = score_multilingual_squad(
        ...     [{"id": "1", "prediction_text": "Rome", "no_answer_probability": -4.5},
        ...      {"id": "2", "prediction_text": "Oslo", "no_answer_probability": -1.5}],
        ...     [{"id": "1", "answers": ["Rome"]}, {"id": "2", "answers": []}], scheme="squad").rows
        >>> choose_threshold(rows)
        -4.5
    """
    if metric not in METRICS:
        raise parameter_error("metric", " or ".join(map(repr, METRICS)), metric)
    if rows.no_answer is None:
        raise InputError("A threshold is chosen by no-answer values; these rows have none.")
    scores, has_answer = rows.scores[metric], rows.has_answer
    wrong = ~has_answer & (scores < 1.0)
    # Of rows with one value the losses first: a sum inside the ties is then never above those at both of their ends.
    order = np.argsort(np.where(has_answer, scores, -wrong.astype(np.float64)), kind="stable")
    total, threshold = best_threshold(scores[order], has_answer[order], wrong[order], rows.no_answer[order])
    if total == np.count_nonzero(~has_answer):  # saying nothing is as good as anything
        return float(np.nextafter(rows.no_answer.min(), -np.inf))
    return threshold


def tune_threshold(rows: Rows, other: Rows | None = None, *, metric: str = "f1") -> dict[str, Any]:
    """Choose a threshold on some rows, and measure it on others.

    Args:
        rows: What it is chosen on: at least one, with no-answer values.
        other: What it is then applied to, likewise; or None.
        metric: ``"f1"`` or ``"exact"``, which is made as high as it can be.

    Returns:
        ``metric``; ``threshold``; ``tuned_on``: figures of SQuAD 2.0 in percent ``at_zero`` and ``at_threshold``, and
        the ``gain`` of one over the other in points of the metric; with other rows ``applied_to``: the same, and
        ``best_threshold``, ``at_best`` and ``best_gain`` of the threshold that would have been chosen there.

    Raises:
        InputError: The metric is another, or rows have no no-answer values.

    Example:
        >>> rows = score_multilingual_squad(
        ...     [{"id": "1", "prediction_text": "Rome", "no_answer_probability": 0.5}],
        ...     [{"id": "1", "answers": ["Rome"]}], scheme="squad").rows
        >>> tune_threshold(rows)["tuned_on"]["gain"]
        100.0
    """
    threshold = choose_threshold(rows, metric)
    result: dict[str, Any] = {"metric": metric, "threshold": threshold}
    result["tuned_on"] = _compare(rows, threshold, metric)
    if other is not None:
        best = choose_threshold(other, metric)
        at_best = _figures(other, best)
        applied = _compare(other, threshold, metric)
        result["applied_to"] = {
            **applied,
            "best_threshold": best,
            "at_best": at_best,
            "best_gain": at_best[metric] - applied["at_zero"][metric],
        }
    return result


def answers_at(rows: Rows, threshold: float) -> dict[str, str]:
    """Return the answers that are left at a threshold.

    Args:
        rows: What ``score_best_spans`` returned.
        threshold: No-answer values strictly above it count as no answer.

    Returns:
        Id → answer, ``""`` for none.
    """
    assert rows.no_answer is not None
    return {
        key: "" if value > threshold else text
        for key, text, value in zip(rows.ids, rows.extra["prediction"], rows.no_answer.tolist(), strict=True)
    }


def _compare(rows: Rows, threshold: float, metric: str) -> dict[str, Any]:
    at_zero, at_threshold = _figures(rows, 0.0), _figures(rows, threshold)
    return {"at_zero": at_zero, "at_threshold": at_threshold, "gain": at_threshold[metric] - at_zero[metric]}


def _figures(rows: Rows, threshold: float) -> Figures:
    figures = summarize(rows, no_answer_threshold=threshold)
    return {key: value for key, value in figures.items() if not key.startswith("best_")}
