"""Every family of models, in many scripts; XQuAD in all its languages."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from qa_scoring.extractive.spans import AnswerSettings, Reading
from tests.conftest import data_path, read_json
from tests.extractive.conftest import CONTEXTS, FAMILIES, QUESTION

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")


def check_texts(context: str, reading: Reading) -> None:
    """Answers are parts of the context that begin and end where characters do, spaces left out."""
    assert reading.answers[0].text
    for span in (*reading.answers, *reading.n_best):
        assert span.text == context[span.start : span.end]
        assert span.text == span.text.strip()
        for place in (span.start, span.end) if span.text else ():
            inside = 0 < place < len(context) and not context[place - 1].isspace()
            assert not (inside and unicodedata.category(context[place]).startswith("M"))


@pytest.mark.parametrize("align", [True, False, None])
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_parts_of_the_context(family: str, align: bool | None, make_reader: Callable[[str], Any]) -> None:
    settings = AnswerSettings(top_k=20, max_answer_len=3, align_to_words=align)
    contexts = list(CONTEXTS.values())
    readings = list(make_reader(family).read([QUESTION] * len(contexts), contexts, settings=settings, max_seq_len=48))
    for context, reading in zip(contexts, readings, strict=True):
        check_texts(context, reading)
        assert 0 <= reading.no_answer_probability <= 1
    assert len({reading.null_odds for reading in readings}) == len(readings)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_xquad(language: str, family: str, make_reader: Callable[[str], Any]) -> None:
    articles = read_json(data_path("xquad", f"xquad.{language}.json"))["data"]
    rows = [
        (question["question"], paragraph["context"])
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"][:1]
    ]
    rows.sort(key=lambda row: -len(row[1]))
    rows = rows[:5] + rows[5 :: len(rows) // 5]  # the longest contexts, and some of every length
    questions, contexts = zip(*rows, strict=True)
    found = make_reader(family).read(questions, contexts, settings=AnswerSettings(top_k=3), max_seq_len=128)
    for context, reading in zip(contexts, found, strict=True):
        check_texts(context, reading)
