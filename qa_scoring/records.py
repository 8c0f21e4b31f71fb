"""What goes in: everything users have, validated once, as columns.

Accepted predictions: SQuAD v2 or v1 records (``id``, ``prediction_text``, ``no_answer_probability`` optional),
plain strings, or a mapping from id to string. Accepted references: SQuAD records (``id``, ``answers`` as
``{"text": [...], "answer_start": [...]}`` or as a list of ``{"text", "answer_start"}``, ``answer_start``
optional), strings, lists of strings, a mapping from id to any of these, or a whole SQuAD data set
(``{"data": [...]}``). Nobody checks input again after this module.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError, first_few, parameter_error, shorten

Missing = Literal["error", "score_zero"]


@dataclass(frozen=True)
class Records:
    """n validated examples, in the order of the references.

    Args:
        ids: n distinct strings; the row numbers where the input has no ids.
        predictions: n strings; ``""`` where ``missing`` is true.
        references: n lists of strings; an empty list is an unanswerable question.
        no_answer: Shape (n,), float64, higher is surer that there is no answer; -inf where ``missing``; None
            when no row has a value.
        sweep_order: Shape (n,), the rows in the order in which the no-answer values were given.
        missing: Shape (n,), rows without a prediction, which score 0.
    """

    ids: list[str]
    predictions: list[str]
    references: list[list[str]]
    no_answer: NDArray[np.float64] | None
    sweep_order: NDArray[np.int64]
    missing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PredictionColumns:
    """Validated predictions, in the order given, before they meet the references."""

    ids: list[str] | None
    texts: list[str]
    no_answer: list[float] | None
    by_id_only: bool = False


@dataclass(frozen=True)
class ReferenceColumns:
    """Validated references, in the order given."""

    ids: list[str] | None
    answers: list[list[str]]
    by_id_only: bool = False


def make_records(
    predictions: object, references: object, *, missing: Missing = "error", blank_references: bool = False
) -> Records:
    """Validate predictions and references and bring them together.

    Rows are matched by id when both sides have ids, whatever their order; by position otherwise.

    Args:
        predictions: n predictions, in any form of the module's docstring.
        references: n references, likewise.
        missing: What to do with ids that only one side has: ``"error"``, or ``"score_zero"``, which gives
            unanswered questions the score 0 and leaves out predictions without a question.
        blank_references: Whether a question may have references of white space only, as published scripts allow.

    Returns:
        The examples, in the order of the references.

    Raises:
        InputError: The first thing that is wrong, with its row and id.

    Example:
        >>> make_records({"q1": "Paris"}, [{"id": "q1", "answers": {"text": ["Paris"]}}]).ids
        ['q1']
    """
    if missing not in ("error", "score_zero"):
        raise parameter_error("missing", "'error' or 'score_zero'", missing)
    predicted = read_predictions(predictions)
    expected = read_references(references)
    if not blank_references:
        _refuse_blank(expected)
    if not expected.answers and not predicted.texts:
        raise InputError("There is nothing to score: predictions and references are both empty.")
    if predicted.ids is not None and expected.ids is not None:
        return _match_by_id(predicted, expected, missing)
    if predicted.by_id_only or expected.by_id_only:
        named, other = ("predictions", "references") if predicted.by_id_only else ("references", "predictions")
        raise InputError(
            f"The {named} are a mapping by id, but the {other} have no ids. Give both sides ids, or pass two "
            f"lists in the same order."
        )
    if len(predicted.texts) != len(expected.answers):
        raise InputError(
            f"There are {len(predicted.texts)} predictions and {len(expected.answers)} references. Without "
            f"ids on both sides they are matched by position, so their numbers must be equal."
        )
    ids = predicted.ids or expected.ids or [str(row) for row in range(len(predicted.texts))]
    return Records(
        ids=ids,
        predictions=predicted.texts,
        references=expected.answers,
        no_answer=None if predicted.no_answer is None else np.array(predicted.no_answer, dtype=np.float64),
        sweep_order=np.arange(len(ids)),
        missing=np.zeros(len(ids), dtype=np.bool_),
    )


def _match_by_id(predicted: PredictionColumns, expected: ReferenceColumns, missing: Missing) -> Records:
    prediction_ids, ids = cast(list[str], predicted.ids), cast(list[str], expected.ids)
    values = None if predicted.no_answer is None else np.array(predicted.no_answer, dtype=np.float64)
    if prediction_ids == ids:
        order, absent, texts = np.arange(len(ids)), np.zeros(len(ids), dtype=np.bool_), predicted.texts
        return Records(ids, texts, expected.answers, values, order, absent)
    position = {key: row for row, key in enumerate(prediction_ids)}
    unanswered = [key for key in ids if key not in position]
    known = set(ids)
    unasked = [key for key in prediction_ids if key not in known]
    if (unanswered or unasked) and missing == "error":
        parts = [
            f"{len(keys)} {what} ({first_few(keys, len(keys))})"
            for keys, what in (
                (unanswered, "ids of the references have no prediction"),
                (unasked, "ids of the predictions have no reference"),
            )
            if keys
        ]
        raise InputError(
            f"{'; '.join(parts)}. Fix the ids, or score on with missing='score_zero' (command line: --missing "
            f"score_zero): unanswered questions then score 0 and predictions without a question are left out."
        )
    rows = np.array([position.get(key, -1) for key in ids], dtype=np.int64)
    absent = rows < 0
    if values is not None:
        values = np.where(absent, -np.inf, np.append(values, -np.inf)[rows])
    return Records(
        ids=ids,
        predictions=["" if row < 0 else predicted.texts[row] for row in rows.tolist()],
        references=expected.answers,
        no_answer=values,
        sweep_order=np.argsort(rows, kind="stable"),
        missing=absent,
    )


# ---------------------------------------------------------------------------------- predictions


def read_predictions(predictions: object) -> PredictionColumns:
    """Validate predictions row by row.

    Args:
        predictions: Records, strings, or a mapping from id to string.

    Returns:
        Columns of equal length.

    Raises:
        InputError: A row is not what it must be.

    Example:
        >>> read_predictions(["Paris"]).texts
        ['Paris']
    """
    if isinstance(predictions, Mapping):
        if "prediction_text" in predictions:
            raise InputError("predictions is one record; pass a list of records.")
        ids = _read_ids(list(predictions), "predictions", mapping=True)
        texts = list(predictions.values())
        _check_predictions(texts, ids)
        return PredictionColumns(ids, texts, None, by_id_only=True)
    rows = _as_list(predictions, "predictions")
    form = _common_form(rows, "predictions", (str, Mapping), "a string or a record with 'prediction_text'")
    if form is not Mapping:
        _check_predictions(rows, None)
        return PredictionColumns(None, rows, None)
    ids = _read_ids([row.get("id") for row in rows], "predictions")
    texts = _read_field(rows, "prediction_text", "predictions", ids)
    _check_predictions(texts, ids)
    values = _read_no_answer([row.get("no_answer_probability") for row in rows], "predictions", ids)
    return PredictionColumns(ids, texts, values)


def with_no_answer_values(predictions: PredictionColumns, values: Mapping[str, object]) -> list[dict[str, object]]:
    """Join predictions with no-answer values from a second file, in the order of that file.

    Args:
        predictions: Predictions with ids.
        values: Id → no-answer value.

    Returns:
        Records, in the order of ``values``: the official script sweeps ties in that order.

    Raises:
        InputError: The ids differ, or a value is not a finite number.

    Example:
        >>> with_no_answer_values(read_predictions({"q1": "Paris"}), {"q1": 0.25})[0]["no_answer_probability"]
        0.25
    """
    if predictions.ids is None:
        raise InputError("No-answer values come by id, but the predictions have no ids.")
    texts = dict(zip(predictions.ids, predictions.texts, strict=True))
    ids = cast(list[str], _read_ids(list(values), "no-answer values", mapping=True))
    without = [key for key in texts if key not in values]
    unknown = [key for key in ids if key not in texts]
    for keys, what in (
        (without, "predictions have no no-answer value"),
        (unknown, "no-answer values have no prediction"),
    ):
        if keys:
            raise InputError(f"{len(keys)} {what} ({first_few(keys, len(keys))}). The ids must be the same.")
    numbers_ = cast(list[float], _read_no_answer(list(values.values()), "no-answer values", ids))
    return [
        {"id": key, "prediction_text": texts[key], "no_answer_probability": value}
        for key, value in zip(ids, numbers_, strict=True)
    ]


def _read_no_answer(values: list[Any], side: str, ids: list[str] | None) -> list[float] | None:
    kinds = set(map(type, values))
    if kinds <= {type(None)}:
        return None
    if not kinds <= {float, int}:
        absent = [row for row, value in enumerate(values) if value is None]
        if absent:
            raise InputError(
                f"{len(absent)} of {len(values)} predictions have no 'no_answer_probability', the first is "
                f"{_where(side, absent[0], ids)}. Give every row a value, or none."
            )
        for row, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise InputError(
                    f"{_where(side, row, ids)}: the no-answer value must be a number; got {shorten(value)} "
                    f"({type(value).__name__})."
                )
        values = [float(value) for value in values]
    if not all(map(math.isfinite, values)):
        row = next(row for row, value in enumerate(values) if not math.isfinite(value))
        raise InputError(f"{_where(side, row, ids)}: the no-answer value must be a finite number; got {values[row]}.")
    return values


# ----------------------------------------------------------------------------------- references


def read_references(references: object) -> ReferenceColumns:
    """Validate references row by row.

    Args:
        references: Records, strings, lists of strings, a mapping by id, or a whole SQuAD data set.

    Returns:
        Columns of equal length.

    Raises:
        InputError: A row is not what it must be.

    Example:
        >>> read_references(["Paris", ["Rome", "Roma"], []]).answers
        [['Paris'], ['Rome', 'Roma'], []]
    """
    if isinstance(references, Mapping):
        if "data" in references:
            references = list(squad_questions(references))
        elif "answers" in references:
            raise InputError("references is one record; pass a list of records.")
        else:
            ids = _read_ids(list(references), "references", mapping=True)
            return ReferenceColumns(ids, _read_answers(list(references.values()), ids), by_id_only=True)
    rows = _as_list(references, "references")
    expected = "a string, a list of strings, or a record with 'answers'"
    form = _common_form(rows, "references", (Mapping, str, Sequence), expected)
    if form is not Mapping or _is_answers_dict(rows[0]):
        return ReferenceColumns(None, _read_answers(rows, None))
    ids = _read_ids([row.get("id") for row in rows], "references")
    return ReferenceColumns(ids, _read_answers(_read_field(rows, "answers", "references", ids), ids))


def read_questions(questions: object, references: object, ids: Sequence[str]) -> list[str | None]:
    """Validate questions, or take them from the references.

    Args:
        questions: n strings, or a mapping from id to string; None takes ``question`` of every reference record.
        references: The n references, in a form that ``read_references`` takes.
        ids: n ids of the references.

    Returns:
        n questions; None where a reference has none.

    Raises:
        InputError: A question is not a string, their number is wrong, or an id has none.

    Example:
        >>> read_questions(None, [{"id": "q1", "question": "Who?", "answers": ["Curie"]}], ["q1"])
        ['Who?']
    """
    if questions is None:
        if isinstance(references, Mapping):
            rows = list(squad_questions(references)) if "data" in references else list(references.values())
        else:
            rows = list(cast(Iterable[Any], references))
        found = [row.get("question") if isinstance(row, Mapping) else None for row in rows]
    elif isinstance(questions, Mapping):
        by_id = dict(
            zip(cast(list[str], _read_ids(list(questions), "questions", mapping=True)), questions.values(), strict=True)
        )
        lacking = [key for key in ids if key not in by_id]
        if lacking:
            raise InputError(
                f"{len(lacking)} ids of the references have no question ({first_few(lacking, len(lacking))})."
            )
        found = [by_id[key] for key in ids]
    else:
        found = _as_list(questions, "questions")
        if len(found) != len(ids):
            raise InputError(f"There are {len(found)} questions and {len(ids)} references; give one per reference.")
    side = "references" if questions is None else "questions"
    for row, text in enumerate(found):
        if not isinstance(text, str) and not (text is None and questions is None):
            raise InputError(
                f"{_where(side, row, ids)}: the question must be a string; got {shorten(text)} ({type(text).__name__})."
            )
    if not _is_unicode(text for text in found if text is not None):
        row, broken = next((row, text) for row, text in enumerate(found) if text and not _is_unicode([text]))
        raise _broken_unicode(_where(side, row, ids), broken)
    return found


def _is_answers_dict(row: Mapping[str, object]) -> bool:
    return "text" in row and "answers" not in row


def squad_questions(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the questions of a SQuAD-style data set, one flat record each.

    Args:
        data: The parsed file: ``{"data": [{"title", "paragraphs": [{"context", "qas": [...]}]}]}``.

    Yields:
        Each question's own fields, with ``title`` of its article and ``context`` of its paragraph.

    Raises:
        InputError: The nesting is not SQuAD's.

    Example:
        >>> data = {"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "answers": []}]}]}]}
        >>> next(squad_questions(data))["id"]
        '1'
    """
    try:
        for article in data["data"]:
            title = {"title": article["title"]} if "title" in article else {}
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    yield {**title, "context": paragraph.get("context"), **question}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            "The reference data set has 'data' but not SQuAD's nesting "
            f"data → paragraphs → qas ({type(error).__name__}: {error})."
        ) from error


