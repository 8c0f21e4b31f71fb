"""Texts as words: numbers, quantities and spellings by a table; any text is read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.judge.words import read_words

NUMBERS = {
    "twenty-one miles": "21 miles",
    "twenty one": "21",
    "nineteen": "19",
    "zero": "0",
    "one hundred and five people": "105 people",
    "five hundred": "500",
    "two thousand and ten": "2010",
    "three million": "3000000",
    "3 million": "3000000",
    "3.5 million": "3500000",
    "two hundred thousand": "200000",
    "1.2 billion": "1200000000",
    "nineteen sixty-nine": "1969",
    "eighteen twelve": "1812",
    "twenty ten": "2010",
    "nineteen sixty-nine people": "1969 people",
    "twelve people": "12 people",
    "eleven twelve thirteen": "1112 13",
    "the first": "1",
    "twenty-first century": "21 century",
    "21st century": "21 century",
    "2nd 3rd 4th 11th": "2 3 4 11",
    "the 1960s": "1960s",
    "1,234": "1234",
    "12,345,678.5": "12345678.5",
    "1,23": "1 23",
    "3.0": "3",
    "3.14": "3.14",
    "0.00001": "0.00001",
    "007": "7",
    "once": "1",
    "twice a week": "2 week",
    "a dozen eggs": "12 eggs",
    "hundred": "hundred",
    "millions": "millions",
    "and": "and",
    "hundred and": "hundred and",
    "one hundred and": "100 and",
    "one and two": "1 and 2",
    "four score": "4 score",
    "in 2020, nine states": "in 2020 9 states",
    "3 hundred and five": "305",
    "B2B": "b 2 b",
}
SPELLINGS = {
    "The Seine": "seine",
    "a an the": "",
    "École Élysée": "ecole elysee",
    "MÜNCHEN": "munchen",
    "it’s": "it's",
    "Marie-Curie": "marie curie",
    "snake_case": "snake case",
    "Smith & Sons": "smith and sons",
    "50%": "50 percent",
    "50 per cent": "50 percent",
    "fifty percent": "50 percent",
    "20°C": "20 c",
    "20 ° F": "20 f",
    "20 degrees Celsius": "20 celsius",
    "100km/h": "100 kmh",
    "100 km per hour": "100 kmh",
    "60 miles per hour": "60 mph",
    "10km": "10 km",
    "5 square miles": "5 squaremiles",
    "ﬁne": "fine",
    "Google™": "googletm",
    "１０６６": "1066",
    "北京": "北京",
    "...": "",
    "": "",
}


@pytest.mark.parametrize(("text", "words"), {**NUMBERS, **SPELLINGS}.items())
def test_words(text: str, words: str) -> None:
    found = read_words(text)
    assert " ".join(found.words) == words
    assert found.counts.total() == len(found.words)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("in 1066 and 1492", {1066.0, 1492.0}),
        ("two of 3.5", {2.0, 3.5}),
        ("none", set()),
        ("the 1960s", set()),  # ten years
        ("three million", {3_000_000.0}),
    ],
)
def test_numbers(text: str, numbers: set[float]) -> None:
    assert read_words(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "quantities"),
    [
        ("10 miles", [("length", 16093.44)]),
        ("ten kilometres", [("length", 10_000)]),
        ("10km", [("length", 10_000)]),
        ("5 feet 10 inches", [("length", 5 * 0.3048 + 10 * 0.0254)]),
        ("6 ft", [("length", 1.8288)]),
        ("2 kg", [("mass", 2)]),
        ("three pounds", [("mass", 3 * 0.45359237)]),
        ("1,000 grams", [("mass", 1)]),
        ("90 minutes", [("time", 5400)]),
        ("an hour and 30 minutes", [("time", 1800)]),
        ("two weeks", [("time", 14 * 86400)]),
        ("a dozen years", [("time", 12 * 31556952)]),
        ("20 °C", [("temperature", 293.15)]),
        ("68 degrees Fahrenheit", [("temperature", 293.15)]),
        ("-40", []),
        ("60 mph", [("speed", 26.8224)]),
        ("36 km/h", [("speed", 10)]),
        ("two gallons", [("volume", 2 * 3.785411784)]),
        ("50%", [("part", 0.5)]),
        ("5 square miles", []),
        ("2 GB", [("data", 2e9)]),
        ("five people", []),
        ("10 miles and 3 hours", [("length", 16093.44), ("time", 10800)]),
    ],
)
def test_quantities(text: str, quantities: list[tuple[str, float]]) -> None:
    found = read_words(text).quantities
    assert [quantity.dimension for quantity in found] == [dimension for dimension, _ in quantities]
    assert [quantity.value for quantity in found] == pytest.approx([value for _, value in quantities])


def test_trigrams_are_of_the_text_without_accents() -> None:
    assert dict(read_words("Été").trigrams) == {"  e": 1, " et": 1, "ete": 1, "te ": 1}
    assert read_words("").trigrams.total() == 1


@pytest.mark.parametrize(
    "text",
    [
        "1" * 400,
        "1" * 5000,
        "one " + "hundred " * 300,
        "eleven " * 3000,
        "9" * 300 + " trillion",
        "0." + "0" * 400 + "1",
    ],
    ids=lambda text: text[:12],
)
def test_numbers_without_end(text: str) -> None:
    found = read_words(text)
    assert found.words
    assert not any(math.isnan(number) for number in found.numbers)


@given(st.text() | st.lists(st.sampled_from(" ".join([*NUMBERS, *SPELLINGS]).split()), max_size=12).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    found = read_words(text)
    assert found.trigrams.total() >= 1
    assert all(word and word == word.lower() and not word.isspace() for word in found.words)
    assert not {"a", "an", "the"} & set(found.words)
    assert len(found.numbers) <= len(found.words)
    assert len(found.quantities) <= len(found.words) / 2
