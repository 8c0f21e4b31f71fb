"""The tab that scores: pasted rows or uploaded files, figures, the table of rows, downloads, the same calls."""

from __future__ import annotations

import html
import math
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from qa_scoring.app import inputs, limits, scoring, views
from qa_scoring.app.examples import EXAMPLES
from qa_scoring.app.handlers import Report, shown
from qa_scoring.app.tabs import parts
from qa_scoring.errors import InputError
from qa_scoring.text.languages import find_language
from qa_scoring.text.tokenizers import TOKENIZER_NAMES

TABLE, FILES = "Rows of the table", "Uploaded files"
NO_FILTER = "none"
_SORTS = ["row", "exact", "f1", "sas", "ava_score", "no_answer", "id", "prediction", "group"]
_FORMAT = (
    'One row per question. Several references: a JSON list such as `["Köln", "Stadt Köln"]`; no reference: a '
    "question without an answer. An empty prediction counts as the answer that there is none. `id`, `question`, "
    "`group` and `no_answer` (higher is surer that there is no answer) may stay empty; the judge needs the question."
)

Uploads = dict[inputs.Side, inputs.Upload]


# --------------------------------------------------------------------------------------- actions


@shown
def fill_table(text: str) -> tuple[list[list[str]], str]:
    """Turn pasted lines into rows of the table, which replace those that are there.

    Args:
        text: As ``inputs.parse_pasted`` takes it.

    Returns:
        The rows, and what is to be scored.
    """
    return inputs.parse_pasted(text), TABLE


@shown
def load_example(name: str) -> tuple[list[list[str]], str, str]:
    """Return the rows and the language of one of the examples.

    Args:
        name: Its name on the page.

    Returns:
        The rows, the language's code, and what is to be scored.
    """
    if name not in EXAMPLES:
        raise InputError(f"There is no example {name!r}; there are {', '.join(EXAMPLES)}.")
    return EXAMPLES[name].table(), EXAMPLES[name].language, TABLE


def _upload_action(side: inputs.Side) -> Any:
    @shown
    def upload(path: str | None, uploads: Uploads) -> tuple[Any, Uploads, str, str, Any]:
        if path is None:
            raise InputError("There is no file.")
        read = inputs.read_upload(path, Path(path).name, side)
        uploads = {**uploads, side: read}
        groups = gr.skip()
        if side == "references":
            groups = gr.update(choices=inputs.group_columns(read.content), value=[])
        return None, uploads, parts.uploaded(uploads), FILES, groups

    return upload


@shown
def forget_files() -> tuple[Uploads, str, str, Any]:
    """Forget the uploaded files."""
    return {}, parts.uploaded({}), TABLE, gr.update(choices=["group"], value=[])


@shown
def score(
    source: str,
    table: list[list[Any]],
    uploads: Uploads,
    metrics: list[str],
    language: str,
    tokenizer: str,
    normalization: str,
    no_answer_threshold: float,
    group_by: list[str],
    intervals: bool,
    missing_is_zero: bool,
) -> Iterator[tuple[Any, ...]]:
    """Score the table or the uploaded files; says how far it is, then gives the figures.

    Args:
        source: ``TABLE`` or ``FILES``.
        table: Rows of cells, in the order of ``inputs.COLUMNS``.
        uploads: The session's files.
        metrics: Names of ``qa_scoring.METRICS``.
        language: Code, name or tag.
        tokenizer: A name, or ``parts.OWN_TOKENIZER``.
        normalization: ``"squad"`` or ``"unicode"``.
        no_answer_threshold: No-answer values above it count as an empty answer.
        group_by: Columns of the references.
        intervals: Whether to add intervals.
        missing_is_zero: Whether questions without a prediction score 0.

    Yields:
        Status, run, figures, result, signatures, Python, command lines, first page of rows, and which they are.
    """
    given = inputs.from_uploads(uploads) if source == FILES else inputs.from_table(table)
    if no_answer_threshold is None:
        raise InputError("The no-answer threshold is empty; 1 leaves probabilities as they are.")
    settings = scoring.Settings(
        metrics=metrics,
        language=language,
        tokenizer=None if tokenizer == parts.OWN_TOKENIZER else tokenizer,
        normalization=normalization,
        no_answer_threshold=no_answer_threshold,
        group_by=group_by,
        intervals=intervals,
        missing="score_zero" if missing_is_zero else "error",
    )

    def work(report: Report) -> scoring.Run:
        return scoring.score(given, settings, report)

    run = yield from parts.progress(work, 8)
    headers, figures = scoring.figures_table(run)
    yield (
        parts.status(" ".join([f"Done; rows scored: {len(run):,}.", *run.notes])),
        run,
        {"headers": headers, "data": figures},
        scoring.results(run),
        "\n".join(str(one.signature) for one in run.scored.values()),
        "\n".join(scoring.python_call(run, name) for name in run.scored),
        "\n".join(scoring.command_line(run, name) for name in run.scored),
        *_page(run),
    )


