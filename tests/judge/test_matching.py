"""The matching judge's parts: matching against plain loops, and probabilities that depend on nothing but the item."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qa_scoring.encoders.base_model import load_encoder
from qa_scoring.encoders.reading import TextReader, TextStates
from qa_scoring.encoders.scorers import Texts, no_progress, score_distinct
from qa_scoring.judge.inputs import item
from qa_scoring.judge.loading import load_judge
from qa_scoring.judge.matching import (
    FEATURES_PER_LAYER,
    MOST_REFERENCES,
    ItemReader,
    MatchingHead,
    best_of,
    chosen_references,
    match,
)
from qa_scoring.judge.matching_judge import load_matching_judge
from qa_scoring.judge.shared_words import question_kind, shared_words

QUESTIONS = ["which river is in paris?", "who was it", "🤪", ""]
TEXTS = ["the river seine", "seine", "walt disney", "in 1066", "six miles", "ÉCOLE", "\x01\x02", "a city " * 60]
ITEMS: list[Texts] = [
    item(question, answer, [reference]) for question in QUESTIONS for answer in TEXTS for reference in TEXTS
]
MANY = [item("which river", "the seine in paris", TEXTS[:count]) for count in range(1, len(TEXTS))]


@pytest.fixture(scope="module")
def reader(bert_base: Path) -> ItemReader:
    return ItemReader(TextReader(*load_encoder(bert_base), max_length=32))


def best(token: Any, others: Any) -> float:
    return max(float(token @ other) for other in others)


def weighed(cosines: list[float], weights: list[float]) -> float:
    return sum(c * w for c, w in zip(cosines, weights, strict=True)) / sum(weights)


def by_hand(question: TextStates, reference: TextStates, answer: TextStates) -> list[float]:
    """Match two texts with loops: BERTScore, equations 1 and 2, and the weights of what the question has."""
    found: list[float] = []
    for layer in range(len(question.mean)):
        q, r, t = (text.tokens[layer].double().numpy() for text in (question, reference, answer))
        qm, rm, tm = (text.mean[layer].double().numpy() for text in (question, reference, answer))
        recalled, precise = [best(token, t) for token in r], [best(token, r) for token in t]
        new_in_reference, new_in_answer = ([max(0.02, 1 - best(token, q)) for token in side] for side in (r, t))
        found += [
            sum(recalled) / len(recalled),
            sum(precise) / len(precise),
            min(recalled),
            min(precise),
            float(rm @ tm),
            weighed(recalled, new_in_reference),
            weighed(precise, new_in_answer),
            float(qm @ tm),
            float(qm @ rm),
        ]
    return found


def test_matching_equals_plain_loops(reader: ItemReader) -> None:
    seen = 0
    for reading in reader.read(ITEMS, no_progress):
        for (row, number), features in zip(reading.pairs, reading.features, strict=True):
            question, answer, *references = ITEMS[row]
            states = reader.texts.encode([question, references[number], answer])
            texts = (question, references[number], answer)
            expected = [*by_hand(*(states[text] for text in texts)), *shared_words(*texts), *question_kind(question)]
            assert features.tolist() == pytest.approx(expected, abs=1e-5)
            seen += 1
    assert seen == len(ITEMS)
    assert reader.size == FEATURES_PER_LAYER * 3 + len(shared_words("", "", "")) + len(question_kind(""))


def test_matching_does_not_depend_on_what_is_beside(reader: ItemReader) -> None:
    states = reader.texts.encode([*QUESTIONS, *TEXTS])
    triples = [tuple(states[text] for text in (question, TEXTS[-1], TEXTS[1])) for question in QUESTIONS]
    triples += [tuple(states[text] for text in (QUESTIONS[0], TEXTS[1], text)) for text in TEXTS]
    together = match(*(list(side) for side in zip(*triples, strict=True)))
    for row, (question, reference, answer) in enumerate(triples):
        torch.testing.assert_close(together[row], match([question], [reference], [answer])[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_a_probability_depends_on_its_item_only(batch_size: int | None, matching_judge: Path) -> None:
    items = ITEMS + MANY
    alone = load_judge(str(matching_judge), device="cpu", batch_size=1)
    expected = np.array([score_distinct(alone, [one]).scores[0] for one in items])
    assert expected.std() > 0.01
    order = random.Random(3).sample(range(len(items)), len(items))
    judge = load_judge(str(matching_judge), device="cpu", batch_size=batch_size)
    found = score_distinct(judge, [items[row] for row in order])
    assert found.scores == pytest.approx(expected[order], abs=1e-5)
    assert found.truncated.tolist() == [any(TEXTS[-1] in text for text in items[row]) for row in order]


def test_parts_are_bounded_by_tokens(matching_judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = load_judge(str(matching_judge), device="cpu")
    whole = score_distinct(judge, ITEMS + MANY)
    monkeypatch.setattr("qa_scoring.encoders.reading._TOKENS_AT_ONCE", 150)
    kept: list[int] = []
    scores = judge.score(ITEMS + MANY, no_progress, lambda rows, _: kept.extend(rows))
    assert scores.scores == pytest.approx(whole.scores, abs=1e-5)
    assert scores.truncated.tolist() == whole.truncated.tolist()
    assert sorted(kept) == list(range(len(ITEMS + MANY)))


def test_the_best_reference_decides_whatever_their_order(matching_judge: Path) -> None:
    judge = load_judge(str(matching_judge), device="cpu")
    question, answer, references = "which river", "it is the seine", TEXTS[:5]

    def probability(*texts: str) -> float:
        return float(score_distinct(judge, [item(question, answer, texts)]).scores[0])

    alone = [probability(text) for text in references]
    assert len({round(value, 4) for value in alone}) > 2
    rng = random.Random(4)
    for _ in range(5):
        chosen = rng.sample(references, rng.randint(1, 5))
        expected = max(alone[references.index(text)] for text in chosen)
        assert probability(*chosen) == pytest.approx(expected, abs=1e-5)
        assert probability(*chosen, *chosen) == pytest.approx(expected, abs=1e-5)


def test_of_many_references_those_that_share_most_are_read() -> None:
    answer = "the river seine"
    near = ["seine", "river", "the river seine", "rivers", "the seine", "seines"]
    far = ["1066", "walt disney", "xyz", "qqq"]
    references = [far[0], *near[:3], far[1], far[1], *near[3:], far[2], far[3]]
    chosen = chosen_references(answer, references)
    assert len(chosen) == MOST_REFERENCES == 6
    assert sorted(references[number] for number in chosen) == sorted(near)
    assert chosen == sorted(chosen)
    assert chosen_references(answer, references[:6]) == [0, 1, 2, 3, 4]  # five texts, one of them twice
    assert chosen_references("", ["b", "a"]) == [0, 1]
    shuffled = random.Random(1).sample(references, len(references))
    assert {shuffled[number] for number in chosen_references(answer, shuffled)} == set(near)


def test_a_truncated_reference_that_is_not_read_does_not_count(matching_judge: Path) -> None:
    judge = load_judge(str(matching_judge), device="cpu")
    near = ["seine", "river", "the river seine", "rivers", "the seine", "seines"]
    scored = score_distinct(
        judge, [item("which", "the river seine", [*near, "qqq " * 60]), item("w", "a", ["z " * 60])]
    )
    assert scored.truncated.tolist() == [False, True]


def test_the_best_logit_of_every_item() -> None:
    logits = torch.tensor([0.5, -1.0, 2.0, -3.0])
    assert best_of(logits, torch.tensor([1, 0, 1, 2]), 3).tolist() == [-1.0, 2.0, -3.0]
    alone = torch.tensor([1.0, 2.0], requires_grad=True)
    best_of(alone, torch.tensor([0, 0]), 1).sum().backward()  # type: ignore[no-untyped-call]
    assert alone.grad is not None
    assert alone.grad.tolist() == [0.0, 1.0]


def test_the_head_is_linear_plus_a_hidden_layer() -> None:
    torch.manual_seed(0)
    head = MatchingHead(5, hidden=3).eval()
    head.mean.copy_(torch.arange(5.0))
    head.deviation.fill_(0.5)
    features = torch.randn(4, 5) * 9
    with torch.inference_mode():
        found = head(features)
        for row, logit in zip(features.double(), found, strict=True):
            standard = ((row - head.mean) / 0.5).clamp(-6, 6)
            hidden = head.hidden.weight.double() @ standard + head.hidden.bias
            bent = hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))
            expected = head.linear.weight.double() @ standard + head.linear.bias
            expected = expected + head.output.weight.double() @ bent + head.output.bias
            assert float(logit) == pytest.approx(float(expected), abs=1e-5)


def test_probabilities_are_of_logits_over_the_temperature(matching_judge: Path, reader: ItemReader) -> None:
    judge: Any = load_matching_judge(matching_judge)
    (reading,) = reader.read(ITEMS[:20], no_progress)
    with torch.inference_mode():
        logits = judge._head(reading.features).double().numpy()
    assert judge.facts["temperature"] == 1.5
    assert score_distinct(judge, ITEMS[:20]).scores == pytest.approx(1 / (1 + np.exp(-logits / 1.5)), abs=1e-6)


def test_candidates_are_ranked(matching_judge: Path) -> None:
    judge: Any = load_judge(str(matching_judge), device="cpu")
    candidates = ["it is the seine", " ", "walt", "the seine", "walt"]
    ranked = judge.rerank("which river", "seine", candidates)
    alone = {text: score_distinct(judge, [item("which river", text, ["seine"])]).scores[0] for text in candidates}
    expected = sorted(range(5), key=lambda place: -(alone[candidates[place]] if candidates[place].strip() else 0.0))
    assert [place for place, _ in ranked] == expected
    assert ranked[-1] == (1, 0.0)
