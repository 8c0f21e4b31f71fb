"""Pairs to train the similarity model on: two texts and how close in meaning they are, from 0 to 1.

Every source draws from one random generator, in the order of the configuration, so a seed fixes the whole list.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from qa_scoring.encoders.scorers import Nearest
from qa_scoring.errors import InputError, shorten
from qa_scoring.judgements import JudgedAnswer, read_judged_answers, read_student_answers
from qa_scoring.similarity.strings import string_features
from qa_scoring.similarity.training_config import JudgedAnswers, ScoredPairs, SemEval2013, Source, Synthetic
from qa_scoring.text.english import MONTHS, number_words

_NEAREST = 8  # a near reference is one of so many


class TrainingPair(NamedTuple):
    """Two texts, how close they are (0 to 1), and where the pair comes from."""

    first: str
    second: str
    label: float
    origin: str


@dataclass
class PairSets:
    """The pairs of a run.

    Args:
        train: Pairs to learn from, shuffled.
        held_out: Pairs to watch the run with.
        references: References of questions to learn from, which rules may use.
    """

    train: list[TrainingPair] = field(default_factory=list)
    held_out: list[TrainingPair] = field(default_factory=list)
    references: list[str] = field(default_factory=list)

    def side(self, held_out: bool) -> list[TrainingPair]:
        """Return the list that a pair goes to."""
        return self.held_out if held_out else self.train


def build_pairs(
    sources: Sequence[Source],
    data: str | Path,
    *,
    seed: int = 0,
    holdout: float = 0.05,
    nearest: Callable[[Sequence[str]], Nearest] = lambda texts: {},
) -> PairSets:
    r"""Build the pairs of a run.

    Args:
        sources: Where they come from, in the order in which random numbers are drawn.
        data: The folder that the sources' paths start from.
        seed: Seed; the same one gives the same lists.
        holdout: Part of the data that is held out.
        nearest: Gives, for every one of some texts, the others that mean nearly the same, nearest first; without it
            no pairs of near references are made.

    Returns:
        The pairs.

    Raises:
        InputError: A file is not there or not what it must be, a label is not in [0, 1], or no pairs come out.

    Example:
        >>> from qa_scoring.similarity.training_config import ScoredPairs
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "pairs.csv").write_text("the Seine,Seine,5\n")
        >>> build_pairs([ScoredPairs(path="pairs.csv", scale=5)], folder, holdout=0).train
        [TrainingPair(first='the Seine', second='Seine', label=1.0, origin='pairs')]
    """
    rng = random.Random(seed)
    sets = PairSets()
    for source in sources:
        if isinstance(source, Synthetic):
            add_synthetic(source, rng, holdout, sets)
        else:
            path = Path(data) / source.path
            if not path.is_file():
                raise InputError(
                    f"{path}: there is no such file; expected the {_KIND[type(source)]} of the configuration."
                )
            if isinstance(source, ScoredPairs):
                add_scored_pairs(source, path, rng, holdout, sets)
            elif isinstance(source, JudgedAnswers):
                add_judged_answers(source, path, rng, holdout, sets, nearest)
            else:
                add_semeval(source, path, rng, holdout, sets)
    if not sets.train:
        raise InputError(f"The sources give no pairs to train on; {len(sets.held_out)} were held out.")
    rng.shuffle(sets.train)
    return sets


_KIND = {ScoredPairs: "scored pairs", JudgedAnswers: "judged answers", SemEval2013: "SemEval data"}


def count_origins(pairs: Sequence[TrainingPair]) -> dict[str, int]:
    """Count pairs by where they come from.

    Args:
        pairs: The pairs.

    Returns:
        Number of pairs of each origin, the largest first.

    Example:
        >>> count_origins([TrainingPair("a", "b", 0.0, "rules")])
        {'rules': 1}
    """
    return dict(Counter(pair.origin for pair in pairs).most_common())


def add_scored_pairs(source: ScoredPairs, path: Path, rng: random.Random, holdout: float, sets: PairSets) -> None:
    """Add pairs that people scored; each goes to one side by chance.

    Args:
        source: The scale of the scores.
        path: CSV without a header: text, text, score.
        rng: Random numbers.
        holdout: Part that is held out.
        sets: Where the pairs go.

    Raises:
        InputError: A row has not three cells, or a score is not in [0, scale].
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if not rows:
        raise InputError(f"{path} holds no rows; expected text, text, score.")
    for number, row in enumerate(rows):
        where = f"{path}, row {number}"
        if len(row) != 3:
            raise InputError(f"{where}: expected three cells (text, text, score); got {len(row)}.")
        first, second, score = row
        try:
            label = float(score) / source.scale
        except ValueError:
            label = -1.0
        if not 0 <= label <= 1:
            raise InputError(f"{where}: expected a score from 0 to {source.scale:g}; got {shorten(score)}.")
        if not first.strip() or not second.strip():
            raise InputError(f"{where}: expected two texts; got a blank one.")
        sets.side(rng.random() < holdout).append(TrainingPair(first, second, label, path.stem))


