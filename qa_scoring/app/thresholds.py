"""Figures at every no-answer threshold: rows are scored once, and each threshold only counts them anew."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from qa_scoring.app import inputs, scoring
from qa_scoring.errors import InputError, shorten
from qa_scoring.multilingual_squad import ThresholdCurves, summarize, threshold_curves
from qa_scoring.rows import Rows
from qa_scoring.signature import Signature

METRIC = "m2qa_squad_v2"
SIDES: dict[str, inputs.Side] = {
    "Predictions": "predictions",
    "References": "references",
    "No-answer values": "no_answer",
}
"""Name on the page → what is uploaded."""
_LARGEST = 1e12
_STEPS = 3  # powers of ten between the span of the slider and its step


@dataclass(frozen=True, eq=False)
class Sweep:
    """Rows that were scored once, and how the slider runs over their no-answer values.

    Args:
        rows: The rows, without their texts.
        low: Where the slider begins: the least no-answer value, rounded down to a step.
        high: Where it ends: the greatest, rounded up.
        step: A power of ten.
        best: ``best_exact``, ``best_f1`` in percent, and their thresholds ``best_exact_thresh``, ``best_f1_thresh``.
        curves: EM and F1 at every threshold, for the place of a threshold in their plot.
        run: What was scored and how, for the calls that give the same figures; it holds texts if they were pasted.
        signature: Of the run.
    """

    rows: Rows
    low: float
    high: float
    step: float
    best: Mapping[str, float]
    curves: ThresholdCurves
    run: scoring.Run
    signature: Signature


def read(pasted: str | None, uploads: Mapping[str, inputs.Upload]) -> inputs.Given:
    """Return what is scored: pasted rows, or uploaded files.

    Args:
        pasted: As ``inputs.parse_pasted`` takes them; None for the files.
        uploads: Name of ``SIDES`` → upload; the no-answer values may be a column of the predictions.

    Returns:
        What the metric scores.

    Raises:
        InputError: Something is not there or cannot be read.
    """
    if pasted is not None:
        return inputs.from_table(inputs.parse_pasted(pasted))
    for name in ("Predictions", "References"):
        if name not in uploads:
            raise InputError(f"There are no {name.lower()}: upload them, or choose the pasted rows.")
    return inputs.from_uploads({SIDES[name]: upload for name, upload in uploads.items()})


def score(given: inputs.Given, settings: scoring.Settings, report: scoring.Report = lambda what, items: items) -> Sweep:
    """Score once.

    Args:
        given: Predictions with no-answer values, and references.
        settings: Language, tokenizer, normalisation, and what to do with missing predictions; the rest is not read.
        report: Wraps the loop, to show progress.

    Returns:
        The rows, and the range of their no-answer values.

    Raises:
        InputError: Something cannot be scored, or there are no no-answer values.

    Example:
        >>> table = [["", "", "Paris", "Paris", "", "0.25"], ["", "", "Rome", "", "", "0.75"]]
        >>> sweep = score(inputs.from_table(table), scoring.Settings())
        >>> sweep.best["best_f1"], sweep.best["best_f1_thresh"]
        (100.0, 0.25)
    """
    run = scoring.score(given, replace(settings, metrics=(METRIC,), group_by=(), intervals=False), report)
    scored = run.scored[METRIC]
    rows = replace(scored.rows, extra={})
    known = np.empty(0) if rows.no_answer is None else rows.no_answer[np.isfinite(rows.no_answer)]
    if not known.size:
        raise InputError(
            "There are no no-answer values to set a threshold on: give a column no_answer (pasted rows) or "
            "no_answer_probability (files), or upload them as a file of their own."
        )
    if np.abs(known).max() > _LARGEST:
        raise InputError(f"A no-answer value is beyond ±{_LARGEST:g}: give probabilities or scores.")
    best = {key: value for key, value in scored.result.items() if key.startswith("best_")}
    # A best threshold is 0 where no answer at all is best, and 0 may lie outside.
    ends = [*known, best["best_exact_thresh"], best["best_f1_thresh"]]
    if not given.from_table:
        given = replace(given, predictions=[], references=[])
    recipe = replace(run, given=given, scored={}, columns={})
    scale = _scale(float(min(ends)), float(max(ends)))
    return Sweep(rows, *scale, best, threshold_curves(rows), recipe, scored.signature)


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Return low, high and step of a slider; low and high are whole steps."""
    digits = _STEPS - math.floor(math.log10(max(high - low, 1e-9) if high > low else 1.0))
    step = 10.0**-digits
    low, high = round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits)
    return low, high if high > low else low + step, step


def figures_at(sweep: Sweep, threshold: object) -> dict[str, Any]:
    """Return the figures at a threshold; nothing is scored again.

    Args:
        sweep: The rows.
        threshold: No-answer values strictly above it count as an empty answer; any finite number.

    Returns:
        What ``m2qa_squad_v2`` gives, with ``signature``, ``no_answer_threshold``, and in ``above`` how many rows are
        above it.

    Raises:
        InputError: The threshold is not a finite number.
    """
    threshold = _checked(threshold)
    assert sweep.rows.no_answer is not None
    return {
        "no_answer_threshold": threshold,
        "above": int(np.count_nonzero(sweep.rows.no_answer > threshold)),
        **summarize(sweep.rows, no_answer_threshold=threshold),
        "signature": str(Signature({**sweep.signature, "no_answer_threshold": threshold})),
    }


