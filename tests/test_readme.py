"""The README: every code block runs, top to bottom, except the two set-up commands, which .ci/run runs itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

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


def test_python_blocks_run_in_order(tmp_path: Path) -> None:
    program = "\n".join(code for language, code in BLOCKS if language == "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = re.search(r"^# (metric:.*)$", TEXT, re.MULTILINE)
    assert printed
    assert done.stdout.splitlines()[0] == printed[1]


@pytest.mark.parametrize(
    "code",
    [code for language, code in BLOCKS if language == "bash" and code not in SETUP],
    ids=lambda code: code[:20],
)
def test_bash_blocks_run(tmp_path: Path, code: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=tmp_path,
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
