"""The tab of no-answer thresholds: curves, histograms, and a slider that shows the figures where it stands."""

from __future__ import annotations

import base64
import html
import io
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from matplotlib.figure import Figure

from qa_scoring.app import inputs, limits, thresholds
from qa_scoring.app.examples import EXAMPLES, Example
from qa_scoring.app.handlers import Report, shown
from qa_scoring.app.tabs import parts
from qa_scoring.report.plots import squad_figures, threshold_line

CSS = """
.qa-plots {display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); gap: .75rem}
img.qa-plot {display: block; width: 100%; height: auto; margin: 0 !important}
.dark img.qa-plot {filter: invert(.93) hue-rotate(180deg)}
#tau-slider .tab-like-container {display: none}
#tau-slider span {overflow-wrap: normal}
#tau-plot {position: relative}
#tau-plot .html-container {padding: 0}
#tau-layer, #tau-layer .html-container {position: absolute; inset: 0; pointer-events: none}
#tau-line {position: absolute; margin-left: -1px; border-left: 2px solid var(--body-text-color)}
#tau-line span {padding-left: .25rem; font-weight: 600}
"""
"""The plots follow the theme, and the line that marks τ lies over its plot."""


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

    def work(report: Report) -> tuple[thresholds.Sweep, dict[str, str]]:
        sweep = thresholds.score(thresholds.read(None if source == parts.FILES else pasted, uploads), settings, report)
        return sweep, {name: _picture(figure) for name, figure in report("drawing", squad_figures(sweep.rows).items())}

    sweep, pictures = yield from parts.progress(work, 14)
    tau = sweep.best["best_f1_thresh"]
    yield (
        parts.status(f"Done; rows scored: {len(sweep.rows):,}."),
        sweep,
        gr.update(minimum=sweep.low, maximum=sweep.high, step=sweep.step, value=tau, interactive=True),
        gr.update(value=tau, interactive=True),
        thresholds.best_in_words(sweep),
        pictures.pop("scores_by_threshold"),
        f'<div class="qa-plots">{"".join(pictures.values())}</div>',
        gr.update(visible=sweep.run.given.from_table),
        *at(sweep, tau),
    )


@shown
def at(sweep: thresholds.Sweep | None, tau: float | None) -> tuple[Any, ...]:
    """Return the figures at a threshold, of the rows this session scored; nothing is scored again.

    Args:
        sweep: What this session scored.
        tau: No-answer values strictly above it count as an empty answer; any finite number.

    Returns:
        The figures in words, as rows of the table, and as plain values; the place of τ in the plot; and the calls that
        give the figures.
    """
    sweep = parts.needed(sweep, "score")
    figures = thresholds.figures_at(sweep, tau)
    return (
        parts.status(thresholds.in_words(figures)),
        thresholds.figures_table(figures),
        figures,
        _line(sweep, figures["no_answer_threshold"]),
        figures["signature"],
        *thresholds.calls_at(sweep, tau),
    )


@shown
def from_number(sweep: thresholds.Sweep | None, tau: float | None) -> tuple[Any, ...]:
    """Return the figures at a threshold that was typed, and where the slider stands.

    Args:
        sweep: What this session scored.
        tau: Any finite number.

    Returns:
        The value of the slider, then as ``at``.
    """
    found = at(sweep, tau)
    return thresholds.on_slider(parts.needed(sweep, "score"), found[2]["no_answer_threshold"]), *found


@shown
def while_typing(sweep: thresholds.Sweep | None, tau: float | None) -> Any:
    """Do as ``from_number``, but wait while the box is empty.

    Args:
        sweep: What this session scored.
        tau: Any finite number; None for an empty box.

    Returns:
        As ``from_number``, or nothing new.
    """
    return from_number(sweep, tau) if tau is not None else gr.skip()


@shown
def best(score_name: str, sweep: thresholds.Sweep | None) -> tuple[Any, ...]:
    """Return the threshold of the best EM or F1, and the figures there.

    Args:
        score_name: ``"exact"`` or ``"f1"``.
        sweep: What this session scored.

    Returns:
        The threshold twice, for the slider and the box, then as ``at``.
    """
    tau = parts.needed(sweep, "score").best[f"best_{score_name}_thresh"]
    return tau, tau, *at(sweep, tau)


