"""Plots of rows with no-answer values, drawn without a display and without pyplot's global state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from qa_scoring.errors import InputError
from qa_scoring.multilingual_squad import precision_recall_curves
from qa_scoring.overlap.precision_recall import PrecisionRecallCurve
from qa_scoring.overlap.scoring import FloatArray
from qa_scoring.rows import Rows

_TITLES = {
    "exact": "Precision-recall: exact match",
    "f1": "Precision-recall: F1",
    "oracle": "Precision-recall: answerable or not (oracle)",
}


def precision_recall_figure(curve: PrecisionRecallCurve, title: str) -> Figure:
    """Draw one precision-recall curve.

    Args:
        curve: The curve.
        title: Its title; the average precision is added.

    Returns:
        The figure.
    """
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.add_subplot()
    # Each precision belongs to the step of recall that ends at it; the area is then the average precision
    # (the official script draws the steps the other way round).
    axes.step(curve.recall, curve.precision, color="tab:blue", where="pre")
    axes.fill_between(curve.recall, curve.precision, step="pre", alpha=0.2, color="tab:blue")
    axes.set(xlabel="Recall", ylabel="Precision", xlim=(0.0, 1.05), ylim=(0.0, 1.05))
    axes.set_title(f"{title}\naverage precision {100.0 * curve.average_precision:.2f} %")
    return figure


def no_answer_histogram(values: FloatArray, title: str) -> Figure:
    """Draw how no-answer values are spread.

    Args:
        values: Shape (n,), n of at least 1; probabilities, or any scores.
        title: The title.

    Returns:
        The figure; 20 bins over [0, 1], or over the range of the values if they leave it.
    """
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.add_subplot()
    inside = values.min() >= 0.0 and values.max() <= 1.0
    axes.hist(
        values,
        weights=np.full(len(values), 1.0 / len(values)),
        bins=20,
        range=(0.0, 1.0) if inside else None,
        color="tab:blue",
    )
    axes.set(xlabel="No-answer probability" if inside else "No-answer value", ylabel="Share of the questions")
    axes.set_title(f"{title} (n = {len(values)})")
    return figure


def save_plots(rows: Rows, folder: str | Path) -> list[Path]:
    """Write the plots of the official SQuAD 2.0 script, under its file names.

    Args:
        rows: Rows with no-answer values.
        folder: Made if it does not exist.

    Returns:
        The files written: precision-recall curves (with answerable questions only) and no-answer histograms.

    Raises:
        InputError: The rows have no no-answer values, or the folder cannot be written.
    """
    if rows.no_answer is None:
        raise InputError("There is nothing to plot: the rows have no no-answer values.")
    figures: dict[str, Figure] = {}
    if rows.has_answer.any():
        for name, curve in precision_recall_curves(rows).items():
            figures[f"pr_{name}.png"] = precision_recall_figure(curve, _TITLES[name])
    known = np.isfinite(rows.no_answer)  # rows without a prediction have no value
    for name, title, members in (
        ("hasAns", "Answerable questions", rows.has_answer & known),
        ("noAns", "Unanswerable questions", ~rows.has_answer & known),
    ):
        if members.any():
            figures[f"na_prob_hist_{name}.png"] = no_answer_histogram(rows.no_answer[members], title)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / name, dpi=120)
    except OSError as error:
        raise InputError(f"The plots cannot be written to {folder}: {error.strerror or error}.") from error
    return [folder / name for name in figures]
