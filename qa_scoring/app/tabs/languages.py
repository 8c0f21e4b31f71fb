"""The tab that shows a text's tokens under each tokenizer."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import gradio as gr

from qa_scoring.app import limits
from qa_scoring.app.examples import EXAMPLES
from qa_scoring.app.handlers import shown
from qa_scoring.app.tabs import parts
from qa_scoring.app.tokenizing import tokenize_text
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


@shown
def tokenize_example(name: str, normalization: str) -> tuple[Any, ...]:
    """Return the sample of an example's language, and its tokens.

    Args:
        name: The example's name on the page.
        normalization: As ``tokenize`` takes it.

    Returns:
        The text and its language, and what ``tokenize`` gives.
    """
    code = EXAMPLES[name].language
    sample = find_language(code).sample
    return sample, code, *tokenize(sample, code, normalization)


def add() -> None:
    """Add the tab's content to the page that is being built."""
    gr.Markdown(
        "## The tokens of a text\nToken F1 counts tokens, and what a token is depends on the language. The text is "
        "normalised as in scoring, then every tokenizer splits it. Nothing you enter is kept. "
        f"Limit: {limits.TOKENIZED_CHARACTERS:,} characters."
    )
    examples = parts.example_buttons()
    text = gr.Textbox(label="Text", lines=3, max_length=limits.TOKENIZED_CHARACTERS, elem_classes="texts")
    with gr.Row():
        language = parts.language_box()
        normalization = gr.Radio(["squad", "unicode"], value="squad", label="Normalisation")
    button = gr.Button("Tokenize", variant="primary")
    table = gr.HTML("", label="Tokens under each tokenizer", apply_default_css=False)
    with gr.Accordion("As JSON", open=False):
        rows = gr.JSON(label="As JSON")
    button.click(tokenize, [text, language, normalization], [table, rows], api_name="tokenize")
    for name, example in examples.items():
        example.click(
            partial(tokenize_example, name), normalization, [text, language, table, rows], api_visibility="private"
        )
