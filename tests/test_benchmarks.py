"""The benchmark tables: written from the committed reports, by the script that made them."""

from __future__ import annotations

import json

from benchmarks import bench_multilingual_squad as bench


def test_the_readme_holds_the_table_of_the_committed_report() -> None:
    report = json.loads(bench.RESULTS.read_text(encoding="utf-8"))
    text = bench.README.read_text(encoding="utf-8")
    assert bench.readme_with_table(text, report) == text


def test_rows_are_the_same_every_time_and_as_described() -> None:
    answers = bench._made_up_answers("en", 50)
    examples = bench.make_examples(answers, 400)
    assert examples == bench.make_examples(answers, 400)
    counts = [len(reference["answers"]["text"]) for reference in examples.references]
    assert counts.count(0) == 200
    assert set(counts) == {0, 1, 2, 3, 4, 5, 6}
