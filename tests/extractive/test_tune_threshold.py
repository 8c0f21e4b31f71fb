"""The threshold that is chosen is the best of all, by a naive scorer; what it gives elsewhere is what squad2 gives."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qa_scoring.cli import main
from qa_scoring.errors import InputError
from qa_scoring.null_threshold import answers_at, choose_threshold, score_best_spans, tune_threshold
from qa_scoring.overlap.thresholds import apply_threshold
from tests.conftest import data_path, read_json

Question = tuple[list[str], str, float]  # references, best span, null odds

# F1 of the best spans 1, 2/3, 0, and of the unanswerable ones 0: at 0 "Berlin" is wrongly withheld.
DEV: list[Question] = [
    (["Rome"], "Rome", -4.0),
    (["New York"], "York", -1.0),
    (["Berlin"], "Berlin", 1.5),
    ([], "Paris", 2.0),
    ([], "London", 3.0),
    (["Oslo"], "Bergen", 5.0),
]
TEST: list[Question] = [
    (["Madrid"], "Madrid", 1.0),
    ([], "Lisbon", 1.25),
    ([], "Porto", 0.5),
    (["Vienna"], "the Vienna", -3.0),
    (["Bern", "Basel"], "Basel", 2.5),
]


def write(folder: Path, questions: list[Question]) -> tuple[str, str]:
    """Write questions as a data set and a folder of predictions; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    qas, n_best, odds = [], {}, {}
    for number, (references, span, value) in enumerate(questions):
        answers = [{"text": text, "answer_start": 0} for text in references]
        qas.append({"id": f"q{number}", "question": "Where?", "answers": answers})
        spans = [{"text": "", "probability": 0.5}, {"text": span, "probability": 0.5}, {"text": "other"}]
        n_best[f"q{number}"] = spans if number % 2 else spans[1:]
        odds[f"q{number}"] = value
    contents = {
        "data": {"data": [{"paragraphs": [{"context": "c", "qas": qas}]}]},
        "predictions": dict.fromkeys(odds, ""),
        "nbest_predictions": n_best,
        "null_odds": dict(sorted(odds.items(), reverse=True)),  # the order of the files is none of the data
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return str(folder / "data.json"), str(folder)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def ok(*arguments: object) -> Any:
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def tokens(text: str) -> list[str]:
    text = re.sub(r"[^\w\s]", "", text.lower())
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def naive_score(references: list[str], text: str, metric: str) -> float:
    if not references:
        return float(not tokens(text))
    best = 0.0
    for reference in references:
        ours, theirs = tokens(text), tokens(reference)
        common = sum((Counter(ours) & Counter(theirs)).values())
        best = max(best, float(ours == theirs) if metric == "exact" else 2 * common / (len(ours) + len(theirs)))
    return best


def naive_mean(questions: list[Question], threshold: float, metric: str) -> float:
    scores = []
    for references, span, odds in questions:
        withheld = odds > threshold
        scores.append(float(not references) if withheld else naive_score(references, span, metric))
    return 100 * sum(scores) / len(scores)


def naive_best(questions: list[Question], metric: str) -> float:
    odds = [value for _, _, value in questions]
    return max(naive_mean(questions, threshold, metric) for threshold in (min(odds) - 1, *odds, max(odds) + 1))


def random_questions(seed: int, *, values: list[float] | None, answerable: float) -> list[Question]:
    chance = random.Random(seed)
    words = ["rome", "new york", "york", "the", "an old city", "old", "berlin wall"]
    questions = []
    for _ in range(chance.randint(1, 40)):
        references = [chance.choice(["rome", "new york", "an old city", "berlin"])]
        odds = chance.gauss(0, 3) if values is None else chance.choice(values)
        questions.append((references if chance.random() < answerable else [], chance.choice(words), odds))
    return questions


@pytest.mark.parametrize("metric", ["f1", "exact"])
@pytest.mark.parametrize("answerable", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("values", [None, [-1.0, 0.0, 0.5], [2.0]], ids=["distinct", "tied", "all equal"])
def test_no_threshold_is_better(values: list[float] | None, answerable: float, metric: str, tmp_path: Path) -> None:
    for seed in range(12):
        questions = random_questions(seed, values=values, answerable=answerable)
        result = tune_threshold(score_best_spans(*write(tmp_path / str(seed), questions)), metric=metric)
        threshold, figures = result["threshold"], result["tuned_on"]
        assert figures["at_threshold"][metric] == pytest.approx(naive_best(questions, metric))
        for name, place in (("at_zero", 0.0), ("at_threshold", threshold)):
            for each in ("exact", "f1"):
                assert figures[name][each] == pytest.approx(naive_mean(questions, place, each))
        assert figures["gain"] >= 0.0


def test_the_script_finds_the_same_threshold(tmp_path: Path) -> None:
    found = pytest.importorskip("transformers.data.metrics.squad_metrics", reason="transformers 5 has it no more")
    for seed in range(20):
        questions = [
            question
            for question in random_questions(seed, values=None, answerable=0.6)
            if question[1] != "the"  # an answer without words is another matter
        ] + [(["rome"], "rome", -99.0)]  # so that saying nothing is never best
        rows = score_best_spans(*write(tmp_path / str(seed), questions))
        odds = dict(zip(rows.ids, rows.no_answer.tolist(), strict=True))  # type: ignore[union-attr]
        texts = dict(zip(rows.ids, rows.extra["prediction"], strict=True))
        for metric, values in rows.scores.items():
            scores = dict(zip(rows.ids, values.tolist(), strict=True))
            has_answer = dict(zip(rows.ids, rows.has_answer.tolist(), strict=True))
            _, threshold = found.find_best_thresh(texts, scores, odds, has_answer)
            assert choose_threshold(rows, metric) == threshold


def test_figures_of_a_known_case(tmp_path: Path) -> None:
    rows, other = score_best_spans(*write(tmp_path / "dev", DEV)), score_best_spans(*write(tmp_path / "test", TEST))
    result = tune_threshold(rows, other)
    assert result["threshold"] == 1.5
    tuned, applied = result["tuned_on"], result["applied_to"]
    assert tuned["at_zero"]["f1"] == pytest.approx(100 * (1 + 2 / 3 + 2) / 6)
    assert tuned["at_threshold"]["f1"] == pytest.approx(100 * (1 + 2 / 3 + 1 + 2) / 6)
    assert tuned["gain"] == pytest.approx(100 / 6)
    assert tuned["at_threshold"]["HasAns_f1"] == pytest.approx(100 * (2 + 2 / 3) / 4)
    assert tuned["at_threshold"]["NoAns_f1"] == 100.0
    assert tuned["at_threshold"]["exact"] == pytest.approx(100 * 4 / 6)
    # 1.5 answers Madrid (right), Lisbon and Porto (wrong), Vienna; withholds Basel. Best is to answer Vienna alone.
    assert [applied[name]["f1"] for name in ("at_zero", "at_threshold", "at_best")] == pytest.approx([60.0, 40.0, 60.0])
    assert (applied["best_threshold"], applied["gain"], applied["best_gain"]) == (-3.0, -20.0, 0.0)
    assert answers_at(other, 1.5) == {"q0": "Madrid", "q1": "Lisbon", "q2": "Porto", "q3": "the Vienna", "q4": ""}
    assert json.loads(json.dumps(result)) == result


def test_real_predictions_whose_values_tie(tmp_path: Path) -> None:
    """The script's own sweep stops inside a tie, at 62.5997, which no threshold gives."""
    data = data_path("squad", "dev-v2.0.json")
    answers = read_json(data_path("squad", "predictions", "anuragsatish_bert.predictions.json"))
    values = data_path("squad", "predictions", "anuragsatish_bert.na_prob.json")
    for name, content in {
        "predictions": answers,
        "nbest_predictions": {key: [{"text": text}] for key, text in answers.items()},
        "null_odds": read_json(values),
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    rows = score_best_spans(str(data), str(tmp_path))
    threshold = choose_threshold(rows)
    assert rows.no_answer is not None
    applied = {
        place: apply_threshold(rows.scores["f1"], rows.has_answer, rows.no_answer, place).mean()
        for place in (-1.0, *np.unique(rows.no_answer))
    }
    assert applied[threshold] == max(applied.values())
    script = json.loads(ok("squad2", data, tmp_path / "predictions.json", "-n", values, "-t", threshold))
    assert script["f1"] == pytest.approx(100 * applied[threshold])
    assert script["best_f1"] > script["f1"]


def test_nobody_answerable_says_nothing_and_everybody_keeps_what_is_right(tmp_path: Path) -> None:
    none = score_best_spans(*write(tmp_path / "none", [([], "Rome", -7.0), ([], "Oslo", 2.0)]))
    threshold = choose_threshold(none)
    assert threshold == np.nextafter(-7.0, -np.inf)
    assert set(answers_at(none, threshold).values()) == {""}
    every = score_best_spans(*write(tmp_path / "all", [(["Rome"], "Rome", 7.0), (["Oslo"], "Oslo", -2.0)]))
    result = tune_threshold(every)
    assert result["threshold"] == 7.0
    assert result["tuned_on"]["at_threshold"]["NoAns_f1"] is None
    assert result["tuned_on"]["gain"] == 50.0


def test_the_language_decides_on_words(tmp_path: Path) -> None:
    data = write(tmp_path, [(["我爱北京"], "北京", -1.0)])
    assert score_best_spans(*data).scores["f1"].tolist() == [0.0]
    assert 0.0 < score_best_spans(*data, language="zh").scores["f1"][0] < 1.0


# ------------------------------------------------------------------------------------------ the command


def test_command_prints_a_table(tmp_path: Path) -> None:
    dev, test = write(tmp_path / "dev", DEV), write(tmp_path / "test", TEST)
    shown = ok("tune-threshold", *dev, "--apply", *test)
    assert shown.startswith("tau: 1.5, the highest F1 of ")
    for line in ("77.78", "61.11", "+16.67", "-20.00", "best: -3", "NoAns"):
        assert line in shown
    assert "–" in ok("tune-threshold", *write(tmp_path / "all", DEV[:3]))  # no unanswerable question


def test_command_agrees_with_squad2(tmp_path: Path) -> None:
    dev, test = write(tmp_path / "dev", DEV), write(tmp_path / "test", TEST)
    out, figures = tmp_path / "out", tmp_path / "figures.json"
    printed = json.loads(
        ok("tune-threshold", *dev, "--apply", *test, "--output-dir", out, "--out-file", figures, "--json")
    )
    assert read_json(figures) == printed
    applied = printed["applied_to"]["at_threshold"]
    assert json.loads(ok("squad2", test[0], out / "predictions.json")) == applied
    # the threshold by squad2, over what the system would always say
    best = {key: value[-2]["text"] for key, value in read_json(Path(dev[1]) / "nbest_predictions.json").items()}
    (tmp_path / "best.json").write_text(json.dumps(best))
    odds = Path(dev[1]) / "null_odds.json"
    script = json.loads(ok("squad2", dev[0], tmp_path / "best.json", "-n", odds, "-t", printed["threshold"]))
    assert script["best_f1_thresh"] == printed["threshold"]
    assert script["best_f1"] == script["f1"] == printed["tuned_on"]["at_threshold"]["f1"]


def test_command_writes_the_answers_of_the_first_file_alone(tmp_path: Path) -> None:
    ok("tune-threshold", *write(tmp_path / "dev", DEV), "--metric", "exact", "--output-dir", tmp_path / "out")
    expected = {"q0": "Rome", "q1": "York", "q2": "Berlin", "q3": "", "q4": "", "q5": ""}
    assert read_json(tmp_path / "out" / "predictions.json") == expected


def test_help() -> None:
    assert "tune-threshold" in ok("--help")
    shown = ok("tune-threshold", "--help")
    assert "DATA2 DIR2" in shown
    assert "null odds above which" in shown


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: (folder / "null_odds.json").unlink(), "null_odds.json: there is no such file."),
        (lambda folder: (folder / "data.json").unlink(), "data.json: there is no such file."),
        (lambda folder: (folder / "data.json").write_text('[{"id": "x", "answers": []}]'), "data.json are not in"),
        (lambda folder: (folder / "data.json").write_text('[{"answers": []}]'), "data.json has no ids"),
        (lambda folder: (folder / "data.json").write_text('[{"id": "x"}]'), "has no 'answers'"),
        (
            lambda folder: (folder / "data.json").write_text(
                json.dumps([{"id": f"q{row}", "answers": []} for row in range(5)])
            ),
            "1 ids of",
        ),
        (lambda folder: (folder / "null_odds.json").write_text('{"q0": 1}'), "only in one of"),
        (
            lambda folder: (folder / "null_odds.json").write_text(
                json.dumps({f"q{row}": float("nan") for row in range(6)})
            ),
            "expected a finite number; got nan",
        ),
    ],
)
def test_bad_input(break_it: Any, message: str, tmp_path: Path) -> None:
    arguments = write(tmp_path, DEV)
    break_it(tmp_path)
    done = call("tune-threshold", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_arguments(tmp_path: Path) -> None:
    arguments = write(tmp_path, DEV)
    for options in (["--metric", "bleu"], ["--language", "xx"], ["--out-file", tmp_path], ["--apply", "one"]):
        assert call("tune-threshold", *arguments, *options).exit_code == 2
    with pytest.raises(InputError, match="'metric' must be 'f1' or 'exact'; got 'bleu'"):
        choose_threshold(score_best_spans(*arguments), "bleu")