def add_judged_answers(
    source: JudgedAnswers,
    path: Path,
    rng: random.Random,
    holdout: float,
    sets: PairSets,
    nearest: Callable[[Sequence[str]], Nearest],
) -> None:
    """Add answers that people judged, split by question.

    Origins: ``short answer`` and ``sentence`` (an answer and a reference, 1 or 0), ``references`` (of one question 1,
    of two questions 0).

    Args:
        source: Which systems, and how many pairs of each kind.
        path: JSON Lines of question, references, system, answer and correct.
        rng: Random numbers.
        holdout: Part of the questions that is held out.
        sets: Where the pairs go; references of questions to learn from are noted there.
        nearest: As in ``build_pairs``.

    Raises:
        InputError: A line is not such a record, or no question is left to learn from.
    """
    questions: dict[str, list[JudgedAnswer]] = {}
    for row in read_judged_answers(path):
        questions.setdefault(row.question, []).append(row)
    ordered = sorted(questions)
    held_out = set(rng.sample(ordered, int(len(ordered) * holdout)))
    references = {
        question: [
            text for text in dict.fromkeys(rows[0].references) if text.strip() and len(text) < source.longest_reference
        ]
        for question, rows in questions.items()
    }
    learnt = sorted(
        {
            text
            for question in ordered
            if question not in held_out
            for text in references[question]
            if len(text) < source.longest_unrelated
        }
    )
    if not learnt:
        raise InputError(f"{path}: no reference is shorter than {source.longest_unrelated} characters.")
    sets.references.extend(learnt)
    others = _Others(references, learnt, nearest(learnt) if source.neighbours else {}, rng)
    for question in ordered:
        if references[question]:
            pairs = _pairs_of_question(source, questions[question], references[question], others)
            sets.side(question in held_out).extend(pairs)


def add_semeval(source: SemEval2013, path: Path, rng: random.Random, holdout: float, sets: PairSets) -> None:
    """Add student answers with the reference they were matched with, or the question's first.

    Args:
        source: Which part, how to split, and the labels.
        path: The ZIP file as published; only ``training/3way`` is read.
        rng: Random numbers.
        holdout: Part that is held out.
        sets: Where the pairs go.

    Raises:
        InputError: The file is not that ZIP file, or a verdict is unknown.
    """
    labels = {"correct": source.correct, "contradictory": source.contradictory, "incorrect": source.incorrect}
    answers = list(read_student_answers(path))
    by_question = source.held_out_by == "question"
    held_questions = (
        {name for name in sorted({answer.identity for answer in answers}) if rng.random() < holdout}
        if by_question
        else set()
    )
    for answer in answers:
        if answer.verdict not in labels:
            raise InputError(
                f"{path}, {answer.identity}: expected the accuracy {', '.join(labels)}; got {shorten(answer.verdict)}."
            )
        if rng.random() < source.fraction:
            held_out = answer.identity in held_questions if by_question else rng.random() < holdout
            pair = TrainingPair(answer.reference, answer.text, labels[answer.verdict], "student answer")
            sets.side(held_out).append(pair)


def add_synthetic(source: Synthetic, rng: random.Random, holdout: float, sets: PairSets) -> None:
    """Add pairs made by rules, every rule with the same chance.

    Args:
        source: How many.
        rng: Random numbers.
        holdout: Part that is held out.
        sets: Where the pairs go; its references are what some rules start from.

    Raises:
        InputError: There are no references yet.
    """
    if not sets.references:
        raise InputError("Synthetic pairs start from references: put a source of judged answers before them.")
    pairs: list[TrainingPair] = []
    while len(pairs) < source.count:
        made = RULES[rng.randrange(len(RULES))](rng, sets.references)
        if made is not None:
            pairs.append(TrainingPair(*made, "synthetic"))
    for pair in pairs:
        sets.side(rng.random() < holdout).append(pair)


