"""Pasted rows and uploaded files become predictions and references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qa_scoring.app import inputs
from qa_scoring.errors import InputError

BLANK = [""] * len(inputs.COLUMNS)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("in Köln\tKöln", ["", "", "in Köln", "Köln", "", ""]),
        ("Where?,in Köln,Köln\n", ["", "Where?", "in Köln", "Köln", "", ""]),
        ("answers\tprediction_text\nKöln\tin Köln", ["", "", "in Köln", "Köln", "", ""]),
        ('Where?\t"two\nlines"\tKöln', ["", "Where?", "two\nlines", "Köln", "", ""]),
        ("q1,Where?,,,a,0.5", ["q1", "Where?", "", "", "a", "0.5"]),
        (
            '{"id": 1, "prediction_text": "Rom", "answers": {"text": ["Rome", "Roma"]}, "no_answer_probability": 0.5}',
            ["1", "", "Rom", '["Rome", "Roma"]', "", "0.5"],
        ),
        ('{"prediction": "Rom", "references": ["Rome"]}', ["", "", "Rom", "Rome", "", ""]),
        ('{"prediction": "", "references": []}', BLANK),
    ],
)
def test_pasted_rows(text: str, cells: list[str]) -> None:
    assert inputs.parse_pasted(text) == [cells]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \n", "nothing to paste"),
        ("a\tb\nc\td\te\tf\tg\th\ti", "got 7"),
        ("alone", "got 1"),
        ('{"prediction": ', "row 0 is not valid JSON"),
        ("[" * 5 + "\n{", "got 1"),
        ('{"a": ' * 100_000, "row 0 is not valid JSON"),
    ],
)
def test_pasted_rows_that_cannot_be_read(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        inputs.parse_pasted(text)


def test_blank_rows_count_unless_nothing_follows() -> None:
    filled = ["", "Where?", "in Köln", '["Köln", "Cologne"]', "", ""]
    given = inputs.from_table([filled, BLANK, ["", "Who?", "", "", "b", "0.5"], BLANK, [None] * 6])
    assert given.references == given.predictions
    assert [row["prediction_text"] for row in given.references] == ["in Köln", "", ""]
    assert [row["answers"] for row in given.references] == [["Köln", "Cologne"], [], []]
    assert [row["id"] for row in given.references] == ["1", "2", "3"]
    assert given.references[2] == {
        "id": "3", "question": "Who?", "prediction_text": "", "answers": [], "group": "b", "no_answer_probability": 0.5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (BLANK, "The table is empty"),
        (["a", "b"], "expected 6 cells; got 2"),
        (["", "", "a", "[1, 2]", "", ""], "JSON list of strings"),
        (["", "", "a", "b", "", "high"], "must be a number or blank; got 'high'"),
        (["", "", "x" * 20_001, "b", "", ""], "20,001 characters"),
    ],
)
def test_tables_that_cannot_be_read(row: list[Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        inputs.from_table([row])


def test_a_text_in_brackets_is_a_text() -> None:
    row = ["", "", "a", "[sic", "", ""]
    assert inputs.from_table([row]).references[0]["answers"] == ["[sic"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("side", "name", "content", "expected"),
    [
        ("predictions", "p.json", b'{"q1": "Paris"', "p.json is not valid JSON"),
        ("predictions", "p.json", b"<html><script>alert(1)</script></html>", "p.json is not valid JSON"),
        ("predictions", "p.csv", b"id,answer\nq1,Paris\n", "no column 'prediction_text' or 'prediction'.*'answer'"),
        ("references", "r.jsonl", b'{"id": "q1", "gold": "a"}\n', "no column 'answers'"),
        ("references", "r.json", b'{"data": [{"paragraphs": 3}]}', "not SQuAD's nesting"),
        ("predictions", "p.csv", b"id,prediction\nq1,caf\xe9\n", "p.csv is not UTF-8"),
        ("predictions", "p.jsonl", b"[" * 100_000, "nested too deeply"),
        ("predictions", "p.json", b"[" * 100_000, "nested too deeply"),
        ("predictions", "p.jsonl", b'{"prediction": ' + b"1" * 5000 + b"}", "p.jsonl, line 1"),
        ("predictions", "p.json", b'[{"prediction": ' + b"1" * 5000 + b"}]", "p.json: "),
        ("predictions", "p.json", b"", "p.json is empty"),
        ("references", "r.json", b"[]", "r.json holds no rows"),
        ("predictions", "p.json", b'{"q1": "a", "q2": 5}', r"^p.json: predictions\[1\] .*must be one string.*got 5"),
        ("references", "r.json", b'[{"answers": ["a"]}, {"answers": [5]}]', r"^r.json: references\[1\].*got 5"),
        ("references", "x" * 200 + ".json", b"", "^x{40}…x{14}.json is empty"),
        ("references", "a\u202eb.json", b"", "^ab.json is empty"),
        ("no_answer", "n.json", b"[0.5]", "n.json: no-answer values must be a JSON object"),
    ],
)
def test_bad_uploads_are_one_sentence_and_are_deleted(
    tmp_path: Path, side: inputs.Side, name: str, content: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=expected) as caught:
        inputs.read_upload(path, name, side)
    assert str(tmp_path) not in str(caught.value)
    assert not path.exists()


def test_uploads_are_deleted_and_joined_by_id(tmp_path: Path) -> None:
    files: dict[inputs.Side, Any] = {
        "predictions": {"q1": "Paris", "q2": ""},
        "references": {
            "data": [
                {
                    "title": "Rome",
                    "paragraphs": [
                        {"context": "long", "qas": [{"id": "q1", "question": "Where?", "answers": [{"text": "Paris"}]}]}
                    ],
                },
                {"title": "Oslo", "paragraphs": [{"context": "long", "qas": [{"id": "q2", "answers": []}]}]},
            ]
        },
        "no_answer": {"q2": 0.9, "q1": 0.1},
    }
    uploads: dict[inputs.Side, inputs.Upload] = {}
    for side, content in files.items():
        path = tmp_path / f"{side}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        uploads[side] = inputs.read_upload(path, path.name, side)
        assert not path.exists()
    given = inputs.from_uploads(uploads)
    assert [row["id"] for row in given.predictions] == ["q2", "q1"]  # the order of the values decides ties
    assert all("context" not in row for row in given.references)
    assert inputs.group_columns(given.references) == ["title"]
    with pytest.raises(InputError, match="There are no predictions"):
        inputs.from_uploads({"references": uploads["references"]})
