"""Files in: predictions, references and no-answer values from JSON, JSON Lines, CSV, TSV and Parquet.

Files are parsed as data and nothing else. What a file holds is decided by its ending, or by its content where the
ending says nothing (standard input). Rows keep all their columns; ``qa_scoring.records`` validates them.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError, first_few, shorten
from qa_scoring.records import squad_questions

Row = dict[str, Any]
STANDARD_INPUT = "-"

_PREDICTION_NAMES = {"prediction": "prediction_text", "no_answer": "no_answer_probability"}
_REFERENCE_NAMES = {"references": "answers", "reference": "answers"}


def read_prediction_file(path: str, *, id_column: str = "id") -> list[Row] | dict[str, Any]:
    """Read predictions.

    Args:
        path: A file, or ``-`` for standard input. JSON: ``{id: text}`` or a list of records; JSON Lines, CSV, TSV
            and Parquet: rows with ``prediction_text`` (or ``prediction``), optionally the id and
            ``no_answer_probability`` (or ``no_answer``).
        id_column: Name of the column that holds the ids.

    Returns:
        Rows, or a mapping from id to text, as ``qa_scoring.records`` takes them.

    Raises:
        InputError: The file cannot be read or parsed.
    """
    content = _read(path)
    if isinstance(content, dict):
        return content
    rows = [_rename(row, {id_column: "id", **_PREDICTION_NAMES}) for row in _check_rows(content, path)]
    for number, row in enumerate(rows):
        value = row.get("no_answer_probability")
        if isinstance(value, str):  # CSV has only strings
            row["no_answer_probability"] = _number(value, f"{_name(path)}, row {number}, no_answer_probability")
    return rows


def read_reference_file(path: str, *, id_column: str = "id") -> list[Row] | dict[str, Any]:
    """Read references.

    Args:
        path: A file, or ``-`` for standard input. JSON: a SQuAD data set, a list of records, or a mapping by id;
            JSON Lines, CSV, TSV and Parquet: rows with ``answers`` (or ``references``, ``reference``); in CSV a
            string, or a list or record written as JSON; an empty cell is an unanswerable question.
        id_column: Name of the column that holds the ids.

    Returns:
        Rows, or a mapping by id, as ``qa_scoring.records`` takes them.

    Raises:
        InputError: The file cannot be read or parsed.
    """
    content = _read(path)
    if isinstance(content, dict):
        if "data" not in content:
            return content
        content = list(squad_questions(content))
    rows = [_rename(row, {id_column: "id", **_REFERENCE_NAMES}) for row in _check_rows(content, path)]
    for number, row in enumerate(rows):
        if isinstance(row.get("answers"), str):
            row["answers"] = _answers_from_cell(row["answers"], f"{_name(path)}, row {number}, answers")
    return rows


def read_no_answer_file(path: str) -> dict[str, object]:
    """Read no-answer values: JSON, ``{id: number}``.

    Args:
        path: A file, or ``-`` for standard input.

    Returns:
        Id → value, in the order of the file.

    Raises:
        InputError: The file cannot be read, or is not a JSON object.
    """
    content = _read(path)
    if not isinstance(content, dict):
        raise InputError(f"{_name(path)}: no-answer values must be a JSON object from id to number.")
    return content


def column(rows: list[Row] | dict[str, Any], name: str, option: str, *, blanks: bool = False) -> list[Any]:
    """Take one column out of rows.

    Args:
        rows: What ``read_reference_file`` or ``read_table`` returned.
        name: The column.
        option: Which option asked for it, for the message.
        blanks: Whether a row may have no value, which then is None.

    Returns:
        One value per row.

    Raises:
        InputError: A row does not have the column.

    Example:
        >>> column([{"id": "1", "language": "de"}], "language", "--by")
        ['de']
    """
    known = sorted({key for row in rows for key in row}) if isinstance(rows, list) else ["id"]
    if not isinstance(rows, list) or name not in known:
        raise InputError(f"{option} {name}: there is no column {name!r}; the columns are {', '.join(known)}.")
    lacking = next((number for number, row in enumerate(rows) if row.get(name) is None), None)
    if lacking is not None and not blanks:
        raise InputError(f"{option} {name}: row {lacking} has no value in this column.")
    return [row.get(name) for row in rows]


def read_table(path: str) -> list[Row]:
    """Read rows with any columns.

    Args:
        path: CSV, TSV, JSON Lines, a JSON list of records, or Parquet; ``-`` for standard input.

    Returns:
        One dict per row.

    Raises:
        InputError: The file cannot be read or parsed, or is not a table.
    """
    content = _read(path)
    if isinstance(content, dict):
        raise InputError(f"{_name(path)} must hold rows; got one JSON object.")
    return [dict(row) for row in _check_rows(content, path)]


def read_unquoted_tsv(path: str) -> list[Row]:
    """Read tab-separated values as they stand: a quotation mark is a character of the text, and a line is a row.

    Args:
        path: A file with a header, or ``-`` for standard input.

    Returns:
        One dict per row; lines without any character are left out.

    Raises:
        InputError: The file cannot be read, or a line has more or fewer columns than the header.
    """
    lines = _decode(_read_bytes(path), path).replace("\r\n", "\n").split("\n")
    names = lines[0].split("\t")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if line:
            cells = line.split("\t")
            if len(cells) != len(names):
                raise InputError(
                    f"{_name(path)}, line {number}: expected {len(names)} columns ({', '.join(names)}); "
                    f"got {len(cells)}."
                )
            rows.append(dict(zip(names, cells, strict=True)))
    return rows


def text_column(rows: list[Row], name: str, option: str) -> list[str]:
    """Take a column of strings.

    Args:
        rows: What ``read_table`` returned.
        name: The column.
        option: Which option asked for it, for the message.

    Returns:
        One string per row.

    Raises:
        InputError: A row has none.

    Example:
        >>> text_column([{"answer": "Seine"}], "answer", "--first")
        ['Seine']
    """
    values = column(rows, name, option)
    for number, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"{option} {name}, row {number}: expected a string; got {shorten(value)}.")
    return values


def number_column(rows: list[Row], name: str, option: str) -> NDArray[np.float64]:
    """Take a column of finite numbers.

    Args:
        rows: What ``read_table`` returned.
        name: The column.
        option: Which option asked for it, for the message.

    Returns:
        Shape (n,).

    Raises:
        InputError: A row has none.

    Example:
        >>> number_column([{"label": "2"}, {"label": 1}], "label", "--label").tolist()
        [2.0, 1.0]
    """
    numbers = []
    for row, value in enumerate(column(rows, name, option)):
        where = f"{option} {name}, row {row}"
        number = _number(value, where) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise InputError(f"{where}: expected a finite number; got {shorten(value)}.")
        numbers.append(float(number))
    return np.array(numbers, dtype=np.float64)


# -------------------------------------------------------------------------------------- parsing


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _read_bytes(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; name a file in it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read(path: str) -> Any:
    """Parse a file by its ending, or by its content where the ending says nothing."""
    content = _read_bytes(path)
    suffix = Path(path).suffix.lower()
    if not content.strip():
        raise InputError(f"{_name(path)} is empty.")
    if suffix == ".parquet" or content.startswith(b"PAR1"):
        return _parse_parquet(content, path)
    text = _decode(content, path)
    if suffix in (".csv", ".tsv"):
        return _parse_csv(text, path, "\t" if suffix == ".tsv" else ",")
    if suffix in (".jsonl", ".ndjson"):
        return _parse_json_lines(text, path)
    if suffix == ".json" or text.lstrip()[0] in "{[":
        return _parse_json(text, path)
    return _parse_csv(text, path, ",")


def _decode(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{_name(path)} is not UTF-8 (byte {error.start}: 0x{content[error.start]:02x}). Save it as UTF-8."
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, refusing what Python would silently drop: all but the last of repeated keys."""
    items = dict(pairs)
    if len(items) != len(pairs):
        repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        raise InputError(f"{len(repeated)} keys occur more than once ({first_few(repeated, len(repeated))}).")
    return items


