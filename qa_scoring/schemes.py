"""Schemes: how strings are compared, as one decision with a name.

``squad``, ``m2qa``, ``mlqa``, ``cmrc``, ``korquad`` and ``jaquad`` reproduce published scripts, bugs included.
Without a scheme, the language decides: SQuAD's (or the ``"unicode"``) normalisation, then the tokenizer of the
language registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.extras import distribution_version
from qa_scoring.overlap.scoring import OverlapRule, longest_run_f1
from qa_scoring.text import normalize
from qa_scoring.text.languages import Language, find_language
from qa_scoring.text.normalize import Normalizer, Words
from qa_scoring.text.tokenizers import Tokenizer, Tokens, custom_tokenizer, load_tokenizer

TokenizerChoice = str | Callable[[str], list[str]]


@dataclass(frozen=True)
class Policy:
    """A rule, with what a signature must say of it.

    Args:
        rule: How two strings are compared.
        scheme: Name of the scheme, or ``"default"``.
        language: Registry code, or ``"-"`` where the language plays no part.
        normalization: Name of the normaliser.
        tokenizer: Name and version of the tokenizer.
        unanswerable: Whether the scheme has questions without an answer.
    """

    rule: OverlapRule
    scheme: str
    language: str
    normalization: str
    tokenizer: str
    unanswerable: bool = True


def make_policy(
    language: str | None = None,
    *,
    tokenizer: TokenizerChoice | None = None,
    use_word_tokenizer: bool = True,
    normalization: str = "squad",
    scheme: str | None = None,
) -> Policy:
    """Decide how strings are compared.

    Args:
        language: Code, name or tag; needed unless the tokenizer or scheme does without.
        tokenizer: A tokenizer's name, or a function from string to list of strings, in place of the language's.
        use_word_tokenizer: False splits at white space, as in M2QA's metric.
        normalization: ``"squad"`` or ``"unicode"``.
        scheme: None, or the name of a published script.

    Returns:
        The policy.

    Raises:
        InputError: An argument is unknown, missing, or contradicts another.
        MissingPackageError: The tokenizer's package is not installed.

    Example:
        >>> make_policy("de").rule.tokenize(["„faust“"])
        ['„', 'faust', '“']
    """
    if not isinstance(use_word_tokenizer, bool):
        raise parameter_error("use_word_tokenizer", "True or False", use_word_tokenizer)
    if normalization not in ("squad", "unicode"):
        raise parameter_error("normalization", "'squad' or 'unicode'", normalization)
    if scheme is None:
        return _default_policy(language, tokenizer, use_word_tokenizer, normalization)
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise parameter_error("scheme", f"None or one of {', '.join(map(repr, SCHEMES))}", scheme)
    if (
        tokenizer is not None
        or normalization != "squad"
        or (not use_word_tokenizer and scheme not in ("m2qa", "squad"))
    ):
        raise InputError(
            f"scheme={scheme!r} reproduces a published script and fixes normalisation and tokenizer; leave out "
            f"'tokenizer', 'normalization' and 'use_word_tokenizer', or the scheme."
        )
    if scheme == "m2qa" and not use_word_tokenizer:
        return _m2qa_whitespace()
    return SCHEMES[scheme](language)


# -------------------------------------------------------------------------------------- default


def _default_policy(
    language: str | None, choice: TokenizerChoice | None, use_word_tokenizer: bool, normalization: str
) -> Policy:
    if choice is not None and not use_word_tokenizer:
        raise InputError("use_word_tokenizer=False splits at white space; leave out 'tokenizer', or set it to True.")
    row = None if language is None else find_language(language)
    if choice is None and not use_word_tokenizer:
        choice = "whitespace"
    if choice is None:
        if row is None:
            raise missing_language()
        choice = row.tokenizer
    if isinstance(choice, str):
        tokenizer = load_tokenizer(choice)
    elif callable(choice):
        tokenizer = custom_tokenizer(choice)
    else:
        raise parameter_error("tokenizer", "a tokenizer's name or a function from string to list of strings", choice)
    if normalization == "squad":
        return _squad_policy(tokenizer, "default", row)
    code = None if row is None else row.code
    steps = normalize.unicode_steps(code, () if row is None else row.articles)
    return Policy(
        rule=OverlapRule(
            normalize=Normalizer("unicode", steps),
            tokenize=tokenizer,
            exact_without_spaces=row is not None and not row.spaces,
        ),
        scheme="default",
        language=code or "-",
        normalization=f"unicode-{normalize.UNICODE_VERSION}",
        tokenizer=_describe(tokenizer),
    )


def _describe(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.name}-{tokenizer.version}"


def missing_language() -> InputError:
    """Build the error for a call that needs a language and has none."""
    return InputError(
        "The language is missing, and the tokenizer depends on it. Pass language='de' (a code, name or tag), or "
        "load the metric with it: evaluate.load(path, 'de'). Or choose the tokenizer yourself, for example "
        "tokenizer='whitespace' or 'unicode', or scheme='squad' for evaluate's squad_v2."
    )


def _squad_policy(tokenizer: Tokenizer, scheme: str, row: Language | None) -> Policy:
    return Policy(
        rule=OverlapRule(normalize=normalize.squad_words, tokenize=tokenizer.tokenize),
        scheme=scheme,
        language=row.code if row else "-",
        normalization="squad",
        tokenizer=_describe(tokenizer),
    )


# ----------------------------------------------------------------------------- published scripts


def _squad(language: str | None) -> Policy:
    """The official SQuAD 1.1 and 2.0 scripts, ``evaluate``'s squad_v2, XQuAD, XTREME, TyDiQA-GoldP."""
    return _squad_policy(load_tokenizer("whitespace"), "squad", None)


