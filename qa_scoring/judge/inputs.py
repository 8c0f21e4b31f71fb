"""What a judge reads, put together in one place: training, calibration and scoring all call this module.

A judge of the paper's families reads one reference at a time, as one or more pairs of texts. In the names of the pairs
q is the question, r the reference and t the answer that is judged; two letters on one side are two texts, one after the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qa_scoring.encoders.scorers import Texts

PAIRS = {
    "q-r": ("q", "r"),
    "r-t": ("r", "t"),
    "q-t": ("q", "t"),
    "q-rt": ("q", "rt"),
    "r-qt": ("r", "qt"),
    "t-qr": ("t", "qr"),
}
"""The pairs of texts of Vu & Moschitti 2021, sections 5.2 (A0) and 5.3 (A1): name → first side, second side."""


class Triple(NamedTuple):
    """What a judge of one reference reads.

    Args:
        question: The question; blank if the judge does not read it.
        reference: One reference.
        answer: The answer that is judged.
    """

    question: str
    reference: str
    answer: str


def item(question: str, answer: str, references: Sequence[str]) -> Texts:
    """Put together what a judge scores.

    Args:
        question: The question; blank if the judge does not read it.
        answer: The answer that is judged.
        references: One reference, or all of them for a judge that reads them together.

    Returns:
        Question, answer, references.

    Example:
        >>> item("Who?", "Curie", ["Marie Curie"])
        ('Who?', 'Curie', 'Marie Curie')
    """
    return (question, answer, *references)


class Assembled(NamedTuple):
    """Tokens of n inputs.

    Args:
        pairs: Per pair of texts, what the tokenizer gives for n inputs, not padded: ``input_ids``,
            ``attention_mask`` and whatever else the tokenizer has, n lists each.
        truncated: n flags, whether a text was cut.
    """

    pairs: list[dict[str, list[list[int]]]]
    truncated: list[bool]
