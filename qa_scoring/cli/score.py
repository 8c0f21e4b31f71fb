"""``qa-scoring score``: score files with a metric."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from qa_scoring import METRICS


@click.command(name="score")
@click.argument("metric", type=click.Choice(METRICS))
@click.argument("predictions")
@click.argument("references")
@click.option("--language", "-l", metavar="NAME", help="Language of all rows: code, name or tag.")
@click.option("--language-column", metavar="COLUMN", help="Column of the references with the language of each row.")
@click.option("--tokenizer", metavar="NAME", help="Tokenizer in place of the language's.")
@click.option("--whitespace", is_flag=True, help="Split at white space, whatever the language.")
@click.option("--normalization", type=click.Choice(["squad", "unicode"]), default="squad", show_default=True)
@click.option("--scheme", metavar="NAME", help="Reproduce a script: squad, m2qa, mlqa, cmrc, korquad, jaquad.")
@click.option("--no-answer-file", metavar="FILE", help="JSON, {id: number}: higher is surer of no answer.")
@click.option("--no-answer-threshold", type=float, default=1.0, show_default=True)
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column of the references; repeatable.")
@click.option("--id-column", default="id", show_default=True, metavar="COLUMN", help="Column with the ids.")
@click.option("--missing", type=click.Choice(["error", "score_zero"]), default="error", show_default=True)
@click.option("--confidence-level", type=float, metavar="P", help="Bootstrap intervals, for example 0.95.")
@click.option("--n-resamples", type=int, default=2000, show_default=True)
@click.option("--seed", type=int, default=42, show_default=True)
@click.option("--rows", metavar="FILE", help="Write one row per example: .parquet or .jsonl.")
@click.option("--details", is_flag=True, help="With --json: one dict per example.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON in place of a table.")
def command(
    metric: str,
    predictions: str,
    references: str,
    language: str | None,
    language_column: str | None,
    tokenizer: str | None,
    whitespace: bool,
    normalization: str,
    scheme: str | None,
    no_answer_file: str | None,
    no_answer_threshold: float,
    by: tuple[str, ...],
    id_column: str,
    missing: Any,
    confidence_level: float | None,
    n_resamples: int,
    seed: int,
    rows: str | None,
    details: bool,
    as_json: bool,
) -> None:
    """Score PREDICTIONS against REFERENCES.

    Files: official SQuAD JSON, {id: text} JSON, JSON Lines, CSV, TSV or Parquet; '-' is standard input.
    """
    from qa_scoring import files
    from qa_scoring.errors import InputError
    from qa_scoring.multilingual_squad import score_multilingual_squad
    from qa_scoring.records import read_predictions, with_no_answer_values
    from qa_scoring.rows import write_rows

    if [predictions, references, no_answer_file].count(files.STANDARD_INPUT) > 1:
        raise InputError("Only one of the files can be standard input ('-').")
    if language is not None and language_column is not None:
        raise InputError("Give --language or --language-column, not both.")
    expected = files.read_reference_file(references, id_column=id_column)
    predicted: Any = files.read_prediction_file(predictions, id_column=id_column)
    if no_answer_file is not None:
        values = files.read_no_answer_file(no_answer_file)
        predicted = with_no_answer_values(read_predictions(predicted), values)
    scored = score_multilingual_squad(
        predicted,
        expected,
        language=files.column(expected, language_column, "--language-column") if language_column else language,
        tokenizer=tokenizer,
        use_word_tokenizer=not whitespace,
        normalization=normalization,
        scheme=scheme,
        no_answer_threshold=no_answer_threshold,
        groups=list(zip(*(files.column(expected, name, "--by") for name in by), strict=True)) if by else None,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        details=details,
        missing=missing,
        progress=progress_bar,
    )
    if rows is not None:
        write_rows(scored.rows, rows)
    if as_json:
        click.echo(json.dumps({**scored.result, "signature": str(scored.signature)}, indent=2, ensure_ascii=False))
    else:
        from qa_scoring.report.tables import console, result_report

        console().print(result_report(scored.result, list(scored.rows.scores), scored.signature))


def progress_bar(texts: Iterable[str]) -> Iterable[str]:
    """Show progress on standard error while the texts are read, if that is a terminal."""
    from tqdm import tqdm

    bar: Iterable[str] = tqdm(texts, desc="scoring", unit=" answers", file=sys.stderr, disable=None, leave=False)
    return bar
