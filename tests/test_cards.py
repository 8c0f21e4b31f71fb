"""The metric cards and the guides: they say what the code does, and every block runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import evaluate
import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement

import qa_scoring
from tests.conftest import REPOSITORY
from tests.documents import (
    CARDS,
    DOCUMENTS,
    GUIDES,
    NO_CODE,
    NOT_RUN,
    PRELUDE,
    RUN,
    code_blocks,
    fill_folder,
    read_document,
    run_bash,
    tokens,
)

SPACES = ("README.md", *(f"{name}/README.md" for name in qa_scoring.METRICS))
HEADINGS = (
    "# Metric Card for {}", "## Metric Description", "## How to Use", "### Inputs", "### Output Values",
    "#### Values from Popular Papers", "### Examples", "## Limitations and Bias", "## Citation",
    "## Further References",
)  # fmt: skip
KEYS = {
    "title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "app_file", "pinned", "license", "tags",
    "short_description", "description",
}  # fmt: skip
# Of https://huggingface.co/docs/hub/spaces-config-reference
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
# A call with every option that adds something to the result.
PREDICTIONS = [
    {"id": "1", "prediction_text": "in Rome", "no_answer_probability": 0.1},
    {"id": "2", "prediction_text": "", "no_answer_probability": 0.9},
]
REFERENCES = [
    {"id": "1", "question": "Where is the Colosseum?", "answers": ["Rome"]},
    {"id": "2", "question": "Who built it alone?", "answers": []},
]
OPTIONS: dict[str, dict[str, Any]] = {
    "m2qa_squad_v2": {"language": "en"},
    "sas_metric": {},
    "ava_metric": {"human_labels": [True, True]},
}


def section(name: str, heading: str) -> str:
    """Return what stands below a heading of a card, to the next one."""
    text = read_document(CARDS[name])
    body = text.partition(f"\n{heading}\n")[2]
    assert body, heading
    return re.split(r"^#+ ", body, maxsplit=1, flags=re.MULTILINE)[0]


def named(lines: str, indent: str = "") -> list[str]:
    """Return the names in bold at the start of the items of a list."""
    items = re.findall(rf"^{indent}- (\*\*.*?)(?: \*\(|:)", lines, re.MULTILINE)
    return [name for item in items for name in re.findall(r"\*\*(\w+)\*\*", item)]


@pytest.mark.parametrize("document", SPACES)
def test_front_matter_is_that_of_a_space(document: str) -> None:
    card = SpaceCard(read_document(document))  # refuses front matter that is no mapping in YAML
    facts = card.data.to_dict()
    assert facts.keys() <= KEYS
    assert KEYS - facts.keys() <= {"description"}
    assert (card.data.sdk, card.data.license, card.data.tags) == ("gradio", "apache-2.0", ["evaluate", "metric"])
    assert 0 < len(card.data.title) <= 50
    assert re.fullmatch(r"[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?", facts["emoji"]), "one emoji"
    assert facts["pinned"] is False
    assert {facts["colorFrom"], facts["colorTo"]} <= COLOURS
    assert 20 < len(facts["short_description"]) <= 60  # the Hub refuses longer ones
    folder = REPOSITORY / Path(document).parent
    assert (folder / str(card.data.app_file)).is_file()
    assert f"gradio=={card.data.sdk_version}" in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", CARDS)
def test_requirements_of_a_metric(name: str) -> None:
    package, gradio = (Requirement(line) for line in read_document(f"{name}/requirements.txt").splitlines())
    assert (package.name, gradio.name) == ("qa-scoring", "gradio")
    extras = tomllib.loads(read_document("pyproject.toml"))["project"]["optional-dependencies"]
    assert package.extras <= extras.keys()


@pytest.mark.parametrize("name", CARDS)
def test_headings_are_those_of_the_template(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", read_document(CARDS[name]).split("---\n", 2)[2], flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^#+ .*$", text, re.MULTILINE) == [heading.format(name) for heading in HEADINGS]


@pytest.mark.parametrize("name", CARDS)
def test_inputs_are_those_of_the_metric(name: str) -> None:
    module = importlib.import_module(f"{name}.{name}")
    metric = next(value for value in vars(module).values() if inspect.isclass(value))
    items = re.findall(r"^- \*\*(\w+)\*\* \*\((.*?)\)\*: ", section(name, "### Inputs"), re.MULTILINE)
    written = {}
    for argument, kind in items:
        default = re.search(r", default `(.*)`$", kind)
        written[argument] = ast.literal_eval(default[1]) if default else inspect.Parameter.empty
    parameters = list(inspect.signature(metric._compute).parameters.values())[1:]
    assert list(written.items()) == [(parameter.name, parameter.default) for parameter in parameters]


@pytest.mark.parametrize("name", CARDS)
def test_outputs_are_those_of_the_metric(name: str) -> None:
    result = evaluate.load(qa_scoring.metric_path(name)).compute(
        predictions=PREDICTIONS,
        references=REFERENCES,
        groups=["a", "b"],
        confidence_level=0.9,
        n_resamples=10,
        details=True,
        **OPTIONS[name],
    )
    text = section(name, "### Output Values")
    assert sorted(named(text)) == sorted(result)
    assert sorted(named(text, "  ")) == sorted(result["details"][0])


@pytest.mark.parametrize("document", [*CARDS.values(), *GUIDES])
def test_blocks_run_in_order(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = read_document(document)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    if "model_or_id" in text or "./model" in text:
        fill_folder(tmp_path)
        exec(PRELUDE, names)
    ran = 0
    for number, (language, code) in enumerate(code_blocks(text), 1):
        if language == "python":
            exec(compile(code, f"{document}, block {number}", "exec"), names)
        elif language == "bash":
            run_bash(code, tmp_path)
        else:
            assert language in NO_CODE
            continue
        ran += 1
    assert ran


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_block_is_left_out(document: str) -> None:
    text = read_document(document)
    blocks = code_blocks(text)
    found = [(token.info, token.content) for token in tokens(text) if token.type in ("fence", "code_block")]
    assert found == blocks, "a block stands at the start of a line, between ``` and ```, with its language"
    for language, code in blocks:
        if language in NO_CODE or code.strip() in NOT_RUN:
            continue
        assert document in RUN, f"nothing runs this block of {document}: {code}"
        assert language in ("python", "bash"), f"nothing runs {language!r}, a block of {document}: {code}"


def test_the_list_of_blocks_that_are_not_run_is_true() -> None:
    blocks = {code.strip() for document in DOCUMENTS for _, code in code_blocks(read_document(document))}
    assert NOT_RUN.keys() <= blocks
    counts = {document: len(code_blocks(read_document(document))) for document in RUN}
    assert all(counts.values())
    assert sum(counts.values()) > 50
