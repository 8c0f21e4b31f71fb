"""What is read off logits, against a plain loop over all spans written here."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from qa_scoring.errors import InputError
from qa_scoring.extractive.spans import AnswerSettings, Logits, Reading, read_logits
from qa_scoring.extractive.windows import Window, WindowMaker
from qa_scoring.text.tokenizers.scripts import has_unspaced
from tests.extractive.conftest import CONTEXTS, QUESTION, make_tokenizer

KINDS = ("wordpiece", "bytes", "unigram", "context first")
REPEATED = "Paris paris PARIS Rome Paris rome " * 3


def make_windows(kind: str, context: str, max_seq_len: int = 32) -> list[Window]:
    maker = WindowMaker(make_tokenizer(kind), max_seq_len=max_seq_len, doc_stride=6, max_question_len=8)
    return maker.make([QUESTION], [context])[0]


def random_logits(windows: Sequence[Window], seed: int, scale: float = 2.0) -> list[Logits]:
    draw = np.random.default_rng(seed)
    return [Logits(*draw.normal(scale=scale, size=(2, len(window.offsets)))) for window in windows]


# ---------------------------------------------------------------- the reference


def characters(context: str, window: Window, first: int, last: int, align: bool | None) -> tuple[int, int]:
    """First character and the one after the last of two tokens of a window; equal ones for nothing."""
    start, end = window.offsets[first][0], window.offsets[last][1]
    encoding = window.encoding
    words = encoding.token_to_word(first), encoding.token_to_word(last)
    if align is not False and None not in words:
        wide = (
            min(a for a, _ in word_of(window, words[0])),
            max(b for _, b in word_of(window, words[1])),
        )
        if align or not has_unspaced(context[wide[0] : start] + context[end : wide[1]]):
            start, end = wide
    text = context[start:end]
    if not text.strip():
        return 0, 0
    start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())

    def joined(place: int) -> bool:
        if not 0 < place < len(context) or context[place].isspace() or context[place - 1].isspace():
            return False
        here, before = context[place], context[place - 1]
        mark = unicodedata.category(here)[0] == "M" or here in "\u200d" or 0x1F3FB <= ord(here) <= 0x1F3FF
        late = 0xE0020 <= ord(here) <= 0xE007F or 0x1160 <= ord(here) <= 0x11FF
        return mark or late or (before == "\u200d" and ord(here) > 127)

    while joined(start):
        start -= 1
    while joined(end):
        end += 1
    return start, end


def word_of(window: Window, word: int) -> list[tuple[int, int]]:
    encoding = window.encoding
    tokens = range(window.first, window.first + window.tokens)
    return [window.offsets[token] for token in tokens if encoding.token_to_word(token) == word]


def all_spans(window: Window, longest: int) -> list[tuple[int, int]]:
    tokens = range(window.first, window.first + window.tokens)
    return [(first, last) for first in tokens for last in tokens if first <= last < first + longest]


def softmax(values: Sequence[float]) -> list[float]:
    weights = [math.exp(value - max(values)) for value in values]
    return [weight / sum(weights) for weight in weights]


def naive_answers(
    context: str, windows: Sequence[Window], logits: Sequence[Logits], settings: AnswerSettings
) -> list[tuple[str, int, int, float]]:
    """transformers' pipeline: the product of two probabilities, equal texts of a window together; the surest window."""
    best: dict[str, list[Any]] = {}
    nulls = []
    for window, (start, end) in zip(windows, logits, strict=True):
        tokens = [window.null, *range(window.first, window.first + window.tokens)]
        starts = dict(zip(tokens, softmax([start[token] for token in tokens]), strict=True))
        ends = dict(zip(tokens, softmax([end[token] for token in tokens]), strict=True))
        nulls.append(starts[window.null] * ends[window.null])
        scored = [(starts[a] * ends[b], a, b) for a, b in all_spans(window, settings.max_answer_len)]
        scored.sort(key=lambda one: -one[0])
        enough = settings.top_k if settings.align_to_words is False else 2 * settings.top_k + 10
        found: list[list[Any]] = []
        for score, a, b in scored[:enough]:
            first, last = characters(context, window, a, b, settings.align_to_words)
            text = context[first:last]
            same = [one for one in found if one[0].lower() == text.lower()]
            if same:
                same[0][3] += score
            elif text:
                found.append([text, first, last, score])
        for one in found:
            key = one[0].lower()
            best[key] = max(best.get(key, one), one, key=lambda other: other[3])
    found = list(best.values())
    if settings.handle_impossible_answer:
        found.append(["", 0, 0, min(nulls)])
    found.sort(key=lambda one: -one[3])
    return [tuple(one) for one in found[: settings.top_k]] or [("", 0, 0, 0.0)]


