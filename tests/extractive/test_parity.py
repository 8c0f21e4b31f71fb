"""Parity with transformers 4.57 on a trained model: its question-answering pipeline, and its SQuAD script.

``benchmarks/peer_reader.py`` made the expected values, which name the versions and files they come from. Where the
script's n-best lists differ from ours, the reason is found, not assumed:

* a span begins or ends inside a word: ours then ends with the word; the script cuts the word at its end, and takes
  everything between two spaces at its start. Such texts also merge differently, which moves what follows in the list;
* the script writes line breaks as spaces;
* the script lets padding, which no answer can be, take places among the 20 best starts and ends of a window.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks import peer_reader, train_reader
from qa_scoring.extractive.reader import ExtractiveReader
from qa_scoring.extractive.spans import AnswerSettings, Reading, Span
from qa_scoring.extractive.windows import LONGEST_WINDOW, OVERLAP, WindowMaker
from tests.conftest import data_path, read_json

SCRIPT = {"n_best": peer_reader.N_BEST, "max_answer_len": peer_reader.LONGEST_ANSWER, "null_threshold": 0.0}


class Run(NamedTuple):
    """The stored questions, how many windows each has, and a way to read them that asks the model only once."""

    questions: list[dict[str, Any]]
    contexts: list[str]
    windows: list[int]
    read: Callable[..., list[Reading]]


@pytest.fixture(scope="module")
def run() -> Run:
    data_file = data_path("squad", "dev-v2.0.json")
    stored = read_json(peer_reader.GOLDEN)
    assert stored["born"]["data_sha256"] == peer_reader.sha256(data_file)
    assert stored["born"]["adapter_sha256"] == peer_reader.sha256(peer_reader.weights(train_reader.ADAPTER))
    questions = stored["questions"]
    rows = peer_reader.questions_with_contexts(data_file, {one["id"]: one["paragraphs"] for one in questions})
    model, tokenizer = train_reader.load_reader_model()
    forward, known = model.forward, {}

    def remembered(**inputs: Any) -> Any:
        key = inputs["input_ids"].numpy().tobytes()
        if key not in known:
            known[key] = forward(**inputs)
        return known[key]

    model.forward = remembered
    reader = ExtractiveReader(model, tokenizer)
    contexts = [row["context"] for row in rows]

    def read(**settings: Any) -> list[Reading]:
        return list(reader.read([row["question"] for row in rows], contexts, settings=AnswerSettings(**settings)))

    maker = WindowMaker(tokenizer, max_seq_len=LONGEST_WINDOW, doc_stride=OVERLAP, max_question_len=64)
    windows = list(map(len, maker.make([row["question"] for row in rows], contexts)))
    return Run(questions, contexts, windows, read)


def test_questions_are_many_and_some_contexts_long(run: Run) -> None:
    assert len(run.questions) >= 500
    assert sum(len(one["paragraphs"]) > 1 for one in run.questions) >= 70


@pytest.mark.parametrize("impossible", [False, True])
def test_pipeline(run: Run, impossible: bool) -> None:
    """A text that several windows have counts once here, and once per window there, where a score can exceed 1."""
    other = 0
    readings = run.read(handle_impossible_answer=impossible)
    for stored, windows, reading in zip(run.questions, run.windows, readings, strict=True):
        text, start, end, score = stored["pipeline"][impossible]
        ours = reading.answers[0]
        same = (ours.text, ours.start, ours.end) == (text, start, end)
        other += not same
        assert ours.score <= min(1.0, score + 1e-5)
        if windows == 1:
            assert same
            assert ours.score == pytest.approx(score, abs=1e-5)
    assert other <= 0.01 * len(run.questions)


def test_null_odds(run: Run) -> None:
    ours = [reading.null_odds for reading in run.read(**SCRIPT)]
    np.testing.assert_allclose(ours, [stored["null_odds"] for stored in run.questions], rtol=0, atol=1e-4)


@pytest.mark.parametrize(("align", "share"), [(None, 0.99), (False, 0.99)])
def test_final_predictions(run: Run, align: bool | None, share: float) -> None:
    same = 0
    for stored, context, reading in zip(
        run.questions, run.contexts, run.read(**SCRIPT, align_to_words=align), strict=True
    ):
        prediction, best = stored["prediction"], next(span for span in reading.n_best if span.text)
        theirs = next(logits for text, _, *logits in stored["n_best"] if text)
        assert [best.start_logit, best.end_logit] == pytest.approx(theirs, abs=1e-4)
        same += reading.answers[0].text == prediction
        assert bool(reading.answers[0].text) == bool(prediction)
        assert not prediction or _is_the_scripts(prediction, best, context)
    assert same >= share * len(run.questions)


@pytest.mark.parametrize(("align", "shares"), [(None, (0.99, 0.94, 0.7)), (False, (0.99, 0.95, 0.75))])
def test_n_best_lists(run: Run, align: bool | None, shares: tuple[float, float, float]) -> None:
    """The first, the first five, all: how many are the same; and no difference without its reason."""
    whole, cut = run.read(**SCRIPT), run.read(**SCRIPT, align_to_words=False)
    same, reasons, common, spans = np.zeros(3), Counter(), 0, 0
    for stored, context, reading, *both in zip(
        run.questions, run.contexts, cut if align is False else whole, whole, cut, strict=True
    ):
        theirs, ours = stored["n_best"], reading.n_best
        spans += len(ours)
        texts = [text for text, *_ in theirs]
        same += [[span.text for span in ours[:length]] == texts[:length] for length in (1, 5, None)]
        logits = np.array([[start, end] for _, _, start, end in theirs])
        for span in ours:
            distances = np.abs(logits - [span.start_logit, span.end_logit]).max(axis=1)
            text = texts[distances.argmin()]
            common += distances.min() < 1e-4
            assert distances.min() > 1e-4 or text == span.text or _is_the_scripts(text, span, context)
        reason = _reason(stored, ours, *both)
        reasons[reason] += 1
        if reason in ("none", "line breaks"):
            numbers = [[span.probability, span.start_logit, span.end_logit] for span in ours]
            np.testing.assert_allclose(numbers, [row for _, *row in theirs], rtol=0, atol=1e-4)
    assert set(reasons) <= {"none", "line breaks", "padding", "inside a word"}, reasons
    assert reasons["padding"] <= 0.15 * len(run.questions)
    assert common >= 0.95 * spans
    assert (same >= np.multiply(shares, len(run.questions))).all(), same


def _reason(stored: dict[str, Any], ours: list[Span], whole: Reading, cut: Reading) -> str:
    """Say why a list is not the script's."""
    texts = [text for text, *_ in stored["n_best"]]
    if [span.text for span in ours] == texts:
        return "none"
    if [" ".join(span.text.split()) for span in ours] == texts:
        return "line breaks"
    if stored["padding"]:
        return "padding"
    of_whole, of_cut = ([(span.text, span.start_logit, span.end_logit) for span in one.n_best] for one in (whole, cut))
    return "inside a word" if of_whole != of_cut else "unknown"


def _is_the_scripts(text: str, span: Span, context: str) -> bool:
    """Whether a text is what the script makes of a span: its last word cut, or all between the spaces around it."""
    before, after = re.split(r"\s", context[: span.start])[-1], re.split(r"\s", context[span.end :])[0]
    ours, wide, text = (" ".join(one.split()) for one in (span.text, before + span.text + after, text))
    return text == wide or (ours.startswith(text) and " " not in ours[len(text) :])
