"""Answer-sentence-selection data: questions with candidate sentences labelled correct or not, and AVA's triples of it.

Every correct candidate of a question can serve as its reference, and every other candidate as an answer to judge:
another correct one makes a positive triple (question, reference, answer), an incorrect one a negative triple.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

from qa_scoring import files
from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.judge.inputs import Triple

COLUMNS = {
    "question": ("question", "qtext"),
    "candidate": ("candidate", "sentence", "answer", "atext"),
    "label": ("label",),
}
"""What a column holds → the names it may have, in any case: TREC-QA's, WikiQA's, and the plain ones."""


class Candidate(NamedTuple):
    """A sentence that may answer a question.

    Args:
        question: The question.
        text: The sentence.
        correct: Whether people found that it answers the question.
    """

    question: str
    text: str
    correct: bool


class QuestionCandidates(NamedTuple):
    """The distinct candidates of a question, in the order of the file.

    Args:
        question: The question, as first written.
        correct: The correct ones.
        incorrect: The others.
    """

    question: str
    correct: tuple[str, ...]
    incorrect: tuple[str, ...]


class Triples(NamedTuple):
    """Triples of question, reference and answer.

    Args:
        positives: Those whose answer is correct.
        negatives: Those whose answer is not.
    """

    positives: list[Triple]
    negatives: list[Triple]


class Statistics(NamedTuple):
    """What data hold, and what comes out of them.

    Args:
        questions: Distinct questions.
        used: Those that give triples; of answer-sentence-selection data, those with two or more correct candidates.
        candidates: Distinct candidates, or answers that are not blank.
        correct: Those of them that people found correct.
        left_out: The other rows: repeated candidates and those labelled both correct and incorrect, or blank answers.
        positives: Triples whose answer is correct.
        negatives: Triples whose answer is not.
    """

    questions: int
    used: int
    candidates: int
    correct: int
    left_out: int
    positives: int
    negatives: int


def folded(text: str) -> str:
    """Fold a text so that those that differ in case, white space or Unicode form alone become the same.

    Args:
        text: Any text.

    Returns:
        The folded text.

    Example:
        >>> folded(" Who is  Curie?") == folded("who is curie?")
        True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def read_candidates(path: str | Path) -> list[Candidate]:
    r"""Read answer-sentence-selection data.

    Args:
        path: TSV (read without quoting, as WikiQA is published), CSV, JSON, JSON Lines or Parquet with a column for
            the question, one for the candidate and one for the label, which is 0 or 1; names in ``COLUMNS``, other
            columns are not read.

    Returns:
        The candidates, in the order of the file.

    Raises:
        InputError: The file cannot be read or holds no rows, a column is lacking or there twice, a text is blank, or a
            label is not 0 or 1.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.tsv"
        >>> _ = path.write_text("Question\tSentence\tLabel\nWho?\tCurie did.\t1\n")
        >>> read_candidates(path)
        [Candidate(question='Who?', text='Curie did.', correct=True)]
    """
    name = str(path)
    rows = files.read_unquoted_tsv(name) if Path(path).suffix.lower() == ".tsv" else files.read_table(name)
    if not rows:
        raise InputError(f"{path} holds no rows; expected candidates of questions, one a row.")
    question, candidate, label = (_column(rows[0], holds, name) for holds in COLUMNS)
    return [
        Candidate(
            _text(row, question, f"{path}, row {number}"),
            _text(row, candidate, f"{path}, row {number}"),
            _label(row.get(label), f"{path}, row {number}, {label}"),
        )
        for number, row in enumerate(rows)
    ]


def group_candidates(candidates: Iterable[Candidate]) -> list[QuestionCandidates]:
    """Gather the distinct candidates of every question.

    Args:
        candidates: Candidates of any questions, in any order.

    Returns:
        The questions in the order in which they come. Texts that differ in case and white space alone are one; a text
        that is labelled both correct and incorrect is left out.

    Example:
        >>> group_candidates([Candidate("Who?", "Curie.", True), Candidate("who?", "Bohr.", False)])
        [QuestionCandidates(question='Who?', correct=('Curie.',), incorrect=('Bohr.',))]
    """
    questions: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    labels: dict[tuple[str, str], set[bool]] = {}
    for candidate in candidates:
        question, text = folded(candidate.question), folded(candidate.text)
        questions.setdefault(question, candidate.question)
        texts.setdefault(question, {}).setdefault(text, candidate.text)
        labels.setdefault((question, text), set()).add(candidate.correct)

    def labelled(question: str, label: bool) -> tuple[str, ...]:
        return tuple(text for key, text in texts[question].items() if labels[question, key] == {label})

    return [QuestionCandidates(text, labelled(key, True), labelled(key, False)) for key, text in questions.items()]


