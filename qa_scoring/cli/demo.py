"""``qa-scoring demo``: score the predictions that ship with the package."""

from __future__ import annotations

from importlib import resources

import click

from qa_scoring.cli.progress import progress_bar


@click.command(name="demo")
def command() -> None:
    """Score bundled predictions with every metric, on the embedded models, and print tables."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from qa_scoring import files
    from qa_scoring.ava import score_ava
    from qa_scoring.multilingual_squad import score_multilingual_squad
    from qa_scoring.report.tables import console, result_report
    from qa_scoring.sas import score_sas

    with resources.as_file(resources.files("qa_scoring") / "data" / "demo.jsonl") as path:
        rows = files.read_table(str(path))
    languages = [row["language"] for row in rows]
    english = [row for row in rows if row["language"] == "en"]
    overlap = score_multilingual_squad(rows, rows, language=languages, groups=languages)
    similarity = score_sas(english, english, progress=progress_bar)
    judged = score_ava(english, english, progress=progress_bar)
    table = Table("question", "prediction", "references", "exact", "f1", "sas", "ava", "correct", box=box.SIMPLE_HEAD)
    for number, (question, row) in enumerate(zip(english, similarity.rows.dicts(), strict=True)):
        place = overlap.rows.ids.index(row["id"])
        scores = [*(scores[place] for scores in overlap.rows.scores.values()), row["sas"]]
        verdict, probability = (float(judged.rows.scores[name][number]) for name in ("ava_accuracy", "ava_score"))
        texts = (question["question"], row["prediction"], " / ".join(row["references"]))
        figures = [f"{score:.2f}" for score in (*scores, probability)]
        table.add_row(*(Text(text or "(none)") for text in texts), *figures, "yes" if verdict else "no")
    out = console()
    for title, parts in (
        ("m2qa_squad_v2", [result_report(overlap.result, list(overlap.rows.scores), overlap.signature)]),
        (
            "sas_metric, on the answers in English",
            [result_report(similarity.result, list(similarity.rows.scores), similarity.signature)],
        ),
        (
            "ava_metric, on the answers in English",
            [result_report(judged.result, list(judged.rows.scores), judged.signature)],
        ),
        ("All three, answer by answer", [table]),
    ):
        out.print(f"[bold]{title}[/bold]")
        for part in parts:
            out.print(part)
