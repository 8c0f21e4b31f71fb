"""From the logits of a model to answers: which spans of the context, how sure, and whether there is an answer."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extractive.windows import Window
from qa_scoring.text.tokenizers.scripts import has_unspaced

FloatArray = NDArray[np.float64]

_JOINER = "\u200d"


@dataclass(frozen=True)
class AnswerSettings:
    """How answers are chosen.

    Args:
        top_k: How many answers, by probability, at least 1.
        n_best: How many spans are listed with their logits, at least 1.
        max_answer_len: Longest answer, in tokens, at least 1.
        handle_impossible_answer: Whether "no answer" is one of the answers.
        null_threshold: None, or the null odds above which there is no answer; at or below them the answer is the
            best span of ``n_best``.
        align_to_words: Whether answers begin and end where words do; None only where words have spaces between them.

    Raises:
        InputError: One of them is not that.
    """

    top_k: int = 1
    n_best: int = 20
    max_answer_len: int = 15
    handle_impossible_answer: bool = False
    null_threshold: float | None = None
    align_to_words: bool | None = None

    def __post_init__(self) -> None:
        for name in ("top_k", "n_best", "max_answer_len"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise parameter_error(name, "an integer of at least 1", value)
        if not isinstance(self.handle_impossible_answer, bool):
            raise parameter_error("handle_impossible_answer", "True or False", self.handle_impossible_answer)
        if self.align_to_words not in (None, True, False):
            raise parameter_error("align_to_words", "None, True or False", self.align_to_words)
        threshold = self.null_threshold
        if threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or np.isnan(threshold)
        ):
            raise parameter_error("null_threshold", "None or a number", threshold)


class Span(NamedTuple):
    """A part of a context, or nothing.

    Args:
        text: ``context[start:end]``; ``""`` for "no answer".
        start: First character.
        end: The character after the last.
        probability: In [0, 1], among the spans it is listed with.
        start_logit: Of its first token.
        end_logit: Of its last token.
    """

    text: str
    start: int
    end: int
    probability: float
    start_logit: float
    end_logit: float


class Answer(NamedTuple):
    """An answer as transformers' pipeline gives it.

    Args:
        text: ``context[start:end]``; ``""`` for "no answer".
        start: First character.
        end: The character after the last.
        score: The probability of its start times that of its end, in [0, 1]; summed where a window has the same text
            more than once, and that of the surest window where several have it.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Reading:
    """What a model says of one question.

    Args:
        answers: At least one, at most ``top_k``, surest first.
        n_best: The best spans by their logits, "no answer" always among them.
        null_odds: Logit of "no answer", the least of all windows, minus that of the best span: higher is surer that
            there is no answer.
        no_answer_probability: Of "no answer" among ``n_best``, from 0 to 1.
    """

    answers: list[Answer]
    n_best: list[Span]
    null_odds: float
    no_answer_probability: float

    def dicts(self) -> list[dict[str, Any]]:
        """Return one dict per answer, as the pipeline gives them."""
        n_best = [span._asdict() for span in self.n_best]
        return [
            {
                "score": answer.score,
                "start": answer.start,
                "end": answer.end,
                "answer": answer.text,
                "no_answer_probability": self.no_answer_probability,
                "null_odds": self.null_odds,
                "n_best": n_best,
            }
            for answer in self.answers
        ]


class Logits(NamedTuple):
    """What a model gives for one window of t tokens.

    Args:
        start: Shape (t,).
        end: Shape (t,).
    """

    start: FloatArray
    end: FloatArray


def read_logits(context: str, windows: Sequence[Window], logits: Sequence[Logits], settings: AnswerSettings) -> Reading:
    """Choose answers.

    Args:
        context: What the windows are made of.
        windows: Its windows.
        logits: One for every window, finite.
        settings: How answers are chosen.

    Returns:
        The answers. A context without tokens has none: ``""``, surely.

    Source:
        Devlin et al. 2019, BERT, section 4.3 (null score and threshold); n-best lists as in its SQuAD script;
        ``answers`` as in the question-answering pipeline of transformers 4.
    """
    if not windows:
        nothing = Span("", 0, 0, 1.0, 0.0, 0.0)
        return Reading([Answer("", 0, 0, 1.0)], [nothing], 0.0, 1.0)
    n_best, null_odds = _n_best(context, windows, logits, settings)
    no_answer = next(span.probability for span in n_best if not span.text)
    if settings.null_threshold is None:
        answers = _answers(context, windows, logits, settings)
    else:
        spans = [span for span in n_best if span.text]
        if null_odds > settings.null_threshold or not spans:
            spans = [span for span in n_best if not span.text]
        answers = [Answer(span.text, span.start, span.end, span.probability) for span in spans[: settings.top_k]]
    return Reading(answers or [Answer("", 0, 0, 0.0)], n_best, null_odds, no_answer)


