"""What users give: pasted rows or uploaded files, as predictions and references for the metrics."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qa_scoring import files
from qa_scoring.app import limits
from qa_scoring.errors import InputError, shorten
from qa_scoring.records import read_predictions, read_references, with_no_answer_values

Row = dict[str, Any]
Side = Literal["predictions", "references", "no_answer"]
SIDES: tuple[Side, ...] = ("predictions", "references", "no_answer")

COLUMNS = ("id", "question", "prediction", "references", "group", "no_answer")
"""Columns of the table on the page."""
TABLE_FILE = "table.jsonl"
"""What the rows of the table are called as a file; it holds predictions and references."""

_OTHER_NAMES = {"prediction_text": "prediction", "answers": "references", "reference": "references"}
_OTHER_NAMES["no_answer_probability"] = "no_answer"


@dataclass(frozen=True, eq=False)
class Upload:
    """An uploaded file that was read.

    Args:
        name: What the user called it.
        content: Rows, or a mapping by id.
    """

    name: str
    content: list[Row] | dict[str, Any]


@dataclass(frozen=True, eq=False)
class Given:
    """What is scored.

    Args:
        predictions: As the metrics take them.
        references: As the metrics take them, with all their columns.
        names: File names of predictions, references, and no-answer values if those are a file of their own.
        from_table: Whether the rows were pasted; then they are one file with predictions and references.
    """

    predictions: list[Row] | dict[str, Any]
    references: list[Row] | dict[str, Any]
    names: Mapping[Side, str]
    from_table: bool = False


# ------------------------------------------------------------------------------------ pasted rows


def parse_pasted(text: str) -> list[list[str]]:
    r"""Turn pasted text into rows of the table.

    Args:
        text: Lines from a spreadsheet (tab-separated), CSV, or JSON Lines. A first line with names of ``COLUMNS`` says
            which column is which; without it two columns are prediction and references, three are question,
            prediction and references, and more are ``COLUMNS``.

    Returns:
        One list of cells per row, in the order of ``COLUMNS``.

    Raises:
        InputError: There is nothing, or a row cannot be read.

    Example:
        >>> parse_pasted("Where?\tin Köln\tKöln")
        [['', 'Where?', 'in Köln', 'Köln', '', '']]
    """
    if not text.strip():
        raise InputError("There is nothing to paste: copy rows from a spreadsheet, CSV or JSON Lines.")
    if len(text) > limits.UPLOAD_BYTES:
        raise InputError(f"The pasted text has {len(text):,} characters; upload it as a file.")
    if text.lstrip().startswith("{"):
        return [_cells(row) for row in json_rows(text)]
    delimiter = "\t" if "\t" in text.split("\n", 1)[0] else ","
    try:
        # In what a spreadsheet copies, a quotation mark opens a cell only where the cell needs one: as in CSV.
        lines = [line for line in csv.reader(io.StringIO(text.strip("\r\n"), newline=""), delimiter=delimiter) if line]
    except csv.Error as error:
        raise InputError(f"The pasted rows cannot be read: {error}.") from None
    names: list[str] = [_OTHER_NAMES.get(cell.strip().lower(), cell.strip().lower()) for cell in lines[0]]
    if "prediction" in names and "references" in names:
        lines = lines[1:]
    else:
        width = max(map(len, lines))
        known = {2: ("prediction", "references"), 3: ("question", "prediction", "references")}
        names = list(known.get(width, COLUMNS))
    rows = []
    for number, line in enumerate(lines):
        if len(line) > len(names) or len(line) < 2:
            raise InputError(
                f"Pasted row {number}: expected {len(names)} cells ({', '.join(names)}); got {len(line)}: "
                f"{shorten(line)}."
            )
        rows.append(_cells(dict(zip(names, line, strict=False))))
    limits.check_rows(len(rows), "The pasted text")
    return rows


def json_rows(text: str) -> list[Row]:
    """Read pasted JSON Lines.

    Args:
        text: One JSON object per line; blank lines are passed over.

    Returns:
        The objects; columns of ``COLUMNS`` under the names they have there.

    Raises:
        InputError: A line is not a JSON object.

    Example:
        >>> json_rows('{"answers": ["Köln"]}')
        [{'references': ['Köln']}]
    """
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"Pasted row {number} is not valid JSON: {error}.") from None
            if not isinstance(row, dict):
                raise InputError(f"Pasted row {number}: expected a JSON object; got {shorten(row)}.")
            rows.append({str(_OTHER_NAMES.get(key, key)): value for key, value in row.items()})
    return rows


def _cells(row: Row) -> list[str]:
    def cell(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, Mapping) and "text" in value:
            value = value["text"]
        if isinstance(value, list) and len(value) < 2:
            return "".join(map(str, value))
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return [cell(row.get(name)) for name in COLUMNS]


def from_table(table: Sequence[Sequence[Any]]) -> Given:
    """Turn the table of the page into what the metrics score.

    Args:
        table: Rows of cells in the order of ``COLUMNS``. Several references are a JSON list; no reference is a
            question without an answer. Wholly empty rows after the last filled one are no rows; all others count.

    Returns:
        Rows that are predictions and references at once.

    Raises:
        InputError: There is no row, or a cell cannot be read.

    Example:
        >>> from_table([["", "Where?", "in Köln", "Köln", "", ""]]).references[0]["answers"]
        ['Köln']
    """
    lines = [["" if value is None else value for value in line] for line in table]
    while lines and not any(str(value).strip() for value in lines[-1]):
        lines.pop()
    if not lines:
        raise InputError("The table is empty: type or paste rows, upload files, or load an example.")
    limits.check_rows(len(lines), "The table")
    limits.check_texts(lines, "The table")
    with_ids = any(str(line[0]).strip() for line in lines)
    rows: list[Row] = []
    for number, line in enumerate(lines):
        if len(line) != len(COLUMNS):
            raise InputError(f"Row {number + 1} of the table: expected {len(COLUMNS)} cells; got {len(line)}.")
        cells = dict(zip(COLUMNS, (value if isinstance(value, str) else str(value) for value in line), strict=True))
        row: Row = {
            "id": cells["id"].strip() if with_ids else str(number + 1),
            "question": cells["question"],
            "prediction_text": cells["prediction"],
            "answers": _references(cells["references"], number),
        }
        if cells["group"].strip():
            row["group"] = cells["group"].strip()
        if cells["no_answer"].strip():
            row["no_answer_probability"] = _number(cells["no_answer"], number)
        rows.append(row)
    return Given(rows, rows, {"predictions": TABLE_FILE, "references": TABLE_FILE}, from_table=True)


def _references(cell: str, number: int) -> list[str]:
    if not cell.strip():
        return []
    if not cell.lstrip().startswith("["):
        return [cell]
    try:
        texts = json.loads(cell)
    except (ValueError, RecursionError):
        return [cell]  # a text that starts with a bracket
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"Row {number + 1} of the table: several references are a JSON list of strings, such as "
            f'["Köln", "Stadt Köln"]; got {shorten(cell)}.'
        )
    return texts


def _number(cell: str, number: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InputError(
            f"Row {number + 1} of the table: no_answer must be a number or blank; got {shorten(cell)}."
        ) from None


# --------------------------------------------------------------------------------- uploaded files


def read_upload(path: str | Path, name: str, side: Side) -> Upload:
    """Read an uploaded file and delete it, whatever it holds.

    Args:
        path: Where the page put it.
        name: What the user calls it.
        side: What it is uploaded as.

    Returns:
        What it holds.

    Raises:
        InputError: It is not what this side needs; the message names the file as the user does.
    """
    path, full_name = Path(path), limits.plain_name(name)
    name = limits.short_name(full_name)
    try:
        limits.check_upload(path, name)
        # Readers go by the ending, and their messages name the path.
        if side == "predictions":
            content: Any = files.read_prediction_file(str(path))
        elif side == "references":
            content = files.read_reference_file(str(path))
        else:
            content = files.read_no_answer_file(str(path))
    except InputError as error:
        message = str(error).replace(str(path), name)
        raise InputError(message if name in message else f"{name}: {message}") from None
    finally:
        path.unlink(missing_ok=True)
    limits.check_rows(len(content), name)
    if not content:
        raise InputError(f"{name} holds no rows.")
    if isinstance(content, list):
        if side == "references":
            _need_column(content, "answers", ("answers", "references", "reference"), name)
        else:
            _need_column(content, "prediction_text", ("prediction_text", "prediction"), name)
        for row in content:
            row.pop("context", None)  # the longest column by far, which no metric reads
    limits.check_texts(content.values() if isinstance(content, dict) else content, name)
    _check_types(content, name, side)
    return Upload(full_name, content)


def _check_types(content: list[Row] | dict[str, Any], name: str, side: Side) -> None:
    """Refuse what scoring would refuse, while the user still looks at the file."""
    try:
        if side == "predictions":
            read_predictions(content)
        elif side == "references":
            read_references(content)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _need_column(rows: list[Row], column: str, known: Sequence[str], name: str) -> None:
    if not any(column in row for row in rows):
        found = list(dict.fromkeys(key for row in rows[:100] for key in row))
        raise InputError(
            f"{name} has no column {' or '.join(map(repr, known))}; its columns are "
            f"{', '.join(map(shorten, found[:10])) or 'none'}."
        )


def from_uploads(uploads: Mapping[Side, Upload]) -> Given:
    """Put uploaded files together.

    Args:
        uploads: Predictions and references, and no-answer values if they are a file of their own.

    Returns:
        What the metrics score.

    Raises:
        InputError: One is not there, or ids differ.
    """
    for side in ("predictions", "references"):
        if side not in uploads:
            raise InputError(f"There are no {side}: upload them, or score the table.")
    predictions = uploads["predictions"].content
    if "no_answer" in uploads:
        values = uploads["no_answer"].content
        assert isinstance(values, dict)
        predictions = with_no_answer_values(read_predictions(predictions), values)
    return Given(predictions, uploads["references"].content, {side: uploads[side].name for side in uploads})


def group_columns(references: list[Row] | dict[str, Any]) -> list[str]:
    """Return the columns of the references by which rows can be grouped.

    Args:
        references: Rows or a mapping by id.

    Returns:
        Columns with a value in every row, and no more than ``limits.GROUPS`` distinct ones.

    Example:
        >>> group_columns([{"id": "1", "answers": ["a"], "title": "Rome"}, {"id": "2", "answers": [], "title": "Rome"}])
        ['title']
    """
    if not isinstance(references, list):
        return []
    names = [name for name in references[0] if name not in ("id", "answers", "question", "context")]
    found = []
    for name in names:
        values = [row.get(name) for row in references]
        if all(isinstance(value, (str, int)) for value in values) and len(set(values)) <= limits.GROUPS:
            found.append(name)
    return found