def _page(
    run: scoring.Run,
    filters: Sequence[scoring.Filter] = (),
    sort_by: str = "row",
    descending: bool = False,
    page: float = 1,
) -> tuple[dict[str, Any], str]:
    order = scoring.choose_rows(run, filters, sort_by, descending)
    pages = max(1, math.ceil(len(order) / limits.PAGE_ROWS))
    number = min(max(1, int(page)), pages)
    cells = scoring.page_of_rows(run, order, number)
    said = f"Page {number} of {pages}: {len(order):,} of {len(run):,} rows."
    return {"headers": list(run.columns), "data": cells}, said


@shown
def show_rows(
    run: scoring.Run | None,
    ready: str,
    column_1: str,
    comparison_1: str,
    value_1: float | None,
    column_2: str,
    comparison_2: str,
    value_2: float | None,
    sort_by: str,
    descending: bool,
    page: float | None,
) -> tuple[dict[str, Any], str]:
    """Show one page of the rows that meet the conditions.

    Args:
        run: The session's last run.
        ready: A name of ``scoring.READY_FILTERS``, or ``NO_FILTER``.
        column_1: A column of ``scoring.NUMBERS``, or ``NO_FILTER``.
        comparison_1: One of ``scoring.COMPARISONS``.
        value_1: What to compare with.
        column_2: A second condition, which must hold too.
        comparison_2: As the first.
        value_2: As the first.
        sort_by: A column.
        descending: Whether from high to low.
        page: From 1; the last one where there are fewer.

    Returns:
        The rows, and which they are.
    """
    filters = list(scoring.READY_FILTERS.get(ready, ()))
    for column, comparison, value in ((column_1, comparison_1, value_1), (column_2, comparison_2, value_2)):
        if column != NO_FILTER:
            if value is None:
                raise InputError(f"The filter on {column} has no value.")
            filters.append(scoring.Filter(column, comparison, value))
    return _page(parts.needed(run, "score"), filters, sort_by, descending, page or 1)


def _first_page(run: scoring.Run | None, ready: str, *rest: Any) -> Any:
    """Show the first page of what was chosen, or wait while the value of a condition is being typed."""
    conditions = (rest[:3], rest[3:6])
    if any(column != NO_FILTER and value is None for column, _, value in conditions):
        return gr.skip()
    return *show_rows(run, ready, *rest, 1), 1


@shown
def open_row(run: scoring.Run | None, row: float | None) -> str:
    """Return what is known of one row, by its number in the column ``row``.

    Args:
        run: The session's last run.
        row: From 1.

    Returns:
        HTML.
    """
    run = parts.needed(run, "score")
    detail = scoring.row_detail(run, int(row or 0))
    language = find_language(run.settings.language).code
    question = detail.get("question")
    heading = f'<p class="qa-text" dir="auto" lang="{language}">{html.escape(question)}</p>' if question else ""
    cards = views.score_cards(scoring.row_cards(run, detail["row"]))
    return f"<h3>Row {detail['row']}</h3>{heading}{cards}{views.example_details(detail, language)}"


@shown
def open_selected(run: scoring.Run | None, event: gr.SelectData) -> tuple[int, str]:
    """Open the row that was selected in the table.

    Args:
        run: The session's last run.
        event: What was selected.

    Returns:
        The row's number, and HTML.
    """
    row = int(event.row_value[0])
    return row, open_row(run, row)


