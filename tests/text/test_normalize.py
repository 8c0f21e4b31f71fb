"""Normalisation, held against three things outside it.

SQuAD's rule is written a second time here as a loop over characters, and must agree with the steps and with
the fast path on any text and on real golds. The ``"unicode"`` policy is held against the table of answers
that a reader of the language calls equal, or different (TOKENIZATION.md, section 4; its M2QA F1 column too),
and against Unicode's own canonical equivalence.
"""

from __future__ import annotations

import string
import sys
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qa_scoring import score_multilingual_squad
from qa_scoring.text.languages import LANGUAGES, find_language
from qa_scoring.text.normalize import SQUAD, Normalizer, delete_words, squad_words, unicode_steps
from tests.conftest import data_path, read_json

squad_by_steps = Normalizer("squad", SQUAD)

unhurried = settings(deadline=None)  # the first example compiles the patterns

# Any code point, lone surrogates included; and strings crowded with what the rules look at.
any_character = st.characters(exclude_categories=())
crowd = st.sampled_from(
    [
        *["a", "an", "the", "A", "THE"],
        *" \t\xa0\u3000\x1c\x85\u2028",  # white space
        *"x7_-.'’«\x00\x7f\u200b\u0301\u0307İßéの\u0f0b㎡´\u0e33٠",
    ]
)
any_text = st.text(any_character) | st.lists(crowd, max_size=12).map("".join)


def unicode_policy(code: str) -> Normalizer:
    return Normalizer("unicode", unicode_steps(code, find_language(code).articles))


ASSIGNED = [
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
]

# One language for every branch of the policy: articles, the Turkish I, U+200B, the tsheg, none of them.
BRANCHES = ("en", "de", "tr", "az", "th", "my", "bo", "zh", "ar", "el")
POLICIES = [pytest.param(squad_words, id="squad")] + [pytest.param(unicode_policy(c), id=c) for c in BRANCHES]


def squad_rule_restated(text: str) -> list[str]:
    """SQuAD's rule without a regular expression: lower, drop punctuation, cut out articles, split."""
    kept = [character for character in text.lower() if character not in string.punctuation]
    pieces: list[str] = []
    run = ""
    for character in [*kept, " "]:
        if character.isalnum() or character == "_":
            run += character
            continue
        pieces.append(" " if run in ("a", "an", "the") else run)
        pieces.append(character)
        run = ""
    return "".join(pieces).split()


# ------------------------------------------------------------------------------------------------- SQuAD


@settings(deadline=None, max_examples=1000)
@given(any_text)
@example("the\x00a")
@example("\x1cthe\x1f")
@example("a\x7f the")
@example("\ud800the")
def test_squad_fast_path_and_steps_equal_the_restated_rule(text: str) -> None:
    assert squad_words(text) == squad_by_steps(text) == squad_rule_restated(text)


@unhurried
@given(st.text(st.characters(max_codepoint=127)))
def test_squad_fast_path_and_steps_equal_the_restated_rule_on_ascii(text: str) -> None:
    assert squad_words(text) == squad_by_steps(text) == squad_rule_restated(text)


def test_squad_rule_on_every_character() -> None:
    for character in ASSIGNED:
        text = f"the{character}a {character}The"
        assert squad_words(text) == squad_rule_restated(text), f"U+{ord(character):04X}"


def golds(*parts: str) -> Iterator[str]:
    for article in read_json(data_path(*parts))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield from (answer["text"] for answer in question["answers"])


@pytest.mark.parametrize(
    "file",
    [
        ("xquad", f"xquad.{code}.json")
        for code in ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    ]
    + [("squad", "dev-v2.0.json"), ("cmrc2018", "cmrc2018_dev.json"), ("jaquad", "jaquad_dev_0000.json")],
    ids="/".join,
)
def test_squad_rule_on_real_golds(file: tuple[str, str]) -> None:
    texts = set(golds(*file))
    assert len(texts) > 700
    for text in texts:
        assert squad_words(text) == squad_by_steps(text) == squad_rule_restated(text), text


