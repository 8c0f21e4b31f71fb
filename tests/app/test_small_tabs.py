"""The tabs Judge and Languages, as a client of the running app sees them."""

from __future__ import annotations

import html
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

gr = pytest.importorskip("gradio")
gradio_client = pytest.importorskip("gradio_client")

from qa_scoring.app.examples import EXAMPLES  # noqa: E402
from qa_scoring.app.tabs import judge, languages, parts  # noqa: E402
from qa_scoring.text.languages import LANGUAGES  # noqa: E402


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
        with gr.Blocks(analytics_enabled=False) as page:
            for tab in (judge, languages):
                with gr.Tab():
                    tab.add()
        _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
        yield gradio_client.Client(address, verbose=False)
        page.close()


def test_parameters_have_names(client: Any) -> None:
    endpoints = client.view_api(return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/judge", "/tokenize"}
    assert [parameter["parameter_name"] for parameter in endpoints["/judge"]["parameters"]] == [
        "question", "references", "answer", "language", "any_language",
    ]  # fmt: skip


def test_judge(client: Any) -> None:
    cards, tokens, figures = client.predict("Nerede?", "Urla", "Urla’da <script>", "tr", False, api_name="/judge")
    assert figures["exact"] == 0
    assert figures["sas"] is None
    assert "English only" in cards
    assert "<script>" not in tokens
    assert "Urla’da &lt;script&gt;" in tokens


def test_judge_in_english(client: Any) -> None:
    pytest.importorskip("torch")
    _, _, figures = client.predict("Who?", "Marie Curie", "Curie", "en", False, api_name="/judge")
    assert 0 < figures["sas"] <= 1
    assert figures["ava_correct"] == (figures["ava_score"] >= figures["ava_threshold"])


def test_tokenize(client: Any) -> None:
    table, rows = client.predict("باريس، فرنسا", "ar", "squad", api_name="/tokenize")
    assert rows[0]["tokenizer"] == "nltk-rule-arabic"
    assert rows[0]["tokens"] == ["باريس", "،", "فرنسا"]
    assert 'dir="rtl"' in table


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    pytest.importorskip("torch")
    question, references, answer, language, _, tokens, figures = judge.judge_example(name, False)
    assert figures == judge.judge(question, references, answer, language)[2]
    assert 0 < figures["f1"] <= 1
    assert html.escape(answer) in tokens
    text, language, _, rows = languages.tokenize_example(name, "unicode")
    assert rows == languages.tokenize(text, language, "unicode")[1]
    assert rows[0]["tokens"]


@pytest.mark.parametrize(
    ("arguments", "endpoint", "message"),
    [
        (("q", "r", "x" * 4_001, "tr", False), "/judge", "The answer has 4,001 characters"),
        (("x" * 2_001, "tr", "squad"), "/tokenize", "The text has 2,001 characters"),
    ],
)
def test_errors_are_one_sentence(client: Any, arguments: tuple[Any, ...], endpoint: str, message: str) -> None:
    with pytest.raises(gradio_client.exceptions.AppError, match=message) as caught:
        client.predict(*arguments, api_name=endpoint)
    assert "Traceback" not in str(caught.value)


def test_requests_at_once_do_not_mix(client: Any) -> None:
    def ask(number: int) -> bool:
        _, _, figures = client.predict("?", f"r{number}", f"a{number} r{number}", "tr", False, api_name="/judge")
        return bool(figures["details"]["prediction"] == f"a{number} r{number}")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(24)))


def test_every_language_can_be_chosen_by_name() -> None:
    with gr.Blocks(analytics_enabled=False):
        choices = parts.language_box().choices
    assert {code for _, code in choices} == {language.code for language in LANGUAGES}
    assert [label for label, _ in choices] == sorted(label for label, _ in choices)
    assert ("Chinese (zh)", "zh") in choices