@shown
def download(run: scoring.Run | None) -> Iterator[list[str]]:
    """Write the rows of every metric as JSON Lines and Parquet, and the figures as JSON.

    Args:
        run: The session's last run.

    Yields:
        The files, once.
    """
    with tempfile.TemporaryDirectory() as folder:  # gradio copies what it serves, and deletes its copies later
        yield [str(path) for path in scoring.write_downloads(parts.needed(run, "score"), Path(folder))]


# ----------------------------------------------------------------------------------------- page


def add() -> None:
    """Build the tab inside the Blocks that are open."""
    uploads = gr.State({}, time_to_live=parts.STATE_SECONDS)
    run = gr.State(None, time_to_live=parts.STATE_SECONDS)

    gr.Markdown("## What to score")
    source = gr.Radio([TABLE, FILES], value=TABLE, label="Score")
    examples = parts.example_buttons()
    table = gr.Dataframe(
        headers=list(inputs.COLUMNS),
        value=EXAMPLES["English"].table(),
        type="array",
        datatype="str",
        column_count=len(inputs.COLUMNS),
        row_count=1,
        interactive=True,
        wrap=True,
        max_height=400,
        label="Rows",
        elem_classes="texts",
    )
    gr.Markdown(_FORMAT)
    with gr.Accordion("Paste rows", open=False):
        pasted = gr.Textbox(
            lines=5,
            max_lines=10,
            label="Rows from a spreadsheet, CSV or JSON Lines",
            info="With a line of column names, or: prediction, references; or: question, prediction, references.",
            elem_classes="texts",
        )
        fill = gr.Button("Put them into the table")
    with gr.Accordion("Upload files", open=False):
        gr.Markdown(
            "Predictions: JSON `{id: text}`, or rows with `prediction_text`. References: SQuAD JSON, or rows with "
            "`answers`. No-answer values (optional): JSON `{id: number}`. JSON, JSON Lines, CSV, TSV, Parquet. "
            + limits.TEXT
        )
        with gr.Row():
            boxes: dict[inputs.Side, gr.File] = {
                "predictions": gr.File(label="Predictions", height=140),
                "references": gr.File(label="References", height=140),
                "no_answer": gr.File(label="No-answer values", height=140),
            }
        uploaded = gr.HTML(parts.uploaded({}), label="Uploaded files")
        forget = gr.Button("Forget the files", size="sm")

    gr.Markdown("## How to score")
    with gr.Row():
        metrics = gr.CheckboxGroup(parts.metric_choices(), value=["m2qa_squad_v2"], label="Metrics", min_width=320)
        language = parts.language_box()
    with gr.Accordion("More settings", open=False):
        with gr.Row():
            tokenizer = gr.Dropdown(
                [parts.OWN_TOKENIZER, *TOKENIZER_NAMES], value=parts.OWN_TOKENIZER, label="Tokenizer (EM, F1)"
            )
            normalization = gr.Dropdown(["squad", "unicode"], value="squad", label="Normalisation (EM, F1)")
            threshold = gr.Number(
                1.0, label="No-answer threshold (EM, F1)", info="No-answer values above it count as an empty answer."
            )
        with gr.Row():
            group_by = gr.Dropdown(
                ["group"], value=[], multiselect=True, allow_custom_value=True, label="Group by columns"
            )
            intervals = gr.Checkbox(True, label="95 % intervals")
            missing = gr.Checkbox(False, label="Questions without a prediction score 0")
    with gr.Row():
        start = gr.Button("Score", variant="primary")
        cancel = gr.Button("Cancel")
    status = gr.HTML(parts.status(""), label="Progress", elem_id="score-status")

    gr.Markdown("## Figures")
    figures = gr.Dataframe(
        headers=["group", "questions", "total", "exact", "f1"],
        label="EM and F1 in percent; SAS and AVA from 0 to 1",
        interactive=False,
        wrap=True,
    )
    with gr.Accordion("Signature, and the same figures from Python and the command line", open=False):
        signature = gr.Textbox(label="Signature", lines=1, max_lines=6, buttons=["copy"])
        python = gr.Code(label="Python", language="python", wrap_lines=True)
        command = gr.Code(label="Command line", language="shell", wrap_lines=True)
        result = gr.JSON(label="Result", max_height=400)
    with gr.Accordion("Downloads", open=False):
        make = gr.Button("Make the files")
        made = gr.File(label="Rows as JSON Lines and Parquet, result as JSON", file_count="multiple", interactive=False)

    gr.Markdown("## Rows")
    columns = [NO_FILTER, *scoring.NUMBERS]
    with gr.Row():
        ready = gr.Dropdown([NO_FILTER, *scoring.READY_FILTERS], value=NO_FILTER, label="Show only")
        sort_by = gr.Dropdown(_SORTS, value="row", label="Sort by")
        descending = gr.Checkbox(False, label="Highest first")
        page = gr.Number(1, precision=0, minimum=1, label=f"Page ({limits.PAGE_ROWS} rows each)")
    conditions: list[Any] = []
    with gr.Accordion("Conditions", open=False):
        for number in (1, 2):
            with gr.Row():
                conditions += [
                    gr.Dropdown(columns, value=NO_FILTER, label=f"Column {number}"),
                    gr.Dropdown(list(scoring.COMPARISONS), value=">", label=f"Comparison {number}"),
                    gr.Number(0.5, label=f"Value {number}"),
                ]
    shown_rows = gr.HTML(parts.status(""), label="Which rows")
    rows = gr.Dataframe(
        headers=["row", "id", "question", "prediction", "references", "exact", "f1"],
        label="Select a row to open it",
        interactive=False,
        wrap=True,
        max_height=600,
        elem_classes="texts",
    )
    with gr.Row():
        row = gr.Number(1, precision=0, minimum=1, label="Row to open")
        opener = gr.Button("Open the row")
    opened = gr.HTML(label="The row", elem_id="opened-row")

    # ------------------------------------------------------------------------------------ events
    fill.click(fill_table, pasted, [table, source], api_name="fill_table")
    for name, button in examples.items():
        button.click(partial(load_example, name), None, [table, language, source], api_visibility="private")
    gr.api(_example, api_name="example")
    for side, box in boxes.items():
        reading = box.upload(
            _upload_action(side),
            [box, uploads],
            [box, uploads, uploaded, source, group_by],
            api_name=f"upload_{side}",
            api_description=f"Upload {side} for this session; the file is deleted as soon as it is read.",
            show_progress="hidden",  # an error would cover the controls that come back from here
        )
        parts.free_after_refusal(reading, box)
    forget.click(forget_files, None, [uploads, uploaded, source, group_by], api_name="forget_files")
    shown_outputs = [rows, shown_rows]
    scoring_event = start.click(
        score,
        [source, table, uploads, metrics, language, tokenizer, normalization, threshold, group_by, intervals, missing],
        [status, run, figures, result, signature, python, command, *shown_outputs],
        api_name="score",
        concurrency_limit=2,
        show_progress="minimal",
        show_progress_on=[status],
    )
    # The rows are those of a new run: what was chosen and opened of the last one goes.
    scoring_event.success(
        lambda: (NO_FILTER, NO_FILTER, NO_FILTER, "row", False, 1, "", None),
        None,
        [ready, conditions[0], conditions[3], sort_by, descending, page, opened, made],
        api_visibility="private",
    )
    cancel.click(
        lambda: parts.status("Cancelled."), None, status, cancels=[scoring_event], api_visibility="private", queue=False
    )
    # What a user chooses, not what is reset above: else one click would draw the rows seven times.
    selection = [run, ready, *conditions, sort_by, descending]
    last: dict[str, Any] = {"trigger_mode": "always_last", "show_progress": "hidden"}  # keys come faster than answers
    page.input(show_rows, [*selection, page], shown_outputs, api_name="rows", **last)
    for control in (ready, *conditions, sort_by, descending):
        control.input(_first_page, selection, [*shown_outputs, page], api_visibility="private", **last)
    opener.click(open_row, [run, row], opened, api_name="open_row")
    rows.select(open_selected, run, [row, opened], api_visibility="private")
    make.click(download, run, made, api_name="download")


def _example(name: str) -> list[list[str]]:
    """Return the rows of one of the examples, by its name on the page."""
    rows: list[list[str]] = load_example(name)[0]
    return rows
