"""Multilingual SQuAD 2.0: policy → rows → result.

The L3 module of the metric ``m2qa_squad_v2``: it puts records, schemes, overlap and statistics together.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring import __version__
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.overlap.precision_recall import PrecisionRecallCurve, precision_recall_curve
from qa_scoring.overlap.scoring import FloatArray, score_overlap
from qa_scoring.overlap.thresholds import apply_threshold, best_threshold, best_thresholds, sums_by_threshold
from qa_scoring.records import Missing, Records, make_records
from qa_scoring.rows import (
    DEFAULT_SEED,
    Figures,
    Reweighted,
    Rows,
    Scored,
    check_statistics,
    group_labels,
    reweighted_means,
    summarize_scores,
    with_groups,
)
from qa_scoring.schemes import Policy, TokenizerChoice, make_policy
from qa_scoring.signature import Signature

METRIC = "m2qa_squad_v2"
PERCENT = 100.0

Progress = Callable[[Iterable[str]], Iterable[str]]


def score_multilingual_squad(
    predictions: object,
    references: object,
    *,
    language: str | Sequence[str] | None = None,
    tokenizer: TokenizerChoice | None = None,
    use_word_tokenizer: bool = True,
    normalization: str = "squad",
    scheme: str | None = None,
    no_answer_threshold: float = 1.0,
    groups: Sequence[object] | None = None,
    confidence_level: float | None = None,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
    details: bool = False,
    missing: Missing = "error",
    progress: Progress | None = None,
) -> Scored:
    """Score predicted answers by exact match and token F1.

    Args:
        predictions: n predictions, in any form of ``qa_scoring.records``.
        references: n references, likewise; an empty list of answers is an unanswerable question.
        language: Code, name or tag of the language, or a list with one per reference.
        tokenizer: A tokenizer's name or a function from string to list of strings, in place of the language's.
        use_word_tokenizer: False splits at white space.
        normalization: ``"squad"`` or ``"unicode"``.
        scheme: None, ``"squad"``, ``"m2qa"``, ``"mlqa"``, ``"cmrc"``, ``"korquad"`` or ``"jaquad"``.
        no_answer_threshold: No-answer values strictly above it count as an empty answer.
        groups: n labels, one per reference; adds the same figures per group.
        confidence_level: For example 0.95; adds bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.
        details: Whether to add one dict per example.
        missing: ``"error"``, or ``"score_zero"`` to score questions without a prediction 0.
        progress: Wraps the predictions while they are scored, for a progress bar.

    Returns:
        Result, rows and signature.

    Raises:
        InputError: Something passed cannot be scored.
        MissingPackageError: The tokenizer's package is not installed.

    Example:
        >>> score_multilingual_squad(["in Köln"], [["Köln"]], language="de").result["f1"]
        66.66666666666666

    Source:
        Rajpurkar et al. 2018 (SQuAD 2.0), section 4; Engländer et al. 2024 (M2QA), section 4.
    """
    check_statistics(confidence_level, n_resamples, seed)
    check_threshold(no_answer_threshold)
    if not isinstance(details, bool):
        raise parameter_error("details", "True or False", details)
    choose = {
        "tokenizer": tokenizer,
        "use_word_tokenizer": use_word_tokenizer,
        "normalization": normalization,
        "scheme": scheme,
    }
    check_policy(language, **choose)
    records = make_records(predictions, references, missing=missing, blank_references=scheme is not None)
    labels = group_labels(groups, len(records))
    parts = _policies(language, len(records), choose)
    rows = _score(records, parts, labels, progress)
    figures_of = partial(
        summarize,
        no_answer_threshold=no_answer_threshold,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
    )
    result = with_groups(rows, figures_of)
    if details:
        result["details"] = _details(records, rows, parts)
    resampled = confidence_level is not None
    signature = _sign(
        records,
        [policy for policy, _ in parts],
        no_answer_threshold=float(no_answer_threshold) if records.no_answer is not None else None,
        missing=missing if missing != "error" else None,
        confidence_level=confidence_level,
        n_resamples=n_resamples if resampled else None,
        seed=seed if resampled else None,
    )
    return Scored(result, rows, signature, _reweighted(rows, no_answer_threshold))


def check_threshold(threshold: object) -> None:
    """Validate a no-answer threshold.

    Args:
        threshold: Any number but NaN; infinity switches the threshold off.

    Raises:
        InputError: It is not a number.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real) or math.isnan(threshold):
        raise parameter_error("no_answer_threshold", "a number", threshold)


def check_policy(language: object, **choose: Any) -> None:
    """Find out whether language, tokenizer and scheme fit together, before any row is read.

    Args:
        language: One language, None, or a sequence (whose items are checked when their rows are known).
        **choose: The other arguments of ``make_policy``.

    Raises:
        InputError: They do not.
        MissingPackageError: The tokenizer's package is not installed.
    """
    if language is None or isinstance(language, str):
        make_policy(language, **choose)
    elif not isinstance(language, Sequence):
        raise parameter_error("language", "a code or name such as 'de', or a list with one per reference", language)


