"""The language registry, held against the table of TOKENIZATION.md, section 6, restated here in full."""

from __future__ import annotations

import pytest

from qa_scoring.errors import InputError
from qa_scoring.text.languages import LANGUAGES, NLTK_NAMES, find_language
from qa_scoring.text.normalize import squad_words
from qa_scoring.text.tokenizers import TOKENIZER_NAMES, load_tokenizer

# code: default tokenizer, other names that must lead to it
TABLE = {
    "zh": ("jieba", "chinese mandarin cmn zho chi zh-CN zh-SG zh-Hans zh-TW zh-HK zh-Hant"),
    "ja": ("fugashi", "japanese jpn ja-JP"),
    "th": ("newmm", "thai tha"),
    "ko": ("char", "korean kor ko-KR"),
    "km": ("khmercut", "khmer khm"),
    "lo": ("icu", "lao"),
    "my": ("icu", "burmese myanmar mya"),
    "bo": ("tsheg", "tibetan bod tib"),
    # the languages of NLTK's punkt models: NLTK's name, ISO 639-3, a region tag
    "cs": ("nltk-rule", "czech ces cs-CZ"),
    "da": ("nltk-rule", "danish dan da-DK"),
    "nl": ("nltk-rule", "dutch nld nl-BE"),
    "en": ("nltk-rule", "english eng en-US en-GB"),
    "et": ("nltk-rule", "estonian est et-EE"),
    "fi": ("nltk-rule", "finnish fin fi-FI"),
    "fr": ("nltk-rule", "french fra fr-CA"),
    "de": ("nltk-rule", "german deu de-AT de-CH"),
    "el": ("nltk-rule", "greek ell el-GR"),
    "it": ("nltk-rule", "italian ita it-CH"),
    "ml": ("nltk-rule", "malayalam mal ml-IN"),
    "no": ("nltk-rule", "norwegian nor nb nn nob nno nb-NO nn-NO"),
    "pl": ("nltk-rule", "polish pol pl-PL"),
    "pt": ("nltk-rule", "portuguese por pt-BR"),
    "ru": ("nltk-rule", "russian rus ru-RU"),
    "sl": ("nltk-rule", "slovene slovenian slv sl-SI"),
    "es": ("nltk-rule", "spanish spa es-MX es-419"),
    "sv": ("nltk-rule", "swedish swe sv-FI"),
    "tr": ("nltk-rule", "turkish tur tr-TR"),
    # spaced scripts; those of Arabic script with their punctuation detached, as section 6 asks
    "ar": ("nltk-rule-arabic", "arabic ara ar-EG"),
    "fa": ("nltk-rule-arabic", "persian fas fa-IR"),
    "ur": ("nltk-rule-arabic", "urdu urd ur-PK"),
    "he": ("nltk-rule", "hebrew heb he-IL"),
    "hi": ("nltk-rule", "hindi hin hi-IN"),
    "vi": ("nltk-rule", "vietnamese vie vi-VN"),
    "ro": ("nltk-rule", "romanian ron ro-RO"),
    "bn": ("nltk-rule", "bengali ben bn-BD"),
    "te": ("nltk-rule", "telugu tel te-IN"),
    "ta": ("nltk-rule", "tamil tam ta-IN"),
    "sw": ("nltk-rule", "swahili swa sw-KE"),
    "id": ("nltk-rule", "indonesian ind id-ID"),
    "uk": ("nltk-rule", "ukrainian ukr uk-UA"),
    "hu": ("nltk-rule", "hungarian hun hu-HU"),
    "bg": ("nltk-rule", "bulgarian bul bg-BG"),
    "ca": ("nltk-rule", "catalan cat ca-ES"),
    "hr": ("nltk-rule", "croatian hrv hr-HR"),
    "sk": ("nltk-rule", "slovak slk sk-SK"),
    "lt": ("nltk-rule", "lithuanian lit lt-LT"),
    "lv": ("nltk-rule", "latvian lav lv-LV"),
}
# nltk_data/packages/tokenizers/punkt_tab.xml
PUNKT = (
    "czech danish dutch english estonian finnish french german greek italian malayalam norwegian polish "
    "portuguese russian slovene spanish swedish turkish"
)
CODES = [language.code for language in LANGUAGES]


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for code, (_, names) in TABLE.items() for name in (code, *names.split())]
)
def test_names_of_the_table_resolve(name: str, code: str) -> None:
    for spelling in (name, name.upper(), name.title(), name.replace("-", "_"), f" {name}\n"):
        assert find_language(spelling).code == code


