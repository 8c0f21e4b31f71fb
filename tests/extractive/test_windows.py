"""Windows against one call of the tokenizer that cuts nothing, over texts in any script."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring.errors import InputError
from qa_scoring.extractive.windows import WindowMaker
from tests.extractive.conftest import CONTEXTS, QUESTION, make_tokenizer

KINDS = ("wordpiece", "bytes", "unigram", "context first")
PIECES = [
    *" ".join(CONTEXTS.values()).split(),
    "\u0301\u0323",
    "[SEP]",
    "[CLS]",
    "\x00",
    "\x1c",
    "\u200b",
    "\u202e",
    "\n\t ",
]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50, deadline=None)
@given(
    question=TEXTS,
    context=TEXTS,
    max_seq_len=st.integers(8, 40),
    doc_stride=st.integers(0, 7),
    max_question_len=st.integers(1, 20),
)
def test_windows_cover_the_context(
    kind: str, question: str, context: str, max_seq_len: int, doc_stride: int, max_question_len: int
) -> None:
    tokenizer = make_tokenizer(kind)
    maker = WindowMaker(tokenizer, max_seq_len=max_seq_len, doc_stride=doc_stride, max_question_len=max_question_len)
    [windows] = maker.make([question], [context])
    whole = tokenizer(context, add_special_tokens=False, verbose=False).encodings[0]
    room = max_seq_len - tokenizer.num_special_tokens_to_add(pair=True)
    covered = 0
    for window in windows:
        ids = window.inputs["input_ids"]
        lengths = {len(values) for values in window.inputs.values()} | {len(window.offsets)}
        assert lengths == {len(ids)}
        assert len(ids) <= max_seq_len
        own = slice(window.first, window.first + window.tokens)
        end = window.start + window.tokens
        assert ids[own] == whole.ids[window.start : end]  # neither the question nor what is added
        assert window.offsets[own] == whole.offsets[window.start : end]
        assert all(0 <= first <= last <= len(context) for first, last in window.offsets[own])
        assert set(window.encoding.sequence_ids[own]) == {window.context_side}
        assert window.encoding.sequence_ids[window.null] is None
        assert ids[window.null] == tokenizer.cls_token_id
        asked = window.encoding.sequence_ids.count(1 - window.context_side)
        assert asked <= min(max_question_len, room // 2)
        if window.start:
            assert covered - window.start == min(doc_stride, (room - asked) // 2)
        assert end > covered
        covered = end
    assert covered == len(whole.ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_question_is_cut_at_its_end(kind: str) -> None:
    tokenizer = make_tokenizer(kind)
    maker = WindowMaker(tokenizer, max_seq_len=64, doc_stride=8, max_question_len=10)
    [[window, *_]] = maker.make([QUESTION * 500], ["Warsaw"])
    asked = [
        token
        for token, side in zip(window.inputs["input_ids"], window.encoding.sequence_ids, strict=True)
        if side == 1 - window.context_side
    ]
    start = tokenizer(QUESTION * 2, add_special_tokens=False)["input_ids"]
    assert 5 <= len(asked) <= 10
    assert asked[:-2] == start[: len(asked) - 2]  # what is left of the last word may become other tokens


def test_tokenizers_that_cut_on_the_left_give_the_same_tokens() -> None:
    left = make_tokenizer("bytes", truncation_side="left")
    options: dict[str, Any] = {"max_seq_len": 40, "doc_stride": 6, "max_question_len": 8}
    texts = [QUESTION * 300], [CONTEXTS["th"]]  # one that is cut a character at a time takes minutes
    [usual] = WindowMaker(make_tokenizer("bytes"), **options).make(*texts)
    [windows] = WindowMaker(left, **options).make(*texts)
    starts = [window.start for window in windows]
    assert starts == sorted(starts)
    assert windows[0].start == 0
    assert len(windows) == len(usual) > 3

    def asked(window: Any) -> list[int]:
        return [
            i for i, side in zip(window.inputs["input_ids"], window.encoding.sequence_ids, strict=True) if side == 0
        ]

    assert asked(windows[0]) == asked(usual[0])
    whole = left(CONTEXTS["th"], add_special_tokens=False)["input_ids"]
    for window in windows:
        own = window.inputs["input_ids"][window.first : window.first + window.tokens]
        assert own == whole[window.start : window.start + window.tokens]


def test_examples_do_not_touch_each_other() -> None:
    maker = WindowMaker(make_tokenizer("unigram"), max_seq_len=30, doc_stride=5, max_question_len=64)
    questions = [QUESTION[: 5 + 3 * number] for number in range(len(CONTEXTS))]
    together = maker.make(questions, list(CONTEXTS.values()))
    for question, context, windows in zip(questions, CONTEXTS.values(), together, strict=True):
        [alone] = maker.make([question], [context])
        assert [window.inputs for window in windows] == [window.inputs for window in alone]
        assert [window[1:6] for window in windows] == [window[1:6] for window in alone]


@pytest.mark.parametrize(
    ("max_seq_len", "doc_stride", "message"),
    [(4, 0, "'max_seq_len' must be at least 5"), (20, 20, r"'doc_stride' must be less than max_seq_len \(20\)")],
)
def test_windows_without_room(max_seq_len: int, doc_stride: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        WindowMaker(make_tokenizer("wordpiece"), max_seq_len=max_seq_len, doc_stride=doc_stride, max_question_len=64)


def test_the_smallest_window_there_is() -> None:
    maker = WindowMaker(make_tokenizer("wordpiece"), max_seq_len=5, doc_stride=4, max_question_len=64)
    [windows] = maker.make([QUESTION], ["Warsaw in 1867"])
    assert {window.tokens for window in windows} == {1}
    assert maker.make([QUESTION], ["\x00"]) == [[]]