def _read_answers(rows: list[Any], ids: list[str] | None) -> list[list[str]]:
    kinds = set(map(type, rows))
    if kinds == {dict}:
        try:
            answers = [row["text"] for row in rows]
        except KeyError:
            row = next(row for row, value in enumerate(rows) if "text" not in value)
            raise InputError(
                f"{_where('references', row, ids)}: 'answers' must have the key 'text' with a list of strings; "
                f"its keys are {shorten(list(rows[row]))}."
            ) from None
    elif kinds == {str}:
        answers = [[row] for row in rows]
    else:
        answers = [_answer_texts(value, row, ids) for row, value in enumerate(rows)]
    if not set(map(type, answers)) <= {list}:
        answers = [_as_answer_list(value, row, ids) for row, value in enumerate(answers)]
    flat = list(chain.from_iterable(answers))
    if not set(map(type, flat)) <= {str}:
        for row, texts in enumerate(answers):
            for index, text in enumerate(texts):
                if not isinstance(text, str):
                    raise InputError(
                        f"{_where('references', row, ids)}, answer {index}: every reference must be a string; got "
                        f"{shorten(text)} ({type(text).__name__})."
                    )
    if not _is_unicode(flat):
        row = next(row for row, texts in enumerate(answers) if not _is_unicode(texts))
        raise _broken_unicode(
            _where("references", row, ids), next(text for text in answers[row] if not _is_unicode([text]))
        )
    return cast(list[list[str]], answers)