Part = tuple[Policy, Sequence[int]]
"""A policy, and the rows it scores."""


def _policies(language: str | Sequence[str] | None, count: int, choose: dict[str, Any]) -> list[Part]:
    if language is None or isinstance(language, str):
        return [(make_policy(language, **choose), range(count))]
    if len(language) != count:
        raise InputError(
            f"There are {len(language)} languages and {count} references; give one language per reference."
        )
    members: dict[str, list[int]] = {}
    for row, name in enumerate(language):
        if not isinstance(name, str):
            raise InputError(f"language[{row}] must be a language code or name; got {name!r}.")
        members.setdefault(name, []).append(row)
    return [(make_policy(name, **choose), rows) for name, rows in members.items()]


def _score(records: Records, parts: list[Part], labels: list[str] | None, progress: Progress | None) -> Rows:
    count = len(records)
    has_answer = np.fromiter(map(bool, records.references), dtype=np.bool_, count=count)
    for policy, _ in parts:
        if not policy.unanswerable and not has_answer.all():
            row = int(np.flatnonzero(~has_answer)[0])
            raise InputError(
                f"references[{row}] (id {records.ids[row]!r}) has no answer, and the published script behind "
                f"scheme={policy.scheme!r} has no unanswerable questions. Leave such questions out, or the scheme."
            )
    exact, f1, best = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    for policy, rows in parts:
        texts: Iterable[str] = [records.predictions[row] for row in rows]
        scores = score_overlap(
            texts if progress is None else progress(texts),
            [records.references[row] for row in rows],
            policy.rule,
        )
        exact[rows], f1[rows], best[rows] = scores.exact, scores.f1, scores.best_reference
    if records.missing.any():
        exact[records.missing] = f1[records.missing] = 0.0
        best[records.missing] = -1
    answered = np.fromiter(map(bool, records.predictions), dtype=np.bool_, count=count)
    return Rows(
        ids=records.ids,
        scores={"exact": exact, "f1": f1},
        has_answer=has_answer,
        answered=answered | records.missing,  # no threshold can make a missing prediction right
        best_reference=best,
        no_answer=records.no_answer,
        sweep_order=records.sweep_order,
        groups=labels,
        extra={"prediction": records.predictions, "references": records.references},
    )


def summarize(
    rows: Rows,
    *,
    no_answer_threshold: float = 1.0,
    confidence_level: float | None = None,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
) -> Figures:
    """Turn rows with the scores ``exact`` and ``f1`` into SQuAD 2.0's figures.

    Args:
        rows: At least one row.
        no_answer_threshold: No-answer values strictly above it count as an empty answer.
        confidence_level: None, or the coverage of bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.

    Returns:
        The keys of ``squad_v2``, always all of them, in percent; ``confidence_intervals`` if asked for.

    Example:
        >>> rows = score_multilingual_squad(["Paris"], ["Paris"], scheme="squad").rows
        >>> summarize(rows)["exact"]
        100.0
    """
    figures = summarize_scores(
        rows,
        _after_threshold(rows, no_answer_threshold),
        scale=PERCENT,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
    )
    for name, values in rows.scores.items():
        figures[f"best_{name}"] = figures[f"best_{name}_thresh"] = None
        if rows.no_answer is not None:
            order = slice(None) if rows.sweep_order is None else rows.sweep_order
            total, threshold = best_threshold(
                values[order], rows.has_answer[order], rows.answered[order], rows.no_answer[order]
            )
            figures[f"best_{name}"] = PERCENT * total / len(rows)
            figures[f"best_{name}_thresh"] = threshold
    return figures


def _after_threshold(rows: Rows, threshold: float) -> dict[str, FloatArray]:
    if rows.no_answer is None:
        return rows.scores
    return {
        name: apply_threshold(values, rows.has_answer, rows.no_answer, threshold)
        for name, values in rows.scores.items()
    }


def _reweighted(rows: Rows, threshold: float) -> Reweighted:
    """Return the figures of ``summarize`` that are numbers, as a function of how often each row counts."""
    means = reweighted_means(rows, _after_threshold(rows, threshold), scale=PERCENT)
    if rows.no_answer is None:
        return means
    order = np.arange(len(rows)) if rows.sweep_order is None else rows.sweep_order
    order = order[np.argsort(rows.no_answer[order], kind="stable")]  # once, not for every weighting
    no_answer, has_answer, answered = rows.no_answer[order], rows.has_answer[order], rows.answered[order]

    def figures(weights: FloatArray) -> dict[str, FloatArray]:
        found, ordered = means(weights), weights[:, order]
        for name, values in rows.scores.items():
            totals, thresholds = best_thresholds(values[order], has_answer, answered, no_answer, ordered)
            found[f"best_{name}"] = PERCENT * totals / weights.sum(axis=1)
            found[f"best_{name}_thresh"] = thresholds
        return found

    return figures


