"""Golden figures on real systems' outputs, through every door.

The expected figures were published with the outputs, by their authors or by the official SQuAD 2.0 script; the data
folder's README says where each comes from. Figures given with two or three decimals are compared at that precision.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import qa_scoring
from qa_scoring.cli import main
from qa_scoring.multilingual_squad import precision_recall_curves
from tests.conftest import data_path, read_json

ALBERT = {"exact": 81.42845110755496, "f1": 84.86029930097264}
BERT = {
    "exact": 47.28,
    "f1": 52.99,
    "HasAns_exact": 60.04,
    "HasAns_f1": 71.47,
    "NoAns_exact": 34.57,
    "NoAns_f1": 34.57,
    "best_exact": 58.52,
    "best_f1": 62.60,
}


def squad(name: str) -> Path:
    return data_path("squad", "predictions", name) if "pred" in name or "na_prob" in name else data_path("squad", name)


ALBERT_FILE = "danaliu67_albert-large.predictions.json"
BERT_FILE, BERT_VALUES = "anuragsatish_bert.predictions.json", "anuragsatish_bert.na_prob.json"


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def door_function() -> Any:
    scored = qa_scoring.score_multilingual_squad(
        read_json(squad(ALBERT_FILE)), read_json(squad("dev-v2.0.json")), scheme="squad"
    )
    return scored.result


def door_metric(load_metric: Callable[..., Any]) -> Any:
    questions = [
        question
        for article in read_json(squad("dev-v2.0.json"))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    answers = read_json(squad(ALBERT_FILE))
    return load_metric().compute(
        predictions=[{"id": key, "prediction_text": text} for key, text in answers.items()],
        references=[{"id": question["id"], "answers": question["answers"]} for question in questions],
        scheme="squad",
    )


def test_albert_through_the_function() -> None:
    assert door_function() | ALBERT == door_function()


def test_albert_through_evaluate_load(load_metric: Callable[..., Any]) -> None:
    result = door_metric(load_metric)
    assert {key: result[key] for key in ALBERT} == ALBERT


def test_albert_through_both_commands() -> None:
    predictions, references = squad(ALBERT_FILE), squad("dev-v2.0.json")
    scored = run("score", "m2qa_squad_v2", predictions, references, "--scheme", "squad", "--json")
    official = run("squad2", references, predictions)
    for result in (scored, official):
        assert {key: result[key] for key in ALBERT} == ALBERT
    assert list(official) == [
        "exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total", "NoAns_exact", "NoAns_f1", "NoAns_total",
    ]  # fmt: skip


def test_bert_with_no_answer_probabilities_through_both_commands(tmp_path: Path) -> None:
    predictions, references, values = squad(BERT_FILE), squad("dev-v2.0.json"), squad(BERT_VALUES)
    scored = run(
        "score", "m2qa_squad_v2", predictions, references, "--scheme", "squad", "--no-answer-file", values, "--json"
    )
    official = run("squad2", references, predictions, "-n", values, "-p", tmp_path / "images")
    for result in (scored, official):
        assert {key: round(result[key], 2) for key in BERT} == BERT
    assert {path.name for path in (tmp_path / "images").iterdir()} == {
        "scores_by_threshold.png",
        "pr_exact.png", "pr_f1.png", "pr_oracle.png", "na_prob_hist_hasAns.png", "na_prob_hist_noAns.png",
    }  # fmt: skip
    # average precision by the official script, run over the same two files
    assert {key: official[key] for key in official if key.startswith("pr_")} == {
        "pr_exact_ap": 28.187373316906395,
        "pr_f1_ap": 39.204062729593566,
        "pr_oracle_ap": 67.60858568374624,
    }


@pytest.mark.parametrize(
    ("file", "exact", "f1"),
    [
        ("nlnet_single_model_Microsoft_Research_Asia_.json", 75.828, 78.778),
        ("lxx-holmes_bert.predictions.json", 72.753, 75.954),
    ],
)
def test_other_systems_on_squad(file: str, exact: float, f1: float) -> None:
    predictions = read_json(data_path("squad", "predictions", file))
    result = qa_scoring.score_multilingual_squad(predictions, read_json(squad("dev-v2.0.json")), scheme="squad").result
    assert (round(result["exact"], 3), round(result["f1"], 3)) == (exact, f1)


@pytest.mark.parametrize(
    ("language", "file", "exact", "f1"),
    [
        ("en", "mlpp.test-en_8235.json", 69.748, 82.360),
        ("es", "mlpp.test-es_7687.json", 58.908, 76.872),
        ("zh", "mlpp.test-zh_7443.json", 66.639, 74.436),
    ],
)
def test_xquad(language: str, file: str, exact: float, f1: float) -> None:
    rows = read_json(data_path("xquad", "predictions", file))["predictions"]
    result = qa_scoring.score_multilingual_squad(
        [row["predicted_answers"]["text"] for row in rows],  # ids repeat in this file
        [row["answers"]["text"] for row in rows],
        scheme="squad",
    ).result
    assert (result["total"], round(result["exact"], 3), round(result["f1"], 3)) == (1190, exact, f1)


def test_mlqa_german() -> None:
    # The official SQuAD script gives these digits on these files; the data folder's README rounds F1 up to 63.05.
    result = run("squad2", data_path("mlqa", "mlqa.de.dev.json"), data_path("mlqa", "unicoder.de.dev.predictions.json"))
    assert (result["exact"], result["f1"]) == (47.0703125, 63.04480478774482)


def test_turkish_whose_predictions_cover_more_questions() -> None:
    references = data_path("turkish", "dev-v0.1.json")  # ids are numbers there, and strings in the predictions
    predictions = data_path("turkish", "bert-base-cased-qa-tr-squad.predictions.json")
    refused = CliRunner().invoke(main, ["squad2", str(references), str(predictions)])
    assert refused.exit_code == 2
    assert "390 ids of the predictions have no reference ('1', '2', '3', '4', '5', …)" in refused.stderr
    result = run("squad2", references, predictions, "--missing", "score_zero")
    assert (result["total"], round(result["exact"], 2), round(result["f1"], 2)) == (892, 61.10, 78.16)


def test_curves_come_from_the_rows_and_end_at_the_unthresholded_figures() -> None:
    answers, values = read_json(squad(BERT_FILE)), read_json(squad(BERT_VALUES))
    predictions = [{"id": key, "prediction_text": answers[key], "no_answer_probability": values[key]} for key in values]
    scored = qa_scoring.score_multilingual_squad(predictions, read_json(squad("dev-v2.0.json")), scheme="squad")
    curves = precision_recall_curves(scored.rows)
    assert len(curves["f1"].precision) == len(set(values.values())) + 1
    assert 100 * curves["f1"].recall[-1] == pytest.approx(scored.result["HasAns_f1"])
    assert curves["oracle"].recall[-1] == 1.0
