from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring import score_multilingual_squad
from qa_scoring.app.tokenizing import Tokenized
from qa_scoring.app.views import Card, example_details, score_cards, shared_flags, token_chips, tokenizer_table
from qa_scoring.overlap.scoring import token_f1

TAGS = {
    "bdi", "br", "dd", "div", "dl", "dt", "em", "h4", "li", "p", "section", "span", "strong", "table", "tbody", "td",
    "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"aria-hidden", "aria-label", "class", "colspan", "dir", "lang", "role", "scope", "tabindex"}
HOSTILE = "</bdi></p><script>alert('1')</script><img src=x onerror=\"alert(1)\">&lt;b&gt;<!-- ]]>"


class Parts(HTMLParser):
    """What a piece of HTML consists of; anything that we did not write fails."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        self.attributes += attrs
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self.open[-1]][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def detail_of(prediction: str, references: list[str], language: str = "en", **options: Any) -> dict[str, Any]:
    scored = score_multilingual_squad([prediction], [references], language=language, details=True, **options)
    found: dict[str, Any] = scored.result["details"][0]
    return found


texts = st.text(max_size=30) | st.sampled_from([HOSTILE, "<", '"', "'", "&amp;", "a a b", "\u202eabc"])


@given(st.lists(texts, max_size=8), st.data())
def test_tokens_are_shown_as_text(tokens: list[str], data: st.DataObject) -> None:
    shared = data.draw(st.none() | st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    parts = Parts(token_chips(tokens, shared, language="en"))
    assert parts.texts.get("bdi", []) == [token for token in tokens if token.strip()]
    assert parts.tags.count("li") == len(tokens)
    if shared is not None:
        words = [text for text in parts.texts.get("span", []) if text != "✓ "]
        assert words == [" (shared)" if flag else " (not shared)" for flag in shared]


@given(texts, st.lists(texts.filter(str.strip), max_size=3), st.sampled_from(["squad", "unicode"]))
def test_details_are_shown_as_text(prediction: str, references: list[str], normalization: str) -> None:
    detail = detail_of(prediction, references, tokenizer="whitespace", normalization=normalization)
    parts = Parts(example_details(detail, "en"))
    if prediction:
        assert parts.texts["p"][0] == prediction


@given(texts, texts, texts)
def test_cards_and_tables_are_shown_as_text(name: str, value: str, note: str) -> None:
    parts = Parts(score_cards([Card(name, value, note)]))
    assert parts.texts["dt"] == [name]
    assert parts.texts["dd"] == [value, *filter(None, [note])]
    parts = Parts(tokenizer_table([Tokenized(name, value, [note]), Tokenized(name, None, missing=value + "x")]))
    assert parts.texts["strong"] == [name, name]
    assert parts.texts["td"][-1] == value + "x"


few = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9)


@given(few, few)
def test_shared_tokens_are_those_behind_f1(prediction: list[str], reference: list[str]) -> None:
    mine, theirs = shared_flags(prediction, reference)
    common = sum((Counter(prediction) & Counter(reference)).values())
    assert sum(mine) == sum(theirs) == common
    kept = [
        [token for token, flag in zip(*side, strict=True) if flag] for side in ((prediction, mine), (reference, theirs))
    ]
    assert Counter(kept[0]) == Counter(kept[1])
    assert token_f1(prediction, reference) == pytest.approx(2 * common / (len(prediction) + len(reference)))


@given(few, few)
def test_details_say_the_f1_of_the_row(prediction: list[str], reference: list[str]) -> None:
    detail = detail_of(" ".join(prediction), [" ".join(reference)], tokenizer="whitespace", normalization="unicode")
    assert f"F1 is {detail['f1']:.3f}." in example_details(detail)
    assert "its rule" not in example_details(detail)


@pytest.mark.parametrize(
    ("language", "prediction", "reference", "direction", "tokens", "shared"),
    [
        ("ar", "في باريس، فرنسا", "باريس", "rtl", ["في", "باريس", "،", "فرنسا"], 1),
        ("he", "בירושלים", "ירושלים", "rtl", ["בירושלים"], 0),
        ("zh", "清华大学位于北京", "北京", "ltr", ["清华大学", "位于", "北京"], 1),
        ("tr", "İstanbul’un Kadıköy", "Kadıköy", "ltr", None, 1),
    ],
)
def test_scripts(
    language: str, prediction: str, reference: str, direction: str, tokens: list[str] | None, shared: int
) -> None:
    shown = example_details(detail_of(prediction, [reference], language), language)
    parts = Parts(shown)
    assert [value for name, value in parts.attributes if name == "dir"].count(direction) == 2
    assert shown.count('dir="auto"') == 4
    assert {value for name, value in parts.attributes if name == "lang"} == {language}
    assert shown.count('class="qa-shared"') == 2 * shared
    if tokens is not None:
        assert parts.texts["bdi"][: len(tokens)] == tokens


@pytest.mark.parametrize("language", [None, "xx-unknown", '"><script>'])
def test_an_unknown_language_has_no_attribute(language: str | None) -> None:
    assert "lang=" not in example_details(detail_of("a", ["a"]), language)


def test_a_language_is_named_by_its_code() -> None:
    assert ' lang="zh"' in token_chips(["北京"], language="zh_TW")


def test_the_winning_reference_is_the_one_shown() -> None:
    parts = Parts(example_details(detail_of("in 1902", ["May", "1902", "June"])))
    assert parts.texts["h4"] == ["Answer", "Best reference, 2 of 3"]
    assert parts.texts["bdi"] == ["in", "1902", "1902"]


@pytest.mark.parametrize(
    ("detail", "sentence"),
    [
        (detail_of("", []), "The question has no answer"),
        (detail_of("x", []), "any other one is wrong"),
        (detail_of("", ["x"]), "One side has no tokens; F1 is 0.000."),
        (detail_of("the", ["a"]), "One side has no tokens; F1 is 1.000."),
        (detail_of("x", ["x"]) | {"prediction": None}, "There is no prediction"),
        (detail_of("北京 大学", ["北京大学"], "zh", normalization="unicode"), "of this example is 1.000"),
        (detail_of("一二三", ["三一二"], "zh", scheme="cmrc"), "of this example is 0.667"),
    ],
)
def test_special_cases_are_said(detail: dict[str, Any], sentence: str) -> None:
    assert sentence in example_details(detail, "zh")


def test_long_lists_of_tokens_are_cut() -> None:
    assert token_chips(["x"] * 1200).endswith('</ul><p class="qa-text">… and 1,000 more</p>')


def test_blank_tokens_are_named() -> None:
    assert Parts(token_chips([" ", "a"])).texts["em"] == ["blank"]
