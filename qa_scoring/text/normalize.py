"""Normalisation: named steps in a visible order, one constant per published policy.

A normaliser turns a string into its *normalised words*: the steps run left to right, then the text is
split at white space. Exact match compares the words; tokenizers start from them. The order of the steps
changes the score (SQuAD deletes punctuation before it looks for articles), so it is data, not code.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

Step = Callable[[str], str]
Words = list[str]

UNICODE_VERSION = unicodedata.unidata_version
"""Version of this Python's character data, which decides what is punctuation, a digit or a format character."""

_ASCII_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_ENGLISH_ARTICLES = re.compile(r"\b(?:an?|the)\b")


# ---------------------------------------------------------------- steps of the published policies


def lower(text: str) -> str:
    """Lower-case the text, as ``str.lower`` does."""
    return text.lower()


def delete_ascii_punctuation(text: str) -> str:
    """Delete the 32 characters of ``string.punctuation``; all others stay."""
    return _ASCII_PUNCTUATION.sub("", text)


def replace_english_articles(text: str) -> str:
    """Replace a, an and the by a space, in lower-cased text of any language."""
    return _ENGLISH_ARTICLES.sub(" ", text)


@cache
def _unicode_punctuation() -> re.Pattern[str]:
    """Match runs of every punctuation category of this Python's Unicode, plus ASCII's symbols."""
    points = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")] + [
        ord(character) for character in string.punctuation
    ]
    return re.compile(f"[{_character_class(points)}]+")


def _character_class(points: Iterable[int]) -> str:
    """Write code points as the inside of a regular-expression class, ranges merged."""
    ranges: list[list[int]] = []
    for code in sorted(set(points)):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def delete_unicode_punctuation(text: str) -> str:
    """Delete every Unicode punctuation character and ASCII's symbols (MLQA's set); keep €, °, ×."""
    return _unicode_punctuation().sub("", text)


# ------------------------------------------------------------------------- steps of "unicode"

_KEPT_DECOMPOSITIONS = ("<super>", "<sub>", "<fraction>")  # x² must not become x2, nor ½ become 1/2
# Thai and Lao SARA AM also exist as two characters, with a tone mark before or between them.
_SARA_AM = {"\u0e33", "\u0eb3"}
_THAI_SARA_AM = re.compile("(?:\u0e4d([\u0e48-\u0e4b]?)|([\u0e48-\u0e4b])\u0e4d)\u0e32")
_LAO_SARA_AM = re.compile("(?:\u0ecd([\u0ec8-\u0ecb]?)|([\u0ec8-\u0ecb])\u0ecd)\u0eb2")


