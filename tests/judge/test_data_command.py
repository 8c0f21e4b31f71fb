"""``qa-scoring judge data``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qa_scoring.cli.judge_data import data_command
from qa_scoring.errors import InputError
from qa_scoring.judge.examples import read_source
from qa_scoring.judge.sources import AnswerSelection
from qa_scoring.judgements import read_judged_answers
from tests.conftest import data_path

SELECTION = "question,answer,label\nWho?,a,1\nWho?,b,1\nWho?,c,1\nWho?,d,0\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(data_command, list(map(str, arguments)))


def test_it_counts_and_writes_what_can_be_read_again(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "triples.jsonl"
    path.write_text(SELECTION, encoding="utf-8")
    result = run(path, "--out", out, "--cap", 4, "--seed", 3)
    assert result.exit_code == 0, result.output
    row = next(line for line in result.output.splitlines() if "a.csv" in line)
    assert row.split()[1:] == ["1", "1", "4", "3", "0", "4", "3"]
    assert f"Triples: {out}" in result.output
    examples = read_source(AnswerSelection(path="a.csv", cap=4), path, 3).examples
    assert [(row.question, row.references, row.answer, row.correct) for row in read_judged_answers(out)] == [
        (row.question, (row.reference,), row.answer, row.correct) for row in examples
    ]
    again = run(out, "--kind", "judged-answers", "--json")
    assert json.loads(again.output)[str(out)] == {
        "questions": 1, "used": 1, "candidates": 7, "correct": 4, "left_out": 0, "positives": 4, "negatives": 3,
    }  # fmt: skip


def test_the_real_files() -> None:
    paths = [data_path("answer_selection", "trecqa", f"{split}.csv") for split in ("train", "dev", "test")]
    figures = json.loads(run(*paths, "--json").output)
    assert [figures[str(path)]["used"] for path in paths] == [51, 49, 60]
    semeval = data_path("judgements", "semeval2013_task7.zip")
    assert json.loads(run(semeval, "--kind", "semeval2013", "--json").output)[str(semeval)]["candidates"] == 8_910


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.csv", "--kind", "pairs"), "'--kind' must be one of answer-selection, judged-answers, semeval2013; got"),
        (("a.csv", "--cap", "0"), "--kind answer-selection, cap: expected an integer of at least 1; got 0"),
        (("a.csv", "--references-per-answer", "1"), "unknown key 'references_per_answer'; the keys are path, cap"),
        (("a.csv", "--kind", "judged-answers", "--references-by", "x"), "expected 'overlap' or 'seed'; got 'x'"),
        (("a.csv", "a.csv"), "a.csv is named twice"),
        (("b.csv",), "b.csv: there is no such file"),
        (("a.csv", "--kind", "semeval2013"), "a.csv is not a ZIP file"),
        (("a.csv", "--out", "none/x.jsonl"), "none/x.jsonl cannot be written: No such file or directory"),
        ((".",), "is a directory"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(SELECTION, encoding="utf-8")
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