def _checked(threshold: object) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real) or not math.isfinite(threshold):
        raise InputError(f"The threshold must be a finite number; got {shorten(threshold)}.")
    return float(threshold)


def on_slider(sweep: Sweep, threshold: float) -> float:
    """Return where the slider stands for a threshold.

    Args:
        sweep: The rows.
        threshold: Any number; it may lie beyond the ends of the slider.

    Returns:
        The threshold, or the end of the slider that is nearest.

    Example:
        >>> sweep = score(inputs.from_table([["", "", "Paris", "Paris", "", "0.25"]]), scoring.Settings())
        >>> on_slider(sweep, 0.0), on_slider(sweep, 0.25)
        (0.25, 0.25)
    """
    return min(max(threshold, sweep.low), sweep.high)


def calls_at(sweep: Sweep, threshold: object) -> tuple[str, str]:
    """Return the calls that give the figures at a threshold.

    Args:
        sweep: The rows.
        threshold: Any finite number.

    Returns:
        A Python program and a command, with the files in the current folder.

    Raises:
        InputError: The threshold is not a finite number.

    Example:
        >>> sweep = score(inputs.from_table([["", "", "Paris", "Paris", "", "0.25"]]), scoring.Settings())
        >>> calls_at(sweep, 0.5)[1]
        'qa-scoring score m2qa_squad_v2 table.jsonl table.jsonl --language en --no-answer-threshold 0.5'
    """
    run = replace(sweep.run, settings=replace(sweep.run.settings, no_answer_threshold=_checked(threshold)))
    return scoring.python_call(run, METRIC), scoring.command_line(run, METRIC)


def write_table(sweep: Sweep, folder: Path) -> Path:
    """Write the pasted rows as the file that the calls name.

    Args:
        sweep: The rows.
        folder: Where to.

    Returns:
        The file.

    Raises:
        InputError: The rows were not pasted: the calls name the uploaded files.
    """
    if not sweep.run.given.from_table:
        raise InputError("The calls read the files you uploaded; only pasted rows need a file.")
    return scoring.write_table(sweep.run.given, folder)


def in_words(figures: Mapping[str, Any]) -> str:
    """Return the figures at a threshold in words.

    Args:
        figures: Of ``figures_at``.

    Returns:
        A sentence.

    Example:
        >>> sweep = score(inputs.from_table([["", "", "Paris", "Paris", "", "0.25"]]), scoring.Settings())
        >>> in_words(figures_at(sweep, 0.5))
        'At τ = 0.5: EM 100.00, F1 100.00; 0 of 1 no-answer values are above.'
    """
    return (
        f"At τ = {figures['no_answer_threshold']:.6g}: EM {figures['exact']:.2f}, F1 {figures['f1']:.2f}; "
        f"{figures['above']:,} of {figures['total']:,} no-answer values are above."
    )


def figures_table(figures: Mapping[str, Any]) -> list[list[str]]:
    """Return the figures as rows of questions, total, EM and F1.

    Args:
        figures: Of ``figures_at``.

    Returns:
        All, HasAns and NoAns rows; a dash where there is no such question.

    Example:
        >>> sweep = score(inputs.from_table([["", "", "Paris", "Paris", "", "0.25"]]), scoring.Settings())
        >>> figures_table(figures_at(sweep, 0.5))
        [['all', '1', '100.00', '100.00'], ['HasAns', '1', '100.00', '100.00'], ['NoAns', '0', '–', '–']]
    """
    return [
        [
            name,
            f"{figures[prefix + 'total']:,}",
            *("–" if figures[prefix + key] is None else f"{figures[prefix + key]:.2f}" for key in ("exact", "f1")),
        ]
        for prefix, name in (("", "all"), ("HasAns_", "HasAns"), ("NoAns_", "NoAns"))
    ]


def best_in_words(sweep: Sweep) -> str:
    """Return the best figures and their thresholds in words.

    Args:
        sweep: The rows.

    Returns:
        Sentences; where a threshold does not reach the best figure, they say so.

    Example:
        >>> best_in_words(score(inputs.from_table([["", "", "Paris", "Paris", "", "0.25"]]), scoring.Settings()))
        'Best EM: 100.00 at 0.25. Best F1: 100.00 at 0.25.'
    """
    sentences = []
    for key, name in (("exact", "EM"), ("f1", "F1")):
        best, threshold = sweep.best[f"best_{key}"], sweep.best[f"best_{key}_thresh"]
        sentences.append(f"Best {name}: {best:.2f} at {threshold:.6g}.")
        reached = figures_at(sweep, threshold)[key]
        if abs(reached - best) >= 0.005:
            sentences.append(
                f"(At that threshold {name} is {reached:.2f}: the official SQuAD 2.0 script, which defines the best, "
                f"takes rows of equal value one at a time, and says 0 where giving no answer at all is best.)"
            )
    return " ".join(sentences)
