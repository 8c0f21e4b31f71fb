"""``qa-scoring demo``: score the predictions that ship with the package."""

from __future__ import annotations

from importlib import resources

import click


@click.command(name="demo")
def command() -> None:
    """Score bundled predictions in several languages and print a table."""
    from qa_scoring import files
    from qa_scoring.multilingual_squad import score_multilingual_squad
    from qa_scoring.report.tables import console, result_report

    with resources.as_file(resources.files("qa_scoring") / "data" / "demo.jsonl") as path:
        rows = files.read_table(str(path))
    languages = [row["language"] for row in rows]
    scored = score_multilingual_squad(rows, rows, language=languages, groups=languages)
    console().print(result_report(scored.result, list(scored.rows.scores), scored.signature))
