"""The tab that shows a text's tokens under each tokenizer."""

from __future__ import annotations

import dataclasses
from typing import Any

import gradio as gr

from qa_scoring.app.handlers import shown
from qa_scoring.app.one_answer import EXAMPLES
from qa_scoring.app.tokenizing import CHARACTERS, LANGUAGE_CHOICES, tokenize_text
from qa_scoring.app.views import tokenizer_table
from qa_scoring.text.languages import find_language


@shown
def tokenize(text: str, language: str, normalization: str = "squad") -> tuple[str, list[dict[str, Any]]]:
    """Tokenize a text with every tokenizer that is installed.

    Args:
        text: The text.
        language: Code of the language.
        normalization: "squad" or "unicode", which runs first, as it does in scoring.

    Returns:
        The tokens as HTML and as JSON, the language's default tokenizer first.
    """
    rows = tokenize_text(text, language, normalization)
    return tokenizer_table(rows, language), [dataclasses.asdict(row) for row in rows]


def add() -> None:
    """Add the tab's content to the page that is being built."""
    gr.Markdown(
        "Token F1 counts tokens, and what a token is depends on the language. The text is normalised as in scoring, "
        f"then every tokenizer splits it. Limit: {CHARACTERS:,} characters. Nothing you enter is kept."
    )
    text = gr.Textbox(label="Text", lines=3, max_length=CHARACTERS, elem_classes="qa-input")
    with gr.Row():
        language = gr.Dropdown(LANGUAGE_CHOICES, value="en", label="Language")
        normalization = gr.Radio(["squad", "unicode"], value="squad", label="Normalisation")
    button = gr.Button("Tokenize", variant="primary")
    table = gr.HTML("", label="Tokens under each tokenizer", apply_default_css=False)
    with gr.Accordion("As JSON", open=False):
        rows = gr.JSON(label="As JSON")
    inputs, outputs = [text, language, normalization], [table, rows]
    button.click(tokenize, inputs, outputs, api_name="tokenize")
    gr.Examples(
        [[find_language(code).sample, code, "squad"] for *_, code in EXAMPLES.values()],
        inputs,
        outputs,
        tokenize,
        cache_examples=False,
        run_on_click=True,
        example_labels=list(EXAMPLES),
        api_name="tokenize_example",
    )