def naive_n_best(
    context: str, windows: Sequence[Window], logits: Sequence[Logits], settings: AnswerSettings
) -> tuple[list[tuple[str, float, float]], float]:
    """The SQuAD script: sums of logits, every start where it has most context, [CLS] for nothing."""

    def around(window: Window, token: int) -> float:
        return min(token - window.start, window.start + window.tokens - 1 - token) + 0.01 * window.tokens

    candidates = []
    for number, (window, (start, end)) in enumerate(zip(windows, logits, strict=True)):
        best_starts = sorted(range(len(start)), key=lambda token: -start[token])[: settings.n_best]
        best_ends = sorted(range(len(end)), key=lambda token: -end[token])[: settings.n_best]
        for a, b in all_spans(window, settings.max_answer_len):
            token = a - window.first + window.start
            holding = [k for k, other in enumerate(windows) if other.start <= token < other.start + other.tokens]
            best = max(holding, key=lambda k: (around(windows[k], token), -k))
            if a in best_starts and b in best_ends and best == number:
                candidates.append((start[a] + end[b], characters(context, window, a, b, settings.align_to_words)))
    candidates.sort(key=lambda one: -one[0])
    spans: dict[str, float] = {}
    for total, (first, last) in candidates:
        if context[first:last] and len(spans) < settings.n_best:
            spans.setdefault(context[first:last], total)
    null = min(start[window.null] + end[window.null] for window, (start, end) in zip(windows, logits, strict=True))
    odds = null - max(spans.values(), default=0.0)
    listed = sorted([*spans.items(), ("", null)], key=lambda one: -one[1])[: settings.n_best]
    if "" not in dict(listed):
        listed.append(("", null))
    shares = softmax([total for _, total in listed])
    return [(text, total, share) for (text, total), share in zip(listed, shares, strict=True)], odds


# ---------------------------------------------------------------- against it


@pytest.mark.parametrize("align", [True, False, None])
@pytest.mark.parametrize("kind", KINDS)
def test_against_all_spans(kind: str, align: bool | None) -> None:
    draw = np.random.default_rng(0)
    for seed, context in enumerate([*CONTEXTS.values(), REPEATED]):
        windows = make_windows(kind, context)
        logits = random_logits(windows, seed)
        settings = AnswerSettings(
            top_k=int(draw.integers(1, 7)),
            n_best=int(draw.integers(1, 12)),
            max_answer_len=int(draw.choice([1, 3, 15, 100])),
            handle_impossible_answer=bool(seed % 2),
            align_to_words=align,
        )
        reading = read_logits(context, windows, logits, settings)
        check_shape(context, reading, settings)
        expected = naive_answers(context, windows, logits, settings)
        assert [answer[:3] for answer in reading.answers] == [one[:3] for one in expected]
        assert [answer.score for answer in reading.answers] == pytest.approx([one[3] for one in expected])
        listed, odds = naive_n_best(context, windows, logits, settings)
        assert [span.text for span in reading.n_best] == [text for text, _, _ in listed]
        totals = [span.start_logit + span.end_logit for span in reading.n_best]
        assert totals == pytest.approx([total for _, total, _ in listed])
        assert [span.probability for span in reading.n_best] == pytest.approx([share for _, _, share in listed])
        assert reading.null_odds == pytest.approx(odds)
        assert reading.no_answer_probability == pytest.approx({text: share for text, _, share in listed}[""])


