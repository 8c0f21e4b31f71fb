"""Words, numbers and quantities of English texts, written in one way however they are spelled."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from qa_scoring.text.english import ONES, TENS

_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"\d+\.\d+|[^\W_]+(?:'[^\W\d_]+)?")
_NUMBER = re.compile(r"\b\d+s\b|\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")

_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
_ORDINALS_ON = "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_SMALL = {word: value for value, word in enumerate(ONES)}
_SMALL |= {word: value for value, word in enumerate(f"{_ORDINALS} {_ORDINALS_ON}".split())}
_SMALL |= {word: 10 * value for value, word in enumerate(TENS[2:], start=2)}
_SMALL |= {word[:-1] + "ieth": 10 * value for value, word in enumerate(TENS[2:], start=2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 10**12}
_OTHER = {"dozen": 12, "once": 1, "twice": 2, "thrice": 3}

# Unit → dimension, factor, offset: value in the dimension's unit = value · factor + offset.
_UNITS: dict[str, tuple[str, float, float]] = {}
for _names, _dimension, _factor, _offset in (
    ("m metre metres meter meters", "length", 1.0, 0.0),
    ("km kilometre kilometres kilometer kilometers", "length", 1e3, 0.0),
    ("cm centimetre centimetres centimeter centimeters", "length", 1e-2, 0.0),
    ("mm millimetre millimetres millimeter millimeters", "length", 1e-3, 0.0),
    ("mile miles mi", "length", 1609.344, 0.0),
    ("yard yards yd", "length", 0.9144, 0.0),
    ("foot feet ft", "length", 0.3048, 0.0),
    ("inch inches", "length", 0.0254, 0.0),
    ("kg kilogram kilograms kilo kilos", "mass", 1.0, 0.0),
    ("g gram grams", "mass", 1e-3, 0.0),
    ("mg milligram milligrams", "mass", 1e-6, 0.0),
    ("lb lbs pound pounds", "mass", 0.45359237, 0.0),
    ("oz ounce ounces", "mass", 0.028349523, 0.0),
    ("stone stones", "mass", 6.35029318, 0.0),
    ("ton tons tonne tonnes", "mass", 1e3, 0.0),
    ("second seconds sec", "time", 1.0, 0.0),
    ("minute minutes min", "time", 60.0, 0.0),
    ("hour hours hr hrs", "time", 3600.0, 0.0),
    ("day days", "time", 86400.0, 0.0),
    ("week weeks", "time", 604800.0, 0.0),
    ("fortnight fortnights", "time", 1209600.0, 0.0),
    ("month months", "time", 2629746.0, 0.0),
    ("year years yr yrs", "time", 31556952.0, 0.0),
    ("decade decades", "time", 315569520.0, 0.0),
    ("century centuries", "time", 3155695200.0, 0.0),
    ("l litre litres liter liters", "volume", 1.0, 0.0),
    ("ml millilitre millilitres milliliter milliliters", "volume", 1e-3, 0.0),
    ("gallon gallons", "volume", 3.785411784, 0.0),
    ("pint pints", "volume", 0.473176473, 0.0),
    ("quart quarts", "volume", 0.946352946, 0.0),
    ("acre acres", "area", 4046.8564224, 0.0),
    ("hectare hectares ha", "area", 1e4, 0.0),
    ("celsius centigrade c", "temperature", 1.0, 273.15),
    ("fahrenheit f", "temperature", 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    ("kelvin k", "temperature", 1.0, 0.0),
    ("mph", "speed", 0.44704, 0.0),
    ("kmh kph", "speed", 1.0 / 3.6, 0.0),
    ("knot knots", "speed", 0.514444, 0.0),
    ("byte bytes", "data", 1.0, 0.0),
    ("kb kilobyte kilobytes", "data", 1e3, 0.0),
    ("mb megabyte megabytes", "data", 1e6, 0.0),
    ("gb gigabyte gigabytes", "data", 1e9, 0.0),
    ("tb terabyte terabytes", "data", 1e12, 0.0),
    ("percent", "part", 0.01, 0.0),
):
    _UNITS |= dict.fromkeys(_names.split(), (_dimension, _factor, _offset))
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?!\w)|\b(?:[^\W\d_]\.)+[^\W\d_]\b(?!\w)")  # U.S.A., U.S
_SPELLINGS = (
    (re.compile(r"(?<=\d)(?=(?:km|cm|mm|kg|mg|ml|lb|ft|kb|mb|gb|tb|mph|m|g|l|c|f)\b)"), " "),
    (re.compile(r"°\s*([cf])\b"), r" \1 "),
    (re.compile(r"\b(?:km|kilomet(?:er|re)s?) ?(?:/|per) ?(?:h\b|hour\b)"), " kmh "),
    (re.compile(r"\bmiles? per hour\b"), " mph "),
    (re.compile(r"\b(?:square|sq\.?|cubic) (?=[a-z])"), " square"),  # another dimension: no unit of the table
    (re.compile(r"%"), " percent "),
    (re.compile(r"\bper ?cent\b"), " percent "),
    (re.compile(r"\bdegrees?\b"), " "),
    (re.compile(r"&"), " and "),
)


class Quantity(NamedTuple):
    """A number with its unit.

    Args:
        dimension: Such as ``"length"``.
        value: In the dimension's unit.
    """

    dimension: str
    value: float


class Words(NamedTuple):
    """A text as words.

    Args:
        words: In lower case, without accents and articles; numbers in digits.
        counts: How often each occurs.
        numbers: Values of the words that are numbers.
        quantities: Numbers with units.
        trigrams: Character trigrams of the text in lower case, without accents.
    """

    words: tuple[str, ...]
    counts: Counter[str]
    numbers: frozenset[float]
    quantities: tuple[Quantity, ...]
    trigrams: Counter[str]


@lru_cache(maxsize=50_000)
def read_words(text: str) -> Words:
    """Read the words of a text.

    Args:
        text: In English.

    Returns:
        Its words, numbers and quantities.

    Example:
        >>> read_words("The twenty-one miles").words
        ('21', 'miles')
        >>> round(read_words("10 miles").quantities[0].value)
        16093
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text).lower() if not unicodedata.combining(c))
    plain = plain.replace("’", "'")
    padded = f"  {' '.join(plain.split())} "
    trigrams = Counter(padded[start : start + 3] for start in range(len(padded) - 2))
    plain = _DOTTED.sub(lambda found: found[0].replace(".", ""), plain)
    for pattern, by in _SPELLINGS:
        plain = pattern.sub(by, plain)
    plain = _ORDINAL.sub(r"\1", plain)
    words = _join_numbers(_WORD.findall(_NUMBER.sub(_spaced_number, plain)))
    kept = tuple(word for word in words if word not in _ARTICLES)
    quantities = tuple(_quantities(kept))
    numbers = frozenset(float(word) for word in kept if _is_number(word))
    return Words(kept, Counter(kept), numbers, quantities, trigrams)


