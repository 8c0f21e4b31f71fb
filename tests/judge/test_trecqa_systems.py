"""The rankers of the TREC-QA benchmark, but for the one that needs the base model's weights."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from benchmarks import trecqa_systems
from benchmarks.trecqa_systems import FEATURES, K1, B, Question
from qa_scoring.judgements import read_system_answers
from tests.conftest import data_path

QUESTIONS = [
    Question(
        "Who found radium?", ["Curie found radium.", "Curie", "Radium glows brightly."], [True, True, False], "dev"
    ),
    Question("Where is Pisa?", ["Pisa is in Tuscany", "Towers lean", "in Tuscany"], [True, False, True], "dev"),
]


def test_bm25_by_hand() -> None:
    first, second = trecqa_systems.bm25(QUESTIONS)
    mean = (3 + 1 + 3 + 4 + 2 + 2) / 6

    def term(length: int, documents: int) -> float:
        return log(1 + (6 - documents + 0.5) / (documents + 0.5)) * (K1 + 1) / (1 + K1 * (1 - B + B * length / mean))

    np.testing.assert_allclose(first, [term(3, 1) + term(3, 2), 0, term(3, 2)])
    np.testing.assert_allclose(second, [2 * term(4, 1), 0, 0])


def test_word_overlap_and_tf_idf() -> None:
    np.testing.assert_allclose(trecqa_systems.word_overlap(QUESTIONS)[0], [2 / 3, 0, 1 / 3])
    first, _ = trecqa_systems.tf_idf(QUESTIONS)
    assert first[0] > first[2] > first[1] == 0


def test_the_trained_ranker_learns_the_order() -> None:
    scores = {name: [np.array(question.labels, dtype=float) for question in QUESTIONS] for name in FEATURES}
    ranked = trecqa_systems.train_ranker(QUESTIONS, scores)(scores)
    assert trecqa_systems.figures_by_people(QUESTIONS, ranked).mean_average_precision == 1.0


def test_rows_are_answers_of_systems_with_references_other_than_themselves(tmp_path: Path) -> None:
    rows = list(trecqa_systems.system_rows(QUESTIONS, {"random": trecqa_systems.by_chance(QUESTIONS)}))
    (tmp_path / "systems.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = list(read_system_answers(tmp_path / "systems.jsonl"))
    assert [(answer.answer, answer.references, answer.correct) for answer in answers[:3]] == [
        ("Curie found radium.", ("Curie",), True),
        ("Curie", ("Curie found radium.",), True),
        ("Radium glows brightly.", ("Curie found radium.", "Curie"), False),
    ]
    assert {(answer.system, answer.group, answer.score is None) for answer in answers} == {("random", "dev", False)}


@pytest.mark.parametrize(("split", "count"), [("dev", 46), ("test", 52)])
def test_questions_that_are_measured(split: str, count: int) -> None:
    questions = trecqa_systems.read_questions(data_path("answer_selection", "trecqa", f"{split}.csv").parent, split)
    assert len(questions) == count
    assert all(sum(question.labels) >= 2 and not all(question.labels) for question in questions)
    assert all(question.references(place) for question in questions for place in range(len(question.candidates)))
    # the published order, correct ones first, would give every ranker with ties an undue advantage
    assert any(not question.labels[0] for question in questions)
