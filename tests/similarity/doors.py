"""The ways into ``sas_metric``: the same rows and options through each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import qa_scoring
from qa_scoring import InputError
from qa_scoring.cli import main
from qa_scoring.sas import score_sas

DOORS = ("function", "metric class", "evaluate.load", "command line")


def score(door: str, predictions: list[str], references: list[list[str]], folder: Path, **options: Any) -> Any:
    """Score through one of the doors; return what the result and the signature say, or raise its error."""
    if door == "function":
        scored = score_sas(predictions, references, details=True, **options)
        return {**scored.result, "signature": str(scored.signature)}
    if door == "command line":
        return _command(predictions, references, folder, options)
    if door == "metric class":
        from sas_metric.sas_metric import SemanticAnswerSimilarity

        metric = SemanticAnswerSimilarity()
    else:
        import evaluate

        metric = evaluate.load(qa_scoring.metric_path("sas_metric"))
    result = metric.compute(predictions=predictions, references=references, details=True, **options)
    return {**result, "signature": str(metric.signature())}


def _command(
    predictions: list[str], references: list[list[str]], folder: Path, options: dict[str, Any]
) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    for name, column, values in (
        ("predictions", "prediction_text", predictions),
        ("references", "answers", references),
    ):
        lines = [json.dumps({"id": str(row), column: value}) for row, value in enumerate(values)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    given = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    files = [str(folder / f"{name}.jsonl") for name in ("predictions", "references")]
    done = CliRunner().invoke(main, ["score", "sas_metric", *files, "--json", "--details", *given])
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code in (0, 2), done.output
    if done.exit_code == 2:
        raise InputError(done.stderr.strip())
    result: dict[str, Any] = json.loads(done.stdout)
    return result