def _refuse_blank(references: ReferenceColumns) -> None:
    if all(map(str.strip, chain.from_iterable(references.answers))):
        return
    for row, texts in enumerate(references.answers):
        if texts and not any(map(str.strip, texts)):
            raise InputError(
                f"{_where('references', row, references.ids)}: every reference is blank: {shorten(texts)}. For an "
                f"unanswerable question give no reference: [] or {{'text': []}}. (With scheme=..., such a question "
                f"is answerable and '' is right, as in the published scripts.)"
            )


def _answer_texts(value: Any, row: int, ids: list[str] | None) -> Any:
    """Take the strings out of one row's answers, in whichever form they come."""
    if isinstance(value, Mapping):
        if "text" not in value:
            raise InputError(
                f"{_where('references', row, ids)}: 'answers' must have the key 'text' with a list of strings; "
                f"its keys are {shorten(list(value))}."
            )
        return value["text"]
    if isinstance(value, str):
        return [value]
    texts = _as_answer_list(value, row, ids)
    if any(isinstance(item, Mapping) for item in texts):
        lacking = next((item for item in texts if not isinstance(item, Mapping) or "text" not in item), None)
        if lacking is not None:
            raise InputError(
                f"{_where('references', row, ids)}: every answer of the list must be a record with 'text'; got "
                f"{shorten(lacking)}."
            )
        return [item["text"] for item in texts]
    return texts