def precision_recall_curves(rows: Rows) -> dict[str, PrecisionRecallCurve]:
    """Return the official script's three curves over the no-answer threshold.

    Args:
        rows: Rows with no-answer values and at least one answerable question.

    Returns:
        ``exact``, ``f1`` and ``oracle`` (the task of telling answerable from unanswerable questions).

    Raises:
        InputError: There are no no-answer values, or no answerable question.

    Example:
        >>> predictions = [{"id": "1", "prediction_text": "Paris", "no_answer_probability": 0.1}]
        >>> rows = score_multilingual_squad(predictions, ["Paris"], scheme="squad").rows
        >>> precision_recall_curves(rows)["oracle"].average_precision
        1.0
    """
    if rows.no_answer is None:
        raise InputError("Precision-recall curves need no-answer values; these rows have none.")
    if not rows.has_answer.any():
        raise InputError("Precision-recall curves need at least one answerable question.")
    order = slice(None) if rows.sweep_order is None else rows.sweep_order
    has_answer, no_answer = rows.has_answer[order], rows.no_answer[order]
    curves = {name: precision_recall_curve(rows.scores[name][order], has_answer, no_answer) for name in ("exact", "f1")}
    curves["oracle"] = precision_recall_curve(has_answer.astype(np.float64), has_answer, no_answer)
    return curves


@dataclass(frozen=True, eq=False)
class ThresholdCurves:
    """SQuAD 2.0's figures at every no-answer threshold.

    Args:
        thresholds: Shape (k,), the distinct no-answer values, rising.
        counts: Shape (k,), how many rows have each.
        figures: Name as in ``summarize`` → shape (k + 1,), in percent: first below all values, then from each value up
            to the next one. HasAns and NoAns are there only if such questions are.
    """

    thresholds: FloatArray
    counts: NDArray[np.int64]
    figures: Mapping[str, FloatArray]

    def at(self, threshold: float) -> dict[str, float]:
        """Return the figures at a threshold; values strictly above it count as an empty answer."""
        place = np.searchsorted(self.thresholds, threshold, side="right")
        return {name: float(values[place]) for name, values in self.figures.items()}


def threshold_curves(rows: Rows) -> ThresholdCurves:
    """Return EM and F1 at every no-answer threshold, of all, answerable and unanswerable questions.

    Args:
        rows: Rows with no-answer values.

    Returns:
        The curves.

    Raises:
        InputError: There are no no-answer values.

    Example:
        >>> predictions = [{"id": "1", "prediction_text": "Paris", "no_answer_probability": 0.1}]
        >>> curves = threshold_curves(score_multilingual_squad(predictions, ["Paris"], scheme="squad").rows)
        >>> curves.at(0.05)["f1"], curves.at(0.1)["f1"]
        (0.0, 100.0)
    """
    if rows.no_answer is None:
        raise InputError("Curves over the no-answer threshold need no-answer values; these rows have none.")
    members = {"": np.ones(len(rows), dtype=np.bool_), "HasAns_": rows.has_answer, "NoAns_": ~rows.has_answer}
    kept = {
        prefix + name: (values, chosen)
        for prefix, chosen in members.items()
        if chosen.any()
        for name, values in rows.scores.items()
    }
    thresholds, counts, sums = sums_by_threshold(
        np.stack([np.where(chosen, values, 0.0) for values, chosen in kept.values()]),
        np.stack([(chosen & ~rows.has_answer).astype(np.float64) for _, chosen in kept.values()]),
        rows.no_answer,
    )
    totals = [np.count_nonzero(chosen) for _, chosen in kept.values()]
    figures = {name: PERCENT * part / total for name, part, total in zip(kept, sums, totals, strict=True)}
    return ThresholdCurves(thresholds, counts, figures)


def _details(records: Records, rows: Rows, parts: list[Part]) -> list[dict[str, Any]]:
    """Return one dict per example, with what the normaliser and the tokenizer made of the strings."""
    details = rows.dicts()
    for policy, members in parts:
        rule = policy.rule
        for row in members:
            detail = details[row]
            words = rule.normalize(records.predictions[row])
            detail["normalized_prediction"] = " ".join(words)
            detail["prediction_tokens"] = list(rule.tokenize(words))
            winner = detail["best_reference"]
            detail["normalized_reference"] = detail["reference_tokens"] = None
            if winner is not None:
                words = rule.normalize(records.references[row][winner])
                detail["normalized_reference"] = " ".join(words)
                detail["reference_tokens"] = list(rule.tokenize(words))
            if records.missing[row]:
                detail["prediction"] = None
    return details


def _sign(records: Records, policies: list[Policy], **settings: str | float | None) -> Signature:
    def shared(values: Iterable[str]) -> str:
        return "+".join(dict.fromkeys(values))

    counts = [len(answers) for answers in records.references]
    return Signature(
        {
            "metric": METRIC,
            "version": __version__,
            "scheme": shared(policy.scheme for policy in policies),
            "language": shared(policy.language for policy in policies),
            "normalization": shared(policy.normalization for policy in policies),
            "tokenizer": shared(policy.tokenizer for policy in policies),
            "references": f"{min(counts)}-{max(counts)}",
            **settings,
        }
    )