def _m2qa(language: str | None) -> Policy:
    """M2QA's metric (Engländer et al. 2024): jieba with blank tokens for Chinese, else NLTK 3.8.1's rule.

    Languages that its code cannot run get the tokenizer of the language registry.
    """
    if language is None:
        raise missing_language()
    row = find_language(language)
    return _squad_policy(load_tokenizer("jieba-blanks" if row.code == "zh" else row.tokenizer), "m2qa", row)


def _m2qa_whitespace() -> Policy:
    return _squad_policy(load_tokenizer("whitespace"), "m2qa", None)


# MLQA (Lewis et al. 2020), mlqa_evaluation_v1.py. Its lists of "articles", damage included: Vietnamese words that
# are none, and the Arabic ال wherever it stands (the pattern's other half can never match).
_MLQA_ARTICLES = {
    "en": r"\b(?:a|an|the)\b",
    "es": r"\b(?:un|una|unos|unas|el|la|los|las)\b",
    "hi": None,
    "vi": r"\b(?:của|là|cái|chiếc|những)\b",
    "de": r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": "ال",
    "zh": None,
}
# An ideograph alone, or a run of anything else between spaces; the range is the script's own and leaves out the
# ideographs beyond U+9FA5.
_IDEOGRAPHS_OR_WORDS = re.compile("[\u4e00-\u9fa5]|[^\\s\u4e00-\u9fa5]+")


def _mlqa(language: str | None) -> Policy:
    """MLQA's script: Unicode punctuation deleted, articles by language, ideographs alone; blank = blank has F1 0."""
    if language is None:
        raise missing_language()
    code = find_language(language).code
    if code not in _MLQA_ARTICLES:
        raise InputError(f"scheme='mlqa' knows the languages {', '.join(_MLQA_ARTICLES)}; got {shorten(language)}.")
    steps: list[normalize.Step] = [normalize.lower, normalize.delete_unicode_punctuation]
    articles = _MLQA_ARTICLES[code]
    if articles:
        steps.append(partial(re.compile(articles).sub, " "))
    split = cast(Callable[[str], Words], _IDEOGRAPHS_OR_WORDS.findall) if code == "zh" else str.split
    return Policy(
        rule=OverlapRule(
            normalize=Normalizer("mlqa", tuple(steps), split),
            tokenize=_as_they_are,
            blank_matches=False,
            drop_blank_references=False,
        ),
        scheme="mlqa",
        language=code,
        normalization=f"mlqa-{normalize.UNICODE_VERSION}",
        tokenizer="mlqa",
        unanswerable=False,
    )


