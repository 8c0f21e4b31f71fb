"""What a judge learns from: sources, their examples, and the split by question."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.errors import InputError
from qa_scoring.judge.answer_selection import folded
from qa_scoring.judge.examples import JudgedExample, build_examples, read_source
from qa_scoring.judge.sources import (
    AnswerSelection,
    JudgedAnswers,
    SemEval2013,
    read_held_out,
    read_sources,
    source_facts,
)
from tests.conftest import DATA, data_path

QUESTIONS = st.lists(st.sampled_from([f"{letter} {mark}" for letter in "abcdef" for mark in "xX"]), min_size=4)


def write_judged(path: Path, questions: list[str]) -> None:
    rows = [
        {
            "question": question,
            "references": ["one", "two three"],
            "answer": f"{place} two",
            "correct": verdict,
        }
        for place, question in enumerate(questions)
        for verdict in (True, False)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_selection(path: Path, questions: list[str]) -> None:
    rows = [f"{question},{text},{label}" for question in questions for text, label in (("a", 1), ("b", 1), ("c", 0))]
    path.write_text("\n".join(["question,answer,label", *rows]), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@given(QUESTIONS, QUESTIONS, st.floats(0, 0.6), st.integers(0, 5))
def test_no_question_is_in_both_splits(
    folder: Path, judged: list[str], selected: list[str], holdout: float, seed: int
) -> None:
    write_judged(folder / "judged.jsonl", judged)
    write_selection(folder / "selected.csv", selected)
    sources = [JudgedAnswers(path="judged.jsonl"), AnswerSelection(path="selected.csv")]
    questions = {folded(question) for question in judged + selected}
    if len(questions) < 2 and holdout:
        return
    sets = build_examples(sources, folder, seed=seed, holdout=holdout)
    train, held_out = ({folded(example.question) for example in side} for side in sets)
    assert not train & held_out
    assert train | held_out == questions
    assert len(held_out) == (max(1, int(len(questions) * holdout)) if holdout else 0)
    assert sets == build_examples(sources, folder, seed=seed, holdout=holdout)
    other = build_examples(sources, folder, seed=seed + 1, holdout=0)
    assert Counter(other.train) == Counter(sets.train + sets.held_out)


def test_a_source_does_not_depend_on_the_others(tmp_path: Path) -> None:
    write_judged(tmp_path / "judged.jsonl", ["a", "b"])
    write_selection(tmp_path / "selected.csv", [f"q{number}" for number in range(9)])
    sources = [JudgedAnswers(path="judged.jsonl"), AnswerSelection(path="selected.csv", cap=1)]
    both, reverse, alone = (
        {
            example
            for example in build_examples(chosen, tmp_path, holdout=0).train
            if example.origin == "answer-selection"
        }
        for chosen in (sources, sources[::-1], sources[1:])
    )
    assert both == reverse == alone
    assert len(alone) == 9 * 2


@pytest.mark.parametrize(
    ("count", "by", "expected"),
    [
        (None, "overlap", [{"Paris", "the city of Paris", "Paname"}]),
        (1, "overlap", [{"the city of Paris"}]),
        (2, "overlap", [{"the city of Paris", "Paris"}]),
        (1, "seed", [{"Paris"}, {"the city of Paris"}, {"Paname"}]),
    ],
)
def test_references_of_an_answer(tmp_path: Path, count: int | None, by: str, expected: list[set[str]]) -> None:
    row = {
        "question": "Where?",
        "references": ["Paris", "the city of Paris", "Paname", "Paris", " "],
        "answer": "In the city of Paris.",
        "correct": True,
    }
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "answer": ""}), encoding="utf-8")
    source = JudgedAnswers(path=path.name, references_per_answer=count, references_by=by, weight=2.0)
    for seed in range(4):
        found = read_source(source, path, seed)
        assert {example.reference for example in found.examples} in expected
        assert len(found.examples) == len(expected[0])
        assert {example[:1] + example[3:] for example in found.examples} == {("Where?", True, 2.0, "judged-answers")}
        assert found.statistics == (1, 1, 1, 1, 1, len(expected[0]), 0)
    drawn = {read_source(source, path, seed).examples[0].reference for seed in range(20)}
    assert len(drawn) == (3 if by == "seed" else 1)


def student_answers(path: Path, accuracies: list[str], question: str = "Why is it dark?") -> Path:
    answers = "".join(
        f'<studentAnswer id="a{place}" accuracy="{accuracy}">No sun {place}.</studentAnswer>'
        for place, accuracy in enumerate(accuracies)
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "training/3way/beetle/q.xml",
            f'<question id="q"><questionText>{question}</questionText><referenceAnswers><referenceAnswer id="r">'
            "The sun is down.</referenceAnswer></referenceAnswers>"
            f"<studentAnswers>{answers}</studentAnswers></question>",
        )
    return path


def test_student_answers(tmp_path: Path) -> None:
    path = student_answers(tmp_path / "semeval.zip", ["correct", "contradictory", "incorrect"])
    examples = build_examples([SemEval2013(path=path.name)], tmp_path, holdout=0).train
    expected = [
        JudgedExample("Why is it dark?", "The sun is down.", f"No sun {place}.", correct, 1.0, "semeval2013")
        for place, correct in enumerate((True, False, False))
    ]
    assert sorted(examples) == sorted(expected)
    assert read_source(SemEval2013(path=path.name, contradictory=False), path).examples == [expected[0], expected[2]]
    with pytest.raises(InputError, match="q: expected the accuracy correct, contradictory, incorrect; got 'partly'"):
        read_source(SemEval2013(path=path.name), student_answers(path, ["partly"]))
    with pytest.raises(InputError, match="q: expected a questionText; got none"):
        read_source(SemEval2013(path=path.name), student_answers(path, ["correct"], question=" "))


TABLES = [
    {"kind": "answer-selection", "path": "a.csv", "cap": 3, "weight": 0.5},
    {"kind": "judged-answers", "path": "b.jsonl", "references_per_answer": 2, "references_by": "seed", "weight": 1.0},
    {"kind": "semeval2013", "path": "c.zip", "contradictory": False, "weight": 1.0},
]


def test_tables_become_sources_and_tables_again() -> None:
    assert [source_facts(source) for source in read_sources(TABLES, "judge.toml")] == TABLES


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (None, r"judge.toml, sources: expected one \[\[sources\]\] table or more; got None"),
        ([], "expected one .* table or more"),
        (["a.csv"], "judge.toml, source 0: expected a table; got 'a.csv'"),
        (
            [{"path": "a.csv"}],
            "kind: expected one of answer-selection, judged-answers, semeval2013; got None",
        ),
        ([{"kind": "semeval2013"}], "source 0: the key 'path' is lacking"),
        ([TABLES[0], {**TABLES[0], "cap": 0}], "source 1, cap: expected an integer of at least 1; got 0"),
        ([{**TABLES[0], "weight": 0}], "weight: expected a number above 0; got 0"),
        ([{**TABLES[1], "references_by": "length"}], "references_by: expected 'overlap' or 'seed'; got 'length'"),
        ([{**TABLES[2], "contradictory": 1}], "contradictory: expected true or false; got 1"),
        ([{**TABLES[2], "cap": 1}], "unknown key 'cap'; the keys are path, contradictory, weight"),
        ([{**TABLES[0], "path": "/a.csv"}], "path: expected a path inside the data folder"),
        ([{**TABLES[0], "path": "trecqa/dev.csv"}], "'trecqa/dev.csv' is for measuring, not for training"),
        ([{**TABLES[0], "path": "sas/a.csv"}], "'sas/a.csv' is for measuring"),
    ],
)
def test_bad_tables(tables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_sources(tables, "judge.toml")


def test_what_is_held_out_may_be_dev_but_not_test() -> None:
    assert read_held_out({"kind": "judged-answers", "path": "x_dev.jsonl"}, "judge.toml").path == "x_dev.jsonl"
    for path in ("x_test.jsonl", "sas/x.jsonl"):
        with pytest.raises(InputError, match=f"judge.toml, held_out, path: '{path}' is for measuring"):
            read_held_out({"kind": "judged-answers", "path": path}, "judge.toml")


def test_a_held_out_file(tmp_path: Path) -> None:
    write_judged(tmp_path / "judged.jsonl", ["a", "b"])
    write_judged(tmp_path / "dev.jsonl", ["c"])
    write_judged(tmp_path / "dev_same.jsonl", ["c", " B"])
    sources, dev = [JudgedAnswers(path="judged.jsonl")], JudgedAnswers(path="dev.jsonl")
    sets = build_examples(sources, tmp_path, holdout=0, held_out=dev)
    assert {example.question for example in sets.train} == {"a", "b"}
    assert {example.question for example in sets.held_out} == {"c"}
    with pytest.raises(InputError, match=r"dev_same.jsonl: 1 of its questions are among those to learn from \(' B'\)"):
        build_examples(sources, tmp_path, holdout=0, held_out=JudgedAnswers(path="dev_same.jsonl"))
    with pytest.raises(InputError, match=r"'dev.jsonl' is held out: expected holdout 0 beside it; got 0.05"):
        build_examples(sources, tmp_path, held_out=dev)
    with pytest.raises(InputError, match=r"'dev.jsonl' is for measuring"):
        build_examples([dev], tmp_path)
    with pytest.raises(InputError, match=r"'test.jsonl' is for measuring"):
        build_examples(sources, tmp_path, holdout=0, held_out=JudgedAnswers(path="test.jsonl"))


@pytest.mark.parametrize("holdout", [-0.1, 1, 1.5, float("nan")])
def test_a_part_that_is_none(tmp_path: Path, holdout: float) -> None:
    with pytest.raises(InputError, match=r"'holdout' must be at least 0 and below 1"):
        build_examples([], tmp_path, holdout=holdout)


def test_data_that_nothing_can_be_learnt_from(tmp_path: Path) -> None:
    write_judged(tmp_path / "one.jsonl", ["a"])
    write_judged(tmp_path / "blank.jsonl", [" "])
    (tmp_path / "right.csv").write_text("question,answer,label\na,b,1\na,c,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"sources give 0 correct and 0 incorrect ones, and 4 examples are held out\."):
        build_examples([JudgedAnswers(path="one.jsonl")], tmp_path)
    with pytest.raises(InputError, match="the sources give 2 correct and 0 incorrect ones"):
        build_examples([AnswerSelection(path="right.csv")], tmp_path, holdout=0)
    with pytest.raises(InputError, match=r"blank.jsonl, row 0: expected a question that is not blank; got ' '"):
        build_examples([JudgedAnswers(path="blank.jsonl")], tmp_path)
    with pytest.raises(InputError, match=r"none.csv: there is no such file; expected the answer-selection data"):
        build_examples([AnswerSelection(path="none.csv")], tmp_path)


def test_the_real_data() -> None:
    paths = ("judgements/evouna_train.jsonl", "judgements/semeval2013_task7.zip", "answer_selection/trecqa/train.csv")
    for path in paths:
        data_path(*path.split("/"))
    sources = [
        JudgedAnswers(path=paths[0], references_per_answer=1),
        SemEval2013(path=paths[1]),
        AnswerSelection(path=paths[2], cap=20),
    ]
    statistics = [read_source(source, DATA / source.path).statistics for source in sources]
    # answers as the data's README counts them; three answers of EVOUNA are blank
    assert [found.candidates + found.left_out for found in statistics] == [21_113, 8_910, 4_718]
    assert statistics[0].positives + statistics[0].negatives == 21_110
    assert statistics[2].positives <= 51 * 20
    dev = JudgedAnswers(path="judgements/evouna_dev.jsonl")
    data_path("judgements", "evouna_dev.jsonl")
    sets = build_examples(sources, DATA, holdout=0, held_out=dev)  # published as split by question
    assert len({folded(example.question) for example in sets.held_out}) == 477
