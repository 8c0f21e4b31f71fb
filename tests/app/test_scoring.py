"""A run of the page: its figures are those of Python and of the command line; its rows sort, filter and open."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from qa_scoring.app import inputs, limits, scoring
from qa_scoring.app.examples import EXAMPLES
from qa_scoring.app.scoring import Filter, Settings
from qa_scoring.cli import main
from qa_scoring.errors import InputError
from qa_scoring.rows import read_rows
from tests.conftest import data_path, read_json

TABLE = [
    ["q1", "Who?", "Ada Brook, the keeper", "Ada Brook", "people", "0.25"],
    ["q2", "How many?", "7", '["seven", "7 boats"]', "numbers", "0.5"],
    ["q3", "Who paid?", "", "", "people", "0.875"],
    ["q4", "Which colour?", "green", "", "things", "0.75"],
]
ALL = tuple(scoring.SCORES)


def run_of(table: Sequence[Sequence[str]] = TABLE, **settings: Any) -> scoring.Run:
    return scoring.score(inputs.from_table(table), Settings(**settings))


def figures_from_calls(run: scoring.Run, metric: str) -> tuple[Any, Any]:
    """Run, in the current folder, the two calls that the page shows."""
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(scoring.python_call(run, metric), space)
    import shlex

    words = shlex.split(scoring.command_line(run, metric))
    assert words[0] == "qa-scoring"
    done = CliRunner().invoke(main, [*words[1:], "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    scored = space["scored"]
    return {**scored.result, "signature": str(scored.signature)}, json.loads(done.stdout)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"group_by": ("group",), "no_answer_threshold": 0.8, "language": "de", "normalization": "unicode"},
        {"tokenizer": "char", "intervals": False, "missing": "score_zero"},
    ],
)
def test_the_calls_give_the_same_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of(**settings)
    scoring.write_downloads(run, tmp_path)  # which brings the file that the calls read
    by_python, by_command = figures_from_calls(run, "m2qa_squad_v2")
    assert by_python == by_command == scoring.results(run)["m2qa_squad_v2"]


def test_all_metrics_together_give_the_same_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of(metrics=ALL, group_by=("group",))
    paths = scoring.write_downloads(run, tmp_path)
    for metric in ALL:
        by_python, by_command = figures_from_calls(run, metric)
        assert by_python == by_command == scoring.results(run)[metric]
    assert json.loads(paths[0].read_text(encoding="utf-8")) == scoring.results(run)
    for metric, one in run.scored.items():
        for suffix in (".jsonl", ".parquet"):
            rows = read_rows(tmp_path / f"{metric}-rows{suffix}")
            for name, values in one.rows.scores.items():
                assert rows.scores[name].tolist() == values.tolist()
    headers, figures = scoring.figures_table(run)
    assert headers == ["group", "questions", "total", "exact", "f1", "sas", "ava_accuracy", "ava_score"]
    assert [(row[0], row[1], row[2]) for row in figures[:4]] == [
        ("all", "all", "4"), ("all", "HasAns", "2"), ("all", "NoAns", "2"), ("people", "all", "2")
    ]  # fmt: skip
    assert figures[0][3].startswith("25.00 [")
    detail = scoring.row_detail(run, 2)
    assert detail["question"] == "How many?"
    assert detail["sas_by_reference"] == run.scored["sas_metric"].rows.extra["reference_scores"][1]


def uploaded(**paths: Path) -> inputs.Given:
    """Read files as uploads are read, from copies, and leave copies for the calls."""
    uploads: dict[Any, inputs.Upload] = {}
    for side, path in paths.items():
        copy = Path(path.name)
        copy.write_bytes(path.read_bytes())
        uploads[side] = inputs.read_upload(copy, copy.name, side)  # type: ignore[arg-type]
        copy.write_bytes(path.read_bytes())
    return inputs.from_uploads(uploads)


def test_xquad_chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = read_json(data_path("xquad", "predictions", "mlpp.test-zh_7443.json"))["predictions"]
    predictions, references = tmp_path / "in" / "predictions.jsonl", tmp_path / "in" / "references.jsonl"
    predictions.parent.mkdir()
    for path, name, column in (
        (predictions, "prediction_text", "predicted_answers"),
        (references, "answers", "answers"),
    ):
        lines = [json.dumps({name: row[column]["text"]}, ensure_ascii=False) + "\n" for row in rows]
        path.write_text("".join(lines), encoding="utf-8")
    given = uploaded(predictions=predictions, references=references)
    run = scoring.score(given, Settings(language="zh"))
    assert len(run) == 1190
    by_python, by_command = figures_from_calls(run, "m2qa_squad_v2")
    assert by_python == by_command == scoring.results(run)["m2qa_squad_v2"]


def test_squad2_with_no_answer_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = uploaded(
        predictions=data_path("squad", "predictions", "anuragsatish_bert.predictions.json"),
        references=data_path("squad", "dev-v2.0.json"),
        no_answer=data_path("squad", "predictions", "anuragsatish_bert.na_prob.json"),
    )
    run = scoring.score(given, Settings(group_by=("title",), no_answer_threshold=0.5, intervals=False))
    assert len(run) == 11_873
    by_python, by_command = figures_from_calls(run, "m2qa_squad_v2")
    assert by_python == by_command == scoring.results(run)["m2qa_squad_v2"]
    # The scores of the table are those after the threshold: their mean is the headline figure.
    assert np.mean(run.columns["f1"]) * 100 == pytest.approx(run.scored["m2qa_squad_v2"].result["f1"])
    order = scoring.choose_rows(run, [Filter("exact", "=", 0), Filter("f1", ">", 0.5)], "f1", descending=True)
    wrong = [i for i in range(11_873) if run.columns["exact"][i] == 0 and run.columns["f1"][i] > 0.5]
    assert sorted(order.tolist()) == wrong
    assert len(scoring.page_of_rows(run, order, 2)) == limits.PAGE_ROWS


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_scores(name: str) -> None:
    example = EXAMPLES[name]
    table = example.table()
    run = run_of(table, language=example.language, intervals=False)
    assert len(run) == len(table)
    assert 0 < run.scored["m2qa_squad_v2"].result["HasAns_f1"] < 100
    assert run.scored["m2qa_squad_v2"].result["NoAns_total"] >= 1
    assert scoring.row_detail(run, 1)["prediction_tokens"]


def test_rows_sort_and_filter() -> None:
    run = run_of()
    assert scoring.choose_rows(run, sort_by="no_answer", descending=True).tolist() == [2, 3, 1, 0]
    assert scoring.choose_rows(run, [Filter("no_answer", "≥", 0.5), Filter("exact", "≠", 1)]).tolist() == [1, 3]
    assert scoring.choose_rows(run, [Filter("f1", "<", 0)]).tolist() == []
    assert scoring.page_of_rows(run, scoring.choose_rows(run), 2) == []
    headers = list(run.columns)
    assert scoring.page_of_rows(run, np.array([1]), 1)[0][headers.index("references")] == "seven | 7 boats"
    for filters, expected in (
        ([Filter("sas", ">", 0.8)], "score with sas_metric too"),
        ([Filter("prediction", "=", 1)], "filtered by numbers"),
        ([Filter("f1", "~", 1)], "one of = ≠"),
        ([Filter("nothing", "=", 1)], "There is no 'nothing'"),
    ):
        with pytest.raises(InputError, match=expected):
            scoring.choose_rows(run, filters)
    with pytest.raises(InputError, match="There is no row 5; the rows are 1 to 4"):
        scoring.row_detail(run, 5)


def test_the_threshold_changes_the_rows_of_the_table() -> None:
    before, after = run_of(no_answer_threshold=1.0), run_of(no_answer_threshold=0.6)
    assert before.columns["exact"] == [0.0, 0.0, 1.0, 0.0]
    assert after.columns["exact"] == [0.0, 0.0, 1.0, 1.0]
    exact, f1 = scoring.row_cards(after, 4)
    assert (exact.value, f1.value) == ("✓ yes", "1.000")
    assert exact.note == f1.note == "counts as an empty answer: its no-answer value 0.75 is above 0.6"
    assert scoring.row_detail(after, 4)["f1"] == 0.0  # of the answer as given, whose tokens are shown
    assert scoring.row_cards(before, 4)[1].note == ""


def test_a_row_has_a_card_per_metric_and_each_reference_once() -> None:
    table = [["", "Who?", "Ada", '["Ada", "Ada", "Ada Brook"]', "", ""]]
    run = run_of(table, metrics=ALL)
    assert [card.name for card in scoring.row_cards(run, 1)] == ["Exact match", "F1", "SAS", "AVA"]
    place = list(run.columns).index("references")
    assert scoring.page_of_rows(run, scoring.choose_rows(run), 1)[0][place] == "Ada | Ada Brook"
    assert [card.name for card in scoring.row_cards(run_of(table, metrics=("sas_metric",)), 1)] == ["SAS"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"metrics": ()}, "No metric is chosen"),
        ({"metrics": ("bleu",)}, "must be of m2qa_squad_v2"),
        ({"language": "Klingon"}, "Unknown language"),
        ({"metrics": ("sas_metric",), "language": "de"}, "English only on this page, not German"),
        ({"group_by": ("town",)}, "there is no column 'town'"),
        ({"no_answer_threshold": float("nan")}, "must be a number"),
        ({"tokenizer": "none"}, "Unknown tokenizer"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        run_of(**settings)


def test_too_many_groups_are_refused() -> None:
    table = [["", "", "a", "a", f"group {number}", ""] for number in range(limits.GROUPS + 1)]
    with pytest.raises(InputError, match="there are 201 groups; the page takes 200"):
        run_of(table, group_by=("group",))


def test_progress_is_reported() -> None:
    said: list[str] = []

    def report(what: str, items: Iterable[Any]) -> Iterable[Any]:
        said.append(what)
        return items

    scoring.score(inputs.from_table(TABLE), Settings(), report)
    assert said == ["m2qa_squad_v2"]
