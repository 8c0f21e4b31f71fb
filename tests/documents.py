"""Documents whose code blocks and links are tested: what the README, the metric cards and the guides have in common."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import qa_scoring
from tests.conftest import REPOSITORY
from tests.extractive.conftest import CONTEXTS, QUESTION, save_reader

# What the blocks on models call `model_or_id`, `tokenizer` and `dataset`: a tiny model, made here, and four questions.
PRELUDE = """
import datasets, json
model_or_id = tokenizer = "./model"
dataset = datasets.Dataset.from_list(json.load(open("rows.json", encoding="utf-8")))
"""


def read_document(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and code of every block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def fill_folder(folder: Path) -> None:
    """Put what blocks on models read into a folder, and the metrics as in a checkout."""
    save_reader(folder / "model", "bert")
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
        (folder / name).write_text(json.dumps(rows), encoding="utf-8")
    for metric in qa_scoring.METRICS:
        (folder / metric).symlink_to(qa_scoring.metric_path(metric))


def run_bash(code: str, folder: Path) -> str:
    """Run commands, those of this environment first, and return what they print."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def dead_links(name: str) -> list[str]:
    """Return the links of a document to files of the repository that are not there."""
    folder = (REPOSITORY / name).parent
    links = re.findall(r"\]\((?!https?:)([^)#]+)", read_document(name))
    return [link for link in links if not (folder / link).exists()]
