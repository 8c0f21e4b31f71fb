"""Thai: PyThaiNLP's dictionary-based newmm."""

from __future__ import annotations

from qa_scoring.extras import distribution_version, require
from qa_scoring.text.tokenizers import Tokenizer


def newmm() -> Tokenizer:
    """Maximal matching over PyThaiNLP's own word list."""
    module = require("pythainlp.tokenize", extra="th", purpose="Thai (tokenizer='newmm')")
    word_tokenize = module.word_tokenize
    word_tokenize("ก", engine="newmm")  # builds the word list, which each thread would build for itself
    return Tokenizer(
        "newmm",
        distribution_version("pythainlp"),
        lambda words: word_tokenize(" ".join(words), engine="newmm", keep_whitespace=False) if words else [],
    )
