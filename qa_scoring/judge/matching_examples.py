"""What the matching judge learns from: answers with all their references, and answers made of them by rules."""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from qa_scoring.encoders.scorers import Nearest
from qa_scoring.errors import InputError, first_few
from qa_scoring.judge.answer_selection import folded
from qa_scoring.judge.made_answers import Known, make_answers
from qa_scoring.judge.sources import KIND_NAMES, JudgedAnswers, SemEval2013, Source
from qa_scoring.judgements import read_judged_answers, read_student_answers

MADE = "made"
_LONGEST = 80  # characters of a reference that rules start from
_OTHERS = 4
_SHARES = (0.4, 0.4, 0.2)  # of those near in meaning, of the same sort, and spelled alike
_BESIDE = 3


class Item(NamedTuple):
    """An answer that people judged, or that was made, with all its references.

    Args:
        question: The question.
        references: One reference or more.
        answer: The answer.
        correct: The verdict.
        weight: Its weight in training, above 0.
        origin: The kind of the source that it comes from, or ``MADE``.
    """

    question: str
    references: tuple[str, ...]
    answer: str
    correct: bool
    weight: float
    origin: str


class ItemSets(NamedTuple):
    """The items of a training run; no question is in both lists.

    Args:
        train: Items to learn from.
        held_out: Items to watch the run with, none of them made.
    """

    train: list[Item]
    held_out: list[Item]


def build_items(
    sources: Sequence[Source],
    data: str | Path,
    *,
    seed: int,
    holdout: float,
    made: int,
    made_weight: float,
    nearest: Callable[[Sequence[str]], Nearest],
) -> ItemSets:
    """Build the items of a training run.

    Args:
        sources: Judged answers and student answers.
        data: The folder that the sources' paths start from.
        seed: Seed; the same one gives the same lists.
        holdout: Part of the questions that is held out.
        made: So many answers are made of every question to learn from, each by another rule.
        made_weight: Their weight.
        nearest: Gives, for every one of some texts, the others that mean nearly the same, nearest first.

    Returns:
        The items.

    Raises:
        InputError: A file is not there or not what it must be, a source is of another kind, or all items to learn from
            have one verdict.
    """
    items = [item for source in sources for item in _items(source, Path(data))]
    rng = random.Random(seed)
    questions = sorted({folded(item.question) for item in items})
    held_out = set(rng.sample(questions, max(1, round(holdout * len(questions))) if holdout else 0))
    train = [item for item in items if folded(item.question) not in held_out]
    verdicts = Counter(item.correct for item in train)
    if len(verdicts) < 2:
        raise InputError(
            f"A judge learns from correct and incorrect answers; the sources give {verdicts[True]} correct and "
            f"{verdicts[False]} incorrect ones, and {len(items) - len(train)} answers are held out."
        )
    if made:
        train += _made(train, rng, made, made_weight, nearest)
    return ItemSets(train, [item for item in items if folded(item.question) in held_out])


def _items(source: Source, data: Path) -> list[Item]:
    path, kind = data / source.path, KIND_NAMES[type(source)]
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; expected the {kind} data of the run.")
    if isinstance(source, JudgedAnswers):
        return _judged(path, source.weight)
    if isinstance(source, SemEval2013):
        return [
            Item(
                row.question or row.identity, (row.reference,), row.text, row.verdict == "correct", source.weight, kind
            )
            for row in read_student_answers(path)
            if row.text.strip() and (source.contradictory or row.verdict != "contradictory")
        ]
    raise InputError(
        f"{path}: the matching judge learns from {first_few(['judged-answers', 'semeval2013'], 2)}; got {kind}."
    )


def _judged(path: Path, weight: float) -> list[Item]:
    """Read judged answers as scoring reads them: blank references and blank answers do not reach the judge."""
    items: list[Item] = []
    for number, row in enumerate(read_judged_answers(path)):
        if not row.question.strip():
            raise InputError(f"{path}, row {number}: expected a question that is not blank; got {row.question!r}.")
        references = tuple(text for text in row.references if text.strip())
        if references and row.answer.strip():
            items.append(Item(row.question, references, row.answer, row.correct, weight, KIND_NAMES[JudgedAnswers]))
    return items


def _sort_of(text: str) -> tuple[bool, bool, int]:
    """Tell numbers and dates from names and other words, by length."""
    return bool(re.search(r"\d", text)), text[:1].isupper(), min(3, len(text.split()))


def _made(
    train: Sequence[Item], rng: random.Random, count: int, weight: float, nearest: Callable[[Sequence[str]], Nearest]
) -> list[Item]:
    references: dict[str, tuple[str, ...]] = {}
    for item in train:
        short = tuple(text for text in item.references if text.strip() and len(text) < _LONGEST)
        if short:
            references.setdefault(item.question, short)
    pool = sorted({texts[0] for texts in references.values()})
    near = nearest(pool)
    by_sort: dict[tuple[bool, bool, int], list[str]] = {}
    for text in pool:
        by_sort.setdefault(_sort_of(text), []).append(text)
    found: list[Item] = []
    for question, own in references.items():
        place = bisect(pool, own[0])
        like = pool[max(0, place - _BESIDE) : place + _BESIDE]  # in the alphabet, so that they begin alike
        others = _others(own, (near.get(own[0], ()), by_sort[_sort_of(own[0])], like), rng)
        if len(others) >= 2:
            found += [
                Item(made.question, made.references, made.answer, made.correct, weight, MADE)
                for made in make_answers(Known(question, own, others), rng, count)
            ]
    return found


def _others(own: Sequence[str], pools: Sequence[Sequence[str]], rng: random.Random) -> tuple[str, ...]:
    """Draw references of other questions: near in meaning, of the same sort, or spelled alike."""
    known = [text.lower() for text in own]
    chosen: list[str] = []
    for _ in range(2 * _OTHERS):
        texts = rng.choices(pools, weights=_SHARES)[0]
        text = rng.choice(texts) if texts else own[0]
        clear = all(text.lower() not in mine and mine not in text.lower() for mine in known)
        if clear and text not in chosen:
            chosen.append(text)
    return tuple(chosen[:_OTHERS])
