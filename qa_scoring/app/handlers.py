"""What the event handlers share: an error is one sentence on the page."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import gradio as gr

from qa_scoring.errors import QAScoringError

P = ParamSpec("P")
R = TypeVar("R")


def sentence(function: Callable[P, R]) -> Callable[P, R]:
    """Make an event handler show an error as its sentence.

    Args:
        function: The handler.

    Returns:
        The handler; the sentence is escaped, as gradio shows messages as HTML.
    """

    @functools.wraps(function)
    def handler(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except QAScoringError as error:
            raise gr.Error(html.escape(str(error), quote=False), print_exception=False) from error

    return handler
