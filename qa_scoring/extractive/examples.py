"""Questions with their contexts, validated once: from a file, a table, or a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_scoring.errors import InputError, first_few, shorten
from qa_scoring.files import read_reference_file


@dataclass(frozen=True)
class Examples:
    """n questions.

    Args:
        ids: n distinct strings; the row numbers where the input has no ids.
        questions: n strings, none blank.
        contexts: n strings, none blank.
        answers: n references, in any form of ``qa_scoring.records``; None where the input has none.
    """

    ids: list[str]
    questions: list[str]
    contexts: list[str]
    answers: list[Any] | None

    def __len__(self) -> int:
        return len(self.ids)


def make_examples(
    columns: Mapping[str, Sequence[Any]],
    *,
    question_column: str = "question",
    context_column: str = "context",
    id_column: str = "id",
    label_column: str | None = "answers",
    where: str = "data",
) -> Examples:
    """Validate columns.

    Args:
        columns: Name → n values.
        question_column: Name of the questions.
        context_column: Name of the contexts.
        id_column: Name of the ids.
        label_column: Name of the answers; None where they are not needed.
        where: What the columns belong to, for messages.

    Returns:
        The examples.

    Raises:
        InputError: A column is not there, there are no rows, or a row has no id of its own, question or context.

    Example:
        >>> make_examples({"id": ["q1"], "question": ["Who?"], "context": ["Marie Curie."]}, label_column=None).ids
        ['q1']
    """
    wanted = {
        "question_column": question_column,
        "context_column": context_column,
        "id_column": id_column,
        "label_column": label_column,
    }
    for argument, name in wanted.items():
        if name is not None and name not in columns:
            raise InputError(
                f"{where}: there is no column {name!r} ({argument}); the columns are {', '.join(columns) or 'none'}. "
                f"Pass {argument}=... to name another."
            )
    ids = [_id(value, where, row) for row, value in enumerate(columns[id_column])]
    if not ids:
        raise InputError(f"{where}: there are no rows.")
    repeated = [key for key, count in Counter(ids).items() if count > 1]
    if repeated:
        raise InputError(
            f"{where}: {len(repeated)} ids occur more than once ({first_few(repeated, len(repeated))}). Give every "
            f"question an id of its own."
        )
    texts = []
    for name in (question_column, context_column):
        values = list(columns[name])
        for row, (key, value) in enumerate(zip(ids, values, strict=True)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(
                    f"{where}, row {row} (id {key!r}), {name}: expected a text; got {shorten(value)}. Leave the row "
                    f"out, or fill it in."
                )
        texts.append(values)
    return Examples(ids, texts[0], texts[1], None if label_column is None else list(columns[label_column]))


def read_example_file(
    path: str,
    *,
    question_column: str = "question",
    context_column: str = "context",
    id_column: str = "id",
    label_column: str = "answers",
) -> Examples:
    """Read questions with their contexts from a file.

    Args:
        path: SQuAD JSON; or a table (CSV, TSV, JSON, JSON Lines, Parquet).
        question_column: Name of the questions.
        context_column: Name of the contexts.
        id_column: Name of the ids.
        label_column: Name of the answers, which the file need not have.

    Returns:
        The examples.

    Raises:
        InputError: The file cannot be read, or is not that.
    """
    rows = read_reference_file(path)
    if not isinstance(rows, list):
        raise InputError(f"{path} must hold questions with contexts (SQuAD JSON, or a table); got a mapping by id.")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return make_examples(
        columns,
        question_column=question_column,
        context_column=context_column,
        id_column=id_column,
        label_column=label_column if label_column in columns else None,
        where=path,
    )


def _id(value: Any, where: str, row: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(f"{where}, row {row}: the id must be a string; got {shorten(value)}.")
    return str(value)