@pytest.mark.parametrize("code", TABLE)
def test_default_tokenizers_of_the_table(code: str) -> None:
    assert find_language(code).tokenizer == TABLE[code][0]


@pytest.mark.parametrize("language", LANGUAGES, ids=CODES)
def test_every_row_is_found_by_all_its_names(language) -> None:
    names = (language.code, language.name, *language.aliases)
    assert {find_language(name).code for name in names} == {language.code}
    assert find_language(f"{language.code}-Latn-XX") is language
    assert find_language(f"{language.code.upper()}_XX") is language


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("zh-Hant-TW", "zh"),
        ("zh_Hans_CN", "zh"),
        ("cmn-Hans", "zh"),
        ("sr-Latn-RS", "sr"),
        ("en_US.UTF-8", "en"),
        ("de-DE-1996", "de"),
        ("fil-PH", "tl"),
        ("arb", "ar"),
        ("iw", "he"),
        ("in", "id"),
    ],
)
def test_longer_tags_and_former_codes(tag: str, code: str) -> None:
    assert find_language(tag).code == code


def test_no_name_leads_to_two_languages() -> None:
    owners: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for name in (language.code, language.name, *language.aliases):
            owners.setdefault(name, set()).add(language.code)
    assert {name: codes for name, codes in owners.items() if len(codes) > 1} == {}


def test_names_are_written_as_they_are_looked_up() -> None:
    for language in LANGUAGES:
        for name in (language.code, language.name, *language.aliases):
            assert name == name.strip().lower().replace("_", "-")


def test_codes_are_unique_iso_639_1() -> None:
    assert len(set(CODES)) == len(CODES)
    assert {len(code) for code in CODES} == {2}


def test_nltk_names_are_those_of_the_punkt_models() -> None:
    assert set(PUNKT.split()) == NLTK_NAMES


# ----------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", ["xx", "klingon", "", " ", "-", "e", "germann", "deutsch", "-de", "zhh-CN", "../en"])
def test_unknown_language_lists_the_codes_and_the_ways_out(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_language(name)
    message = str(caught.value)
    assert repr(name) in message
    assert " ".join(sorted(CODES)) in message
    for way_out in ("'whitespace'", "'unicode'", "'char'", "'icu'", "a function from string to list of strings"):
        assert way_out in message


def test_ways_out_named_in_the_error_exist() -> None:
    assert {"whitespace", "unicode", "char", "icu"} <= set(TOKENIZER_NAMES)


@pytest.mark.parametrize("value", [None, 3, b"de", ["de"], 1.5, True])
def test_anything_but_a_string_is_an_error_that_shows_it(value: object) -> None:
    with pytest.raises(InputError, match="'language' must be a language code or name") as caught:
        find_language(value)  # type: ignore[arg-type]
    assert repr(value) in str(caught.value)


# --------------------------------------------------------------------------------------------- what rows hold


@pytest.mark.parametrize("language", LANGUAGES, ids=CODES)
def test_sample_tokenises_with_the_default_tokenizer(language) -> None:
    words = squad_words(language.sample)
    tokens = load_tokenizer(language.tokenizer)(words)
    assert tokens
    assert all(token.strip() for token in tokens)
    # A sample in a script without spaces shows that its tokenizer segments.
    assert len(tokens) > len(words) or language.spaces


@pytest.mark.parametrize("language", LANGUAGES, ids=CODES)
def test_row_says_where_its_choice_comes_from(language) -> None:
    assert language.source.strip()
    assert language.sample.strip()


def test_articles_are_deleted_in_the_languages_of_mlqas_usable_lists_only() -> None:
    assert {language.code for language in LANGUAGES if language.articles} == {"en", "de", "es"}