SQUAD_BEHAVIOUR = [
    ("The Eiffel Tower, Paris!", ["eiffel", "tower", "paris"]),
    ("", []),
    (" \t\n", []),
    ("the", []),
    ("A an THE", []),
    (string.punctuation, []),
    ("U.S.A.", ["usa"]),
    ("3.14", ["314"]),
    ("-5", ["5"]),
    ("20-18", ["2018"]),
    ("$5", ["5"]),
    ("5 €", ["5", "€"]),
    ("a.n apple", ["apple"]),  # punctuation goes first, which makes an article
    ("x_the", ["xthe"]),
    ("theatre a-la-carte", ["theatre", "alacarte"]),
    ("an der Donau", ["der", "donau"]),  # English articles, in every language
    ("şu an için", ["şu", "için"]),
    ("a\u0300 la carte", ["\u0300", "la", "carte"]),  # decomposed à: the letter is an article of its own
    ("à la carte", ["à", "la", "carte"]),
    ("the\x00end", ["\x00end"]),  # a control character ends a word without being white space
    ("one\x1ctwo", ["one", "two"]),
    ("“quoted”", ["“quoted”"]),  # only ASCII's punctuation is deleted
    ("wait…", ["wait…"]),
    ("２０１８年", ["２０１８年"]),
    ("北京。", ["北京。"]),
    ("İ", ["i\u0307"]),
    ("STRASSE Straße", ["strasse", "straße"]),
    ("new\u3000york\xa0city", ["new", "york", "city"]),
]


@pytest.mark.parametrize(("text", "words"), SQUAD_BEHAVIOUR)
def test_squad_published_behaviour(text: str, words: list[str]) -> None:
    assert squad_words(text) == words
    assert squad_rule_restated(text) == words


# ----------------------------------------------------------------------- the "unicode" policy, case by case

