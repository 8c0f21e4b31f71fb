"""The embedded model's parts: matching against plain loops, scores that depend on nothing but the pair."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.encoders.reading import TextReader, TextStates, pad
from qa_scoring.encoders.scorers import no_progress, score_distinct
from qa_scoring.similarity.interaction import Head, InteractionScorer, PairReader
from qa_scoring.similarity.strings import string_features
from tests.similarity.conftest import MAX_LENGTH, bert_config, save_tokenizer

TEXTS = [
    "the river Seine",
    "Seine",
    "New York City",
    "president Obama",
    "two million meters, in the first year of the second world war",
    "1066",
    "in 1066",
    "🤪",
    "\x01\x02",
    "ÉCOLE",
    "a " * 200,
]
PAIRS = [(first, second) for first in TEXTS for second in TEXTS]
LAYERS = [0, 2]


@pytest.fixture(scope="module")
def encoder() -> Any:
    from transformers import BertModel

    torch.manual_seed(1)
    return BertModel(bert_config()).eval()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


def make_head(size: int, *, moved: bool = True) -> Head:
    torch.manual_seed(2)
    head = Head(size, 32, layers=LAYERS, rank=4, hidden=8).eval()
    if moved:
        with torch.no_grad():
            head.up.normal_(0, 0.3)
            head.token_weights.normal_(0, 0.3)
    return head


def scorer(encoder: Any, tokenizer: Any, **options: Any) -> InteractionScorer:
    reader = PairReader(TextReader(encoder, tokenizer, max_length=MAX_LENGTH, **options))
    return InteractionScorer(reader, make_head(reader.size), facts={"model": "tiny"})


def by_hand(first: TextStates, second: TextStates, layers: Sequence[int]) -> list[float]:
    """Match two texts with loops: BERTScore, equations 1 to 3, without weights."""
    found: list[float] = []
    for layer in layers:
        one, other = first.tokens[layer].double().numpy(), second.tokens[layer].double().numpy()
        precisions = [max(float(x @ y) for y in other) for x in one]
        recalls = [max(float(x @ y) for x in one) for y in other]
        precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
        found += [
            float(first.mean[layer].double() @ second.mean[layer].double()),
            2 * precision * recall / max(precision + recall, 0.05),
            max(precision, recall),
            min(precision, recall),
            min(precisions + recalls),
        ]
    return found


def test_matching_equals_plain_loops(encoder: Any, tokenizer: Any) -> None:
    reader = PairReader(TextReader(encoder, tokenizer, max_length=MAX_LENGTH))
    states = reader.texts.encode(TEXTS)
    assert [states[text].truncated for text in TEXTS] == [False] * 10 + [True]
    seen = 0
    for rows, features, first, second in reader.read(PAIRS, no_progress):
        for row, feature, one, other in zip(rows, features, first, second, strict=True):
            expected = by_hand(one, other, range(3)) + list(string_features(PAIRS[row]))
            assert feature.tolist() == pytest.approx(expected, abs=1e-5)
            seen += 1
    assert seen == len(PAIRS)


def test_states_are_the_encoders(encoder: Any, tokenizer: Any) -> None:
    reader = PairReader(TextReader(encoder, tokenizer, max_length=MAX_LENGTH))
    for text, states in reader.texts.encode(TEXTS[:7]).items():
        with torch.inference_mode():
            layers = encoder(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        for layer, hidden in enumerate(layers):
            direction = torch.nn.functional.normalize(hidden[0], dim=-1)[1:-1]
            torch.testing.assert_close(states.tokens[layer], direction, rtol=0, atol=1e-5)
            mean = torch.nn.functional.normalize(hidden[0].mean(0), dim=-1)
            torch.testing.assert_close(states.mean[layer], mean, rtol=0, atol=1e-5)


def test_a_learnt_space_starts_as_it_is(encoder: Any, tokenizer: Any) -> None:
    reader = PairReader(TextReader(encoder, tokenizer, max_length=MAX_LENGTH))
    head = make_head(reader.size, moved=False)
    for _, features, first, second in reader.read(PAIRS[:20], no_progress):
        with torch.inference_mode():
            learnt = head.rematch(pad(first, LAYERS), pad(second, LAYERS))
        for place, layer in enumerate(LAYERS):
            # all but the cosine of the means, which leaves [CLS] and [SEP] out here
            torch.testing.assert_close(
                learnt[:, 5 * place + 1 : 5 * place + 5], features[:, 5 * layer + 1 : 5 * layer + 5], rtol=0, atol=1e-5
            )


@pytest.mark.parametrize("batch_size", [None, 1, 7, 64])
def test_a_score_depends_on_its_pair_only(batch_size: int | None, encoder: Any, tokenizer: Any) -> None:
    alone = scorer(encoder, tokenizer)
    expected = np.array([score_distinct(alone, [pair]).scores[0] for pair in PAIRS])
    assert expected.std() > 0.01
    order = random.Random(3).sample(range(len(PAIRS)), len(PAIRS))
    found = score_distinct(scorer(encoder, tokenizer, batch_size=batch_size), [PAIRS[row] for row in order])
    assert found.scores == pytest.approx(expected[order], abs=1e-5)
    assert found.truncated.tolist() == [TEXTS[-1] in PAIRS[row] for row in order]


def test_the_order_of_the_two_texts_does_not_matter(encoder: Any, tokenizer: Any) -> None:
    made = scorer(encoder, tokenizer)
    scores = score_distinct(made, PAIRS).scores
    assert score_distinct(made, [pair[::-1] for pair in PAIRS]).scores == pytest.approx(scores, abs=1e-6)


def test_parts_are_bounded_by_tokens(encoder: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score_distinct(scorer(encoder, tokenizer), PAIRS).scores
    monkeypatch.setattr("qa_scoring.encoders.reading._TOKENS_AT_ONCE", 100)
    reader = PairReader(TextReader(encoder, tokenizer, max_length=MAX_LENGTH))
    parts = list(reader.texts.parts(PAIRS))
    assert [row for part in parts for row in part] == list(range(len(PAIRS)))
    assert len(parts) > 20
    assert score_distinct(scorer(encoder, tokenizer), PAIRS).scores == pytest.approx(whole, abs=1e-5)


@given(st.text(min_size=1), st.text(min_size=1))
def test_string_features_are_symmetric_and_from_0_to_1(first: str, second: str) -> None:
    found = string_features((first, second))
    assert found == string_features((second, first))
    assert all(0 <= value <= 1 for value in found)
    assert string_features((first, first))[4:7] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the Seine", "Seine", {"token_f1": 1.0, "same_words": 1.0, "numbers": 0.0}),
        ("river Seine", "Seine", {"token_f1": 2 / 3, "larger": 1.0, "smaller": 0.5, "same_words": 0.0}),
        ("abc", "abd", {"trigrams": 0.5, "contained": 0.5, "length": 1.0}),
        ("in 1066", "1066", {"numbers": 1.0, "same_numbers": 1.0, "shared_number": 1.0, "one_has_numbers": 0.0}),
        ("5 of 10", "5", {"same_numbers": 0.0, "shared_number": 1.0}),
        ("5", "five", {"numbers": 0.0, "one_has_numbers": 1.0, "token_f1": 0.0}),
        ("?!", "...", {"token_f1": 0.0, "same_words": 0.0}),
    ],
)
def test_string_features(first: str, second: str, expected: dict[str, float]) -> None:
    found = string_features((first, second))._asdict()
    assert {name: found[name] for name in expected} == pytest.approx(expected)
