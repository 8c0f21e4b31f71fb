"""Examples to train a judge on, and to watch its training with: where they come from, and how they are split.

The split is by question: all examples of a question, from whichever source, are on one side.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from qa_scoring.config_files import refuse_measuring_data
from qa_scoring.errors import InputError, first_few, parameter_error, shorten
from qa_scoring.judge.answer_selection import Statistics, build_triples, count_candidates, folded, read_candidates
from qa_scoring.judge.sources import KIND_NAMES, AnswerSelection, JudgedAnswers, SemEval2013, Source
from qa_scoring.judgements import read_judged_answers, read_student_answers
from qa_scoring.text.normalize import squad_words

_VERDICTS = ("correct", "contradictory", "incorrect")


class JudgedExample(NamedTuple):
    """An answer that people judged, with one reference.

    Args:
        question: The question.
        reference: One reference.
        answer: The answer.
        correct: The verdict.
        weight: Its weight in training, above 0.
        origin: The kind of the source that it comes from.
    """

    question: str
    reference: str
    answer: str
    correct: bool
    weight: float = 1.0
    origin: str = ""


_Answer = tuple[str, Sequence[str], str, bool]  # question, references, answer, verdict


class SourceExamples(NamedTuple):
    """The examples of one source, and what its file holds."""

    examples: list[JudgedExample]
    statistics: Statistics


class ExampleSets(NamedTuple):
    """The examples of a training run; no question is in both lists.

    Args:
        train: Examples to learn from, shuffled.
        held_out: Examples to watch the run with.
    """

    train: list[JudgedExample]
    held_out: list[JudgedExample]


def build_examples(
    sources: Sequence[Source],
    data: str | Path,
    *,
    seed: int = 0,
    holdout: float = 0.05,
    held_out: Source | None = None,
) -> ExampleSets:
    r"""Build the examples of a training run.

    Args:
        sources: Where they come from; what one gives does not depend on the others.
        data: The folder that the sources' paths start from.
        seed: Seed; the same one gives the same lists.
        holdout: Part of the questions that is held out, at least 0 and below 1; above 0 at least one question.
        held_out: Data to watch the run with in place of questions of the sources, with ``holdout`` 0; its questions
            must be others.

    Returns:
        The examples.

    Raises:
        InputError: A file is not there, not what it must be or for measuring, both ``holdout`` and ``held_out`` are
            given, a question is in both splits, or the examples to learn from are not of both verdicts.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.csv").write_text("question,answer,label\nWho?,Curie,1\nWho?,Marie Curie,1\nWho?,Bohr,0\n")
        >>> sets = build_examples([AnswerSelection(path="a.csv")], folder, holdout=0)
        >>> sorted((example.reference, example.answer) for example in sets.train if example.correct)
        [('Curie', 'Marie Curie'), ('Marie Curie', 'Curie')]
    """
    if not 0 <= holdout < 1:
        raise parameter_error("holdout", "at least 0 and below 1", holdout)
    if held_out is not None and holdout:
        raise InputError(f"{held_out.path!r} is held out: expected holdout 0 beside it; got {holdout}.")
    examples = [example for source in sources for example in _examples(source, data, seed, watching=False)]
    rng = random.Random(seed)
    if held_out is None:
        train, watched = _split(examples, holdout, rng)
    else:
        train, watched = examples, _examples(held_out, data, seed, watching=True)
        _refuse_shared_questions(train, watched, held_out.path)
    verdicts = Counter(example.correct for example in train)
    if len(verdicts) < 2:
        raise InputError(
            f"A judge learns from correct and incorrect answers; the sources give {verdicts[True]} correct and "
            f"{verdicts[False]} incorrect ones, and {len(watched)} examples are held out."
        )
    rng.shuffle(train)
    return ExampleSets(train, watched)


def read_source(source: Source, path: Path, seed: int = 0) -> SourceExamples:
    """Read a source's examples.

    Args:
        source: What to make of the file.
        path: The file itself.
        seed: Seed of what is drawn.

    Returns:
        The examples, in an order that the file and the seed fix, and what the file holds.

    Raises:
        InputError: The file is not there, or not what it must be.
    """
    match source:
        case AnswerSelection():
            return _from_candidates(source, path, seed)
        case JudgedAnswers():
            return _from_judged_answers(source, path, seed)
        case SemEval2013():
            return _from_student_answers(source, path)


# ------------------------------------------------------------------------------------ the sources


def _examples(source: Source, data: str | Path, seed: int, *, watching: bool) -> list[JudgedExample]:
    refuse_measuring_data(source.path, KIND_NAMES[type(source)], watching=watching)
    path = Path(data) / source.path
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; expected the {KIND_NAMES[type(source)]} data of the run.")
    return read_source(source, path, seed).examples


def _from_candidates(source: AnswerSelection, path: Path, seed: int) -> SourceExamples:
    candidates = read_candidates(path)
    triples = build_triples(candidates, cap=source.cap, seed=seed)
    examples = [
        JudgedExample(*triple, correct, source.weight, KIND_NAMES[AnswerSelection])
        for correct, side in ((True, triples.positives), (False, triples.negatives))
        for triple in side
    ]
    return SourceExamples(examples, count_candidates(candidates, triples))


def _from_judged_answers(source: JudgedAnswers, path: Path, seed: int) -> SourceExamples:
    rng = random.Random(seed)
    answers: list[_Answer] = []
    for number, row in enumerate(read_judged_answers(path)):
        if not row.question.strip():
            raise InputError(f"{path}, row {number}: expected a question that is not blank; got {row.question!r}.")
        references = _chosen_references(source, row.references, row.answer, rng)
        answers.append((row.question, references, row.answer, row.correct))
    return _paired(answers, source)


def _chosen_references(
    source: JudgedAnswers, references: Sequence[str], answer: str, rng: random.Random
) -> Sequence[str]:
    texts = [text for text in dict.fromkeys(references) if text.strip()]
    count = source.references_per_answer
    if count is None or len(texts) <= count:
        return texts
    if source.references_by == "seed":
        return rng.sample(texts, count)
    words = Counter(squad_words(answer))

    def shared(text: str) -> float:
        own = Counter(squad_words(text))
        return (own & words).total() / max(1, own.total() + words.total())  # half of the token F1

    return sorted(texts, key=shared, reverse=True)[:count]


def _from_student_answers(source: SemEval2013, path: Path) -> SourceExamples:
    answers: list[_Answer] = []
    for row in read_student_answers(path):
        if row.verdict not in _VERDICTS:
            raise InputError(
                f"{path}, {row.identity}: expected the accuracy {', '.join(_VERDICTS)}; got {shorten(row.verdict)}."
            )
        if not row.question:
            raise InputError(f"{path}, {row.identity}: expected a questionText; got none.")
        if source.contradictory or row.verdict != "contradictory":
            answers.append((row.question, (row.reference,), row.text, row.verdict == "correct"))
    return _paired(answers, source)


def _paired(answers: Sequence[_Answer], source: JudgedAnswers | SemEval2013) -> SourceExamples:
    """Pair answers with each of their references; blank ones are left out, as no model judges them."""
    used = [answer for answer in answers if answer[1] and answer[2].strip()]
    examples = [
        JudgedExample(question, reference, answer, correct, source.weight, KIND_NAMES[type(source)])
        for question, references, answer, correct in used
        for reference in references
    ]
    positives = sum(example.correct for example in examples)
    statistics = Statistics(
        questions=len({folded(question) for question, *_ in answers}),
        used=len({folded(question) for question, *_ in used}),
        candidates=len(used),
        correct=sum(correct for *_, correct in used),
        left_out=len(answers) - len(used),
        positives=positives,
        negatives=len(examples) - positives,
    )
    return SourceExamples(examples, statistics)


# ------------------------------------------------------------------------------------ the split


def _split(
    examples: Sequence[JudgedExample], holdout: float, rng: random.Random
) -> tuple[list[JudgedExample], list[JudgedExample]]:
    questions = sorted({folded(example.question) for example in examples})
    count = max(1, int(len(questions) * holdout)) if holdout and questions else 0
    watched = set(rng.sample(questions, count))
    sides: tuple[list[JudgedExample], list[JudgedExample]] = ([], [])
    for example in examples:
        sides[folded(example.question) in watched].append(example)
    return sides


def _refuse_shared_questions(train: Sequence[JudgedExample], watched: Sequence[JudgedExample], path: str) -> None:
    learnt = {folded(example.question) for example in train}
    shared = {folded(example.question): example.question for example in watched if folded(example.question) in learnt}
    if shared:
        raise InputError(
            f"{path}: {len(shared)} of its questions are among those to learn from "
            f"({first_few(shared.values(), len(shared))}); expected none. Take them out of one of the two."
        )
