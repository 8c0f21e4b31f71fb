"""The three files that the SQuAD script writes: answers, n-best lists and null odds, each a JSON object by id."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError, first_few, shorten
from qa_scoring.files import read_no_answer_file, read_prediction_file

PREDICTIONS = "predictions.json"
N_BEST = "nbest_predictions.json"
NULL_ODDS = "null_odds.json"


@dataclass(frozen=True)
class PredictionFiles:
    """What a folder says of n questions.

    Args:
        texts: Id → the answer, ``""`` for none.
        null_odds: Id → a finite number: higher is surer that there is no answer.
        best_spans: Id → the best span that is not "no answer"; ``""`` where there is none.
    """

    texts: dict[str, str]
    null_odds: dict[str, float]
    best_spans: dict[str, str]


def write_predictions(folder: str | Path, predictions: Sequence[Mapping[str, Any]]) -> None:
    """Write ``predictions.json``, ``nbest_predictions.json`` and ``null_odds.json``, as the SQuAD script does.

    Args:
        folder: Where they go; made if it is missing, files of these names are replaced or deleted.
        predictions: n dicts with ``id`` and ``answer``; the files of ``n_best`` and ``null_odds`` are written where all
            have them.

    Raises:
        InputError: They cannot be written.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> write_predictions(folder, [{"id": "q1", "answer": "", "n_best": [{"text": ""}], "null_odds": 3.0}])
        >>> read_predictions_folder(folder).null_odds
        {'q1': 3.0}
    """
    contents = {
        file: {row["id"]: row[name] for row in predictions}
        for file, name in ((PREDICTIONS, "answer"), (N_BEST, "n_best"), (NULL_ODDS, "null_odds"))
        if all(name in row for row in predictions)
    }
    write_json_files(folder, contents)
    for file in {PREDICTIONS, N_BEST, NULL_ODDS} - contents.keys():  # of other predictions
        (Path(folder) / file).unlink(missing_ok=True)


def read_predictions_folder(folder: str | Path) -> PredictionFiles:
    """Read the three files, of this package or of the SQuAD script.

    Args:
        folder: Where they are.

    Returns:
        Answers, null odds and best spans, of the same ids.

    Raises:
        InputError: A file is missing, is not what it must be, or has other ids than the others.
    """
    paths = {name: str(Path(folder) / name) for name in (PREDICTIONS, N_BEST, NULL_ODDS)}
    texts = read_prediction_file(paths[PREDICTIONS])
    listed = read_prediction_file(paths[N_BEST])
    odds = read_no_answer_file(paths[NULL_ODDS])
    for path, content in ((paths[PREDICTIONS], texts), (paths[N_BEST], listed)):
        if not isinstance(content, dict):
            raise InputError(f"{path} must be a JSON object by id; got a list.")
        differing = [key for key in (*content, *odds) if (key in content) != (key in odds)]
        if differing:
            raise InputError(
                f"{len(differing)} ids are only in one of {path} and {NULL_ODDS} "
                f"({first_few(differing, len(differing))}). The three files of a folder must come from one run."
            )
    assert isinstance(texts, dict)
    assert isinstance(listed, dict)
    null_odds = {}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{paths[PREDICTIONS]}, id {key!r}: expected a string; got {shorten(text)}.")
    for key, value in odds.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"{paths[NULL_ODDS]}, id {key!r}: expected a finite number; got {shorten(value)}.")
        null_odds[key] = float(value)
    spans = {key: _best_span(spans, f"{paths[N_BEST]}, id {key!r}") for key, spans in listed.items()}
    return PredictionFiles(texts, null_odds, spans)


def _best_span(spans: Any, where: str) -> str:
    if not isinstance(spans, list):
        raise InputError(f"{where}: expected a list of records with 'text'; got {shorten(spans)}.")
    for span in spans:
        if not isinstance(span, Mapping) or not isinstance(span.get("text"), str):
            raise InputError(f"{where}: expected a record with 'text', a string; got {shorten(span)}.")
    return next((span["text"] for span in spans if span["text"]), "")


def prepare_folder(folder: str | Path) -> Path:
    """Make a folder for output, before the work that fills it.

    Args:
        folder: Made, with those above it, if it is missing.

    Returns:
        Its path.

    Raises:
        InputError: It cannot be made, or nothing can be written there.

    Example:
        >>> import tempfile
        >>> prepare_folder(tempfile.mkdtemp()).is_dir()
        True
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {path} cannot be made: {error.strerror or error}. Name another.") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"Nothing can be written to the folder {path}: permission denied. Name another.")
    return path


def write_json_files(folder: str | Path, contents: Mapping[str, object]) -> None:
    """Write JSON files as the SQuAD script does, none of them half.

    Args:
        folder: Where they go; made if it is missing.
        contents: File name → what it holds.

    Raises:
        InputError: They cannot be written.
    """
    path = prepare_folder(folder)
    new = {name: path / f".{name}.{os.getpid()}" for name in contents}
    try:
        for name, content in contents.items():
            text = json.dumps(content, indent=4, ensure_ascii=False) + "\n"
            # half a surrogate pair becomes what JSON writes for it: \ud…
            new[name].write_text(text, encoding="utf-8", errors="backslashreplace")
        for name in contents:
            new[name].replace(path / name)
    except OSError as error:
        raise InputError(
            f"{first_few(contents, len(contents))} cannot be written to {path}: {error.strerror or error}."
        ) from error
    finally:
        for file in new.values():
            file.unlink(missing_ok=True)