# ------------------------------------------------------------------ answers as in transformers' pipeline


def _answers(
    context: str, windows: Sequence[Window], logits: Sequence[Logits], settings: AnswerSettings
) -> list[Answer]:
    # alignment to words merges candidates
    enough = settings.top_k if settings.align_to_words is False else 2 * settings.top_k + 10
    found: dict[str, Answer] = {}  # by text without case, in all windows
    null_score = np.inf
    for window, (start_logits, end_logits) in zip(windows, logits, strict=True):
        starts, null_start = _probabilities(start_logits, window)
        ends, null_end = _probabilities(end_logits, window)
        null_score = min(null_score, null_start * null_end)
        here: dict[str, Answer] = {}
        length = min(settings.max_answer_len, window.tokens)
        padded = np.concatenate([ends, np.zeros(length - 1)])
        products = starts[:, None] * np.lib.stride_tricks.sliding_window_view(padded, length)  # (count, length)
        for place in _largest(products.ravel(), enough):
            first, more = divmod(int(place), length)
            score = float(products[first, more])
            if first + more >= window.tokens:
                continue
            start, end = _characters(context, window, first, first + more, settings.align_to_words)
            if start >= end:  # only spaces, or marks that the tokenizer put into another order
                continue
            text = context[start:end]
            known = here.get(text.lower())
            here[text.lower()] = (
                Answer(text, start, end, score) if known is None else known._replace(score=known.score + score)
            )
        for key, answer in here.items():  # the same place in two windows is no two chances
            if key not in found or answer.score > found[key].score:
                found[key] = answer
    answers = list(found.values())
    if settings.handle_impossible_answer:
        answers.append(Answer("", 0, 0, float(null_score)))
    return sorted(answers, key=lambda answer: -answer.score)[: settings.top_k]


def _probabilities(logits: FloatArray, window: Window) -> tuple[FloatArray, float]:
    """Return the softmax over the tokens of the context and the null token: shape (count,), and the null token's."""
    own = logits[window.first : window.first + window.tokens]
    highest = max(own.max(), logits[window.null])
    weights, null = np.exp(own - highest), np.exp(logits[window.null] - highest)
    total = weights.sum() + null
    return weights / total, float(null / total)


def _largest(values: FloatArray, count: int) -> NDArray[np.int64]:
    """Return the places of the largest values, largest first; of equal ones the first."""
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    places = np.sort(np.argpartition(-values, count - 1)[:count])
    return places[np.argsort(-values[places], kind="stable")]


# --------------------------------------------------------------------- the n-best list of the SQuAD script


