"""``qa-scoring judge data``: what data to train a judge on hold, and the triples that come of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(name="data")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option("--kind", default="answer-selection", show_default=True, help="Or judged-answers, semeval2013.")
@click.option("--cap", type=int, metavar="N", help="Of answer-selection: most positives, and negatives, of a question.")
@click.option("--references-per-answer", type=int, metavar="N", help="Of judged-answers: most references of an answer.")
@click.option("--references-by", metavar="NAME", help="Of judged-answers, which ones: overlap (default) or seed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
@click.option("--out", metavar="TRIPLES.jsonl", help="Write the triples, as judged answers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of a table.")
def data_command(
    paths: tuple[str, ...], kind: str, seed: int, out: str | None, as_json: bool, **options: int | str | None
) -> None:
    """Count what each FILE holds, and the triples (question, reference, answer) that a judge would learn from.

    Of answer-selection data (question, candidate, label; TSV, CSV, JSON Lines), only questions with two or more correct
    candidates are used: every ordered pair of correct ones is a positive, of a correct and an incorrect one a negative.
    """
    from qa_scoring.config_files import checked
    from qa_scoring.errors import InputError, parameter_error
    from qa_scoring.judge.examples import read_source
    from qa_scoring.judge.sources import KINDS

    if kind not in KINDS:
        raise parameter_error("--kind", f"one of {', '.join(KINDS)}", kind)
    given = {name: value for name, value in options.items() if value is not None}
    read = {}
    for path in paths:
        if path in read:
            raise InputError(f"{path} is named twice.")
        source = KINDS[kind](**checked(KINDS[kind], {"path": "FILE", **given}, f"--kind {kind}"))
        read[path] = read_source(source, Path(path), seed)
    if out is not None:
        rows = [
            {"question": row.question, "references": [row.reference], "answer": row.answer, "correct": row.correct}
            for found in read.values()
            for row in found.examples
        ]
        _write_json_lines(rows, out)
    statistics = {path: found.statistics._asdict() for path, found in read.items()}
    if as_json:
        click.echo(json.dumps(statistics, indent=2, ensure_ascii=False))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from qa_scoring.report.tables import console

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("file")
    for name in next(iter(statistics.values())):
        table.add_column(name.replace("_", " "), justify="right")
    for path, counts in statistics.items():
        table.add_row(Text(path), *map(str, counts.values()))
    console().print(table)
    if out is not None:
        click.echo(f"Triples: {out}")


def _write_json_lines(rows: list[dict[str, Any]], path: str) -> None:
    from qa_scoring.errors import InputError

    try:
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error
