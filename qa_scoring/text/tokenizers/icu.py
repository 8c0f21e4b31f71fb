"""ICU's word breaker: Unicode's rules, and dictionaries for Chinese, Japanese, Thai, Khmer, Lao, Burmese."""

from __future__ import annotations

from qa_scoring.extras import distribution_version, require
from qa_scoring.text.tokenizers import Tokenizer


def icu() -> Tokenizer:
    """Segments of the root locale (the locale changes nothing here), blanks dropped."""
    package = require("icu4py", extra="icu", purpose="tokenizer='icu' (the default for Lao and Burmese)")
    breaker = require("icu4py.breakers", extra="icu", purpose="tokenizer='icu'").WordBreaker

    def tokens(words: list[str]) -> list[str]:
        # a combining mark at the start of a word clings to the space before it
        found = (token.strip() for token in breaker(" ".join(words), "root"))
        return [token for token in found if token]

    return Tokenizer("icu", f"{distribution_version('icu4py')}+icu.{package.icu_version}", tokens)
