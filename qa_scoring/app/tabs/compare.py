"""The tab that compares two systems over the same references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from qa_scoring.app import comparing, limits
from qa_scoring.app.examples import EXAMPLES, Example
from qa_scoring.app.handlers import Report, shown
from qa_scoring.app.tabs import parts


@shown
def compare(
    source: str,
    pasted: str,
    uploads: parts.Uploads,
    language: str,
    missing_is_zero: bool,
    tokenizer: str,
    normalization: str,
) -> Iterator[tuple[Any, ...]]:
    """Score A and B over the same references; gives the differences, and the rows that differ most.

    Args:
        source: ``parts.PASTED`` or ``parts.FILES``.
        pasted: The pasted lines.
        uploads: What this session uploaded.
        language: Registry code.
        missing_is_zero: Whether questions without a prediction score 0.
        tokenizer: A tokenizer's name, or ``parts.OWN_TOKENIZER``.
        normalization: ``"squad"`` or ``"unicode"``.

    Yields:
        The outputs: first how far the work is, at last the comparison.
    """
    settings = parts.settings(language, missing_is_zero, tokenizer, normalization)

    def work(report: Report) -> comparing.Comparison:
        a, b = comparing.read(None if source == parts.FILES else pasted, uploads)
        return comparing.compare(a, b, settings, report)

    found = yield from parts.progress(work, 3)
    yield (
        parts.status(f"Done. {comparing.in_words(found)}"),
        comparing.figures_table(found),
        comparing.as_dict(found),
        found.rows,
    )


def add() -> None:
    """Build the tab inside the Blocks that are open."""
    gr.Markdown("## Two systems, A and B\nEvery answer counts as it is given; no-answer values are not used.")
    source = gr.Radio([parts.PASTED, parts.FILES], value=parts.PASTED, label="Compare")
    examples = parts.example_buttons()
    pasted = gr.Textbox(
        EXAMPLES["English"].side_by_side(),
        lines=5,
        max_lines=12,
        label="Columns from a spreadsheet or CSV",
        info="A first line names the columns: a, b, references; id and question may be there.",
        elem_classes="texts",
    )
    with gr.Accordion("Upload files", open=False):
        gr.Markdown(limits.TEXT)
        uploads = parts.file_boxes(comparing.SIDES, source, "compare")
    chosen = parts.settings_boxes()
    parts.fill_pasted(examples, Example.side_by_side, pasted, chosen[0], source)
    with gr.Row():
        start = gr.Button("Compare", variant="primary")
        cancel = gr.Button("Cancel")
    status = gr.HTML(parts.status(""))
    figures = gr.Dataframe(
        headers=["score", "A", "B", "B minus A [95 % interval]"],
        type="array",
        datatype="str",
        interactive=False,
        wrap=True,
        label="EM and F1 in percent; the interval draws the rows of A and B together",
    )
    with gr.Accordion("Result", open=False):
        result = gr.JSON(label="All figures", max_height=400)
    rows = gr.Dataframe(
        headers=list(comparing.HEADERS),
        type="array",
        datatype=["number", *["str"] * 5, *["number"] * 3],
        interactive=False,
        wrap=True,
        max_height=600,
        label=f"Rows that differ most by F1, up to {comparing.MOST_ROWS}",
        elem_classes="texts",
    )
    event = start.click(
        compare,
        [source, pasted, uploads, *chosen],
        [status, figures, result, rows],
        api_name="compare",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=[status],
    )
    cancel.click(
        lambda: parts.status("Cancelled."), None, status, cancels=[event], api_visibility="private", queue=False
    )
