"""``qa-scoring agreement``: how well scores follow human labels."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from qa_scoring.cli.progress import progress_bar

COMPUTED = ("exact", "f1", "sas")


@click.command(name="agreement")
@click.argument("file")
@click.option("--label", required=True, metavar="COLUMN", help="Column with the human labels (numbers).")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help=f"Compute: {', '.join(COMPUTED)}; repeatable.")
@click.option("--column", "columns", multiple=True, metavar="COLUMN", help="A score that is in the file; repeatable.")
@click.option("--first", default="answer1", show_default=True, metavar="COLUMN", help="Column with the first answers.")
@click.option(
    "--second", default="answer2", show_default=True, metavar="COLUMN", help="Column with the second answers."
)
@click.option("--language", "-l", default="en", show_default=True, help="Language of the answers.")
@click.option("--model", metavar="NAME", help="Of sas: name, Hub id or local folder.  [default: the embedded one]")
@click.option("--scorer", default="cross-encoder", show_default=True, help="Of sas: or bi-encoder, bertscore.")
@click.option("--layer", type=int, metavar="N", help="Of sas: the layer that bertscore reads.")
@click.option("--symmetric", is_flag=True, help="Of sas: average both orders of a pair.")
@click.option("--confidence-level", type=float, default=0.95, show_default=True)
@click.option("--n-resamples", type=int, default=1000, show_default=True, help="0: no intervals.")
@click.option("--seed", type=int, default=42, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of a table.")
def command(
    file: str,
    label: str,
    metrics: tuple[str, ...],
    columns: tuple[str, ...],
    first: str,
    second: str,
    language: str,
    model: str | None,
    scorer: str,
    layer: int | None,
    symmetric: bool,
    confidence_level: float,
    n_resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Correlate scores of answer pairs with the human labels in FILE (CSV, TSV, JSON Lines or Parquet).

    Pearson's r, Spearman's rho and Kendall's tau-b with bootstrap intervals, over all rows and split into pairs that
    share no token (f1 = 0) and pairs that do.
    """
    from qa_scoring import files
    from qa_scoring.agreement import measure_agreement, overlap_scores, similarity_scores
    from qa_scoring.errors import InputError, parameter_error
    from qa_scoring.rows import check_statistics

    unknown = [name for name in metrics if name not in COMPUTED]
    if unknown:
        raise parameter_error("--metric", f"one of {', '.join(COMPUTED)}", unknown[0])
    if not metrics and not columns:
        raise InputError("Name at least one score: --metric to compute it, or --column for one in the file.")
    check_statistics(confidence_level, max(n_resamples, 1), seed)
    rows = files.read_table(file)
    labels = files.number_column(rows, label, "--label")
    pairs = files.text_column(rows, first, "--first"), files.text_column(rows, second, "--second")
    computed = overlap_scores(*pairs, language)
    if "sas" in metrics:
        computed["sas"] = similarity_scores(
            *pairs,
            language=language,
            progress=progress_bar,
            model=model,
            scorer=scorer,
            layer=layer,
            symmetric=symmetric,
        )
    scores = {name: computed[name] for name in metrics}
    for name in columns:
        scores[f"{name} (file)" if name in scores else name] = files.number_column(rows, name, "--column")
    table = measure_agreement(
        scores,
        labels,
        computed["f1"],
        confidence_level=confidence_level if n_resamples > 0 else None,
        n_resamples=n_resamples,
        seed=seed,
        progress=progress_bar,
    )
    if as_json:
        click.echo(json.dumps([asdict(row) for row in table], indent=2, ensure_ascii=False))
    else:
        from qa_scoring.report.tables import agreement_table, console

        console().print(agreement_table(table))
