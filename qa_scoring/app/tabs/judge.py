"""The tab that judges one answer."""

from __future__ import annotations

import html
from functools import partial
from typing import Any

import gradio as gr

from qa_scoring.app import limits
from qa_scoring.app.examples import EXAMPLES
from qa_scoring.app.handlers import shown
from qa_scoring.app.one_answer import judge_one
from qa_scoring.app.tabs import parts
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


@shown
def judge_example(name: str, any_language: bool) -> tuple[Any, ...]:
    """Return the first question of an example, and what the metrics say of its answer.

    Args:
        name: Its name on the page.
        any_language: As ``judge`` takes it.

    Returns:
        Question, references, answer and language, and what ``judge`` gives.
    """
    example = EXAMPLES[name]
    row = example.rows[0]
    entered = (row.question, "\n".join(row.references), row.prediction, example.language)
    return *entered, *judge(*entered, any_language)


def add() -> None:
    """Add the tab's content to the page that is being built."""
    gr.Markdown(
        "## One answer under all metrics\nNothing you enter is kept. "
        f"Limits: {limits.ANSWER_CHARACTERS:,} characters for each box, {limits.REFERENCES} references."
    )
    examples = parts.example_buttons()
    longest = limits.ANSWER_CHARACTERS
    with gr.Row():
        with gr.Column():
            question = gr.Textbox(label="Question", lines=2, max_length=longest, elem_classes="texts")
            references = gr.Textbox(
                label="References",
                info="One per line; leave empty if the question has no answer.",
                lines=3,
                max_length=longest,
                elem_classes="texts",
            )
        with gr.Column():
            answer = gr.Textbox(label="Answer", lines=2, max_length=longest, elem_classes="texts")
            language = parts.language_box()
            any_language = gr.Checkbox(
                label="Ask SAS and AVA about other languages, too", info="Their embedded models learned English."
            )
    button = gr.Button("Judge", variant="primary")
    cards = gr.HTML("", label="Scores", html_template='<div role="status">${value}</div>', apply_default_css=False)
    tokens = gr.HTML("", label="Tokens", apply_default_css=False)
    with gr.Accordion("As JSON", open=False):
        figures = gr.JSON(label="As JSON")
    entered, results = [question, references, answer, language], [cards, tokens, figures]
    button.click(judge, [*entered, any_language], results, api_name="judge")
    for name, example in examples.items():
        example.click(partial(judge_example, name), any_language, [*entered, *results], api_visibility="private")