def _as_they_are(words: Words) -> Tokens:
    return words


# CMRC 2018 (Cui et al. 2019), cmrc2018_evaluate.py version 6. Its list also has the two-character entry '……',
# which never equals one character, so … stays; so do . , ! ? ( ).
_CMRC_DELETED = str.maketrans("", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")


def _cmrc_normalize(text: str) -> Words:
    return [text.lower().strip().translate(_CMRC_DELETED)]


def _cmrc(language: str | None) -> Policy:
    """CMRC 2018's script: ideographs alone, NLTK on what is between, F1 of the longest common run.

    The script also runs punkt over what is between; that matters only where two Latin sentences stand in one
    answer (11 of 20,000 spans, none of 9,657 references), and is left out.
    """
    _expect_language("cmrc", language, "zh")
    from nltk.tokenize.destructive import NLTKWordTokenizer

    split_latin = NLTKWordTokenizer().tokenize
    pieces = re.compile("[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+")

    def tokenize(words: Words) -> Tokens:
        tokens: Tokens = []
        for piece in pieces.findall(words[0]):
            if "\u4e00" <= piece[0] <= "\u9fa5":
                tokens.append(piece)
            else:
                tokens += split_latin(piece)
        return tokens

    return Policy(
        rule=OverlapRule(
            normalize=_cmrc_normalize,
            tokenize=tokenize,
            f1=longest_run_f1,
            blank_matches=False,
            drop_blank_references=False,
        ),
        scheme="cmrc",
        language="zh",
        normalization="cmrc",
        tokenizer=f"cmrc-nltk.{distribution_version('nltk')}",
        unanswerable=False,
    )


# KorQuAD 1.0 (Lim et al. 2019), evaluate-v1.0.py.
_KORQUAD_TO_SPACE = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))


def _korquad_symbols(text: str) -> str:
    return text.translate(_KORQUAD_TO_SPACE)


def _korquad(language: str | None) -> Policy:
    """KorQuAD 1.0's script: some symbols become spaces, ASCII punctuation goes, F1 over characters."""
    _expect_language("korquad", language, "ko")
    steps = (_korquad_symbols, normalize.lower, normalize.delete_ascii_punctuation)
    return Policy(
        rule=OverlapRule(
            normalize=Normalizer("korquad", steps),
            tokenize=load_tokenizer("char").tokenize,
            blank_matches=False,
            drop_blank_references=False,
        ),
        scheme="korquad",
        language="ko",
        normalization="korquad",
        tokenizer="char-1",
        unanswerable=False,
    )


def _jaquad(language: str | None) -> Policy:
    """JaQuAD's notebook (So et al. 2022): raw characters, exact match is F1 = 1, first reference only."""
    _expect_language("jaquad", language, "ja")
    return Policy(
        rule=OverlapRule(
            normalize=Normalizer("none", ()),
            tokenize=load_tokenizer("char").tokenize,
            drop_blank_references=False,
            exact_is_full_f1=True,
            first_reference_only=True,
        ),
        scheme="jaquad",
        language="ja",
        normalization="none",
        tokenizer="char-1",
        unanswerable=False,
    )


def _expect_language(scheme: str, language: str | None, code: str) -> None:
    if language is not None and find_language(language).code != code:
        raise InputError(f"scheme={scheme!r} is for the language {code!r}; got {shorten(language)}.")


SCHEMES: dict[str, Callable[[str | None], Policy]] = {
    "squad": _squad,
    "m2qa": _m2qa,
    "mlqa": _mlqa,
    "cmrc": _cmrc,
    "korquad": _korquad,
    "jaquad": _jaquad,
}
