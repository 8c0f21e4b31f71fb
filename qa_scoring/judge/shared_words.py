"""What question, reference and answer have in common as strings; a part of what the shipped judge sees.

A change here is another model: the order and the meaning of the features are those its weights were trained with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from qa_scoring.judge.words import Words, read_words

_REFUSAL = re.compile(
    r"\b(?:(?:i|we) (?:do not|don't|am not|'m not|cannot|can't|could not|couldn't|was unable|have no)"
    r"|no (?:information|data|answer|record|mention)|not (?:known|sure|specified|mentioned|provided|available|stated)"
    r"|(?:is|are|was) (?:unknown|unclear)|unable to|as an ai|sorry|apologi[sz]e|unanswerable|nobody knows)\b"
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|wasn't|isn't|aren't|didn't|doesn't|weren't|hasn't)\b"
)
_HEDGE = re.compile(
    r"\b(?:may|might|maybe|perhaps|possibly|probably|likely|i (?:think|believe|guess)|could be|seems?|appears?|unclear"
    r"|presumably|about|approximately|around)\b"
)
_SET_ASIDE = ("not", "never", "than", "unlike", "except", "without", "neither", "nor", "instead", "isn't", "wasn't")
_SEPARATOR = re.compile(r"\s*(?:,|;|\band\b|&|/|\bor\b|\bas well as\b)\s*")
_YES, _NO = frozenset(("yes", "yeah", "true", "correct")), frozenset(("no", "nope", "false", "incorrect"))
_MOST_WORDS = 80  # of an answer, for spelling

QUESTION_WORDS = ("who", "when", "where", "how many", "how much", "how", "which", "what", "why", "year", "name", "does")


class SharedWords(NamedTuple):
    """What a reference and an answer share; every figure is from 0 to 1 but ``negation`` (-1 to 1).

    Args:
        recall: Part of the reference's words that the answer has.
        precision: Part of the answer's words that the reference has.
        f1: Token F1.
        novel_recall: Recall of the reference's words that the question does not have.
        novel_precision: Precision of the answer's words that the question does not have.
        included: 1 if the answer has the reference's words, one after the other.
        answer_included: 1 if the reference has the answer's words, one after the other.
        same: 1 if the words are the same.
        trigram_recall: Part of the reference's character trigrams that the answer has.
        trigram_precision: Part of the answer's character trigrams that the reference has.
        trigrams: Dice coefficient of the character trigrams.
        spelling: Mean, over the reference's words, of the likeness of the answer's likest word.
        worst_spelling: The smallest of them.
        last_word: 1 if the answer has the reference's last word.
        first_word: 1 if it has the first.
        initials: 1 if one of them is the other's initials.
        number: 1 if the reference has a number.
        new_number: 1 if the answer has a number that the question has not.
        numbers_found: 1 if the reference has numbers and the answer has them all.
        numbers_missed: 1 if the reference has numbers and the answer has none of them.
        other_number: 1 if the answer has a number that neither question nor reference has.
        near_number: Likeness of the nearest numbers, smaller divided by larger.
        same_quantity: 1 if both have a quantity and one of them is the same within 2 %, in whatever units.
        other_quantity: 1 if both have a quantity of one dimension and none is the same.
        items: Part of the reference's items (a list) whose words the answer has.
        list: 1 if the reference is a list.
        other_items: Part of the answer's items (a list) that share no word with reference and question.
        set_aside: 1 if the reference's words come right after a word that sets them aside ("not", "rather than").
        set_aside_before: 1 if something else is set aside before the reference's words ("not Rome but Paris").
        yes_no: 1 if one says yes and the other no.
        negation: 1 if only the answer has a negation, -1 if only the reference.
        refusal: 1 if the answer sounds like a refusal.
        hedge: 1 if it sounds unsure.
        alternatives: 1 if it has "or" and the reference has not.
        reference_length: Words of the reference, 20 or more being 1.
        answer_length: Words of the answer, 60 or more being 1.
        answer_is_short: 1 if the answer has five words or fewer.
        reference_in_question: Part of the reference's words that the question has.
        answer_in_question: Part of the answer's words that the question has.
        longer: How much longer the answer is than the reference, at most 1 for five times as long.
    """

    recall: float
    precision: float
    f1: float
    novel_recall: float
    novel_precision: float
    included: float
    answer_included: float
    same: float
    trigram_recall: float
    trigram_precision: float
    trigrams: float
    spelling: float
    worst_spelling: float
    last_word: float
    first_word: float
    initials: float
    number: float
    new_number: float
    numbers_found: float
    numbers_missed: float
    other_number: float
    near_number: float
    same_quantity: float
    other_quantity: float
    items: float
    list: float
    other_items: float
    set_aside: float
    set_aside_before: float
    yes_no: float
    negation: float
    refusal: float
    hedge: float
    alternatives: float
    reference_length: float
    answer_length: float
    answer_is_short: float
    reference_in_question: float
    answer_in_question: float
    longer: float


def shared_words(question: str, reference: str, answer: str) -> SharedWords:
    """Describe what a reference and an answer share, given the question.

    Args:
        question: The question.
        reference: One reference.
        answer: The answer.

    Returns:
        The figures.

    Example:
        >>> found = shared_words("How far is it?", "10 miles", "about sixteen kilometres")
        >>> found.recall, found.same_quantity
        (0.0, 1.0)
    """
    q, r, t = read_words(question), read_words(reference), read_words(answer)
    lower = " ".join(answer.lower().replace("’", "'").split())
    shared = _shared(r.counts, t.counts)
    novel_reference, novel_answer = ([word for word in text.words if word not in q.counts] for text in (r, t))
    recall, precision = shared / max(1, len(r.words)), shared / max(1, len(t.words))
    trigrams = _shared(r.trigrams, t.trigrams)
    spelled = _spelling(r.words, t.words[:_MOST_WORDS])
    place = _find(r.words, t.words)
    items, listed = _items(reference), _items(answer)
    new_numbers = t.numbers - q.numbers
    negated = bool(_NEGATION.search(lower)), bool(_NEGATION.search(reference.lower()))
    return SharedWords(
        recall=recall,
        precision=precision,
        f1=2 * shared / max(1, len(r.words) + len(t.words)),
        novel_recall=sum(word in t.counts for word in novel_reference) / len(novel_reference)
        if novel_reference
        else recall,
        novel_precision=sum(word in r.counts for word in novel_answer) / len(novel_answer) if novel_answer else 0.0,
        included=float(place is not None),
        answer_included=float(_find(t.words, r.words) is not None),
        same=float(bool(r.words) and r.words == t.words),
        trigram_recall=trigrams / r.trigrams.total(),
        trigram_precision=trigrams / t.trigrams.total(),
        trigrams=2 * trigrams / (r.trigrams.total() + t.trigrams.total()),
        spelling=sum(spelled) / len(spelled) if spelled else 0.0,
        worst_spelling=min(spelled, default=0.0),
        last_word=float(bool(r.words) and r.words[-1] in t.counts),
        first_word=float(bool(r.words) and r.words[0] in t.counts),
        initials=float(_are_initials(r.words, t.words) or _are_initials(t.words, r.words)),
        number=float(bool(r.numbers)),
        new_number=float(bool(new_numbers)),
        numbers_found=float(bool(r.numbers) and r.numbers <= t.numbers),
        numbers_missed=float(bool(r.numbers) and not r.numbers & t.numbers),
        other_number=float(bool(new_numbers - r.numbers)),
        near_number=max((_near(one, other) for one in r.numbers for other in t.numbers), default=0.0),
        **_quantities(r, t),
        items=sum(all(word in t.counts for word in item) for item in items) / max(1, len(items)),
        list=float(len(items) > 1),
        other_items=sum(not any(word in r.counts or word in q.counts for word in item) for item in listed)
        / max(1, len(listed))
        if len(listed) > 1
        else 0.0,
        **_set_aside(t.words, place),
        yes_no=float(_says(r.words) * _says(t.words) < 0),
        negation=float(negated[0]) - float(negated[1]),
        refusal=float(bool(_REFUSAL.search(lower))),
        hedge=float(bool(_HEDGE.search(lower))),
        alternatives=float("or" in t.counts and "or" not in r.counts),
        reference_length=min(1.0, len(r.words) / 20),
        answer_length=min(1.0, len(t.words) / 60),
        answer_is_short=float(len(t.words) <= 5),
        reference_in_question=sum(word in q.counts for word in r.words) / max(1, len(r.words)),
        answer_in_question=sum(word in q.counts for word in t.words) / max(1, len(t.words)),
        longer=min(1.0, max(0.0, (len(t.words) / max(1, len(r.words)) - 1) / 4)),
    )


def question_kind(question: str) -> list[float]:
    """Say which question words a question has.

    Args:
        question: The question.

    Returns:
        1 or 0 for each of ``QUESTION_WORDS``.

    Example:
        >>> dict(zip(QUESTION_WORDS, question_kind("How many moons?")))["how many"]
        1.0
    """
    padded = f" {' '.join(re.findall(r'[a-z]+', question.lower()))} "
    return [float(f" {words} " in padded) for words in QUESTION_WORDS]


def _shared(first: Counter[str], second: Counter[str]) -> int:
    if len(first) > len(second):
        first, second = second, first
    return sum(min(count, second[item]) for item, count in first.items() if item in second)


def _find(words: Sequence[str], text: Sequence[str]) -> int | None:
    """Return where the words come in a text, one after the other."""
    if not words:
        return None
    starts = (start for start in range(len(text) - len(words) + 1) if text[start] == words[0])
    return next((start for start in starts if text[start : start + len(words)] == words), None)


@lru_cache(maxsize=100_000)
def _letters(word: str) -> Counter[str]:
    padded = f"<{word}>"
    return Counter(padded[start : start + 2] for start in range(len(padded) - 1))


def _spelling(words: Sequence[str], text: Sequence[str]) -> list[float]:
    """Return, for every word, how like the likest word of the text is spelled: Dice of the pairs of letters."""
    known = set(text)
    return [
        1.0
        if word in known
        else max(
            (2 * _shared(_letters(word), _letters(other)) / (len(word) + len(other) + 2) for other in known),
            default=0.0,
        )
        for word in words
    ]


def _are_initials(short: Sequence[str], words: Sequence[str]) -> bool:
    letters = "".join(short)
    if not 2 <= len(letters) <= 6 or len(words) < 2 or len(short) > len(letters) or not letters.isalpha():
        return False
    if len(short) > 1 and any(len(word) > 1 for word in short):
        return False
    all_words = "".join(word[0] for word in words)
    return letters in (all_words, "".join(word[0] for word in words if word not in ("of", "and", "for", "in", "de")))


def _near(one: float, other: float) -> float:
    if one == other:
        return 1.0
    return max(0.0, min(one, other) / max(one, other)) if one > 0 and other > 0 else 0.0


def _quantities(reference: Words, answer: Words) -> dict[str, float]:
    pairs = [
        (one.value, other.value)
        for one in reference.quantities
        for other in answer.quantities
        if one.dimension == other.dimension
    ]
    same = any(_near(one, other) >= 0.98 for one, other in pairs)
    return {"same_quantity": float(same), "other_quantity": float(bool(pairs) and not same)}


@lru_cache(maxsize=50_000)
def _items(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a list into the words of its items."""
    parts = (read_words(part).words for part in _SEPARATOR.split(text) if part.strip())
    return tuple(part for part in parts if part)


def _set_aside(words: Sequence[str], place: int | None) -> dict[str, float]:
    before = words[max(0, place - 3) : place] if place else ()
    aside = any(word in _SET_ASIDE for word in before[-2:]) and "but" not in before
    return {"set_aside": float(aside), "set_aside_before": float("but" in before or "instead" in words[:1])}


def _says(words: Sequence[str]) -> int:
    """Return 1 for yes, -1 for no, 0 for neither."""
    return 0 if not words else int(words[0] in _YES) - int(words[0] in _NO)