class _CharacterMap(dict[int, str]):
    """A ``str.translate`` table that works a character out when it is first met."""

    def __init__(self, function: Callable[[str], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, code: int) -> str:
        replacement = self[code] = self._function(chr(code))
        return replacement


def _fold_character(character: str) -> str:
    """Fold one character and what it is made of, down to what is kept: ㎡ is m², not m2."""
    tag, _, parts = unicodedata.decomposition(character).partition(" ")
    if not tag.startswith("<") or tag in _KEPT_DECOMPOSITIONS or character in _SARA_AM:
        return character
    folded = "".join(_fold_character(chr(int(part, 16))) for part in parts.split())
    if len(folded) > 1 and folded.startswith(" "):
        # To Unicode a spacing accent (´ ¨ ‾, Arabic harakat) is a space and a mark; it must not break the word.
        return character if unicodedata.category(character)[0] in "PS" else folded[1:]
    return folded


def _ascii_digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if unicodedata.category(character) == "Nd" else character


_FOLD = _CharacterMap(_fold_character)
_DIGITS = _CharacterMap(_ascii_digit)
_TURKISH_I = str.maketrans({"İ": "i", "I": "ı"})

# Marks that a reader may leave out: Arabic harakat and Koranic signs, tatweel, Hebrew points. Vowel signs of
# Thai, Khmer and the Indic scripts have the same category (Mn) and must stay: they tell words apart.
_OPTIONAL_MARKS = (
    "\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u0640"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"
)


@cache
def _invisible() -> re.Pattern[str]:
    formats = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cf"]
    return re.compile(f"[{_character_class(formats)}{_OPTIONAL_MARKS}]+")


def compose(text: str) -> str:
    """Bring canonically equal strings to one form (NFC)."""
    return unicodedata.normalize("NFC", text)


def fold_compatibility(text: str) -> str:
    """Fold full-width, half-width, ligature and presentation forms; keep super-, subscripts and fractions."""
    folded = unicodedata.normalize("NFC", text.translate(_FOLD))
    folded = _THAI_SARA_AM.sub(lambda m: (m[1] or m[2] or "") + "\u0e33", folded)
    return _LAO_SARA_AM.sub(lambda m: (m[1] or m[2] or "") + "\u0eb3", folded)


def turkish_i(text: str) -> str:
    """Lower-case İ and I as Turkish and Azerbaijani do."""
    return text.translate(_TURKISH_I)


def casefold(text: str) -> str:
    """Fold case fully (ß = ss, ς = σ) and drop the dot that lower-casing İ leaves behind."""
    return unicodedata.normalize("NFC", text.casefold().replace("i\u0307", "i"))


def ascii_digits(text: str) -> str:
    """Write every decimal digit in ASCII."""
    return text.translate(_DIGITS)


def separate_at_zero_width_space(text: str) -> str:
    """Turn U+200B into a space, in scripts that mark word boundaries with it."""
    return text.replace("\u200b", " ")


def separate_at_tsheg(text: str) -> str:
    """Turn the Tibetan syllable marks U+0F0B and U+0F0C into spaces."""
    return text.replace("\u0f0b", " ").replace("\u0f0c", " ")


def delete_invisible_and_optional_marks(text: str) -> str:
    """Delete format characters, variation selectors, tashkeel, tatweel and niqqud."""
    return _invisible().sub("", text)


def delete_words(words: Iterable[str]) -> Step:
    """Build the step that deletes whole words.

    Args:
        words: The words, as they look after the steps before this one.

    Returns:
        The step.

    Example:
        >>> delete_words(["das"])("das haus")
        'haus'
    """
    unwanted = frozenset(words)

    def delete(text: str) -> str:
        return " ".join(word for word in text.split() if word not in unwanted)

    delete.__name__ = f"delete_words({'|'.join(sorted(unwanted))})"
    return delete


# ------------------------------------------------------------------------------------ policies

SQUAD: tuple[Step, ...] = (lower, delete_ascii_punctuation, replace_english_articles)
"""SQuAD's script (Rajpurkar et al. 2016), also M2QA's, XQuAD's and TyDiQA-GoldP's, for every language."""

_WORD_SEPARATORS: dict[str, Step] = {
    **dict.fromkeys(("th", "lo", "km", "my"), separate_at_zero_width_space),
    "bo": separate_at_tsheg,
}


def unicode_steps(language: str | None = None, articles: Iterable[str] = ()) -> tuple[Step, ...]:
    """Return the ordered steps of the ``"unicode"`` policy.

    Args:
        language: Registry code; decides the Turkish I and the word separators.
        articles: The language's articles; none are deleted when empty.

    Returns:
        The steps, to be run left to right.

    Example:
        >>> normalizer = Normalizer("unicode", unicode_steps("tr"))
        >>> normalizer("“TÜRKİYE”, ２０１８")
        ['türkiye', '2018']
    """
    steps: list[Step] = [compose, fold_compatibility]
    if language in ("tr", "az"):
        steps.append(turkish_i)
    steps += [casefold, ascii_digits]
    if language in _WORD_SEPARATORS:
        steps.append(_WORD_SEPARATORS[language])
    # The last step again: a mark may have come next to its letter when what stood between was deleted.
    steps += [delete_invisible_and_optional_marks, delete_unicode_punctuation, compose]
    articles = tuple(articles)
    if articles:
        steps.append(delete_words(articles))
    return tuple(steps)


@dataclass(frozen=True)
class Normalizer:
    """A named, ordered list of steps, ended by splitting at white space.

    Args:
        name: Name shown in signatures.
        steps: Functions from string to string, run left to right.
        split: How the result becomes words; a policy that keeps white space returns one word.

    Example:
        >>> Normalizer("squad", SQUAD)("The Eiffel Tower, Paris!")
        ['eiffel', 'tower', 'paris']
    """

    name: str
    steps: tuple[Step, ...]
    split: Callable[[str], Words] = str.split

    def __call__(self, text: str) -> Words:
        """Return the normalised words of one string."""
        for step in self.steps:
            text = step(text)
        return self.split(text)


_LOWER_ASCII = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256))
_PUNCTUATION_BYTES = string.punctuation.encode()
_ARTICLES = frozenset(("a", "an", "the"))


def squad_words(text: str) -> Words:
    r"""Return what ``Normalizer("squad", SQUAD)`` returns, several times faster.

    Printable ASCII (most answers in English) needs no regular expression: without punctuation, every word
    boundary is a space. Control characters are word boundaries too, so they take the general path.

    Args:
        text: Any string.

    Returns:
        The normalised words.

    Example:
        >>> squad_words("The 1,600 m.")
        ['1600', 'm']
    """
    if not text:  # as many predictions are, where questions have no answer
        return []
    if text.isascii() and text.isprintable():
        words = text.encode().translate(_LOWER_ASCII, _PUNCTUATION_BYTES).decode().split()
        if not _ARTICLES.isdisjoint(words):
            return [word for word in words if word not in _ARTICLES]
        return words
    return _ENGLISH_ARTICLES.sub(" ", _ASCII_PUNCTUATION.sub("", text.lower())).split()
