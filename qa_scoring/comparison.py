"""Two systems' answers to the same questions: how far apart their figures are, and which rows make the difference.

The L3 module of ``qa-scoring compare``: scored rows of both → differences with intervals and p-values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.multilingual_squad import METRIC as MULTILINGUAL_SQUAD
from qa_scoring.multilingual_squad import PERCENT
from qa_scoring.overlap.scoring import FloatArray
from qa_scoring.overlap.thresholds import apply_threshold
from qa_scoring.rows import DEFAULT_SEED, Figures, Rows, Scored, aggregate, check_statistics, mean_columns
from qa_scoring.signature import Signature
from qa_scoring.statistics.bootstrap import bootstrap_means
from qa_scoring.statistics.paired import randomization_p_values

_VERDICTS = ("exact", "ava_accuracy")  # scores that are 1 for a right answer and 0 for a wrong one

_ROUNDING = 1e-6  # a model gives one pair of texts scores that differ by some 1e-8 from batch to batch


@dataclass(frozen=True, eq=False)
class Comparison:
    """What comparing two systems gives.

    Args:
        result: The figures, plain Python values: see ``compare``.
        columns: One value per row, in the order of the references: ``id``, ``has_answer``, ``prediction_a``,
            ``prediction_b``, ``references``, and of every score ``{score}_a``, ``{score}_b`` (from 0 to 1, after the
            no-answer threshold) and ``{score}_difference``.
        scores: Names of the scores.
    """

    result: Figures
    columns: dict[str, list[Any]]
    scores: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns["id"])

    def most_different(self, score: str, count: int | None = None) -> list[int]:
        """Return which rows differ, those that differ most first; equal ones keep their order.

        Args:
            score: One of ``scores``.
            count: At most how many; None for all.

        Returns:
            Places in the columns.

        Raises:
            InputError: There is no such score.
        """
        if score not in self.scores:
            raise parameter_error("score", f"one of {', '.join(map(repr, self.scores))}", score)
        changes = np.abs(np.array(self.columns[f"{score}_difference"]))
        order = np.argsort(-changes, kind="stable")
        places: list[int] = order[: np.count_nonzero(changes)][:count].tolist()
        return places


def compare(
    a: Scored, b: Scored, *, confidence_level: float = 0.95, n_resamples: int = 2000, seed: int = DEFAULT_SEED
) -> Comparison:
    """Compare two systems that one metric scored on the same references.

    Args:
        a: What ``score_multilingual_squad``, ``score_sas`` or ``score_ava`` returned for system A.
        b: The same for system B.
        confidence_level: Coverage of the intervals, between 0 and 1.
        n_resamples: Resamples of the bootstrap, and draws of the randomisation test.
        seed: Seed of both.

    Returns:
        The comparison. Its ``result`` has, under the keys of the metric (``f1``, ``HasAns_f1`` …), a dict of ``a``,
        ``b``, ``difference`` (B minus A), ``confidence_interval`` of the difference (percentile bootstrap that draws
        the rows of A and B together), ``p_value`` (two-sided, paired randomisation test) and ``differing`` (in how many
        rows), or None for a subset without rows; in percent or from 0 to 1, as the metric gives it. Further
        ``metric``; ``total``, ``HasAns_total``, ``NoAns_total``; ``right``: how many rows ``both``, ``only_a``,
        ``only_b`` and ``neither`` get right by EM or by the judge, None for a metric without verdicts;
        ``confidence_level``, ``n_resamples``, ``seed``; ``signature_a``, ``signature_b``, and in
        ``signature_differences`` the names of the facts in which they differ.

    Raises:
        InputError: The two were scored by different metrics, or on different references.

    Example:
        >>> from qa_scoring import score_multilingual_squad
        >>> references = ["Rome", "1912"]
        >>> a = score_multilingual_squad(["in Rome", "1912"], references, language="en")
        >>> b = score_multilingual_squad(["Rome", "1912"], references, language="en")
        >>> comparison = compare(a, b)
        >>> comparison.result["exact"]["difference"], comparison.result["right"]["only_b"]
        (50.0, 1)
        >>> comparison.most_different("f1")
        [0]

    Source:
        Berg-Kirkpatrick et al. 2012, An Empirical Investigation of Statistical Significance in NLP, and Dror et al.
        2018, The Hitchhiker's Guide to Testing Statistical Significance in Natural Language Processing.
    """
    check_statistics(confidence_level, n_resamples, seed)
    if confidence_level is None:
        raise parameter_error("confidence_level", "a number between 0 and 1, such as 0.95", confidence_level)
    _check_same_questions(a, b)
    scale = PERCENT if a.signature["metric"] == MULTILINGUAL_SQUAD else 1.0
    scores_a, scores_b = _scores(a), _scores(b)
    changes = {name: _changes(scores_a[name], scores_b[name]) for name in scores_a}
    by_key = mean_columns(a.rows, changes)
    intervals = bootstrap_means(by_key, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed)
    p_values = randomization_p_values(by_key, n_resamples=n_resamples, seed=seed)
    figures_a, figures_b = (aggregate(a.rows, scores, scale=scale) for scores in (scores_a, scores_b))

    result: Figures = {"metric": a.signature["metric"]}
    for key, figure_a in figures_a.items():
        if key not in by_key:  # a total
            result[key] = figure_a
            continue
        interval, figure_b = intervals[key], figures_b[key]
        result[key] = interval and {
            "a": figure_a,
            "b": figure_b,
            "difference": figure_b - figure_a,
            "confidence_interval": [scale * bound for bound in interval],
            "p_value": p_values[key],
            "differing": int(np.count_nonzero(np.nan_to_num(by_key[key], nan=0.0))),
        }
    result |= {
        "right": _right(scores_a, scores_b),
        "confidence_level": confidence_level,
        "n_resamples": n_resamples,
        "seed": seed,
        "signature_a": str(a.signature),
        "signature_b": str(b.signature),
        "signature_differences": _differing_facts(a.signature, b.signature),
    }
    return Comparison(result, _columns(a.rows, b.rows, scores_a, scores_b, changes), tuple(changes))


def _check_same_questions(a: Scored, b: Scored) -> None:
    metrics = [one.signature["metric"] for one in (a, b)]
    if metrics[0] != metrics[1]:
        raise InputError(f"A was scored by {metrics[0]}, B by {metrics[1]}; compare two systems by one metric.")
    if len(a.rows) != len(b.rows):
        raise InputError(
            f"A was scored on {len(a.rows)} references, B on {len(b.rows)}; score both on the same references."
        )
    pairs = [zip(one.rows.ids, one.rows.extra["references"], strict=True) for one in (a, b)]
    for row, (of_a, of_b) in enumerate(zip(*pairs, strict=True)):
        if of_a != of_b:
            raise InputError(
                f"Row {row}: A was scored on {_described(*of_a)}, B on {_described(*of_b)}; score both on the same "
                f"references, in the same order."
            )


def _described(key: str, references: list[str]) -> str:
    return f"references {shorten(references)} (id {shorten(key)})"


def _scores(scored: Scored) -> dict[str, FloatArray]:
    """Return the scores whose means are the figures: after the threshold that the signature names."""
    rows, threshold = scored.rows, scored.signature.get("no_answer_threshold")
    if threshold is None or rows.no_answer is None:
        return rows.scores
    return {
        name: apply_threshold(values, rows.has_answer, rows.no_answer, float(threshold))
        for name, values in rows.scores.items()
    }


def _changes(of_a: FloatArray, of_b: FloatArray) -> FloatArray:
    changes = of_b - of_a
    changes[np.abs(changes) <= _ROUNDING] = 0.0
    return changes


def _right(scores_a: Mapping[str, FloatArray], scores_b: Mapping[str, FloatArray]) -> dict[str, int] | None:
    verdict = next((name for name in _VERDICTS if name in scores_a), None)
    if verdict is None:
        return None
    a, b = scores_a[verdict] == 1.0, scores_b[verdict] == 1.0
    members = {"both": a & b, "only_a": a & ~b, "only_b": ~a & b, "neither": ~a & ~b}
    return {name: int(np.count_nonzero(rows)) for name, rows in members.items()}


def _differing_facts(a: Signature, b: Signature) -> list[str]:
    return [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]


def _columns(
    a: Rows,
    b: Rows,
    scores_a: Mapping[str, FloatArray],
    scores_b: Mapping[str, FloatArray],
    changes: Mapping[str, FloatArray],
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "id": a.ids,
        "has_answer": a.has_answer.tolist(),
        "prediction_a": a.extra["prediction"],
        "prediction_b": b.extra["prediction"],
        "references": a.extra["references"],
    }
    for name in changes:
        columns[f"{name}_a"] = scores_a[name].tolist()
        columns[f"{name}_b"] = scores_b[name].tolist()
        columns[f"{name}_difference"] = changes[name].tolist()
    return columns