def _nearest(answer: str, references: Sequence[str]) -> str:
    def shared(reference: str) -> float:
        found = string_features((answer, reference))
        return found.trigrams + found.contained

    return max(references, key=shared)


def _pairs_of_question(
    source: JudgedAnswers, rows: Sequence[JudgedAnswer], references: Sequence[str], others: _Others
) -> Iterator[TrainingPair]:
    rng = others.rng
    for row in rows:
        answer, label = row.answer, float(row.correct)
        if not answer.strip():
            continue
        if row.system in source.short_systems:
            nearest = _nearest(answer, references)
            yield TrainingPair(answer, nearest, label, "short answer")
            rest = [reference for reference in references if reference != nearest]
            if not row.correct and rest:
                yield TrainingPair(answer, rng.choice(rest), label, "short answer")
        elif row.system in source.sentence_systems and (
            len(answer) < source.shorter
            or (len(answer) < source.longest_sentence and rng.random() < source.sentence_fraction)
        ):
            yield TrainingPair(answer, _nearest(answer, references), label, "sentence")
    aliases = [pair for pair in combinations(references, 2) if pair[0].lower() != pair[1].lower()]
    for first, second in rng.sample(aliases, min(source.aliases, len(aliases))):
        yield TrainingPair(first, second, 1.0, "references")
    for choose, count in ((others.neighbour, source.neighbours), (others.unrelated, source.unrelated)):
        for reference in rng.sample(references, min(count, len(references))):
            other = choose(reference, rows[0].question)
            if other is not None:
                yield TrainingPair(reference, other, 0.0, "references")


class _Others:
    """References of other questions than the one at hand."""

    def __init__(
        self,
        questions: Mapping[str, Sequence[str]],
        learnt: Sequence[str],
        nearest: Nearest,
        rng: random.Random,
    ) -> None:
        self.rng = rng
        self._learnt = learnt
        self._nearest = nearest
        self._questions: dict[str, set[str]] = {}
        for question, references in questions.items():
            for reference in references:
                self._questions.setdefault(reference.lower(), set()).add(question)

    def unrelated(self, reference: str, question: str) -> str | None:
        other = self.rng.choice(self._learnt)
        return None if question in self._questions[other.lower()] else other

    def neighbour(self, reference: str, question: str) -> str | None:
        near = [
            other
            for other in self._nearest.get(reference, ())
            if question not in self._questions[other.lower()] and string_features((reference, other)).contained < 0.5
        ]
        return self.rng.choice(near[:_NEAREST]) if near else None


# Rules. Each draws from the generator in a fixed order, and gives a pair with its label, or nothing where the draw
# makes none.

Made = tuple[str, str, float] | None

# fmt: off
_UNITS = [
    "years", "miles", "people", "percent", "metres", "kilometres", "dollars", "days", "hours", "books", "times", "tons",
    "degrees", "pounds",
]
# fmt: on


def words_and_digits(rng: random.Random, references: Sequence[str]) -> Made:
    """Make a number in words and in digits: the same.

    Args:
        rng: Random numbers.
        references: Not used.

    Returns:
        The pair, label 1.
    """
    number = rng.randrange(0, 1000)
    unit = rng.choice(["", " " + rng.choice(_UNITS)])
    return number_words(number) + unit, str(number) + unit, 1.0


def different_numbers(rng: random.Random, references: Sequence[str]) -> Made:
    """Make two numbers, half the time near each other: different.

    Args:
        rng: Random numbers.
        references: Not used.

    Returns:
        The pair, label 0.05; nothing where the numbers are the same.
    """
    first, second = rng.randrange(1, 2050), rng.randrange(1, 2050)
    if rng.random() < 0.5:
        second = first + rng.choice([-10, -2, -1, 1, 2, 10, 100])
    unit = rng.choice(["", " " + rng.choice(_UNITS)])
    form = rng.choice(["{}", "{}", "{:,}"])
    return (form.format(first) + unit, form.format(second) + unit, 0.05) if first != second else None


