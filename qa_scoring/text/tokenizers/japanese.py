"""Japanese: fugashi (MeCab) with the UniDic dictionary of unidic-lite."""

from __future__ import annotations

from pathlib import Path

from qa_scoring.extras import distribution_version, require
from qa_scoring.text.tokenizers import Tokenizer, Tokens


def fugashi() -> Tokenizer:
    """MeCab short units; the dictionary is named, so that another one installed beside it is not taken."""
    tagger_package = require("fugashi", extra="ja", purpose="Japanese (tokenizer='fugashi')")
    dictionary = require("unidic_lite", extra="ja", purpose="Japanese (tokenizer='fugashi')")
    folder = Path(dictionary.DICDIR)
    tagger = tagger_package.GenericTagger(f'-r "{folder / "mecabrc"}" -d "{folder}" -Owakati')

    def tokenize(words: list[str]) -> Tokens:
        # MeCab reads a C string, which a NUL character would end.
        result: Tokens = tagger.parse(" ".join(words).replace("\0", " ")).split()
        return result

    version = f"{distribution_version('fugashi')}+unidic-lite.{distribution_version('unidic-lite')}"
    return Tokenizer("fugashi", version, tokenize)
