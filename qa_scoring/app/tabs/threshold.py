"""The tab of no-answer thresholds: curves, histograms, and a slider that shows the figures where it stands."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Mapping
from typing import Any

import gradio as gr
from matplotlib.figure import Figure

from qa_scoring.app import limits, thresholds
from qa_scoring.app.examples import EXAMPLES, Example
from qa_scoring.app.handlers import Report, shown
from qa_scoring.app.tabs import parts
from qa_scoring.errors import InputError
from qa_scoring.report.plots import squad_figures


@shown
def score(
    source: str,
    pasted: str,
    uploads: parts.Uploads,
    language: str,
    missing_is_zero: bool,
    tokenizer: str,
    normalization: str,
) -> Iterator[tuple[Any, ...]]:
    """Score once; gives the plots, the range of the slider, and the figures at its best F1.

    Args:
        source: ``parts.PASTED`` or ``parts.FILES``.
        pasted: The pasted lines.
        uploads: What this session uploaded.
        language: Registry code.
        missing_is_zero: Whether questions without a prediction score 0.
        tokenizer: A tokenizer's name, or ``parts.OWN_TOKENIZER``.
        normalization: ``"squad"`` or ``"unicode"``.

    Yields:
        The outputs: first how far the work is, at last what was found.
    """
    settings = parts.settings(language, missing_is_zero, tokenizer, normalization)

    def work(report: Report) -> tuple[thresholds.Sweep, str]:
        sweep = thresholds.score(thresholds.read(None if source == parts.FILES else pasted, uploads), settings, report)
        return sweep, _images(squad_figures(sweep.rows))

    sweep, images = yield from parts.progress(work, 6)
    tau = sweep.best["best_f1_thresh"]
    yield (
        parts.status(f"Done; rows scored: {len(sweep.rows):,}."),
        sweep,
        gr.update(minimum=sweep.low, maximum=sweep.high, step=sweep.step, value=tau, interactive=True),
        thresholds.best_in_words(sweep),
        *at(sweep, tau),
        images,
    )


@shown
def at(sweep: thresholds.Sweep | None, tau: float) -> tuple[list[list[str]], dict[str, Any]]:
    """Return the figures at a threshold, of the rows this session scored; nothing is scored again.

    Args:
        sweep: What this session scored.
        tau: No-answer values strictly above it count as an empty answer.

    Returns:
        Rows of the table, and the figures as plain values.
    """
    figures = thresholds.figures_at(_needed(sweep), tau)
    return thresholds.figures_table(figures), figures


@shown
def best(sweep: thresholds.Sweep | None) -> tuple[float, list[list[str]], dict[str, Any]]:
    """Return the threshold of the best F1, and the figures there.

    Args:
        sweep: What this session scored.

    Returns:
        The threshold, rows of the table, and the figures as plain values.
    """
    tau = _needed(sweep).best["best_f1_thresh"]
    return tau, *at(sweep, tau)


def _images(plots: Mapping[str, Figure]) -> str:
    """Return the plots as pictures whose alternative text is their title, which gradio's own plots do not have."""
    pictures = []
    for name, figure in plots.items():
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=120)
        title = html.escape(" ".join(figure.axes[0].get_title().split()))
        data = base64.b64encode(png.getvalue()).decode()
        style = "flex: 1 1 300px; max-width: 480px"
        pictures.append(f'<img id="{name}" alt="{title}" src="data:image/png;base64,{data}" style="{style}">')
    return f'<div style="display: flex; flex-wrap: wrap; gap: 8px">{"".join(pictures)}</div>'


def _needed(sweep: thresholds.Sweep | None) -> thresholds.Sweep:
    if sweep is None:
        raise InputError("There is nothing to show yet: score first.")
    return sweep


def add() -> None:
    """Build the tab inside the Blocks that are open."""
    sweep = gr.State(None, time_to_live=parts.STATE_SECONDS)
    gr.Markdown(
        "## Predictions with no-answer values\nA no-answer value is higher the surer a system is that a question has "
        "no answer. Where it is above the threshold τ, the answer counts as empty."
    )
    source = gr.Radio([parts.PASTED, parts.FILES], value=parts.PASTED, label="Score")
    examples = parts.example_buttons()
    pasted = gr.Textbox(
        EXAMPLES["English"].with_values(),
        lines=5,
        max_lines=12,
        label="Rows from a spreadsheet, CSV or JSON Lines",
        info="A first line names the columns: prediction, references, no_answer; id and question may be there.",
        elem_classes="texts",
    )
    with gr.Accordion("Upload files", open=False):
        gr.Markdown(
            "No-answer values: JSON `{id: number}`, or a column `no_answer_probability` of the predictions. "
            + limits.TEXT
        )
        uploads = parts.file_boxes(thresholds.SIDES, source, "threshold")
    chosen = parts.settings_boxes()
    parts.fill_pasted(examples, Example.with_values, pasted, chosen[0], source)
    with gr.Row():
        start = gr.Button("Score", variant="primary")
        cancel = gr.Button("Cancel")
    status = gr.HTML(parts.status(""))

    gr.Markdown("## Figures at a threshold")
    tau = gr.Slider(0, 1, value=1, step=0.001, label="Threshold τ", interactive=True)
    to_best = gr.Button("Go to the best F1")
    figures = gr.Dataframe(
        headers=["questions", "total", "EM", "F1"],
        type="array",
        datatype="str",
        interactive=False,
        label="EM and F1 in percent, at τ",
    )
    best_words = gr.Textbox(label="Best thresholds", interactive=False, lines=1, max_lines=6)
    with gr.Accordion("Result", open=False):
        result = gr.JSON(label="All figures at τ", max_height=400)
    gr.Markdown("## Curves and histograms")
    curves = gr.HTML()

    event = start.click(
        score,
        [source, pasted, uploads, *chosen],
        [status, sweep, tau, best_words, figures, result, curves],
        api_name="threshold_score",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=[status],
    )
    cancel.click(
        lambda: parts.status("Cancelled."), None, status, cancels=[event], api_visibility="private", queue=False
    )
    # Input, not change: the figures at a value the page has set come with it.
    tau.input(
        at,
        [sweep, tau],
        [figures, result],
        api_name="threshold_at",
        show_progress="hidden",
        trigger_mode="always_last",
    )
    to_best.click(best, sweep, [tau, figures, result], api_name="threshold_best", show_progress="hidden")
