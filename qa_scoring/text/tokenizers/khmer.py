"""Khmer: khmercut's conditional random field."""

from __future__ import annotations

from qa_scoring.extras import distribution_version, require
from qa_scoring.text.tokenizers import Tokenizer


def khmercut() -> Tokenizer:
    """Words of khmercut, blanks dropped."""
    tokenize = require("khmercut", extra="km", purpose="Khmer (tokenizer='khmercut')").tokenize
    tokenize("ក")  # opens the model, which khmercut puts off to the first call and does not guard against threads
    return Tokenizer(
        "khmercut",
        distribution_version("khmercut"),
        lambda words: [token for token in tokenize(" ".join(words)) if token.strip()] if words else [],
    )
