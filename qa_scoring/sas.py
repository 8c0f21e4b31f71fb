"""Semantic Answer Similarity: records → pairs → rows → result.

The L3 module of the metric ``sas_metric`` (Risch et al. 2021).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from qa_scoring import __version__
from qa_scoring.encoders.scorers import Pair, Progress, Scores, no_progress, score_distinct
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.records import Missing, Records, make_records
from qa_scoring.rows import (
    DEFAULT_SEED,
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
from qa_scoring.similarity.loading import load_scorer
from qa_scoring.similarity.models import NAMED_MODELS
from qa_scoring.text.languages import find_language

METRIC = "sas_metric"
AGGREGATES = ("max", "mean")


def score_sas(
    predictions: object,
    references: object,
    *,
    scorer: str = "cross-encoder",
    model: str | None = None,
    revision: str | None = None,
    layer: int | None = None,
    language: str = "en",
    aggregate: str = "max",
    symmetric: bool = False,
    exact_match_is_one: bool = False,
    activation: str | None = None,
    label: str | int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    backend: str = "torch",
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
    """Score how close in meaning predicted answers are to their references.

    Two empty answers have similarity 1, an empty and another one 0; neither reaches the model.

    Args:
        predictions: n predictions, in any form of ``qa_scoring.records``.
        references: n references, likewise; an empty list of answers is an unanswerable question.
        scorer: ``"cross-encoder"``, ``"bi-encoder"`` or ``"bertscore"``.
        model: A name of ``qa_scoring.similarity.models``, a Hub id or a local folder; None is the embedded
            one, for English.
        revision: Branch, tag or commit on the Hub.
        layer: Which layer BERTScore reads, from 0; None takes the one that is known to suit the model.
        language: Code, name or tag of the answers' language; the embedded model reads English only.
        aggregate: Over several references: ``"max"`` or ``"mean"``.
        symmetric: Whether to average both orders of a pair (cross-encoders read them differently).
        exact_match_is_one: Whether identical strings have similarity 1 without asking the model.
        activation: ``"sigmoid"`` or ``"identity"``, in place of what the model's configuration says.
        label: Of a cross-encoder with two or more labels (NLI), the name or index of the one whose softmax
            probability is the score.
        batch_size: Pairs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``; with ``backend="onnx"`` ``"float32"`` or
            ``"int8"``.
        backend: ``"torch"``, or ``"onnx"`` (cross-encoders on the CPU, in ONNX Runtime).
        max_length: Longest input in tokens; None takes the model's own. The longer side is cut first.
        cache_dir: Folder that keeps the scores of pairs (SQLite); where all of them are there, no model is loaded.
        groups: n labels, one per reference; adds the same figures per group.
        confidence_level: For example 0.95; adds bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.
        details: Whether to add one dict per example.
        missing: ``"error"``, or ``"score_zero"`` to score questions without a prediction 0.
        progress: Wraps the batches, for a progress bar.

    Returns:
        Result (``sas``, ``total`` and the same for HasAns and NoAns, in [0, 1]; ``truncated`` and
        ``truncated_ids``), rows and signature.

    Raises:
        InputError: Something passed cannot be scored.
        MissingPackageError: The embedded model's base is not there.

    Source:
        Risch et al. 2021, Semantic Answer Similarity for Evaluating Question Answering Models, section 3.
    """
    check_statistics(confidence_level, n_resamples, seed)
    for name, value in (("symmetric", symmetric), ("exact_match_is_one", exact_match_is_one), ("details", details)):
        if not isinstance(value, bool):
            raise parameter_error(name, "True or False", value)
    if aggregate not in AGGREGATES:
        raise parameter_error("aggregate", " or ".join(map(repr, AGGREGATES)), aggregate)
    chosen = choose_model(model, scorer, language)
    records = make_records(predictions, references, missing=missing)
    labels = group_labels(groups, len(records))
    pair_scorer = load_scorer(
        scorer,
        chosen,
        revision=revision,
        layer=layer,
        activation=activation,
        label=label,
        batch_size=batch_size,
        device=device,
        dtype=dtype,
        backend=backend,
        max_length=max_length,
        cache_dir=cache_dir,
    )
    scored, pairs = _reference_scores(records, exact_match_is_one)
    unique = list(dict.fromkeys(pairs + [pair[::-1] for pair in pairs] if symmetric else pairs))
    similarities = score_distinct(pair_scorer, unique, progress)
    rows = _rows(records, scored, _by_pair(unique, similarities, symmetric), aggregate, labels)
    result = with_groups(
        rows,
        lambda members: summarize_scores(
            members,
            members.scores,
            scale=1.0,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
        ),
    )
    add_model_details(result, rows, records.missing, details=details)
    resampled = confidence_level is not None
    counts = [len(answers) for answers in records.references]
    signature = Signature(
        {
            "metric": METRIC,
            "version": __version__,
            **pair_scorer.facts,
            "aggregate": aggregate,
            "symmetric": symmetric or None,
            "exact_match_is_one": exact_match_is_one or None,
            "references": f"{min(counts)}-{max(counts)}",
            "missing": missing if missing != "error" else None,
            "confidence_level": confidence_level,
            "n_resamples": n_resamples if resampled else None,
            "seed": seed if resampled else None,
        }
    )
    return Scored(result, rows, signature, reweighted_means(rows, rows.scores, scale=1.0))


def choose_model(model: str | None, scorer: str, language: str) -> str:
    """Return the model to load, and refuse one that does not read the language.

    Args:
        model: As in ``score_sas``.
        scorer: As in ``score_sas``.
        language: As in ``score_sas``.

    Returns:
        A name, Hub id or folder.

    Raises:
        InputError: The scorer has no default, or the model does not read the language.

    Example:
        >>> choose_model(None, "cross-encoder", "en")
        'embedded'
    """
    code = find_language(language).code
    if model is None and scorer in ("bi-encoder", "bertscore"):
        names = " or ".join(f"model={name!r}" for name, named in NAMED_MODELS.items() if named.scorer == scorer)
        raise InputError(
            f"scorer={scorer!r} has no model that ships with the package. Pass {names}, a Hub id or a folder."
        )
    chosen = "embedded" if model is None else model
    named = NAMED_MODELS.get(chosen) if isinstance(chosen, str) else None
    if named is not None and named.languages and code not in named.languages:
        raise InputError(
            f"The model {chosen!r} reads {', '.join(named.languages)}, not {code!r}. Pass model='gbert-large-sts' for "
            f"German, scorer='bi-encoder' with model='multilingual' for over fifty languages, or any Hub id or folder."
        )
    return chosen


# One reference of one row: its score where no model is needed, else its pair.
ReferenceScore = float | Pair


def _reference_scores(records: Records, exact_match_is_one: bool) -> tuple[list[list[ReferenceScore]], list[Pair]]:
    rows: list[list[ReferenceScore]] = []
    pairs: list[Pair] = []
    for prediction, answers in zip(records.predictions, records.references, strict=True):
        row: list[ReferenceScore] = []
        for answer in answers or [""]:
            if not prediction.strip() or not answer.strip():
                row.append(float(prediction.strip() == answer.strip()))
            elif exact_match_is_one and prediction == answer:
                row.append(1.0)
            else:
                row.append((prediction, answer))
                pairs.append((prediction, answer))
        rows.append(row)
    return rows, pairs


def _by_pair(unique: list[Pair], scores: Scores, symmetric: bool) -> dict[Pair, tuple[float, bool]]:
    table = {
        pair: (score, cut)
        for pair, score, cut in zip(unique, scores.scores.tolist(), scores.truncated.tolist(), strict=True)
    }
    if not symmetric:
        return table
    return {pair: ((score + table[pair[::-1]][0]) / 2.0, cut) for pair, (score, cut) in table.items()}


def _rows(
    records: Records,
    scored: list[list[ReferenceScore]],
    table: dict[Pair, tuple[float, bool]],
    aggregate: str,
    labels: list[str] | None,
) -> Rows:
    by_reference = [
        [0.0 if missing else item if isinstance(item, float) else table[item][0] for item in row]
        for row, missing in zip(scored, records.missing, strict=True)
    ]
    truncated = [any(not isinstance(item, float) and table[item][1] for item in row) for row in scored]
    best = [max(range(len(row)), key=row.__getitem__) for row in by_reference]
    sas = np.array(
        [
            row[index] if aggregate == "max" else sum(row) / len(row)
            for row, index in zip(by_reference, best, strict=True)
        ]
    )
    has_answer = np.fromiter(map(bool, records.references), dtype=np.bool_, count=len(records))
    answered = np.fromiter(map(bool, records.predictions), dtype=np.bool_, count=len(records))
    extra: dict[str, list[Any]] = {
        "prediction": records.predictions,
        "references": records.references,
        "reference_scores": [
            row if answers else [] for row, answers in zip(by_reference, records.references, strict=True)
        ],
        "truncated": truncated,
    }
    return Rows(
        ids=records.ids,
        scores={"sas": sas},
        has_answer=has_answer,
        answered=answered | records.missing,
        best_reference=np.where(has_answer & ~records.missing, np.array(best), -1),
        no_answer=records.no_answer,
        sweep_order=records.sweep_order,
        groups=labels,
        extra=extra,
    )