def _as_answer_list(value: Any, row: int, ids: list[str] | None) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InputError(
            f"{_where('references', row, ids)}: the references must be a list of strings; got {shorten(value)} "
            f"({type(value).__name__}). For an unanswerable question give an empty list."
        )
    return list(value)


# --------------------------------------------------------------------------------------- shared


def _where(side: str, row: int, ids: Sequence[str] | None) -> str:
    return f"{side}[{row}]" + (f" (id {shorten(ids[row])})" if ids is not None else "")


def _as_list(rows: object, side: str) -> list[Any]:
    if rows is None:
        raise InputError(f"The argument {side!r} is missing: pass one {side[:-1]} per example.")
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise parameter_error(side, "a list with one item per example, or a mapping by id", rows)
    return rows if type(rows) is list else list(rows)


def _common_form(rows: list[Any], side: str, forms: tuple[type, ...], expected: str) -> type | None:
    """Return the form that all rows share, or name the first row that differs."""
    kinds = set(map(type, rows))
    if kinds == {dict}:
        return Mapping
    shared = None
    mixed_references = side == "references"  # strings and lists of strings may be mixed
    for row, value in enumerate(rows):
        form = next((form for form in forms if isinstance(value, form)), None)
        if form is None and mixed_references and isinstance(value, np.ndarray):
            form = Sequence
        if form is None:
            raise InputError(
                f"{_where(side, row, None)}: expected {expected}; got {shorten(value)} ({type(value).__name__})."
            )
        if mixed_references and form is str:
            form = Sequence
        if shared is not None and form is not shared:
            raise InputError(
                f"{_where(side, row, None)}: the rows must all have one form: the rows before are of type "
                f"{type(rows[row - 1]).__name__}, this one is {shorten(value)} ({type(value).__name__})."
            )
        shared = form
    return shared


