"""``qa-scoring score``: score files with a metric; one subcommand per metric, with shared options."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from qa_scoring.cli.progress import progress_bar

_METRICS = {"m2qa_squad_v2": "score_multilingual_squad", "sas_metric": "score_sas", "ava_metric": "score_ava"}

Function = TypeVar("Function", bound=Callable[..., Any])


class _Metrics(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_METRICS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _METRICS:
            return None
        command = importlib.import_module(f"qa_scoring.cli.{_METRICS[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command


@click.group(name="score", cls=_Metrics)
def command() -> None:
    """Score PREDICTIONS against REFERENCES with a metric.

    Files: official SQuAD JSON, {id: text} JSON, JSON Lines, CSV, TSV or Parquet; '-' is standard input.
    """


_SHARED = (
    click.argument("predictions"),
    click.argument("references"),
    click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column of the references; repeatable."),
    click.option("--id-column", default="id", show_default=True, metavar="COLUMN", help="Column with the ids."),
    click.option("--missing", type=click.Choice(["error", "score_zero"]), default="error", show_default=True),
    click.option("--confidence-level", type=float, metavar="P", help="Bootstrap intervals, for example 0.95."),
    click.option("--n-resamples", type=int, default=2000, show_default=True),
    click.option("--seed", type=int, default=42, show_default=True),
    click.option("--rows", metavar="FILE", help="Write one row per example: .parquet or .jsonl."),
    click.option("--details", is_flag=True, help="With --json: one dict per example."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON in place of a table."),
)


def shared_options(function: Function) -> Function:
    """Give a metric's command the arguments and options that all metrics have."""
    for decorate in reversed(_SHARED):
        function = decorate(function)
    return function


def run(
    score: Callable[..., Any],
    predictions: str,
    references: str,
    *,
    by: tuple[str, ...],
    id_column: str,
    rows: str | None,
    as_json: bool,
    prepare: Callable[[Any, Any], tuple[Any, dict[str, Any]]] | None = None,
    **options: Any,
) -> None:
    """Read the files, score, write and print.

    Args:
        score: The metric's function, from predictions, references and options to ``Scored``.
        predictions: A file.
        references: A file.
        by: Columns of the references to group by.
        id_column: Column with the ids.
        rows: Where to write the rows, or None.
        as_json: Whether to print JSON.
        prepare: From what the two files hold to the predictions to score and further options.
        **options: Passed on.
    """
    from qa_scoring import files
    from qa_scoring.rows import write_rows

    expected = files.read_reference_file(references, id_column=id_column)
    predicted: Any = files.read_prediction_file(predictions, id_column=id_column)
    if prepare is not None:
        predicted, more = prepare(predicted, expected)
        options |= more
    scored = score(
        predicted,
        expected,
        groups=list(zip(*(files.column(expected, name, "--by") for name in by), strict=True)) if by else None,
        progress=progress_bar,
        **options,
    )
    if rows is not None:
        write_rows(scored.rows, rows)
    if as_json:
        click.echo(json.dumps({**scored.result, "signature": str(scored.signature)}, indent=2, ensure_ascii=False))
    else:
        from qa_scoring.report.tables import console, result_report

        console().print(result_report(scored.result, list(scored.rows.scores), scored.signature))
