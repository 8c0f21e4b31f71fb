"""Figures at no-answer thresholds: those of the command line, of a naive count, and of the plots it saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from qa_scoring.app import inputs, scoring, thresholds
from qa_scoring.cli import main
from qa_scoring.errors import InputError
from qa_scoring.report.plots import squad_figures
from tests.conftest import data_path

ROWS = """prediction,references,no_answer
Ada Brook,Ada Brook,0.05
seven boats,seven,0.22
coffee,tea,0.64
the village,,0.58
,,0.97
"""


def sweep_of(pasted: str = ROWS, **settings: Any) -> thresholds.Sweep:
    return thresholds.score(thresholds.read(pasted, {}), scoring.Settings(**settings))


def squad2(folder: Path) -> tuple[dict[str, Path], dict[str, inputs.Upload]]:
    """Return 1,200 questions of the SQuAD 2.0 development set, as files and as they are uploaded."""
    data = json.loads(data_path("squad", "dev-v2.0.json").read_text(encoding="utf-8"))
    data["data"] = data["data"][:4]
    ids = [q["id"] for article in data["data"] for part in article["paragraphs"] for q in part["qas"]]
    contents = {"References": data}
    for name, kind in (("Predictions", "predictions"), ("No-answer values", "na_prob")):
        path = data_path("squad", "predictions", f"anuragsatish_bert.{kind}.json")
        values = json.loads(path.read_text(encoding="utf-8"))
        contents[name] = {key: values[key] for key in ids}
    paths, uploads = {}, {}
    for name, content in contents.items():
        copy = folder / "upload.json"
        paths[name] = folder / f"{name}.json"
        for path in (copy, paths[name]):
            path.write_text(json.dumps(content), encoding="utf-8")
        uploads[name] = inputs.read_upload(copy, "upload.json", thresholds.SIDES[name])
    return paths, uploads


def test_figures_and_plots_are_those_of_the_command_line(tmp_path: Path) -> None:
    paths, uploads = squad2(tmp_path)
    settings = scoring.Settings(tokenizer="whitespace")  # the official script's way to find words
    sweep = thresholds.score(thresholds.read(None, uploads), settings)
    middle = float(np.median(sweep.rows.no_answer))  # a value that rows have
    for tau in (sweep.low, 1e-4, middle, 0.5, sweep.best["best_f1_thresh"], sweep.high):
        words = ["squad2", str(paths["References"]), str(paths["Predictions"]), "-n", str(paths["No-answer values"])]
        words += ["-t", repr(tau), *(("-p", str(tmp_path / "plots")) if tau == 0.5 else ())]
        done = CliRunner().invoke(main, words, catch_exceptions=False)
        expected = {key: value for key, value in json.loads(done.stdout).items() if not key.startswith("pr_")}
        figures = thresholds.figures_at(sweep, tau)
        assert {key: figures[key] for key in expected} == expected
    drawn = squad_figures(sweep.rows)
    curves = ["pr_exact", "pr_f1", "pr_oracle", "na_prob_hist_hasAns", "na_prob_hist_noAns"]
    assert list(drawn) == ["scores_by_threshold", *curves]
    for name, figure in drawn.items():
        figure.savefig(tmp_path / "plot.png", dpi=120)
        assert (tmp_path / "plot.png").read_bytes() == (tmp_path / "plots" / f"{name}.png").read_bytes()


@pytest.mark.parametrize("tau", [-1.0, 0.05, 0.22, 0.6, 0.64, 0.97, 1e300])
def test_figures_at_a_threshold_are_a_naive_count(tau: float) -> None:
    exact, f1, values = [1, 0, 0, 0, 1], [1, 2 / 3, 0, 0, 1], [0.05, 0.22, 0.64, 0.58, 0.97]
    right = [0, 0, 0, 1, 1]  # of the empty answer
    figures = thresholds.figures_at(sweep_of(), tau)
    for key, scores in (("exact", exact), ("f1", f1)):
        kept = [right[i] if values[i] > tau else scores[i] for i in range(5)]
        assert figures[key] == pytest.approx(20 * sum(kept))
        assert figures[f"HasAns_{key}"] == pytest.approx(100 * sum(kept[:3]) / 3)
        assert figures[f"NoAns_{key}"] == pytest.approx(50 * sum(kept[3:]))
    assert figures["above"] == sum(value > tau for value in values)
    assert figures["best_f1"] == pytest.approx(20 * (1 + 2 / 3 + 2))
    assert figures["best_f1_thresh"] == 0.22


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((0.05, 0.97), 1e-4),
        ((0.0, 1.0), 1e-3),
        ((-7.25, 4.5), 1e-2),
        ((0.5, 0.5), 1e-3),
        ((0.0, 1e-5), 1e-8),
        ((0.3, 0.3 + 1e-15), 1e-12),
        ((-1e12, 1e12), 1e9),
    ],
)
def test_the_slider_covers_the_values_in_whole_steps(values: tuple[float, float], step: float) -> None:
    sweep = sweep_of("prediction,references,no_answer\n" + "".join(f"a,a,{value!r}\n" for value in values))
    assert sweep.step == pytest.approx(step)
    assert min(values) - step < sweep.low <= min(values)
    assert max(values) <= sweep.high <= max(values) + step * 1.0001
    assert sweep.low < sweep.high
    for end in (sweep.low, sweep.high):
        assert end / step == pytest.approx(round(end / step), abs=1e-3)


def test_the_slider_reaches_a_best_threshold_outside_the_values() -> None:
    sweep = sweep_of("prediction,references,no_answer\nRome,,0.5\nRome,,0.75\n")  # best is to say nothing
    assert sweep.best["best_f1_thresh"] == 0.0 == sweep.low
    assert thresholds.figures_at(sweep, sweep.low)["f1"] == 100.0


def test_a_best_figure_that_no_threshold_reaches_is_said() -> None:
    sweep = sweep_of("prediction,references,no_answer\nRome,Rome,-1\nRome,,-1\n")  # the first alone is best
    assert sweep.best["best_f1"] == 100.0
    assert "At that threshold F1 is 50.00" in thresholds.best_in_words(sweep)
    assert "At that threshold" not in thresholds.best_in_words(sweep_of())


def test_questions_of_one_kind_and_questions_without_a_prediction(tmp_path: Path) -> None:
    sweep = sweep_of("prediction,references,no_answer\nRome,,0.5\nRome,,0.75\n")
    assert list(squad_figures(sweep.rows)) == ["scores_by_threshold", "na_prob_hist_noAns"]
    assert thresholds.figures_table(thresholds.figures_at(sweep, 0.5))[1] == ["HasAns", "0", "–", "–"]
    contents: dict[str, Any] = {
        "Predictions": [{"id": "1", "prediction_text": "a", "no_answer_probability": 0.25}],
        "References": [{"id": "1", "answers": ["a"]}, {"id": "2", "answers": []}],
    }
    uploads = {}
    for name, content in contents.items():
        path = tmp_path / "a.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        uploads[name] = inputs.read_upload(path, "a.json", thresholds.SIDES[name])
    sweep = thresholds.score(thresholds.read(None, uploads), scoring.Settings(missing="score_zero"))
    assert sweep.high == pytest.approx(0.251, abs=0.002)
    assert thresholds.figures_at(sweep, sweep.low)["f1"] <= 50
    curves = ["pr_exact", "pr_f1", "pr_oracle", "na_prob_hist_hasAns"]
    assert list(squad_figures(sweep.rows)) == ["scores_by_threshold", *curves]


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("prediction,references\na,a\n", "There are no no-answer values"),
        ("prediction,references,no_answer\na,a,0.5\na,a,\n", "1 of 2 predictions have no 'no_answer_probability'"),
        ("prediction,references,no_answer\na,a,high\n", "no_answer must be a number or blank"),
        ("prediction,references,no_answer\na,a,1e13\n", "beyond ±1e"),
        ("prediction,references,no_answer\na,a,nan\n", "nan"),
        (" ", "nothing to paste"),
        (None, "There are no predictions: upload them"),
    ],
)
def test_bad_input_is_one_sentence(pasted: str | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as caught:
        thresholds.score(thresholds.read(pasted, {}), scoring.Settings())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tau", [float("nan"), float("inf"), -float("inf"), None, "0.5", True])
def test_a_threshold_is_a_finite_number(tau: object) -> None:
    for function in (thresholds.figures_at, thresholds.calls_at):
        with pytest.raises(InputError, match="The threshold must be a finite number; got "):
            function(sweep_of(), tau)


def test_uploaded_texts_are_not_kept_and_pasted_ones_are(tmp_path: Path) -> None:
    uploads = {
        "Predictions": inputs.Upload("p.jsonl", [{"id": "1", "prediction_text": "a", "no_answer_probability": 0.5}]),
        "References": inputs.Upload("r.jsonl", [{"id": "1", "answers": ["a"]}]),
    }
    sweep = thresholds.score(thresholds.read(None, uploads), scoring.Settings())
    assert not sweep.run.given.predictions
    assert not sweep.run.given.references
    assert not sweep.rows.extra
    assert thresholds.calls_at(sweep, 0.5)[1].startswith("qa-scoring score m2qa_squad_v2 p.jsonl r.jsonl ")
    assert len(thresholds.write_table(sweep_of(), tmp_path).read_text(encoding="utf-8").splitlines()) == 5
