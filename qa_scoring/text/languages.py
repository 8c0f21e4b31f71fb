"""The language registry: data only, and the look-up over it.

Every row: ISO 639-1 code, English name, ISO 639-3 codes and other names, the default tokenizer (a name of
``qa_scoring.text.tokenizers``), the articles that ``normalization="unicode"`` deletes, a short sample, and
where the choice comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from qa_scoring.errors import InputError, parameter_error


@dataclass(frozen=True)
class Language:
    """One row of the registry.

    Args:
        code: ISO 639-1 code, the key.
        name: English name in lower case.
        tokenizer: Name of the default tokenizer.
        sample: A short text in the language.
        source: Why this tokenizer: what was measured, or what it follows.
        aliases: Other accepted names: ISO 639-3 codes, NLTK's names, tags.
        articles: Articles deleted by ``normalization="unicode"``.
        spaces: Whether white space separates words; exact match under ``"unicode"`` ignores it if not.
    """

    code: str
    name: str
    tokenizer: str
    sample: str
    source: str
    aliases: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    spaces: bool = True


_NLTK = "M2QA: NLTK's rule (language of NLTK's punkt models)"
_MEASURED = "NLTK's rule; measured on XQuAD"
_UNTESTED = "NLTK's rule; a spaced script, not measured"
_ARABIC = "NLTK's rule with ، ؛ ؟ detached; measured on XQuAD Arabic"
_ARABIC_UNTESTED = "as Arabic; not measured"


def _nltk(code: str, name: str, sample: str, *aliases: str, articles: tuple[str, ...] = ()) -> Language:
    return Language(code, name, "nltk-rule", sample, _NLTK, aliases, articles)


def _spaced(code: str, name: str, sample: str, source: str, *aliases: str) -> Language:
    return Language(code, name, "nltk-rule", sample, source, aliases)


# Articles: MLQA's lists (Lewis et al. 2020) for German, English and Spanish. Its Arabic and Vietnamese lists
# damage other words and are left out.
_GERMAN_ARTICLES = (
    "ein", "eine", "einen", "einem", "eines", "einer", "der", "die", "das", "den", "dem", "des",
)  # fmt: skip
_SPANISH_ARTICLES = ("un", "una", "unos", "unas", "el", "la", "los", "las")

LANGUAGES: tuple[Language, ...] = (
    # Scripts without spaces, and Korean: a tokenizer of their own.
    Language(
        "zh", "chinese", "jieba", "清华大学位于北京", "M2QA: jieba, Simplified and Traditional",
        ("mandarin", "cmn", "zho", "chi", "zh-hans", "zh-hant"), spaces=False,
    ),
    Language(
        "ja", "japanese", "fugashi", "東京都庁は新宿にある", "UniDic; word F1 .99 on UD-GSD",
        ("jpn",), spaces=False,
    ),
    Language("ko", "korean", "char", "서울특별시", "KorQuAD: characters", ("kor",)),
    Language("th", "thai", "newmm", "กรุงเทพมหานครเป็นเมืองหลวง", "newmm, as thai2transformers", ("tha",), spaces=False),
    Language("km", "khmer", "khmercut", "ភ្នំពេញជារាជធានី", "CRF; word F1 .93 on khPOS", ("khm",), spaces=False),
    Language("lo", "lao", "icu", "ວຽງຈັນເປັນນະຄອນຫຼວງຂອງລາວ", "ICU dictionary", ("lao",), spaces=False),
    Language("my", "burmese", "icu", "ရန်ကုန်မြို့", "ICU dictionary", ("myanmar", "mya", "bur"), spaces=False),
    Language("bo", "tibetan", "tsheg", "བོད་ཀྱི་སྐད་ཡིག", "syllables between tshegs", ("bod", "tib"), spaces=False),
    # The 19 languages of NLTK's punkt models.
    _nltk("cs", "czech", "hlavní město Praha", "ces", "cze"),
    _nltk("da", "danish", "byen København", "dan"),
    _nltk("nl", "dutch", "de stad Amsterdam", "nld", "dut"),
    _nltk("en", "english", "what you cannot miss in London", "eng", articles=("a", "an", "the")),
    _nltk("et", "estonian", "Tallinna vanalinn", "est"),
    _nltk("fi", "finnish", "Helsingin kaupunki", "fin"),
    _nltk("fr", "french", "la ville « lumière »", "fra", "fre"),
    _nltk("de", "german", "die „Freie“ Stadt Köln", "deu", "ger", articles=_GERMAN_ARTICLES),
    _nltk("el", "greek", "η πόλη της Αθήνας", "ell", "gre"),
    _nltk("it", "italian", "la città di Roma", "ita"),
    _nltk("ml", "malayalam", "കേരളത്തിന്റെ തലസ്ഥാനം", "mal"),
    _nltk("no", "norwegian", "byen Oslo", "nor", "nb", "nob", "nn", "nno", "bokmål", "bokmal", "nynorsk"),
    _nltk("pl", "polish", "miasto Warszawa", "pol"),
    _nltk("pt", "portuguese", "a cidade de Lisboa", "por"),
    _nltk("ru", "russian", "футбольный клуб «Спартак»", "rus"),
    _nltk("sl", "slovene", "mesto Ljubljana", "slovenian", "slv"),
    _nltk("es", "spanish", "la ciudad de Madrid", "castilian", "spa", articles=_SPANISH_ARTICLES),
    _nltk("sv", "swedish", "staden Stockholm", "swe"),
    _nltk("tr", "turkish", "İstanbul’un Kadıköy ilçesi", "tur"),
    # Spaced scripts that were measured.
    Language("ar", "arabic", "nltk-rule-arabic", "باريس، عاصمة فرنسا", _ARABIC, ("ara", "arb")),
    _spaced("he", "hebrew", "העיר ירושלים", _MEASURED, "heb", "iw"),
    _spaced("hi", "hindi", "नई दिल्ली शहर", _MEASURED, "hin"),
    _spaced("vi", "vietnamese", "thủ đô Hà Nội", "syllables, as MLQA; measured on XQuAD", "vie"),
    _spaced("ro", "romanian", "orașul București", _MEASURED, "ron", "rum"),
    # Spaced scripts that follow them.
    Language("fa", "persian", "nltk-rule-arabic", "شهر تهران، ایران", _ARABIC_UNTESTED, ("farsi", "fas", "per")),
    Language("ur", "urdu", "nltk-rule-arabic", "شہر لاہور، پاکستان", _ARABIC_UNTESTED, ("urd",)),
    _spaced("af", "afrikaans", "die stad Kaapstad", _UNTESTED, "afr"),
    _spaced("az", "azerbaijani", "Bakı şəhəri", _UNTESTED, "aze"),
    _spaced("be", "belarusian", "горад Мінск", _UNTESTED, "bel"),
    _spaced("bg", "bulgarian", "град София", _UNTESTED, "bul"),
    _spaced("bn", "bengali", "ঢাকা শহর", _UNTESTED, "ben", "bangla"),
    _spaced("ca", "catalan", "la ciutat de Barcelona", _UNTESTED, "cat"),
    _spaced("cy", "welsh", "dinas Caerdydd", _UNTESTED, "cym", "wel"),
    _spaced("eu", "basque", "Bilbo hiria", _UNTESTED, "eus", "baq"),
    _spaced("ga", "irish", "cathair Bhaile Átha Cliath", _UNTESTED, "gle"),
    _spaced("gl", "galician", "a cidade de Vigo", _UNTESTED, "glg"),
    _spaced("gu", "gujarati", "અમદાવાદ શહેર", _UNTESTED, "guj"),
    _spaced("hr", "croatian", "grad Zagreb", _UNTESTED, "hrv"),
    _spaced("hu", "hungarian", "Budapest városa", _UNTESTED, "hun"),
    _spaced("hy", "armenian", "Երևան քաղաքը", _UNTESTED, "hye", "arm"),
    _spaced("id", "indonesian", "kota Jakarta", _UNTESTED, "ind", "in"),
    _spaced("is", "icelandic", "borgin Reykjavík", _UNTESTED, "isl", "ice"),
    _spaced("ka", "georgian", "ქალაქი თბილისი", _UNTESTED, "kat", "geo"),
    _spaced("kk", "kazakh", "Алматы қаласы", _UNTESTED, "kaz"),
    _spaced("kn", "kannada", "ಬೆಂಗಳೂರು ನಗರ", _UNTESTED, "kan"),
    _spaced("lt", "lithuanian", "Vilniaus miestas", _UNTESTED, "lit"),
    _spaced("lv", "latvian", "Rīgas pilsēta", _UNTESTED, "lav"),
    _spaced("mk", "macedonian", "градот Скопје", _UNTESTED, "mkd", "mac"),
    _spaced("mr", "marathi", "पुणे शहर", _UNTESTED, "mar"),
    _spaced("ms", "malay", "bandar Kuala Lumpur", _UNTESTED, "msa", "may", "zsm"),
    _spaced("mt", "maltese", "il-belt Valletta", _UNTESTED, "mlt"),
    _spaced("ne", "nepali", "काठमाडौं शहर", _UNTESTED, "nep"),
    _spaced("pa", "punjabi", "ਅੰਮ੍ਰਿਤਸਰ ਸ਼ਹਿਰ", _UNTESTED, "pan", "panjabi"),
    _spaced("si", "sinhala", "කොළඹ නගරය", _UNTESTED, "sin", "sinhalese"),
    _spaced("sk", "slovak", "mesto Bratislava", _UNTESTED, "slk", "slo"),
    _spaced("sq", "albanian", "qyteti i Tiranës", _UNTESTED, "sqi", "alb"),
    _spaced("sr", "serbian", "град Београд", _UNTESTED, "srp"),
    _spaced("sw", "swahili", "jiji la Dodoma", _UNTESTED, "swa", "swh"),
    _spaced("ta", "tamil", "சென்னை நகரம்", _UNTESTED, "tam"),
    _spaced("te", "telugu", "హైదరాబాద్ నగరం", _UNTESTED, "tel"),
    _spaced("tl", "tagalog", "lungsod ng Maynila", _UNTESTED, "tgl", "filipino", "fil"),
    _spaced("uk", "ukrainian", "місто Київ", _UNTESTED, "ukr"),
    _spaced("uz", "uzbek", "Toshkent shahri", _UNTESTED, "uzb"),
)  # fmt: skip

NLTK_NAMES = frozenset(language.name for language in LANGUAGES if language.source == _NLTK)
"""The 19 language names that NLTK's ``word_tokenize`` accepts, and M2QA's metric with it."""


@cache
def _index() -> dict[str, Language]:
    index: dict[str, Language] = {}
    for language in LANGUAGES:
        for name in (language.code, language.name, *language.aliases):
            previous = index.setdefault(name, language)
            if previous is not language:
                raise AssertionError(f"{name!r} names both {previous.code} and {language.code}")
    return index


def find_language(name: str) -> Language:
    """Find a language by code, name, or tag with region or script.

    Args:
        name: For example ``"de"``, ``"german"``, ``"deu"``, ``"de-AT"``, ``"zh_Hant"``; case does not matter.

    Returns:
        The registry row.

    Raises:
        InputError: No row has this name; the message lists the codes and the explicit ways out.

    Example:
        >>> find_language("zh_TW").name
        'chinese'
    """
    if not isinstance(name, str):
        raise parameter_error("language", "a language code or name such as 'de' or 'german'", name)
    tag = name.strip().lower().replace("_", "-")
    index = _index()
    found = index.get(tag) or index.get(tag.partition("-")[0])
    if found is None:
        codes = " ".join(sorted(language.code for language in LANGUAGES))
        raise InputError(
            f"Unknown language {name!r}. Known codes: {codes}. For any other language choose the tokenizer "
            f"yourself: tokenizer='whitespace' (words between spaces), 'unicode' (splits scripts written "
            f"without spaces into characters), 'char', 'icu', or a function from string to list of strings."
        )
    return found
