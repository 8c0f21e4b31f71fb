"""``qa-scoring score m2qa_squad_v2``."""

from __future__ import annotations

from typing import Any

import click

from qa_scoring.cli.score import run, shared_options


@click.command(name="m2qa_squad_v2")
@shared_options
@click.option("--language", "-l", metavar="NAME", help="Language of all rows: code, name or tag.")
@click.option("--language-column", metavar="COLUMN", help="Column of the references with the language of each row.")
@click.option("--tokenizer", metavar="NAME", help="Tokenizer in place of the language's.")
@click.option("--whitespace", is_flag=True, help="Split at white space, whatever the language.")
@click.option("--normalization", type=click.Choice(["squad", "unicode"]), default="squad", show_default=True)
@click.option("--scheme", metavar="NAME", help="Reproduce a script: squad, m2qa, mlqa, cmrc, korquad, jaquad.")
@click.option("--no-answer-file", metavar="FILE", help="JSON, {id: number}: higher is surer of no answer.")
@click.option("--no-answer-threshold", type=float, default=1.0, show_default=True)
def command(
    predictions: str,
    references: str,
    language: str | None,
    language_column: str | None,
    whitespace: bool,
    no_answer_file: str | None,
    **options: Any,
) -> None:
    """Exact match and token F1 of SQuAD 2.0, in over sixty languages."""
    from qa_scoring import files
    from qa_scoring.errors import InputError
    from qa_scoring.multilingual_squad import score_multilingual_squad
    from qa_scoring.records import read_predictions, with_no_answer_values

    if [predictions, references, no_answer_file].count(files.STANDARD_INPUT) > 1:
        raise InputError("Only one of the files can be standard input ('-').")
    if language is not None and language_column is not None:
        raise InputError("Give --language or --language-column, not both.")

    def prepare(predicted: Any, expected: Any) -> tuple[Any, dict[str, Any]]:
        if no_answer_file is not None:
            predicted = with_no_answer_values(read_predictions(predicted), files.read_no_answer_file(no_answer_file))
        languages = files.column(expected, language_column, "--language-column") if language_column else language
        return predicted, {"language": languages}

    run(
        score_multilingual_squad,
        predictions,
        references,
        prepare=prepare,
        use_word_tokenizer=not whitespace,
        **options,
    )
