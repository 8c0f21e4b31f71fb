"""``qa-scoring plot``: precision-recall curves and no-answer histograms from rows."""

from __future__ import annotations

import click


@click.command(name="plot")
@click.argument("rows")
@click.option("--out", "-o", default=".", show_default=True, metavar="DIR", help="Folder for the PNG files.")
def command(rows: str, out: str) -> None:
    """Draw ROWS (written by 'score --rows') as PNG files."""
    from qa_scoring.report.plots import save_plots
    from qa_scoring.rows import read_rows

    for path in save_plots(read_rows(rows), out):
        click.echo(str(path))
