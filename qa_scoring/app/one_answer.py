"""One answer to one question under all three metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qa_scoring.app import limits
from qa_scoring.app.views import Card, answer_card
from qa_scoring.ava import score_ava
from qa_scoring.errors import InputError
from qa_scoring.multilingual_squad import score_multilingual_squad
from qa_scoring.sas import score_sas
from qa_scoring.similarity.models import NAMED_MODELS
from qa_scoring.text.languages import Language, find_language


@dataclass(frozen=True)
class OneAnswer:
    """What the metrics say of one answer.

    Args:
        language: The answer's language.
        detail: Exact match, F1 and what they come from, as ``score_multilingual_squad(details=True)`` gives them.
        sas: Similarity in [0, 1]; None where it is not shown.
        probability: AVA's probability that the answer is correct; None where it is not shown.
        correct: AVA's verdict, likewise.
        threshold: The probability from which on AVA calls an answer correct.
        notes: Sentences: what is not shown, and what to read with care.
        signatures: Of the metrics that ran.
    """

    language: Language
    detail: dict[str, Any]
    sas: float | None
    probability: float | None
    correct: bool | None
    threshold: float | None
    notes: list[str]
    signatures: list[str]

    def figures(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "language": self.language.code,
            "exact": self.detail["exact"],
            "f1": self.detail["f1"],
            "sas": self.sas,
            "ava_score": self.probability,
            "ava_correct": self.correct,
            "ava_threshold": self.threshold,
            "notes": self.notes,
            "signatures": self.signatures,
            "details": self.detail,
        }

    def cards(self) -> list[Card]:
        """Return the four figures as they are shown side by side."""
        judged = self.probability is not None
        verdict = f"probability {self.probability:.3f}; correct from {self.threshold:g} on" if judged else ""
        return [
            answer_card("exact", self.detail["exact"], "equal after normalisation"),
            answer_card("f1", self.detail["f1"], "tokens shared, 0 to 1"),
            answer_card("sas", self.sas, "closeness in meaning, 0 to 1"),
            answer_card("ava_accuracy", self.correct, verdict),
        ]


def judge_one(question: str, references: str, answer: str, language: str, *, any_language: bool = False) -> OneAnswer:
    """Score one answer by exact match, F1, SAS and AVA.

    Args:
        question: The question; AVA reads it.
        references: One per line; none says that the question has no answer.
        answer: The answer; an empty one says that there is none.
        language: Code, name or tag.
        any_language: Whether SAS and AVA, which ship for English, are also asked about other languages.

    Returns:
        The figures, and what they come from.

    Raises:
        InputError: A text is too long or no text, there are too many references, or the language is unknown.
        MissingPackageError: The language's tokenizer, or what the models need, is not installed.

    Example:
        >>> judge_one("", "Köln", "in Köln", "de").detail["f1"]
        0.6666666666666666
    """
    for name, text in (("question", question), ("references", references), ("answer", answer)):
        limits.check_text(name, text, limits.ANSWER_CHARACTERS)
    expected = [line.strip() for line in references.splitlines() if line.strip()]
    if len(expected) > limits.REFERENCES:
        raise InputError(
            f"There are {len(expected)} references; at most {limits.REFERENCES} are read here. Leave some out."
        )
    spoken = find_language(language)
    overlap = score_multilingual_squad([answer], [expected], language=spoken.code, details=True)
    detail, signatures, notes = overlap.result["details"][0], [str(overlap.signature)], []
    sas = probability = correct = threshold = None
    readable = NAMED_MODELS["embedded"].languages
    name = spoken.name.capitalize()
    if spoken.code not in readable and not any_language:
        notes.append(f"SAS and AVA ship for English only; for {name} they are shown when you ask for them.")
        return OneAnswer(spoken, detail, sas, probability, correct, threshold, notes, signatures)
    if spoken.code not in readable:
        notes.append(f"The models behind SAS and AVA learned English; do not rely on what they say of {name}.")
    similarity = score_sas([answer], [expected])
    sas = similarity.result["sas"]
    signatures.append(str(similarity.signature))
    truncated = similarity.result["truncated"]
    if question.strip() or not (expected and answer.strip()):
        judged = score_ava([answer], [expected], questions=[question])
        probability, threshold = judged.result["ava_score"], judged.result["threshold"]
        correct = bool(judged.result["ava_accuracy"])
        signatures.append(str(judged.signature))
        truncated += judged.result["truncated"]
    else:
        notes.append("AVA reads the question; enter it to see the verdict.")
    if truncated:
        notes.append("The texts are longer than a model reads, and were cut for it.")
    return OneAnswer(spoken, detail, sas, probability, correct, threshold, notes, signatures)
