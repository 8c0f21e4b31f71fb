"""``qa-scoring plot``: EM and F1 by threshold, precision-recall curves, no-answer histograms."""

from __future__ import annotations

import click


@click.command(name="plot")
@click.argument("rows")
@click.option("--out", "-o", default=".", show_default=True, metavar="DIR", help="Folder for the PNG files.")
def command(rows: str, out: str) -> None:
    """Draw ROWS (written by 'score --rows') as PNG files.

    EM and F1 against the no-answer threshold, precision-recall curves, and histograms of the no-answer values.
    """
    from qa_scoring.report.plots import save_plots
    from qa_scoring.rows import read_rows

    for path in save_plots(read_rows(rows), out):
        click.echo(str(path))
