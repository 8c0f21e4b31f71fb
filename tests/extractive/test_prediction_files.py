"""The three files of the SQuAD script: what is written is what the script writes, and reads back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qa_scoring.errors import InputError
from qa_scoring.extractive.prediction_files import (
    PredictionFiles,
    prepare_folder,
    read_predictions_folder,
    write_json_files,
    write_predictions,
)
from qa_scoring.extractive.spans import Answer, Reading, Span
from tests.conftest import read_json

NULL = Span("", 0, 0, 0.25, 1.0, 0.5)
READINGS = {
    "q1": Reading([Answer("日本", 3, 5, 0.5)], [Span("日本", 3, 5, 0.75, 2.0, 1.5), NULL], -2.0, 0.25),
    "q2": Reading([Answer("", 0, 0, 0.9)], [NULL, Span("café", 0, 4, 0.1, 0.5, 0.0)], 1.0, 0.25),
    "no tokens": Reading([Answer("", 0, 0, 1.0)], [NULL], 0.0, 1.0),
}
FILES: dict[str, Any] = {
    "predictions.json": {"q1": "Rome"},
    "nbest_predictions.json": {"q1": [{"text": ""}, {"text": "Rome"}]},
    "null_odds.json": {"q1": 0.5},
}


def records(*ids: str) -> list[dict[str, Any]]:
    return [
        {
            "id": key,
            "answer": READINGS[key].answers[0].text,
            "n_best": [span._asdict() for span in READINGS[key].n_best],
            "null_odds": READINGS[key].null_odds,
        }
        for key in ids
    ]


def write(folder: Path, **changes: Any) -> Path:
    """Write the files as another tool may, of which ``changes`` replaces the contents (None: no file)."""
    for name, content in (FILES | {f"{name}.json": content for name, content in changes.items()}).items():
        if content is not None:
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_files_are_those_of_the_script(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    write_predictions(folder, records("q1", "q2", "no tokens"))
    assert sorted(path.name for path in folder.iterdir()) == [
        "nbest_predictions.json",
        "null_odds.json",
        "predictions.json",
    ]
    assert read_json(folder / "predictions.json") == {"q1": "日本", "q2": "", "no tokens": ""}
    assert read_json(folder / "null_odds.json") == {"q1": -2.0, "q2": 1.0, "no tokens": 0.0}
    n_best = read_json(folder / "nbest_predictions.json")
    first = {"text": "日本", "start": 3, "end": 5, "probability": 0.75, "start_logit": 2.0, "end_logit": 1.5}
    assert n_best["q1"][0] == first
    assert [[span["text"] for span in spans] for spans in n_best.values()] == [["日本", ""], ["", "café"], [""]]
    text = (folder / "predictions.json").read_text(encoding="utf-8")
    assert text == '{\n    "q1": "日本",\n    "q2": "",\n    "no tokens": ""\n}\n'
    assert read_predictions_folder(folder) == PredictionFiles(
        {"q1": "日本", "q2": "", "no tokens": ""},
        {"q1": -2.0, "q2": 1.0, "no tokens": 0.0},
        {"q1": "日本", "q2": "café", "no tokens": ""},
    )


def test_files_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    write_predictions(write(tmp_path), records("q2"))
    assert list(read_predictions_folder(tmp_path).texts) == ["q2"]


def test_what_some_rows_lack_is_not_written(tmp_path: Path) -> None:
    write_predictions(tmp_path, [*records("q1"), {"id": "q2", "answer": "Rome"}])
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.json"]
    assert read_json(tmp_path / "predictions.json") == {"q1": "日本", "q2": "Rome"}


def test_half_a_surrogate_pair_stays_json(tmp_path: Path) -> None:
    write_json_files(tmp_path, {"predictions.json": {"q\ud800": "a\\b \udfff"}})
    assert read_json(tmp_path / "predictions.json") == {"q\ud800": "a\\b \udfff"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"null_odds": None}, r"null_odds.json: there is no such file"),
        ({"nbest_predictions": None}, r"nbest_predictions.json: there is no such file"),
        ({"predictions": None}, r"predictions.json: there is no such file"),
        ({"null_odds": {"q1": float("nan")}}, r"null_odds.json, id 'q1': expected a finite number; got nan"),
        ({"null_odds": {"q1": float("inf")}}, r"expected a finite number; got inf"),
        ({"null_odds": {"q1": True}}, r"expected a finite number; got True"),
        ({"null_odds": {"q1": "0.5"}}, r"expected a finite number; got '0.5'"),
        ({"null_odds": {"q1": 0, "q2": 0}}, r"1 ids are only in one of .*predictions.json and null_odds.json \('q2'\)"),
        ({"nbest_predictions": {}}, r"only in one of .*nbest_predictions.json and null_odds.json \('q1'\)"),
        ({"nbest_predictions": [{"q1": []}]}, r"nbest_predictions.json must be a JSON object by id"),
        ({"nbest_predictions": {"q1": "Rome"}}, r"id 'q1': expected a list of records with 'text'; got 'Rome'"),
        ({"nbest_predictions": {"q1": [{"words": "Rome"}]}}, r"expected a record with 'text', a string; got {'words'"),
        ({"predictions": {"q1": None}}, r"predictions.json, id 'q1': expected a string; got None"),
    ],
)
def test_broken_folders(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_predictions_folder(write(tmp_path, **changes))


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"The folder .*file.below cannot be made: .* Name another"):
        prepare_folder(tmp_path / "file" / "below")
    with pytest.raises(InputError, match=r"The folder .*file cannot be made"):
        write_predictions(tmp_path / "file", [])


def test_a_failed_write_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "null_odds.json").mkdir()  # which no file can replace
    with pytest.raises(InputError, match=r"'null_odds.json' cannot be written to .*: "):
        write_json_files(tmp_path, {"null_odds.json": {}})
    assert [path.name for path in tmp_path.iterdir()] == ["null_odds.json"]
