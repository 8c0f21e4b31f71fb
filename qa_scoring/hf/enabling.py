"""Turns the question-answering task of transformers and evaluate on, and off again."""

from __future__ import annotations

from importlib.util import find_spec

from qa_scoring import compat


def enable() -> None:
    """Make ``transformers.pipeline("question-answering")`` and ``evaluate.evaluator("question-answering")`` work.

    Loading a metric of this package calls it. Without transformers or torch there is nothing to enable. What is changed
    in the two libraries, and why, is said in ``qa_scoring.compat``.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        return
    from qa_scoring.hf.evaluator import QuestionAnsweringEvaluator
    from qa_scoring.hf.pipeline import QuestionAnsweringPipeline

    compat.enable_question_answering(QuestionAnsweringPipeline, QuestionAnsweringEvaluator)


def disable() -> None:
    """Take back what ``enable`` changed; pipelines and evaluators that were made stay as they are."""
    compat.disable_question_answering()