def same_date(rng: random.Random, references: Sequence[str]) -> Made:
    """Make a date in two forms, or a date and a part of it.

    Args:
        rng: Random numbers.
        references: Not used.

    Returns:
        The pair, label 1 for two full forms, 0.55 for a part.
    """
    day, month, year = _date(rng)
    full = [
        f"{month} {day}, {year}",
        f"{day} {month} {year}",
        f"{month[:3]} {day}, {year}",
        f"the {day}{_ordinal_suffix(day)} of {month} {year}",
    ]
    part = [f"{month} {year}", str(year), f"in {year}"]
    if rng.random() < 0.6:
        first, second = rng.sample(full, 2)
        return first, second, 1.0
    return rng.choice(full), rng.choice(part), 0.55


def different_dates(rng: random.Random, references: Sequence[str]) -> Made:
    """Make two dates that differ in year, month or day.

    Args:
        rng: Random numbers.
        references: Not used.

    Returns:
        The pair, label 0.1.
    """
    day, month, year = rng.randrange(1, 29), rng.randrange(12), rng.randrange(1500, 2025)
    changed = [
        (day, month, year + rng.randrange(1, 60)),
        (day, (month + rng.randrange(1, 11)) % 12, year),
        (day % 28 + 1, month, year),
    ]
    other_day, other_month, other_year = changed[rng.randrange(3)]
    return f"{MONTHS[month]} {day}, {year}", f"{MONTHS[other_month]} {other_day}, {other_year}", 0.1


def dressed_reference(rng: random.Random, references: Sequence[str]) -> Made:
    """Make a reference with another article, preposition, quote, full stop or case: the same.

    Args:
        rng: Random numbers.
        references: Texts to choose from.

    Returns:
        The pair, label 1; nothing where nothing changed.
    """
    reference = rng.choice(references)
    prefix = rng.choice(["the ", "a ", "in ", "of ", "by ", "at the ", "in the ", "on ", '"', ""])
    text = prefix + (reference.lower() if rng.random() < 0.3 else reference)
    text += rng.choice(["", "", ".", ",", '"'])
    return (reference, text, 1.0) if text != reference else None


def part_of_name(rng: random.Random, references: Sequence[str]) -> Made:
    """Make a name and a part of it.

    Args:
        rng: Random numbers.
        references: Texts to choose from.

    Returns:
        The pair, label 0.75; nothing where the text drawn is not two to six capitalised words.
    """
    words = rng.choice(references).split()
    if not 2 <= len(words) <= 6 or not all(word[:1].isupper() for word in words):
        return None
    return " ".join(words), rng.choice([words[-1], words[0] + " " + words[-1], " ".join(words[1:])]), 0.75


def longer_answer(rng: random.Random, references: Sequence[str]) -> Made:
    """Make a reference and an answer that says it and something else.

    Args:
        rng: Random numbers.
        references: Texts to choose from.

    Returns:
        The pair, label 0.5.
    """
    reference, other = rng.choice(references), rng.choice(references)
    return reference, reference + rng.choice([" and ", " or ", ", ", " in ", " of "]) + other, 0.5


def qualified_amount(rng: random.Random, references: Sequence[str]) -> Made:
    """Make an amount with its unit, and the same with a word like "about", or without the unit.

    Args:
        rng: Random numbers.
        references: Not used.

    Returns:
        The pair, label 0.8.
    """
    number = rng.randrange(1, 2050)
    amount = f"{number} {rng.choice(_UNITS)}"
    other = [f"about {amount}", str(number), f"around {number}", f"over {amount}", f"approximately {amount}"]
    return amount, rng.choice(other), 0.8


def _ordinal_suffix(day: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") if day // 10 != 1 else "th"


def _date(rng: random.Random) -> tuple[int, str, int]:
    day, month, year = rng.randrange(1, 29), rng.randrange(12), rng.randrange(1500, 2025)
    return day, MONTHS[month], year


Rule = Callable[[random.Random, Sequence[str]], Made]
RULES: tuple[Rule, ...] = (
    words_and_digits,
    different_numbers,
    same_date,
    different_dates,
    dressed_reference,
    dressed_reference,  # twice as often as the others
    part_of_name,
    longer_answer,
    qualified_amount,
)
