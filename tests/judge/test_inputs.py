"""Triples become the tokens that the tokenizer itself gives; what is too long loses the answer's end first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from qa_scoring.errors import InputError
from qa_scoring.judge.inputs import LEAST_ANSWER, PAIRS, Triple, assemble, item, longest_pairs, pad, triple

TRIPLES = [
    Triple("who is the king of france?", "walt disney", "the king is in paris"),
    Triple("which river?", "seine", "it is not the thames, it is the seine"),
    Triple("when was it made?", "1066", ""),
]


@pytest.fixture
def tokenizer(base: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base)


@pytest.mark.parametrize("pair", ["q-r", "r-t", "q-t"])
def test_two_texts_are_what_the_tokenizer_makes_of_them(tokenizer: Any, pair: str) -> None:
    first, second = PAIRS[pair]
    texts = [{"q": t.question, "r": t.reference, "t": t.answer} for t in TRIPLES]
    expected = tokenizer([text[first] for text in texts], [text[second] for text in texts])
    found = assemble(tokenizer, [pair], TRIPLES, 64)
    assert {name: list(values) for name, values in expected.items()} == found.pairs[0]
    assert found.truncated == [False] * 3


@pytest.mark.parametrize("pair", ["q-rt", "r-qt", "t-qr"])
def test_two_texts_of_one_side_have_a_separator_between_them(tokenizer: Any, pair: str) -> None:
    first, second = PAIRS[pair]
    texts = [{"q": t.question, "r": t.reference, "t": t.answer} for t in TRIPLES]
    joined = [tokenizer.sep_token.join(text[letter] for letter in second) for text in texts]
    expected = tokenizer([text[first] for text in texts], joined)
    assert assemble(tokenizer, [pair], TRIPLES, 64).pairs[0] == {
        name: list(values) for name, values in expected.items()
    }


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("max_length", [18, 24, 32])
def test_truncation_protects_question_and_reference(tokenizer: Any, pair: str, max_length: int) -> None:
    question, reference = "who was it?", "walt"
    whole = assemble(tokenizer, [pair], [Triple(question, reference, "")], 64).pairs[0]["input_ids"][0]
    answer = " ".join(["the king of paris"] * 20)
    found = assemble(tokenizer, [pair], [Triple(question, reference, answer)], max_length)
    ids = found.pairs[0]["input_ids"][0]
    if "t" not in "".join(PAIRS[pair]):
        assert (ids, found.truncated) == (whole, [False])
        return
    fits = len(whole) + LEAST_ANSWER <= max_length
    assert found.truncated == [True]
    assert len(ids) == max_length
    for text in {"q": [question], "r": [reference]}.items():
        if text[0] in "".join(PAIRS[pair]) and fits:
            assert contains(ids, tokenizer(text[1][0], add_special_tokens=False)["input_ids"])
    kept = tokenizer(answer, add_special_tokens=False)["input_ids"][: max_length - len(whole)]
    assert not fits or contains(ids, kept)  # its beginning


def contains(ids: list[int], part: list[int]) -> bool:
    return any(ids[start : start + len(part)] == part for start in range(len(ids)))


def test_an_answer_is_judged_however_long_the_reference(tokenizer: Any) -> None:
    reference = " ".join(["paris is the city of the king"] * 30)
    triples = [Triple("who was it?", reference, answer) for answer in ("walt disney", "the thames")]
    found = assemble(tokenizer, ["q-rt", "r-t"], triples, 48)
    assert found.truncated == [True, True]
    for pair in found.pairs:
        assert [len(ids) for ids in pair["input_ids"]] == [48, 48]
        assert pair["input_ids"][0] != pair["input_ids"][1]
    question = tokenizer("who was it?", add_special_tokens=False)["input_ids"]
    assert contains(found.pairs[0]["input_ids"][0], question)


def test_batches_are_filled_up_on_the_right(tokenizer: Any) -> None:
    found = assemble(tokenizer, ["q-r", "r-qt"], TRIPLES, 64)
    batch = pad(tokenizer, found, [2, 0])
    for number, pair in enumerate(found.pairs):
        expected = tokenizer.pad({name: [values[2], values[0]] for name, values in pair.items()}, return_tensors="pt")
        for name in pair:
            assert torch.equal(batch[f"pair_{number}_{name}"], expected[name])
    assert longest_pairs(found) == [len(ids) for ids in found.pairs[1]["input_ids"]]


def test_no_triples_make_no_tokens(tokenizer: Any) -> None:
    assert assemble(tokenizer, ["q-r"], [], 64).pairs == [
        {name: [] for name in assemble(tokenizer, ["q-r"], TRIPLES, 64).pairs[0]}
    ]


def test_what_cannot_be_assembled(tokenizer: Any) -> None:
    with pytest.raises(InputError, match=r"'max_length' must be at least \d+ for 'q-rt'; got 5"):
        assemble(tokenizer, ["q-rt"], TRIPLES, 5)
    with pytest.raises(InputError, match="reads one reference at a time; got an item of 2"):
        triple(item("who?", "walt", ["disney", "walt disney"]))

    class SlowTokenizer:
        is_fast = False

    with pytest.raises(InputError, match=r"A SlowTokenizer does not say .* fast tokenizer"):
        assemble(SlowTokenizer(), ["q-r"], TRIPLES, 64)
