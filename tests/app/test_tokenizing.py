from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from qa_scoring.app import limits
from qa_scoring.app.tokenizing import tokenize_text
from qa_scoring.errors import InputError
from qa_scoring.text.languages import find_language
from qa_scoring.text.normalize import squad_words
from qa_scoring.text.tokenizers import TOKENIZER_NAMES, load_tokenizer

MODULES = {"fugashi", "pythainlp", "khmercut", "icu4py", "rjieba"}


@pytest.fixture
def only_base_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in MODULES | {name for name in sys.modules if name.partition(".")[0] in MODULES}:
        monkeypatch.setitem(sys.modules, name, None)
    load_tokenizer.cache_clear()
    yield
    load_tokenizer.cache_clear()


@pytest.mark.usefixtures("only_base_packages")
def test_what_is_not_installed_is_named_with_what_installs_it() -> None:
    rows = tokenize_text("東京都庁は新宿にある", "ja")
    missing = {row.tokenizer: row.missing for row in rows if row.missing}
    assert set(missing) == {"fugashi", "newmm", "khmercut", "icu", "rjieba"}
    assert 'pip install "qa-scoring[ja]"' in str(missing["fugashi"])
    assert rows[0].tokenizer == "fugashi"  # the default comes first all the same
    assert rows[0].default
    assert [bool(row.missing) for row in rows[1:]] == sorted(bool(row.missing) for row in rows[1:])
    assert {row.tokenizer for row in rows} == set(TOKENIZER_NAMES)


@pytest.mark.usefixtures("only_base_packages")
@pytest.mark.parametrize("code", ["en", "zh", "ar", "ko"])
def test_tokens_are_those_of_the_registry(code: str) -> None:
    sample = find_language(code).sample
    rows = tokenize_text(sample, code)
    for row in rows:
        if not row.missing:
            assert row.tokens == load_tokenizer(row.tokenizer)(squad_words(sample))
            assert str(row.version).startswith(row.tokenizer)
    assert [row.tokenizer for row in rows if row.default] == [find_language(code).tokenizer]
    assert not rows[0].missing


@pytest.mark.usefixtures("only_base_packages")
def test_the_normaliser_runs_first() -> None:
    by_name = {
        policy: {row.tokenizer: row.tokens for row in tokenize_text("DAS HAUS", "de", policy)}
        for policy in ("squad", "unicode")
    }
    assert by_name["squad"]["whitespace"] == ["das", "haus"]
    assert by_name["unicode"]["whitespace"] == ["haus"]


@pytest.mark.parametrize(
    ("text", "language", "normalization", "message"),
    [
        ("x" * (limits.TOKENIZED_CHARACTERS + 1), "en", "squad", "The text has 2,001 characters; at most 2,000"),
        ("a\ud800", "en", "squad", r"Character 2 of the text is half of a pair \(U\+D800\)"),
        (None, "en", "squad", "The text must be a text; got NoneType"),
        ("x", "xx", "squad", "Unknown language 'xx'"),
        ("x", "en", "loud", "'normalization' must be 'squad' or 'unicode'"),
    ],
)
def test_what_cannot_be_tokenized(text: str, language: str, normalization: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tokenize_text(text, language, normalization)


def test_the_longest_text_is_read() -> None:
    assert tokenize_text("x" * limits.TOKENIZED_CHARACTERS, "en")[0].tokens
