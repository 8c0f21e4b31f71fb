from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from qa_scoring import score_ava, score_multilingual_squad, score_sas
from qa_scoring.app import limits
from qa_scoring.app.one_answer import judge_one
from qa_scoring.errors import InputError
from qa_scoring.judge import loading as judge_loading
from qa_scoring.similarity import loading as similarity_loading

pytest.importorskip("torch")

QUESTION = "How long does the crossing take?"
REFERENCES = ["ninety minutes", "1.5 hours"]
ANSWER = "It takes an hour and a half."


def test_figures_are_those_of_the_three_metrics() -> None:
    judged = judge_one(QUESTION, f"\n {REFERENCES[0]} \n\n{REFERENCES[1]}\n", ANSWER, "en")
    overlap = score_multilingual_squad([ANSWER], [REFERENCES], language="en", details=True)
    similarity = score_sas([ANSWER], [REFERENCES])
    verdict = score_ava([ANSWER], [REFERENCES], questions=[QUESTION])
    assert judged.detail == overlap.result["details"][0]
    assert judged.sas == similarity.result["sas"]
    assert judged.probability == verdict.result["ava_score"]
    assert judged.correct == (verdict.result["ava_accuracy"] == 1.0)
    assert judged.threshold == verdict.result["threshold"]
    assert judged.signatures == [str(scored.signature) for scored in (overlap, similarity, verdict)]
    assert judged.notes == []
    assert [card.name for card in judged.cards()] == ["Exact match", "F1", "SAS", "AVA"]
    assert f"probability {judged.probability:.3f}" in judged.cards()[3].note
    assert json.loads(json.dumps(judged.figures()))["ava_correct"] == judged.correct


def test_models_for_english_are_not_asked_about_other_languages() -> None:
    judged = judge_one("Ankara ne zaman başkent oldu?", "13 Ekim 1923\n1923", "1923 yılında", "tr")
    assert judged.detail["f1"] == pytest.approx(2 / 3)
    assert (judged.sas, judged.probability, judged.correct) == (None, None, None)
    assert judged.notes == [judged.notes[0]]
    assert "English only" in judged.notes[0]
    assert [card.value for card in judged.cards()[2:]] == ["not shown", "not shown"]


def test_models_can_be_asked_about_another_language() -> None:
    judged = judge_one("Wo?", "in Köln", "Köln", "german", any_language=True)
    assert judged.language.code == "de"
    assert judged.sas is not None
    assert judged.correct is not None
    assert judged.notes == ["The models behind SAS and AVA learned English; do not rely on what they say of German."]


def test_without_a_question_there_is_no_verdict() -> None:
    judged = judge_one(" ", "Paris", "in Paris", "en")
    assert judged.sas is not None
    assert judged.correct is None
    assert "AVA reads the question" in judged.notes[0]


@pytest.mark.parametrize(
    ("references", "answer", "right"), [("", "", True), ("", "Paris", False), ("Paris", "", False), (" \n ", "", True)]
)
def test_empty_answers_count(references: str, answer: str, right: bool) -> None:
    judged = judge_one("", references, answer, "en")
    assert judged.correct is right
    assert (judged.detail["exact"], judged.detail["f1"], judged.sas) == (right, right, right)


def test_cut_texts_are_said() -> None:
    assert "were cut" in judge_one(QUESTION, "ninety minutes", "minutes " * 400, "en").notes[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"question": "x" * (limits.ANSWER_CHARACTERS + 1)}, "The question has 4,001 characters"),
        ({"answer": "\udfff"}, "Character 1 of the answer is half of a pair"),
        ({"references": "x\n" * (limits.REFERENCES + 1)}, "There are 51 references; at most 50"),
        ({"language": "klingon"}, "Unknown language 'klingon'"),
        ({"answer": 3}, "The answer must be a text; got int"),
    ],
)
def test_what_cannot_be_judged(changed: dict[str, Any], message: str) -> None:
    arguments = {"question": QUESTION, "references": "Paris", "answer": "Paris", "language": "en"} | changed
    with pytest.raises(InputError, match=message):
        judge_one(**arguments)


@pytest.fixture(params=[judge_loading, similarity_loading], ids=["judge", "similarity"])
def loading(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    module: ModuleType = request.param
    module._load_once.cache_clear()
    yield module
    module._load_once.cache_clear()


def test_threads_that_ask_at_once_load_a_model_once(loading: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[object] = []

    def slow(settings: object) -> object:
        reads.append(settings)
        time.sleep(0.05)
        return object()

    class Settings:
        files, model = None, "embedded"

    settings = Settings()
    monkeypatch.setattr(loading, "_read", slow)
    with ThreadPoolExecutor(8) as pool:
        loaded = set(pool.map(lambda _: loading._load(settings), range(8)))
    assert len(reads) == len(loaded) == 1
