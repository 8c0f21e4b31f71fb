"""Questions with contexts from columns and files, and what is wrong with them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from qa_scoring.errors import InputError
from qa_scoring.extractive.examples import make_examples, read_example_file

ANSWERS = {"text": ["Warsaw"], "answer_start": [22]}
ROWS = [
    {"id": "q1", "question": "Where?", "context": 'Marie Curie was born in "Warsaw",\npoland.', "answers": ANSWERS},
    {
        "id": "q2",
        "question": "何年？",
        "context": "玛丽·居里1867年生于华沙",
        "answers": {"text": [], "answer_start": []},
    },
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": row["context"],
                    "qas": [
                        {
                            "id": row["id"],
                            "question": row["question"],
                            "answers": [{"text": text, "answer_start": 22} for text in row["answers"]["text"]],
                        }
                    ],
                }
                for row in ROWS
            ],
        }
    ],
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format of the file's ending."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows({k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv", "parquet"])
def test_files_say_the_same(tmp_path: Path, ending: str, answers: bool) -> None:
    rows = [{name: row[name] for name in row if answers or name != "answers"} for row in ROWS]
    examples = read_example_file(str(write(tmp_path / f"rows.{ending}", rows)))
    assert (examples.ids, examples.questions) == (["q1", "q2"], ["Where?", "何年？"])
    assert examples.contexts == COLUMNS["context"]
    assert len(examples) == 2
    if answers:
        assert examples.answers is not None
        assert [list(answer["text"]) for answer in examples.answers] == [["Warsaw"], []]
    else:
        assert examples.answers is None


def test_squad_files(tmp_path: Path) -> None:
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD), encoding="utf-8")
    examples = read_example_file(str(tmp_path / "squad.json"))
    assert (examples.ids, examples.questions, examples.contexts) == (
        COLUMNS["id"],
        COLUMNS["question"],
        COLUMNS["context"],
    )
    assert examples.answers is not None
    assert len(examples.answers) == 2


@pytest.mark.parametrize("name", ["id", "question", "context", "answers"])
def test_missing_columns(tmp_path: Path, name: str) -> None:
    columns = {key: values for key, values in COLUMNS.items() if key != name}
    argument = {"answers": "label_column"}.get(name, f"{name}_column")
    with pytest.raises(InputError, match=rf"data: there is no column '{name}' \({argument}\); the columns are "):
        make_examples(columns)
    renamed = {**columns, "other": COLUMNS[name]}
    assert make_examples(renamed, **{argument: "other"}) == make_examples(COLUMNS)
    path = write(tmp_path / "rows.csv", [{key: row[key] for key in row if key != name} for row in ROWS])
    if name != "answers":
        with pytest.raises(InputError, match=rf"rows.csv: there is no column '{name}'"):
            read_example_file(str(path))


@pytest.mark.parametrize("name", ["question", "context"])
@pytest.mark.parametrize("value", ["", " \n\u3000", None, 5, float("nan"), ["Where?"]])
def test_rows_without_a_text(name: str, value: Any) -> None:
    columns = {**COLUMNS, name: [COLUMNS[name][0], value]}
    with pytest.raises(InputError, match=rf"data, row 1 \(id 'q2'\), {name}: expected a text; got "):
        make_examples(columns)


@pytest.mark.parametrize("value", [None, "", 1.5, True, ["q2"]])
def test_rows_without_an_id(value: Any) -> None:
    with pytest.raises(InputError, match="data, row 1: the id must be a string; got "):
        make_examples({**COLUMNS, "id": ["q1", value]})


def test_ids() -> None:
    assert make_examples({**COLUMNS, "id": [7, "q"]}).ids == ["7", "q"]
    for same in (["q1", "q1"], [1, "1"]):
        with pytest.raises(InputError, match="data: 1 ids occur more than once"):
            make_examples({**COLUMNS, "id": same})


def test_no_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="data: there are no rows"):
        make_examples({name: [] for name in COLUMNS})
    for name, content in {"a.json": "[]", "b.csv": "id,question,context\n", "c.json": '{"data": []}'}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=name):
            read_example_file(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"q1": "Warsaw"}', "must hold questions with contexts"),
        ("a.json", b'["x"]', "row 0: expected a record"),
        ("a.json", b"[{]", "is not valid JSON"),
        ("a.csv", b"id,question,context\nq1,Where?\n", "line 2: expected 3 columns"),
        ("a.csv", b"id,question,context\nq1,Where?,\xff\n", "is not UTF-8"),
        ("a.parquet", b"PAR1", "is not valid Parquet"),
        ("a.json", b"", "is empty"),
        ("a.jsonl", b'{"id": "q1", "question": "x", "context": "y"}\n{"id": "q2", "question": "x"}', "row 1 .*context"),
    ],
)
def test_files_that_hold_something_else(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_example_file(str(tmp_path / name))
    with pytest.raises(InputError, match="there is no such file"):
        read_example_file(str(tmp_path / "nothing.json"))


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError):
        make_examples({**COLUMNS, "question": ["Where?"]})
