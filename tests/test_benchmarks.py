"""The benchmark tables: written from the committed reports, by the script that made them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import bench_ava, bench_reader, bench_sas, null_response
from benchmarks import bench_multilingual_squad as bench


@pytest.mark.parametrize("script", [bench, bench_ava, bench_reader, bench_sas, null_response])
def test_the_readme_holds_the_table_of_the_committed_report(script: ModuleType) -> None:
    report = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    text = script.README.read_text(encoding="utf-8")
    assert script.readme_with_table(text, report) == text


def test_rows_are_the_same_every_time_and_as_described() -> None:
    answers = bench._made_up_answers("en", 50)
    examples = bench.make_examples(answers, 400)
    assert examples == bench.make_examples(answers, 400)
    counts = [len(reference["answers"]["text"]) for reference in examples.references]
    assert counts.count(0) == 200
    assert set(counts) == {0, 1, 2, 3, 4, 5, 6}


def test_pairs_are_those_that_reach_a_model(tmp_path: Path) -> None:
    questions = [
        {"id": "a", "answers": [{"text": "Seine"}, {"text": "the Seine"}, {"text": "Seine"}]},
        {"id": "b", "answers": []},
        {"id": "c", "answers": [{"text": "1066"}]},
        {"id": "d", "answers": [{"text": "1067"}]},
    ]
    data = {"data": [{"paragraphs": [{"qas": questions}]}]}
    (tmp_path / "dev-v2.0.json").write_text(json.dumps(data), encoding="utf-8")
    system = tmp_path / bench_sas.SYSTEM
    system.parent.mkdir()
    system.write_text(json.dumps({"a": "Seine", "b": "Seine", "c": "", "d": "in 1067"}), encoding="utf-8")
    pairs = [("Seine", "Seine"), ("Seine", "the Seine"), ("Seine", "Seine"), ("in 1067", "1067")]
    assert bench_sas.read_examples(tmp_path, None).pairs() == pairs
    assert bench_sas.read_examples(tmp_path, 1) == bench_sas.read_examples(tmp_path, 1)
    assert len(bench_sas.read_examples(tmp_path, 1).predictions) == 1


@pytest.mark.parametrize(("count", "kept"), [(6, "abcdef"), (3, "abcf"), (1, "abc")])
def test_questions_come_with_all_others_of_their_paragraph(tmp_path: Path, count: int, kept: str) -> None:
    paragraphs = [
        {"context": context, "qas": [{"id": key} for key in keys]}
        for context, keys in (("one", "abc"), ("two", "de"), ("three", "f"))
    ]
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}), encoding="utf-8")
    assert [row["id"] for row in bench_reader.read_rows(file, count)] == list(kept)
