"""Files of answers that people judged, or have yet to judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qa_scoring.errors import InputError
from qa_scoring.judgements import JudgedAnswer, SystemAnswer, read_judged_answers, read_system_answers
from tests.conftest import data_path

ROW = {"question": "Who?", "references": ["Curie", "Marie Curie"], "answer": "Bohr", "correct": False}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_judged_answers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ROW, "", {**ROW, "system": "s", "kind": "k", "source": "NQ", "score": 0.5})
    plain = JudgedAnswer("Who?", ("Curie", "Marie Curie"), "Bohr", False)
    assert list(read_judged_answers(path)) == [plain, plain._replace(system="s", group="k")]


def test_answers_of_systems_with_or_without_a_verdict(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {**ROW, "system": "s", "source": "NQ", "score": 2},
        {**ROW, "correct": None, "score": None},
        {"references": [], "answer": ""},
    )
    references = ("Curie", "Marie Curie")
    assert list(read_system_answers(path)) == [
        SystemAnswer("Who?", references, "Bohr", False, "s", "NQ", 2.0),
        SystemAnswer("Who?", references, "Bohr", None),
        SystemAnswer("", (), "", None),
    ]


BOTH = (read_judged_answers, read_system_answers)


@pytest.mark.parametrize("read", BOTH)
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", r"a.jsonl, line 2 is not valid JSON: .*, column 2"),
        ("[]", r"line 2: expected a record \(JSON object\); got \[\]"),
        ({**ROW, "answer": None}, "line 2, answer: expected a str; got None"),
        ({**ROW, "question": 3}, "line 2, question: expected a str; got 3"),
        ({**ROW, "references": "Curie"}, "line 2, references: expected a list; got 'Curie'"),
        ({**ROW, "references": ["Curie", 1]}, r"line 2, references: expected strings; got \['Curie', 1\]"),
        ({**ROW, "correct": 1}, "line 2, correct: expected .*; got 1"),
        ({**ROW, "system": 1}, "line 2, system: expected a str; got 1"),
        ({**ROW, "kind": 1}, "line 2, kind: expected a str; got 1"),
    ],
)
def test_bad_rows(tmp_path: Path, read: Any, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read(write(tmp_path / "a.jsonl", ROW, row)))


@pytest.mark.parametrize("read", BOTH)
def test_bad_files(tmp_path: Path, read: Any) -> None:
    with pytest.raises(InputError, match=r"none.jsonl cannot be read: No such file"):
        list(read(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match=r"a.jsonl holds no rows; expected .*, one JSON object a line"):
        list(read(write(tmp_path / "a.jsonl", "", " ")))
    (tmp_path / "b.jsonl").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"b.jsonl is not UTF-8: .* at byte 0"):
        list(read(tmp_path / "b.jsonl"))


def test_what_only_judged_answers_must_have(tmp_path: Path) -> None:
    for name, message in (
        ("question", "question: expected a str; got None"),
        ("correct", "correct: expected a bool; got None"),
    ):
        row = {key: value for key, value in ROW.items() if key != name}
        with pytest.raises(InputError, match=message):
            list(read_judged_answers(write(tmp_path / "a.jsonl", row)))
    with pytest.raises(InputError, match=r"references: expected strings; got \[\]"):
        list(read_judged_answers(write(tmp_path / "a.jsonl", {**ROW, "references": []})))


@pytest.mark.parametrize("score", [True, "0.5", float("nan"), float("inf"), 10**400, [1]])
def test_a_score_that_is_none(tmp_path: Path, score: object) -> None:
    with pytest.raises(InputError, match="line 1, score: expected a finite number or null; got"):
        list(read_system_answers(write(tmp_path / "a.jsonl", {**ROW, "score": score})))


def test_both_read_the_real_file_alike() -> None:
    path = data_path("judgements", "evouna_dev.jsonl")
    judged = list(read_judged_answers(path))
    assert len(judged) == 2_385
    assert [tuple(answer) for answer in judged] == [answer[:-1] for answer in read_system_answers(path)]
    assert {answer.group for answer in judged} == {"NQ", "TQ"}