def _spaced_number(found: re.Match[str]) -> str:
    """Write a number without commas; a decade (1960s) stays as it is."""
    text = found[0]
    return f" {text if text.endswith('s') else _digits(text.replace(',', ''))} "


def _digits(number: float | str) -> str:
    """Write a number in one way; one that no float holds stays as it is."""
    value = float(number)
    if math.isinf(value):
        return str(number)
    return str(int(value)) if value == int(value) else f"{Decimal(repr(value)):f}"


def _is_number(word: str) -> bool:
    return word[0].isascii() and word[0].isdigit() and word.replace(".", "", 1).isdecimal()


def _join_numbers(words: list[str]) -> list[str]:
    """Write runs of number words, and numbers before a scale, in digits: twenty one → 21, 3 million → 3000000."""
    joined: list[str] = []
    place = 0
    while place < len(words):
        value, stop = _number_at(words, place)
        if value is None or math.isinf(value):
            joined.append(words[place])
            place += 1
        else:
            joined.append(_digits(value))
            place = stop
    return joined


def _number_at(words: list[str], start: int) -> tuple[float | None, int]:
    """Read the number that starts at a word: its value, or None; and where it ends."""
    value, place = _one_number_at(words, start)
    spelled = words[start] in _SMALL and place < len(words) and words[place] in _SMALL
    if value is not None and spelled and 11 <= value <= 20:  # nineteen sixty-nine
        rest, stop = _one_number_at(words, place)
        if rest is not None and 10 <= rest <= 99:
            return 100 * value + rest, stop
    return value, place


def _one_number_at(words: list[str], start: int) -> tuple[float | None, int]:
    """Read a number that is not written like a year."""
    if words[start] in _OTHER:
        return float(_OTHER[words[start]]), start + 1
    total, group, place = 0.0, 0.0, start
    while place < len(words):
        word = words[place]
        in_digits = place == start + 1 and _is_number(words[start])  # 2020, nine: two numbers
        if _fits(word, group, first=place == start) and not in_digits:
            group += _SMALL[word] if word in _SMALL else float(word)
        elif word == "hundred" and group:
            group *= 100
        elif word in _SCALES and word != "hundred" and group:
            total, group = total + group * _SCALES[word], 0.0
        elif not (word == "and" and place > start and words[place - 1] in _SCALES and _follows(words, place)):
            break
        place += 1
    if place == start:
        return None, start + 1
    return total + group, place


def _fits(word: str, group: float, *, first: bool) -> bool:
    if _is_number(word):
        return first
    if word not in _SMALL:
        return False
    return group % 100 == 0 or (group % 100 >= 20 and group % 10 == 0 and 0 < _SMALL[word] < 10)


def _follows(words: list[str], place: int) -> bool:
    return place + 1 < len(words) and words[place + 1] in _SMALL


def _quantities(words: tuple[str, ...]) -> list[Quantity]:
    found: list[Quantity] = []
    for number, unit in itertools.pairwise(words):
        if _is_number(number) and unit in _UNITS:
            dimension, factor, offset = _UNITS[unit]
            value = float(number) * factor + offset
            feet_and_inches = found and unit in ("inch", "inches") and found[-1].dimension == "length"
            if feet_and_inches:
                found[-1] = Quantity("length", found[-1].value + value)
            else:
                found.append(Quantity(dimension, value))
    return found
