"""Answers made by rules: every rule is reached, and what they call right is right."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.judge.made_answers import RULES, Known, Made, make_answers
from qa_scoring.judge.words import read_words
from qa_scoring.text.english import number_words

KNOWN = [
    Known("Who found radium?", ("Marie Curie", "Curie", "M. Curie"), ("Niels Bohr", "Max Planck", "Lise Meitner")),
    Known("When did it end?", ("May 8, 1945", "8 May 1945"), ("1 June 1815", "1066", "1789")),
    Known("In what year was it?", ("1969",), ("1066", "1492", "1789")),
    Known("How many are there?", ("21 of them",), ("five", "300", "12")),
    Known("Which body decides?", ("International Court of Justice",), ("Supreme Court", "Senate", "Parliament")),
    Known("What happens to prices?", ("the prices always increase over time",), ("they fall", "nothing", "a war")),
    Known("Is the door open?", ("The door is open at night",), ("The gap is closed", "never", "no")),
    Known("Which city is it?", ("São Paulo",), ("Rome", "Paris", "Oslo")),
    Known("Which country is it?", ("Austria",), ("Australia", "Peru", "Oslo")),
    Known("Which philosopher?", ("Wittgenstein",), ("Kant", "Hegel", "Hume")),
]


def made_by(rule: str, count: int = 300) -> list[tuple[Known, Made]]:
    rng = random.Random(5)
    found = [(known, RULES[rule](known, rng)) for _ in range(count) for known in KNOWN]
    return [(known, made) for known, made in found if made is not None]


def test_every_rule_is_reached_with_the_verdicts_it_can_give() -> None:
    rng = random.Random(1)
    verdicts: Counter[tuple[str, bool]] = Counter()
    for _ in range(150):
        for known in KNOWN:
            verdicts.update((made.rule, made.correct) for made in make_answers(known, rng, len(RULES)))
    right = {"another reference", "repeated", "written number", "spelled"}
    wrong = {"swapped", "other number", "beside", "refusal", "undecided", "opposite", "look-alike"}
    both = set(RULES) - right - wrong
    expected = {(rule, True) for rule in right | both} | {(rule, False) for rule in wrong | both}
    assert set(verdicts) == expected


def test_each_answer_is_by_another_rule_and_at_most_so_many() -> None:
    rng = random.Random(2)
    for known in KNOWN:
        for count in (1, 3, 50):
            made = make_answers(known, rng, count)
            assert len(made) <= count
            assert len({one.rule for one in made}) == len(made) > 0
            assert count == 50 or len(made) == count


def test_a_seed_fixes_them() -> None:
    first, again, other = (
        [made for known in KNOWN for made in make_answers(known, rng, 5)] for rng in map(random.Random, (7, 7, 8))
    )
    assert first == again != other


def has(answer: str, reference: str) -> bool:
    words, wanted = read_words(answer).words, read_words(reference).words
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words)))


def test_references_that_are_repeated_are_right() -> None:
    for known, made in made_by("repeated", 20):
        assert made.correct
        assert any(has(made.answer, reference) for reference in known.references)
        assert made.references == known.references


def test_another_reference_is_right_and_not_among_those_shown() -> None:
    found = made_by("another reference", 20)
    assert {known.question for known, _ in found} == {known.question for known in KNOWN if len(known.references) > 1}
    for known, made in found:
        assert made.correct
        assert made.references
        assert set(made.references) < set(known.references)
        hidden = [reference for reference in known.references if reference not in made.references]
        assert any(has(made.answer, reference) for reference in hidden)


def test_swapped_answers_are_wrong() -> None:
    for known, made in made_by("swapped", 20):
        assert not made.correct
        assert has(made.answer, known.others[0])


IN_BASE_UNITS = {
    "length": {"km": 1000, "miles": 1609.344, "kilometres": 1000, "metres": 1, "m": 1, "feet": 0.3048, "cm": 0.01,
               "inches": 0.0254},
    "mass": {"kg": 1, "pounds": 0.45359237, "kilograms": 1, "tonnes": 1000, "grams": 0.001, "ounces": 0.0283495},
    "time": {"hours": 3600, "minutes": 60, "seconds": 1, "days": 86400, "weeks": 604800, "years": 365.25 * 86400,
             "months": 365.25 * 7200, "decades": 3652.5 * 86400},
    "volume": {"litres": 1, "gallons": 3.785412},
    "speed": {"km/h": 1000 / 3600, "mph": 1609.344 / 3600},
}  # fmt: skip


def in_base_units(text: str) -> tuple[str, float]:
    found = re.search(r"([\d.]*\d(?:e[+-]\d+)?) (km/h|mph|[a-z]+)", text)
    if found is None:  # the number is in words
        (_,) = read_words(text).quantities
        unit = text.rstrip(".").removesuffix(", of course").split()[-1]
        number = next(iter(read_words(text).numbers))
    else:
        number, unit = float(found[1]), found[2]
    ((dimension, factor),) = [(name, units[unit]) for name, units in IN_BASE_UNITS.items() if unit in units]
    return dimension, number * factor


def test_quantities_are_right_conversions() -> None:
    found = made_by("quantity", 400)
    assert {made.correct for _, made in found} == {True, False}
    for _, made in found:
        assert "e+" not in made.answer
        (reference,) = made.references
        (one, expected), (other, value) = in_base_units(reference), in_base_units(made.answer)
        assert one == other
        assert (abs(value - expected) / expected < 0.06) == made.correct, made


def test_temperatures_are_right_conversions() -> None:
    found = made_by("degrees", 300)
    assert {made.correct for _, made in found} == {True, False}
    for _, made in found:
        celsius, fahrenheit = (int(re.search(r"-?\d+", text)[0]) for text in (made.references[0], made.answer))  # type: ignore[index]
        assert (abs(celsius * 9 / 5 + 32 - fahrenheit) <= 0.5) == made.correct, made
        assert "-0 " not in made.answer
        assert re.search(r"°F|Fahrenheit", made.answer)


def test_dates_are_right_in_every_form() -> None:
    months = [f"{date(2000, month, 1):%B}".lower() for month in range(1, 13)]
    for known, made in made_by("date", 300):
        if known.references[0] == "May 8, 1945":
            year, rest = re.search(r"\d{4}", made.answer), re.sub(r"\d{4}", "", made.answer)
            day, month = re.search(r"\d{1,2}(?=st|nd|rd|th|\b)", rest), re.search("|".join(months), made.answer.lower())
            iso = re.search(r"\d{4}-(\d\d)-(\d\d)", made.answer)
            assert year is not None
            numbers = (int(iso[1]), int(iso[2])) if iso else (months.index(month[0]) + 1, int(day[0]))  # type: ignore[index]
            assert ((int(year[0]), *numbers) == (1945, 5, 8)) == made.correct, made


@pytest.mark.parametrize("rule", ["written number", "other number", "year in a date"])
def test_numbers(rule: str) -> None:
    for known, made in made_by(rule, 100):
        numbers = read_words(known.references[0]).numbers
        if len(known.references) == 1:
            assert (numbers <= read_words(made.answer).numbers) == made.correct, made


def test_lists_are_right_with_the_same_items_only() -> None:
    for known, made in made_by("list", 100):
        pool = [known.references[0], *known.others]
        (reference,) = made.references if len(made.references) == 1 else (known.references[0],)
        held = [{text for text in pool if has(side, text)} for side in (reference, made.answer)]
        assert (held[0] == held[1]) == made.correct, made


def test_initials_are_those_of_the_capitals() -> None:
    found = made_by("initials", 60)
    assert {known.question for known, _ in found} == {"Which body decides?"}
    assert all(("ICJ" in made.answer) == made.correct for _, made in found)


def test_opposites_and_negations() -> None:
    for _, made in made_by("opposite", 30):
        assert made.answer in (
            "the prices never increase over time",
            "the prices always decrease over time",
            "the prices always increase under time",
            "The door is closed at night",
            "The door is open at day",
        )
    for known, made in made_by("denied", 30):
        assert made.answer in (known.references[0], "The door is not open at night")
        assert made.correct == ("not" not in made.answer)


def test_yes_and_no() -> None:
    for _, made in made_by("yes or no", 60):
        assert made.correct == (made.answer[:2].lower() == made.references[0][:2].lower())


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "zero"), (13, "thirteen"), (40, "forty"), (99, "ninety-nine"), (100, "one hundred"),
     (999, "nine hundred and ninety-nine")],
)  # fmt: skip
def test_numbers_in_words(number: int, words: str) -> None:
    assert number_words(number) == words


def test_numbers_in_words_are_read_as_numbers() -> None:
    for number in range(1000):
        assert read_words(number_words(number)).words == (str(number),)


REFERENCES = st.text(min_size=1, max_size=40).filter(str.strip)


@given(
    REFERENCES, st.lists(REFERENCES, min_size=1, max_size=3), st.lists(REFERENCES, min_size=2, max_size=4), st.randoms()
)
def test_any_question_gives_answers_that_are_not_blank(
    question: str, references: list[str], others: list[str], rng: random.Random
) -> None:
    for made in make_answers(Known(question, tuple(references), tuple(others)), rng, 30):
        assert made.answer.strip()
        assert made.references
        assert all(text.strip() for text in made.references)
        assert made.rule in RULES
        assert isinstance(made.correct, bool)
