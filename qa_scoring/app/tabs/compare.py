"""The tab that compares two systems over the same references."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from qa_scoring.app import comparing, limits
from qa_scoring.app.examples import EXAMPLES, Example
from qa_scoring.app.handlers import Report, shown
from qa_scoring.app.tabs import parts
from qa_scoring.errors import InputError
from qa_scoring.rows import SCORES

_METRIC = "m2qa_squad_v2"
_READING = (
    "EM and F1 are in percent, SAS and AVA from 0 to 1. The interval draws the rows of A and B together (paired "
    "bootstrap). p is how often a difference this large comes up when the answers of A and B are swapped at random, "
    "row by row (two-sided randomisation test)."
)


@shown
def compare(
    source: str,
    pasted: str,
    uploads: parts.Uploads,
    metric: str,
    language: str,
    missing_is_zero: bool,
    tokenizer: str,
    normalization: str,
    threshold_a: float | None,
    threshold_b: float | None,
) -> Iterator[tuple[Any, ...]]:
    """Score A and B over the same references; gives the differences, and the rows that differ most.

    Args:
        source: ``parts.PASTED`` or ``parts.FILES``.
        pasted: The pasted lines.
        uploads: What this session uploaded.
        metric: A name of ``qa_scoring.METRICS``.
        language: Registry code.
        missing_is_zero: Whether questions without a prediction score 0.
        tokenizer: A tokenizer's name, or ``parts.OWN_TOKENIZER``.
        normalization: ``"squad"`` or ``"unicode"``.
        threshold_a: No-answer values of A above it count as an empty answer.
        threshold_b: The same for B.

    Yields:
        Status, outcome, figures, rows, what the rows are sorted by, which they are, signatures, Python, command line,
        and all figures.
    """
    settings = parts.settings(language, missing_is_zero, tokenizer, normalization)
    if threshold_a is None or threshold_b is None:
        raise InputError("A no-answer threshold is empty; 1 leaves probabilities as they are.")
    thresholds = (threshold_a, threshold_b)

    def work(report: Report) -> comparing.Outcome:
        a, b = comparing.read(None if source == parts.FILES else pasted, uploads)
        return comparing.compare(a, b, metric, settings, thresholds=thresholds, report=report)

    outcome = yield from parts.progress(work, 9)
    scores = outcome.comparison.scores
    said = [f"Done; rows compared: {len(outcome.comparison):,}.", comparing.headline(outcome), *outcome.notes]
    yield (
        parts.status(" ".join(said)),
        outcome,
        comparing.figures_table(outcome),
        comparing.rows_table(outcome, scores[-1]),
        gr.update(choices=list(scores), value=scores[-1]),
        parts.status(comparing.shown_in_words(outcome, scores[-1])),
        comparing.signatures(outcome),
        comparing.python_call(outcome),
        comparing.command_line(outcome),
        outcome.comparison.result,
    )


@shown
def sort_rows(outcome: comparing.Outcome | None, score: str) -> tuple[list[list[Any]], str]:
    """Return the rows that differ most by a score, of the last comparison of this session.

    Args:
        outcome: The session's last comparison.
        score: One of its metric's scores.

    Returns:
        The rows, and which they are.
    """
    rows = comparing.rows_table(parts.needed(outcome, "compare"), score)
    return rows, parts.status(comparing.shown_in_words(parts.needed(outcome, "compare"), score))


@shown
def download(outcome: comparing.Outcome | None) -> Iterator[list[str]]:
    """Write the figures as JSON and the rows of both systems as JSON Lines and Parquet.

    Args:
        outcome: The session's last comparison.

    Yields:
        The files, once; with pasted rows also those that the Python and command-line calls name.
    """
    with tempfile.TemporaryDirectory() as folder:  # gradio copies what it serves, and deletes its copies later
        yield [str(path) for path in comparing.write_downloads(parts.needed(outcome, "compare"), Path(folder))]


def add() -> None:
    """Build the tab inside the Blocks that are open."""
    outcome = gr.State(None, time_to_live=parts.STATE_SECONDS)
    gr.Markdown("## Two systems, A and B\nWhich one is better on these questions, and where do they differ?")
    source = gr.Radio([parts.PASTED, parts.FILES], value=parts.PASTED, label="Compare")
    examples = parts.example_buttons()
    pasted = gr.Textbox(
        EXAMPLES["English"].side_by_side(),
        lines=5,
        max_lines=12,
        label="Columns from a spreadsheet, CSV or JSON Lines",
        info="The first line names the columns a, b and references, and if wanted id and question, which ava_metric "
        "reads. In JSON Lines these are the keys.",
        elem_classes="texts",
    )
    with gr.Accordion("Upload files", open=False):
        gr.Markdown(
            "Predictions: JSON `{id: text}`, or rows with `prediction_text`. References: SQuAD JSON, or rows with "
            "`answers`. JSON, JSON Lines, CSV, TSV, Parquet. " + limits.TEXT
        )
        uploads = parts.file_boxes(comparing.SIDES, source, "compare")
    metric = gr.Radio(parts.metric_choices(), value=_METRIC, label="Metric")
    chosen = parts.settings_boxes()
    with gr.Accordion("No-answer thresholds", open=False), gr.Row():
        thresholds = [
            gr.Number(
                1.0,
                label=f"No-answer threshold of {system} (EM, F1)",
                info="No-answer values above it count as an empty answer.",
            )
            for system in "AB"
        ]
    parts.fill_pasted(examples, Example.side_by_side, pasted, chosen[0], source)
    with gr.Row():
        start = gr.Button("Compare", variant="primary")
        cancel = gr.Button("Cancel")
    status = gr.HTML(parts.status(""), label="Progress")

    gr.Markdown("## The difference")
    figures = gr.Dataframe(
        headers=list(comparing.FIGURE_HEADERS),
        type="array",
        datatype="str",
        interactive=False,
        wrap=True,
        label="A, B, and B minus A",
    )
    gr.Markdown(_READING)
    with gr.Accordion("Signatures, and the same figures from Python and the command line", open=False):
        signatures = gr.Textbox(label="Signatures", lines=1, max_lines=6, buttons=["copy"])
        python = gr.Code(label="Python", language="python", wrap_lines=True)
        command = gr.Code(label="Command line", language="shell", wrap_lines=True)
        result = gr.JSON(label="All figures", max_height=400)
    with gr.Accordion("Downloads", open=False):
        make = gr.Button("Make the files")
        made = gr.File(
            label="Figures as JSON, rows as JSON Lines and Parquet, pasted rows as the files of the calls",
            file_count="multiple",
            interactive=False,
        )

    gr.Markdown("## Rows that differ most")
    sort_by = gr.Radio(SCORES[_METRIC], value=SCORES[_METRIC][-1], label="By")
    which = gr.HTML(parts.status(""), label="Which rows")
    rows = gr.Dataframe(
        headers=list(comparing.ROW_HEADERS),
        type="array",
        datatype=["number", *["str"] * 4, *["number"] * 3, "str"],
        interactive=False,
        wrap=True,
        max_height=600,
        label=f"Up to {comparing.MOST_ROWS} rows; scores from 0 to 1",
        elem_classes="texts",
    )
    event = start.click(
        compare,
        [source, pasted, uploads, metric, *chosen, *thresholds],
        [status, outcome, figures, rows, sort_by, which, signatures, python, command, result],
        api_name="compare",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=[status],
    )
    event.success(lambda: None, None, made, api_visibility="private")  # files of the last comparison
    cancel.click(
        lambda: parts.status("Cancelled."), None, status, cancels=[event], api_visibility="private", queue=False
    )
    # Input, not change: the rows of a new comparison come with it.
    sort_by.input(sort_rows, [outcome, sort_by], [rows, which], api_name="compare_rows", show_progress="hidden")
    make.click(download, outcome, made, api_name="compare_download")
