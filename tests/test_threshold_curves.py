"""EM and F1 at every no-answer threshold: the figures of ``summarize``, at ties, ends and between values."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from qa_scoring import score_multilingual_squad
from qa_scoring.errors import InputError
from qa_scoring.multilingual_squad import summarize, threshold_curves
from qa_scoring.report.plots import scores_by_threshold_figure, squad_figures, threshold_line
from qa_scoring.rows import Rows


def random_rows(seed: int, count: int = 400, answerable: float = 0.6) -> Rows:
    """Return rows of which many share a no-answer value, and some have no prediction."""
    draw = np.random.default_rng(seed)
    has_answer = draw.random(count) < answerable
    exact = (draw.random(count) < 0.5).astype(np.float64)
    f1 = np.where(has_answer, np.maximum(exact, draw.random(count)), exact)
    no_answer = np.round(draw.normal(size=count), 1)
    missing = draw.random(count) < 0.05
    no_answer[missing], exact[missing], f1[missing] = -np.inf, 0.0, 0.0
    return Rows(
        [str(row) for row in range(count)],
        {"exact": exact, "f1": f1},
        has_answer,
        missing | (draw.random(count) < 0.9),
        np.where(has_answer & ~missing, 0, -1),
        no_answer,
    )


@pytest.mark.parametrize(("seed", "answerable"), [(1, 0.6), (2, 0.1), (3, 1.0), (4, 0.0)])
def test_curves_are_the_figures_of_summarize_at_any_threshold(seed: int, answerable: float) -> None:
    rows = random_rows(seed, answerable=answerable)
    curves = threshold_curves(rows)
    draw = np.random.default_rng(seed)
    ends = [curves.thresholds[0], curves.thresholds[-1]]
    between = draw.uniform(ends[0] - 0.5, ends[1] + 0.5, size=50)
    for threshold in [*draw.choice(curves.thresholds, 20), *between, *ends, -1e300, 1e300, np.inf]:
        expected = summarize(rows, no_answer_threshold=float(threshold))
        figures = curves.at(float(threshold))
        assert figures == pytest.approx({name: expected[name] for name in figures})
        kinds = {"", *(["HasAns_"] if answerable else []), *(["NoAns_"] if answerable < 1 else [])}
        assert set(figures) == {kind + score for kind in kinds for score in ("exact", "f1")}


def test_a_step_at_each_distinct_value_and_equal_widths_for_equal_numbers() -> None:
    predictions = [
        {"id": str(row), "prediction_text": "a", "no_answer_probability": value}
        for row, value in enumerate([0.5, 0.5, 0.5, 0.75])
    ]
    rows = score_multilingual_squad(predictions, ["a", "a", "b", "a"], scheme="squad").rows
    curves = threshold_curves(rows)
    assert (curves.thresholds.tolist(), curves.counts.tolist()) == ([0.5, 0.75], [3, 1])
    assert curves.figures["exact"].tolist() == [0.0, 50.0, 75.0]
    figure = scores_by_threshold_figure(curves, summarize(rows))
    steps = next(patch for patch in figure.axes[0].patches if patch.get_label() == "EM").get_data()
    assert steps.values.tolist() == [0.0, 50.0, 75.0]
    assert steps.edges[1:].tolist() == [0.0, 0.75, 1.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["EM", "F1"]  # there is no NoAns
    places = [threshold_line(curves, threshold)[0] for threshold in (-9.0, 0.5, 0.625, 0.75, 9.0)]
    assert places == sorted(places)
    assert places == pytest.approx([in_the_picture(figure, place) for place in (-0.02, 0.0, 0.375, 0.75, 1.0)])


def in_the_picture(figure: Figure, place: float) -> float:
    """Return where matplotlib puts a place of the axis, as a share of the picture's width."""
    return float(figure.transFigure.inverted().transform(figure.axes[0].transData.transform((place, 0.0)))[0])


def test_the_best_thresholds_are_marked_where_the_lines_have_them() -> None:
    rows = random_rows(5)
    curves, best = threshold_curves(rows), summarize(rows)
    figure = scores_by_threshold_figure(curves, best)
    for name, line in zip(("exact", "f1"), figure.axes[0].lines, strict=True):
        threshold = best[f"best_{name}_thresh"]
        reached = summarize(rows, no_answer_threshold=threshold)[name]
        assert line.get_ydata() == pytest.approx(reached)
        assert in_the_picture(figure, float(line.get_xdata()[0])) == pytest.approx(threshold_line(curves, threshold)[0])
    said = re.findall(r"best (EM|F1) ([\d.]+) at (\S+?)(?:,|$)", figure.axes[0].get_title())
    assert said == [
        (word, f"{best[f'best_{name}']:.2f}", f"{best[f'best_{name}_thresh']:.6g}")
        for word, name in (("EM", "exact"), ("F1", "f1"))
    ]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["EM", "F1", "HasAns F1", "NoAns"]


def test_rows_without_a_prediction_or_without_values() -> None:
    scored = score_multilingual_squad({}, {"1": "a", "2": ""}, scheme="squad", missing="score_zero")
    with pytest.raises(InputError, match="these rows have none"):
        threshold_curves(scored.rows)
    one = [{"id": "1", "prediction_text": "a", "no_answer_probability": -2.0}]
    rows = score_multilingual_squad(one, {"1": ["a"], "2": []}, scheme="squad", missing="score_zero").rows
    curves = threshold_curves(rows)
    assert curves.thresholds.tolist() == [-2.0]
    assert curves.figures["f1"].tolist() == [0.0, 50.0]  # the missing one is never right
    assert "scores_by_threshold" in squad_figures(rows)
