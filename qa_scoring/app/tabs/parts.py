"""Parts that several tabs have: the line that says how far the work is, settings, and boxes for files."""

from __future__ import annotations

import html
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import gradio as gr

from qa_scoring.app import inputs, scoring
from qa_scoring.app.examples import EXAMPLES, Example
from qa_scoring.app.handlers import Report, shown, watch
from qa_scoring.errors import InputError
from qa_scoring.text.languages import LANGUAGES
from qa_scoring.text.tokenizers import TOKENIZER_NAMES

PASTED, FILES = "Pasted rows", "Uploaded files"
OWN_TOKENIZER = "of the language"
STATE_SECONDS = 3600

Result = TypeVar("Result")
Uploads = dict[str, inputs.Upload]


def status(text: str) -> str:
    """Return a line that screen readers say when it changes.

    Args:
        text: What it says.

    Returns:
        HTML.

    Example:
        >>> status("1 < 2")
        '<p role="status" aria-live="polite">1 &lt; 2</p>'
    """
    return f'<p role="status" aria-live="polite">{html.escape(text)}</p>'


def progress(work: Callable[[Report], Result], others: int) -> Generator[tuple[Any, ...], None, Result]:
    """Do work in a thread, as ``handlers.watch`` does, for an action whose first output is the status line.

    Args:
        work: Takes a function that wraps its loops.
        others: How many outputs the action has besides.

    Yields:
        The outputs of the action: what is being done, and nothing new.

    Returns:
        What the work returned.
    """
    with closing(watch(work)) as steps:
        while True:
            try:
                said = next(steps)
            except StopIteration as finished:
                result: Result = finished.value
                return result
            yield (status(said), *(gr.skip() for _ in range(others)))


def needed(made: Result | None, action: str) -> Result:
    """Return what a session has made, or refuse.

    Args:
        made: What was made; None for nothing yet.
        action: What makes it.

    Returns:
        What was made.

    Raises:
        InputError: It was not made yet.

    Example:
        >>> needed("figures", "score")
        'figures'
    """
    if made is None:
        raise InputError(f"There is nothing to show yet: {action} first.")
    return made


def example_buttons() -> dict[str, gr.Button]:
    """Build a row of buttons, one per example.

    Returns:
        Name of the example → button.
    """
    with gr.Row(elem_classes="examples"):
        return {name: gr.Button(name, size="sm", min_width=110) for name in EXAMPLES}


def fill_pasted(
    buttons: Mapping[str, gr.Button],
    text: Callable[[Example], str],
    pasted: gr.Textbox,
    language: gr.Dropdown,
    source: gr.Radio,
) -> None:
    """Let the buttons put an example where lines are pasted, and choose its language and the pasted lines.

    Args:
        buttons: Of ``example_buttons``.
        text: Makes the lines of an example.
        pasted: Where they go.
        language: The choice of a language.
        source: Says whether files or pasted lines are used.
    """
    for name, button in buttons.items():
        values = (text(EXAMPLES[name]), EXAMPLES[name].language, PASTED)
        button.click(partial(tuple, values), None, [pasted, language, source], api_visibility="private")


def language_box() -> gr.Dropdown:
    """Build the choice of a language, by name.

    Returns:
        The box; its value is a registry code.
    """
    box = gr.Dropdown(
        sorted((f"{row.name.capitalize()} ({row.code})", row.code) for row in LANGUAGES),
        value="en",
        label="Language",
        info="Type to search.",
    )
    box.focus(
        None, js="() => document.activeElement.select()", api_visibility="private"
    )  # else typing adds to the name
    return box


def metric_choices() -> list[tuple[str, str]]:
    """Return the metrics as a choice takes them: what the page calls them, and their names."""
    return [(label, name) for name, label in scoring.LABELS.items()]


