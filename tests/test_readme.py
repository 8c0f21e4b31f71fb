"""The README: every code block runs, top to bottom, except the two set-up commands, which .ci/run runs itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.documents import NOT_RUN, PRELUDE, code_blocks, fill_folder, read_document, run_bash

TEXT = read_document("README.md")
BLOCKS = code_blocks(TEXT)
SETUP = [code for language, code in BLOCKS if code.strip() in NOT_RUN]


def test_every_block_has_a_language_that_the_tests_run() -> None:
    assert {language for language, _ in BLOCKS} == {"bash", "python"}
    assert len([code for language, code in BLOCKS if language == "python"]) > 5


def test_the_setup_is_two_commands_of_one_line_that_ci_finds() -> None:
    assert [code.count("\n") for code in SETUP] == [1, 1]
    script = (REPOSITORY / ".ci" / "run").read_text()
    for code, end in zip(SETUP, ("qa-scoring demo", "pytest"), strict=True):
        assert re.search(rf"^python3 -m venv .* && .*{end}$", code, re.MULTILINE)
        assert f'readme_command "{end}"' in script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill_folder(tmp_path)
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
    run_bash(code, folder)
