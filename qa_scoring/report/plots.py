"""Plots of no-answer values and of calibration, drawn without a display and without pyplot's global state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from qa_scoring.errors import InputError
from qa_scoring.multilingual_squad import ThresholdCurves, precision_recall_curves, summarize, threshold_curves
from qa_scoring.overlap.precision_recall import PrecisionRecallCurve
from qa_scoring.overlap.scoring import FloatArray
from qa_scoring.rows import Rows
from qa_scoring.statistics.calibration import ReliabilityBin, expected_calibration_error

_TITLES = {
    "exact": "Precision-recall: exact match",
    "f1": "Precision-recall: F1",
    "oracle": "Precision-recall: answerable or not (oracle)",
}


_SCORE_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("EM", {"color": "tab:blue", "linewidth": 2}),
    "f1": ("F1", {"color": "tab:orange", "linewidth": 2}),
    "HasAns_f1": ("HasAns F1", {"color": "tab:green", "linestyle": "--"}),
    "NoAns_f1": ("NoAns", {"color": "tab:red", "linestyle": ":"}),  # there EM and F1 are the same
}
_BEST = {"exact": ("EM", "o", "tab:blue"), "f1": ("F1", "s", "tab:orange")}
_SCORE_AXES = (0.11, 0.21, 0.86, 0.66)  # left, bottom, width, height: fixed, so that a threshold has a known place
_BELOW = -0.04  # where the axis of thresholds begins: room for the thresholds below all values
_TICK_DISTANCE = 0.14  # of the axis, which room for a label takes


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


def scores_by_threshold_figure(curves: ThresholdCurves, best: Mapping[str, Any]) -> Figure:
    """Draw EM and F1 against the no-answer threshold, a step at each distinct value.

    No-answer values crowd near 0, or near 0 and 1, so equal widths of the axis hold equal numbers of questions.

    Args:
        curves: The figures at every threshold; at least one.
        best: ``best_exact``, ``best_f1`` and their thresholds ``best_exact_thresh``, ``best_f1_thresh``: they are
            marked where the lines have them.

    Returns:
        The figure; the lines of answerable and unanswerable questions are there if both are.
    """
    figure = Figure(figsize=(6, 4.5))
    axes = figure.add_axes(_SCORE_AXES)
    places = _places(curves)
    edges = [_BELOW, *places, 1.0]
    both = "HasAns_f1" in curves.figures and "NoAns_f1" in curves.figures
    for name, (label, style) in _SCORE_LINES.items():
        if both or name in _BEST:
            axes.stairs(curves.figures[name], edges, baseline=None, label=label, **style)
    for name, (_, marker, color) in _BEST.items():
        threshold = best[f"best_{name}_thresh"]
        place, reached = _place(curves, threshold), curves.at(threshold)[name]
        axes.plot(place, reached, marker, color=color, markeredgecolor="black", markersize=8, clip_on=False)
    ticks = [len(places) - 1]
    for number in reversed(range(len(places))):
        if places[ticks[-1]] - places[number] >= _TICK_DISTANCE:
            ticks.append(number)
    axes.set_xticks(places[ticks], [f"{curves.thresholds[number]:.3g}" for number in ticks], fontsize=8)
    axes.set(
        xlim=(_BELOW, 1.0),
        ylim=(0.0, 102.0),
        xlabel="Threshold τ (equal widths hold equal numbers of questions)",
        ylabel="Percent",
    )
    words = (f"best {_BEST[name][0]} {best[f'best_{name}']:.2f} at {best[f'best_{name}_thresh']:.6g}" for name in _BEST)
    axes.set_title("EM and F1 by no-answer threshold\n" + ", ".join(words))
    axes.grid(alpha=0.3)
    figure.legend(loc="lower center", ncols=len(_SCORE_LINES), frameon=False)
    return figure


def threshold_line(curves: ThresholdCurves, threshold: float) -> tuple[float, float, float]:
    """Return where a line that marks a threshold lies in the picture of ``scores_by_threshold_figure``.

    Args:
        curves: The curves that were drawn.
        threshold: Any number.

    Returns:
        Its distance from the left edge of the picture, as a share of the picture's width; its distance from the upper
        edge and its height, as shares of the picture's height.
    """
    left, bottom, width, height = _SCORE_AXES
    place = (_place(curves, threshold) - _BELOW) / (1.0 - _BELOW)
    return left + width * place, 1.0 - bottom - height, height


def _places(curves: ThresholdCurves) -> FloatArray:
    """Return where each threshold lies between 0 and 1: the share of questions whose value is lower."""
    places: FloatArray = (np.cumsum(curves.counts) - curves.counts) / curves.counts.sum()
    return places


def _place(curves: ThresholdCurves, threshold: float) -> float:
    """Return where a threshold lies; between two values it is between them."""
    return float(np.interp(threshold, curves.thresholds, _places(curves), left=_BELOW / 2, right=1.0))


def reliability_figure(bins: Sequence[ReliabilityBin], title: str) -> Figure:
    """Draw a reliability diagram: how often rows are correct against how sure they are, and how many there are.

    Args:
        bins: Of ``reliability_bins``, with at least one row.
        title: The title; number of rows and expected calibration error are added.

    Returns:
        The figure: above, the share correct of each bin at its mean probability, with the gap to the diagonal of
        perfect calibration; below, the rows of each bin.

    Raises:
        InputError: The bins hold no row.
    """
    error = expected_calibration_error(bins)
    figure = Figure(figsize=(6, 6), layout="constrained")
    diagram, histogram = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    filled = [(part.mean_probability, part.share_correct) for part in bins if part.total]
    means, shares = np.array(filled, dtype=np.float64).T
    diagram.plot([0.0, 1.0], [0.0, 1.0], color="gray", linestyle="--", label="perfect calibration")
    diagram.vlines(means, means, shares, color="tab:red", alpha=0.5, linewidth=3, label="gap")
    diagram.plot(means, shares, color="tab:blue", marker="o", label="share correct")
    diagram.set(ylabel="Share correct", xlim=(0.0, 1.0), ylim=(-0.02, 1.05))
    diagram.legend(loc="upper left")
    total = sum(part.total for part in bins)
    diagram.set_title(f"{title}\n{total} rows, expected calibration error {100.0 * error:.2f} %")
    bars = histogram.bar(
        [part.low for part in bins],
        [part.total for part in bins],
        width=[part.high - part.low for part in bins],
        align="edge",
        color="tab:blue",
        edgecolor="white",
    )
    histogram.bar_label(bars, fontsize=max(4, min(8, 120 // len(bins))))
    histogram.set(xlabel="Probability", ylabel="Rows")
    histogram.margins(y=0.2)
    return figure


def save_reliability_diagram(bins: Sequence[ReliabilityBin], path: str | Path, title: str) -> Path:
    """Write a reliability diagram.

    Args:
        bins: Of ``reliability_bins``, with at least one row.
        path: The file, such as ``reliability.png``; its ending says the format, its folder is made if need be.
        title: As in ``reliability_figure``.

    Returns:
        The file written.

    Raises:
        InputError: The bins hold no row, or the file cannot be written.
    """
    path = Path(path)
    return _save({path.name: reliability_figure(bins, title)}, path.parent)[0]


def squad_figures(rows: Rows) -> dict[str, Figure]:
    """Draw the plots of the official SQuAD 2.0 script, and EM and F1 against the no-answer threshold.

    Args:
        rows: Rows with no-answer values.

    Returns:
        Name of the file, without its ending → figure: ``scores_by_threshold``; then, under the script's names,
        precision-recall curves (if there are answerable questions) and no-answer histograms.

    Raises:
        InputError: The rows have no no-answer values.
    """
    if rows.no_answer is None:
        raise InputError("There is nothing to plot: the rows have no no-answer values.")
    figures: dict[str, Figure] = {}
    known = np.isfinite(rows.no_answer)  # rows without a prediction have no value
    if known.any():
        figures["scores_by_threshold"] = scores_by_threshold_figure(threshold_curves(rows), summarize(rows))
    if rows.has_answer.any():
        for name, curve in precision_recall_curves(rows).items():
            figures[f"pr_{name}"] = precision_recall_figure(curve, _TITLES[name])
    for name, title, members in (
        ("hasAns", "No-answer values of answerable questions", rows.has_answer & known),
        ("noAns", "No-answer values of unanswerable questions", ~rows.has_answer & known),
    ):
        if members.any():
            figures[f"na_prob_hist_{name}"] = no_answer_histogram(rows.no_answer[members], title)
    return figures


def save_plots(rows: Rows, folder: str | Path) -> list[Path]:
    """Write the plots of ``squad_figures`` as PNG files.

    Args:
        rows: Rows with no-answer values.
        folder: Made if it does not exist.

    Returns:
        The files written.

    Raises:
        InputError: The rows have no no-answer values, or the folder cannot be written.
    """
    return _save({f"{name}.png": figure for name, figure in squad_figures(rows).items()}, Path(folder))


def _save(figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / name, dpi=120)
    except OSError as error:
        raise InputError(f"The plots cannot be written to {folder}: {error.strerror or error}.") from error
    except ValueError as error:  # an ending that matplotlib does not know
        raise InputError(f"The plots cannot be written to {folder}: {error}.") from error
    return [folder / name for name in figures]
