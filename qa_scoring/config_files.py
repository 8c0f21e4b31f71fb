"""Configuration files: TOML tables whose keys are the fields of a class, checked one by one."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path, PurePosixPath
from typing import Any

from qa_scoring.errors import InputError, first_few, shorten

Rule = tuple[str, Callable[[Any], bool]]
"""What a value must be, in words and as a test."""


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any, holds: Callable[[float], bool]) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and holds(value)


def _is_data_path(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not value.startswith("/") and ".." not in value.split("/")


LABEL: Rule = ("a label from 0 to 1", lambda value: _is_number(value, lambda number: 0 <= number <= 1))
FRACTION: Rule = ("a number from 0 to 1", lambda value: _is_number(value, lambda number: 0 <= number <= 1))
PART: Rule = ("a number of at least 0 and below 1", lambda value: _is_number(value, lambda number: 0 <= number < 1))
POSITIVE: Rule = ("a number above 0", lambda value: _is_number(value, lambda number: number > 0))
NOT_NEGATIVE: Rule = ("a number of at least 0", lambda value: _is_number(value, lambda number: number >= 0))
COUNT: Rule = ("an integer of at least 1", lambda value: _is_integer(value, 1))
NUMBER: Rule = ("an integer of at least 0", lambda value: _is_integer(value, 0))
LENGTH: Rule = ("an integer of at least 8", lambda value: _is_integer(value, 8))
FLAG: Rule = ("true or false", lambda value: isinstance(value, bool))
PATH: Rule = ("a path inside the data folder", _is_data_path)
TEXT: Rule = ("a text", lambda value: isinstance(value, str) and bool(value))
NAME: Rule = (
    "a name of letters, digits, '.', '_' and '-'",
    lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value) is not None,
)
NAMES: Rule = (
    "a list of names",
    lambda value: isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value),
)
LAYERS: Rule = (
    "a list of layer numbers",
    lambda value: isinstance(value, (list, tuple)) and all(_is_integer(number, 0) for number in value),
)


def key(rule: Rule, default: Any = MISSING) -> Any:
    """Describe a key of a configuration: a field of a dataclass.

    Args:
        rule: What its value must be.
        default: Its value where the file has none; without one the file must have it.

    Returns:
        The field.
    """
    return field(default=default, metadata={"rule": rule})


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: The file.

    Returns:
        Its table.

    Raises:
        InputError: It cannot be read, or is not valid TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None


def plain_values(table: object) -> dict[str, Any]:
    """Return the keys and values of a configuration, for JSON and TOML; those that are None are left out.

    Args:
        table: A dataclass whose fields are keys; ``sources`` is left out.

    Returns:
        The values, tuples as lists.
    """
    pairs = ((key.name, getattr(table, key.name)) for key in fields(table) if key.name != "sources")  # type: ignore[arg-type]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value is not None}


def assignments(table: Mapping[str, Any]) -> str:
    r"""Write keys and values as TOML.

    Args:
        table: Strings, numbers, booleans, and lists of them.

    Returns:
        One line each.

    Example:
        >>> assignments({"name": "tiny", "seed": 0})
        'name = "tiny"\nseed = 0\n'
    """
    # strings, numbers and lists of strings are written alike in JSON and TOML
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())


def checked(kind: type[Any], table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check a table against the keys of a class, and turn its lists into tuples and its integers into floats.

    Args:
        kind: A dataclass made of ``key`` fields.
        table: The table as read.
        where: Names the table in errors.

    Returns:
        The values.

    Raises:
        InputError: A key is unknown or lacking, or a value is not what it must be.
    """
    keys = {key.name: key for key in fields(kind) if "rule" in key.metadata}
    unknown = [name for name in table if name not in keys]
    if unknown:
        raise InputError(f"{where}: unknown key {first_few(unknown, len(unknown))}; the keys are {', '.join(keys)}.")
    lacking = [name for name, key in keys.items() if key.default is MISSING and name not in table]
    if lacking:
        raise InputError(
            f"{where}: the key {lacking[0]!r} is lacking; expected {keys[lacking[0]].metadata['rule'][0]}."
        )
    values: dict[str, Any] = {}
    for name, value in table.items():
        expected, holds = keys[name].metadata["rule"]
        if not holds(value):
            raise InputError(f"{where}, {name}: expected {expected}; got {shorten(value)}.")
        if isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = float(value) if keys[name].type == "float" else value
    return values


def refuse_measuring_data(path: str, where: str, *, watching: bool = False) -> None:
    """Refuse a path of data that models are measured on.

    Args:
        path: Relative to the data folder.
        where: Names the key in the error.
        watching: Whether the data only watches a run, which data with ``dev`` in the name may.

    Raises:
        InputError: A folder is called ``sas``, or a name has the word ``dev`` or ``test``.
    """
    refused = ("test",) if watching else ("dev", "test")
    parts = PurePosixPath(path).parts
    words = {word for part in parts for word in re.split(r"[^a-z0-9]+", part.lower())}
    if "sas" in parts[:-1] or words & set(refused):
        raise InputError(
            f"{where}: {path!r} is for measuring, not for training; expected no folder 'sas' and no "
            f"{' or '.join(map(repr, refused))} in the name."
        )
