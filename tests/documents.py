"""Documents whose code blocks and links are tested: what the README, the metric cards and the guides have in common."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

import qa_scoring
from tests.conftest import REPOSITORY
from tests.extractive.conftest import CONTEXTS, QUESTION, save_reader

# What the blocks on models call `model_or_id`, `tokenizer` and `dataset`: a tiny model, made here, and four questions.
PRELUDE = """
import datasets, json
model_or_id = tokenizer = "./model"
dataset = datasets.Dataset.from_list(json.load(open("rows.json", encoding="utf-8")))
"""
SETUP = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
LINKS = ("link_open", "image")
DOCUMENTS = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for top in REPOSITORY.iterdir()
    if not top.name.startswith(".")
    for path in (top.rglob("*.md") if top.is_dir() else [top])
    if path.suffix == ".md"
)
"""Every Markdown file of the repository, but those in hidden folders."""
CARDS = {name: f"{name}/README.md" for name in qa_scoring.METRICS}
GUIDES = (
    "docs/adding_a_language.md", "docs/choosing_a_model.md", "docs/evaluating_a_model.md", "docs/reading_scores.md",
    "docs/training_a_judge.md",
)  # fmt: skip
RUN = ("README.md", *CARDS.values(), *GUIDES)
"""The documents whose blocks run: the README's in ``test_readme.py``, those of the others in ``test_cards.py``."""
NOT_RUN = {
    f"{SETUP} . && .venv/bin/qa-scoring demo": ".ci/run takes this line from the README and runs it",
    f"{SETUP} -r requirements-dev.txt -e . && .venv/bin/pytest": ".ci/run takes this line too: it runs these tests",
}
"""Block → why no test runs it."""
NO_CODE = {"bibtex"}


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


def body(text: str) -> str:
    """Return a document without its front matter."""
    return text.split("---\n", 2)[2] if text.startswith("---\n") else text


def tokens(text: str) -> list[Token]:
    """Return what a Markdown parser finds in a document, blocks and what is inside them."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(body(text)):
        found += [token, *(token.children or ())]
    return found


def links(text: str) -> list[str]:
    """Return where links and pictures of a document lead."""
    return [str(token.attrs.get("href", token.attrs.get("src"))) for token in tokens(text) if token.type in LINKS]


def anchors(text: str) -> set[str]:
    """Return what ``#`` links of a document may lead to, by GitHub's rule: repeated headings are counted."""
    found: dict[str, int] = {}
    every = tokens(text)
    for heading, inline in itertools.pairwise(every):
        if heading.type == "heading_open":
            words = "".join(part.content for part in inline.children or () if part.type in ("text", "code_inline"))
            name = first = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            while name in found:
                found[first] += 1
                name = f"{first}-{found[first]}"
            found[name] = 0
    return set(found)


def dead_links(document: Path, root: Path) -> list[str]:
    """Return the links of a document that lead to no file, folder or heading below a folder."""
    dead = []
    text = document.read_text(encoding="utf-8")
    for link in links(text):
        if re.match(r"(https?|mailto):", link):
            continue
        name, _, anchor = link.partition("#")
        path = (document.parent / unquote(name)).resolve() if name else document.resolve()
        there = path.exists() and path.is_relative_to(root.resolve())
        if not there or (anchor and unquote(anchor) not in anchors(path.read_text(encoding="utf-8"))):
            dead.append(link)
    return dead
