"""NLTK's rule without NLTK, held against the installed NLTK.

``word_tokenize(text, preserve_line=True)`` must give the tokens of ``nltk-rule`` up to NLTK 3.9.2 and those of
``nltk-rule-dashes`` from 3.9.3 on, for every text that SQuAD's normalisation can give: on all XQuAD answers and
contexts, and on strings made of what NLTK's patterns look at.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from importlib import metadata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize
from nltk.tokenize.punkt import PunktLanguageVars

from qa_scoring.text.normalize import squad_words
from qa_scoring.text.tokenizers import load_tokenizer
from tests.conftest import data_path, read_json

NLTK_VERSION = tuple(int(number) for number in re.findall(r"\d+", metadata.version("nltk"))[:3])
HAS_DASHES = NLTK_VERSION >= (3, 9, 3)

DASHES = "\u2012\u2013\u2014\u2015"
rule = load_tokenizer("nltk-rule")
rule_with_dashes = load_tokenizer("nltk-rule-dashes")
rule_of_installed_nltk = rule_with_dashes if HAS_DASHES else rule

unhurried = settings(deadline=None)


def nltk_tokens(words: list[str]) -> list[str]:
    return word_tokenize(" ".join(words), preserve_line=True)


def check(words: list[str]) -> bool:
    """Hold one normalised text against NLTK; return whether the dashes made a difference."""
    expected = nltk_tokens(words)
    assert rule_of_installed_nltk(words) == expected, words
    old, new = rule(words), rule_with_dashes(words)
    if DASHES_PATTERN.search(" ".join(words)) is None:
        assert old == new == expected, words
    return old != new


DASHES_PATTERN = re.compile(f"[{DASHES}]")


# -------------------------------------------------------------------------------------------------- XQuAD


def squad_texts(part: str, *path: str) -> Iterator[str]:
    for article in read_json(data_path(*path))["data"]:
        for paragraph in article["paragraphs"]:
            if part == "contexts":
                yield paragraph["context"]
            else:
                for question in paragraph["qas"]:
                    yield from (answer["text"] for answer in question["answers"])


@pytest.mark.parametrize(("part", "count"), [("answers", 1190), ("contexts", 240)])
@pytest.mark.parametrize("code", ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"])
def test_xquad(code: str, part: str, count: int) -> None:
    texts = list(squad_texts(part, "xquad", f"xquad.{code}.json"))
    assert len(texts) == count
    for text in texts:
        check(squad_words(text))


# TOKENIZATION.md, section 1: golds on which the two rules differ (nltk 3.8.1 and 3.10.4, SQuAD normalisation).
@pytest.mark.parametrize(("code", "differing"), [("en", 9), ("th", 7), ("ro", 6), ("ru", 5), ("zh", 4), ("de", 0)])
def test_xquad_answers_with_dashes(code: str, differing: int) -> None:
    texts = squad_texts("answers", "xquad", f"xquad.{code}.json")
    assert sum(rule(words) != rule_with_dashes(words) for words in map(squad_words, texts)) == differing


# The same section: golds on which the rule of NLTK 3.8.1 is more than splitting at white space.
@pytest.mark.parametrize(("code", "differing"), [("tr", 20), ("zh", 17), ("ro", 14), ("ru", 13), ("de", 12)])
def test_xquad_answers_that_the_rule_splits(code: str, differing: int) -> None:
    texts = squad_texts("answers", "xquad", f"xquad.{code}.json")
    assert sum(rule(words) != words for words in map(squad_words, texts)) == differing


# ---------------------------------------------------------------------------------------- generated strings

CONTRACTIONS = ["cannot", "gimme", "gonna", "gotta", "lemme", "wanna"]
QUOTES = "«“‘„»”’"
PIECES = [
    *CONTRACTIONS * 4,
    *QUOTES * 3,
    *DASHES,
    *[" "] * 14,
    *["can", "not", "gim", "me", "wan", "na", "more", "tis", "twas", "dye", "the", "a"],
    *["g\u0131mme", "g\u0130mme", "ﬁne", "ſ", "K"],  # letters that fold to i, to s, to k
    *"xyzßéñığ",
    *"ЖшΣςαأبשदिกำ์한字の",
    *"0123٣२５²½Ⅷⅷ",
    *"_-.,!?'\"`()[]{}<>:;@#$%&*/\\",
    *"\t\n\x00\x01\x08\x0b\x1b\x1c\x1f\x7f\x80\x85\x9f",
    *"\xa0\u1680\u2003\u2009\u2028\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff\xad",
    *"\u0300\u0301\u0307\u0323\u064e\u05b0\u0e49\u20dd\ufe0f",
    *"…·•‐\u2010\u2011\u2016‹›‚‛′、。「」《》€°×",
]
GENERATED = 200_000


def mixed_case(piece: str, generator: random.Random) -> str:
    kind = generator.randrange(4)
    if kind == 0:
        return piece.upper()
    if kind == 1:
        return "".join(generator.choice((c.lower(), c.upper())) for c in piece)
    return piece


def generate(count: int, seed: int) -> Iterator[str]:
    generator = random.Random(seed)
    for _ in range(count):
        pieces = generator.choices(PIECES, k=generator.randint(1, 10))
        yield "".join(mixed_case(piece, generator) for piece in pieces)


def test_generated_strings() -> None:
    with_dashes = split = 0
    for text in generate(GENERATED, seed=20261121):
        words = squad_words(text)
        with_dashes += check(words)
        split += rule(words) != words
    # The strings do reach the patterns.
    assert with_dashes > GENERATED // 20
    assert split > GENERATED // 4


# Long strings of one kind of character, which short mixed ones may miss.
@pytest.mark.parametrize("piece", [*CONTRACTIONS, *QUOTES, *DASHES, "gonna ", "wanna\u3000", "’cannot", "cannot\u0301"])
def test_repeated_pieces(piece: str) -> None:
    for times in (1, 2, 3, 50):
        check(squad_words(piece * times))
        check(squad_words(f"x {piece * times} y"))


@unhurried
@given(st.text())
def test_any_text(text: str) -> None:
    check(squad_words(text))


@unhurried
@given(st.lists(st.sampled_from(PIECES) | st.characters(), max_size=15).map("".join))
@example("wanna")
@example("wanna\u0301 x")
@example("g\u0131mme")
@example("cannot\u200dgonna")
@example("cannot\x00gonna")
def test_any_text_of_pieces(text: str) -> None:
    check(squad_words(text))


@unhurried
@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
def test_nltk_tokenizer_is_the_library(text: str) -> None:
    words = squad_words(text)
    assert load_tokenizer("nltk")(words) == nltk_tokens(words)


def test_nltk_tokenizer_carries_the_version_of_the_library() -> None:
    assert load_tokenizer("nltk").version == metadata.version("nltk")


# ------------------------------------------------------------------------------------------ the rule, spelled

BEHAVIOUR = [
    ("you cannot", ["you", "can", "not"], None),
    ("Gimme GONNA gotta lemme", ["gim", "me", "gon", "na", "got", "ta", "lem", "me"], None),
    ("wanna wanna", ["wan", "na", "wan", "na"], None),
    ("wanna’s", ["wan", "na", "’", "s"], None),
    ("cannots uncannot", ["cannots", "uncannot"], None),
    ("can not", ["can", "not"], None),
    ("„Faust“ «x»", ["„", "faust", "“", "«", "x", "»"], None),
    ("l’État", ["l", "’", "état"], None),
    ("don't", ["dont"], None),
    ("1914–1918", ["1914–1918"], ["1914", "–", "1918"]),
    ("a—b", ["—b"], ["—", "b"]),  # a is an article: the dash ends the word
    ("x‐y", ["x‐y"], None),  # U+2010 is no dash of NLTK's
    ("‹x›", ["‹x›"], None),
    ("北京。", ["北京。"], None),
]


@pytest.mark.parametrize(("text", "tokens", "with_dashes"), BEHAVIOUR)
def test_behaviour(text: str, tokens: list[str], with_dashes: list[str] | None) -> None:
    words = squad_words(text)
    assert rule(words) == tokens
    assert rule_with_dashes(words) == (tokens if with_dashes is None else with_dashes)
    check(words)


def test_punkt_finds_no_sentence_end_in_normalised_text() -> None:
    # Punkt ends sentences at these alone, and normalisation deletes them: no language's model is ever asked.
    assert set(PunktLanguageVars.sent_end_chars) <= set(string.punctuation)


# ------------------------------------------------------------------------------------------- Arabic script


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("باريس، عاصمة", ["باريس", "،", "عاصمة"]),
        ("لماذا؟", ["لماذا", "؟"]),
        ("x؛y", ["x", "؛", "y"]),
        ("«cannot»", ["«", "can", "not", "»"]),
    ],
)
def test_arabic_punctuation_is_detached(text: str, tokens: list[str]) -> None:
    assert load_tokenizer("nltk-rule-arabic")(squad_words(text)) == tokens


@unhurried
@given(st.lists(st.sampled_from([*PIECES, *"،؛؟"]), max_size=15).map("".join))
def test_arabic_rule_is_the_rule_with_three_more_marks(text: str) -> None:
    padded = re.sub("[،؛؟]", r" \g<0> ", " ".join(squad_words(text)))
    assert load_tokenizer("nltk-rule-arabic")(squad_words(text)) == rule(padded.split())
