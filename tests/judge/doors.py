"""The ways into ``ava_metric``: the same rows and options through each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

import qa_scoring
from qa_scoring import InputError
from qa_scoring.ava import score_ava
from qa_scoring.cli import main

DOORS = ("function", "metric class", "evaluate.load", "command line")


class Row(NamedTuple):
    """What is known of a question; None is no question."""

    id: str
    question: str | None
    answer: str
    references: list[str]


def predictions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{"id": row.id, "prediction_text": row.answer} for row in rows]


def references(rows: Sequence[Row], *, questions: bool = True) -> list[dict[str, Any]]:
    inside = [{} if row.question is None or not questions else {"question": row.question} for row in rows]
    return [{"id": row.id, "answers": {"text": row.references}, **more} for row, more in zip(rows, inside, strict=True)]


def load_metric(*arguments: Any, **options: Any) -> Any:
    """Load ava_metric as users do."""
    import evaluate

    return evaluate.load(qa_scoring.metric_path("ava_metric"), *arguments, **options)


def score(door: str, rows: Sequence[Row], folder: Path, **options: Any) -> Any:
    """Score through one of the doors; return what the result and the signature say, or raise its error."""
    if door == "function":
        scored = score_ava(predictions(rows), references(rows), details=True, **options)
        return {**scored.result, "signature": str(scored.signature)}
    if door == "command line":
        return _command(rows, folder, options)
    if door == "metric class":
        from ava_metric.ava_metric import AnswerEvaluation

        metric = AnswerEvaluation()
    else:
        metric = load_metric()
    result = metric.compute(predictions=predictions(rows), references=references(rows), details=True, **options)
    return {**result, "signature": str(metric.signature())}


def call(*arguments: object) -> Result:
    """Call ``qa-scoring score ava_metric``."""
    return CliRunner().invoke(main, ["score", "ava_metric", *map(str, arguments)])


def write_files(rows: Sequence[Row], folder: Path, **columns: Sequence[object]) -> list[str]:
    """Write predictions and references as JSON Lines, further columns beside the references."""
    folder.mkdir(exist_ok=True)
    more = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)] or [{}] * len(
        rows
    )
    tables = {
        "predictions": predictions(rows),
        "references": [{**row, **others} for row, others in zip(references(rows), more, strict=True)],
    }
    for name, lines in tables.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return [str(folder / f"{name}.jsonl") for name in tables]


def _command(rows: Sequence[Row], folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    columns, given = {}, []
    for name, value in options.items():
        if name in ("groups", "human_labels"):
            columns[name] = value
            given += ["--by" if name == "groups" else "--human-label", name]
        else:
            given += [f"--{name.replace('_', '-')}", str(value)]
    done = call(*write_files(rows, folder, **columns), "--json", "--details", *given)
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code in (0, 2), done.output
    if done.exit_code == 2:
        raise InputError(done.stderr.strip())
    result: dict[str, Any] = json.loads(done.stdout)
    return result
