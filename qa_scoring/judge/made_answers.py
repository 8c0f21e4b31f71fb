"""Answers made by rules from questions and references, right and wrong ones, to train the shipped judge on.

Every rule takes a question with its references, and a reference of another question, and gives what a system might have
answered, with the verdict; or nothing where it does not apply. The contrast set that judges are measured on was written
apart from these rules.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from qa_scoring.judge.shared_words import OPPOSITE
from qa_scoring.judge.words import read_words
from qa_scoring.text.english import MONTHS, ONES, number_words


class Known(NamedTuple):
    """What a rule starts from.

    Args:
        question: A question.
        references: Its references.
        others: References of other questions, of the same sort where possible; two or more.
    """

    question: str
    references: tuple[str, ...]
    others: tuple[str, ...]


class Made(NamedTuple):
    """An answer that a rule made.

    Args:
        question: The question.
        references: The references.
        answer: The answer.
        correct: The verdict.
        rule: Which rule made it.
    """

    question: str
    references: tuple[str, ...]
    answer: str
    correct: bool
    rule: str


_Pair = tuple[str, bool]  # answer and verdict
_SAID = ("{}", "{}", "{}", "{}.", "It is {}.", "It was {}.", "The answer is {}.", "That would be {}.", "{}, of course.")
_ASIDE_WRONG = (
    "It is not {0}.", "It was not {0}, it was {1}.", "Not {0} but {1}.", "{1}, not {0}.", "{1} rather than {0}.",
    "Many people say {0}, but it is {1}.", "{1}; {0} is a common mistake.", "It used to be {0}; today it is {1}.",
    "Unlike {0}, {1} is the right answer.", "Contrary to what people believe, {0} is wrong.", "Anything except {0}.",
)  # fmt: skip
_ASIDE_RIGHT = (
    "Not {1} but {0}.", "{0}, not {1}.", "{0} rather than {1}.", "It was not {1}, it was {0}.",
    "Many people say {1}, but it is {0}.", "{0}; {1} is a common mistake.", "Contrary to {1}, it is {0}.",
)  # fmt: skip
_BESIDE = (
    "It was {1}, who came long before {0}.", "{1} did it; {0} only watched.", "{1} came first and {0} second.",
    "{0} is where it ended, but it began with {1}.", "The rival of {0}, namely {1}.", "{1}, as {0} reported.",
    "{1}. Do not confuse it with {0}.", "They asked {0} first and got a refusal, so it became {1}.",
    "{1} replaced {0}.",
    "{0} is what people expect, yet the record says {1}.", "Before {0} there was {1}, and that is the one.",
    "{1}, named in honour of {0}.", "{0} lost to {1}.", "{0} is nearby, although the place itself is {1}.",
    "It is {1}; the other candidate was {0}.", "{1} - the one from {0}.", "{0} comes second to {1}.",
    "In the first draft {0}, in the final version {1}.", "{0} applies to others; here it is {1}.",
    "{0} was considered, but {1} was chosen.", "It is {1}, which is next to {0}.", "After {0} declined, {1} took it.",
)  # fmt: skip
_REFUSALS = (
    "I don't know.", "I do not know the answer to that.", "I'm sorry, I cannot answer this question.",
    "There is no information about this in the text.", "The context does not say.", "Unknown.", "I am not sure.",
    "I could not find anything about {0}.", "The document mentions {0}, but not the answer.", "No idea.",
    "As an AI language model I cannot answer that.", "It is not known whether it was {0}.", "No answer.",
    "I can't tell from the passage whether {0} is meant.", "This question cannot be answered.", "N/A",
)  # fmt: skip
_TURNED = (
    "I'm sorry for the delay; it is {}.", "I can't quote the exact passage, but it says {}.",
    "I do not have the page at hand. According to my notes: {}.", "I cannot open the link. From what you pasted, {}.",
    "Not an expert here, but {}.",
    "I don't know much about it, except that it is {}.", "I am not able to browse, but the text above says {}.",
    "The document does not say much. It does give {}.", "Sorry, I misread that at first. It should be {}.",
    "I couldn't find a source for it in the first part, though the second part names {}.",
)  # fmt: skip
_UNSURE = (
    "I think it is {}.", "Probably {}.", "It might be {}.", "I'm not certain, but I believe it is {}.", "{}, I guess.",
    "If I remember correctly, {}.", "Most likely {}.", "Perhaps {}?", "I can't be sure, but it should be {}.",
)  # fmt: skip
_UNDECIDED = (
    "It could be {0}, {1} or {2}.", "Either {1} or {0}.", "{0} or {1}, I can't tell which.", "{1}, {0}, or maybe {2}.",
    "Some say {1}, others say {0}.", "Possibly {0}, possibly {1}.",
)  # fmt: skip
_MONTH = "|".join(MONTHS)
_CONVERSIONS = (
    ("km", "miles", 0.621371), ("miles", "kilometres", 1.609344), ("metres", "feet", 3.28084), ("feet", "m", 0.3048),
    ("kg", "pounds", 2.204623), ("pounds", "kilograms", 0.453592), ("cm", "inches", 0.393701), ("inches", "cm", 2.54),
    ("hours", "minutes", 60.0), ("minutes", "seconds", 60.0), ("days", "hours", 24.0), ("weeks", "days", 7.0),
    ("litres", "gallons", 0.264172), ("tonnes", "kg", 1000.0), ("years", "months", 12.0), ("km/h", "mph", 0.621371),
    ("grams", "ounces", 0.035274), ("decades", "years", 10.0), ("months", "years", 1 / 12), ("mph", "km/h", 1.609344),
)  # fmt: skip
_ASKED = ("How much is it?", "How far is it?", "How long does it take?", "What is the size?", "How heavy is it?")
_ALIKE = 0.35  # Dice of the trigrams
_SEVERAL = (
    "What are they?", "Which ones are meant?", "Who were the members?", "Name all of them.",
    "What are the parts of it?", "Which things belong to it?", "Who are the {} of them?", "Which {} items are listed?",
    "What are the {} names?",
)  # fmt: skip
_NAME = re.compile(r"[A-Z][a-zà-ÿ]+(?: [A-Z]\.)?(?: [A-Z][a-zà-ÿ]+){1,2}")


def make_answers(known: Known, rng: random.Random, count: int) -> list[Made]:
    """Make answers by rules.

    Args:
        known: What to start from.
        rng: Random numbers.
        count: At most so many, each of another rule.

    Returns:
        The answers.

    Example:
        >>> known = Known("Who found radium?", ("Marie Curie",), ("Niels Bohr", "Max Planck"))
        >>> [type(made.correct) for made in make_answers(known, random.Random(0), 2)]
        [<class 'bool'>, <class 'bool'>]
    """
    made: list[Made] = []
    for name in rng.sample(sorted(RULES), len(RULES)):
        found = RULES[name](known, rng)
        if found is not None and found.answer.strip():
            made.append(found._replace(rule=name))
        if len(made) == count:
            break
    return made


def _simple(rule: Callable[[str, Known, random.Random], _Pair | None]) -> Callable[[Known, random.Random], Made | None]:
    """Turn a rule for one reference into one for a question."""

    def apply(known: Known, rng: random.Random) -> Made | None:
        found = rule(rng.choice(known.references), known, rng)
        return None if found is None else Made(known.question, known.references, *found, rule="")

    return apply


def _said(text: str, rng: random.Random) -> str:
    return rng.choice(_SAID).format(text)


def _another_reference(known: Known, rng: random.Random) -> Made | None:
    if len(known.references) < 2:
        return None
    answer = rng.choice(known.references)
    rest = tuple(text for text in known.references if text.lower() != answer.lower())
    if not rest:
        return None
    return Made(
        known.question, tuple(rng.sample(rest, min(len(rest), rng.randint(1, 3)))), _said(answer, rng), True, ""
    )


def _swapped(reference: str, known: Known, rng: random.Random) -> _Pair:
    return _said(known.others[0], rng), False


def _repeated(reference: str, known: Known, rng: random.Random) -> _Pair:
    return _said(reference, rng), True


def _written_number(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    found = re.search(r"(?<![\d.,])\d{1,3}(?![\d.,])", reference)
    if found is None:
        return None
    return _said(reference[: found.start()] + number_words(int(found[0])) + reference[found.end() :], rng), True


def _other_number(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    found = list(re.finditer(r"\d+", reference))
    if not found:
        return None
    chosen = rng.choice(found)
    value = int(chosen[0])
    near = [value + 1, value - 1, value + 2, value - 10, value + 10, value * 2]
    if len(chosen[0]) < 4:
        near += [value * 10, value * 100]
    changed = rng.choice([number for number in near if number >= 0 and number != value])
    text = number_words(changed) if changed < 1000 and rng.random() < 0.3 else str(changed)
    return _said(reference[: chosen.start()] + text + reference[chosen.end() :], rng), False


def _date(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    found = re.search(rf"\b({_MONTH}) (\d{{1,2}}),? (\d{{4}})", reference) or re.search(
        rf"\b(?:\d{{1,2}}) ({_MONTH}) (?:\d{{4}})", reference
    )
    if found is None:
        return None
    month, day = found[1], int(next(iter(re.findall(r"\b\d{1,2}\b", found[0]))))
    year = int(found[0][-4:])
    correct = rng.random() < 0.6
    if not correct:
        change = rng.randrange(3)
        day, month, year = (
            (day % 28 + 1, month, year),
            (day, MONTHS[(MONTHS.index(month) + rng.randint(1, 10)) % 12], year),
            (day, month, year + rng.choice((-2, -1, 1, 2, 10, 100))),
        )[change]
    number = MONTHS.index(month) + 1
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    form = rng.choice(("{m} {d}, {y}", "{d} {m} {y}", "the {d}{e} of {m} {y}", "{y}-{n:02}-{d:02}", "{m} {d}{e}, {y}"))
    return _said(form.format(d=day, m=month, y=year, e=ending, n=number), rng), correct


def _year_in_date(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    if not re.fullmatch(r"1[5-9]\d\d|20[0-3]\d", reference):
        return None
    year = int(reference) if rng.random() < 0.5 else int(reference) + rng.choice((-5, -2, -1, 1, 2, 5))
    day, month = rng.randint(1, 28), rng.choice(MONTHS)
    return rng.choice((f"{month} {year}", f"in {year}", f"{day} {month} {year}", f"the year {year}")), str(
        year
    ) == reference


def _quantity(known: Known, rng: random.Random) -> Made:
    unit, other, factor = rng.choice(_CONVERSIONS)
    value = rng.choice(
        (rng.randint(2, 20), rng.randint(2, 300), 10 * rng.randint(1, 100), round(rng.uniform(1, 20), 1))
    )
    kind = rng.randrange(5)
    if kind < 2:
        answer = f"{_rounded(value * factor)} {other}"
    elif kind == 2:
        answer = f"{_rounded(value * factor * rng.choice((0.5, 0.8, 1.25, 1.5, 2.0, 10.0)))} {other}"
    elif kind == 3:
        answer = f"{value:g} {other}"
    else:
        answer = f"{number_words(value) if isinstance(value, int) and value < 1000 else value} {unit}"
    approximate = rng.choice(("", "", "about ", "roughly "))
    text = _said(approximate + answer, rng)
    return Made(rng.choice(_ASKED), (f"{value:g} {unit}",), text, kind in (0, 1, 4), "")


def _rounded(value: float) -> str:
    """Write a number as people do, within 5 % of what it is."""
    return f"{value:.2g}" if value < 1 else f"{round(value, 1 if value < 30 else 0):.10g}"


def _degrees(known: Known, rng: random.Random) -> Made:
    celsius = rng.choice((rng.randint(-40, 250), 10 * rng.randint(0, 30)))
    fahrenheit = celsius * 9 / 5 + 32
    correct = rng.random() < 0.5
    wrong = rng.choice((celsius, fahrenheit + rng.choice((-30, -18, 18, 40))))
    shown = fahrenheit if correct else wrong
    one = (f"{celsius} °C", f"{celsius} degrees Celsius"), (f"{round(shown)} °F", f"{round(shown)} degrees Fahrenheit")
    return Made(
        "What temperature is it?",
        (rng.choice(one[0]),),
        _said(rng.choice(one[1]), rng),
        correct or celsius == shown == -40,
        "",
    )


def _set_aside(reference: str, known: Known, rng: random.Random) -> _Pair:
    correct = rng.random() < 0.4
    return rng.choice(_ASIDE_RIGHT if correct else _ASIDE_WRONG).format(reference, known.others[0]), correct


def _beside(reference: str, known: Known, rng: random.Random) -> _Pair:
    return rng.choice(_BESIDE).format(reference, known.others[0]), False


def _refusal(reference: str, known: Known, rng: random.Random) -> _Pair:
    asked = " ".join(known.question.rstrip("?").split()[1:])
    return rng.choice(_REFUSALS).format(rng.choice((reference, asked))), False


def _turned(reference: str, known: Known, rng: random.Random) -> _Pair:
    correct = rng.random() < 0.75
    return rng.choice(_TURNED).format(reference if correct else known.others[0]), correct


def _look_alike(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    """Take another text that is spelled like the reference."""
    own = read_words(reference).trigrams

    def alike(text: str) -> float:
        trigrams = read_words(text).trigrams
        shared = sum(min(count, trigrams[item]) for item, count in own.items())
        return 2 * shared / (own.total() + trigrams.total())

    likest = max(known.others, key=alike)
    return (_said(likest, rng), False) if alike(likest) >= _ALIKE else None


def _unsure(reference: str, known: Known, rng: random.Random) -> _Pair:
    correct = rng.random() < 0.6
    return rng.choice(_UNSURE).format(reference if correct else known.others[0]), correct


def _undecided(reference: str, known: Known, rng: random.Random) -> _Pair:
    return rng.choice(_UNDECIDED).format(reference, known.others[0], known.others[1]), False


def _echo(reference: str, known: Known, rng: random.Random) -> _Pair:
    asked = known.question.rstrip("? ")
    words = asked.split()
    rest = " ".join(words[1:])
    end = rng.choice((None, None, reference, known.others[0]))
    text = rng.choice((asked, rest, f"{rest[:1].upper()}{rest[1:]}", f"You asked: {asked}"))
    if end is None:
        return rng.choice((text + ".", text, f"{text} is a good question.")), False
    return f"{text}{rng.choice((': ', ' is ', ' - ', '? '))}{end}.", end == reference


def _list(known: Known, rng: random.Random) -> Made:
    pool = list(dict.fromkeys((known.references[0], *known.others)))
    items = [text for text in pool if len(text) < 30][: rng.choice((3, 4, 4))]
    if len(items) < 3:
        return Made(known.question, known.references, _said(known.references[0], rng), True, "")
    extra, items = items[-1], items[:-1]
    reference = _joined(items, rng)
    kind = rng.randrange(7)
    answer = rng.sample(items, len(items))
    if kind in (1, 2):
        answer = answer[1:]
    elif kind == 3:
        answer = [*answer[1:], extra]
    elif kind == 4:
        answer = [*answer, extra]
    question = rng.choice(_SEVERAL).format(ONES[len(items)])
    return Made(question, (reference,), _said(_joined(answer, rng), rng), kind in (0, 5, 6), "")


def _joined(items: Sequence[str], rng: random.Random) -> str:
    if len(items) == 1:
        return items[0]
    return ", ".join(items[:-1]) + rng.choice((" and ", ", and ", ", ", " & ")) + items[-1]


def _spelled(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    plain = "".join(c for c in unicodedata.normalize("NFKD", reference) if not unicodedata.combining(c))
    if plain != reference:
        return _said(plain, rng), True
    words = [word for word in re.findall(r"[A-Za-z]+", reference) if len(word) > 6]
    if not words:
        return None
    word = rng.choice(words)
    place = rng.randrange(2, len(word) - 2)
    changed = rng.choice((
        word[:place] + word[place] + word[place:],
        word[:place] + word[place + 1 :],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    ))  # fmt: skip
    return _said(reference.replace(word, changed), rng), True


def _initials(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    words = [word for word in reference.split() if word[0].isalpha()]
    capitals = [word for word in words if word[0].isupper()]
    if not 3 <= len(capitals) <= 5 or len(capitals) < len(words) - 2:
        return None
    letters = "".join(word[0] for word in capitals)
    if rng.random() < 0.35:
        place = rng.randrange(len(letters))
        letters = letters[:place] + rng.choice("BDGKNPRTV".replace(letters[place], "")) + letters[place + 1 :]
        return _said(letters, rng), False
    return _said(letters, rng), True


def _part_of_name(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    if not known.question.lower().startswith(("who", "which person", "whose")) or not _NAME.fullmatch(reference):
        return None
    names = reference.split()
    kind = rng.randrange(4)
    if kind == 0:
        return _said(names[0], rng), False
    if kind == 1 and len(known.others[0].split()) > 1:
        return _said(f"{names[0]} {known.others[0].split()[-1]}", rng), False
    return _said(names[-1], rng), True


def _opposite(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    words = reference.split()
    places = [place for place, word in enumerate(words) if word.lower() in OPPOSITE]
    if len(words) < 5 or not places:
        return None
    place = rng.choice(places)
    other = rng.choice(sorted(OPPOSITE[words[place].lower()]))
    return " ".join([*words[:place], other, *words[place + 1 :]]), False


def _denied(reference: str, known: Known, rng: random.Random) -> _Pair | None:
    """Put a "not" into a sentence, or leave it as it is."""
    found = re.search(r"\b(is|are|was|were|can|will|does|do|has|have|should|must|may)\b(?! not)", reference)
    if found is None or len(reference.split()) < 4:
        return None
    if rng.random() < 0.3:
        return reference, True
    return f"{reference[: found.end()]} not{reference[found.end() :]}", False


def _yes_no(known: Known, rng: random.Random) -> Made:
    truth, said = rng.choice(("Yes", "No")), rng.choice(("Yes", "No"))
    more = rng.choice(
        (
            "",
            ".",
            ", it is." if said == "Yes" else ", it is not.",
            ", that is " + ("so." if said == "Yes" else "wrong."),
        )
    )
    reference = rng.choice((truth, truth.lower(), truth + (", it is" if truth == "Yes" else ", it isn't")))
    asked = " ".join(known.question.rstrip("?").split()[1:])
    return Made(f"Is it true that {asked}?", (reference,), said + more, truth == said, "")


RULES: dict[str, Callable[[Known, random.Random], Made | None]] = {
    "another reference": _another_reference,
    "repeated": _simple(_repeated),
    "swapped": _simple(_swapped),
    "written number": _simple(_written_number),
    "other number": _simple(_other_number),
    "date": _simple(_date),
    "year in a date": _simple(_year_in_date),
    "quantity": _quantity,
    "degrees": _degrees,
    "set aside": _simple(_set_aside),
    "beside": _simple(_beside),
    "refusal": _simple(_refusal),
    "turned": _simple(_turned),
    "look-alike": _simple(_look_alike),
    "unsure": _simple(_unsure),
    "undecided": _simple(_undecided),
    "echo": _simple(_echo),
    "list": _list,
    "spelled": _simple(_spelled),
    "initials": _simple(_initials),
    "part of a name": _simple(_part_of_name),
    "opposite": _simple(_opposite),
    "denied": _simple(_denied),
    "yes or no": _yes_no,
}
"""Rule name → rule."""
