"""One text under every tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, field

from qa_scoring.app import limits
from qa_scoring.errors import MissingPackageError
from qa_scoring.schemes import make_policy
from qa_scoring.text.languages import find_language
from qa_scoring.text.tokenizers import TOKENIZER_NAMES


@dataclass(frozen=True)
class Tokenized:
    """What one tokenizer makes of a text.

    Args:
        tokenizer: Its registry name.
        version: Name with versions, as in signatures; None where it is not installed.
        tokens: The tokens.
        default: Whether it is the language's default.
        missing: Where it is not installed, which package it needs and how to install it.
    """

    tokenizer: str
    version: str | None
    tokens: list[str] = field(default_factory=list)
    default: bool = False
    missing: str | None = None


def tokenize_text(text: str, language: str, normalization: str = "squad") -> list[Tokenized]:
    """Tokenize a text with every tokenizer of the registry.

    Args:
        text: At most ``limits.TOKENIZED_CHARACTERS`` characters.
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
    limits.check_text("text", text, limits.TOKENIZED_CHARACTERS)
    default = find_language(language).tokenizer
    rows = [_tokenize(text, name, language, normalization, name == default) for name in TOKENIZER_NAMES]
    return sorted(rows, key=lambda row: (not row.default, row.missing is not None))


def _tokenize(text: str, name: str, language: str, normalization: str, default: bool) -> Tokenized:
    try:
        policy = make_policy(language, tokenizer=name, normalization=normalization)
    except MissingPackageError as error:
        return Tokenized(name, None, default=default, missing=str(error))
    return Tokenized(name, policy.tokenizer, list(policy.rule.tokenize(policy.rule.normalize(text))), default)