# language, gold, prediction, F1 under scheme="m2qa" where M2QA's tokenizer is used. Escapes where a character
# is invisible, or looks like another one.
EXACT_PAIRS = [
    ("zh", "2018年", "２０１８年", 0.29),
    ("zh", "北京", "北京。", 0.67),
    ("zh", "《红楼梦》", "红楼梦", 0.50),
    ("zh", "“一带一路”", "一带一路", 0.67),
    ("zh", "世界卫生组织（WHO）", "世界卫生组织(WHO)", 0.67),
    ("zh", "2010 年", "2010年", 0.80),
    ("zh", "ＷＴＯ", "WTO", 0.0),
    ("zh", "红、黄、蓝", "红，黄，蓝", 0.60),
    ("ja", "コンピュータ", "ｺﾝﾋﾟｭｰﾀ", 0.0),
    ("ja", "グラハム・ベル", "グラハムベル", None),
    ("ja", "「坊っちゃん」", "坊っちゃん", None),
    ("ja", "10\u301c20", "10\uff5e20", None),  # wave dash, full-width tilde
    ("ar", "مُحَمَّد", "محمد", 0.0),  # tashkeel
    ("ar", "محـــمد", "محمد", 0.0),  # tatweel
    ("ar", "٢٠١٨", "2018", 0.0),
    ("ar", "باريس،", "باريس", None),  # the registry detaches this comma, M2QA's tokenizer did not
    ("ar", "\ufee3\ufea4\ufee4\ufeaa", "محمد", 0.0),  # presentation forms
    ("ar", "محمد\u200f", "محمد", 0.0),  # RLM
    ("fa", "می\u200cخواهم", "میخواهم", 0.0),  # ZWNJ
    ("fa", "۲۰۱۸", "2018", 0.0),
    ("fa", "تهران\u200f", "تهران", 0.0),
    ("he", "שָׁלוֹם", "שלום", 0.0),  # niqqud
    ("he", "\ufb2aלום", "שלום", 0.0),  # presentation form: shin with its dot
    ("he", "צה״ל", 'צה"ל', 0.0),  # gershayim, ASCII quotation mark
    ("hi", "दिल्ली।", "दिल्ली", 0.0),
    ("hi", "२०१८", "2018", 0.0),
    ("hi", "क्\u200dष", "क्ष", 0.0),  # ZWJ
    ("bn", "২০১৮", "2018", 0.0),
    ("th", "๒๕๖๑", "2561", 0.0),
    ("th", "กรุงเทพ\u200bมหานคร", "กรุงเทพมหานคร", None),  # ZWSP; newmm drops it from the words beside it
    ("th", "น\u0e49\u0e4d\u0e32", "น\u0e49\u0e33", 0.0),  # น้ำ, SARA AM as NIKHAHIT and SARA AA
    ("th", "น\u0e4d\u0e49\u0e32", "น\u0e49\u0e33", 0.0),  # the tone mark typed last
    ("km", "ភ្នំពេញ។", "ភ្នំពេញ", None),
    ("my", "၂၀၁၈", "2018", 0.0),
    ("bo", "བོད\u0f0b", "བོད", None),  # trailing tsheg: the syllables are equal, the words are not
    ("bo", "བོད\u0f0cཡིག", "བོད\u0f0bཡིག", None),
    ("tr", "IĞDIR", "ığdır", 0.0),
    ("tr", "TÜRKİYE", "Türkiye", 0.0),
    ("tr", "İstanbul", "istanbul", 0.0),
    ("de", "Straße", "STRASSE", 0.0),
    ("de", "„Faust“", "Faust", 0.50),
    ("de", "1914\u20131918", "1914-1918", 0.0),  # en dash
    ("el", "λόγος", "λόγοσ", 0.0),
    ("fr", "« Le Monde »", "Le Monde", 0.67),
    ("fr", "l’État", "l'État", 0.0),
    ("vi", unicodedata.normalize("NFD", "Hà Nội"), "Hà Nội", 0.0),
    ("ko", unicodedata.normalize("NFD", "서울"), "서울", 0.0),
    ("ko", "《토지》", "토지", None),  # the registry counts characters, M2QA's tokenizer did not
    ("ru", "«Спартак»", "Спартак", 0.50),
    ("en", "Newton’s", "Newton's", 0.0),
    ("en", "ﬁnance", "finance", 0.0),
    ("en", "co\u00adoperation", "cooperation", 0.0),  # soft hyphen
    ("en", "wait…", "wait...", 0.0),
    ("en", "wait…", "wait", 0.0),
]

# The same claims on characters that the table does not name.
MORE_EXACT_PAIRS = [
    ("zh", "100㎡", "100m²"),
    (
        "en",
        "cafe\u00ad\u0301",
        "café",
    ),  # a soft hyphen before the accent: deleting it leaves a letter to compose
    ("ar", "ا\u0640\u0653", "آ"),  # tatweel between ALEF and MADDA ABOVE
    ("ar", "م\ufe78حمد", "محمد"),  # DAMMA's isolated presentation form, to Unicode a space and a mark
    ("en", "2\u203e3", "23"),  # ‾ OVERLINE: punctuation, and to Unicode a space and a mark
    ("az", "BAKI", "bakı"),
    ("lo", "ນ\u0ecd\u0eb2", "ນ\u0eb3"),
    ("km", "ភ្នំ\u200bពេញ", "ភ្នំពេញ"),
    ("en", "The Beatles", "beatles"),
    ("de", "die Donau", "Donau"),
    ("es", "la Tierra", "Tierra"),
]

DIFFERENT_PAIRS = [
    ("en", "x²", "x2"),
    ("en", "H₂O", "HO"),
    ("de", "schön", "schon"),
    ("tr", "sıkıldım", "sikildim"),
    ("ja", "はは", "ぱぱ"),
    ("ja", "ビル", "ビール"),
    ("hi", "कि", "की"),
    ("th", "มา", "ม้า"),
    ("vi", "ma", "má"),
    ("zh", "里", "裡"),
    ("en", "5 €", "5 $"),
    # not in the table
    ("zh", "100㎡", "100m2"),
    ("en", "½", "1/2"),
    ("en", "don´t", "don t"),  # ´ is a symbol of its own, not a space
    ("en", "20 18", "2018"),  # spaces count where words are spaced
    ("fr", "a", "the"),
]

