"""The shape of the code: imports flow one way, nothing heavy is loaded before it is used, nothing asks the network."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import qa_scoring
from tests.conftest import REPOSITORY

PACKAGE = REPOSITORY / "qa_scoring"

# Layer of every file and folder of the package; a file imports from lower layers, or inside its own folder.
LAYERS = {
    "errors": 0,
    "extras": 0,
    "compat": 0,
    "signature": 0,
    "records": 1,
    "files": 1,
    "judgements": 1,
    "config_files": 1,
    "encoders": 1,
    "text": 1,
    "overlap": 2,
    "similarity": 2,
    "judge": 2,
    "extractive": 2,
    "statistics": 2,
    "rows": 3,
    "schemes": 3,
    "multilingual_squad": 3,
    "null_threshold": 3,
    "agreement": 3,
    "comparison": 3,
    "ava": 3,
    "judged": 3,
    "sas": 3,
    "hf": 4,
    "publishing": 4,
    "report": 4,
    "cli": 5,
    "app": 5,
}
# What one layer may use of itself, in this order.
SAME_LAYER = {
    ("extras", "errors"),
    ("files", "records"),
    ("multilingual_squad", "rows"),
    ("multilingual_squad", "schemes"),
    ("null_threshold", "multilingual_squad"),
    ("null_threshold", "rows"),
    ("agreement", "multilingual_squad"),
    ("agreement", "sas"),
    ("comparison", "multilingual_squad"),
    ("comparison", "rows"),
    ("sas", "rows"),
    ("ava", "rows"),
    ("judged", "ava"),
    ("judged", "multilingual_squad"),
    ("judged", "rows"),
    ("judged", "sas"),
}


def modules() -> list[str]:
    return [
        module.name
        for module in pkgutil.walk_packages([str(PACKAGE)], "qa_scoring.")
        if not module.name.endswith("__main__")
    ]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            for alias in node.names:
                submodule = f"{module}.{alias.name}"
                yield submodule if submodule in MODULES else module


MODULES = {"qa_scoring", *modules()}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_every_part_has_a_layer() -> None:
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_flow_one_way(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imports(path):
        if not name.startswith("qa_scoring"):
            continue
        if name == "qa_scoring":  # the root holds the version and the names of the metrics
            assert LAYERS[part] >= 3, f"{path} imports the package root"
            continue
        other = name.split(".")[1]
        allowed = LAYERS[other] < LAYERS[part] or other == part or (part, other) in SAME_LAYER
        assert allowed, f"{path} (layer {LAYERS[part]}) imports {name} (layer {LAYERS[other]})"


def test_there_are_no_import_cycles() -> None:
    graph = {
        ".".join(("qa_scoring", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): {
            name for name in imports(path) if name in MODULES and name != "qa_scoring"
        }
        for path in FILES
    }
    # A module of a folder may use the folder's __init__, which loads its modules lazily by name, not by import.
    finished: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name not in finished:
            for other in graph.get(name, ()):
                visit(other, (*trail, name))
            finished.add(name)

    for name in graph:
        visit(name, ())
    assert len(finished) >= len(graph)


HEAVY = {
    "datasets", "evaluate", "fugashi", "jieba", "matplotlib", "nltk", "numpy", "pandas", "pyarrow", "pythainlp", "rich",
    "scipy", "torch", "tqdm", "transformers",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "statement",
    [
        "import qa_scoring",
        "import qa_scoring.cli",
        "import qa_scoring; qa_scoring.metric_path('m2qa_squad_v2')",
        "from qa_scoring.cli import main; main(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert not loaded_by(statement) & HEAVY


def test_scoring_loads_no_plots_tokenizers_or_models() -> None:
    statement = "import qa_scoring; qa_scoring.score_multilingual_squad(['a'], ['a'], language='de')"
    assert loaded_by(statement) & HEAVY == {"numpy"}


def test_no_module_prints_or_touches_logging_or_warnings_filters() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "logging.basicConfig", "warnings.filterwarnings"), f"{path}: {called}"


def test_every_module_has_a_docstring_and_imports_without_a_network() -> None:
    for name in modules():
        assert importlib.import_module(name).__doc__, name


@pytest.mark.parametrize("name", qa_scoring.METRICS)
def test_metric_folders_are_beside_the_package(name: str) -> None:
    path = Path(qa_scoring.metric_path(name))
    assert path.is_absolute()
    assert (path / f"{name}.py").is_file()
    with pytest.raises(ValueError, match="must be one of m2qa_squad_v2"):
        qa_scoring.metric_path("../" + name)


def test_metric_modules_stay_thin_and_import_as_evaluate_needs_it() -> None:
    for name in qa_scoring.METRICS:
        source = (Path(qa_scoring.metric_path(name)) / f"{name}.py").read_text(encoding="utf-8")
        assert source.count("\n") <= 160
        for node in ast.parse(source).body:
            assert not isinstance(node, ast.ImportFrom)
            if isinstance(node, ast.Import):
                assert len(node.names) == 1


def test_public_names_resolve() -> None:
    for name in qa_scoring.__all__:
        assert getattr(qa_scoring, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        qa_scoring.nothing  # noqa: B018
