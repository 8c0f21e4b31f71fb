"""``qa-scoring compare``: two systems over the same references."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from qa_scoring import METRICS
from qa_scoring.cli.progress import progress_bar

_OVERLAP, _SIMILARITY, _JUDGE = METRICS
_OF = {
    "language": (_OVERLAP, _SIMILARITY),
    "language_column": (_OVERLAP,),
    "tokenizer": (_OVERLAP,),
    "normalization": (_OVERLAP,),
    "scheme": (_OVERLAP,),
    "no_answer_file": (_OVERLAP,),
    "no_answer_threshold": (_OVERLAP,),
    "scorer": (_SIMILARITY,),
    "model": (_SIMILARITY, _JUDGE),
    "question": (_JUDGE,),
    "device": (_SIMILARITY, _JUDGE),
    "cache_dir": (_SIMILARITY, _JUDGE),
}
"""Option → the metrics that take it."""


@click.command(name="compare")
@click.argument("metric", type=click.Choice(METRICS))
@click.argument("a")
@click.argument("b")
@click.argument("references")
@click.option("--language", "-l", metavar="NAME", help="Language of all rows: code, name or tag.")
@click.option("--language-column", metavar="COLUMN", help="Column of the references with the language of each row.")
@click.option("--tokenizer", metavar="NAME", help="Of EM and F1: tokenizer in place of the language's.")
@click.option("--normalization", type=click.Choice(["squad", "unicode"]), help="Of EM and F1.  [default: squad]")
@click.option("--scheme", metavar="NAME", help="Of EM and F1: reproduce a script (squad, m2qa, mlqa ...).")
@click.option("--no-answer-file", nargs=2, metavar="FILE_A FILE_B", help="Of EM and F1: JSON, {id: number}.")
@click.option(
    "--no-answer-threshold", nargs=2, type=float, metavar="TAU_A TAU_B", help="Of EM and F1.  [default: 1.0 1.0]"
)
@click.option("--scorer", metavar="NAME", help="Of SAS: cross-encoder (default), bi-encoder or bertscore.")
@click.option("--model", metavar="NAME", help="Of SAS or AVA: name, Hub id or folder.  [default: the embedded one]")
@click.option("--question", metavar="COLUMN", help="Of AVA: of REFERENCES.  [default: question, if it is there]")
@click.option("--device", metavar="NAME", help="Of SAS and AVA: cuda, mps or cpu.")
@click.option("--cache-dir", metavar="FOLDER", help="Of SAS and AVA: keep the scores here, and read them from here.")
@click.option("--id-column", default="id", show_default=True, metavar="COLUMN", help="Column with the ids.")
@click.option("--missing", type=click.Choice(["error", "score_zero"]), default="error", show_default=True)
@click.option("--confidence-level", type=float, default=0.95, show_default=True, metavar="P")
@click.option("--n-resamples", type=int, default=2000, show_default=True)
@click.option("--seed", type=int, default=42, show_default=True)
@click.option("--show", type=click.IntRange(min=0), default=5, show_default=True, metavar="N", help="Rows to print.")
@click.option("--sort-by", metavar="SCORE", help="What the rows differ most by.  [default: f1, sas or ava_score]")
@click.option("--rows", metavar="FILE", help="Write one row per example, with both scores: .parquet or .jsonl.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON in place of tables.")
def command(
    metric: str,
    a: str,
    b: str,
    references: str,
    id_column: str,
    missing: str,
    confidence_level: float,
    n_resamples: int,
    seed: int,
    show: int,
    sort_by: str | None,
    rows: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the predictions A and B over the same REFERENCES: B minus A, and the rows that differ most.

    Each is scored as qa-scoring score METRIC does. The interval of a difference is a paired bootstrap, p a paired
    randomisation test. Files as for score; '-' is standard input.
    """
    from qa_scoring import files
    from qa_scoring.comparison import compare
    from qa_scoring.errors import InputError, parameter_error
    from qa_scoring.rows import SCORES, check_statistics, write_columns

    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if metric not in _OF[name]:
            raise InputError(f"--{name.replace('_', '-')} is an option of {' and '.join(_OF[name])}, not of {metric}.")
    if [a, b, references, *given.get("no_answer_file", ())].count(files.STANDARD_INPUT) > 1:
        raise InputError("Only one of the files can be standard input ('-').")
    sort_by = SCORES[metric][-1] if sort_by is None else sort_by
    if sort_by not in SCORES[metric]:
        raise parameter_error("--sort-by", f"one of {', '.join(SCORES[metric])} with {metric}", sort_by)
    check_statistics(confidence_level, n_resamples, seed)
    expected = files.read_reference_file(references, id_column=id_column)
    score = _scorer(metric, expected, given)
    scored = []
    for side, path in enumerate((a, b)):
        predicted = files.read_prediction_file(path, id_column=id_column)
        try:
            scored.append(score(side, predicted, missing=missing, progress=progress_bar))
        except InputError as error:
            raise InputError(f"Scoring {'AB'[side]}: {error}") from error
    comparison = compare(*scored, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed)
    columns = comparison.columns
    if isinstance(expected, list) and any(row.get("question") for row in expected):
        columns = {"id": columns["id"], "question": [row.get("question") for row in expected], **columns}
    places = comparison.most_different(sort_by, show)
    if rows is not None:
        write_columns(columns, rows)
    if as_json:
        shown = [{name: values[place] for name, values in columns.items()} for place in places]
        click.echo(json.dumps({**comparison.result, "rows": shown}, indent=2, ensure_ascii=False))
    else:
        from qa_scoring.report.tables import comparison_report, console

        console().print(comparison_report(comparison, columns, places, sort_by))


def _scorer(metric: str, references: Any, given: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that scores the predictions of one side (0 or 1) with the options of the metric."""
    from qa_scoring import files

    options = {name: value for name, value in given.items() if not name.startswith("no_answer")}
    if metric == _SIMILARITY:
        from qa_scoring.sas import score_sas

        return lambda side, predicted, **shared: score_sas(predicted, references, **options, **shared)
    if metric == _JUDGE:
        from qa_scoring.ava import score_ava

        if "question" in options:
            options["questions"] = files.column(references, options.pop("question"), "--question")
        return lambda side, predicted, **shared: score_ava(predicted, references, **options, **shared)
    return _overlap_scorer(references, given, options)


def _overlap_scorer(references: Any, given: dict[str, Any], options: dict[str, Any]) -> Callable[..., Any]:
    from qa_scoring import files
    from qa_scoring.errors import InputError
    from qa_scoring.multilingual_squad import score_multilingual_squad
    from qa_scoring.records import read_predictions, with_no_answer_values

    if "language_column" in options:
        if "language" in options:
            raise InputError("Give --language or --language-column, not both.")
        options["language"] = files.column(references, options.pop("language_column"), "--language-column")
    thresholds = given.get("no_answer_threshold", (1.0, 1.0))

    def score(side: int, predicted: Any, **shared: Any) -> Any:
        if "no_answer_file" in given:
            values = files.read_no_answer_file(given["no_answer_file"][side])
            predicted = with_no_answer_values(read_predictions(predicted), values)
        return score_multilingual_squad(
            predicted, references, no_answer_threshold=thresholds[side], **options, **shared
        )

    return score