ACCEPTED_MERGES = [
    ("de", "Maße", "Masse", "unicode"),
    ("en", "20\u201318", "2018", "unicode"),  # en dash
    *[
        ("en", *pair, policy)
        for pair in (("20-18", "2018"), ("3.14", "314"), ("-5", "5"))
        for policy in ("squad", "unicode")
    ],
]


def exact(gold: str, prediction: str, language: str, normalization: str) -> float:
    return score_multilingual_squad([prediction], [gold], language=language, normalization=normalization).result[
        "exact"
    ]


@pytest.mark.parametrize(("language", "gold", "prediction"), [p[:3] for p in EXACT_PAIRS] + MORE_EXACT_PAIRS)
def test_unicode_policy_calls_equal_what_readers_call_equal(language: str, gold: str, prediction: str) -> None:
    assert exact(gold, prediction, language, "unicode") == 100.0
    assert exact(prediction, gold, language, "unicode") == 100.0


@pytest.mark.parametrize(("language", "gold", "prediction"), [pair[:3] for pair in EXACT_PAIRS])
def test_squad_policy_calls_the_same_pairs_different(language: str, gold: str, prediction: str) -> None:
    assert exact(gold, prediction, language, "squad") == 0.0
    assert score_multilingual_squad([prediction], [gold], scheme="m2qa", language=language).result["exact"] == 0.0


@pytest.mark.parametrize(
    ("language", "gold", "prediction", "f1"), [pair for pair in EXACT_PAIRS if pair[3] is not None]
)
def test_m2qa_f1_of_the_same_pairs_is_the_measured_one(language: str, gold: str, prediction: str, f1: float) -> None:
    measured = score_multilingual_squad([prediction], [gold], scheme="m2qa", language=language).result["f1"]
    assert round(measured / 100, 2) == f1


@pytest.mark.parametrize(
    ("language", "gold", "prediction"), [p[:3] for p in EXACT_PAIRS if p[3] is None and p[0] != "zh"]
)
def test_nltk_tokens_of_the_remaining_pairs_share_nothing(language: str, gold: str, prediction: str) -> None:
    measured = score_multilingual_squad([prediction], [gold], language=language, tokenizer="nltk-rule").result["f1"]
    assert measured == 0.0


@pytest.mark.parametrize(("language", "gold", "prediction"), DIFFERENT_PAIRS)
def test_unicode_policy_keeps_different_what_readers_call_different(language: str, gold: str, prediction: str) -> None:
    assert exact(gold, prediction, language, "unicode") == 0.0


@pytest.mark.parametrize(("language", "gold", "prediction", "normalization"), ACCEPTED_MERGES)
def test_accepted_merges(language: str, gold: str, prediction: str, normalization: str) -> None:
    assert exact(gold, prediction, language, normalization) == 100.0


def test_exact_match_ignores_spaces_only_where_words_are_not_spaced() -> None:
    without_spaces = {row.code for row in LANGUAGES if exact("ab", "a b", row.code, "unicode") == 100.0}
    assert without_spaces == {"zh", "ja", "th", "lo", "km", "my", "bo"}


# ----------------------------------------------------------------------------------------- steps and order

COMMON = ["delete_invisible_and_optional_marks", "delete_unicode_punctuation", "compose"]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (
            "en",
            ["compose", "fold_compatibility", "casefold", "ascii_digits", *COMMON, "delete_words(a|an|the)"],
        ),
        ("tr", ["compose", "fold_compatibility", "turkish_i", "casefold", "ascii_digits", *COMMON]),
        (
            "th",
            [
                "compose",
                "fold_compatibility",
                "casefold",
                "ascii_digits",
                "separate_at_zero_width_space",
                *COMMON,
            ],
        ),
        ("bo", ["compose", "fold_compatibility", "casefold", "ascii_digits", "separate_at_tsheg", *COMMON]),
        ("ru", ["compose", "fold_compatibility", "casefold", "ascii_digits", *COMMON]),
    ],
)
def test_unicode_steps_are_named_and_ordered(code: str, names: list[str]) -> None:
    assert [step.__name__ for step in unicode_policy(code).steps] == names


