"""The tab that judges one answer."""

from __future__ import annotations

import html
from typing import Any

import gradio as gr

from qa_scoring.app.handlers import shown
from qa_scoring.app.one_answer import CHARACTERS, EXAMPLES, REFERENCES, judge_one
from qa_scoring.app.tokenizing import LANGUAGE_CHOICES
from qa_scoring.app.views import example_details, score_cards


@shown
def judge(
    question: str, references: str, answer: str, language: str, any_language: bool = False
) -> tuple[str, str, dict[str, Any]]:
    """Score one answer by exact match, token F1, SAS and AVA.

    Args:
        question: The question.
        references: One per line; none says that the question has no answer.
        answer: The answer.
        language: Code of the language.
        any_language: Whether SAS and AVA, which ship for English, are also asked about other languages.

    Returns:
        The figures as HTML, the tokens as HTML, and everything as JSON.
    """
    judged = judge_one(question, references, answer, language, any_language=any_language)
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in judged.notes)
    return (
        score_cards(judged.cards()) + notes,
        example_details(judged.detail, judged.language.code),
        judged.figures(),
    )


def add() -> None:
    """Add the tab's content to the page that is being built."""
    gr.Markdown(
        "One answer under all metrics. Nothing you enter is kept. "
        f"Limits: {CHARACTERS:,} characters for each box, {REFERENCES} references."
    )
    with gr.Row():
        with gr.Column():
            question = gr.Textbox(label="Question", lines=2, max_length=CHARACTERS, elem_classes="qa-input")
            references = gr.Textbox(
                label="References",
                info="One per line; leave empty if the question has no answer.",
                lines=3,
                max_length=CHARACTERS,
                elem_classes="qa-input",
            )
        with gr.Column():
            answer = gr.Textbox(label="Answer", lines=2, max_length=CHARACTERS, elem_classes="qa-input")
            language = gr.Dropdown(LANGUAGE_CHOICES, value="en", label="Language")
            any_language = gr.Checkbox(
                label="Ask SAS and AVA about other languages, too", info="Their embedded models learned English."
            )
    button = gr.Button("Judge", variant="primary")
    cards = gr.HTML("", html_template='<div role="status">${value}</div>', apply_default_css=False)
    tokens = gr.HTML("", label="Tokens", apply_default_css=False)
    with gr.Accordion("As JSON", open=False):
        figures = gr.JSON(label="As JSON")
    inputs, outputs = [question, references, answer, language, any_language], [cards, tokens, figures]
    button.click(judge, inputs, outputs, api_name="judge")
    gr.Examples(
        [[*example, False] for example in EXAMPLES.values()],
        inputs,
        outputs,
        judge,
        cache_examples=False,
        run_on_click=True,
        example_labels=list(EXAMPLES),
        api_name="judge_example",
    )
