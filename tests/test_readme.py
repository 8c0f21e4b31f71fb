"""The README: every code block runs, top to bottom, except the two set-up commands, which .ci/run runs itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qa_scoring
from tests.conftest import REPOSITORY
from tests.extractive.conftest import CONTEXTS, QUESTION, save_reader

TEXT = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SETUP = [code for language, code in BLOCKS if language == "bash" and "-m venv" in code]


def test_every_block_has_a_language_that_the_tests_run() -> None:
    assert {language for language, _ in BLOCKS} == {"bash", "python"}
    assert len([code for language, code in BLOCKS if language == "python"]) > 5


def test_the_setup_is_two_commands_of_one_line_that_ci_finds() -> None:
    assert [code.count("\n") for code in SETUP] == [1, 1]
    script = (REPOSITORY / ".ci" / "run").read_text()
    for code, end in zip(SETUP, ("qa-scoring demo", "pytest"), strict=True):
        assert re.search(rf"^python3 -m venv .* && .*{end}$", code, re.MULTILINE)
        assert f'readme_command "{end}"' in script


# What the blocks on models call `model_or_id`, `tokenizer` and `dataset`: a tiny model, made here, and four questions.
PRELUDE = """
import datasets, json
model_or_id = tokenizer = "./model"
dataset = datasets.Dataset.from_list(json.load(open("rows.json", encoding="utf-8")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with what the blocks on models read, and the metrics as in a checkout."""
    save_reader(tmp_path / "model", "bert")
    rows = [
        {
            "id": str(row),
            "question": QUESTION,
            "context": context,
            "answers": {"text": [context[:5]][: row % 2], "answer_start": [0][: row % 2]},
        }
        for row, context in enumerate(list(CONTEXTS.values())[:4])
    ]
    for name in ("rows.json", "dev.json", "test.json"):
        (tmp_path / name).write_text(json.dumps(rows), encoding="utf-8")
    for metric in qa_scoring.METRICS:
        (tmp_path / metric).symlink_to(qa_scoring.metric_path(metric))
    return tmp_path


def test_python_blocks_run_in_order(folder: Path) -> None:
    program = "\n".join([PRELUDE, *(code for language, code in BLOCKS if language == "python")])
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = re.search(r"^# (metric:.*)$", TEXT, re.MULTILINE)
    assert printed
    assert done.stdout.splitlines()[0] == printed[1]


@pytest.mark.parametrize(
    "code",
    [code for language, code in BLOCKS if language == "bash" and code not in SETUP],
    ids=lambda code: code[:20],
)
def test_bash_blocks_run(folder: Path, code: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"])
def test_links_inside_the_repository_resolve(document: str) -> None:
    path = REPOSITORY / document
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