def _parse_json(text: str, path: str) -> Any:
    try:
        content = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text[: error.pos].lstrip().startswith("{"):
            return _parse_json_lines(text, path)  # JSON Lines under the name .json, as M2QA's files are
        raise InputError(
            f"{_name(path)} is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise InputError(f"{_name(path)} is JSON nested too deeply to be predictions or references.") from None
    except ValueError as error:  # repeated keys, or a number of thousands of digits
        raise InputError(f"{_name(path)}: {error}") from None
    if not isinstance(content, (dict, list)):
        raise InputError(f"{_name(path)} must hold a JSON object or list; got {shorten(content)}.")
    return content


def _parse_json_lines(text: str, path: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):  # str.splitlines would split inside strings
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise InputError(
                    f"{_name(path)}, line {number} is not valid JSON: {error.msg}, column {error.colno}."
                ) from None
            except RecursionError:
                raise InputError(f"{_name(path)}, line {number} is JSON nested too deeply to be a row.") from None
            except ValueError as error:  # a number of thousands of digits
                raise InputError(f"{_name(path)}, line {number}: {error}") from None
    return rows


def _parse_csv(text: str, path: str, delimiter: str) -> list[Row]:
    previous = csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # long contexts are fields too
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows: list[Row] = []
        for row in reader:
            if None in row or None in row.values():
                raise InputError(
                    f"{_name(path)}, line {reader.line_num}: expected {len(reader.fieldnames or ())} columns "
                    f"({', '.join(reader.fieldnames or ())})."
                )
            rows.append(row)
        return rows
    except csv.Error as error:
        raise InputError(f"{_name(path)} is not valid CSV: {error}.") from None
    finally:
        csv.field_size_limit(previous)


def _parse_parquet(content: bytes, path: str) -> list[Row]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        rows: list[Row] = parquet.read_table(pa.BufferReader(content)).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{_name(path)} is not valid Parquet: {error}.") from None
    return rows


def _check_rows(rows: Any, path: str) -> list[Mapping[str, Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"{_name(path)}, row {number}: expected a record (JSON object); got {shorten(row)}.")
    return list(rows)


def _rename(row: Mapping[str, Any], names: Mapping[str, str]) -> Row:
    """Give columns their standard names, unless the standard name is there already."""
    return {(names[key] if key in names and names[key] not in row else key): value for key, value in row.items()}


def _number(text: str, where: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: expected a number; got {shorten(text)}.") from None


def _answers_from_cell(cell: str, where: str) -> Any:
    if not cell.strip():
        return []
    if cell.lstrip()[0] not in "[{":
        return [cell]
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        if cell.lstrip()[0] == "[":
            raise InputError(f"{where}: a list must be written as JSON; got {shorten(cell)}.") from None
        return [cell]
