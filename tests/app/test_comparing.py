"""Two systems on the page: pasted and uploaded columns, the figures of the core, and calls and files that give them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qa_scoring import compare, score_multilingual_squad
from qa_scoring.app import comparing, inputs, scoring
from qa_scoring.app.examples import EXAMPLES
from qa_scoring.cli import main
from qa_scoring.errors import InputError

METRIC = "m2qa_squad_v2"
PASTED = {
    "three columns": 'in Rome,"Rome, Italy","[""Rome"", ""Roma""]"\nx,x,',
    "names": 'references\tA\tid\tB\n"[""Rome"", ""Roma""]"\tin Rome\tq1\t"Rome, Italy"\n\tx\tq2\tx\n',
    "a line break": '"in\nRome","Rome, Italy","[""Rome"", ""Roma""]"\nx,x\n',
    "another order": 'question,b,a,answers\r\nWhere?,"Rome, Italy",in Rome,"[""Rome"", ""Roma""]"\r\nWho?,x,x,\r\n',
    "JSON Lines": '{"a": "in Rome", "b": "Rome, Italy", "references": ["Rome", "Roma"], "question": "Where?"}\n\n'
    '{"answers": [], "b": "x", "a": "x"}\n',
}


def uploads_of(folder: Path, contents: dict[str, Any], names: dict[str, str] | None = None) -> dict[str, inputs.Upload]:
    uploads = {}
    for name, content in contents.items():
        path = folder / "upload.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        called = (names or {}).get(name, f"{name}.json")
        uploads[name] = inputs.read_upload(path, called, comparing.SIDES[name])
    return uploads


def compared(pasted: str, metric: str = METRIC, **settings: Any) -> comparing.Outcome:
    return comparing.compare(*comparing.read(pasted, {}), metric, scoring.Settings(**settings))


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
def test_pasted_columns(pasted: str) -> None:
    a, b = comparing.read(pasted, {})
    assert [" ".join(row["prediction_text"].split()) for row in a.predictions] == ["in Rome", "x"]
    assert [row["prediction_text"] for row in b.predictions] == ["Rome, Italy", "x"]
    assert [row["answers"] for row in a.references] == [["Rome", "Roma"], []]
    outcome = comparing.compare(a, b, METRIC, scoring.Settings())
    assert outcome.comparison.result["right"] == {"both": 0, "only_a": 0, "only_b": 0, "neither": 2}
    assert comparing.rows_table(outcome, "f1") == []
    assert comparing.shown_in_words(outcome, "f1") == "f1 differs in 0 of 2 rows; 0 shown."


def test_the_figures_are_the_cores_and_files_are_matched_by_id(tmp_path: Path) -> None:
    ids = [f"q{number}" for number in range(130)]
    a, b = dict.fromkeys(ids, "Rome"), {key: "in Rome" if key != "q7" else "Oslo" for key in reversed(ids)}
    references = [{"id": key, "answers": ["Rome"], "question": f"Where is {key}?"} for key in ids]
    uploads = uploads_of(tmp_path, {"Predictions of A": a, "Predictions of B": b, "References": references})
    outcome = comparing.compare(*comparing.read(None, uploads), METRIC, scoring.Settings())
    expected = compare(*(score_multilingual_squad(side, references, language="en") for side in (a, b)))
    assert outcome.comparison.result == expected.result
    figures = comparing.figures_table(outcome)
    assert [row[:2] for row in figures] == [["all (130)", "exact"], ["all (130)", "f1"]]
    low, high = expected.result["f1"]["confidence_interval"]
    assert figures[1][4] == f"{expected.result['f1']['difference']:+.2f} [{low:+.2f}, {high:+.2f}]"
    rows = comparing.rows_table(outcome, "f1")
    assert len(rows) == comparing.MOST_ROWS
    assert rows[0] == [8, "Where is q7?", "Rome", "Oslo", "Rome", 1.0, 0.0, -1.0, "q7"]
    assert comparing.shown_in_words(outcome, "f1") == "f1 differs in 130 of 130 rows; 100 shown."


def test_no_answer_thresholds_of_each_system(tmp_path: Path) -> None:
    contents = {
        "Predictions of A": [{"id": "1", "prediction_text": "Rome", "no_answer_probability": 7.5}],
        "Predictions of B": {"1": "Rome"},
        "References": {"1": "Rome"},
    }
    a, b = comparing.read(None, uploads_of(tmp_path, contents))
    above = comparing.compare(a, b, METRIC, scoring.Settings())
    assert above.comparison.result["f1"]["difference"] == 100.0
    assert "The signatures differ (no_answer_threshold)" in comparing.signatures(above)
    outcome = comparing.compare(a, b, METRIC, scoring.Settings(), thresholds=(8.0, 1.0))
    assert outcome.comparison.result["f1"]["difference"] == 0.0
    assert comparing.command_line(outcome).endswith("--no-answer-threshold 8.0 1.0")
    assert comparing.python_call(outcome).count("no_answer_threshold=8.0") == 1


def test_scores_follow_the_language() -> None:
    pasted = "东京,京东,东京"
    assert compared(pasted, language="zh", tokenizer="char").comparison.result["f1"]["b"] == 100.0
    assert compared(pasted, language="zh", tokenizer="whitespace").comparison.result["f1"]["b"] == 0.0


@pytest.mark.parametrize("metric", scoring.SCORES)
def test_the_calls_and_the_files_give_the_figures_of_the_page(
    metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = compared(EXAMPLES["English"].side_by_side(), metric, normalization="unicode")
    written = [path.name for path in comparing.write_downloads(outcome, tmp_path)]
    assert written == [
        "comparison.json", "comparison-rows.jsonl", "comparison-rows.parquet", *comparing.PASTED_FILES
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(comparing.python_call(outcome), scope)
    assert scope["comparison"].result == outcome.comparison.result
    words = shlex.split(comparing.command_line(outcome))
    printed = CliRunner().invoke(main, [*words[1:], "--json"], catch_exceptions=False)
    found = json.loads(printed.output)
    rows = found.pop("rows")
    assert found == outcome.comparison.result == json.loads(Path("comparison.json").read_text())
    score = outcome.comparison.scores[-1]
    shown = comparing.rows_table(outcome, score)[:5]
    assert [(row["question"], row["prediction_a"], row["prediction_b"]) for row in rows] == [
        tuple(row[1:4]) for row in shown
    ]
    first = json.loads(Path("comparison-rows.jsonl").read_text().splitlines()[0])
    assert first["question"] == "Who repaired the lighthouse lamp?"
    assert first[f"{score}_difference"] == outcome.comparison.columns[f"{score}_difference"][0]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    contents = {"Predictions of A": {"1": "a"}, "Predictions of B": {"1": "b"}, "References": {"1": "a"}}
    same = dict.fromkeys(list(contents)[:2], "-predictions.json")
    a, b = comparing.read(None, uploads_of(tmp_path, contents, same))
    outcome = comparing.compare(a, b, METRIC, scoring.Settings())
    line = comparing.command_line(outcome)
    assert "A/-predictions.json B/-predictions.json references/References.json" in line
    a, b = comparing.read(None, uploads_of(tmp_path, contents, {"References": "-r.json"}))
    assert " ./-r.json " in comparing.command_line(comparing.compare(a, b, METRIC, scoring.Settings()))


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("", "nothing to compare"),
        ("a,b,references\n", "only the names of the columns"),
        ("a,b\nx,y\n", "three columns, a, b and references; got 2: 'a, b'"),
        ("x,y,z,too many", "got 4: 'x, y, z, too many'"),
        ("x,y,z\nx,y,z,too many", "Pasted row 1: expected 3 cells"),
        ('{"a": "x", "b": "y", "references": "x"}\n{"a": "x", "references": "x"}', "Pasted row 1 has no 'b'"),
        ('{"a": "x", "b": "y", "references": "x"}\n{"a"', "Pasted row 1 is not valid JSON"),
        (None, "There are no predictions of A: upload them"),
    ],
)
def test_pasted_columns_that_cannot_be_read(pasted: str | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as caught:
        comparing.read(pasted, {})
    assert "\n" not in str(caught.value)


def test_predictions_that_do_not_fit_name_the_system(tmp_path: Path) -> None:
    contents = {"Predictions of A": {"1": "a"}, "Predictions of B": {"2": "a"}, "References": {"1": "a"}}
    a, b = comparing.read(None, uploads_of(tmp_path, contents))
    with pytest.raises(InputError, match=r"^Scoring B: "):
        comparing.compare(a, b, METRIC, scoring.Settings())
    outcome = comparing.compare(a, b, METRIC, scoring.Settings(missing="score_zero"))
    assert outcome.comparison.result["right"]["only_a"] == 1


def test_metrics_of_meaning_say_what_they_read() -> None:
    german = EXAMPLES["Deutsch (German)"].side_by_side()
    with pytest.raises(InputError, match="sas_metric reads English only on this page, not German"):
        compared(german, "sas_metric", language="de")
    assert "trained on English" in compared(german, "ava_metric", language="de").notes[0]
    with pytest.raises(InputError, match="'metric' must be one of m2qa_squad_v2, sas_metric, ava_metric"):
        compared(german, "bleu")
