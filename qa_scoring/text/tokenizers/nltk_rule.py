r"""What NLTK's ``word_tokenize`` does to a normalised answer, without NLTK and without punkt.

After SQuAD normalisation no ``.``, ``?`` or ``!`` survives, so punkt sees one sentence, whatever its language;
of the Treebank rules only those without ASCII punctuation can still match: seven quotation marks become tokens,
six English contractions are split, in every language. NLTK 3.8.1 (pinned by M2QA) is the rule; from 3.9.3 on
NLTK also detaches the dashes U+2012–U+2015, which is ``nltk-rule-dashes``. ``tests/text/test_nltk_parity.py`` holds
both against the library.
"""

from __future__ import annotations

import re

from qa_scoring.extras import distribution_version, require
from qa_scoring.text.normalize import Words
from qa_scoring.text.tokenizers import Tokenizer, Tokens

_QUOTES = "«“‘„»”’"
_DASHES = "‒–—―"
_ARABIC_PUNCTUATION = "،؛؟"

# Treebank's contractions, as NLTK 3.8.1 has them; those with an apostrophe cannot occur after normalisation.
_CONTRACTIONS = re.compile(
    r"\b(?:(can)(not)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me))\b|\b(wan)(na)(?=\s)", re.IGNORECASE
)
_CONTRACTED_WORDS = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}


def _split_contraction(match: re.Match[str]) -> str:
    first, second = (part for part in match.groups() if part is not None)
    return f" {first} {second} "


def _make(name: str, version: str, detached: str) -> Tokenizer:
    detach = re.compile(f"[{detached}]")
    contracted = _CONTRACTED_WORDS.keys()

    def tokenize(words: Words) -> Tokens:
        text = " ".join(words)
        if text.isascii() and text.isprintable():  # words of letters and digits only: no regular expression
            if contracted.isdisjoint(words):
                return words
            return [part for word in words for part in _CONTRACTED_WORDS.get(word, (word,))]
        text = detach.sub(r" \g<0> ", text) + " "
        return _CONTRACTIONS.sub(_split_contraction, text).split()

    return Tokenizer(name, version, tokenize)


def nltk_rule() -> Tokenizer:
    """NLTK 3.8.1's rule."""
    return _make("nltk-rule", "3.8.1", _QUOTES)


def nltk_rule_with_dashes() -> Tokenizer:
    """The rule of NLTK 3.9.3 and later: dashes are tokens too."""
    return _make("nltk-rule-dashes", "3.9.3", _QUOTES + _DASHES)


def nltk_rule_for_arabic_script() -> Tokenizer:
    """NLTK 3.8.1's rule, with the comma, semicolon and question mark of Arabic script detached."""
    return _make("nltk-rule-arabic", "3.8.1", _QUOTES + _ARABIC_PUNCTUATION)


def nltk_library() -> Tokenizer:
    """The installed NLTK itself; ``preserve_line=True`` needs no punkt data."""
    word_tokenize = require("nltk.tokenize", extra="all", purpose="tokenizer='nltk'").word_tokenize
    return Tokenizer(
        "nltk",
        distribution_version("nltk"),
        lambda words: word_tokenize(" ".join(words), preserve_line=True),
    )