def _read_field(rows: list[Any], key: str, side: str, ids: list[str] | None) -> list[Any]:
    try:
        return [row[key] for row in rows]
    except KeyError:
        row = next(row for row, value in enumerate(rows) if key not in value)
        raise InputError(f"{_where(side, row, ids)} has no {key!r}; its keys are {shorten(list(rows[row]))}.") from None


def _read_ids(ids: list[Any], side: str, *, mapping: bool = False) -> list[str] | None:
    distinct = set(ids)
    if not mapping and distinct <= {None, ""}:
        return None
    if set(map(type, ids)) != {str} or "" in distinct:
        for row, key in enumerate(ids):
            if key is None or key == "":
                raise InputError(f"{side}[{row}] has no 'id', but other rows have one. Give every row an id, or none.")
            if isinstance(key, bool) or not isinstance(key, (str, numbers.Integral)):
                raise InputError(
                    f"{side}[{row}]: the id must be a string or an integer; got {shorten(key)} ({type(key).__name__})."
                )
        ids = [str(key) for key in ids]
        distinct = set(ids)
    if len(distinct) != len(ids):
        repeated = [key for key, count in Counter(ids).items() if count > 1]
        raise InputError(
            f"{len(repeated)} ids occur more than once in {side} ({first_few(repeated, len(repeated))}). Ids must "
            f"be unique; to score rows by position, leave the ids out on one side."
        )
    return ids


def _check_predictions(texts: list[Any], ids: list[str] | None) -> None:
    if not set(map(type, texts)) <= {str}:
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(
                    f"{_where('predictions', row, ids)}: the prediction must be one string ('' for no answer); got "
                    f"{shorten(text)} ({type(text).__name__})."
                )
    if not _is_unicode(texts):
        row = next(row for row, text in enumerate(texts) if not _is_unicode([text]))
        raise _broken_unicode(_where("predictions", row, ids), texts[row])


def _is_unicode(texts: Iterable[str]) -> bool:
    """Tell whether no string holds half a surrogate pair, which no file and few tokenizers can take."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _broken_unicode(where: str, text: str) -> InputError:
    return InputError(f"{where}: the text is not valid Unicode (half a surrogate pair): {shorten(text)}.")


# ---------------------------------------------------------------------------------------- records


def to_record_rows(
    predictions: PredictionColumns, references: ReferenceColumns
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Write validated columns as SQuAD v2 records, in the one form that ``evaluate`` can store.

    Args:
        predictions: n predictions.
        references: n references.

    Returns:
        Two lists of n records; ``make_records`` reads them back.

    Raises:
        InputError: The two sides do not have the same number of rows.

    Example:
        >>> rows = to_record_rows(read_predictions(["Paris"]), read_references(["Paris"]))
        >>> rows[1]
        [{'id': '', 'answers': {'text': ['Paris'], 'answer_start': []}}]
    """
    if len(predictions.texts) != len(references.answers):
        raise InputError(
            f"This batch has {len(predictions.texts)} predictions and {len(references.answers)} references; "
            f"add as many of one as of the other."
        )
    count = len(predictions.texts)
    no_ids, no_values = [""] * count, [None] * count  # evaluate refuses None where Arrow has strings
    return (
        [
            {"id": key, "prediction_text": text, "no_answer_probability": value}
            for key, text, value in zip(
                predictions.ids or no_ids, predictions.texts, predictions.no_answer or no_values, strict=True
            )
        ],
        [
            {"id": key, "answers": {"text": texts, "answer_start": []}}
            for key, texts in zip(references.ids or no_ids, references.answers, strict=True)
        ],
    )
