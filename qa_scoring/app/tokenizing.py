"""One text under every tokenizer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from qa_scoring.errors import InputError, MissingPackageError
from qa_scoring.schemes import make_policy
from qa_scoring.text.languages import LANGUAGES, find_language
from qa_scoring.text.tokenizers import TOKENIZER_NAMES

CHARACTERS = 2_000
"""Longest text, in characters."""

LANGUAGE_CHOICES = sorted((f"{language.name.capitalize()} ({language.code})", language.code) for language in LANGUAGES)
"""Label and code of every language, by name."""


@dataclass(frozen=True)
class Tokenized:
    """What one tokenizer makes of a text.

    Args:
        tokenizer: Its registry name.
        version: Name with versions, as in signatures; None where it is not installed.
        tokens: The tokens.
        milliseconds: How long it took, once loaded.
        default: Whether it is the language's default.
        missing: Where it is not installed, which package it needs and how to install it.
    """

    tokenizer: str
    version: str | None
    tokens: list[str] = field(default_factory=list)
    milliseconds: float = 0.0
    default: bool = False
    missing: str | None = None


def tokenize_text(text: str, language: str, normalization: str = "squad") -> list[Tokenized]:
    """Tokenize a text with every tokenizer of the registry.

    Args:
        text: At most ``CHARACTERS`` characters.
        language: Code, name or tag.
        normalization: ``"squad"`` or ``"unicode"``, which runs first, as it does in scoring.

    Returns:
        One row per tokenizer: the language's default, the other installed ones, those that are not installed.

    Raises:
        InputError: The text is too long or no text, or the language or normalisation is unknown.

    Example:
        >>> [row.tokens for row in tokenize_text("Köln am Rhein", "de")][0]
        ['köln', 'am', 'rhein']
    """
    check_text("text", text, CHARACTERS)
    default = find_language(language).tokenizer
    rows = [_tokenize(text, name, language, normalization, name == default) for name in TOKENIZER_NAMES]
    return sorted(rows, key=lambda row: (not row.default, row.missing is not None))


def _tokenize(text: str, name: str, language: str, normalization: str, default: bool) -> Tokenized:
    try:
        policy = make_policy(language, tokenizer=name, normalization=normalization)
    except MissingPackageError as error:
        return Tokenized(name, None, default=default, missing=str(error))
    words = policy.rule.normalize(text)
    policy.rule.tokenize(words)  # some load on first use, which is not what the time is about
    start = time.perf_counter()
    tokens = policy.rule.tokenize(words)
    return Tokenized(name, policy.tokenizer, list(tokens), 1000 * (time.perf_counter() - start), default)


def check_text(name: str, text: object, longest: int) -> None:
    """Validate a text that was typed or sent.

    Args:
        name: What it is, for the message.
        text: Anything.
        longest: Longest text, in characters.

    Raises:
        InputError: It is not a text, too long, or cannot be written as UTF-8.

    Example:
        >>> check_text("answer", "in Paris", longest=100)
    """
    if not isinstance(text, str):
        raise InputError(f"The {name} must be a text; got {type(text).__name__}.")
    if len(text) > longest:
        raise InputError(f"The {name} has {len(text):,} characters; at most {longest:,} are read here. Shorten it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"Character {error.start + 1} of the {name} is half of a pair (U+{ord(text[error.start]):04X}), which is "
            f"no text. Remove it."
        ) from error
