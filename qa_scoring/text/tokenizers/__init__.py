"""Tokenizers by name: a table of ``module:factory`` strings, imported when first used.

A tokenizer turns normalised words (see ``qa_scoring.text.normalize``) into the tokens that token F1 counts.
Adding one: a factory that returns a ``Tokenizer``, in a file here, and a line in the table.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import cast

from qa_scoring.errors import InputError, shorten
from qa_scoring.text.normalize import Words

Tokens = list[str]


@dataclass(frozen=True)
class Tokenizer:
    """A named function from normalised words to tokens.

    Args:
        name: Registry name, or where a custom function comes from.
        version: Version of the code and of its dictionary; two versions may give different tokens.
        tokenize: The function.

    Example:
        >>> load_tokenizer("char")(["ab", "c"])
        ['a', 'b', 'c']
    """

    name: str
    version: str
    tokenize: Callable[[Words], Tokens]

    def __call__(self, words: Words) -> Tokens:
        """Return the tokens of one normalised string."""
        return self.tokenize(words)


_FACTORIES = {
    "whitespace": "plain:whitespace",
    "char": "plain:characters",
    "tsheg": "plain:tsheg",
    "unicode": "scripts:script_aware",
    "nltk-rule": "nltk_rule:nltk_rule",
    "nltk-rule-dashes": "nltk_rule:nltk_rule_with_dashes",
    "nltk-rule-arabic": "nltk_rule:nltk_rule_for_arabic_script",
    "nltk": "nltk_rule:nltk_library",
    "jieba": "chinese:jieba",
    "jieba-blanks": "chinese:jieba_with_blanks",
    "rjieba": "chinese:rjieba",
    "fugashi": "japanese:fugashi",
    "newmm": "thai:newmm",
    "khmercut": "khmer:khmercut",
    "icu": "icu:icu",
}

TOKENIZER_NAMES = tuple(_FACTORIES)


_LOADING = threading.RLock()  # jieba and khmercut fail when two threads open them at once


@cache
def load_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of this name, importing what it needs.

    Args:
        name: One of ``TOKENIZER_NAMES``.

    Returns:
        The tokenizer; the same object for the same name.

    Raises:
        InputError: No tokenizer has this name.
        MissingPackageError: Its package is not installed; another one is never taken instead.

    Example:
        >>> load_tokenizer("whitespace")(["two", "words"])
        ['two', 'words']
    """
    if name not in _FACTORIES:
        raise InputError(
            f"Unknown tokenizer {shorten(name)}. Choose one of: {', '.join(TOKENIZER_NAMES)}; "
            f"or pass a function from string to list of strings."
        )
    module, _, factory = _FACTORIES[name].partition(":")
    with _LOADING:
        make = getattr(importlib.import_module(f"qa_scoring.text.tokenizers.{module}"), factory)
        return cast(Tokenizer, make())


def custom_tokenizer(function: Callable[[str], Tokens]) -> Tokenizer:
    """Wrap a user's function from normalised string to tokens.

    Args:
        function: Takes the normalised text, returns a list of strings.

    Returns:
        A tokenizer that checks what the function returns.

    Raises:
        InputError: On use, when the function returns anything but a list of strings.

    Example:
        >>> custom_tokenizer(str.split)(["a", "b"])
        ['a', 'b']
    """
    label = getattr(function, "__qualname__", type(function).__qualname__)
    name = f"{getattr(function, '__module__', '?')}.{label}"

    def tokenize(words: Words) -> Tokens:
        text = " ".join(words)
        tokens = function(text)
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise InputError(
                f"The tokenizer {name} must return a list of strings; for {shorten(text)} it returned "
                f"{shorten(tokens)}."
            )
        return tokens

    return Tokenizer(f"custom({name})", "unknown", tokenize)