@shown
def write_table(sweep: thresholds.Sweep | None) -> Iterator[str]:
    """Write the pasted rows as the file that the calls name.

    Args:
        sweep: What this session scored.

    Yields:
        The file, once.
    """
    with tempfile.TemporaryDirectory() as folder:  # gradio copies what it serves, and deletes its copies later
        yield str(thresholds.write_table(parts.needed(sweep, "score"), Path(folder)))


def _picture(figure: Figure) -> str:
    """Return a plot as a picture whose alternative text is its title, which gradio's own plots do not have."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=120)
    title = html.escape(" ".join(figure.axes[0].get_title().replace("\n", ": ").split()))
    data = base64.b64encode(png.getvalue()).decode()
    return f'<img class="qa-plot" alt="{title}" src="data:image/png;base64,{data}">'


def _line(sweep: thresholds.Sweep, tau: float) -> str:
    """Return the line that marks τ in the plot of EM and F1; the words beside say the same to screen readers."""
    left, top, height = (f"{100.0 * share:.2f}%" for share in threshold_line(sweep.curves, tau))
    style = f"left: {left}; top: {top}; height: {height}"
    return f'<div id="tau-line" style="{style}" aria-hidden="true"><span>τ</span></div>'


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
    status = gr.HTML(parts.status(""), label="Progress")

    gr.Markdown("## Figures at a threshold")
    with gr.Row():
        slider = gr.Slider(
            0,
            1,
            value=1,
            step=0.001,
            label="Threshold τ",
            interactive=False,
            buttons=[],
            scale=3,
            min_width=320,
            elem_id="tau-slider",
        )
        number = gr.Number(1, label="τ exactly", interactive=False, min_width=160, step=None)
    said = gr.HTML(parts.status(""), label="In words")
    with gr.Row():
        with gr.Column(min_width=300):
            figures = gr.Dataframe(
                headers=["questions", "total", "EM", "F1"],
                type="array",
                datatype="str",
                interactive=False,
                label="EM and F1 in percent, at τ",
            )
            best_words = gr.Markdown(label="Best thresholds")
            with gr.Row():
                to_best = {
                    name: gr.Button(f"Go to the best {label}", size="sm", min_width=120)
                    for name, label in (("exact", "EM"), ("f1", "F1"))
                }
        with gr.Column(min_width=300, elem_id="tau-plot"):
            plot = gr.HTML(label="EM and F1 by threshold")
            line = gr.HTML(label="Place of τ in the plot", elem_id="tau-layer")
    with gr.Accordion("Signature, and the same figures from Python and the command line", open=False):
        signature = gr.Textbox(label="Signature", lines=1, max_lines=6, buttons=["copy"])
        python = gr.Code(label="Python", language="python", wrap_lines=True)
        command = gr.Code(label="Command line", language="shell", wrap_lines=True)
        with gr.Column(visible=False) as pasted_file:
            make = gr.Button(f"Make {inputs.TABLE_FILE} from the pasted rows", size="sm")
            made = gr.File(label="The pasted rows, as the calls read them", interactive=False, height=90)
        result = gr.JSON(label="Result", max_height=400)
    gr.Markdown("## Curves and histograms")
    curves = gr.HTML(label="Curves and histograms")

    shown_at = [said, figures, result, line, signature, python, command]
    event = start.click(
        score,
        [source, pasted, uploads, *chosen],
        [status, sweep, slider, number, best_words, plot, curves, pasted_file, *shown_at],
        api_name="threshold_score",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=[status],
    )
    event.success(lambda: None, None, made, api_visibility="private")
    cancel.click(
        lambda: parts.status("Cancelled."), None, status, cancels=[event], api_visibility="private", queue=False
    )
    # Input, not change: the figures at a value the page has set come with it.
    quietly: dict[str, Any] = {"show_progress": "hidden", "trigger_mode": "always_last"}
    slider.input(
        lambda sweep, tau: (tau, *at(sweep, tau)),
        [sweep, slider],
        [number, *shown_at],
        api_visibility="private",
        **quietly,
    )
    number.input(while_typing, [sweep, number], [slider, *shown_at], api_visibility="private", **quietly)
    number.submit(from_number, [sweep, number], [slider, *shown_at], api_name="threshold_at", **quietly)
    for name, button in to_best.items():
        button.click(
            partial(best, name),
            sweep,
            [slider, number, *shown_at],
            api_name=f"threshold_best_{name}",
            api_description=f"Return the threshold of the best {name}, and the figures there.",
            show_progress="hidden",
        )
    make.click(write_table, sweep, made, api_name="threshold_pasted_rows")
