"""``qa-scoring tune-threshold``: choose the null odds above which there is no answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qa_scoring.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

_COLUMNS = {"exact": "EM", "f1": "F1", "HasAns_f1": "HasAns F1", "NoAns_f1": "NoAns"}


@click.command(name="tune-threshold")
@click.argument("data")
@click.argument("folder", metavar="DIR")
@click.option("--apply", type=(str, str), metavar="DATA2 DIR2", help="Use the threshold on another file's predictions.")
@click.option("--metric", type=click.Choice(["f1", "exact"]), default="f1", show_default=True, help="What to maximise.")
@click.option("--language", "-l", metavar="CODE", help="Score as m2qa_squad_v2 does.  [default: as qa-scoring squad2]")
@click.option("--output-dir", metavar="OUT", help="Write predictions.json at the threshold: of DATA2, or else of DATA.")
@click.option("--out-file", "-o", metavar="FILE", help="Write the figures to a file, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")
def command(
    data: str,
    folder: str,
    apply: tuple[str, str] | None,
    metric: str,
    language: str | None,
    output_dir: str | None,
    out_file: str | None,
    as_json: bool,
) -> None:
    """Choose tau, the null odds above which there is no answer, on DATA and the folder DIR of its predictions.

    DIR holds the files of qa-scoring predict or of the SQuAD script. Printed are the figures at 0 and at tau; of DATA2
    also at its own best threshold, which no system knows.
    """
    from qa_scoring.errors import InputError
    from qa_scoring.extractive.prediction_files import PREDICTIONS, write_json_files
    from qa_scoring.null_threshold import answers_at, score_best_spans, tune_threshold

    rows = score_best_spans(data, folder, language=language, progress=progress_bar)
    other = None if apply is None else score_best_spans(*apply, language=language, progress=progress_bar)
    result = tune_threshold(rows, other, metric=metric)
    if output_dir is not None:
        answers = answers_at(rows if other is None else other, result["threshold"])
        write_json_files(output_dir, {PREDICTIONS: answers})
    text = json.dumps(result, indent=2)
    if out_file is not None:
        try:
            Path(out_file).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out_file} cannot be written: {error.strerror or error}.") from error
    if as_json:
        click.echo(text)
        return
    from qa_scoring.report.tables import console

    out = console()
    out.print(f"tau: {result['threshold']!r}, the highest {_COLUMNS[metric]} of {data}", markup=False)
    out.print(_table(result, data, None if apply is None else apply[0]))


def _table(result: dict[str, Any], data: str, other: str | None) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    metric = result["metric"]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("file")
    for name in ("questions", "threshold", *_COLUMNS.values(), f"gain in {_COLUMNS[metric]}"):
        table.add_column(name, justify="right")
    parts = [(data, result["tuned_on"])]
    if other is not None:
        parts.append((other, result["applied_to"]))
    for name, part in parts:
        lines = [("0", part["at_zero"], None), ("tau", part["at_threshold"], part["gain"])]
        if "at_best" in part:
            lines.append((f"best: {part['best_threshold']:.6g}", part["at_best"], part["best_gain"]))
        for number, (threshold, figures, gain) in enumerate(lines):
            table.add_row(
                Text(name if number == 0 else ""),
                str(figures["total"]),
                threshold,
                *("–" if figures[key] is None else f"{figures[key]:.2f}" for key in _COLUMNS),
                "" if gain is None else f"{gain:+.2f}",
                end_section=number == len(lines) - 1,
            )
    return table
