"""The contrast set of the judge: its shape, its balance, and what each kind of row promises."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from importlib import resources
from typing import Any

import pytest

DATA = resources.files("qa_scoring") / "data"
FILE = DATA / "judge_contrast.jsonl"
KEYS = ["id", "kind", "question", "references", "answer", "correct"]
KINDS = [
    "changed number",
    "changed year",
    "unit conversion",
    "negation",
    "swapped entity",
    "more specific",
    "less specific",
    "partial list",
    "right answer in a wrong sentence",
    "contradiction",
    "refusal",
    "hedge",
    "echo of the question",
    "paraphrase without shared words",
    "other spelling",
]
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def of_kind(kind: str, correct: bool | None = None) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["kind"] == kind and correct in (None, row["correct"])]


def words(text: str) -> list[str]:
    """Return the lower-cased words of a text, without punctuation and articles."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in {"a", "an", "the"}]


def words_of_references(row: dict[str, Any]) -> set[str]:
    return {word for reference in row["references"] for word in words(reference)}


def test_the_file_is_small_and_ends_with_a_line_break() -> None:
    content = FILE.read_bytes()
    assert len(content) < 200_000
    assert content.endswith(b"}\n")
    assert b"\r" not in content


def test_every_row_has_the_same_keys_and_types() -> None:
    for row in ROWS:
        assert list(row) == KEYS, row
        assert isinstance(row["correct"], bool), row["id"]
        assert isinstance(row["references"], list), row["id"]
        assert 1 <= len(row["references"]) <= 3, row["id"]


def test_no_text_is_blank_or_padded_or_holds_control_characters() -> None:
    for row in ROWS:
        for text in (row["question"], row["answer"], *row["references"]):
            assert isinstance(text, str), row["id"]
            assert text, row["id"]
            assert text == text.strip(), row["id"]
            assert text == unicodedata.normalize("NFC", text), row["id"]
            assert not any(unicodedata.category(character).startswith("C") for character in text), row["id"]


def test_the_kinds_come_in_order_and_with_enough_rows() -> None:
    counts = Counter(row["kind"] for row in ROWS)
    assert list(counts) == KINDS
    assert min(counts.values()) >= 24


def test_ids_are_the_kind_and_a_running_number() -> None:
    running: dict[str, int] = defaultdict(int)
    for row in ROWS:
        running[row["kind"]] += 1
        assert row["id"] == f"{row['kind'].replace(' ', '-')}-{running[row['kind']]:02d}"


def test_no_question_is_asked_twice_and_no_reference_is_repeated() -> None:
    questions = Counter(" ".join(words(row["question"])) for row in ROWS)
    assert [question for question, count in questions.items() if count > 1] == []
    assert [row["id"] for row in ROWS if len(set(row["references"])) < len(row["references"])] == []


def test_no_answer_is_a_reference_itself() -> None:
    same = [row["id"] for row in ROWS if words(row["answer"]) in [words(reference) for reference in row["references"]]]
    assert same == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_label_has_at_least_a_third_of_a_kind(kind: str) -> None:
    rows = of_kind(kind)
    for label in (True, False):
        assert 3 * len(of_kind(kind, label)) >= len(rows)


def test_paraphrases_share_no_word_with_any_reference() -> None:
    shared = {
        row["id"]: both
        for row in of_kind("paraphrase without shared words")
        if (both := words_of_references(row) & set(words(row["answer"])))
    }
    assert shared == {}


def test_wrong_sentences_hold_the_right_answer() -> None:
    missing = [
        row["id"]
        for row in of_kind("right answer in a wrong sentence")
        if not any(reference in row["answer"] for reference in row["references"])
    ]
    assert missing == []


def test_wrong_echoes_are_made_of_the_words_of_the_question() -> None:
    shares = {}
    for row in of_kind("echo of the question", correct=False):
        asked, answered = set(words(row["question"])), words(row["answer"])
        shares[row["id"]] = sum(word in asked for word in answered) / len(answered)
    assert min(shares.values()) >= 0.4, min(shares, key=lambda row_id: shares[row_id])


def test_right_lists_name_every_item_and_wrong_ones_lack_or_add_one() -> None:
    joints = {"and", "or"}
    for row in of_kind("partial list"):
        asked, named = words_of_references(row) - joints, set(words(row["answer"])) - joints
        assert asked <= named if row["correct"] else asked != named, row["id"]


def test_the_readme_has_every_kind_and_its_numbers() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert f"| {kind} | {len(of_kind(kind, True))} | {len(of_kind(kind, False))} |" in text
