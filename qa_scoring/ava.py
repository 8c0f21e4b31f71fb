"""AVA, a learned judge of answers: records → items → rows → result.

The L3 module of the metric ``ava_metric`` (Vu & Moschitti 2021).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from qa_scoring import __version__
from qa_scoring.encoders.scorers import Progress, Texts, no_progress, score_distinct
from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.judge.inputs import item
from qa_scoring.judge.judges import Judge
from qa_scoring.judge.loading import load_judge
from qa_scoring.records import Missing, Records, make_records, read_questions
from qa_scoring.rows import (
    DEFAULT_SEED,
    Figures,
    Rows,
    Scored,
    add_model_details,
    check_statistics,
    group_labels,
    reweighted_means,
    summarize_scores,
    with_groups,
)
from qa_scoring.signature import Signature
from qa_scoring.statistics.prediction_powered import prediction_powered_mean

METRIC = "ava_metric"
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda scores: sum(scores) / len(scores),
    "max": max,
}
LEAST_LABELS = 2


def score_ava(
    predictions: object,
    references: object,
    *,
    questions: object = None,
    model: str | None = None,
    revision: str | None = None,
    threshold: float | None = None,
    aggregate: str = "mean",
    human_labels: Sequence[object] | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    max_length: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    groups: Sequence[object] | None = None,
    confidence_level: float | None = None,
    n_resamples: int = 2000,
    seed: int = DEFAULT_SEED,
    details: bool = False,
    missing: Missing = "error",
    progress: Progress = no_progress,
) -> Scored:
    """Judge whether predicted answers are correct, given the questions and the references.

    An empty answer is correct where there is no reference, and only there; any other answer to such a question is
    incorrect. Neither reaches the judge.

    Args:
        predictions: n predictions, in any form of ``qa_scoring.records``.
        references: n references, likewise; an empty list of answers is an unanswerable question. Records may hold the
            ``question``.
        questions: n questions, one per reference, or a mapping from id to question; None takes them from the
            references.
        model: ``"embedded"`` (None), a Hub id, or the folder of a judge.
        revision: Branch, tag or commit on the Hub.
        threshold: The least probability of a correct answer, from 0 to 1; None is the judge's own.
        aggregate: Over several references: ``"mean"`` (the paper) or ``"max"`` of the probabilities. A judge that
            reads all references together gives one probability.
        human_labels: n verdicts of people: True or 1, False or 0, None where there is none; adds an estimate of the
            accuracy that these verdicts correct, with its interval (at ``confidence_level``, else .95).
        batch_size: Inputs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.
        max_length: Longest input in tokens; None takes the judge's own.
        cache_dir: Folder that keeps the probabilities; where all of them are there, no model is loaded.
        groups: n labels, one per reference; adds the same figures per group.
        confidence_level: For example 0.95; adds bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.
        details: Whether to add one dict per example.
        missing: ``"error"``, or ``"score_zero"`` to judge questions without a prediction incorrect.
        progress: Wraps the batches, for a progress bar.

    Returns:
        Result (``ava_accuracy``, ``ava_score``, ``total`` and the same for HasAns and NoAns, in [0, 1]; ``threshold``;
        ``truncated`` and ``truncated_ids``; with human labels ``ppi_accuracy``, ``ppi_confidence_interval`` and
        ``human_labels``), rows and signature.

    Raises:
        InputError: Something passed cannot be judged.
        MissingPackageError: The embedded judge's base is not there.

    Example:
        >>> scored = score_ava(["Marie Curie won it."], ["Curie"], questions=["Who won the Nobel Prize of 1911?"])
        >>> scored.result["ava_accuracy"]
        1.0

    Source:
        Vu & Moschitti 2021, AVA: an Automatic eValuation Approach for Question Answering Systems, section 3;
        Angelopoulos et al. 2023, Prediction-powered inference, for ``human_labels``.
    """
    check_statistics(confidence_level, n_resamples, seed)
    if not isinstance(details, bool):
        raise parameter_error("details", "True or False", details)
    check_verdicts(aggregate, threshold)
    if isinstance(references, Iterator):
        references = list(references)  # which are read twice
    records = make_records(predictions, references, missing=missing)
    asked = read_questions(questions, references, records.ids)
    labels = group_labels(groups, len(records))
    verdicts = _verdicts(human_labels, records)
    judge = load_judge(
        "embedded" if model is None else model,
        revision=revision,
        batch_size=batch_size,
        device=device,
        dtype=dtype,
        max_length=max_length,
        cache_dir=cache_dir,
    )
    limit = judge.threshold if threshold is None else float(threshold)
    items = _items(records, asked, judge)
    rows = _rows(records, items, judge, limit, aggregate, labels, progress)
    if verdicts is not None:
        rows.extra["human_label"] = verdicts

    def figures_of(members: Rows) -> Figures:
        figures = summarize_scores(
            members,
            members.scores,
            scale=1.0,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
        )
        return figures if verdicts is None else figures | _ppi(members, confidence_level or 0.95)

    result = with_groups(rows, figures_of)
    result["threshold"] = limit
    add_model_details(result, rows, records.missing, details=details)
    resampled = confidence_level is not None
    counts = [len(answers) for answers in records.references]
    signature = Signature(
        {
            "metric": METRIC,
            "version": __version__,
            **judge.facts,
            "threshold": limit,
            "aggregate": None if judge.reads_all_references else aggregate,
            "references": f"{min(counts)}-{max(counts)}",
            "missing": missing if missing != "error" else None,
            "human_labels": None if verdicts is None else sum(label is not None for label in verdicts),
            "confidence_level": confidence_level,
            "n_resamples": n_resamples if resampled else None,
            "seed": seed if resampled else None,
        }
    )
    return Scored(result, rows, signature, reweighted_means(rows, rows.scores, scale=1.0))


def check_verdicts(aggregate: str, threshold: float | None) -> None:
    """Validate the arguments that make a verdict of probabilities.

    Args:
        aggregate: As in ``score_ava``.
        threshold: As in ``score_ava``.

    Raises:
        InputError: One of them is not what it must be.
    """
    if not isinstance(aggregate, str) or aggregate not in AGGREGATES:
        raise parameter_error("aggregate", " or ".join(map(repr, AGGREGATES)), aggregate)
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0.0 <= threshold <= 1.0
    ):
        raise parameter_error("threshold", "None or a number from 0 to 1", threshold)


def _verdicts(human_labels: Sequence[object] | None, records: Records) -> list[bool | None] | None:
    if human_labels is None:
        return None
    if isinstance(human_labels, (str, bytes, Mapping)) or not hasattr(human_labels, "__len__"):
        raise parameter_error("human_labels", "a list with one verdict or None per reference", human_labels)
    if len(human_labels) != len(records):
        raise InputError(
            f"There are {len(human_labels)} human labels and {len(records)} references; give one per reference, None "
            f"where there is no verdict."
        )
    verdicts: list[bool | None] = []
    for row, label in enumerate(human_labels):
        known = label is None or (isinstance(label, (bool, int, float, np.bool_, np.number)) and label in (0, 1))
        if not known:
            raise InputError(
                f"human_labels[{row}] (id {shorten(records.ids[row])}): expected 1 or True (correct), 0 or False "
                f"(incorrect) or None; got {shorten(label)}."
            )
        verdicts.append(None if label is None else bool(label))
    found = sum(label is not None for label in verdicts)
    if found < LEAST_LABELS:
        raise InputError(
            f"human_labels has {found} verdicts; an interval needs at least {LEAST_LABELS}. Label more rows, or leave "
            f"the argument out."
        )
    return verdicts


def _items(records: Records, questions: list[str | None], judge: Judge) -> list[list[Texts]]:
    """Return what the judge reads of every row: nothing where the verdict is known without it."""
    rows: list[list[Texts]] = []
    for row, (answer, references) in enumerate(zip(records.predictions, records.references, strict=True)):
        filled = [text for text in references if text.strip()]
        if not answer.strip() or not filled:
            rows.append([])
            continue
        question = questions[row] or ""
        if judge.reads_questions and not question.strip():
            what = "no question" if questions[row] is None else "a blank question"
            raise InputError(
                f"references[{row}] (id {shorten(records.ids[row])}) has {what}, which this judge reads. Pass "
                f"questions=[...], one per reference, or give every reference record the key 'question' (command line: "
                f"--question COLUMN)."
            )
        asked = question if judge.reads_questions else ""
        if judge.reads_all_references:
            rows.append([item(asked, answer, filled)])
        else:
            rows.append([item(asked, answer, [reference]) for reference in filled])
    return rows


def _rows(
    records: Records,
    items: list[list[Texts]],
    judge: Judge,
    threshold: float,
    aggregate: str,
    labels: list[str] | None,
    progress: Progress,
) -> Rows:
    flat = [one for row in items for one in row]
    judged = score_distinct(judge, flat, progress)
    combine = AGGREGATES[aggregate]
    probabilities: NDArray[np.float64] = np.zeros(len(records))
    best = np.full(len(records), -1, dtype=np.int64)
    by_reference: list[list[float | None]] = []  # of a judge that reads all references together, one score
    truncated: list[bool] = []
    start = 0
    for row, (answer, references) in enumerate(zip(records.predictions, records.references, strict=True)):
        stop = start + len(items[row])
        scores = judged.scores[start:stop].tolist()
        truncated.append(bool(judged.truncated[start:stop].any()))
        start = stop
        filled = [index for index, text in enumerate(references) if text.strip()]
        if scores:
            probabilities[row] = combine(scores)
            if not judge.reads_all_references:
                best[row] = filled[max(range(len(scores)), key=scores.__getitem__)]
                of_reference = dict(zip(filled, scores, strict=True))
                scores = [of_reference.get(index) for index in range(len(references))]
        else:  # no answer, or none to give
            probabilities[row] = float(not filled and not answer.strip() and not records.missing[row])
        by_reference.append(scores)
    asked = np.fromiter(map(bool, items), dtype=np.bool_, count=len(records))
    accuracy = np.where(asked, probabilities >= threshold, probabilities == 1.0).astype(np.float64)
    has_answer = np.fromiter(map(bool, records.references), dtype=np.bool_, count=len(records))
    answered = np.fromiter(map(bool, records.predictions), dtype=np.bool_, count=len(records))
    return Rows(
        ids=records.ids,
        scores={"ava_accuracy": accuracy, "ava_score": probabilities},
        has_answer=has_answer,
        answered=answered | records.missing,
        best_reference=best,
        no_answer=records.no_answer,
        sweep_order=records.sweep_order,
        groups=labels,
        extra={
            "prediction": records.predictions,
            "references": records.references,
            "reference_scores": by_reference,
            "truncated": truncated,
        },
    )


def _ppi(rows: Rows, confidence_level: float) -> Figures:
    verdicts = rows.extra["human_label"]
    known = np.array([label is not None for label in verdicts])
    figures: Figures = {"ppi_accuracy": None, "ppi_confidence_interval": None, "human_labels": int(known.sum())}
    if known.sum() >= LEAST_LABELS:
        judged = rows.scores["ava_accuracy"]
        labels = np.array([float(label) for label in verdicts if label is not None])
        estimate = prediction_powered_mean(labels, judged[known], judged[~known], confidence_level=confidence_level)
        figures["ppi_accuracy"] = estimate.estimate
        figures["ppi_confidence_interval"] = [estimate.low, estimate.high]
    return figures
