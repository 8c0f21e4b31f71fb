"""Answers that people judged, as data sets publish them."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from qa_scoring.errors import InputError, shorten


class JudgedAnswer(NamedTuple):
    """An answer of a system, and whether people found it correct.

    Args:
        question: The question.
        references: One reference or more.
        answer: The system's answer; blank for none.
        correct: The verdict.
        system: Which system; blank if the file does not say.
        group: The ``kind`` or ``source`` of the row; blank if the file does not say.
    """

    question: str
    references: tuple[str, ...]
    answer: str
    correct: bool
    system: str = ""
    group: str = ""


class SystemAnswer(NamedTuple):
    """An answer of a system that people may have judged.

    Args:
        question: The question; blank if the file does not say.
        references: The references; none for an unanswerable question.
        answer: The system's answer; blank for none.
        correct: The verdict of people; None if there is none.
        system: Which system; blank if the file does not say.
        group: The ``kind`` or ``source`` of the row; blank if the file does not say.
        score: The system's own score of the answer, higher for what it would rather say; None if the file has none.
    """

    question: str
    references: tuple[str, ...]
    answer: str
    correct: bool | None
    system: str = ""
    group: str = ""
    score: float | None = None


class StudentAnswer(NamedTuple):
    """A student's answer.

    Args:
        identity: Names the question.
        question: The question's text; blank if the file has none.
        reference: The reference that the answer was matched with, or the question's first.
        text: The answer.
        verdict: ``"correct"``, ``"contradictory"``, ``"incorrect"``, or what else the file says.
    """

    identity: str
    question: str
    reference: str
    text: str
    verdict: str | None


def read_judged_answers(path: Path) -> Iterator[JudgedAnswer]:
    r"""Read answers of systems that people judged.

    Args:
        path: JSON Lines with ``question``, ``references``, ``answer``, ``correct`` (true or false), and, where they are
            known, ``system`` and ``kind`` or ``source``.

    Yields:
        The answers.

    Raises:
        InputError: The file is not there, holds no rows, or a row is not such a record.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "judged.jsonl"
        >>> _ = path.write_text('{"question": "Who?", "references": ["Curie"], "answer": "Curie", "correct": true}\n')
        >>> next(read_judged_answers(path)).correct
        True
    """
    for where, row in _rows(path, "judged answers"):
        _check_fields(row, {"question": str, "references": list, "answer": str, "correct": bool}, where)
        if not row["references"]:
            raise InputError(f"{where}, references: expected strings; got [].")
        yield JudgedAnswer(
            row["question"],
            tuple(row["references"]),
            row["answer"],
            row["correct"],
            _name(row, "system", where),
            _name(row, "kind", where) or _name(row, "source", where),
        )


def read_system_answers(path: Path) -> Iterator[SystemAnswer]:
    r"""Read answers of systems, judged by people or not yet.

    Args:
        path: JSON Lines with ``references`` and ``answer``, and, where they are known, ``question``, ``correct`` (true,
            false, or null for no verdict), ``system``, ``score`` (a number or null), and ``kind`` or ``source``.

    Yields:
        The answers.

    Raises:
        InputError: The file is not there, holds no rows, or a row is not such a record.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "systems.jsonl"
        >>> _ = path.write_text('{"system": "a", "references": ["Curie"], "answer": "Marie Curie", "score": 0.5}\n')
        >>> next(read_system_answers(path)).correct is None
        True
    """
    for where, row in _rows(path, "answers of systems"):
        _check_fields(row, {"references": list, "answer": str}, where)
        correct = row.get("correct")
        if not isinstance(correct, bool | None):
            raise InputError(f"{where}, correct: expected true, false or null; got {shorten(correct)}.")
        yield SystemAnswer(
            _name(row, "question", where),
            tuple(row["references"]),
            row["answer"],
            correct,
            _name(row, "system", where),
            _name(row, "kind", where) or _name(row, "source", where),
            _score(row.get("score"), where),
        )


def read_student_answers(path: Path) -> Iterator[StudentAnswer]:
    """Read the three-way training part of SemEval 2013 task 7.

    Args:
        path: The ZIP file as published; only ``training/3way`` is read.

    Yields:
        The answers that are not blank.

    Raises:
        InputError: The file is not that ZIP file.

    Source:
        Dzikovska et al. 2013, SemEval-2013 Task 7: The Joint Student Response Analysis and 8th Recognizing Textual
        Entailment Challenge.
    """
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile:
        raise InputError(f"{path} is not a ZIP file; expected SemEval 2013 task 7 as published.") from None
    with archive:
        names = [
            name for name in sorted(archive.namelist()) if name.startswith("training/3way") and name[-4:] == ".xml"
        ]
        if not names:
            raise InputError(f"{path} has no training/3way/….xml; expected SemEval 2013 task 7 as published.")
        for name in names:
            try:
                question = ElementTree.fromstring(archive.read(name))
            except ElementTree.ParseError as error:
                raise InputError(f"{path}, {name} is not valid XML: {error}.") from None
            references = {item.get("id"): item.text or "" for item in question.iter("referenceAnswer")}
            if not references:
                raise InputError(f"{path}, {name}: expected a referenceAnswer; got none.")
            text = " ".join((question.findtext("questionText") or "").split())
            for item in question.iter("studentAnswer"):
                if item.text and item.text.strip():
                    reference = references.get(item.get("answerMatch")) or next(iter(references.values()))
                    identity = question.get("id") or name
                    yield StudentAnswer(identity, text, reference.strip(), item.text.strip(), item.get("accuracy"))


def _rows(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of a JSON Lines file, and where each stands."""
    found = False
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason} at byte {error.start}.") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{where} is not valid JSON: {error.msg}, column {error.colno}.") from None
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a record (JSON object); got {shorten(row)}.")
        found = True
        yield where, row
    if not found:
        raise InputError(f"{path} holds no rows; expected {what}, one JSON object a line.")


def _check_fields(row: dict[str, Any], wanted: dict[str, type], where: str) -> None:
    for name, kind in wanted.items():
        if not isinstance(row.get(name), kind):
            raise InputError(f"{where}, {name}: expected a {kind.__name__}; got {shorten(row.get(name))}.")
    if not all(isinstance(text, str) for text in row["references"]):
        raise InputError(f"{where}, references: expected strings; got {shorten(row['references'])}.")


def _score(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise InputError(f"{where}, score: expected a finite number or null; got {shorten(value)}.")
    return float(value)


def _name(row: dict[str, Any], key: str, where: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise InputError(f"{where}, {key}: expected a str; got {shorten(value)}.")
    return value