def settings_boxes() -> list[Any]:
    """Build the choices of how EM and F1 are scored.

    Returns:
        The boxes, in the order of the arguments of ``settings``.
    """
    with gr.Row():
        language = language_box()
        missing = gr.Checkbox(False, label="Questions without a prediction score 0")
    with gr.Accordion("More settings", open=False), gr.Row():
        tokenizer = gr.Dropdown([OWN_TOKENIZER, *TOKENIZER_NAMES], value=OWN_TOKENIZER, label="Tokenizer")
        normalization = gr.Dropdown(["squad", "unicode"], value="squad", label="Normalisation")
    return [language, missing, tokenizer, normalization]


def settings(language: str, missing_is_zero: bool, tokenizer: str, normalization: str) -> scoring.Settings:
    """Return the settings that were chosen.

    Args:
        language: Registry code.
        missing_is_zero: Whether questions without a prediction score 0.
        tokenizer: A tokenizer's name, or ``OWN_TOKENIZER``.
        normalization: ``"squad"`` or ``"unicode"``.

    Returns:
        The settings, for EM and F1 without intervals.

    Example:
        >>> settings("de", False, OWN_TOKENIZER, "squad").tokenizer is None
        True
    """
    return scoring.Settings(
        language=language,
        tokenizer=None if tokenizer == OWN_TOKENIZER else tokenizer,
        normalization=normalization,
        intervals=False,
        missing="score_zero" if missing_is_zero else "error",
    )


def file_boxes(sides: Mapping[str, inputs.Side], source: gr.Radio, api_prefix: str) -> gr.State:
    """Build boxes for files, one after the other in a row, with the list of what is uploaded.

    Args:
        sides: Name of the box → what is uploaded there.
        source: Says whether files or pasted rows are used; an upload chooses the files.
        api_prefix: What the names of the actions begin with.

    Returns:
        The uploads of the session: name of the box → upload.
    """
    uploads = gr.State({}, time_to_live=STATE_SECONDS)
    with gr.Row():
        boxes = {name: gr.File(label=name, height=140) for name in sides}
    said = gr.HTML(uploaded({}), label="Uploaded files")
    forget = gr.Button("Forget the files", size="sm")
    for name, box in boxes.items():
        reading = box.upload(
            _upload_action(name, sides[name]),
            [box, uploads],
            [box, uploads, said, source],
            api_name=f"{api_prefix}_upload_{name.lower().replace('-', '_').replace(' ', '_')}",
            api_description=f"Upload {name} for this session; the file is deleted as soon as it is read.",
            show_progress="hidden",  # an error would cover the controls that come back from here
        )
        free_after_refusal(reading, box)
    forget.click(
        lambda: ({}, uploaded({}), PASTED),
        None,
        [uploads, said, source],
        api_name=f"{api_prefix}_forget_files",
        api_description="Forget the uploaded files.",
    )
    return uploads


def free_after_refusal(reading: Any, box: gr.File) -> None:
    """Empty a box whose file was refused, so that it takes the next one.

    Args:
        reading: The event that reads the file.
        box: The box.
    """
    reading.failure(lambda: None, None, box, api_visibility="private", show_progress="hidden")


def _upload_action(name: str, side: inputs.Side) -> Callable[..., Any]:
    @shown
    def upload(path: str | None, uploads: Uploads) -> tuple[None, Uploads, str, str]:
        if path is None:
            raise InputError("There is no file.")
        uploads = {**uploads, name: inputs.read_upload(path, Path(path).name, side)}
        return None, uploads, uploaded(uploads), FILES

    return upload


def uploaded(uploads: Mapping[Any, inputs.Upload]) -> str:
    """List what a session has uploaded.

    Args:
        uploads: What it is → upload.

    Returns:
        HTML.
    """
    if not uploads:
        return "No file is uploaded."
    items = (
        f"<li>{html.escape(name.replace('_', '-'))}: <bdi>{html.escape(upload.name)}</bdi>, "
        f"{len(upload.content):,} rows</li>"
        for name, upload in uploads.items()
    )
    return f"<ul>{''.join(items)}</ul>"
