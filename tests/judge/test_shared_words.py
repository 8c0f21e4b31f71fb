"""What strings share: figures by hand, what must not depend on the order, and ranges for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.judge.shared_words import OPPOSITE, QUESTION_WORDS, SharedWords, question_kind, shared_words

BY_HAND: dict[str, tuple[tuple[str, str, str], dict[str, float]]] = {
    "a name inside a sentence": (
        ("Who found radium?", "Marie Curie", "It was Marie Curie."),
        {
            "recall": 1, "precision": 2 / 4, "f1": 2 * 2 / 6, "novel_recall": 1, "novel_precision": 2 / 4,
            "included": 1, "answer_included": 0, "same": 0, "spelling": 1, "worst_spelling": 1, "last_word": 1,
            "first_word": 1, "answer_is_short": 1, "reference_length": 2 / 20, "answer_length": 4 / 60,
            "longer": (4 / 2 - 1) / 4, "sounds": 1, "items": 1, "list": 0, "number": 0,
        },
    ),
    "the same": (("Who?", "the Seine", "Seine"), {"same": 1, "f1": 1, "included": 1, "answer_included": 1}),
    "a part": (
        ("Who?", "Marie Curie", "Curie"),
        {"recall": 1 / 2, "precision": 1, "included": 0, "answer_included": 1, "last_word": 1, "first_word": 0},
    ),
    "what the question says already": (
        ("Which river is in Paris?", "river Seine", "the river in Paris"),
        {
            "recall": 1 / 2, "novel_recall": 0, "precision": 1 / 3, "novel_precision": 0,
            "reference_in_question": 1 / 2, "answer_in_question": 1,
        },
    ),
    "trigrams": (
        ("", "abc", "abd"),  # "  a", " ab" are shared of "  a", " ab", "abc", "bc "
        {"trigram_recall": 2 / 4, "trigram_precision": 2 / 4, "trigrams": 1 / 2, "recall": 0},
    ),
    "spelling": (
        ("", "Curie", "Curi"),  # <c cu ur ri ie e> against <c cu ur ri i>
        {"spelling": 2 * 4 / 11, "worst_spelling": 2 * 4 / 11, "recall": 0},
    ),
    "sounds": (("", "Tchaikovsky", "Chaykofski"), {"sounds": 1, "recall": 0}),
    "initials": (("", "United Nations", "UN"), {"initials": 1}),
    "initials with points": (("", "U.S.S.R.", "Union of Soviet Socialist Republics"), {"initials": 1}),
    "other initials": (("", "United Nations", "UK"), {"initials": 0}),
    "a number that is right": (
        ("When, in 1 of 10?", "in 1066", "It was 1066."),
        {"number": 1, "new_number": 1, "numbers_found": 1, "numbers_missed": 0, "other_number": 0, "near_number": 1},
    ),
    "a number that is wrong": (
        ("When?", "1000", "in 800"),
        {"number": 1, "new_number": 1, "numbers_found": 0, "numbers_missed": 1, "other_number": 1, "near_number": 0.8},
    ),
    "a number of the question": (
        ("Who won in 1911?", "Curie", "Curie won in 1911"),
        {"number": 0, "new_number": 0, "other_number": 0, "numbers_found": 0, "numbers_missed": 0},
    ),
    "the same quantity": (("", "10 miles", "16 km"), {"same_quantity": 1, "other_quantity": 0}),
    "another quantity": (("", "10 miles", "10 km"), {"same_quantity": 0, "other_quantity": 1}),
    "quantities of two dimensions": (("", "10 miles", "10 hours"), {"same_quantity": 0, "other_quantity": 0}),
    "a list": (
        ("", "red, blue and green", "blue, pink and red"),
        {"list": 1, "items": 2 / 3, "other_items": 1 / 3, "recall": 3 / 4},  # the words are red, blue, and, green
    ),
    "a list that is asked for": (
        ("Which three colours are they?", "red, blue and green", "blue, pink and red"),
        {"several": 1, "missing_items": 1 / 3, "items": 2 / 3},
    ),
    "a list where one thing is asked for": (
        ("Who did it?", "red, blue and green", "blue"),
        {"several": 0, "missing_items": 0, "items": 1 / 3},
    ),
    "opposites": (("", "an increase", "a decrease"), {"opposites": 1}),
    "no opposites": (("", "an increase", "an increase, not a decrease"), {"opposites": 0}),
    "set aside": (("", "Rome", "It is Paris, not Rome"), {"set_aside": 1, "set_aside_before": 0, "negated": 1}),
    "set aside before": (("", "Rome", "It is not Paris but Rome"), {"set_aside": 0, "set_aside_before": 1}),
    "negated": (("", "It is open", "It is not open"), {"negated": 1, "negation": 1, "negated_elsewhere": 0}),
    "negated elsewhere": (
        ("", "It is open", "It is open, but nobody came"),
        {"negated": 0, "negated_elsewhere": 1, "negation": 1, "turn": 1},
    ),
    "only the reference is negated": (("", "not open", "open"), {"negation": -1, "negated": 0}),
    "yes and no": (("", "Yes, it is", "No."), {"yes_no": 1}),
    "yes and yes": (("", "Yes, it is", "yes"), {"yes_no": 0}),
    "a refusal": (("", "Rome", "I don’t know."), {"refusal": 1, "hedge": 0}),
    "a hedge": (("", "Rome", "Perhaps Rome"), {"hedge": 1, "refusal": 0, "recall": 1}),
    "undecided": (("", "Rome", "either Paris or Rome"), {"undecided": 1, "alternatives": 1}),
    "nothing at all": (("", "...", "!"), {"recall": 0, "f1": 0, "same": 0, "included": 0, "spelling": 0}),
}  # fmt: skip


@pytest.mark.parametrize(("triple", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_figures_by_hand(triple: tuple[str, str, str], expected: dict[str, float]) -> None:
    found = shared_words(*triple)._asdict()
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_every_figure_is_met_by_hand() -> None:
    """Every figure is anything but 0 in at least one of the triples above."""
    moved = {name for triple, _ in BY_HAND.values() for name, value in shared_words(*triple)._asdict().items() if value}
    assert set(SharedWords._fields) == moved


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who found it?", {"who"}),
        ("How many moons are there?", {"how many", "how"}),
        ("In what year was it?", {"what", "year"}),
        ("Whoever", set()),
        ("NAME the river", {"name"}),
        ("", set()),
    ],
)
def test_question_kinds(question: str, words: set[str]) -> None:
    found = dict(zip(QUESTION_WORDS, question_kind(question), strict=True))
    assert {word for word, value in found.items() if value == 1.0} == words
    assert set(found.values()) <= {0.0, 1.0}


def test_opposites_go_both_ways() -> None:
    for word, others in OPPOSITE.items():
        assert word not in others
        assert all(word in OPPOSITE[other] for other in others)


SNIPPETS = " ".join(part for triple, _ in BY_HAND.values() for part in triple).split()
TEXTS = st.text(max_size=30) | st.lists(st.sampled_from(SNIPPETS), max_size=8).map(" ".join)
SYMMETRIC = (
    "f1", "same", "trigrams", "initials", "near_number", "same_quantity", "other_quantity", "opposites", "yes_no",
)  # fmt: skip
SWAPPED = (
    ("recall", "precision"),
    ("included", "answer_included"),
    ("trigram_recall", "trigram_precision"),
    ("reference_in_question", "answer_in_question"),
)


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_gives_figures_in_their_ranges(question: str, reference: str, answer: str) -> None:
    found = shared_words(question, reference, answer)._asdict()
    for name, value in found.items():
        assert isinstance(value, (float, int)), name
        assert (-1 if name == "negation" else 0) <= value <= 1, name


@given(TEXTS, TEXTS, TEXTS)
def test_what_does_not_depend_on_the_order(question: str, reference: str, answer: str) -> None:
    found, back = (shared_words(question, *pair)._asdict() for pair in ((reference, answer), (answer, reference)))
    for name in SYMMETRIC:
        assert found[name] == back[name], name
    for name, other in SWAPPED:
        assert found[name] == back[other], name
    assert found["negation"] == -back["negation"]


@given(TEXTS, TEXTS)
def test_a_text_is_like_itself(question: str, text: str) -> None:
    found = shared_words(question, text, text)
    assert (found.trigrams, found.negation, found.yes_no, found.opposites) == (1.0, 0.0, 0.0, 0.0)
    if found.answer_length:
        assert (found.same, found.f1, found.spelling, found.included, found.longer) == (1.0, 1.0, 1.0, 1.0, 0.0)
