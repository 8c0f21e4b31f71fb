"""``qa-scoring languages``: the language registry, and what its tokenizers do."""

from __future__ import annotations

import json

import click


@click.command(name="languages")
@click.option("--check", is_flag=True, help="Load every tokenizer and show a sample and its tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of a table.")
def command(check: bool, as_json: bool) -> None:
    """List the languages, their names and their tokenizers."""
    from qa_scoring.errors import MissingPackageError
    from qa_scoring.text.languages import LANGUAGES
    from qa_scoring.text.normalize import squad_words
    from qa_scoring.text.tokenizers import load_tokenizer

    rows: list[dict[str, str]] = []
    for language in LANGUAGES:
        row = {"code": language.code, "name": language.name, "tokenizer": language.tokenizer}
        if check:
            try:
                tokenizer = load_tokenizer(language.tokenizer)
                tokens = tokenizer(squad_words(language.sample))
                row |= {"version": tokenizer.version, "sample": language.sample, "tokens": " | ".join(tokens)}
            except MissingPackageError as error:
                row |= {"version": "not installed", "sample": language.sample, "tokens": str(error)}
        else:
            row |= {"other names": ", ".join(language.aliases), "source": language.source}
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from qa_scoring.report.tables import console

    table = Table(*rows[0], box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row.values()))
    console().print(table)
