"""A script-aware splitter on the standard library, for any language.

In scripts written without spaces every base character with its marks is a token; everywhere else a run of
characters between spaces is one. Thai and Lao vowels written before a consonant stay with it, SARA A and SARA AM
with the consonant before them; stacked Khmer, Burmese and Tibetan consonants stay with their base.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from qa_scoring.text.tokenizers import Tokenizer

# Blocks written without spaces between words (Unicode 15): Thai, Lao, Tibetan, Burmese, Khmer; kana, Bopomofo
# and ideographs with their marks and iteration signs; half-width katakana.
_BLOCKS = (
    (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x19E0, 0x19FF),
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303B),
    (0x3041, 0x30FF), (0x3100, 0x312F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x16FE0, 0x18DFF),
    (0x1AFF0, 0x1B2FF), (0x20000, 0x323AF),
)  # fmt: skip


@cache
def _pattern() -> re.Pattern[str]:
    unspaced = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _BLOCKS)
    # Ideograph blocks hold no marks; only the short blocks need looking through.
    marks = "".join(
        re.escape(chr(code))
        for first, last in _BLOCKS
        if last - first < 0x300
        for code in range(first, last + 1)
        if unicodedata.category(chr(code)).startswith("M")
    )
    mark = f"[{marks}\u0300-\u036f\ufe00-\ufe0f\uff9e\uff9f\U000e0100-\U000e01ef\u0e30\u0e33\u0eb0\u0eb3]"
    stacked = "[\u17d2\u1039][\u1780-\u17b3\u1000-\u102a]"
    lead = "[\u0e40-\u0e44\u0ec0-\u0ec4]"
    base = f"[{unspaced}]"
    return re.compile(f"{lead}?{base}(?:{stacked}|{mark})*|[^\\s{unspaced}]+")


def has_unspaced(text: str) -> bool:
    """Whether a character of the text belongs to a script that is written without spaces between words.

    Args:
        text: Any text.

    Returns:
        Whether there is one.

    Example:
        >>> has_unspaced("Köln"), has_unspaced("in 泉州")
        (False, True)
    """
    return not text.isascii() and any(first <= ord(character) <= last for character in text for first, last in _BLOCKS)


def script_aware() -> Tokenizer:
    """Characters with their marks where words are not spaced, words elsewhere."""
    find = _pattern().findall
    return Tokenizer("unicode", f"1+unicode.{unicodedata.unidata_version}", lambda words: find(" ".join(words)))