def build_triples(candidates: Iterable[Candidate], *, cap: int | None = None, seed: int = 0) -> Triples:
    """Build AVA's triples: positives of two different correct candidates, negatives of a correct and an incorrect one.

    Args:
        candidates: Candidates of any questions; a question with fewer than two distinct correct ones gives nothing.
        cap: Per question at most so many positives and at most so many negatives, drawn without repeats; None is all.
        seed: Seed of what is drawn.

    Returns:
        The triples, by question. With c correct and i incorrect candidates a question has c (c - 1) positives, each
        pair of correct ones in both orders, and c i negatives, whose reference is the correct one.

    Raises:
        InputError: ``cap`` is not at least 1.

    Example:
        >>> curie, marie, bohr = ("Curie did.", True), ("Marie Curie.", True), ("Bohr did.", False)
        >>> triples = build_triples(Candidate("Who?", *candidate) for candidate in (curie, marie, bohr))
        >>> len(triples.positives), triples.negatives[0]
        (2, Triple(question='Who?', reference='Curie did.', answer='Bohr did.'))

    Source:
        Vu & Moschitti 2021, AVA, section 4.1.
    """
    if cap is not None and cap < 1:
        raise parameter_error("cap", "None or an integer of at least 1", cap)
    rng = random.Random(seed)

    def drawn(triples: list[Triple]) -> list[Triple]:
        return triples if cap is None or len(triples) <= cap else rng.sample(triples, cap)

    built = Triples([], [])
    for question, correct, incorrect in group_candidates(candidates):
        if len(correct) >= 2:
            built.positives.extend(drawn([Triple(question, *pair) for pair in permutations(correct, 2)]))
            built.negatives.extend(drawn([Triple(question, *pair) for pair in product(correct, incorrect)]))
    return built


def count_candidates(candidates: Iterable[Candidate], triples: Triples) -> Statistics:
    """Count what answer-sentence-selection data hold, as the paper's tables of data sets do.

    Args:
        candidates: All candidates of the data.
        triples: What was built of them.

    Returns:
        The counts.

    Example:
        >>> candidates = [Candidate("Who?", "Curie.", True), Candidate("Who?", "Bohr.", False)]
        >>> count_candidates(candidates, build_triples(candidates))
        Statistics(questions=1, used=0, candidates=2, correct=1, left_out=0, positives=0, negatives=0)

    Source:
        Vu & Moschitti 2021, AVA, tables 1 and 2.
    """
    rows = list(candidates)
    questions = group_candidates(rows)
    correct = sum(len(question.correct) for question in questions)
    distinct = correct + sum(len(question.incorrect) for question in questions)
    return Statistics(
        questions=len(questions),
        used=sum(len(question.correct) >= 2 for question in questions),
        candidates=distinct,
        correct=correct,
        left_out=len(rows) - distinct,
        positives=len(triples.positives),
        negatives=len(triples.negatives),
    )


def _column(row: Mapping[str, Any], holds: str, path: str) -> str:
    found = [name for name in row if name.strip().lower() in COLUMNS[holds]]
    if len(found) != 1:
        got = f"{', '.join(map(repr, found))} are all such names" if found else f"got {', '.join(map(repr, row))}"
        raise InputError(
            f"{path}: expected one column with the {holds}, called {' or '.join(map(repr, COLUMNS[holds]))} in any "
            f"case; {got}."
        )
    return found[0]


def _text(row: Mapping[str, Any], column: str, where: str) -> str:
    text = row.get(column)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}, {column}: expected a text that is not blank; got {shorten(text)}.")
    return text.strip()


def _label(value: object, where: str) -> bool:
    label = value.strip() if isinstance(value, str) else value
    if label in ("0", "1"):
        return label == "1"
    if isinstance(label, int) and label in (0, 1):  # JSON's false and true are integers as well
        return bool(label)
    raise InputError(f"{where}: expected the label 0 or 1; got {shorten(value)}.")
