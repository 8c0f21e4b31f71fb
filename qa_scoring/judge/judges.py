"""What all judges are: scorers of question, answer and reference that say when an answer is correct, and rerank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from qa_scoring.encoders.scorers import Keep, Progress, Scorer, Scores, Texts, score_distinct
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.judge.inputs import item
from qa_scoring.signature import Value


class Judge(Scorer[Texts], Protocol):
    """A scorer of items, as ``qa_scoring.judge.inputs.item`` puts them together."""

    facts: Mapping[str, Value]
    """What changes a score, for signatures."""
    reads_questions: bool
    """Whether a score depends on the question."""
    reads_all_references: bool
    """Whether an item holds all references of a question, or one."""
    threshold: float
    """An answer with at least this probability is correct."""

    def score(self, items: Sequence[Texts], /, progress: Progress, keep: Keep = ...) -> Scores:
        """Give every item the probability that its answer is correct."""
        ...


class Reranks:
    """Gives a judge the method ``rerank``."""

    def rerank(self: Judge, question: str, reference: str, candidates: Sequence[str]) -> list[tuple[int, float]]:
        """Order candidates by the probability that they are correct: see ``rerank``."""
        return rerank(self, question, reference, candidates)


def rerank(
    judge: Scorer[Texts], question: str, reference: str | Sequence[str], candidates: Sequence[str]
) -> list[tuple[int, float]]:
    """Order candidate answers by the probability that they are correct: open-domain answers picked by a reference.

    Args:
        judge: A judge.
        question: The question.
        reference: A correct answer; or several, for a judge that reads them together.
        candidates: n answers; a blank one has probability 0.

    Returns:
        n places among the candidates and their probabilities, best first, equal ones in the order given.

    Raises:
        InputError: A text is no text, the question is blank although the judge reads it, or there is no reference.

    Source:
        Vu & Moschitti 2021, section 1: "reranking" by a reference.
    """
    references = [reference] if isinstance(reference, str) else list(reference)
    if not references or any(not isinstance(text, str) or not text.strip() for text in references):
        raise parameter_error("reference", "a text that is not blank", reference)
    if not isinstance(question, str):
        raise parameter_error("question", "a text", question)
    if getattr(judge, "reads_questions", False) and not question.strip():
        raise InputError("This judge reads the question; got a blank one.")
    if isinstance(candidates, str) or any(not isinstance(text, str) for text in candidates):
        raise parameter_error("candidates", "a list of texts", candidates)
    places = [place for place, text in enumerate(candidates) if text.strip()]
    scored = score_distinct(judge, [item(question, candidates[place], references) for place in places])
    probability = dict.fromkeys(range(len(candidates)), 0.0) | dict(zip(places, scored.scores.tolist(), strict=True))
    return sorted(probability.items(), key=lambda pair: -pair[1])
