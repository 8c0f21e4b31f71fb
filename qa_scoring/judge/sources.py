"""Where the examples of a judge come from: the tables of a configuration, checked key by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qa_scoring.config_files import COUNT, FLAG, PATH, POSITIVE, Rule, checked, key, plain_values, refuse_measuring_data
from qa_scoring.errors import InputError, shorten

_ORDER: Rule = ("'overlap' or 'seed'", lambda value: value in ("overlap", "seed"))


@dataclass(frozen=True, kw_only=True)
class AnswerSelection:
    """Answer-sentence-selection data: question, candidate and label, as ``read_candidates`` reads them.

    Args:
        path: The file.
        cap: Per question at most so many positive and at most so many negative triples; None is all.
        weight: Weight of every example.
    """

    path: str = key(PATH)
    cap: int | None = key(COUNT, None)
    weight: float = key(POSITIVE, 1.0)


@dataclass(frozen=True, kw_only=True)
class JudgedAnswers:
    """Answers of systems that people judged: JSON Lines of question, references, answer and correct.

    Args:
        path: The file.
        references_per_answer: An answer is paired with at most so many of its references; None is all.
        references_by: Which ones: ``"overlap"`` takes those that share most words with the answer, ``"seed"`` draws.
        weight: Weight of every example.
    """

    path: str = key(PATH)
    references_per_answer: int | None = key(COUNT, None)
    references_by: str = key(_ORDER, "overlap")
    weight: float = key(POSITIVE, 1.0)


@dataclass(frozen=True, kw_only=True)
class SemEval2013:
    """Student answers of SemEval 2013 task 7, three-way training part.

    Args:
        path: The ZIP file as published.
        contradictory: Whether answers that contradict the reference are used, as incorrect ones.
        weight: Weight of every example.
    """

    path: str = key(PATH)
    contradictory: bool = key(FLAG, True)
    weight: float = key(POSITIVE, 1.0)


Source = AnswerSelection | JudgedAnswers | SemEval2013
KINDS: dict[str, type[Any]] = {
    "answer-selection": AnswerSelection,
    "judged-answers": JudgedAnswers,
    "semeval2013": SemEval2013,
}
KIND_NAMES = {kind: name for name, kind in KINDS.items()}


def read_sources(tables: object, where: str) -> tuple[Source, ...]:
    """Read the ``[[sources]]`` tables of a configuration.

    Args:
        tables: The tables as read: a list of ``kind`` (see ``KINDS``) and the keys of that kind.
        where: Names the configuration in errors.

    Returns:
        The sources.

    Raises:
        InputError: There is none, a key is unknown or lacking, a value is not what it must be, or a file is for
            measuring.

    Example:
        >>> read_sources([{"kind": "answer-selection", "path": "train.csv", "cap": 20}], "judge.toml")
        (AnswerSelection(path='train.csv', cap=20, weight=1.0),)
    """
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{where}, sources: expected one [[sources]] table or more; got {shorten(tables)}.")
    return tuple(_source(table, f"{where}, source {number}") for number, table in enumerate(tables))


def read_held_out(table: object, where: str) -> Source:
    """Read the ``[held_out]`` table of a configuration: a source whose questions only watch the run.

    Args:
        table: The table as read: ``kind`` (see ``KINDS``) and the keys of that kind.
        where: Names the configuration in errors.

    Returns:
        The source; its file may have ``dev`` in its name.

    Raises:
        InputError: A key is unknown or lacking, a value is not what it must be, or the file is for measuring.

    Example:
        >>> read_held_out({"kind": "judged-answers", "path": "dev.jsonl"}, "judge.toml").path
        'dev.jsonl'
    """
    return _source(table, f"{where}, held_out", watching=True)


def source_facts(source: Source) -> dict[str, Any]:
    """Return a source as plain values, defaults included.

    Args:
        source: The source.

    Returns:
        The ``kind`` and the keys of a table that ``read_sources`` reads; a value that is None is left out.

    Example:
        >>> source_facts(AnswerSelection(path="train.csv"))
        {'kind': 'answer-selection', 'path': 'train.csv', 'weight': 1.0}
    """
    return {"kind": KIND_NAMES[type(source)], **plain_values(source)}


def _source(table: object, where: str, *, watching: bool = False) -> Source:
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table; got {shorten(table)}.")
    values = dict(table)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise InputError(f"{where}, kind: expected one of {', '.join(KINDS)}; got {shorten(kind)}.")
    source: Source = KINDS[kind](**checked(KINDS[kind], values, where))
    refuse_measuring_data(source.path, f"{where}, path", watching=watching)
    return source
