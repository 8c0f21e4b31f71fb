"""Many questions with one model: batches, order, progress, size, and what cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from qa_scoring.errors import InputError
from qa_scoring.extractive import reader as module
from qa_scoring.extractive.reader import ExtractiveReader
from qa_scoring.extractive.spans import AnswerSettings, Reading
from tests.extractive.conftest import CONTEXTS, MAX_LENGTH, QUESTION, make_tokenizer

QUESTIONS = [QUESTION, "Who?", "When " * 20, "何年？"] * 3
MIXED = [*CONTEXTS.values(), " ".join(CONTEXTS.values())]
SETTINGS = AnswerSettings(top_k=3, handle_impossible_answer=True)


def check_equal(found: list[Reading], expected: list[Reading]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert [answer[:3] for answer in one.answers] == [answer[:3] for answer in other.answers]
        assert [answer.score for answer in one.answers] == pytest.approx(
            [answer.score for answer in other.answers], 1e-4
        )
        assert [span.text for span in one.n_best] == [span.text for span in other.n_best]
        assert one.null_odds == pytest.approx(other.null_odds, abs=1e-4)
        assert one.no_answer_probability == pytest.approx(other.no_answer_probability, abs=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "longformer", "modernbert", "deberta-v2"])
def test_neighbours_and_batch_size_change_nothing(family: str, make_reader: Callable[[str], Any]) -> None:
    reader = make_reader(family)
    alone = [
        next(reader.read([question], [context], settings=SETTINGS, max_seq_len=60, batch_size=1))
        for question, context in zip(QUESTIONS, MIXED, strict=True)
    ]
    for batch_size in (None, 7):
        together = reader.read(QUESTIONS, MIXED, settings=SETTINGS, max_seq_len=60, batch_size=batch_size)
        check_equal(list(together), alone)


@pytest.mark.parametrize(("examples", "characters"), [(5, 10**6), (256, 400), (1, 1)])
def test_parts_of_the_work_change_nothing(
    reader: Any, monkeypatch: pytest.MonkeyPatch, examples: int, characters: int
) -> None:
    expected = list(reader.read(QUESTIONS, MIXED, settings=SETTINGS, batch_size=1))
    monkeypatch.setattr(module, "_EXAMPLES_AT_ONCE", examples)
    monkeypatch.setattr(module, "_CHARACTERS_AT_ONCE", characters)
    counts: list[int] = []
    check_equal(list(reader.read(QUESTIONS, MIXED, settings=SETTINGS, batch_size=1, done=counts.append)), expected)
    assert sum(counts) == len(MIXED)


def test_parts_are_bounded() -> None:
    parts = list(module._parts([10, 400_000, 10, 10, *[200_000] * 3], 3))
    assert [list(part) for part in parts] == [[0], [1], [2, 3, 4], [5], [6]]
    assert list(module._parts([], 3)) == []
    assert [len(part) for part in module._parts([1] * 7, 3)] == [3, 3, 1]


def test_a_context_without_tokens_among_others(reader: Any) -> None:
    counts: list[int] = []
    contexts = [CONTEXTS["en"], "\x00", CONTEXTS["ru"]]
    found = list(reader.read([QUESTION] * 3, contexts, done=counts.append))
    assert [bool(reading.answers[0].text) for reading in found] == [True, False, True]
    assert sum(counts) == 3
    assert list(reader.read([], [])) == []


def test_a_context_of_one_character(reader: Any) -> None:
    for context in ("x", "玛", "é", "👍"):
        [reading] = reader.read(["\u200b", QUESTION][:1], [context], settings=AnswerSettings(top_k=5))
        assert [answer[:3] for answer in reading.answers] == [(context, 0, 1)]


def test_a_long_context_and_a_long_question(reader: Any) -> None:
    context = (" ".join(CONTEXTS.values()) + " ") * 500
    context = context[:200_000]
    started = time.perf_counter()
    windows = reader._maker(None, 0, 64).make([QUESTION], [context])[0]
    assert len(windows) > 500
    logits = [module.Logits(*torch.randn(2, len(window.offsets)).double().numpy()) for window in windows]
    reading = module.read_logits(context, windows, logits, AnswerSettings(top_k=5))
    assert time.perf_counter() - started < 20  # it took minutes when every window looked at every other
    assert all(answer.text == context[answer.start : answer.end] for answer in reading.answers)
    [reading] = reader.read([QUESTION * 5000], [context[:2000]])
    assert reading.answers[0].text


def test_a_context_without_spaces(reader: Any) -> None:
    [reading] = reader.read([QUESTION], ["a" * 200_000])
    assert reading.answers[0].text == "a" * 200_000  # one unknown word


@pytest.mark.parametrize(
    ("question", "context", "message"),
    [
        ("", "x", "id 'q2': the question is empty"),
        ("x", " \n", "id 'q2': the context is empty"),
        (None, "x", "id 'q2': the question must be a string; got NoneType"),
        ("x", 5, "id 'q2': the context must be a string; got int"),
        ("x", "\ud83d", "id 'q2': the context is not valid Unicode"),
    ],
)
def test_rows_that_cannot_be_read(reader: Any, question: Any, context: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader.read([QUESTION, question], ["Warsaw", context], ids=["q1", "q2"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_seq_len": MAX_LENGTH + 1}, f"'max_seq_len' must be at most {MAX_LENGTH}"),
        ({"max_seq_len": 0}, "'max_seq_len' must be an integer of at least 1"),
        ({"max_seq_len": 20.0}, "'max_seq_len' must be"),
        ({"doc_stride": -1}, "'doc_stride' must be an integer of at least 0"),
        ({"doc_stride": 30, "max_seq_len": 30}, "'doc_stride' must be less than max_seq_len"),
        ({"max_question_len": 0}, "'max_question_len' must be"),
        ({"batch_size": 0}, "'batch_size' must be"),
        ({"batch_size": True}, "'batch_size' must be"),
    ],
)
def test_wrong_arguments(reader: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader.read([QUESTION], ["Warsaw"], **options)


def test_logits_that_are_no_numbers(make_reader: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = make_reader("electra")
    unknown = reader.tokenizer.unk_token_id
    forward = reader.model.forward

    def broken(**inputs: Any) -> Any:
        output = forward(**inputs)
        output["end_logits"][(inputs["input_ids"] == unknown).any(1)] = float("nan")
        return output

    monkeypatch.setattr(reader.model, "forward", broken)
    contexts = ["Warsaw", "Marie", "\U0001f9ff"]
    with pytest.raises(InputError, match="id 'c': the model gave logits that are no numbers"):
        list(reader.read(["born"] * 3, contexts, ids=["a", "b", "c"]))


@pytest.mark.parametrize("sides", [{"padding_side": "right"}, {"truncation_side": "left"}])
def test_cls_at_the_end_is_the_null_token(make_reader: Callable[[str], Any], sides: dict[str, str]) -> None:
    usual = make_reader("xlnet")
    reader = ExtractiveReader(usual.model, make_tokenizer("context first", **sides))
    context = f"[CLS] {CONTEXTS['en']} [CLS]"
    windows = reader._maker(60, None, 64).make([QUESTION], [context])[0]
    assert len(windows) >= 2
    for window in windows:
        assert window.null == len(window.offsets) - 1
        assert window.context_side == (sides.get("padding_side") == "right")
    [reading] = reader.read([QUESTION], [context], max_seq_len=60)
    assert reading.answers[0].text == context[reading.answers[0].start : reading.answers[0].end]


def test_a_model_whose_config_asks_for_tuples(
    make_reader: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = make_reader("albert")
    expected = list(reader.read([QUESTION], [CONTEXTS["en"]]))
    monkeypatch.setattr(reader.model.config, "return_dict", False)
    check_equal(list(reader.read([QUESTION], [CONTEXTS["en"]])), expected)


def test_a_model_that_was_left_in_training_mode(reader: Any) -> None:
    expected = list(reader.read([QUESTION], [CONTEXTS["en"]]))
    reader.model.train()
    check_equal(list(reader.read([QUESTION], [CONTEXTS["en"]])), expected)
