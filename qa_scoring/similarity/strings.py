"""What two strings share, as numbers; a part of what the embedded model sees, so a change here is another model."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from qa_scoring.encoders.scorers import Pair


class StringFeatures(NamedTuple):
    """What the two strings of a pair share, whichever comes first; every figure is from 0 to 1.

    Args:
        token_f1: Token F1 of the words, without articles.
        larger: The larger of token precision and recall.
        smaller: The smaller of the two.
        same_words: 1 if the words are the same.
        trigrams: Dice coefficient of the character trigrams.
        contained: Shared trigrams as a part of the shorter string's.
        length: The shorter length divided by the longer.
        numbers: 1 if both have digits.
        same_numbers: 1 if both have the same numbers, and any.
        shared_number: 1 if they share a number.
        one_has_numbers: 1 if only one has digits.
    """

    token_f1: float
    larger: float
    smaller: float
    same_words: float
    trigrams: float
    contained: float
    length: float
    numbers: float
    same_numbers: float
    shared_number: float
    one_has_numbers: float


def string_features(pair: Pair) -> StringFeatures:
    """Describe what the two strings of a pair share.

    Args:
        pair: Two texts; case does not matter.

    Returns:
        The figures.

    Example:
        >>> found = string_features(("the Seine", "Seine"))
        >>> found.token_f1, round(found.trigrams, 2)
        (1.0, 0.62)
    """
    first, second = (text.lower() for text in pair)
    words, other_words = _words(first), _words(second)
    shared = _shared(words, other_words)
    precision, recall = shared / max(1, words.total()), shared / max(1, other_words.total())
    trigrams, other_trigrams = _trigrams(first), _trigrams(second)
    common = _shared(trigrams, other_trigrams)
    numbers, other_numbers = set(re.findall(r"\d+", first)), set(re.findall(r"\d+", second))
    return StringFeatures(
        token_f1=2 * precision * recall / (precision + recall) if shared else 0.0,
        larger=max(precision, recall),
        smaller=min(precision, recall),
        same_words=float(bool(words) and words == other_words),
        trigrams=2 * common / (trigrams.total() + other_trigrams.total()),
        contained=common / min(trigrams.total(), other_trigrams.total()),
        length=min(len(first), len(second)) / max(len(first), len(second), 1),
        numbers=float(bool(numbers) and bool(other_numbers)),
        same_numbers=float(bool(numbers) and numbers == other_numbers),
        shared_number=float(bool(numbers & other_numbers)),
        one_has_numbers=float(bool(numbers) != bool(other_numbers)),
    )


def _words(text: str) -> Counter[str]:
    return Counter(word for word in re.findall(r"\w+", text) if word not in ("a", "an", "the"))


def _trigrams(text: str) -> Counter[str]:
    padded = f"  {text} "
    return Counter(padded[start : start + 3] for start in range(len(padded) - 2))


def _shared(first: Counter[str], second: Counter[str]) -> int:
    return sum(min(count, second[item]) for item, count in first.items())
