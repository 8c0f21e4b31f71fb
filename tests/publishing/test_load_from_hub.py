"""``evaluate.load("org/name")`` of published metrics, with a fresh cache: with the package, and without it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qa_scoring import METRICS
from tests.publishing.conftest import Hub, run, serving

PUBLISH = """
import sys
from qa_scoring.cli import main

for metric, to in zip(sys.argv[2::2], sys.argv[3::2]):
    main(["publish", metric, "--to", to, "--wheel", sys.argv[1]], standalone_mode=False)
"""
LOAD = """
import json, sys
import evaluate

for name in sys.argv[1:]:
    metric = evaluate.load(name, "en" if "m2qa" in name else None)
    result = metric.compute(
        predictions=[{"id": "1", "prediction_text": "six miles", "no_answer_probability": 0.0}],
        references=[{"id": "1", "answers": {"text": ["six miles", "6 miles"], "answer_start": [0, 0]}}],
        **({"questions": ["How far is it?"]} if "ava" in name else {}),
    )
    print(json.dumps({"name": metric.name, "result": result}))
"""
LOAD_WITHOUT = """
import importlib.abc, json, sys
import evaluate

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "qa_scoring":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in sys.argv[1:]:
    try:
        evaluate.load(name)
    except ImportError as error:
        print(json.dumps(str(error)))
"""
SPACES = {
    "m2qa_squad_v2": "org/m2qa_squad_v2",
    "sas_metric": "org/similarity-of-answers",
    "ava_metric": "org/ava_metric",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Hub]:
    with serving() as hub:
        pairs = [name for pair in SPACES.items() for name in pair]
        done = run(["-c", PUBLISH, str(wheel), *pairs], hub.endpoint, tmp_path_factory.mktemp("home"))
        assert done.returncode == 0, done.stderr
        yield hub


def test_loads_and_scores(published: Hub, tmp_path: Path) -> None:
    assert set(SPACES) == set(METRICS)
    published.asked.clear()
    done = run(["-c", LOAD, *SPACES.values()], published.endpoint, tmp_path, token=None)
    assert done.returncode == 0, done.stderr
    m2qa, sas, ava = (json.loads(line) for line in done.stdout.splitlines())
    assert (m2qa["result"]["exact"], m2qa["result"]["f1"]) == (100.0, 100.0)
    assert sas["result"]["sas"] > 0.9
    assert ava["result"]["ava_accuracy"] == 1.0
    for space in SPACES.values():  # the module, and nothing else: the embedded models are those of the package
        assert f"GET /spaces/{space}/resolve/main/{space.partition('/')[2]}.py" in published.asked
    assert len([line for line in published.asked if line.startswith("GET")]) == len(SPACES)


def test_without_the_package_it_says_what_to_install(published: Hub, tmp_path: Path, wheel: Path) -> None:
    done = run(["-c", LOAD_WITHOUT, *SPACES.values()], published.endpoint, tmp_path, token=None)
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    for (name, space), message in zip(SPACES.items(), messages, strict=True):
        assert f"To be able to use {space}, you need to install the following dependencies['qa_scoring']" in message
        extra = {"sas_metric": "[sas]", "ava_metric": "[ava]"}.get(name, "")
        address = f"{published.endpoint}/spaces/{space}/resolve/main/{wheel.name}"
        assert f"using 'pip install \"qa_scoring{extra} @ {address}\"'" in message
    # The line, as it is quoted, in a shell.
    line = re.search(r"'pip install (.*)' for instance", messages[0])
    assert line is not None
    pip = [sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--no-deps", "--no-index"]
    command = [*pip, "--target", str(tmp_path / "site"), *shlex.split(line[1])]
    installed = subprocess.run(command, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / "site" / "qa_scoring" / "__init__.py").is_file()