def check_shape(context: str, reading: Reading, settings: AnswerSettings) -> None:
    assert 1 <= len(reading.answers) <= settings.top_k
    assert len(reading.n_best) <= settings.n_best + 1
    assert [span.text for span in reading.n_best].count("") == 1
    assert sum(span.probability for span in reading.n_best) == pytest.approx(1)
    for one in [*reading.answers, *reading.n_best]:
        assert one.text == context[one.start : one.end]
        assert one.text == one.text.strip()
    texts = [answer.text.lower() for answer in reading.answers]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    "context", ["\u0323", " \u0301x", "e\u0301\u0323 a\u0301\u0323", "\u200d a", "\u00a0\u0301\u2003"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_marks_in_odd_places(kind: str, context: str) -> None:
    windows = make_windows(kind, context)
    for seed in range(10):
        for align in (True, False, None):
            settings = AnswerSettings(top_k=5, align_to_words=align)
            check_shape(context, read_logits(context, windows, random_logits(windows, seed), settings), settings)


@pytest.mark.parametrize("whole", ["🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👩‍👩‍👧‍👦", "👍🏽", "1️⃣", "e\u0301\u0323", "\u1112\u1161\u11ab", "น้", "❤️"])
def test_no_character_is_cut_in_two(whole: str) -> None:
    context = f"a {whole} b"
    windows = make_windows("bytes", context)
    for token in range(windows[0].first, windows[0].first + windows[0].tokens):
        if 2 <= windows[0].offsets[token][0] < 2 + len(whole):
            logits = random_logits(windows, 0, scale=0.0)
            logits[0].start[token] = logits[0].end[token] = 50.0
            [answer] = read_logits(context, windows, logits, AnswerSettings(align_to_words=False)).answers
            assert answer.text == whole


def test_a_text_that_its_tokenizer_takes_for_one_word_is_none() -> None:
    context = "born in Warsaw in 1867"
    windows = make_windows("wordpiece", context)
    logits = random_logits(windows, 0, scale=0.0)
    logits[0].start[windows[0].first + 2] = logits[0].end[windows[0].first + 2] = 50.0

    class Unsplit:
        """The encoding of a tokenizer without words."""

        def token_to_word(self, token: int) -> int:
            return 0

        def word_to_chars(self, word: int, side: int) -> tuple[int, int]:
            return 0, len(context)

    [window] = windows
    [answer] = read_logits(context, [window._replace(encoding=Unsplit())], logits, AnswerSettings()).answers
    assert answer.text == context[slice(*window.offsets[window.first + 2])]


def test_the_null_answer_is_the_least_of_all_windows() -> None:
    windows = make_windows("wordpiece", CONTEXTS["en"])
    assert len(windows) >= 2
    logits = random_logits(windows, 0, scale=0.0)
    for number, (start, end) in enumerate(logits):
        start[windows[number].null], end[windows[number].null] = 3.0 + number, 1.0
    logits[1].start[windows[1].first + 3] = logits[1].end[windows[1].first + 3] = 5.0
    settings = AnswerSettings(n_best=2)
    reading = read_logits(CONTEXTS["en"], windows, logits, settings)
    assert reading.null_odds == pytest.approx(4.0 - 10.0)
    # as in the SQuAD script, [CLS] is among the two best starts and ends, which leaves one span
    assert reading.no_answer_probability == pytest.approx(softmax([10.0, 4.0])[1])


@pytest.mark.parametrize("more", [-1e-9, 0.0, 1e-9])
def test_threshold(more: float) -> None:
    context = CONTEXTS["en"]
    windows = make_windows("wordpiece", context)
    logits = random_logits(windows, 3)
    plain = read_logits(context, windows, logits, AnswerSettings())
    settings = AnswerSettings(null_threshold=plain.null_odds + more, top_k=3)
    reading = read_logits(context, windows, logits, settings)
    spans = [span for span in plain.n_best if (span.text == "") == (more < 0)][:3]
    assert [answer.text for answer in reading.answers] == [span.text for span in spans]
    assert [answer.score for answer in reading.answers] == [span.probability for span in spans]
    assert (reading.n_best, reading.null_odds) == (plain.n_best, plain.null_odds)


@pytest.mark.parametrize("high", [1e4, 1e300])
def test_logits_far_apart(high: float) -> None:
    context = CONTEXTS["ru"]
    windows = make_windows("unigram", context)
    logits = [Logits(start * high, end * high) for start, end in random_logits(windows, 0, scale=1.0)]
    settings = AnswerSettings(top_k=3)
    with np.errstate(all="ignore"):
        reading = read_logits(context, windows, logits, settings)
    check_shape(context, reading, settings)
    assert all(math.isfinite(answer.score) for answer in reading.answers)


def test_a_context_without_tokens_has_no_answer() -> None:
    reading = read_logits("\x00", [], [], AnswerSettings(top_k=3))
    assert [answer.text for answer in reading.answers] == [""]
    assert (reading.no_answer_probability, len(reading.n_best)) == (1.0, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top_k", 0), ("top_k", True), ("top_k", 1.0), ("n_best", 0), ("max_answer_len", "15"),
        ("handle_impossible_answer", 1), ("align_to_words", "yes"),
        ("null_threshold", math.nan), ("null_threshold", "0"), ("null_threshold", True),
    ],
)  # fmt: skip
def test_wrong_settings(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"'{name}' must be"):
        AnswerSettings(**{name: value})
