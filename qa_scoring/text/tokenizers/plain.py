"""Tokenizers that need no more than string methods."""

from __future__ import annotations

from qa_scoring.text.normalize import Words
from qa_scoring.text.tokenizers import Tokenizer, Tokens


def whitespace() -> Tokenizer:
    """Words between white space (SQuAD)."""
    return Tokenizer("whitespace", "1", lambda words: words)


def characters() -> Tokenizer:
    """Characters without white space (KorQuAD)."""
    return Tokenizer("char", "1", lambda words: list("".join(words)))


def _tsheg_tokens(words: Words) -> Tokens:
    return " ".join(words).replace("\u0f0b", " ").replace("\u0f0c", " ").split()


def tsheg() -> Tokenizer:
    """Tibetan syllables: what stands between tshegs (U+0F0B, U+0F0C) and white space."""
    return Tokenizer("tsheg", "1", _tsheg_tokens)