def test_squad_steps_are_named_and_ordered() -> None:
    assert [step.__name__ for step in SQUAD] == [
        "lower",
        "delete_ascii_punctuation",
        "replace_english_articles",
    ]


def test_delete_words_deletes_whole_words_only() -> None:
    assert delete_words(["der", "die"])("die  dieb der\tadern") == "dieb adern"


# ---------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("policy", POLICIES)
@unhurried
@given(any_text)
def test_words_are_never_blank_and_hold_no_white_space(policy: Normalizer, text: str) -> None:
    words = policy(text)
    assert all(words)
    assert " ".join(words).split() == words


# Not so with U+0307 (deleted after i, wherever it came from) and the Thai and Lao NIKHAHIT (half of SARA AM):
# when punctuation between them and their letter is deleted, the step that joins them is over.
RESTLESS = {"\u0307", "\u0e4d", "\u0ecd"}
restful_text = any_text.filter(lambda text: RESTLESS.isdisjoint(unicodedata.normalize("NFD", text.casefold())))


@pytest.mark.parametrize("code", BRANCHES)
@unhurried
@given(restful_text)
def test_unicode_policy_is_idempotent(code: str, text: str) -> None:
    words = unicode_policy(code)(text)
    assert unicode_policy(code)(" ".join(words)) == words


@pytest.mark.parametrize("text", ["i!\u0307", "\u0e4d!\u0e32"])
def test_unicode_policy_is_not_idempotent_where_a_mark_comes_next_to_its_letter(text: str) -> None:
    words = unicode_policy("en")(text)
    assert unicode_policy("en")(" ".join(words)) != words


@unhurried
@given(any_text)
def test_squad_policy_is_idempotent(text: str) -> None:
    words = squad_words(text)
    assert squad_words(" ".join(words)) == words


def test_policies_are_idempotent_on_every_character() -> None:
    text = " ".join(f"x{character}y" for character in ASSIGNED)
    for policy in (squad_words, unicode_policy("ar")):
        words = policy(text)
        assert policy(" ".join(words)) == words


@pytest.mark.parametrize("code", BRANCHES)
@unhurried
@given(any_text)
@example("e\u00ad\u0301")
@example("Å\u0323")
def test_unicode_policy_gives_canonically_equal_texts_the_same_words(code: str, text: str) -> None:
    policy = unicode_policy(code)
    words = policy(text)
    assert policy(unicodedata.normalize("NFC", text)) == words
    assert policy(unicodedata.normalize("NFD", text)) == words
    assert all(unicodedata.is_normalized("NFC", word) for word in words)


@pytest.mark.parametrize("invisible", ["\u00ad", "\u200d", "\u200e", "\u2060", "\ufeff", "\ufe0f"])
@unhurried
@given(restful_text, st.data())
def test_unicode_policy_does_not_see_invisible_characters(invisible: str, text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    assert unicode_policy("en")(text[:place] + invisible + text[place:]) == unicode_policy("en")(text)


@unhurried
@given(any_text)
def test_unicode_policy_leaves_no_punctuation_format_character_or_foreign_digit(text: str) -> None:
    for character in "".join(unicode_policy("en")(text)):
        category = unicodedata.category(character)
        assert not category.startswith("P")
        assert category != "Cf"
        assert category != "Nd" or character.isascii()


def test_unicode_policy_breaks_a_word_only_at_white_space_or_spelled_out_phrases() -> None:
    policy = unicode_policy("en")
    broken = {c for c in ASSIGNED if not c.isspace() and len(policy(f"x{c}y")) > 1}
    assert broken == {"\ufdfa", "\ufdfb"}  # two Arabic formulas of several words in one character