def _n_best(
    context: str, windows: Sequence[Window], logits: Sequence[Logits], settings: AnswerSettings
) -> tuple[list[Span], float]:
    """Return the best spans with the null span among them, and the null odds."""
    candidates: list[tuple[float, int, int, int]] = []  # sum of logits, window, first and last token of the context
    for number, (window, (start_logits, end_logits)) in enumerate(zip(windows, logits, strict=True)):
        starts = _largest(start_logits, settings.n_best) - window.first
        ends = _largest(end_logits, settings.n_best) - window.first
        starts = starts[(starts >= 0) & (starts < window.tokens)]
        ends = ends[(ends >= 0) & (ends < window.tokens)]
        if len(windows) > 1:
            starts = starts[[_has_most_context(windows, number, window.start + int(start)) for start in starts]]
        lengths = ends[None, :] - starts[:, None] + 1
        sums = start_logits[starts + window.first][:, None] + end_logits[ends + window.first][None, :]
        rows, columns = np.nonzero((lengths >= 1) & (lengths <= settings.max_answer_len))
        candidates += zip(
            sums[rows, columns].tolist(),
            [number] * len(rows),
            starts[rows].tolist(),
            ends[columns].tolist(),
            strict=True,
        )
    candidates.sort(key=lambda candidate: -candidate[0])
    sums_of_null = [
        float(start_logits[window.null] + end_logits[window.null])
        for window, (start_logits, end_logits) in zip(windows, logits, strict=True)
    ]
    least = int(np.argmin(sums_of_null))
    null = Span(
        "",
        0,
        0,
        0.0,
        float(logits[least].start[windows[least].null]),
        float(logits[least].end[windows[least].null]),
    )
    spans: list[Span] = []
    seen: set[str] = set()
    for _, number, first, last in candidates:
        if len(spans) == settings.n_best:
            break
        window = windows[number]
        start, end = _characters(context, window, first, last, settings.align_to_words)
        text = context[start:end]
        if text and text not in seen:
            seen.add(text)
            start_logit = float(logits[number].start[window.first + first])
            spans.append(Span(text, start, end, 0.0, start_logit, float(logits[number].end[window.first + last])))
    null_sum = sums_of_null[least]
    best = spans[0].start_logit + spans[0].end_logit if spans else 0.0  # as the script does
    place = sum(span.start_logit + span.end_logit >= null_sum for span in spans)
    listed = [*spans[:place], null, *spans[place:]][: settings.n_best]
    if null not in listed:
        listed.append(null)
    totals = np.array([span.start_logit + span.end_logit for span in listed])
    weights = np.exp(totals - totals.max())
    shares = (weights / weights.sum()).tolist()
    return [span._replace(probability=share) for span, share in zip(listed, shares, strict=True)], null_sum - best


def _has_most_context(windows: Sequence[Window], number: int, token: int) -> bool:
    """Whether, of all windows that hold a token, this one shows most of what is around it: the first of equals."""

    def context_around(other: int) -> float:
        if not 0 <= other < len(windows):
            return -1.0
        window = windows[other]
        left, right = token - window.start, window.start + window.tokens - 1 - token
        return min(left, right) + 0.01 * window.tokens if left >= 0 and right >= 0 else -1.0

    own = context_around(number)
    before, after = number - 1, number + 1
    while (around := context_around(before)) >= 0:
        if around >= own:
            return False
        before -= 1
    while (around := context_around(after)) >= 0:
        if around > own:
            return False
        after += 1
    return True


# --------------------------------------------------------------------------------- tokens to characters


def _characters(context: str, window: Window, first: int, last: int, align: bool | None) -> tuple[int, int]:
    """Return the characters of some tokens of the context, without spaces around them and no character cut in two."""
    encoding = window.encoding
    first, last = window.first + first, window.first + last
    start, end = window.offsets[first][0], window.offsets[last][1]
    if align is not False:
        word, last_word = encoding.token_to_word(first), encoding.token_to_word(last)
        if word is not None and last_word is not None:
            wide_start = encoding.word_to_chars(word, window.context_side)[0]
            wide_end = encoding.word_to_chars(last_word, window.context_side)[1]
            added = context[wide_start:start], context[end:wide_end]
            one_word = all(len(text.split()) <= 1 for text in added)  # some tokenizers take a whole text for a word
            if one_word and (align or not has_unspaced("".join(added))):
                start, end = wide_start, wide_end
    while start < end and context[start].isspace():
        start += 1
    while start < end and context[end - 1].isspace():
        end -= 1
    if start < end:
        while start > 0 and _continues(context, start):
            start -= 1
        while end < len(context) and _continues(context, end):
            end += 1
    return start, end


def _continues(text: str, place: int) -> bool:
    """Whether the character here is one with the character before it, for a reader."""
    here, before = text[place], text[place - 1]
    if here.isascii() or here.isspace() or before.isspace():
        return False
    return (
        unicodedata.category(here).startswith("M")
        or here == _JOINER
        or "\U0001f3fb" <= here <= "\U0001f3ff"  # skin colours
        or "\U000e0020" <= here <= "\U000e007f"  # tags: flags of regions
        or "\u1160" <= here <= "\u11ff"  # vowels and finals of decomposed Hangul
        or before == _JOINER
    )


def check_finite(logits: Logits, name: str) -> None:
    """Refuse logits that are no numbers.

    Args:
        logits: Of one window.
        name: Which example, for the message.

    Raises:
        InputError: One is NaN or infinite.
    """
    if not (np.isfinite(logits.start).all() and np.isfinite(logits.end).all()):
        raise InputError(
            f"{name}: the model gave logits that are no numbers: its weights are broken, or too large for float16 "
            f"('bfloat16' and 'float32' have the range)."
        )
