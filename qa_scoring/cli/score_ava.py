"""``qa-scoring score ava_metric``."""

from __future__ import annotations

from typing import Any

import click

from qa_scoring.cli.score import run, shared_options


@click.command(name="ava_metric")
@shared_options
@click.option("--question", metavar="COLUMN", help="Of REFERENCES.  [default: question, if it is there]")
@click.option("--model", metavar="NAME", help="Hub id or the folder of a judge.  [default: the embedded one]")
@click.option("--revision", metavar="REVISION", help="Branch, tag or commit on the Hub.")
@click.option("--threshold", type=float, metavar="P", help="Least probability of a correct answer; default: its own.")
@click.option("--aggregate", default="mean", show_default=True, help="Over several references: mean or max.")
@click.option("--human-label", metavar="COLUMN", help="Of REFERENCES: verdicts of people (1, 0, or blank for none).")
@click.option("--batch-size", type=int, metavar="N", help="Inputs per batch; default: by tokens.")
@click.option("--device", metavar="NAME", help="cuda, mps or cpu; default: the first that is there.")
@click.option("--dtype", metavar="NAME", help="float32 (default), bfloat16 or float16.")
@click.option("--max-length", type=int, metavar="N", help="Longest input in tokens; default: the judge's own.")
@click.option("--cache-dir", metavar="FOLDER", help="Keep the probabilities here, and read them from here.")
def command(predictions: str, references: str, question: str | None, human_label: str | None, **options: Any) -> None:
    """AVA: is an answer correct, given the question and the references? A learned judge says."""
    from qa_scoring import files
    from qa_scoring.ava import score_ava
    from qa_scoring.errors import InputError

    if predictions == references == files.STANDARD_INPUT:
        raise InputError("Only one of the files can be standard input ('-').")

    def prepare(predicted: Any, expected: Any) -> tuple[Any, dict[str, Any]]:
        found: dict[str, Any] = {}
        if question is not None:
            found["questions"] = files.column(expected, question, "--question")
        if human_label is not None:
            values = files.column(expected, human_label, "--human-label", blanks=True)
            found["human_labels"] = [_verdict(value) for value in values]
        return predicted, found

    run(score_ava, predictions, references, prepare=prepare, **options)


def _verdict(value: Any) -> Any:
    """Read a cell: blank is no verdict; what is none of the known words is refused with its row."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    known = {"1": 1, "1.0": 1, "true": 1, "0": 0, "0.0": 0, "false": 0}
    return known.get(value.strip().lower(), value) if isinstance(value, str) else value
